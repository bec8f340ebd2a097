/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LINE_BYTES (CONDITION_NAME + 20) /* "NAME 0123456789abcdef\n" */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct condition *const *)a)->name, (*(struct condition *const *)b)->name);
}

/* A hash of one line a condition that is given, "NAME KEY", in the order of names. */
static uint64_t key_of(const struct conditions *set)
{
    char text[CONDITIONS_MAX * LINE_BYTES] = "";
    struct condition *order[CONDITIONS_MAX];
    size_t used = 0, n = 0;

    for (uint32_t i = 0; i < set->n; i++)
        if (set->of[i])
            order[n++] = set->of[i];
    if (!n)
        return 0;
    qsort(order, n, sizeof(struct condition *), by_name);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, LINE_BYTES, "%s %016" PRIx64 "\n", order[i]->name,
                                 order[i]->key);
    return hash_bytes(text, used);
}

int conditions_load(struct menu *m, const char *path, struct plugin_host *plugins)
{
    struct condition_need needs[NEEDS_MAX];
    struct condition_list list;
    uint32_t n = m->n_conditions;
    int r;

    if (!path[0])
        return 0;
    memcpy(needs, m->condition, n * sizeof *needs); /* those come first: the menu's own columns */
    n += conditions_needed(plugins, needs + n, CONDITIONS_MAX);
    r = conditions_read(path, needs, n, &list);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < m->n_conditions; i++)
        for (uint32_t k = 0; k < list.n; k++)
            if (!strcmp(list.of[k]->name, m->condition[i].name))
                m->base[i] = condition_use(list.of[k]);
    conditions_release(&list);
    return 0;
}

void conditions_init(const struct menu *m, struct condition *const *of, struct conditions *ret_set)
{
    *ret_set = (struct conditions){.n = m->n_conditions};
    for (uint32_t i = 0; i < m->n_conditions; i++)
        ret_set->of[i] = condition_use(of[i]);
    ret_set->key = key_of(ret_set);
}

void conditions_drop(struct conditions *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        condition_release(set->of[i]);
    set->n = 0;
}

const char *conditions_lacking(const struct conditions *set, const struct menu *m)
{
    for (uint32_t i = 0; i < m->n_conditions; i++)
        if (!set->of[i] && !m->condition[i].is_optional)
            return m->condition[i].name;
    return NULL;
}
