/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/suspects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 8u /* of a group that failed: 64 RoIs are single ones after two failures */

struct group { /* RoIs that run together: a part of `roi` */
    uint32_t engine, step;
    uint32_t first, n;
};

/* Groups in the order in which they run, their RoIs behind each other in the same order. */
struct suspects {
    uint32_t most, n_groups, n_rois;
    uint32_t n_out;      /* RoIs that run now and may come back */
    struct group *group; /* [2 * most] */
    uint32_t *roi;       /* [most] */
};

int suspects_new(uint32_t most, struct suspects **ret_suspects)
{
    struct suspects *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->most = most;
    s->group = calloc((size_t)2 * most, sizeof *s->group);
    s->roi = calloc(most, sizeof *s->roi);
    if (!s->group || !s->roi) {
        suspects_free(s);
        return -ENOMEM;
    }
    *ret_suspects = s;
    return 0;
}

void suspects_free(struct suspects *s)
{
    if (!s)
        return;
    free(s->group);
    free(s->roi);
    free(s);
}

uint32_t suspects_count(const struct suspects *s)
{
    return s->n_rois;
}

/* Puts a group in place `at`; its RoIs go to `first`. */
static void insert(struct suspects *s, uint32_t at, uint32_t first, struct group g,
                   const uint32_t *roi)
{
    memmove(&s->group[at + 1], &s->group[at], (s->n_groups - at) * sizeof *s->group);
    memmove(&s->roi[first + g.n], &s->roi[first], (s->n_rois - first) * sizeof *s->roi);
    memcpy(&s->roi[first], roi, g.n * sizeof *roi);
    g.first = first;
    s->group[at] = g;
    s->n_groups++;
    s->n_rois += g.n;
    for (uint32_t i = at + 1; i < s->n_groups; i++)
        s->group[i].first += g.n;
}

bool suspects_add(struct suspects *s, uint32_t engine, uint32_t step, const uint32_t *roi,
                  uint32_t n)
{
    if (n > s->most - s->n_rois - s->n_out)
        return false;
    insert(s, s->n_groups, s->n_rois, (struct group){.engine = engine, .step = step, .n = n}, roi);
    return true;
}

void suspects_split(struct suspects *s, uint32_t engine, uint32_t step, const uint32_t *roi,
                    uint32_t n)
{
    const uint32_t most = (n + PARTS - 1) / PARTS;

    for (uint32_t end = n; end; end = (end - 1) / most * most) { /* the first part comes first */
        const uint32_t first = (end - 1) / most * most;

        insert(s, 0, 0, (struct group){.engine = engine, .step = step, .n = end - first},
               roi + first);
    }
}

static struct group *find(const struct suspects *s, uint32_t engine, uint32_t step)
{
    for (uint32_t i = 0; i < s->n_groups; i++)
        if (s->group[i].engine == engine && s->group[i].step == step)
            return &s->group[i];
    return NULL;
}

uint32_t suspects_next(const struct suspects *s, uint32_t engine, uint32_t step,
                       const uint32_t **ret_roi)
{
    const struct group *g = find(s, engine, step);

    if (!g)
        return 0;
    *ret_roi = &s->roi[g->first];
    return g->n;
}

/* Takes `n` RoIs out of a group, and the group when it is empty. */
static void take_out(struct suspects *s, struct group *g, uint32_t first, uint32_t n)
{
    const uint32_t at = (uint32_t)(g - s->group);

    memmove(&s->roi[first], &s->roi[first + n], (s->n_rois - first - n) * sizeof *s->roi);
    s->n_rois -= n;
    g->n -= n;
    for (uint32_t i = at + 1; i < s->n_groups; i++)
        s->group[i].first -= n;
    if (g->n)
        return;
    memmove(g, g + 1, (s->n_groups - at - 1) * sizeof *g);
    s->n_groups--;
}

void suspects_take(struct suspects *s, uint32_t engine, uint32_t step, uint32_t n)
{
    struct group *g = find(s, engine, step);

    take_out(s, g, g->first, n);
    s->n_out += n;
}

void suspects_settle(struct suspects *s, uint32_t n)
{
    s->n_out -= n;
}

bool suspects_remove(struct suspects *s, uint32_t roi)
{
    for (uint32_t i = 0; i < s->n_groups; i++)
        for (uint32_t k = 0; k < s->group[i].n; k++)
            if (s->roi[s->group[i].first + k] == roi) {
                take_out(s, &s->group[i], s->group[i].first + k, 1);
                return true;
            }
    return false;
}
