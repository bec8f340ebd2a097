/* SPDX-License-Identifier: Apache-2.0 */
/* egress.h - decisions back to their clients; RoIs of streams to their files. */
#ifndef TRIGD_EGRESS_H
#define TRIGD_EGRESS_H
#include "base/stats.h"
#include "exec/engine.h"
#include "flow/event_sender.h"
#include "flow/recall.h"
#include "memory/pool.h"
#include "stream/streams.h"
#include "transport/clients.h"
#include "wire.h"

struct egress;
/* `recall` may be NULL. */
int egress_open(const struct config *config, struct pool *pool, struct clients *clients,
                struct stats *stats, struct streams *streams, uint32_t shard, struct recall *recall,
                struct egress **ret_egress);
void egress_close(struct egress *e); /* NULL is fine */
struct pool *egress_pool(struct egress *e);

/* Whether a TRUNCATED RoI may be accepted for that alone; counts it, and those over their client's
 * limit. */
bool egress_may_pass_truncated(struct egress *e, const struct roi *r);
/* A batch came back: where its RoIs spent their time.  Before they are decided. */
void egress_batch(struct egress *e, const struct stats_lane *lane, const struct lane_done *b);
/* An RoI is decided now: notes its latency, and that it is late when it is past a limit or its
 * deadline.  Before it enters the books. */
void egress_time(struct egress *e, struct roi *r);
/* Takes a decided RoI for which egress_time was called last.  Its decision leaves with the next
 * flush. */
void egress_roi(struct egress *e, struct engine *engine, uint32_t roi);
/* Takes an RoI that is refused: its asker is answered an Error at once, and no decision. */
void egress_refused(struct egress *e, struct engine *engine, uint32_t roi,
                    const struct wire_error *error);
/* Takes the decision of an event of several RoIs, which leaves with the next flush, behind those of
 * its RoIs. */
void egress_event(struct egress *e, const struct event_decision *d);
/* Whether a client is still there. */
bool egress_is_there(struct egress *e, uint32_t client, uint32_t epoch);
/* Answers an RoI that a client sent again with the decision that was kept.  false: no memory. */
bool egress_repeat(struct egress *e, uint32_t client, uint64_t token, uint32_t entry);
/* Sends the decisions, those of one client in as few messages as possible, then lets go of the
 * RoIs.  Called once a turn of the loop. */
void egress_flush(struct egress *e);
/* Gives the record back unless something still uses it. */
void egress_let_go(struct egress *e, uint32_t roi);
#endif
