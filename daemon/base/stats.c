/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void stats_lock(void)
{
    pthread_mutex_lock(&lock);
}

void stats_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int stats_new(struct stats **ret_stats)
{
    /* pages that nobody writes take no memory; the calloc of sanitizers would write all of them */
    struct stats *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (s == MAP_FAILED)
        return -errno;
    s->started_ns = clock_ns();
    pthread_mutex_init(&s->slow.lock, NULL);
    *ret_stats = s;
    return 0;
}

void stats_free(struct stats *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->slow.lock);
    munmap(s, sizeof *s);
}

static void set_name(char *dst, const char *src)
{
    strncpy(dst, src, STATS_NAME - 1);
    dst[STATS_NAME - 1] = '\0';
}

/* Finds the entry of that name, else a free one, in a table of entries that begin with the name. */
#define FIND(table, n, wanted, ret)                                            \
    do {                                                                       \
        (ret) = NULL;                                                          \
        for (uint32_t i_ = 0; i_ < (n); i_++) {                                \
            if (!atomic_load(&(table)[i_].used)) {                             \
                if (!(ret))                                                    \
                    (ret) = &(table)[i_];                                      \
            } else if (!strncmp((table)[i_].name, (wanted), STATS_NAME - 1)) { \
                (ret) = &(table)[i_];                                          \
                break;                                                         \
            }                                                                  \
        }                                                                      \
    } while (0)

/* Takes the entry of that name, or a free one, or else what `otherwise` sets `ret` to; `fill`
 * completes it before others see it. */
#define TAKE_ELSE(table, n, wanted, ret, otherwise, fill) \
    do {                                                  \
        stats_lock();                                     \
        FIND(table, n, wanted, ret);                      \
        if (!(ret))                                       \
            otherwise;                                    \
        if (ret) {                                        \
            fill;                                         \
            set_name((ret)->name, wanted);                \
            atomic_store(&(ret)->used, true);             \
        }                                                 \
        stats_unlock();                                   \
    } while (0)
#define TAKE(table, n, wanted, ret, fill) TAKE_ELSE(table, n, wanted, ret, (void)0, fill)

static uint64_t n_left; /* under the lock */

/* Empties the entry without users that was left first, and sets `ret` to it, if there is one. */
#define TAKE_OVER(table, n, ret)                                        \
    do {                                                                \
        for (uint32_t i_ = 0; i_ < (n); i_++)                           \
            if (!(table)[i_].users.count &&                             \
                (!(ret) || (table)[i_].users.left < (ret)->users.left)) \
                (ret) = &(table)[i_];                                   \
        if (ret) {                                                      \
            atomic_store(&(ret)->used, false);                          \
            memset((ret), 0, sizeof *(ret));                            \
        }                                                               \
    } while (0)

static void leave(struct stats_users *users)
{
    stats_lock();
    if (!--users->count)
        users->left = ++n_left;
    stats_unlock();
}

struct stats_chain *stats_chain_get(struct stats *s, const char *name)
{
    struct stats_chain *e;

    TAKE_ELSE(s->chain, STATS_CHAINS_MAX, name, e, TAKE_OVER(s->chain, STATS_CHAINS_MAX, e),
              e->users.count++);
    return e;
}

void stats_chain_put(struct stats_chain *c)
{
    leave(&c->users);
}

struct stats_step *stats_step_get(struct stats *s, const char *name, const char *plugin)
{
    struct stats_step *e;

    TAKE_ELSE(s->step, STATS_STEPS_MAX, name, e, TAKE_OVER(s->step, STATS_STEPS_MAX, e), {
        set_name(e->plugin, plugin);
        e->users.count++;
    });
    return e;
}

void stats_step_put(struct stats_step *p)
{
    leave(&p->users);
}

/* All that were used, and one more. */
static uint32_t lanes_to_search(const struct stats *s)
{
    return s->n_lanes < STATS_LANES_MAX ? s->n_lanes + 1 : STATS_LANES_MAX;
}

static void fill_lane(struct stats_lane *e, const char *name, const char *device, uint32_t slots)
{
    if (!atomic_load(&e->used))
        memset(e, 0, sizeof *e); /* of a lane that is gone */
    e->slots = slots;
    e->users++;
    snprintf(e->device, sizeof e->device, "%s", device);
    set_name(e->name, name);
    atomic_store(&e->used, true);
}

