/* SPDX-License-Identifier: Apache-2.0 */
/* keyfile.h - files of CURVE keys, as `trigctl keygen` writes them: one line with the word public
 * or secret and a key of 40 characters (Z85) each; `#` begins a comment. */
#ifndef TRIGD_KEYFILE_H
#define TRIGD_KEYFILE_H
#include <stddef.h>

#define KEYFILE_KEY 41 /* with its zero */

struct keyfile {
    char public_key[KEYFILE_KEY]; /* "": not there */
    char secret_key[KEYFILE_KEY];
};

/* Reads a file.  A sentence goes to `why` on failure: -EACCES: it has a secret and others than its
 * owner may read it; -EBADMSG: a line is neither; or another negative errno. */
int keyfile_read(const char *path, struct keyfile *ret_keys, char *why, size_t bytes);
/* Overwrites the keys in memory. */
void keyfile_forget(struct keyfile *keys);
#endif
