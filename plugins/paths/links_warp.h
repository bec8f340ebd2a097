/* SPDX-License-Identifier: Apache-2.0 */
/* links_warp.h - links are counted in CUDA: a warp takes 32 doublets and goes through the
 * candidates of all of them as one list, 32 at a time.  Few candidates are in line; those wait
 * until there are 32 of them, so that the circle is asked for by a whole warp as well.
 *
 * The answers are those of links.kernel.c, which includes this file. */
#ifndef PATHS_LINKS_WARP_H
#define PATHS_LINKS_WARP_H
#include "graph.h"
#include "scan.h"
#include "trigd/common/group.h"

struct pa_desk {                                     /* of a warp */
    trg_u32 n[PA_WARP], low[PA_WARP], high[PA_WARP]; /* links of each doublet: how many, ends */
    trg_u32 of[2u * PA_WARP], to[2u * PA_WARP];      /* in line: number of the doublet; candidate */
};

struct pa_tile { /* of a group */
    struct pa_desk desk[PA_GROUP_MAX / PA_WARP];
};

TRG_FN struct pa_line pa_warp_line(const struct pa_par *par, const struct pa_line s, trg_u32 owner)
{
    struct pa_line its;

    its.z1 = __shfl_sync(PA_ALL, s.z1, owner);
    its.r1 = __shfl_sync(PA_ALL, s.r1, owner);
    its.z2 = __shfl_sync(PA_ALL, s.z2, owner);
    its.r2 = __shfl_sync(PA_ALL, s.r2, owner);
    its.theta_cut = __shfl_sync(PA_ALL, s.theta_cut, owner);
    its.slope = par->align == PA_ALIGN_SLOPE ? __shfl_sync(PA_ALL, s.slope, owner) : 0.0f;
    return its;
}

/* The last 32 of those that wait, or all if there are fewer; `first`: doublet number 0. */
TRG_FN void pa_warp_links(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                          TRG_LOCAL struct pa_desk *desk, trg_u32 first, trg_u32 waiting)
{
    __syncwarp();
    if (PA_LANE < waiting) {
        const trg_u32 at = waiting - 1u - PA_LANE, k = desk->of[at], e = desk->to[at];

        if (pa_links_to(work, par, pa_side_of(work, par, first + k), e)) {
            TRG_ATOMIC_ADD_LOCAL(&desk->n[k], 1u);
            TRG_ATOMIC_MIN_LOCAL(&desk->low[k], e);
            TRG_ATOMIC_MAX_LOCAL(&desk->high[k], e);
        }
    }
    __syncwarp();
}

/* The candidates of the doublet of each lane, `next`, whose line is s. */
TRG_FN void pa_warp_count(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                          TRG_LOCAL struct pa_desk *desk, trg_u32 first, const struct pa_next next,
                          const struct pa_line s)
{
    const trg_u32 all = next.end - next.first, end = trg_warp_scan_(PA_ALL, PA_LANE, all);
    const trg_u32 total = __shfl_sync(PA_ALL, end, PA_WARP - 1u), to = next.first - (end - all);
    trg_u32 waiting = 0u;

    for (trg_u32 at = 0u; at < total; at += PA_WARP) {
        const trg_u32 p = at + PA_LANE, owner = trg_warp_owner_(end, p);
        const struct pa_line its = pa_warp_line(par, s, owner);
        const trg_u32 e = p + __shfl_sync(PA_ALL, to, owner);
        const trg_u32 in_line = p < total ? pa_is_in_line(work, par, its, e) : 0u;
        const trg_u32 found = __ballot_sync(PA_ALL, in_line);

        if (in_line) {
            const trg_u32 place = waiting + (trg_u32)__popc(found & ((1u << PA_LANE) - 1u));

            desk->of[place] = owner;
            desk->to[place] = e;
        }
        waiting += (trg_u32)__popc(found);
        if (waiting >= PA_WARP) {
            pa_warp_links(work, par, desk, first, waiting);
            waiting -= PA_WARP;
        }
    }
    if (waiting)
        pa_warp_links(work, par, desk, first, waiting);
}

/* Doublets tile .. tile + TRG_LSIZE - 1 of n; groups are whole warps. */
TRG_FN void pa_count_tile(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 tile,
                          trg_u32 n, TRG_LOCAL struct pa_tile *t)
{
    TRG_LOCAL struct pa_desk *desk = &t->desk[TRG_LID / PA_WARP];
    const trg_u32 d = tile + TRG_LID, first = d - PA_LANE;
    struct pa_next next = {0u, 0u};
    struct pa_line s = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    trg_u32 links, listed;

    if (d < n) {
        next = pa_candidates(work, par, d);
        s = pa_line_of(work, par, d);
    }
    desk->n[PA_LANE] = desk->high[PA_LANE] = 0u;
    desk->low[PA_LANE] = PA_NONE;
    __syncwarp();
    pa_warp_count(work, par, desk, first, next, s);
    links = desk->n[PA_LANE];
    if (d < n)
        PA_U32(work, par->at.n_links)[d] = links;
    if (d < n && links) {
        PA_U32(work, par->at.link_low)[d] = desk->low[PA_LANE];
        PA_U32(work, par->at.link_high)[d] = desk->high[PA_LANE];
    }
    listed = __ballot_sync(PA_ALL, d < n && (links || par->min_doublets < 2u));
    if (PA_LANE == 0u && first < n)
        PA_U32(work, par->at.mask)[first / 32u] = listed;
    __syncwarp();
}
#endif
