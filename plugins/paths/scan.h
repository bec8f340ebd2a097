/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - sums of 64 bits over a group, and the items of a launch. */
#ifndef PATHS_SCAN_H
#define PATHS_SCAN_H
#include "paths.h"
#include "trigd/common/group.h"

#if defined(__CUDACC__)
#define PA_WARP 32u
#define PA_ALL  0xffffffffu /* groups are whole warps */
#define PA_LANE (TRG_LID & (PA_WARP - 1u))

/* As trg_warp_scan_, for 64 bits. */
TRG_FN trg_u64 pa_warp_sum(trg_u64 value)
{
    for (trg_u32 step = 1u; step < PA_WARP; step *= 2u) {
        const trg_u64 other = __shfl_up_sync(PA_ALL, value, step);

        if (PA_LANE >= step)
            value += other;
    }
    return value;
}
#endif

/* As trg_group_scan, for 64 bits: the sum of what the work-items before this one have; that of all
 * goes to `ret_total`.  `buffer` has PA_GROUP_MAX places; all of the group come here. */
TRG_GROUP_FN trg_u64 pa_group_sum(TRG_LOCAL trg_u64 *buffer, trg_u64 mine, trg_u64 *ret_total)
{
#if defined(__CUDACC__)
    const trg_u32 warp = TRG_LID / PA_WARP, warps = TRG_LSIZE / PA_WARP;
    const trg_u64 sum = pa_warp_sum(mine);
    trg_u64 warp_sum, before;

    if (PA_LANE == PA_WARP - 1u)
        buffer[warp] = sum;
    TRG_BARRIER();
    warp_sum = pa_warp_sum(PA_LANE < warps ? buffer[PA_LANE] : 0u);
    *ret_total = __shfl_sync(PA_ALL, warp_sum, warps - 1u);
    before = __shfl_sync(PA_ALL, warp_sum, warp ? warp - 1u : 0u);
    TRG_BARRIER();
    return (warp ? before : 0u) + sum - mine;
#else
    trg_u64 before;

    buffer[TRG_LID] = mine;
    TRG_BARRIER();
    for (trg_u32 step = 1u; step < TRG_LSIZE; step *= 2u) {
        const trg_u64 add = TRG_LID >= step ? buffer[TRG_LID - step] : 0;

        TRG_BARRIER();
        buffer[TRG_LID] += add;
        TRG_BARRIER();
    }
    before = buffer[TRG_LID] - mine;
    *ret_total = buffer[TRG_LSIZE - 1u];
    TRG_BARRIER();
    return before;
#endif
}

/* How many listed doublets come before doublet d; see pa_list. */
TRG_FN trg_u32 pa_listed_before(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d)
{
    const trg_u32 below = (1u << (d & 31u)) - 1u, word = d / 32u;

    return PA_U32(work, par->at.words)[word] +
           (below ? trg_popcount(PA_U32(work, par->at.mask)[word] & below) : 0u);
}

/* The items of a launch: i from this work-item's first one, in strides, below n. */
#define PA_EACH(i, n)                                                       \
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID, n_##i = (n); i < n_##i; \
         i += TRG_GROUPS * TRG_LSIZE)

/* Adds 1 to a counter in global memory; returns what it was. */
#define PA_COUNT(p) (TRG_GROUPS * TRG_LSIZE == 1u ? (*(p))++ : TRG_ATOMIC_ADD_GLOBAL((p), 1u))
#endif
