/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h - which crossings of two tracks the cuts take away, and what those that are left are
 * worth. */
#ifndef VX_CUTS_H
#define VX_CUTS_H
#include "pairs.h"

/* The cuts on the crossings of an RoI. */
struct vx_surroundings {
    TRG_GLOBAL const struct vx_vertex *pvs;
    trg_u32 n_pv;
    float beam_x, beam_y;
};

/* Whether a crossing lies within the error of a primary vertex, of any.  Most are further away than
 * the longest axis of that ellipsoid, which its trace bounds. */
TRG_FN trg_u32 vx_is_primary(struct vx_point q, struct vx_surroundings s, float sigmas)
{
    const float sigmas2 = sigmas * sigmas;

    for (trg_u32 k = 0u; k < s.n_pv; k++) {
        TRG_GLOBAL const struct vx_vertex *v = &s.pvs[k];
        const float dx = q.x - v->x, dy = q.y - v->y, dz = q.z - v->z;
        const struct vx_cov cov = {v->cov[0], v->cov[1], v->cov[2],
                                   v->cov[3], v->cov[4], v->cov[5]};

        if (dx * dx + dy * dy + dz * dz < sigmas2 * (cov.xx + cov.yy + cov.zz) &&
            vx_significance2(cov, dx, dy, dz) < sigmas2)
            return 1u;
    }
    return 0u;
}

/* What takes a crossing away: 0 nothing, 1 origin, 2 radial, 3 cylinder, 4 angle.  Tracks without
 * origin cross whomever they like. */
TRG_FN trg_u32 vx_cut(struct vx_line a, struct vx_line b, trg_u32 pv_a, trg_u32 pv_b,
                      struct vx_surroundings s, struct vx_par par)
{
    const struct vx_point q = vx_crossing(a, b, par.parallel_sin2);
    const float bx = q.x - s.beam_x, by = q.y - s.beam_y;

    if (par.origin_cut && !((pv_a | pv_b) & VX_NO_ORIGIN) && pv_a != pv_b)
        return 1u;
    if (vx_is_primary(q, s, par.radial_sigmas))
        return 2u;
    if (bx * bx + by * by < par.cylinder * par.cylinder ||
        bx * bx + by * by > par.cylinder_max * par.cylinder_max)
        return 3u;
    return vx_pair_of(a, b).sin2 < par.min_sin2 ||
                   vx_dot(a.ux, a.uy, a.uz, b.ux, b.uy, b.uz) < par.max_cos
               ? 4u
               : 0u;
}

/* How much two tracks that the cuts leave look like a b decay, from the primary vertex of the
 * first. */
TRG_FN trg_u32 vx_score_of(struct vx_line a, struct vx_line b, trg_u32 pv_a,
                           struct vx_surroundings s, struct vx_par par)
{
    const struct vx_point q = vx_crossing(a, b, par.parallel_sin2);
    TRG_GLOBAL const struct vx_vertex *pv = &s.pvs[VX_PV_OF(pv_a)];

    return vx_pair_score(vx_pair_features_of(a, b, q, s.beam_x, s.beam_y, pv->x, pv->y, pv->z));
}

/* What vx_cuts counts: pairs that are left, those that each cut takes away, all, scores above 0 and
 * above 1; and the largest score. */
enum { VX_SEEN_ALL = 5, VX_SEEN_SCORE, VX_SEEN_SURE, VX_SEEN_SUMS, VX_SEEN_BEST = VX_SEEN_SUMS };

/* What takes the crossing of two tracks away, and counts it. */
TRG_FN trg_u32 vx_judge(struct vx_line a, struct vx_line b, trg_u32 pv_a, trg_u32 pv_b,
                        struct vx_surroundings s, struct vx_par par, trg_u32 *seen)
{
    const trg_u32 cut = vx_cut(a, b, pv_a, pv_b, s, par);

    seen[cut]++;
    seen[VX_SEEN_ALL]++;
    if (!cut && s.n_pv) {
        const trg_u32 score = vx_score_of(a, b, pv_a, s, par);

        seen[VX_SEEN_SCORE] += vx_score_above(score, VX_SCORE_ZERO);
        seen[VX_SEEN_SURE] += vx_score_above(score, VX_SCORE_ZERO + VX_SCORE_ONE);
        seen[VX_SEEN_BEST] = score > seen[VX_SEEN_BEST] ? score : seen[VX_SEEN_BEST];
    }
    return cut;
}
#endif
