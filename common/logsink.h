/* SPDX-License-Identifier: Apache-2.0 */
/* logsink.h - where log lines go: stderr, which whoever reads it may stop reading.
 *
 * Until logsink_start a line is written at once, and blocks as write(2) does.  After it nothing
 * that logs ever waits: a line goes out at once if there is room; else it goes to a ring of
 * LOGSINK_BYTES, which a thread empties.  What does not fit is dropped and counted, and the thread
 * says how many lines that were as soon as there is room again.  Any thread. */
#ifndef TRIGD_LOGSINK_H
#define TRIGD_LOGSINK_H
#include <stddef.h>
#include <stdint.h>

#define LOGSINK_BYTES (256u << 10)

/* Signals stay blocked in the thread.  A negative errno: lines are written as before. */
int logsink_start(void);
/* Waits until all is written, `wait_ms` at most.  Then lines are written as before the start; but
 * when stderr is still full, they are dropped.  Nothing without a start. */
void logsink_stop(uint32_t wait_ms);
/* One line with its line break; less than 4096 bytes, so that a pipe takes it in one piece. */
void logsink_write(const char *line, size_t n);
/* Lines dropped so far. */
uint64_t logsink_dropped(void);
#endif
