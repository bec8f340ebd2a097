/* SPDX-License-Identifier: Apache-2.0 */
/* events_inner.h - the calls of dispatch into events of several RoIs (events.h). */
#ifndef TRIGD_EVENTS_INNER_H
#define TRIGD_EVENTS_INNER_H
#include "flow/events.h"

/* An RoI enters its event, before its chains are seeded.  Returns the place of its engine. */
uint32_t events_join(struct dispatch *d, uint32_t roi);
/* Its account. */
uint32_t events_account(struct dispatch *d, const struct roi *r);
/* Its chains are seeded; false when it is decided already. */
bool events_come(struct dispatch *d, uint32_t roi);
/* Its chains have ended. */
void events_end(struct dispatch *d, uint32_t roi);
/* It failed; its status says how. */
void events_fail(struct dispatch *d, uint32_t roi);
/* It was refused: it has left, and has no decision. */
void events_lose(struct dispatch *d, uint32_t event, uint32_t slot);
/* Ends an event if its client left and cannot send the rest; another one may have its name then. */
void events_abandon(struct dispatch *d, struct event *ev);
/* Ends events whose time is past. */
void events_check_limits(struct dispatch *d, uint64_t now_ns);
/* When that has to be called again; UINT64_MAX for never. */
uint64_t events_due_ns(const struct dispatch *d);
/* Abandons events that are a second old, where that is configured.  Now and then. */
void events_tick(struct dispatch *d, uint64_t now_ns);
#endif
