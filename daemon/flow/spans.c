/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define BATCHES 4096u  /* a power of two */
#define ROIS    65536u /* of these batches; a power of two */
/* An RoI takes the place of another that took less by a part of this: while a backlog grows each is
 * slower than the one before, and to look up all of them makes it grow faster. */
#define MARGIN 8u

struct batch {
    const struct stats_lane *lane;
    uint64_t closed_ns, begun_ns, ended_ns, taken_ns;
    uint64_t first; /* number of its first RoI, counted from the start */
    uint32_t n;
    int error;
};

struct spans {
    struct batch batch[BATCHES];
    uint32_t roi[ROIS];
    uint64_t n_batches, n_rois; /* since the start */
    uint64_t until_ns, most_ns; /* of the current second: its end, the slowest RoI */
};

int spans_new(struct spans **ret_spans)
{
    *ret_spans = calloc(1, sizeof **ret_spans);
    return *ret_spans ? 0 : -ENOMEM;
}

void spans_free(struct spans *s)
{
    free(s);
}

void spans_batch(struct spans *s, const struct stats_lane *lane, const struct lane_done *b)
{
    s->batch[s->n_batches++ % BATCHES] = (struct batch){.lane = lane,
                                                        .closed_ns = b->closed_ns,
                                                        .begun_ns = b->begun_ns,
                                                        .ended_ns = b->ended_ns,
                                                        .taken_ns = clock_ns(),
                                                        .first = s->n_rois,
                                                        .n = b->n,
                                                        .error = b->error};
    for (uint32_t i = 0; i < b->n; i++)
        s->roi[s->n_rois++ % ROIS] = b->roi[i];
}

static bool holds(const struct spans *s, const struct batch *b, uint32_t roi)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (s->roi[(b->first + i) % ROIS] == roi)
            return true;
    return false;
}

static void add_span(struct slow_roi *to, const struct batch *b)
{
    struct slow_span *span = &to->span[to->n_spans];

    if (to->n_spans == SLOW_SPANS) {
        to->n_left_out++;
        return;
    }
    to->n_spans++;
    *span = (struct slow_span){.rois = b->n,
                               .error = b->error,
                               .closed_ns = b->closed_ns,
                               .begun_ns = b->begun_ns,
                               .ended_ns = b->ended_ns,
                               .taken_ns = b->taken_ns};
    memcpy(span->lane, b->lane->name, sizeof span->lane);
}

/* Batches that closed since it came and hold its place are its own, oldest first. */
static void find_batches(const struct spans *s, uint32_t roi, struct slow_roi *to)
{
    uint64_t from = s->n_batches;

    while (from && s->n_batches - from < BATCHES) {
        const struct batch *b = &s->batch[(from - 1) % BATCHES];

        if (b->taken_ns < to->received_ns || b->first + ROIS < s->n_rois)
            break;
        from--;
    }
    for (; from < s->n_batches; from++) {
        const struct batch *b = &s->batch[from % BATCHES];

        if (b->closed_ns >= to->received_ns && holds(s, b, roi))
            add_span(to, b);
    }
}

void spans_decided(struct spans *s, struct slow *to, const struct roi *r, uint32_t roi,
                   const char *client, uint64_t now)
{
    const uint64_t ns = now - r->received_ns;
    const bool is_new = now >= s->until_ns;
    struct slow_roi *place;

    if (!is_new && ns <= s->most_ns + s->most_ns / MARGIN)
        return;
    if (is_new)
        s->until_ns = now + NS_PER_S;
    s->most_ns = ns;
    pthread_mutex_lock(&to->lock);
    to->n += is_new;
    place = &to->roi[(to->n - 1) % SLOW_ROIS];
    *place = (struct slow_roi){.run = r->info.run,
                               .lumi_block = r->info.lumi_block,
                               .l1id = r->info.l1id,
                               .roi_id = r->info.roi_id,
                               .status = r->status,
                               .is_accepted = r->accept,
                               .received_ns = r->received_ns,
                               .decided_ns = now};
    strncpy(place->client, client ? client : "", sizeof place->client - 1);
    find_batches(s, roi, place);
    pthread_mutex_unlock(&to->lock);
}
