/* SPDX-License-Identifier: Apache-2.0 */
/* decide.h - chains' states to one decision: prescales, streams, failures. */
#ifndef TRIGD_DECIDE_H
#define TRIGD_DECIDE_H
#include "exec/engine.h"
#include "flow/accounts.h"
#include "flow/egress.h"
#include "flow/event_table.h"
#include "flow/histograms.h"

/* Decides an RoI whose chains have all ended and hands it to egress.  Where chains passed only
 * because a limit cut their data short, and their client has had its share of such accepts, their
 * cuts decide.  An RoI with a status
 * other than OK and TRUNCATED is force-accepted into the debug stream and nowhere else; the
 * others go to the histograms. */
void decide_roi(struct egress *out, struct accounts *accounts, struct histograms *histograms,
                struct engine *e, uint32_t roi);
/* Chains of an ended TRUNCATED RoI that passed only because a limit cut their data short: fail when
 * its client has had its share of that. */
void decide_truncated(struct egress *out, const struct engine *e, struct roi *r);
/* The same of an RoI of an event of several that is decided: accept and streams are the event's. */
void decide_roi_of_event(struct egress *out, struct accounts *accounts,
                         struct histograms *histograms, struct engine *e, uint32_t roi,
                         const struct event_decision *event);
/* Ends an RoI whose values turned out to be such that no detector makes them: no decision, an Error
 * to its asker.  In the books it is one that failed. */
void decide_refused(struct egress *out, struct accounts *accounts, struct engine *e, uint32_t roi,
                    const struct wire_error *error);
#endif
