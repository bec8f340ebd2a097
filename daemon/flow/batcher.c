/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/batcher.h"

#include "clock.h"

#define MEAN_OF   16u /* batches that the mean of their time in a lane looks back over */
#define TOLERANCE 4u  /* times vary by a part of this */
#define SHARE     10u /* lanes whose ends differ by a part of this share: devices that are alike */
#define AHEAD     2u  /* batches before a lane: its thread begins one, another waits */

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

/* Items of the next batch: of RoIs like those that wait, as many as fit. */
static uint64_t batch_items(const struct engine_step *s)
{
    const uint64_t most = s->group.input[0].max_items;
    const uint64_t items = s->n_waiting > s->batching.max_rois
                               ? s->n_items * s->batching.max_rois / s->n_waiting
                               : s->n_items;

    return items < most ? items : most;
}

/* Of the idle lanes of a device the one that had a batch last: its thread may still be awake, its
 * memory in a cache, and the threads of the others sleep. */
static struct lane *warmest(const struct engine_step *s, struct lane *idle)
{
    struct lane *warm = idle;

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        struct lane *l = s->lane[k];

        if (l->s.cost == idle->s.cost && lane_has_room(l) && !lane_outstanding(l) &&
            !lane_others_ns(l) && l->given_ns > warm->given_ns)
            warm = l;
    }
    return warm;
}

/* Of the lanes that are as good as the best one: that with least in flight, the next in turn. */
static struct lane *next_in_turn(const struct engine_step *s, uint64_t best_end, uint64_t now_ns)
{
    const uint64_t items = batch_items(s);
    struct lane *next = NULL;

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        struct lane *l = s->lane[(s->turn + k) % s->n_lanes];

        if (lane_has_room(l) &&
            is_as_good(l, lane_expected_end(l, items, now_ns), best_end, now_ns) &&
            (!next || lane_outstanding(l) < lane_outstanding(next)))
            next = l;
    }
    return next && !lane_outstanding(next) ? warmest(s, next) : next;
}

struct lane *batcher_lane(const struct engine_step *s, uint64_t now_ns)
{
    uint64_t first = UINT64_MAX, best_end = UINT64_MAX; /* `first` of those that are known */
    uint64_t items;

