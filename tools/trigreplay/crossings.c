/* SPDX-License-Identifier: Apache-2.0 */
#include "crossings.h"

#include <errno.h>
#include <stdlib.h>

int crossings_grow(struct crossings *c, uint32_t room)
{
    struct crossing *at = calloc(room, sizeof *at);

    if (!at)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->room; i++)
        if (c->at[i].number)
            at[c->at[i].number % room] = c->at[i];
    free(c->at);
    c->at = at;
    c->room = room;
    return 0;
}

void crossings_fini(struct crossings *c)
{
    free(c->at);
    *c = (struct crossings){.at = NULL};
}

struct crossing *crossings_begin(struct crossings *c, uint32_t n_rois)
{
    struct crossing *e;

    do
        e = &c->at[++c->last % c->room];
    while (e->number || !c->last);
    *e = (struct crossing){.number = c->last, .n_rois = n_rois};
    c->n_open++;
    return e;
}

struct crossing *crossings_find(const struct crossings *c, uint32_t number)
{
    struct crossing *e = c->room ? &c->at[number % c->room] : NULL;

    return e && number && e->number == number ? e : NULL;
}

bool crossings_is_over(const struct crossing *e)
{
    return e->n_answered == e->n_rois && (e->is_decided || e->n_refused == e->n_rois);
}

void crossings_end(struct crossings *c, struct crossing *e)
{
    e->number = 0;
    c->n_open--;
}
