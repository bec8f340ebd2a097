/* SPDX-License-Identifier: Apache-2.0 */
/* trusted.h - whether only root and the daemon's user can change or replace a file of code.
 *
 * No other user may write to the file, to its folder, or to a folder above it (the sticky bit, as
 * on /tmp, is fine), and both belong to root or to the daemon's user; a daemon of root accepts any
 * owner.  The daemon's own group may write to file and folder. */
#ifndef TRIGD_TRUSTED_H
#define TRIGD_TRUSTED_H
#include <stddef.h>

/* Of an absolute path without symbolic links.  -EPERM, or another negative errno, with a sentence
 * in `why`. */
int trusted_file(const char *path, char *why, size_t bytes);
/* Of all backends of a folder; logs the first that is not. */
int trusted_backends(const char *folder);
#endif
