/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - the signals that a loop reads through a descriptor: SIGTERM, SIGINT, SIGHUP. */
#ifndef TRIGD_SIGNALS_H
#define TRIGD_SIGNALS_H
#include <signal.h>

/* Makes the set of them. */
void signals_fill(sigset_t *ret_set);
/* Blocks them in this thread and in those that it starts, and ignores SIGPIPE and SIGXFSZ: writes
 * fail with an error instead.  Before the first thread. */
void signals_block(void);
#endif
