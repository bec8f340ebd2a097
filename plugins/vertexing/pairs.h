/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - how much a pair of tracks that the cuts left looks like two of a b decay: a sum of
 * steps in eight features, trained by bench/vertexing/train.  Trees ask for more or less only, so
 * features are squares where that saves a root.  Scores are integers: no order of adding them makes
 * a difference. */
#ifndef VX_PAIRS_H
#define VX_PAIRS_H
#include "geometry.h"

struct vx_pair_features {
    float f[VX_PAIR_FEATURES];
};

/* Of two tracks that cross at q; (pv_x, pv_y, pv_z): their primary vertex. */
TRG_FN struct vx_pair_features vx_pair_features_of(struct vx_line a, struct vx_line b,
                                                   struct vx_point q, float beam_x, float beam_y,
                                                   float pv_x, float pv_y, float pv_z)
{
    const struct vx_pair p = vx_pair_of(a, b);
    const float volume = vx_dot(p.dx, p.dy, p.dz, p.cx, p.cy, p.cz);
    const float var = vx_variance(a, q.z - a.z) + vx_variance(b, q.z - b.z);
    const float bx = q.x - beam_x, by = q.y - beam_y;
    const float dx = q.x - pv_x, dy = q.y - pv_y, dz = q.z - pv_z;
    const float z2 = dz * dz > 1e-4f ? dz * dz : 1e-4f;
    const float ip_a = vx_from(a, pv_x, pv_y, pv_z).chi2, ip_b = vx_from(b, pv_x, pv_y, pv_z).chi2;
    struct vx_pair_features r;

    r.f[VX_PAIR_DOCA] = volume * volume / (var * (p.sin2 > 1e-12f ? p.sin2 : 1e-12f));
    r.f[VX_PAIR_SIN2] = p.sin2;
    r.f[VX_PAIR_RADIUS] = bx * bx + by * by;
    r.f[VX_PAIR_Z] = dz;
    r.f[VX_PAIR_ACROSS] = dx * dx + dy * dy;
    r.f[VX_PAIR_SLOPE] = (dx * dx + dy * dy) / z2;
    r.f[VX_PAIR_IP_LEAST] = ip_a < ip_b ? ip_a : ip_b;
    r.f[VX_PAIR_IP_MOST] = ip_a < ip_b ? ip_b : ip_a;
    return r;
}

/* Below a threshold, or at it, is left: of the root, then of the child that it leads to. */
struct vx_pair_tree {
    trg_u32 feature[3];
    float threshold[3];
    trg_i32 leaf[4]; /* units of 1 / VX_SCORE_ONE */
};

#include "pairs_model.h"

/* The score, VX_SCORE_ZERO and up. */
TRG_FN trg_u32 vx_pair_score(struct vx_pair_features x)
{
    trg_i32 sum = (trg_i32)VX_SCORE_ZERO;

    for (trg_u32 k = 0u; k < VX_PAIR_TREES; k++) {
        const trg_u32 side =
            x.f[vx_pair_trees[k].feature[0]] > vx_pair_trees[k].threshold[0] ? 1u : 0u;
        const trg_u32 child = 1u + side;
        const trg_u32 right =
            x.f[vx_pair_trees[k].feature[child]] > vx_pair_trees[k].threshold[child] ? 1u : 0u;

        sum += vx_pair_trees[k].leaf[2u * side + right];
    }
    return sum > 0 ? (trg_u32)sum : 0u;
}

/* What of a score is above 0, or 1 for what is sure, in the units of sums. */
TRG_FN trg_u32 vx_score_above(trg_u32 score, trg_u32 limit)
{
    return score > limit ? (score - limit) >> VX_SCORE_SUM : 0u;
}
#endif
