/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - reads what came in each second, and forgets what is older than a minute. */
#include "monitor/windows.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "log.h"
#include "monitor/windows_inner.h"

/* ---------------------------------------------------------------- what is read */

#define RATE(type, name, column)  {offsetof(struct type, name), column},
#define RATE_NODE(name, column)   RATE(stats_global, name, column)
#define RATE_CHAIN(name, column)  RATE(stats_chain, name, column)
#define RATE_STEP(name, column)   RATE(stats_step, name, column)
#define RATE_LANE(name, column)   RATE(stats_lane, name, column)
#define RATE_STREAM(name, column) RATE(stats_stream, name, column)
#define RATE_CLIENT(name, column) RATE(stats_client, name, column)

static const struct windows_rate node[] = {WINDOWS_NODE(RATE_NODE)},
                                 chain[] = {WINDOWS_CHAIN(RATE_CHAIN)},
                                 step[] = {WINDOWS_STEP(RATE_STEP)},
                                 lane[] = {WINDOWS_LANE(RATE_LANE)},
                                 stream[] = {WINDOWS_STREAM(RATE_STREAM)},
                                 client[] = {WINDOWS_CLIENT(RATE_CLIENT)};

#define N(list) (uint32_t)(sizeof(list) / sizeof *(list))
#define TABLE(list)                                                                  \
#list, list, N(list), offsetof(struct stats, list), sizeof(struct stats_##list), \
        offsetof(struct stats_##list, used)
_Static_assert(N(node) <= WINDOWS_RATES, "the node's rates have room");

const struct windows_of windows_of[WINDOWS_KINDS] = {
    [WINDOWS_OF_NODE] = {"node", node, N(node), offsetof(struct stats, g),
                         sizeof(struct stats_global), 0, 0, 1},
    [WINDOWS_OF_STAGE] = {"stage", NULL, 0, offsetof(struct stats, stage), sizeof(struct latency),
                          0, 0, STATS_STAGE_COUNT},
    [WINDOWS_OF_CHAIN] = {TABLE(chain), offsetof(struct stats_chain, latency), STATS_CHAINS_MAX},
    [WINDOWS_OF_STEP] = {TABLE(step), 0, STATS_STEPS_MAX},
    [WINDOWS_OF_LANE] = {TABLE(lane), offsetof(struct stats_lane, latency), STATS_LANES_MAX},
    [WINDOWS_OF_DEVICE] = {"device", lane, N(lane), 0, 0, 0, 0, 0}, /* from its lanes */
    [WINDOWS_OF_STREAM] = {TABLE(stream), offsetof(struct stats_stream, latency),
                           STATS_STREAMS_MAX},
    [WINDOWS_OF_CLIENT] = {TABLE(client), offsetof(struct stats_client, latency),
                           STATS_CLIENTS_MAX},
};

bool windows_has_latency(enum windows_kind kind)
{
    return kind != WINDOWS_OF_STEP;
}

static const char *const stage_name[] = {
#define NAME(name, help) #name,
    STATS_STAGES(NAME)
#undef NAME
};

/* ---------------------------------------------------------------- series */

static void free_series(struct windows_series *s)
{
    for (uint32_t i = 0; i < WINDOWS_SECONDS; i++)
        free(s->sparse[i].item);
    free(s->rate);
    free(s);
}

/* The series of that name, made if it is not there; NULL: no memory. */
static struct windows_series *find_series(struct windows *w, enum windows_kind kind,
                                          const char *name)
{
    struct windows_series **at = &w->series[kind], *s;
    int order = 1;

    while (*at && (order = strcmp((*at)->name, name)) < 0)
        at = &(*at)->next;
    if (*at && order == 0)
        return *at;
    s = calloc(1, sizeof *s);
    if (s)
        s->rate = calloc(WINDOWS_SECONDS, sizeof *s->rate);
    if (!s || !s->rate) {
        free(s);
        return NULL;
    }
    strncpy(s->name, name, sizeof s->name - 1);
    s->next = *at;
    *at = s;
    return s;
}

/* Forgets the second that is a minute old in all series, and series that had nothing since. */
static void turn_series(struct windows *w)
{
    const uint32_t place = (uint32_t)(w->n % WINDOWS_SECONDS);

    for (uint32_t kind = 0; kind < WINDOWS_KINDS; kind++)
        for (struct windows_series **at = &w->series[kind], *s; (s = *at) != NULL;) {
            if (!s->users && s->last + WINDOWS_SECONDS < w->n) {
                *at = s->next;
                free_series(s);
                continue;
            }
            memset(s->rate[place], 0, sizeof s->rate[place]);
            free(s->sparse[place].item);
            s->sparse[place] = (struct windows_sparse){.n = 0};
            at = &s->next;
        }
}

/* ---------------------------------------------------------------- entries */

/* "cuda:0" of "STEP@cuda:0/1". */
static struct windows_series *find_device(struct windows *w, const char *lane_name)
{
    const char *at = strchr(lane_name, '@');
    char name[STATS_NAME];

    if (!at)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "/"), at + 1);
    return find_series(w, WINDOWS_OF_DEVICE, name);
}

