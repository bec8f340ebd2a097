/* SPDX-License-Identifier: Apache-2.0 */
/* decide.h - chains' states to one decision: prescales, streams, what a failure means. */
#ifndef TRIGD_DECIDE_H
#define TRIGD_DECIDE_H
#include "exec/engine.h"
#include "flow/egress.h"

enum chain_state { /* of one chain on one RoI; kept in the RoI's block */
                   CHAIN_UNSEEDED,
                   CHAIN_PRESCALED, /* seeded, but the prescale kept it from running */
                   CHAIN_FAILED,    /* a hypothesis did not hold */
                   CHAIN_PASSED,
                   CHAIN_RUNNING /* CHAIN_RUNNING + k: waits for its step k */
};

/* Whether a chain goes on after its step k, whose result must be there: all hypotheses hold, or a
 * limit cut short what they look at and the chain passes that. */
bool decide_goes_on(const struct engine *e, const struct roi_step *steps, uint32_t chain,
                    uint32_t k);

/* Decides an RoI whose chains have all ended and hands it to egress.  Where chains passed only
 * because a limit cut their data short, and their client has had its share of such accepts, their
 * cuts decide.  An RoI with a status
 * other than OK and TRUNCATED is force-accepted into the debug stream and nowhere else. */
void decide_roi(struct egress *out, struct engine *e, uint32_t roi);
/* Ends an RoI whose values turned out to be such that no detector makes them: no decision, an Error
 * to its asker.  In the books it is one that failed. */
void decide_refused(struct egress *out, struct engine *e, uint32_t roi,
                    const struct wire_error *error);
#endif
