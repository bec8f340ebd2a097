/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - tells systemd about states and that the loop turns; nothing without systemd. */
#ifndef TRIGD_NOTIFY_H
#define TRIGD_NOTIFY_H
#include <stdint.h>

void notify_send(const char *state); /* "READY=1", "STOPPING=1" */
/* Pets the watchdog when half of its time has passed since the last call that did. */
void notify_watchdog(uint64_t now_ns);
#endif
