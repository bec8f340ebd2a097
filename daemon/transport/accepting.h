/* SPDX-License-Identifier: Apache-2.0 */
/* accepting.h - connections when the process may open no descriptor more.
 *
 * libzmq 4.3 ends the process when accept on an ipc endpoint fails with EMFILE, and tries again at
 * once on tcp.  The program's accept4, which stands before libc's for libzmq as well, closes such a
 * connection instead: a descriptor is kept for that. */
#ifndef TRIGD_ACCEPTING_H
#define TRIGD_ACCEPTING_H
/* Takes the descriptor; any thread, any number of times.  Returns 0 or a negative errno. */
int accepting_open(void);
#endif
