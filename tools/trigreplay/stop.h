/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - SIGINT and SIGTERM end a run early, with its report. */
#ifndef TRIGD_STOP_H
#define TRIGD_STOP_H
#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic bool stop_wanted;
extern _Atomic bool stop_at_once; /* by a second signal: without the answers that are missing */

/* From here on; until then they end the program. */
void stop_catch_signals(void);
#endif
