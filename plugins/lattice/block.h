/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - several steps of a tile in shared memory.  Part of lattice.kernel.c and
 * lattice16.kernel.c.
 *
 * A group reads LT_TILE_W x tile_h cells in state 0, takes them through `steps` steps in place, and
 * writes those to another array that are `steps` cells from the edge of what it read: what is
 * nearer has missed something from outside.  So no group waits for another, and none runs longer
 * than its steps. */
#ifndef LATTICE_BLOCK_H
#define LATTICE_BLOCK_H
#include "steps.h"

/* Places in a tile: as in lattice.h, with LT_TILE_CELLS from one direction to the next. */
TRG_FN struct lt_motion lt_tile_step(TRG_LOCAL float *tile, const struct lt_numbers n, trg_u32 odd,
                                     trg_u32 push, trg_u32 i)
{
    const trg_u32 e = odd ? 0u : 1u, w = odd ? 0u : LT_TILE_W; /* how far east and north are */
    TRG_LOCAL float *at1 = tile + (odd ? 3u : 1u) * LT_TILE_CELLS + i - e;
    TRG_LOCAL float *at2 = tile + (odd ? 4u : 2u) * LT_TILE_CELLS + i - w;
    TRG_LOCAL float *at3 = tile + (odd ? 1u : 3u) * LT_TILE_CELLS + i + e;
    TRG_LOCAL float *at4 = tile + (odd ? 2u : 4u) * LT_TILE_CELLS + i + w;
    TRG_LOCAL float *at5 = tile + (odd ? 7u : 5u) * LT_TILE_CELLS + i - e - w;
    TRG_LOCAL float *at6 = tile + (odd ? 8u : 6u) * LT_TILE_CELLS + i + e - w;
    TRG_LOCAL float *at7 = tile + (odd ? 5u : 7u) * LT_TILE_CELLS + i + e + w;
    TRG_LOCAL float *at8 = tile + (odd ? 6u : 8u) * LT_TILE_CELLS + i - e + w;
    struct lt_nine c;
    struct lt_motion motion;

    c.f0 = tile[i];
    c.f1 = *at1;
    c.f2 = *at2;
    c.f3 = *at3;
    c.f4 = *at4;
    c.f5 = *at5;
    c.f6 = *at6;
    c.f7 = *at7;
    c.f8 = *at8;
    motion = lt_collide(&c, n);
    if (push)
        lt_push(&c, n);
    tile[i] = c.f0;
    *at3 = c.f1;
    *at4 = c.f2;
    *at1 = c.f3;
    *at2 = c.f4;
    *at7 = c.f5;
    *at8 = c.f6;
    *at5 = c.f7;
    *at6 = c.f8;
    return motion;
}

TRG_FN void lt_tile_lid(TRG_LOCAL float *tile, const struct lt_numbers n, trg_u32 odd, trg_u32 i)
{
    if (odd) {
        tile[7u * LT_TILE_CELLS + i] -= n.lid;
        tile[8u * LT_TILE_CELLS + i] += n.lid;
    } else {
        tile[5u * LT_TILE_CELLS + i - 1u - LT_TILE_W] -= n.lid;
        tile[6u * LT_TILE_CELLS + i + 1u - LT_TILE_W] += n.lid;
    }
}

/* x modulo n, for an x that is not far from 0 .. n - 1. */
TRG_FN trg_u32 lt_wrap(trg_i32 x, trg_u32 n)
{
    while (x < 0)
        x += (trg_i32)n;
    while (x >= (trg_i32)n)
        x -= (trg_i32)n;
    return (trg_u32)x;
}

struct lt_tile {          /* where a tile with its halo is, and what of it is its own */
    trg_i32 x, y;         /* of its first cell; may be outside of the grid, which is periodic */
    trg_u32 own_w, own_h; /* behind the halo; inside of the grid */
};

TRG_FN struct lt_tile lt_tile_of(const struct lt_par par, trg_u32 group)
{
    const trg_u32 w = LT_TILE_W - 2u * par.steps, h = par.tile_h - 2u * par.steps;
    const trg_u32 x = group % par.tiles_x * w, y = group / par.tiles_x * h;
    struct lt_tile t;

    t.x = (trg_i32)x - (trg_i32)par.steps;
    t.y = (trg_i32)y - (trg_i32)par.steps;
    t.own_w = par.nx - x < w ? par.nx - x : w;
    t.own_h = par.ny - y < h ? par.ny - y : h;
    return t;
}

#define LT_WHAT_KIND 3u /* bits of a cell's byte: its kind; */
#define LT_WHAT_PUSH 4u /* it is in the acceleration row; */
#define LT_WHAT_LID  8u /* it is a lid in the row of the lid */

