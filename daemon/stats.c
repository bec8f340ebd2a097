/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    struct stats *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->started_ns = clock_ns();
    *ret_stats = s;
    return 0;
}

void stats_free(struct stats *s)
{
    free(s);
}

static void set_name(char *dst, const char *src)
{
    strncpy(dst, src, STATS_NAME - 1);
    dst[STATS_NAME - 1] = '\0';
}

/* Finds the entry of that name, else a free one, in a table of entries that begin with the name. */
#define FIND(table, n, wanted, ret)                                                               \
    do {                                                                                          \
        (ret) = NULL;                                                                             \
        for (uint32_t i_ = 0; i_ < (n); i_++) {                                                   \
            if (!atomic_load(&(table)[i_].used)) {                                                \
                if (!(ret))                                                                       \
                    (ret) = &(table)[i_];                                                         \
            } else if (!strncmp((table)[i_].name, (wanted), STATS_NAME - 1)) {                    \
                (ret) = &(table)[i_];                                                             \
                break;                                                                            \
            }                                                                                     \
        }                                                                                         \
    } while (0)

struct stats_chain *stats_chain_get(struct stats *s, const char *name)
{
    struct stats_chain *e;

    stats_lock();
    FIND(s->chain, STATS_CHAINS_MAX, name, e);
    if (e) {
        set_name(e->name, name);
        atomic_store(&e->used, true);
    }
    stats_unlock();
    return e;
}

struct stats_step *stats_step_get(struct stats *s, const char *name, const char *plugin)
{
    struct stats_step *e;

    stats_lock();
    FIND(s->step, STATS_STEPS_MAX, name, e);
    if (e) {
        set_name(e->name, name);
        set_name(e->plugin, plugin);
        atomic_store(&e->used, true);
    }
    stats_unlock();
    return e;
}

struct stats_lane *stats_lane_get(struct stats *s, const char *name, const char *device,
                                  uint32_t slots)
{
    struct stats_lane *e;

    stats_lock();
    FIND(s->lane, STATS_LANES_MAX, name, e);
    if (e) {
        set_name(e->name, name);
        strncpy(e->device, device, sizeof e->device - 1);
        e->slots = slots;
        atomic_store(&e->used, true);
    }
    stats_unlock();
    return e;
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
