/* SPDX-License-Identifier: Apache-2.0 */
/* socketfile.h - a listening Unix socket and its file, for one process alone.
 *
 * A lock file beside it (PATH.lock) is held as long as the socket exists, so that exactly one of
 * two racing daemons gets it.  A file at PATH is removed only when it is a socket without a
 * listener, and at the end only when it is still the one that was bound. */
#ifndef TRIGD_SOCKETFILE_H
#define TRIGD_SOCKETFILE_H
#include <stddef.h>

struct socketfile;
/* Listens on PATH with a socket of that type (SOCK_STREAM, SOCK_SEQPACKET), non-blocking, mode
 * 0660. The descriptor is the caller's.  A sentence goes to `why` on failure: -EADDRINUSE: another
 * process has it; -EEXIST: there is a file that is no socket; -ENAMETOOLONG; or another negative
 * errno. */
int socketfile_listen(const char *path, int type, int backlog, struct socketfile **ret_file,
                      int *ret_fd, char *why, size_t bytes);
/* After the descriptor was closed: removes the files.  NULL is fine. */
void socketfile_remove(struct socketfile *f);
#endif
