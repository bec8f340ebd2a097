/* SPDX-License-Identifier: Apache-2.0 */
#include "gen_bricks.h"

#include <errno.h>
#include <stdlib.h>

#include "gen_store.h"
#include "raw.collections.h"

struct box { /* of a brick: without halo, and what is sent */
    uint32_t origin[3], n[3], from[3], size[3];
};

static uint32_t parts(const struct bricks_volume *v, uint32_t axis)
{
    return (v->n[axis] + v->edge - 1) / v->edge;
}

uint32_t bricks_count(const struct bricks_volume *v)
{
    return parts(v, 0) * parts(v, 1) * parts(v, 2);
}

static struct box box_of(const struct bricks_volume *v, uint32_t number)
{
    struct box b;

    for (uint32_t a = 0; a < 3; a++) {
        const uint32_t begin = number % parts(v, a) * v->edge;
        const uint32_t end = v->n[a] - begin > v->edge ? begin + v->edge : v->n[a];

        b.origin[a] = begin;
        b.n[a] = end - begin;
        b.from[a] = begin ? begin - 1 : 0;
        b.size[a] = (end < v->n[a] ? end + 1 : end) - b.from[a];
        number /= parts(v, a);
    }
    return b;
}

static int make_room(struct generated_brick *k, size_t bytes)
{
    uint8_t *more;

    if (bytes <= k->room)
        return 0;
    more = bytes <= UINT32_MAX ? realloc(k->bytes, bytes) : NULL;
    if (!more)
        return -ENOMEM;
    k->bytes = more;
    k->room = (uint32_t)bytes;
    return 0;
}

int bricks_cut(const struct bricks_volume *v, uint32_t number, uint32_t l1id, struct generated *g)
{
    const struct box b = box_of(v, number);
    const size_t row = (size_t)b.size[0] * (v->type ? 2 : 1);
    const size_t bytes = row * b.size[1] * b.size[2];
    struct generated_brick *k = &g->brick;
    uint8_t *out;
    int r = make_room(k, bytes);

    if (r < 0)
        return r;
    store_begin(g, generator_brick_kind());
    g->info = (struct trg_roi_info){
        .run = 1, .l1id = l1id, .roi_id = number, .l1_bits = 1, .phi_half_rad = 3.1415927f};
    for (uint32_t a = 0; a < 3; a++) {
        k->n[a] = (uint16_t)b.n[a];
        k->origin[a] = (uint16_t)b.origin[a];
        k->volume[a] = (uint16_t)v->n[a];
    }
    k->type = (uint8_t)v->type;
    k->low = v->low;
    k->width = v->width;
    out = k->bytes;
    for (uint32_t z = 0; z < b.size[2]; z++)
        for (uint32_t y = 0; y < b.size[1]; y++, out += row)
            v->row(v->ctx, b.from[0], b.from[1] + y, b.from[2] + z, b.size[0], out);
    g->n = (uint32_t)bytes;
    return 0;
}