TRG_FN void lt_tile_load(TRG_LOCAL float *tile, TRG_LOCAL trg_u8 *what,
                         TRG_GLOBAL const lt_number *g, TRG_GLOBAL const trg_u8 *kind,
                         const struct lt_par par, trg_u32 group)
{
    const struct lt_tile t = lt_tile_of(par, group);

    for (trg_u32 i = TRG_LID; i < LT_TILE_W * par.tile_h; i += TRG_LSIZE) {
        const trg_u32 x = lt_wrap(t.x + (trg_i32)(i % LT_TILE_W), par.nx);
        const trg_u32 y = lt_wrap(t.y + (trg_i32)(i / LT_TILE_W), par.ny);
        const trg_u32 at = y * par.nx + x, here = kind[at];
        const trg_u32 push = y == par.accel_row ? LT_WHAT_PUSH : 0u;
        const trg_u32 lid = y == par.lid_row && here == LATTICE_LID ? LT_WHAT_LID : 0u;

        what[i] = (trg_u8)(here | push | lid);
        for (trg_u32 k = 0u; k < 9u; k++)
            tile[k * LT_TILE_CELLS + i] = lt_load(g, k * par.stride + at);
    }
}

/* Step s of all cells that can still be right: more than s from the edge. */
TRG_FN void lt_tile_cells(TRG_LOCAL float *tile, TRG_LOCAL const trg_u8 *what,
                          TRG_LOCAL trg_u32 *total, TRG_GLOBAL trg_u32 *sums,
                          const struct lt_par par, trg_u32 s, trg_u32 group)
{
    const struct lt_tile t = lt_tile_of(par, group);
    const trg_u32 rows = par.tile_h - 2u * (s + 1u);
    const trg_u32 accelerate = par.accelerate || s + 1u < par.steps ? LT_WHAT_PUSH : 0u;
    trg_u64 sum = 0u;
    trg_u32 most = 0u;

    for (trg_u32 j = TRG_LID; j < LT_TILE_W * rows; j += TRG_LSIZE) {
        const trg_u32 x = j % LT_TILE_W, y = j / LT_TILE_W + s + 1u, i = y * LT_TILE_W + x;
        const trg_u32 here = what[i];
        const trg_u32 is_inside = x - (s + 1u) < LT_TILE_W - 2u * (s + 1u);

        if (is_inside && (here & LT_WHAT_KIND) == LATTICE_FREE) {
            const struct lt_motion motion = lt_tile_step(tile, par.n, s & 1u, here & accelerate, i);

            if (x - par.steps < t.own_w && y - par.steps < t.own_h) {
                const trg_u32 v = lt_speed(motion);

                sum += v;
                most = v > most ? v : most;
            }
        } else if (is_inside && (here & LT_WHAT_LID)) {
            lt_tile_lid(tile, par.n, s & 1u, i);
        }
    }
    lt_add_shared(total, TRG_LID, sum);
    if (most >= LT_SPEED_LIMIT)
        (void)TRG_ATOMIC_OR_GLOBAL(&sums[par.fast_at], 1u);
}

TRG_FN void lt_tile_store(TRG_LOCAL const float *tile, TRG_GLOBAL lt_number *to,
                          const struct lt_par par, trg_u32 group)
{
    const struct lt_tile t = lt_tile_of(par, group);

    for (trg_u32 j = TRG_LID; j < LT_TILE_W * t.own_h; j += TRG_LSIZE) {
        const trg_u32 x = j % LT_TILE_W, i = j + par.steps * LT_TILE_W;
        const trg_u32 at = ((trg_u32)t.y + i / LT_TILE_W) * par.nx + (trg_u32)t.x + x;

        if (x - par.steps < t.own_w)
            for (trg_u32 k = 0u; k < 9u; k++)
                lt_store(to, k * par.stride + at, tile[k * LT_TILE_CELLS + i]);
    }
}

struct lt_desk {              /* of a group, in shared memory */
    TRG_LOCAL float *tile;    /* [9][LT_TILE_CELLS] */
    TRG_LOCAL trg_u8 *what;   /* [LT_TILE_CELLS] */
    TRG_LOCAL trg_u32 *total; /* [2 * LT_BLOCK_MAX] */
};

LT_GROUP_FN void lt_tile_steps(const struct lt_desk d, TRG_GLOBAL const lt_number *g,
                               TRG_GLOBAL lt_number *to, TRG_GLOBAL const trg_u8 *kind,
                               TRG_GLOBAL trg_u32 *sums, const struct lt_par par, trg_u32 group)
{
    lt_tile_load(d.tile, d.what, g, kind, par, group);
    for (trg_u32 i = TRG_LID; i < 2u * LT_BLOCK_MAX; i += TRG_LSIZE)
        d.total[i] = 0u;
    TRG_BARRIER();
    for (trg_u32 s = 0u; s < par.steps; s++) {
        lt_tile_cells(d.tile, d.what, d.total + 2u * s, sums, par, s, group);
        TRG_BARRIER();
    }
    lt_tile_store(d.tile, to, par, group);
    for (trg_u32 s = TRG_LID; s < par.steps; s += TRG_LSIZE)
        lt_add_words(sums, par.step + s, group, d.total[2u * s], d.total[2u * s + 1u]);
}
#endif
