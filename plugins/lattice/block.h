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

/* A step of one cell, from the even state of a tile to the odd one and back.  Places are as in
 * lattice.h, with LT_TILE_CELLS from one direction to the next: constant distances, so `odd` is a
 * constant wherever this is called. */
LT_GROUP_FN struct lt_motion lt_tile_step(TRG_LOCAL float *tile, const struct lt_numbers n,
                                          trg_u32 odd, trg_u32 push)
{
    const trg_i32 e = odd ? 0 : 1,
                  w = odd ? 0 : (trg_i32)LT_TILE_W; /* how far east and north are */
    const trg_i32 k = (trg_i32)LT_TILE_CELLS;
    TRG_LOCAL float *at1 = tile + (odd ? 3 * k : k) - e, *at3 = tile + (odd ? k : 3 * k) + e;
    TRG_LOCAL float *at2 = tile + (odd ? 4 * k : 2 * k) - w;
    TRG_LOCAL float *at4 = tile + (odd ? 2 * k : 4 * k) + w;
    TRG_LOCAL float *at5 = tile + (odd ? 7 * k : 5 * k) - e - w;
    TRG_LOCAL float *at6 = tile + (odd ? 8 * k : 6 * k) + e - w;
    TRG_LOCAL float *at7 = tile + (odd ? 5 * k : 7 * k) + e + w;
    TRG_LOCAL float *at8 = tile + (odd ? 6 * k : 8 * k) - e + w;
    struct lt_nine c;
    struct lt_motion motion;

    c.f0 = *tile;
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
    *tile = c.f0;
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

TRG_FN void lt_tile_lid(TRG_LOCAL float *tile, const struct lt_numbers n, trg_u32 odd)
{
    TRG_LOCAL float *at5 =
        odd ? tile + 7u * LT_TILE_CELLS : tile + 5u * LT_TILE_CELLS - 1u - LT_TILE_W;
    TRG_LOCAL float *at6 =
        odd ? tile + 8u * LT_TILE_CELLS : tile + 6u * LT_TILE_CELLS + 1u - LT_TILE_W;

    *at5 -= n.lid;
    *at6 += n.lid;
}

/* x modulo n: mostly x is not far from 0 .. n - 1. */
TRG_FN trg_u32 lt_wrap(trg_i32 x, trg_u32 n)
{
    const trg_i32 near = x < 0 ? x + (trg_i32)n : x >= (trg_i32)n ? x - (trg_i32)n : x;

    if ((trg_u32)near < n)
        return (trg_u32)near;
    return (trg_u32)((near % (trg_i32)n + (trg_i32)n) % (trg_i32)n);
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

/* A cell's byte: it is free; in the acceleration row; a lid in the row of the lid; the group's own;
 * and from bit 4 on how many columns of the tile lie between it and the nearer side. */
#define LT_WHAT_FREE 1u
#define LT_WHAT_PUSH 2u
#define LT_WHAT_LID  4u
#define LT_WHAT_OWN  8u
#define LT_WHAT_SIDE 4u

TRG_FN trg_u32 lt_what(const struct lt_par par, const struct lt_tile t, trg_u32 i, trg_u32 kind,
                       trg_u32 y)
{
    const trg_u32 x = i % LT_TILE_W, side = x < LT_TILE_W - 1u - x ? x : LT_TILE_W - 1u - x;
    const trg_u32 is_own = x - par.steps < t.own_w && i / LT_TILE_W - par.steps < t.own_h;

    return (kind == LATTICE_FREE ? LT_WHAT_FREE : 0u) | (y == par.accel_row ? LT_WHAT_PUSH : 0u) |
           (y == par.lid_row && kind == LATTICE_LID ? LT_WHAT_LID : 0u) |
           (is_own ? LT_WHAT_OWN : 0u) | side << LT_WHAT_SIDE;
}

TRG_FN void lt_tile_load(TRG_LOCAL float *tile, TRG_LOCAL trg_u8 *what,
                         TRG_GLOBAL const lt_number *g, TRG_GLOBAL const trg_u8 *kind,
                         const struct lt_par par, trg_u32 group)
{
    const struct lt_tile t = lt_tile_of(par, group);

    for (trg_u32 i = TRG_LID; i < LT_TILE_W * par.tile_h; i += TRG_LSIZE) {
        const trg_u32 x = lt_wrap(t.x + (trg_i32)(i % LT_TILE_W), par.nx);
        const trg_u32 y = lt_wrap(t.y + (trg_i32)(i / LT_TILE_W), par.ny);
        const trg_u32 at = y * par.nx + x;

        what[i] = (trg_u8)lt_what(par, t, i, kind[at], y);
        for (trg_u32 k = 0u; k < 9u; k++)
            tile[k * LT_TILE_CELLS + i] = lt_load(g, k * par.stride + at);
    }
}

struct lt_desk {              /* of a group, in shared memory */
    TRG_LOCAL float *tile;    /* [9][LT_TILE_CELLS] */
    TRG_LOCAL trg_u8 *what;   /* [LT_TILE_CELLS] */
    TRG_LOCAL trg_u32 *total; /* [2 * LT_BLOCK_MAX] */
};

/* Step s of all cells that can still be right: more than s from the edge.  `odd` is s & 1. */
LT_GROUP_FN void lt_tile_cells(const struct lt_desk d, TRG_GLOBAL trg_u32 *sums,
                               const struct lt_par par, trg_u32 s, trg_u32 odd)
{
    const trg_u32 accelerate = par.accelerate || s + 1u < par.steps ? LT_WHAT_PUSH : 0u;
    const trg_u32 end = (par.tile_h - (s + 1u)) * LT_TILE_W;
    trg_u64 sum = 0u;
    trg_u32 most = 0u;

    for (trg_u32 i = (s + 1u) * LT_TILE_W + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 what = d.what[i], is_inside = what >> LT_WHAT_SIDE > s;

        if (is_inside && (what & LT_WHAT_FREE)) {
            const struct lt_motion motion = lt_tile_step(d.tile + i, par.n, odd, what & accelerate);

            if (what & LT_WHAT_OWN) {
                const trg_u32 v = lt_speed(motion);

                sum += v;
                most = v > most ? v : most;
            }
        } else if (is_inside && (what & LT_WHAT_LID)) {
            lt_tile_lid(d.tile + i, par.n, odd);
        }
    }
    lt_add_shared(d.total + 2u * s, TRG_LID, sum);
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

LT_GROUP_FN void lt_tile_steps(const struct lt_desk d, TRG_GLOBAL const lt_number *g,
                               TRG_GLOBAL lt_number *to, TRG_GLOBAL const trg_u8 *kind,
                               TRG_GLOBAL trg_u32 *sums, const struct lt_par par, trg_u32 group)
{
    lt_tile_load(d.tile, d.what, g, kind, par, group);
    for (trg_u32 i = TRG_LID; i < 2u * LT_BLOCK_MAX; i += TRG_LSIZE)
        d.total[i] = 0u;
    TRG_BARRIER();
    for (trg_u32 s = 0u; s < par.steps; s += 2u) {
        lt_tile_cells(d, sums, par, s, 0u);
        TRG_BARRIER();
        lt_tile_cells(d, sums, par, s + 1u, 1u);
        TRG_BARRIER();
    }
    lt_tile_store(d.tile, to, par, group);
    for (trg_u32 s = TRG_LID; s < par.steps; s += TRG_LSIZE)
        lt_add_words(sums, par.step + s, group, d.total[2u * s], d.total[2u * s + 1u]);
}
#endif
