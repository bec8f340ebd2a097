/* SPDX-License-Identifier: Apache-2.0 */
#include "roiset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define FIRST_ROOM 1024u /* a power of two */

struct entry {
    uint32_t run, l1id, roi_id;
    bool is_used;
};

struct roiset { /* open addressing, at most half full */
    struct entry *entry;
    size_t n, room;
};

int roiset_new(struct roiset **ret_set)
{
    struct roiset *s = calloc(1, sizeof *s);

    if (s)
        s->entry = calloc(FIRST_ROOM, sizeof *s->entry);
    if (!s || !s->entry) {
        free(s);
        return -ENOMEM;
    }
    s->room = FIRST_ROOM;
    *ret_set = s;
    return 0;
}

void roiset_free(struct roiset *s)
{
    if (!s)
        return;
    free(s->entry);
    free(s);
}

/* Where an RoI is, or belongs. */
static struct entry *find(struct entry *table, size_t room, const struct entry *e)
{
    uint64_t h = ((uint64_t)e->run << 32 | e->l1id) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i;

    h = (h ^ h >> 29 ^ e->roi_id) * UINT64_C(0xbf58476d1ce4e5b9);
    for (i = (h >> 20) & (room - 1); table[i].is_used; i = (i + 1) & (room - 1))
        if (table[i].run == e->run && table[i].l1id == e->l1id && table[i].roi_id == e->roi_id)
            break;
    return &table[i];
}

static int grow(struct roiset *s)
{
    struct entry *more = calloc(2 * s->room, sizeof *more);

    if (!more)
        return -ENOMEM;
    for (size_t i = 0; i < s->room; i++)
        if (s->entry[i].is_used)
            *find(more, 2 * s->room, &s->entry[i]) = s->entry[i];
    free(s->entry);
    s->entry = more;
    s->room *= 2;
    return 0;
}

int roiset_add(struct roiset *s, const Trigd__V1__Roi *roi)
{
    const struct entry e = {
        .run = roi->run, .l1id = roi->l1id, .roi_id = roi->roi_id, .is_used = true};
    struct entry *at;

    if (2 * s->n >= s->room && grow(s) < 0)
        return -ENOMEM;
    at = find(s->entry, s->room, &e);
    if (at->is_used)
        return 0;
    *at = e;
    s->n++;
    return 1;
}
