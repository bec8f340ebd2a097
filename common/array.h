/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - arrays that grow by doubling. */
#ifndef TRIGD_ARRAY_H
#define TRIGD_ARRAY_H
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more item after n in *array (a pointer to items of `each` bytes, which is NULL
 * or from malloc, with room for *room).  -ENOMEM leaves it as it was. */
static inline int array_grow(void *array, uint32_t n, uint32_t *room, size_t each)
{
    const uint32_t wanted = *room ? 2 * *room : 64;
    void *items;

    if (n < *room)
        return 0;
    if (wanted < *room)
        return -ENOMEM;
    memcpy(&items, array, sizeof items);
    items = realloc(items, wanted * each);
    if (!items)
        return -ENOMEM;
    memcpy(array, &items, sizeof items);
    *room = wanted;
    return 0;
}
#endif
