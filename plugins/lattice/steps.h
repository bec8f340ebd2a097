/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - one step of a stretch of a row, in place, and sums of speeds over a group.  Part of
 * lattice.kernel.c and lattice16.kernel.c. */
#ifndef LATTICE_STEPS_H
#define LATTICE_STEPS_H
#include "cell.h"

/* For functions with barriers: inlined before anything else is done to them, see
 * trigd/common/group.h.
 */
#if defined(__OPENCL_VERSION__)
#define LT_GROUP_FN static inline __attribute__((always_inline))
#else
#define LT_GROUP_FN TRG_FN
#endif

/* Where what arrives at the cells of one row is: at[k][x], for k of 1, 5 and 8 at[k][x - 1], for k
 * of 3, 6 and 7 at[k][x + 1], x wrapped; in state 1 always at x. */
struct lt_row {
    TRG_GLOBAL lt_number *at0, *at1, *at2, *at3, *at4, *at5, *at6, *at7, *at8;
    TRG_GLOBAL const trg_u8 *kind;
};

TRG_FN struct lt_row lt_row_of_0(TRG_GLOBAL lt_number *g, TRG_GLOBAL const trg_u8 *kind,
                                 const struct lt_par par, trg_u32 y)
{
    const trg_u32 south = (y ? y - 1u : par.ny - 1u) * par.nx;
    const trg_u32 north = (y + 1u < par.ny ? y + 1u : 0u) * par.nx, here = y * par.nx;
    struct lt_row r;

    r.at0 = g + here;
    r.at1 = g + par.stride + here;
    r.at2 = g + 2u * par.stride + south;
    r.at3 = g + 3u * par.stride + here;
    r.at4 = g + 4u * par.stride + north;
    r.at5 = g + 5u * par.stride + south;
    r.at6 = g + 6u * par.stride + south;
    r.at7 = g + 7u * par.stride + north;
    r.at8 = g + 8u * par.stride + north;
    r.kind = kind + here;
    return r;
}

TRG_FN struct lt_row lt_row_of_1(TRG_GLOBAL lt_number *g, TRG_GLOBAL const trg_u8 *kind,
                                 const struct lt_par par, trg_u32 y)
{
    TRG_GLOBAL lt_number *here = g + y * par.nx;
    struct lt_row r;

    r.at0 = here;
    r.at1 = here + 3u * par.stride;
    r.at2 = here + 4u * par.stride;
    r.at3 = here + par.stride;
    r.at4 = here + 2u * par.stride;
    r.at5 = here + 7u * par.stride;
    r.at6 = here + 8u * par.stride;
    r.at7 = here + 5u * par.stride;
    r.at8 = here + 6u * par.stride;
    r.kind = kind + y * par.nx;
    return r;
}

/* Takes one cell through a step: what arrived is read, and what leaves in direction k is written
 * where its opposite was.  `west` and `east` are where x - 1 and x + 1 are read.  Returns what the
 * cell adds to the sum of speeds. */
TRG_FN trg_u32 lt_cell(const struct lt_row r, const struct lt_numbers n, trg_u32 push, trg_u32 x,
                       trg_u32 west, trg_u32 east)
{
    struct lt_nine was, c;
    trg_u32 speed;
    const trg_u32 is_free = r.kind[x] == LATTICE_FREE;

#if !LT_HOST
    if (!is_free)
        return 0u;
#endif
    was.f0 = lt_load(r.at0, x);
    was.f1 = lt_load(r.at1, west);
    was.f2 = lt_load(r.at2, x);
    was.f3 = lt_load(r.at3, east);
    was.f4 = lt_load(r.at4, x);
    was.f5 = lt_load(r.at5, west);
    was.f6 = lt_load(r.at6, east);
    was.f7 = lt_load(r.at7, east);
    was.f8 = lt_load(r.at8, west);
    c = was;
    speed = lt_speed(lt_collide(&c, n)); /* here, so that the host does it for many cells */
    if (push)
        lt_push(&c, n);
#if LT_HOST /* without a branch, so that it is done for many cells at once */
#define LT_LEAVES(value, before) (is_free ? (value) : (before))
#else
#define LT_LEAVES(value, before) (value)
#endif
    lt_store(r.at0, x, LT_LEAVES(c.f0, was.f0));
    lt_store(r.at3, east, LT_LEAVES(c.f1, was.f3));
    lt_store(r.at4, x, LT_LEAVES(c.f2, was.f4));
    lt_store(r.at1, west, LT_LEAVES(c.f3, was.f1));
    lt_store(r.at2, x, LT_LEAVES(c.f4, was.f2));
    lt_store(r.at7, east, LT_LEAVES(c.f5, was.f7));
    lt_store(r.at8, west, LT_LEAVES(c.f6, was.f8));
    lt_store(r.at5, west, LT_LEAVES(c.f7, was.f5));
    lt_store(r.at6, east, LT_LEAVES(c.f8, was.f6));
    return is_free ? speed : 0u;
}