struct stats_lane *stats_lane_get(struct stats *s, const char *name, const char *device,
                                  uint32_t slots)
{
    struct stats_lane *e;

    stats_lock();
    FIND(s->lane, lanes_to_search(s), name, e);
    if (e) {
        fill_lane(e, name, device, slots);
        if (e >= s->lane + s->n_lanes)
            atomic_store(&s->n_lanes, (uint32_t)(e - s->lane) + 1);
    }
    stats_unlock();
    return e;
}

void stats_lane_put(struct stats_lane *l)
{
    stats_lock();
    if (!--l->users)
        atomic_store(&l->used, false);
    stats_unlock();
}

struct stats_worker *stats_worker_get(struct stats *s, const char *name)
{
    struct stats_worker *e;

    TAKE(s->worker, STATS_WORKERS_MAX, name, e, memset(e, 0, sizeof *e));
    return e;
}

struct stats_stream *stats_stream_get(struct stats *s, const char *name)
{
    struct stats_stream *e;

    TAKE(s->stream, STATS_STREAMS_MAX, name, e, (void)0);
    return e;
}

struct stats_guest *stats_guest_get(struct stats *s, const char *name)
{
    struct stats_guest *e;

    TAKE(s->guest, STATS_GUESTS_MAX, name, e, (void)0);
    return e;
}

void stats_worker_put(struct stats_worker *w)
{
    stats_lock();
    atomic_store(&w->used, false);
    stats_unlock();
}

struct stats_client *stats_client_get(struct stats *s, const char *name)
{
    struct stats_client *e = NULL;

    stats_lock();
    for (uint32_t i = 0; i < STATS_CLIENTS_MAX && !e; i++)
        if (!atomic_load(&s->client[i].used))
            e = &s->client[i]; /* two clients of one name have an entry each */
    if (e) {
        memset(e, 0, sizeof *e);
        set_name(e->name, name);
        atomic_store(&e->used, true);
    }
    stats_unlock();
    return e;
}

void stats_client_put(struct stats *s, struct stats_client *c)
{
    (void)s;
    stats_lock();
    atomic_store(&c->used, false);
    stats_unlock();
}

/* ---------------------------------------------------------------- reading */

#define READINGS_MAX 1000 /* some 50 us; a ledger that balances does so within a few, */
#define NAPS_MAX     200  /* unless its thread has lost its core between two counters */
#define NAP_NS       100000

static struct stats_ledger read_once(const struct stats_global *g)
{
    struct stats_ledger l = {.accepted = stats_get(&g->accepted),
                             .rejected = stats_get(&g->rejected),
                             .failed = stats_get(&g->failed),
                             .in_flight = stats_get(&g->in_flight),
                             .received = stats_get(&g->received)};

    l.imbalance = (int64_t)(l.received - l.accepted - l.rejected - l.failed - l.in_flight);
    return l;
}

static bool is_same(const struct stats_ledger *a, const struct stats_ledger *b)
{
    return a->received == b->received && a->accepted == b->accepted && a->rejected == b->rejected &&
           a->failed == b->failed && a->in_flight == b->in_flight;
}

/* Reads until it stands still for a moment; whether it balances. */
static bool read_still(const struct stats_global *g, struct stats_ledger *ret_ledger)
{
    struct stats_ledger now = read_once(g), before;
    uint32_t n = 1;

    do {
        before = now;
        now = read_once(g);
    } while ((now.imbalance || !is_same(&before, &now)) && ++n < READINGS_MAX);
    *ret_ledger = now;
    return now.imbalance == 0;
}

void stats_ledger(const struct stats_global *g, struct stats_ledger *ret_ledger)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    for (uint32_t n = 0; !read_still(g, ret_ledger) && n < NAPS_MAX; n++)
        nanosleep(&nap, NULL);
}

void stats_snapshot(const struct stats_global *g, struct stats_global *ret_copy)
{
    struct stats_ledger l;

#define COPY(name, kind, help) stats_set(&ret_copy->name, stats_get(&g->name));
    STATS_GLOBAL(COPY)
#undef COPY
    stats_ledger(g, &l);
    stats_set(&ret_copy->received, l.received);
    stats_set(&ret_copy->accepted, l.accepted);
    stats_set(&ret_copy->rejected, l.rejected);
    stats_set(&ret_copy->failed, l.failed);
    stats_set(&ret_copy->in_flight, l.in_flight);
}
