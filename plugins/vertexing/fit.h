/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - what the fits of primary and secondary vertices share. */
#ifndef VX_FIT_H
#define VX_FIT_H
#include "geometry.h"
#include "trigd/common/group.h"

/* Tracks of a fit: those of the cells from .. to with low <= z < high. */
struct vx_bounds {
    float low, high;
    float var_z; /* of the point that misses are counted from, when it counts */
};

#define VX_SHRINK 0.5f /* of Tukey's constant, from round to round */

/* What a fit's work-items share.  In CUDA they are a warp: sums come to all of them, each computes
 * the same from them, in registers, and none waits. */
#if defined(__CUDACC__)
#define VX_SAME
#define VX_ROOM_SUMS(n) 1u
#define VX_TELLS        1u /* whether this work-item computes what is shared */
#define VX_BARRIER()
#else
#define VX_SAME         TRG_SHARED
#define VX_ROOM_SUMS(n) (VX_FIT_GROUP * (n))
#define VX_TELLS        (TRG_LID == 0u)
#define VX_BARRIER()    TRG_BARRIER()
#endif

/* Adds up the n <= VX_SUMS sums of all work-items: own[j] of each, below 2^52, to total[j].  `room`
 * has n places for each work-item. */
#if defined(__CUDACC__)
TRG_FN void vx_sum_up(trg_i64 *room, const trg_i64 *own, trg_u32 n, trg_i64 *total)
{
    (void)room;
    for (trg_u32 j = 0u; j < n; j++) {
        const trg_u32 low = trg_warp_sum_((trg_u32)own[j] & 0x7ffffffu);
        const trg_u32 high = trg_warp_sum_((trg_u32)(own[j] >> 27));

        total[j] = (trg_i64)(trg_i32)high * 0x8000000 + low;
    }
}
#else
TRG_GROUP_FN void vx_sum_up(TRG_LOCAL trg_i64 *room, const trg_i64 *own, trg_u32 n,
                            TRG_LOCAL trg_i64 *total)
{
    for (trg_u32 j = 0u; j < n; j++)
        room[TRG_LID * n + j] = own[j];
    TRG_BARRIER();
    for (trg_u32 j = TRG_LID; j < n; j += TRG_LSIZE) {
        trg_i64 sum = 0;

        for (trg_u32 i = 0u; i < TRG_LSIZE; i++)
            sum += room[i * n + j];
        total[j] = sum;
    }
    TRG_BARRIER();
}
#endif

/* The sum of `own` of all work-items; `room`: a word. */
TRG_GROUP_FN trg_u32 vx_count_up(TRG_LOCAL trg_u32 *room, trg_u32 own)
{
#if defined(__CUDACC__)
    (void)room;
    return trg_warp_sum_(own);
#else
    TRG_BARRIER();
    if (TRG_LID == 0u)
        *room = 0u;
    TRG_BARRIER();
    TRG_ATOMIC_ADD_LOCAL(room, own);
    TRG_BARRIER();
    return *room;
#endif
}

/* Tukey's constant in the next round. */
TRG_FN float vx_shrink(float c, float least)
{
    c *= VX_SHRINK;
    return c > least ? c : least;
}

/* The vertex after one round. */
struct vx_round {
    struct vx_vertex v;
    float step2; /* mm^2: how far it moved, squared */
};

TRG_FN struct vx_round vx_move(struct vx_vertex v, TRG_LOCAL const trg_i64 *total)
{
    const struct vx_step s = vx_solve(total);
    struct vx_round r;

    r.v = v;
    r.v.n_tracks = (trg_u32)total[VX_S_N];
    r.v.weight = (float)total[VX_S_WEIGHT] * (1.0f / 65536.0f);
    r.v.chi2 = (float)total[VX_S_CHI2] * (1.0f / 65536.0f);
    r.v.alive = s.good;
    r.step2 = s.x * s.x + s.y * s.y + s.z * s.z;
    if (s.good) {
        for (trg_u32 j = 0u; j < 6u; j++)
            r.v.cov[j] = s.cov[j];
        r.v.x = v.x + s.x;
        r.v.y = v.y + s.y;
        r.v.z = v.z + s.z;
    }
    return r;
}

/* Whether it rests, or there is none: no more rounds. */
TRG_FN trg_u32 vx_rests(struct vx_round r, float c, struct vx_par par)
{
    return !r.v.alive || (c <= par.tukey_end && r.step2 < par.tolerance * par.tolerance);
}
#endif
