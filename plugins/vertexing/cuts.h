/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h - which crossings of two tracks the cuts take away, and what those that are left are
 * worth. */
#ifndef VX_CUTS_H
#define VX_CUTS_H
#include "pairs.h"

/* What the cuts on the crossings of an RoI look at. */
struct vx_surroundings {
    TRG_GLOBAL const float *tracks;
    TRG_GLOBAL const trg_u32 *list; /* of the selected ones, their numbers in the batch */
    TRG_GLOBAL const trg_u32 *pv_of;
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

/* The same for the i-th and the j-th of the tracks that are selected. */
TRG_FN trg_u32 vx_judge_edge(struct vx_surroundings s, struct vx_par par, trg_u32 i, trg_u32 j,
                             trg_u32 *seen)
{
    const trg_u32 a = s.list[i], b = s.list[j];

    return vx_judge(vx_load(s.tracks, par.items_room, a), vx_load(s.tracks, par.items_room, b),
                    s.pv_of[a], s.pv_of[b], s, par, seen);
}

#if !defined(__CUDACC__)
/* Which edges of row i the cuts take away, of those in `word`: to tracks low .. low + 31. */
TRG_FN trg_u32 vx_cut_row(struct vx_surroundings s, struct vx_par par, trg_u32 i, trg_u32 low,
                          trg_u32 word, trg_u32 *seen)
{
    trg_u32 gone = 0u;

    for (trg_u32 left = word; left; left &= left - 1u) {
        const trg_u32 k = 31u - trg_clz(left & (0u - left));

        gone |= vx_judge_edge(s, par, i, low + k, seen) ? 1u << k : 0u;
    }
    return gone;
}
#else
/* The place of the bit of a word that has so many others below it. */
TRG_FN trg_u32 vx_bit_of(trg_u32 word, trg_u32 rank)
{
    trg_u32 at = 0u;

    for (trg_u32 step = 16u; step; step /= 2u) {
        const trg_u32 below = (trg_u32)__popc(word >> at & ((1u << step) - 1u));

        if (rank >= below) {
            rank -= below;
            at += step;
        }
    }
    return at;
}

/* vx_cut_row for the rows of 32 lanes, of which most have few edges and some have many: an edge for
 * each lane.  All lanes of the warp call it; `gone`: shared memory, a word for each work-item. */
TRG_FN trg_u32 vx_warp_cut(struct vx_surroundings s, struct vx_par par, trg_u32 i, trg_u32 low,
                           trg_u32 word, trg_u32 *gone, trg_u32 *seen)
{
    const trg_u32 all = 0xffffffffu, lane = TRG_LID & 31u, n = (trg_u32)__popc(word);
    const trg_u32 end = trg_warp_scan_(all, lane, n), total = __shfl_sync(all, end, 31);

    gone[TRG_LID] = 0u;
    __syncwarp();
    for (trg_u32 base = 0u; base < total; base += 32u) {
        const trg_u32 p = base + lane, owner = trg_warp_owner_(end, p);
        const trg_u32 its = __shfl_sync(all, word, owner), row = i - lane + owner;
        const trg_u32 rank = p - __shfl_sync(all, end - n, owner);

        if (p < total) {
            const trg_u32 k = vx_bit_of(its, rank);

            if (vx_judge_edge(s, par, row, low + k, seen))
                atomicOr(&gone[TRG_LID - lane + owner], 1u << k);
        }
    }
    __syncwarp();
    return gone[TRG_LID];
}
#endif
#endif