static void forget_slot(struct windows_slot **slot)
{
    struct windows_slot *s = *slot;

    if (!s)
        return;
    if (s->series)
        s->series->users--;
    if (s->device)
        s->device->users--;
    free(s->bucket);
    free(s);
    *slot = NULL;
}

static int make_slot(struct windows *w, enum windows_kind kind, const char *name,
                     struct windows_slot **ret_slot)
{
    struct windows_slot *s = calloc(1, sizeof *s);
    const uint32_t buckets = LATENCY_BUCKETS;

    if (!s)
        return -ENOMEM;
    strncpy(s->name, name, sizeof s->name - 1);
    s->series = find_series(w, kind, name);
    s->device = kind == WINDOWS_OF_LANE ? find_device(w, name) : NULL;
    if (s->series)
        s->series->users++;
    if (s->device)
        s->device->users++;
    if (windows_has_latency(kind))
        s->bucket = calloc(buckets, sizeof *s->bucket);
    if (!s->series || (windows_has_latency(kind) && !s->bucket)) {
        forget_slot(&s);
        return -ENOMEM;
    }
    *ret_slot = s;
    return 0;
}

/* Whether the entry began anew under its name: its counts are smaller than they were. */
static bool is_anew(const struct windows_of *of, const struct windows_slot *slot, const char *entry)
{
    const stats_u64 *first = (const void *)(entry + (of->n_rates ? of->rate[0].at : 0));

    return of->n_rates && slot->rate[0] > stats_get(first);
}

/* The slot of an entry; another client may have the place of one that left. */
static int find_slot(struct windows *w, enum windows_kind kind, struct windows_slot **slot,
                     const char *name, const char *entry)
{
    if (*slot && (strcmp((*slot)->name, name) != 0 || is_anew(&windows_of[kind], *slot, entry)))
        forget_slot(slot);
    return *slot ? 0 : make_slot(w, kind, name, slot);
}

static int add_item(struct windows_sparse *s, uint32_t bucket, uint32_t n)
{
    const uint32_t most = (1u << WINDOWS_BITS) - 1;

    for (uint32_t part; n; n -= part) {
        part = n < most ? n : most;
        if (array_grow(&s->item, s->n, &s->room, sizeof *s->item) < 0)
            return -ENOMEM;
        s->item[s->n++] = bucket << WINDOWS_BITS | part;
    }
    return 0;
}

static int read_latency(struct windows *w, struct windows_slot *slot, const struct latency *l)
{
    const uint32_t place = (uint32_t)(w->n % WINDOWS_SECONDS),
                   last = latency_bucket(atomic_load_explicit(&l->max_ns, memory_order_relaxed));
    int r = 0;

    for (uint32_t b = 0; r == 0 && b <= last; b++) {
        const uint32_t now = (uint32_t)atomic_load_explicit(&l->bucket[b], memory_order_relaxed),
                       n = now - slot->bucket[b];

        if (!n)
            continue;
        slot->bucket[b] = now;
        if (!w->is_primed)
            continue;
        r = add_item(&slot->series->sparse[place], b, n);
        if (r == 0 && slot->device)
            r = add_item(&slot->device->sparse[place], b, n);
    }
    return r;
}

static void read_rates(struct windows *w, const struct windows_of *of, struct windows_slot *slot,
                       const char *entry)
{
    const uint32_t place = (uint32_t)(w->n % WINDOWS_SECONDS);

    for (uint32_t i = 0; i < of->n_rates; i++) {
        const uint64_t now = stats_get((const stats_u64 *)(const void *)(entry + of->rate[i].at)),
                       n = now - slot->rate[i];

        slot->rate[i] = now;
        if (!w->is_primed)
            continue;
        slot->series->rate[place][i] += n;
        if (slot->device)
            slot->device->rate[place][i] += n;
    }
}

static int read_entry(struct windows *w, enum windows_kind kind, uint32_t shard, uint32_t i)
{
    const struct windows_of *of = &windows_of[kind];
    const struct stats *s = w->set->of[shard];
    const char *entry = (const char *)s + of->at + i * of->bytes;
    const char *name = kind == WINDOWS_OF_NODE    ? "node"
                       : kind == WINDOWS_OF_STAGE ? stage_name[i]
                                                  : entry; /* it begins with its name */
    struct windows_slot **at = &w->slot[kind][shard * of->n + i], *slot;
    const struct latency *l = (const void *)(entry + of->latency_at);

    if (of->used_at && !atomic_load((const _Atomic bool *)(const void *)(entry + of->used_at))) {
        forget_slot(at);
        return 0;
    }
    if (find_slot(w, kind, at, name, entry) < 0)
        return -ENOMEM;
    slot = *at;
    slot->series->last = w->n;
    if (slot->device)
        slot->device->last = w->n;
    if (kind == WINDOWS_OF_CHAIN)
        slot->series->chain = (const struct stats_chain *)(const void *)entry;
    read_rates(w, of, slot, entry);
    if (kind == WINDOWS_OF_NODE)
        l = &s->stage[STATS_STAGE_total];
    return windows_has_latency(kind) ? read_latency(w, slot, l) : 0;
}

