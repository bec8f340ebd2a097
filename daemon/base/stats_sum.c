/* SPDX-License-Identifier: Apache-2.0 */
/* stats_sum.c - the counters of all shards as if there were one. */
#include <string.h>

#include "base/stats.h"

#define ADD(name, kind, help) stats_add(&to->name, stats_get(&from->name));

static void copy_name(char *to, const char *from)
{
    memcpy(to, from, STATS_NAME);
}

static void add_latency(struct latency *to, const struct latency *from)
{
    const uint64_t most = stats_get(&from->max_ns);

    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
        stats_add(&to->bucket[b], stats_get(&from->bucket[b]));
    stats_add(&to->count, stats_get(&from->count));
    stats_add(&to->sum_ns, stats_get(&from->sum_ns));
    if (most > stats_get(&to->max_ns))
        stats_set(&to->max_ns, most);
}

static void keep_larger(stats_u64 *to, uint64_t before, uint64_t other)
{
    stats_set(to, before > other ? before : other);
}

static void add_global(struct stats_global *to, const struct stats_global *live)
{
    struct stats_global copy, *from = &copy;
    const uint64_t steps_down = stats_get(&to->steps_down),
                   number = stats_get(&to->menu_generation);

    stats_snapshot(live, &copy);
    STATS_GLOBAL(ADD)
    /* what all shards see of the same menu */
    keep_larger(&to->steps_down, steps_down, stats_get(&from->steps_down));
    keep_larger(&to->menu_generation, number, stats_get(&from->menu_generation));
}

static void add_chain(struct stats_chain *to, const struct stats_chain *from)
{
    copy_name(to->name, from->name);
    atomic_store(&to->prescale, atomic_load(&from->prescale));
    atomic_store(&to->band, atomic_load(&from->band));
    atomic_store(&to->expected_min, atomic_load(&from->expected_min));
    atomic_store(&to->expected_max, atomic_load(&from->expected_max));
    STATS_CHAIN(ADD)
    add_latency(&to->latency, &from->latency);
    atomic_store(&to->used, true);
}

static void add_step(struct stats_step *to, const struct stats_step *from)
{
    copy_name(to->name, from->name);
    copy_name(to->plugin, from->plugin);
    STATS_STEP(ADD)
    atomic_store(&to->used, true);
}

static void add_lane(struct stats_lane *to, const struct stats_lane *from)
{
    copy_name(to->name, from->name);
    memcpy(to->device, from->device, sizeof to->device);
    to->slots = from->slots;
    STATS_LANE(ADD)
    add_latency(&to->latency, &from->latency);
    atomic_store(&to->used, true);
}

static void add_worker(struct stats_worker *to, const struct stats_worker *from)
{
    copy_name(to->name, from->name);
    STATS_WORKER(ADD)
    atomic_store(&to->used, true);
}

static void add_stream(struct stats_stream *to, const struct stats_stream *from)
{
    copy_name(to->name, from->name);
    STATS_STREAM(ADD)
    add_latency(&to->latency, &from->latency);
    atomic_store(&to->used, true);
}

static void add_guest(struct stats_guest *to, const struct stats_guest *from)
{
    copy_name(to->name, from->name);
    STATS_GUEST(ADD)
    atomic_store(&to->used, true);
}

static void add_client(struct stats_client *to, const struct stats_client *from)
{
    copy_name(to->name, from->name);
    STATS_CLIENT(ADD)
    add_latency(&to->latency, &from->latency);
    atomic_store(&to->used, true);
}

#define ADD_ALL(table, most, add)              \
    for (uint32_t i = 0; i < (most); i++)      \
        if (atomic_load(&from->table[i].used)) \
            add(&to->table[i], &from->table[i]);

static void add_shard(struct stats *to, const struct stats *from, uint32_t *n_clients)
{
    const uint32_t n_lanes = from->n_lanes;

    if (!to->started_ns || from->started_ns < to->started_ns)
        to->started_ns = from->started_ns;
    add_global(&to->g, &from->g);
    for (uint32_t i = 0; i < STATS_STAGE_COUNT; i++)
        add_latency(&to->stage[i], &from->stage[i]);
    ADD_ALL(chain, STATS_CHAINS_MAX, add_chain)
    ADD_ALL(step, STATS_STEPS_MAX, add_step)
    ADD_ALL(lane, n_lanes, add_lane)
    if (n_lanes > to->n_lanes)
        atomic_store(&to->n_lanes, n_lanes);
    ADD_ALL(worker, STATS_WORKERS_MAX, add_worker)
    ADD_ALL(stream, STATS_STREAMS_MAX, add_stream)
    ADD_ALL(guest, STATS_GUESTS_MAX, add_guest)
    for (uint32_t i = 0; i < STATS_CLIENTS_MAX && *n_clients < STATS_CLIENTS_MAX; i++)
        if (atomic_load(&from->client[i].used))
            add_client(&to->client[(*n_clients)++], &from->client[i]);
}

void stats_sum(const struct stats_set *set, struct stats *ret_sum)
{
    uint32_t n_clients = 0;

    stats_lock(); /* names stand still */
    for (uint32_t i = 0; i < set->n; i++)
        add_shard(ret_sum, set->of[i], &n_clients);
    stats_unlock();
}

void stats_sum_global(const struct stats_set *set, struct stats_global *ret_sum)
{
    memset(ret_sum, 0, sizeof *ret_sum);
    for (uint32_t i = 0; i < set->n; i++)
        add_global(ret_sum, &set->of[i]->g);
}
