/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - events of several RoIs, a part of dispatch: which event an RoI joins, what the event
 * waits for, and its one decision.
 *
 * The RoIs of an event wait for its decision and get theirs with it: accept and streams are the
 * event's.  An event is decided when its chains cannot change any more (votes.h).  RoIs that a
 * rejected event has not needed are SKIPPED; those of an accepted one run to their ends.  An event
 * of which an RoI fails, is refused, or does not come in time fails as a whole.  docs/events.md.
 */
#ifndef TRIGD_EVENTS_H
#define TRIGD_EVENTS_H
#include "flow/event_table.h"
#include "wire.h"

struct dispatch;

/* ---- for ingress */

/* Gives an RoI the run and lumi block of run control, where that numbers them: an RoI of an event
 * that is known gets the lumi block of the event. */
void events_number(const struct dispatch *d, struct wire_roi *w);
/* The event that an RoI joins, which is opened if it is the first one; 0 when it is alone, which
 * has to be asked of every RoI while events are open.  `most`: RoIs that its client may have
 * unanswered.  0, with a place of the pool kept for it; -EBADMSG: it does not fit, with the reason;
 * -ENOSPC: there is no room for one more event. */
int events_admit(struct dispatch *d, const struct wire_roi *w, const struct event_owner *who,
                 uint32_t most, uint64_t now_ns, uint32_t *ret_event, struct wire_error *ret_error);
/* The RoI could not be taken after all. */
void events_undo(struct dispatch *d, uint32_t event);
/* Whether RoIs that join this event are taken while others are not: it is open, and waits. */
bool events_waits_for(const struct dispatch *d, const struct wire_roi *w);
/* The engine that decides it. */
struct engine *events_engine(const struct dispatch *d, uint32_t event);
/* An RoI was sent again; whether its event is known.  When all have been, its decision is sent
 * again. */
bool events_again(struct dispatch *d, const struct wire_roi *w, const struct event_owner *who);

/* ---- for the writer of accepted events */

/* The event of an RoI that is being decided, and which of it it is (from 0); NULL: it is alone. */
const struct event *events_of(const struct dispatch *d, const struct roi *r);
#endif
