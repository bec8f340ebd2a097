/* SPDX-License-Identifier: Apache-2.0 */
#include "import_layers.h"

#include <errno.h>

/* Pixels, short strips, long strips; each has discs at z < 0, a barrel and discs at z > 0, in this
 * order of volumes. */
static const struct part {
    uint64_t trackml, odd; /* the first of the three volumes */
    uint32_t barrels, discs;
    uint32_t barrel, front, back; /* our first layer of each */
} parts[] = {{7, 16, 4, 7, 0, 10, 29}, {12, 23, 4, 6, 4, 17, 36}, {16, 28, 2, 6, 8, 23, 42}};
#define PARTS (sizeof parts / sizeof *parts)

static bool has(bool is_odd, uint64_t volume)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        uint64_t first = is_odd ? parts[i].odd : parts[i].trackml;

        if (volume >= first && volume < first + 3)
            return true;
    }
    return false;
}

bool layers_is_only_odd(uint64_t volume)
{
    return has(true, volume) && !has(false, volume);
}

bool layers_is_only_trackml(uint64_t volume)
{
    return has(false, volume) && !has(true, volume);
}

int layers_find(bool is_odd, uint64_t volume, uint64_t layer)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        const struct part *p = &parts[i];
        uint64_t which = volume - (is_odd ? p->odd : p->trackml), at = layer / 2 - 1;

        if (which > 2)
            continue;
        if (layer < 2 || layer % 2 || at >= (which == 1 ? p->barrels : p->discs))
            return -EINVAL;
        /* those at z < 0 count from the outside */
        return (int)(which == 1   ? p->barrel + at
                     : which == 2 ? p->front + at
                                  : p->back + p->discs - 1 - at);
    }
    return -EINVAL;
}
