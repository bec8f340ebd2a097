/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/suspects.h"

#include <errno.h>
#include <stdlib.h>

#include "memory/pool.h"
#include "menu/menu.h"

#define PARTS 8u /* of a group that failed: 64 RoIs are single ones after two failures */

struct place { /* of an RoI, by its number */
    uint32_t next, prev;
    uint32_t group; /* neighbours with one number run together; 0: it is not here */
};

/* The RoIs of one step in the order in which they run: a ring through the place behind all RoIs. */
struct row {
    uint32_t n;
    uint32_t groups;     /* number of the last one */
    struct place *place; /* [n_rois + 1]; NULL: the step has no batches */
};

struct suspects {
    uint32_t n_rois;
    struct row row[MENU_STEPS_MAX];
};

int suspects_new(uint64_t steps, uint32_t n_rois, struct suspects **ret_suspects)
{
    struct suspects *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->n_rois = n_rois;
    for (uint64_t left = steps; left; left &= left - 1) {
        struct row *row = &s->row[__builtin_ctzll(left)];

        row->place = calloc((size_t)n_rois + 1, sizeof *row->place);
        if (!row->place) {
            suspects_free(s);
            return -ENOMEM;
        }
        row->place[n_rois].next = row->place[n_rois].prev = n_rois;
    }
    *ret_suspects = s;
    return 0;
}

void suspects_free(struct suspects *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++)
        free(s->row[i].place);
    free(s);
}

/* Puts RoIs behind one of the ring, as a group. */
static void insert(struct row *row, uint32_t behind, const uint32_t *roi, uint32_t n)
{
    struct place *place = row->place;

    row->n += n;
    if (!++row->groups)
        row->groups = 1;
    for (uint32_t i = 0; i < n; i++, behind = roi[i - 1]) {
        const uint32_t next = place[behind].next;

        place[roi[i]] = (struct place){.next = next, .prev = behind, .group = row->groups};
        place[behind].next = place[next].prev = roi[i];
    }
}

void suspects_add(struct suspects *s, uint32_t step, const uint32_t *roi, uint32_t n)
{
    struct row *row = &s->row[step];

    insert(row, row->place[s->n_rois].prev, roi, n);
}

void suspects_split(struct suspects *s, uint32_t step, const uint32_t *roi, uint32_t n)
{
    const uint32_t most = (n + PARTS - 1) / PARTS;

    for (uint32_t end = n; end; end = (end - 1) / most * most) { /* the first part comes first */
        const uint32_t first = (end - 1) / most * most;

        insert(&s->row[step], s->n_rois, roi + first, end - first);
    }
}

uint32_t suspects_first(const struct suspects *s, uint32_t step)
{
    const struct row *row = &s->row[step];

    return row->n ? row->place[s->n_rois].next : POOL_NONE;
}

uint32_t suspects_after(const struct suspects *s, uint32_t step, uint32_t roi)
{
    const struct place *place = s->row[step].place;
    const uint32_t next = place[roi].next;

    return place[next].group == place[roi].group ? next : POOL_NONE;
}

bool suspects_remove(struct suspects *s, uint32_t step, uint32_t roi)
{
    struct row *row = &s->row[step];
    struct place *p;

    if (!row->n || !row->place[roi].group)
        return false;
    p = &row->place[roi];
    row->place[p->prev].next = p->next;
    row->place[p->next].prev = p->prev;
    p->group = 0;
    row->n--;
    return true;
}
