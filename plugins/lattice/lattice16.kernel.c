/* SPDX-License-Identifier: Apache-2.0 */
/* The same kernels as in lattice.kernel.c, with distributions stored as halves. */
#define LT_HALF
#include "block.h"

/* A step from state 0 to state 1: group y * parts + p has the p-th stretch of row y. */
TRG_KERNEL3(lt_pull, (lt_number, g), (const trg_u8, kind), (trg_u32, sums), (struct lt_par, par))
{
    TRG_SHARED trg_u32 total[2];

    lt_step(total, g, kind, sums, par, 0u, TRG_GID);
}

/* A step from state 1 to state 0. */
TRG_KERNEL3(lt_local, (lt_number, g), (const trg_u8, kind), (trg_u32, sums), (struct lt_par, par))
{
    TRG_SHARED trg_u32 total[2];

    lt_step(total, g, kind, sums, par, 1u, TRG_GID);
}

/* par.steps steps, an even number, from state 0 in g to state 0 in `to`: a group a tile, from
 * par.first_tile on. */
TRG_KERNEL4(lt_block, (const lt_number, g), (lt_number, to), (const trg_u8, kind), (trg_u32, sums),
            (struct lt_par, par))
{
    TRG_SHARED float tile[9 * LT_TILE_CELLS];
    TRG_SHARED trg_u8 what[LT_TILE_CELLS];
    TRG_SHARED trg_u32 total[2 * LT_BLOCK_MAX];
    const struct lt_desk desk = {tile, what, total};

    lt_tile_steps(desk, g, to, kind, sums, par, par.first_tile + TRG_GID);
}

/* The push before the first step of a submission. */
TRG_KERNEL2(lt_accelerate, (lt_number, g), (const trg_u8, kind), (struct lt_par, par))
{
    for (trg_u32 x = TRG_GID * TRG_LSIZE + TRG_LID; x < par.nx; x += TRG_GROUPS * TRG_LSIZE)
        lt_push_cell(g, kind, par, x);
}

TRG_KERNEL2(lt_total, (const trg_u32, sums), (trg_u32, totals), (struct lt_par, par))
{
    for (trg_u32 s = TRG_GID * TRG_LSIZE + TRG_LID; s < par.steps; s += TRG_GROUPS * TRG_LSIZE)
        lt_total_of(sums, totals, s);
}
