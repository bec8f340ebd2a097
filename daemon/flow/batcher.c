/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/batcher.h"

#include "clock.h"

#define MEAN_OF 16u /* batches that the mean of their time in a lane looks back over */

static bool is_freer(const struct lane *a, const struct lane *b)
{
    uint32_t ahead_a = lane_ahead(a), ahead_b = lane_ahead(b);

    return ahead_a != ahead_b ? ahead_a < ahead_b : lane_outstanding(a) < lane_outstanding(b);
}

struct lane *batcher_lane(const struct engine_step *s)
{
    struct lane *best = NULL;

    for (uint32_t k = 0; k < s->n_lanes; k++)
        if (lane_has_room(s->lane[k]) && (!best || is_freer(s->lane[k], best)))
            best = s->lane[k];
    return best;
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
    if (s->n >= s->batching.max_rois)
        return &s->stats->closed_full;
    if (s->n_items >= s->input[0].max_items)
        return &s->stats->closed_bytes;
    if (now >= early_ns(s, lane))
        return &s->stats->closed_eager;
    return now >= aged_ns(s) ? &s->stats->closed_age : NULL;
}

bool batcher_has_work(const struct engine_step *s, uint64_t now)
{
    const struct lane *lane = s->n && s->batching.eager ? batcher_lane(s) : NULL;

    for (uint32_t k = 0; k < s->n_lanes; k++)
        if (lane_finished(s->lane[k]))
            return true;
    return lane && now >= early_ns(s, lane);
}

uint64_t batcher_due_ns(const struct engine_step *s)
{
    const struct lane *lane = s->n ? batcher_lane(s) : NULL;
    uint64_t early, aged;

    if (!lane)
        return UINT64_MAX;
    early = early_ns(s, lane);
    aged = aged_ns(s);
    return early < aged ? early : aged;
}

void batcher_out(struct engine_step *s, struct lane_batch *b, uint64_t now_ns)
{
    b->closed_ns = s->closed_ns = now_ns;
    s->n_out++;
}

void batcher_back(struct engine_step *s, const struct lane_batch *b)
{
    uint64_t ns = b->ended_ns - b->begun_ns;

    s->n_out--;
    s->lane_ns = s->lane_ns ? s->lane_ns - s->lane_ns / MEAN_OF + ns / MEAN_OF : ns;
}
