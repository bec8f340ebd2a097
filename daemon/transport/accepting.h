/* SPDX-License-Identifier: Apache-2.0 */
/* accepting.h - which connections libzmq accepts: none when the process may open no descriptor
 * more, none at a listener that another one stands in for (rebind.h).
 *
 * libzmq 4.3 ends the process when accept on an ipc endpoint fails with EMFILE, and tries again at
 * once on tcp.  The program's accept4, which stands before libc's for libzmq as well, closes such a
 * connection instead: a descriptor is kept for that.  Any thread. */
#ifndef TRIGD_ACCEPTING_H
#define TRIGD_ACCEPTING_H
#include <stdbool.h>

/* Takes the descriptor; any number of times.  Returns 0 or a negative errno. */
int accepting_open(void);
/* From here on nothing is accepted with this descriptor, while it is this socket.  Returns 0 or
 * -ENOMEM. */
int accepting_end(int listener);
bool accepting_is_over(int listener);
#endif
