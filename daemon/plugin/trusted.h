/* SPDX-License-Identifier: Apache-2.0 */
/* trusted.h - whether nobody but root and the daemon's user can change a file of code, or put
 * another one in its place.
 *
 * Nobody else may write to the file, to its folder, or to a folder above it (one with the sticky
 * bit is fine, as /tmp), and both belong to root or to the daemon's user; a daemon of root takes
 * any owner's. A group may write to file and folder where it is the daemon's own. */
#ifndef TRIGD_TRUSTED_H
#define TRIGD_TRUSTED_H
#include <stddef.h>

/* Of an absolute path without symbolic links.  -EPERM, or another negative errno, with a sentence
 * in `why`. */
int trusted_file(const char *path, char *why, size_t bytes);
/* Of all backends of a folder; logs the first that is not. */
int trusted_backends(const char *folder);
#endif