/* A lid pushes what it returns to the south. */
TRG_FN void lt_lid(const struct lt_row r, const struct lt_numbers n, trg_u32 x, trg_u32 west,
                   trg_u32 east)
{
    if (r.kind[x] != LATTICE_LID)
        return;
    lt_store(r.at5, west, lt_load(r.at5, west) - n.lid);
    lt_store(r.at6, east, lt_load(r.at6, east) + n.lid);
}

/* ---------------------------------------------------------------- sums */

struct lt_sum { /* over the cells of one work-item */
    trg_u64 all;
    trg_u32 most;
};

/* Adds a group's sums, high and low 16 bits apart, to the step's: three words of 16 bits each,
 * which fewer than 2^16 groups add to, so that nobody waits for what an addition returns. */
TRG_FN void lt_add_words(TRG_GLOBAL trg_u32 *sums, trg_u32 step, trg_u32 group, trg_u32 low,
                         trg_u32 high)
{
    TRG_GLOBAL trg_u32 *to = sums + 3u * (step * LT_SPREAD + group % LT_SPREAD);
    const trg_u64 all = (trg_u64)low + ((trg_u64)high << 16);

    (void)TRG_ATOMIC_ADD_GLOBAL(&to[0], (trg_u32)all & 0xffffu);
    (void)TRG_ATOMIC_ADD_GLOBAL(&to[1], (trg_u32)(all >> 16) & 0xffffu);
    if (all >> 32)
        (void)TRG_ATOMIC_ADD_GLOBAL(&to[2], (trg_u32)(all >> 32));
}

/* Adds one work-item's sum to the group's two words in shared memory.  In CUDA a warp adds up
 * first: all its work-items are here. */
TRG_FN void lt_add_shared(TRG_LOCAL trg_u32 *total, trg_u32 lid, trg_u64 sum)
{
    trg_u32 low = (trg_u32)sum & 0xffffu, high = (trg_u32)(sum >> 16);

#if defined(__CUDACC__)
#if __CUDA_ARCH__ >= 800
    low = __reduce_add_sync(0xffffffffu, low);
    high = __reduce_add_sync(0xffffffffu, high);
#else
    for (trg_u32 away = 16u; away; away >>= 1) {
        low += __shfl_down_sync(0xffffffffu, low, away);
        high += __shfl_down_sync(0xffffffffu, high, away);
    }
#endif
    if ((lid & 31u) || !(low | high))
        return;
#endif
    (void)lid;
    TRG_ATOMIC_ADD_LOCAL(&total[0], low);
    TRG_ATOMIC_ADD_LOCAL(&total[1], high);
}

/* ---------------------------------------------------------------- a step */

/* The cells [from, to) of a row, the part of one work-item of `items`.  The wrapped ends of a row
 * stand apart on the host, so that the rest is one plain loop. */
LT_GROUP_FN struct lt_sum lt_cells(const struct lt_row r, const struct lt_par par, trg_u32 state,
                                   trg_u32 push, trg_u32 from, trg_u32 to)
{
    const trg_u32 last = par.nx - 1u, side = state ? 0u : 1u;
    struct lt_sum sum;

    sum.all = 0u;
    sum.most = 0u;
#if LT_HOST
    trg_u32 begin = from, end = to;

    if (side && from == 0u) {
        const trg_u32 v = lt_cell(r, par.n, push, 0u, last, last ? 1u : 0u);

        sum.all += v;
        sum.most = v;
        begin++;
    }
    if (side && to == par.nx && begin < to) {
        const trg_u32 v = lt_cell(r, par.n, push, last, last - 1u, 0u);

        sum.all += v;
        sum.most = v > sum.most ? v : sum.most;
        end--;
    }
    struct lt_row inner = r;
    trg_u64 all = 0u;
    trg_u32 bits = 0u; /* the limit is 31 bits but for the lowest 7: only it sets all of them */

    inner.at1 -= side; /* so that all is read at x */
    inner.at5 -= side;
    inner.at8 -= side;
    inner.at3 += side;
    inner.at6 += side;
    inner.at7 += side;
    LT_CELLS_APART
    for (trg_u32 x = begin; x < end; x++) {
        const trg_u32 v = lt_cell(inner, par.n, push, x, x, x);

        all += v;
        bits |= v + 0x80u;
    }
    sum.all += all;
    sum.most = bits >> 31 ? LT_SPEED_LIMIT : sum.most;
#else
    for (trg_u32 x = from + TRG_LID; x < to; x += TRG_LSIZE) {
        const trg_u32 west = side ? (x ? x - 1u : last) : x;
        const trg_u32 east = side ? (x < last ? x + 1u : 0u) : x;
        const trg_u32 v = lt_cell(r, par.n, push, x, west, east);

        sum.all += v;
        sum.most = v > sum.most ? v : sum.most;
    }
#endif
    return sum;
}

