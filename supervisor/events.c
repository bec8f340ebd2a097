/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdlib.h>

#define WAYS 4u /* places of an event: the one that was used longest ago is given up */

int events_open(struct events *e, uint32_t most)
{
    e->n = 1;
    e->clock = 0;
    while (e->n * WAYS < most)
        e->n *= 2;
    e->entry = calloc((size_t)e->n * WAYS, sizeof *e->entry);
    return e->entry ? 0 : -ENOMEM;
}

void events_close(struct events *e)
{
    free(e->entry);
    e->entry = NULL;
}

static struct events_entry *set_of(const struct events *e, uint64_t event)
{
    const uint64_t h = (event ^ event >> 32) * 0x9e3779b97f4a7c15ull;

    return &e->entry[(h >> 32 & (e->n - 1)) * WAYS];
}

struct events_entry *events_at(const struct events *e, uint64_t event)
{
    struct events_entry *set = set_of(e, event);

    for (uint32_t i = 0; i < WAYS; i++)
        if (set[i].used && set[i].event == event)
            return &set[i];
    return NULL;
}

uint32_t events_find(const struct events *e, uint64_t event)
{
    const struct events_entry *at = events_at(e, event);

    return at ? at->node : EVENTS_NONE;
}

static struct events_entry *used_first(struct events_entry *set)
{
    struct events_entry *first = set;

    for (uint32_t i = 1; i < WAYS; i++)
        if (set[i].used < first->used)
            first = &set[i];
    return first;
}

struct events_entry *events_set(struct events *e, uint64_t event, uint32_t node)
{
    struct events_entry *at = events_at(e, event);

    if (!++e->clock)
        e->clock = 1;
    if (!at) {
        at = used_first(set_of(e, event));
        *at = (struct events_entry){.event = event};
    }
    at->node = node;
    at->used = e->clock;
    return at;
}