/* Of a kind in a shard; of lanes, for which there is much room, those that were used. */
static uint32_t entries(const struct windows *w, enum windows_kind kind, uint32_t shard)
{
    return kind == WINDOWS_OF_LANE ? w->set->of[shard]->n_lanes : windows_of[kind].n;
}

int windows_read(struct windows *w, uint64_t now_ns)
{
    int r = 0;

    pthread_mutex_lock(&w->lock);
    turn_series(w);
    stats_lock(); /* names stand still */
    for (uint32_t kind = 0; kind < WINDOWS_KINDS; kind++)
        for (uint32_t shard = 0; shard < w->set->n; shard++)
            for (uint32_t i = 0; r == 0 && i < entries(w, (enum windows_kind)kind, shard); i++)
                r = read_entry(w, (enum windows_kind)kind, shard, i);
    stats_unlock();
    w->seconds[w->n % WINDOWS_SECONDS] =
        w->is_primed ? (double)(now_ns - w->read_ns) * 1e-9 : 0; /* 0: nothing is known of it */
    w->read_ns = now_ns;
    w->is_primed = true;
    w->n++;
    pthread_mutex_unlock(&w->lock);
    return r;
}

/* ---------------------------------------------------------------- the thread */

/* Waits for the end of the second; true: the thread ends. */
static bool wait_until(struct windows *w, uint64_t at_ns)
{
    const struct timespec at = {.tv_sec = (time_t)(at_ns / NS_PER_S),
                                .tv_nsec = (long)(at_ns % NS_PER_S)};
    bool is_ending;

    pthread_mutex_lock(&w->end_lock);
    while (!w->is_ending && pthread_cond_timedwait(&w->end, &w->end_lock, &at) != ETIMEDOUT) {
    }
    is_ending = w->is_ending;
    pthread_mutex_unlock(&w->end_lock);
    return is_ending;
}

static void *run(void *arg)
{
    struct windows *w = arg;
    uint64_t next_ns = clock_ns();

    do {
        const uint64_t now = clock_ns();

        if (windows_read(w, now) < 0)
            log_error("monitor", "no memory for the rates of a second", "%s", "");
        next_ns += NS_PER_S;
        if (next_ns < now)
            next_ns = now + NS_PER_S; /* the machine stood still */
    } while (!wait_until(w, next_ns));
    return NULL;
}

int windows_new(const struct stats_set *set, struct windows **ret_windows)
{
    struct windows *w = calloc(1, sizeof *w);
    pthread_condattr_t attr;

    if (!w)
        return -ENOMEM;
    w->set = set;
    pthread_mutex_init(&w->lock, NULL);
    pthread_mutex_init(&w->end_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->end, &attr);
    pthread_condattr_destroy(&attr);
    for (uint32_t kind = 0; kind < WINDOWS_KINDS; kind++) {
        const size_t n = (size_t)SHARDS_MAX * windows_of[kind].n;

        w->slot[kind] = calloc(n ? n : 1, sizeof *w->slot[kind]);
        if (!w->slot[kind]) {
            windows_free(w);
            return -ENOMEM;
        }
    }
    *ret_windows = w;
    return 0;
}

int windows_start(struct windows *w)
{
    const int r = -pthread_create(&w->thread, NULL, run, w);

    w->has_thread = r == 0;
    return r;
}

static void free_kind(struct windows *w, uint32_t kind)
{
    const size_t n = w->slot[kind] ? (size_t)SHARDS_MAX * windows_of[kind].n : 0;

    for (size_t i = 0; i < n; i++)
        forget_slot(&w->slot[kind][i]);
    free(w->slot[kind]);
    while (w->series[kind]) {
        struct windows_series *next = w->series[kind]->next;

        free_series(w->series[kind]);
        w->series[kind] = next;
    }
}

void windows_free(struct windows *w)
{
    if (!w)
        return;
    if (w->has_thread) {
        pthread_mutex_lock(&w->end_lock);
        w->is_ending = true;
        pthread_cond_signal(&w->end);
        pthread_mutex_unlock(&w->end_lock);
        pthread_join(w->thread, NULL);
    }
    for (uint32_t kind = 0; kind < WINDOWS_KINDS; kind++)
        free_kind(w, kind);
    pthread_cond_destroy(&w->end);
    pthread_mutex_destroy(&w->end_lock);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