/* The stretch of a row that is group `group`'s, from one state to the other.  `total` is shared. */
LT_GROUP_FN void lt_step(TRG_LOCAL trg_u32 *total, TRG_GLOBAL lt_number *g,
                         TRG_GLOBAL const trg_u8 *kind, TRG_GLOBAL trg_u32 *sums,
                         const struct lt_par par, trg_u32 state, trg_u32 group)
{
    const trg_u32 y = group / par.parts, from = group % par.parts * par.span;
    const trg_u32 to = from + par.span < par.nx ? from + par.span : par.nx;
    const struct lt_row r = state ? lt_row_of_1(g, kind, par, y) : lt_row_of_0(g, kind, par, y);
    struct lt_sum sum;

    if (TRG_LID == 0u)
        total[0] = total[1] = 0u;
    TRG_BARRIER();
    if (y == par.lid_row)
        for (trg_u32 x = from + TRG_LID; x < to; x += TRG_LSIZE)
            lt_lid(r, par.n, x, state ? x : (x ? x - 1u : par.nx - 1u),
                   state ? x : (x + 1u < par.nx ? x + 1u : 0u));
    if (par.accelerate && y == par.accel_row)
        sum = lt_cells(r, par, state, 1u, from, to);
    else
        sum = lt_cells(r, par, state, 0u, from, to);
    lt_add_shared(total, TRG_LID, sum.all);
    if (sum.most >= LT_SPEED_LIMIT)
        (void)TRG_ATOMIC_OR_GLOBAL(&sums[par.fast_at], 1u);
    TRG_BARRIER();
    if (TRG_LID == 0u)
        lt_add_words(sums, par.step, group, total[0], total[1]);
}

/* The push of one cell of the acceleration row, in either state. */
TRG_FN void lt_push_cell(TRG_GLOBAL lt_number *g, TRG_GLOBAL const trg_u8 *kind,
                         const struct lt_par par, trg_u32 x)
{
    const trg_u32 y = par.accel_row;
    const struct lt_row r = lt_row_of_0(g, kind, par, y); /* places (x - c_k, k) */
    const trg_u32 west = x ? x - 1u : par.nx - 1u, east = x + 1u < par.nx ? x + 1u : 0u;
    TRG_GLOBAL lt_number *here = g + y * par.nx;
    struct lt_nine c;

    if (r.kind[x] != LATTICE_FREE)
        return;
    /* what leaves x in direction k is at (x, k), or in state 1 at (x + c_k, opposite(k)) */
    c.f0 = c.f2 = c.f4 = 0.0f;
    c.f1 = par.state ? lt_load(r.at3, east) : lt_load(here + par.stride, x);
    c.f3 = par.state ? lt_load(r.at1, west) : lt_load(here + 3u * par.stride, x);
    c.f5 = par.state ? lt_load(r.at7, east) : lt_load(here + 5u * par.stride, x);
    c.f6 = par.state ? lt_load(r.at8, west) : lt_load(here + 6u * par.stride, x);
    c.f7 = par.state ? lt_load(r.at5, west) : lt_load(here + 7u * par.stride, x);
    c.f8 = par.state ? lt_load(r.at6, east) : lt_load(here + 8u * par.stride, x);
    lt_push(&c, par.n);
    lt_store(par.state ? r.at3 : here + par.stride, par.state ? east : x, c.f1);
    lt_store(par.state ? r.at1 : here + 3u * par.stride, par.state ? west : x, c.f3);
    lt_store(par.state ? r.at7 : here + 5u * par.stride, par.state ? east : x, c.f5);
    lt_store(par.state ? r.at8 : here + 6u * par.stride, par.state ? west : x, c.f6);
    lt_store(par.state ? r.at5 : here + 7u * par.stride, par.state ? west : x, c.f7);
    lt_store(par.state ? r.at6 : here + 8u * par.stride, par.state ? east : x, c.f8);
}

/* The sum of all groups of step s. */
TRG_FN void lt_total_of(TRG_GLOBAL const trg_u32 *sums, TRG_GLOBAL trg_u32 *totals, trg_u32 s)
{
    trg_u64 all = 0u;

    for (trg_u32 i = 3u * s * LT_SPREAD; i < 3u * (s + 1u) * LT_SPREAD; i += 3u)
        all += (trg_u64)sums[i] + ((trg_u64)sums[i + 1u] << 16) + ((trg_u64)sums[i + 2u] << 32);
    totals[2u * s] = (trg_u32)all;
    totals[2u * s + 1u] = (trg_u32)(all >> 32);
}
#endif
