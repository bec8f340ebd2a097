/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/batcher.h"

#include "clock.h"

#define MEAN_OF   16u /* batches that the mean of their time in a lane looks back over */
#define TOLERANCE 4u  /* times vary by a part of this */
#define SHARE     10u /* lanes whose ends differ by a part of this share: devices that are alike */

/* Time in which the lanes will have worked off what waits behind the next batch. */
static uint64_t backlog_ns(const struct engine_step *s)
{
    return s->n_slots ? s->lane_ns * (s->n_waiting / s->batching.max_rois) / s->n_slots : 0;
}

/* Whether a lane is as good as the best one, or one of which nothing is known and that has nothing
 * to do. */
static bool is_as_good(const struct lane *l, uint64_t end, uint64_t best_end, uint64_t now_ns)
{
    const uint64_t ahead = best_end > now_ns ? best_end - now_ns : 0;

    return end <= best_end + ahead / SHARE || (!lane_is_known(l) && !lane_outstanding(l));
}

/* Of the lanes that are as good as the best one: that with least in flight, the next in turn. */
static struct lane *next_in_turn(const struct engine_step *s, uint64_t best_end, uint64_t now_ns)
{
    struct lane *next = NULL;

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        struct lane *l = s->lane[(s->turn + k) % s->n_lanes];

        if (lane_has_room(l) &&
            is_as_good(l, lane_expected_end(l, s->n_items, now_ns), best_end, now_ns) &&
            (!next || lane_outstanding(l) < lane_outstanding(next)))
            next = l;
    }
    return next;
}

struct lane *batcher_lane(const struct engine_step *s, uint64_t now_ns)
{
    uint64_t first = UINT64_MAX, best_end = UINT64_MAX; /* `first` of those that are known */

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        const struct lane *l = s->lane[k];
        uint64_t end;

        if (!l->is_up)
            continue;
        end = lane_expected_end(l, s->n_items, now_ns);
        if (end < first && lane_is_known(l))
            first = end;
        if (lane_has_room(l) && end < best_end)
            best_end = end;
    }
    if (first == UINT64_MAX || (best_end != UINT64_MAX &&
                                best_end <= first + (first - now_ns) / TOLERANCE + backlog_ns(s)))
        return next_in_turn(s, best_end, now_ns);
    return NULL;
}

/* When a batch may close early for a lane; UINT64_MAX: not before the lane can begin it at once.
 * While half of the slots are free it is now; then batches follow each other no faster than slots
 * come back, with a third of them to spare.  Many small batches would take all slots, and RoIs
 * would wait for one. */
static uint64_t early_ns(const struct engine_step *s, const struct lane *lane)
{
    if (!s->batching.eager || lane_ahead(lane))
        return UINT64_MAX;
    return 2 * s->n_out < s->n_slots ? 0 : s->closed_ns + s->lane_ns * 3 / (2ull * s->n_slots);
}

/* When the oldest RoI has waited long enough. */
static uint64_t aged_ns(const struct engine_step *s)
{
    return s->queue[s->first].since_ns + (uint64_t)s->batching.max_age_us * NS_PER_US;
}

/* RoIs that no lane could begin with at once wait here, where the first free lane takes them and
 * the batch goes on growing, and not behind another batch. */
stats_u64 *batcher_closes(const struct engine_step *s, const struct lane *lane, uint64_t now)
{
    if (s->n_waiting >= s->batching.max_rois)
        return &s->stats->closed_full;
    if (s->n_items >= s->group.input[0].max_items)
        return &s->stats->closed_bytes;
    if (now >= early_ns(s, lane))
        return &s->stats->closed_eager;
    return now >= aged_ns(s) ? &s->stats->closed_age : NULL;
}

bool batcher_has_work(const struct engine_step *s, uint64_t now)
{
    const struct lane *lane = s->n_waiting && s->batching.eager ? batcher_lane(s, now) : NULL;
    struct lane_done done;

    for (uint32_t k = 0; k < s->n_lanes; k++)
        if (lane_finished(s->lane[k], &done))
            return true;
    return lane && now >= early_ns(s, lane);
}

uint64_t batcher_due_ns(const struct engine_step *s, uint64_t now_ns)
{
    const struct lane *lane = s->n_waiting ? batcher_lane(s, now_ns) : NULL;
    uint64_t early, aged;

    if (!lane)
        return UINT64_MAX;
    early = early_ns(s, lane);
    aged = aged_ns(s);
    return early < aged ? early : aged;
}

/* ---------------------------------------------------------------- the RoIs that wait */

void batcher_put(struct engine_step *s, uint32_t capacity, uint32_t roi, uint32_t items,
                 uint64_t now_ns)
{
    s->queue[(s->first + s->n++) % capacity] =
        (struct engine_entry){.roi = roi, .since_ns = now_ns};
    s->n_waiting++;
    s->n_items += items;
    stats_set(&s->stats->queued, s->n_waiting);
}

const struct engine_entry *batcher_oldest(struct engine_step *s, uint32_t capacity)
{
    while (s->n && s->queue[s->first].roi == POOL_NONE) { /* taken out */
        s->first = (s->first + 1) % capacity;
        s->n--;
    }
    return s->n ? &s->queue[s->first] : NULL;
}

static void count_out(struct engine_step *s, uint32_t items)
{
    s->n_waiting--;
    s->n_items -= items;
    stats_set(&s->stats->queued, s->n_waiting);
}

void batcher_pop(struct engine_step *s, uint32_t capacity, uint32_t items)
{
    s->first = (s->first + 1) % capacity;
    s->n--;
    count_out(s, items);
    batcher_oldest(s, capacity); /* batcher_due_ns looks at the first one */
}

bool batcher_remove(struct engine_step *s, uint32_t capacity, uint32_t roi, uint32_t items)
{
    for (uint32_t i = 0; i < s->n; i++) { /* the oldest leave first: it is near */
        struct engine_entry *e = &s->queue[(s->first + i) % capacity];

        if (e->roi != roi)
            continue;
        e->roi = POOL_NONE;
        count_out(s, items);
        batcher_oldest(s, capacity);
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- batches */

void batcher_out(struct engine_step *s, uint64_t now_ns)
{
    s->closed_ns = now_ns;
    s->n_out++;
    s->turn = (s->turn + 1) % s->n_lanes;
}

void batcher_back(struct engine_step *s, uint64_t ns)
{
    s->n_out--;
    s->lane_ns = s->lane_ns ? s->lane_ns - s->lane_ns / MEAN_OF + ns / MEAN_OF : ns;
}
