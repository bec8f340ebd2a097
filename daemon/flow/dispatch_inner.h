/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_inner.h - the parts of dispatch: the RoIs in flight (rois.c) and their events
 * (events.c), those that failed alone (culprits.c), their batches (batches.c), lanes that come and
 * go (lanes.c), and menu generations with the turn of it all (dispatch.c). Each calls the ones
 * before it. */
#ifndef TRIGD_DISPATCH_INNER_H
#define TRIGD_DISPATCH_INNER_H
#include "exec/engine.h"
#include "flow/accounts.h"
#include "flow/deadlines.h"
#include "flow/decide.h"
#include "flow/dispatch.h"
#include "flow/event_registry.h"
#include "flow/events_inner.h"
#include "flow/poison.h"
#include "flow/suspects.h"

#define ENGINES_MAX 3u

struct dispatch {
    const struct config *config;
    struct pool *pool;
    struct stats *stats;
    struct egress *out;
    struct deadlines *deadlines;
    struct accounts *accounts;
    struct histograms *histograms;
    struct poison *poison; /* NULL: none is remembered */
    struct event_table *events;
    struct event_registry *registry; /* of all shards; NULL: there is one */
    const _Atomic uint64_t *lumi;    /* as in struct dispatch_shared; NULL: they keep theirs */
    struct dispatch_retire retire;
    struct engine *engine[ENGINES_MAX];
    struct suspects *suspects[ENGINES_MAX]; /* among their RoIs */
    uint32_t current;
    struct engine *next; /* prepared, and not running yet */
    struct suspects *next_suspects;
    uint32_t oldest, newest; /* RoIs not decided, by arrival */
    uint64_t soft_ns, hard_ns;
    uint64_t hang_ns; /* a batch that takes longer hangs, unless it was known to */
    uint64_t now_ns;  /* of the RoI that is taken, or of the turn */
};

static inline struct roi *dispatch_at(const struct dispatch *d, uint32_t roi)
{
    return &d->pool->rois[roi];
}

/* Items of the input by which a step's batches are measured. */
static inline uint32_t dispatch_items(const struct dispatch *d, const struct engine_step *s,
                                      uint32_t roi)
{
    return lane_collection(d->pool, dispatch_at(d, roi), &s->group.input[0])->n;
}

/* ---- in_flight.c ---- */

/* Enters an RoI at the end of the list by arrival. */
void in_flight_add(struct dispatch *d, uint32_t roi);
/* Takes an RoI out of what it waits in; batches in flight bring it back themselves. */
void in_flight_leave_queues(struct dispatch *d, uint32_t roi);
/* The same, and out of the list: it is going to be decided. */
void in_flight_leave(struct dispatch *d, uint32_t roi);

/* ---- rois.c ---- */

/* Takes an RoI whose record and block are complete: seeds its chains, queues it for its steps. */
void rois_take(struct dispatch *d, uint32_t roi);
/* Moves its chains on over steps that were done; queues it for the next, or decides it. */
void rois_advance(struct dispatch *d, uint32_t roi, uint64_t steps);
/* The same with a status that says why its chains did not end. */
void rois_fail(struct dispatch *d, uint32_t roi, uint32_t status, struct roi_why why);
/* Ends an RoI that waits for a step with too little time left for it. */
void rois_give_up(struct dispatch *d, uint32_t roi, uint32_t step);
/* Moves an RoI on without a step that no lane serves, or fails it: as its chains say. */
void rois_skip(struct dispatch *d, uint32_t roi, uint32_t step);
/* Ends an RoI that holds a value that is not allowed. */
void rois_refuse(struct dispatch *d, uint32_t roi, const struct check_fault *fault);
/* Decides those past the hard limit, or the deadlines that their clients gave them; their answers
 * have left then. */
void rois_check_limits(struct dispatch *d, uint64_t now_ns);
/* When rois_check_limits has to be called again; UINT64_MAX for never. */
uint64_t rois_due_ns(const struct dispatch *d);

/* ---- culprits.c ---- */

/* Whether an RoI that was left of a batch that failed is the reason.  Others were in the batch
 * and are decided by now; a device may be lost for reasons of its own, but not again and again
 * under the same RoI; and one that took long has a last trial, behind all others. */
bool culprit_is(struct dispatch *d, const struct lane *l, const struct lane_done *b, uint32_t roi);
/* Says and counts one that is, against its step too, and excuses the lanes of that, or their
 * workers; returns why it fails. */
struct roi_why culprit_note(struct dispatch *d, const struct engine *e, uint32_t head,
                            const struct lane *l, const struct lane_done *b, uint32_t roi);

/* ---- batches.c ---- */

/* Takes finished batches back; whether there were some. */
bool batches_take(struct dispatch *d);
/* Hands out RoIs that wait; whether it did. */
bool batches_give(struct dispatch *d, uint64_t now_ns);
/* Takes over what was in flight in a lane whose process has ended. */
void batches_take_orphans(struct dispatch *d, uint32_t engine, uint32_t head, struct lane *l);

/* ---- lanes.c ---- */

/* Takes over the RoIs of workers that ended, and takes new ones into service. */
bool lanes_look_after_workers(struct dispatch *d);
/* Ends workers whose batches hang, follows lanes that were closed or are open again; shows which
 * steps no lane serves.  Now and then. */
void lanes_tick(struct dispatch *d, uint64_t now_ns);
#endif
