/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - reports states and the liveness of the loop to systemd; does nothing without it. */
#ifndef TRIGD_NOTIFY_H
#define TRIGD_NOTIFY_H
#include <stdint.h>

void notify_ready(void);
void notify_stopping(void);
/* Reports to systemd that the start continues, for up to another `limit_s`; after READY=1 it does
 * nothing. */
void notify_starting(uint32_t limit_s);
/* Pets the watchdog when half of its time has passed since the last call that did. */
void notify_watchdog(uint64_t now_ns);
#endif
