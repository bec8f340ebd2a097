/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_titles.h"

#include <errno.h>
#include <stdlib.h>

#include "declared.h"

struct lists { /* of one header; point into the menu */
    struct declared declared;
    char *chain[MENU_CHAINS_MAX], *stream[MENU_STREAMS_MAX];
    Trigd__V1__Step step[MENU_STEPS_MAX], *steps[MENU_STEPS_MAX];
    char *value[MENU_STEPS_MAX][TRG_VALUES_MAX];
};

static void list_names(const struct menu *m, struct lists *l, Trigd__V1__FileHeader *h)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        l->chain[i] = m->chains[i].name;
    for (uint32_t i = 0; i < m->n_streams; i++)
        l->stream[i] = m->streams[i].name;
    h->n_chains = m->n_chains;
    h->chains = l->chain;
    h->n_streams = m->n_streams;
    h->streams = l->stream;
}

static void list_steps(const struct menu *m, struct lists *l, Trigd__V1__FileHeader *h)
{
    for (uint32_t i = 0; i < m->n_steps; i++) {
        const struct plugin *p = m->steps[i].plugin;

        trigd__v1__step__init(&l->step[i]);
        l->step[i].name = m->steps[i].name;
        l->step[i].plugin = (char *)(uintptr_t)p->d.name;
        for (uint32_t k = 0; k < p->n_values; k++)
            l->value[i][k] = (char *)(uintptr_t)p->d.values[k].name;
        l->step[i].n_values = p->n_values;
        l->step[i].values = l->value[i];
        l->steps[i] = &l->step[i];
    }
    h->n_steps = m->n_steps;
    h->steps = l->steps;
}

/* Collections that plugins declare, and those that streams keep as products. */
static uint32_t kinds_of(const struct menu *m)
{
    uint32_t kinds = kinds_declared();

    for (uint32_t s = 0; s < m->n_streams; s++)
        for (uint64_t left = m->streams[s].products; left; left &= left - 1) {
            const struct plugin *p = m->steps[__builtin_ctzll(left)].plugin;

            for (uint32_t k = 0; k < p->n_outputs; k++)
                kinds |= 1u << p->produces[k];
        }
    return kinds;
}

int stream_titles_new(const struct menu *menu, uint32_t generation,
                      struct stream_titles **ret_titles)
{
    Trigd__V1__FileHeader h = TRIGD__V1__FILE_HEADER__INIT;
    struct lists *l = calloc(1, sizeof *l);
    struct stream_titles *t = NULL;
    size_t bytes;

    if (!l)
        return -ENOMEM;
    h.version = 2;
    h.creator = (char *)"trigd " TRIGD_VERSION;
    h.menu_key = menu->hash;
    list_names(menu, l, &h);
    list_steps(menu, l, &h);
    declared_fill(kinds_of(menu), &l->declared);
    h.n_collections = l->declared.n;
    h.collections = l->declared.list;
    bytes = trigd__v1__file_header__get_packed_size(&h);
    t = malloc(sizeof *t + bytes);
    if (t) {
        *t = (struct stream_titles){
            .generation = generation, .menu_key = menu->hash, .bytes = bytes};
        trigd__v1__file_header__pack(&h, t->packed);
        *ret_titles = t;
    }
    free(l);
    return t ? 0 : -ENOMEM;
}

Trigd__V1__FileHeader *stream_titles_header(const struct stream_titles *t)
{
    return trigd__v1__file_header__unpack(NULL, t->bytes, t->packed);
}
