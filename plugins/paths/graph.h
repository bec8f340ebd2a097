/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - what the kernels of linking and path finding share: one doublet's links, the number
 * of paths below a doublet, sums. */
#ifndef PATHS_GRAPH_H
#define PATHS_GRAPH_H
#include "links.h"

/* The doublets that may follow a sorted doublet: sorted doublets first .. end - 1. */
struct pa_next {
    trg_u32 first, end;
};

TRG_FN struct pa_next pa_candidates(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                    trg_u32 d)
{
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par->at.start);
    const trg_u32 hit = PA_U32(work, par->at.outer)[d];
    struct pa_next n;

    n.first = start[hit];
    n.end = start[hit + 1u];
    return n;
}

TRG_FN struct pa_line pa_line_of(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                 trg_u32 d)
{
    const trg_u32 hit = PA_U32(work, par->at.inner)[d], shared = PA_U32(work, par->at.outer)[d];
    const trg_u32 forward = (trg_u32)(PA_U32(work, par->at.hit_layer)[shared] > par->last_barrel);
    struct pa_line s;

    s.z1 = PA_CF32(work, par->at.hit_z)[hit];
    s.r1 = PA_CF32(work, par->at.hit_r)[hit];
    s.z2 = PA_CF32(work, par->at.outer_z)[d];
    s.r2 = PA_CF32(work, par->at.outer_r)[d];
    s.slope = PA_CF32(work, par->at.slope)[d];
    s.theta_cut = forward ? par->theta_cut_forward : par->theta_cut;
    return s;
}

/* The outer hit of a doublet.  Few are looked at in x and y: only the CPU, which tries many
 * candidates at a time, has them side by side. */
TRG_FN float pa_outer_x(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d)
{
#if PA_IS_HOST
    return PA_CF32(work, par->at.outer_x)[d];
#else
    return PA_CF32(work, par->at.hit_x)[PA_U32(work, par->at.outer)[d]];
#endif
}

TRG_FN float pa_outer_y(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d)
{
#if PA_IS_HOST
    return PA_CF32(work, par->at.outer_y)[d];
#else
    return PA_CF32(work, par->at.hit_y)[PA_U32(work, par->at.outer)[d]];
#endif
}

/* What the criterion needs to know of the inner doublet. */
TRG_FN struct pa_side pa_side_of(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                 trg_u32 d)
{
    const trg_u32 hit = PA_U32(work, par->at.inner)[d];
    struct pa_side s;

    s.line = pa_line_of(work, par, d);
    s.x1 = PA_CF32(work, par->at.hit_x)[hit];
    s.y1 = PA_CF32(work, par->at.hit_y)[hit];
    s.x2 = pa_outer_x(work, par, d);
    s.y2 = pa_outer_y(work, par, d);
    s.bend = PA_CF32(work, par->at.bend)[d];
    s.tolerance = PA_U32(work, par->at.hit_layer)[hit] ? par->tolerance_outer : par->tolerance;
    return s;
}

/* Whether a doublet is aligned with doublet e, as the configuration asks. */
TRG_FN trg_u32 pa_is_in_line(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                             const struct pa_line s, trg_u32 e)
{
    if (par->align == PA_ALIGN_CMS)
        return pa_is_aligned(s, PA_CF32(work, par->at.outer_z)[e],
                             PA_CF32(work, par->at.outer_r)[e]);
    if (par->align == PA_ALIGN_SLOPE)
        return (trg_u32)(trg_fabs(PA_CF32(work, par->at.slope)[e] - s.slope) <= par->max_dslope);
    return 1u;
}

/* Whether the doublet of which `s` was made, and which is in line with e, goes on in it. */
TRG_FN trg_u32 pa_links_to(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                           const struct pa_side s, trg_u32 e)
{
    if (par->curvature == PA_CURVE_SIMILAR &&
        !(trg_fabs(PA_CF32(work, par->at.bend)[e] - s.bend) <= par->max_dbend))
        return 0u;
    return pa_fits_circle(s, par->min_radius, pa_outer_x(work, par, e), pa_outer_y(work, par, e),
                          (trg_u32)(par->curvature != PA_CURVE_PT), (trg_u32)!par->beam_spot);
}

/* Where the links of an RoI begin, and how many it may have. */
TRG_FN trg_u32 pa_links_base(TRG_GLOBAL const trg_u32 *doublets, const struct pa_par *par,
                             trg_u32 r)
{
    return par->links_per_doublet * doublets[r] + PA_FREE * r;
}

TRG_FN trg_u32 pa_links_most(TRG_GLOBAL const trg_u32 *doublets, const struct pa_par *par,
                             trg_u32 r)
{
    return par->links_per_doublet * (doublets[r + 1u] - doublets[r]) + PA_FREE;
}

/* ---------------------------------------------------------------- paths below a doublet
 *
 * pa_below(level, d) is the number of paths that have the doublet d, and all before it, in common
 * when at most `level` doublets may follow.  A path may end at d (pa_may_end), and goes on in each
 * of its links.  Where that needs no sum it is computed on the fly; what does is in the table
 * `tally`. */

TRG_FN trg_u32 pa_may_end(const struct pa_par *par, trg_u32 level, trg_u32 n_links)
{
    if (level == 0u)
        return 1u;
    if (par->max_doublets - level < par->min_doublets)
        return 0u;
    return (trg_u32)(!par->longest || n_links == 0u);
}

TRG_FN trg_u32 pa_below(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 level,
                        trg_u32 d)
{
    trg_u32 n;

    if (level == 0u)
        return 1u;
    n = PA_U32(work, par->at.n_links)[d];
    if (level == 1u || n == 0u)
        return n + pa_may_end(par, level, n);
    return PA_U32(work, par->at.tally)[level * par->d_room + d];
}

/* Paths that begin with doublet d. */
TRG_FN trg_u32 pa_from(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d)
{
    if (par->longest && PA_U32(work, par->at.has_in)[d])
        return 0u;
    return pa_below(work, par, par->max_doublets - 1u, d);
}

/* The hits of doublet number `step` of a path. */
TRG_FN void pa_store_step(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 path,
                          trg_u32 step, trg_u32 d)
{
    TRG_GLOBAL trg_u32 *hit = PA_U32(work, par->at.path_hit) + path;

    if (step == 0u)
        hit[0] = PA_U32(work, par->at.inner)[d];
    hit[(step + 1u) * par->p_room] = PA_U32(work, par->at.outer)[d];
}
#endif
