/* SPDX-License-Identifier: Apache-2.0 */
/* in_flight.c - where RoIs in flight stand: the list by arrival, and the queues that they wait in.
 */
#include "flow/batcher.h"
#include "flow/dispatch_inner.h"

void in_flight_add(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    r->prev = d->newest;
    r->next = POOL_NONE;
    if (d->newest != POOL_NONE)
        dispatch_at(d, d->newest)->next = roi;
    else
        d->oldest = roi;
    d->newest = roi;
}

static void list_remove(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);

    if (r->prev != POOL_NONE)
        dispatch_at(d, r->prev)->next = r->next;
    else
        d->oldest = r->next;
    if (r->next != POOL_NONE)
        dispatch_at(d, r->next)->prev = r->prev;
    else
        d->newest = r->prev;
}

void in_flight_leave_queues(struct dispatch *d, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    struct engine *e = d->engine[r->engine];

    for (uint64_t left = r->asked & ~r->done; r->pending && left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);
        struct engine_step *s = &e->step[step];

        if (s->group.n_inputs && (batcher_remove(s, roi, dispatch_items(d, s, roi)) ||
                                  suspects_remove(d->suspects[r->engine], step, roi)))
            r->pending--;
    }
}

void in_flight_leave(struct dispatch *d, uint32_t roi)
{
    if (dispatch_at(d, roi)->pending)
        in_flight_leave_queues(d, roi);
    if (dispatch_at(d, roi)->deadline_ns)
        deadlines_remove(d->deadlines, roi);
    list_remove(d, roi);
}
