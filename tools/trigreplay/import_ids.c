/* SPDX-License-Identifier: Apache-2.0 */
#include "import_ids.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"

int ids_add(struct ids *all, uint64_t id, uint32_t index)
{
    if (array_grow(&all->list, all->n, &all->room, sizeof *all->list) < 0)
        return -ENOMEM;
    all->list[all->n++] = (struct id){id, index};
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct id *)a)->id, y = ((const struct id *)b)->id;

    return x < y ? -1 : x > y;
}

int ids_sort(struct ids *all, uint64_t *ret_twice)
{
    if (all->n > 1)
        qsort(all->list, all->n, sizeof *all->list, compare);
    for (uint32_t i = 1; i < all->n; i++)
        if (all->list[i].id == all->list[i - 1].id) {
            *ret_twice = all->list[i].id;
            return -EEXIST;
        }
    return 0;
}

int ids_find(const struct ids *all, uint64_t id, uint32_t *ret_index)
{
    const struct id key = {.id = id};
    const struct id *found =
        all->n ? bsearch(&key, all->list, all->n, sizeof *all->list, compare) : NULL;

    if (!found)
        return -ENOENT;
    *ret_index = found->index;
    return 0;
}

void ids_free(struct ids *all)
{
    free(all->list);
    *all = (struct ids){0};
}