    if (s->is_out)
        return NULL;
    items = batch_items(s);
    for (uint32_t k = 0; k < s->n_lanes; k++) {
        const struct lane *l = s->lane[k];
        uint64_t end;

        if (!l->is_up)
            continue;
        end = lane_expected_end(l, items, now_ns);
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

/* Slots that the batches of all shards take, and how many shards have some; this one counts. */
static uint32_t slots_taken(const struct engine_step *s, uint32_t *ret_shards)
{
    uint32_t all = 0;

    *ret_shards = 0;
    for (uint32_t i = 0; i < s->lane[0]->s.n_shards; i++) {
        uint32_t taken = 0;

        for (uint32_t k = 0; k < s->n_lanes; k++)
            taken += lane_outstanding_of(s->lane[k], i);
        all += taken;
        *ret_shards += taken || i == s->lane[0]->s.shard;
    }
    return all;
}

/* When a batch may close early for a lane; UINT64_MAX: not before the lane can begin it at once.
 * While half of the slots are free it is now; then batches follow each other no faster than slots
 * come back, with a third of them to spare, and shards share that.  Many small batches would take
 * all slots, and RoIs would wait for one. */
static uint64_t early_ns(const struct engine_step *s, const struct lane *lane)
{
    uint32_t taken, shards;

    if (!s->batching.eager || lane_ahead(lane) || !s->n_slots)
        return UINT64_MAX;
    taken = slots_taken(s, &shards);
    return 2 * taken < s->n_slots ? 0
                                  : s->closed_ns + shards * s->lane_ns * 3 / (2ull * s->n_slots);
}

/* When the oldest RoI has waited long enough. */
static uint64_t aged_ns(const struct engine_step *s)
{
    uint64_t since_ns = UINT64_MAX;

    for (uint32_t c = 0; c < MENU_PRIORITIES; c++)
        if (s->queue[c].n && s->queue[c].entry[s->queue[c].first].since_ns < since_ns)
            since_ns = s->queue[c].entry[s->queue[c].first].since_ns;
    return since_ns + (uint64_t)s->batching.max_age_us * NS_PER_US;
}

/* Whether a batch would only wait before its lane, behind those of all shards.  Every batch costs
 * the lane's thread the same: many small ones would hold up each other. */
static bool is_held_up(const struct lane *lane)
{
    return lane_ahead(lane) >= AHEAD;
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
    return now >= aged_ns(s) && !is_held_up(lane) ? &s->stats->closed_age : NULL;
}

bool batcher_has_work(const struct engine_step *s, uint64_t now)
{
    const struct lane *lane = s->n_waiting ? batcher_lane(s, now) : NULL;
    struct lane_done done;

    for (uint32_t k = 0; k < s->n_lanes && s->n_out; k++)
        if (lane_finished(s->lane[k], &done))
            return true;
    return lane && batcher_closes(s, lane, now);
}

uint64_t batcher_due_ns(const struct engine_step *s, uint64_t now_ns)
{
    const struct lane *lane = s->n_waiting ? batcher_lane(s, now_ns) : NULL;
    uint64_t early, aged;

    if (!lane)
        return UINT64_MAX;
    early = early_ns(s, lane);
    aged = is_held_up(lane) ? UINT64_MAX : aged_ns(s);
    return early < aged ? early : aged;
}

/* ---------------------------------------------------------------- the RoIs that wait */

#define PLACE(priority, at) (1 + (priority) + MENU_PRIORITIES * (at)) /* in engine_step.place */

/* Where entry number i of a queue stands. */
static uint32_t place_of(const struct engine_step *s, const struct engine_queue *q, uint32_t i)
{
    const uint32_t size = ENGINE_QUEUE(s->capacity), at = q->first + i;

    return at < size ? at : at - size;
}

/* Clears away those that have left; as many places become free as there are RoIs in the pool. */
static void clear_away(struct engine_step *s, enum menu_priority priority)
{
    struct engine_queue *q = &s->queue[priority];
    uint32_t n = 0;

    for (uint32_t i = 0; i < q->n; i++) {
        const struct engine_entry e = q->entry[place_of(s, q, i)];

        if (e.roi == POOL_NONE)
            continue;
        q->entry[place_of(s, q, n)] = e;
        s->place[e.roi] = PLACE(priority, place_of(s, q, n));
        n++;
    }
    q->n = n;
}

void batcher_put(struct engine_step *s, uint32_t roi, enum menu_priority priority, uint32_t items,
                 uint64_t now_ns)
{
    struct engine_queue *q = &s->queue[priority];

    if (q->n == ENGINE_QUEUE(s->capacity))
        clear_away(s, priority);
    q->entry[place_of(s, q, q->n)] = (struct engine_entry){.roi = roi, .since_ns = now_ns};
    s->place[roi] = PLACE(priority, place_of(s, q, q->n));
    q->n++;
    s->n_waiting++;
    s->n_items += items;
    stats_set(&s->stats->queued, s->n_waiting);
}

const struct engine_entry *batcher_next(const struct engine_step *s)
{
    const uint64_t overtake_ns = s->batching.overtake_ms * NS_PER_MS;
    const struct engine_entry *next = NULL;
    uint64_t best = UINT64_MAX;

    for (uint32_t c = 0; c < MENU_PRIORITIES; c++) {
        const struct engine_queue *q = &s->queue[c];

        if (q->n && q->entry[q->first].since_ns + c * overtake_ns < best) {
            next = &q->entry[q->first];
            best = next->since_ns + c * overtake_ns;
        }
    }
    return next;
}

bool batcher_remove(struct engine_step *s, uint32_t roi, uint32_t items)
{
    const uint32_t place = s->place[roi] - 1;
    struct engine_queue *q = &s->queue[place % MENU_PRIORITIES];

    if (!s->place[roi])
        return false;
    s->place[roi] = 0;
    q->entry[place / MENU_PRIORITIES].roi = POOL_NONE;
    while (q->n && q->entry[q->first].roi == POOL_NONE) { /* the first one is looked at by others */
        q->first = place_of(s, q, 1);
        q->n--;
    }
    s->n_waiting--;
    s->n_items -= items;
    stats_set(&s->stats->queued, s->n_waiting);
    return true;
}

bool batcher_is_too_late(const struct engine_step *s, uint32_t items, uint64_t deadline_ns,
                         uint64_t now_ns)
{
    bool is_known = false;

    for (uint32_t k = 0; k < s->n_lanes; k++) {
        if (!s->lane[k]->is_up)
            continue;
        if (!lane_is_known(s->lane[k]) ||
            lane_expected_end(s->lane[k], items, now_ns) <= deadline_ns)
            return false;
        is_known = true;
    }
    return is_known;
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
