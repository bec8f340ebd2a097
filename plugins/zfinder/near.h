/* SPDX-License-Identifier: Apache-2.0 */
/* near.h - pairs and triplets when one slice on each side is looked at: what the kernels zf_near_*
 * and the CPU's own way (near_host.h) share.
 *
 * Two things make this quicker than the search of search.h, with the same bits:
 * - z on the beam line of two points does not depend on which comes first (numerator and
 *   denominator change their signs together), so every two points are looked at once.
 * - All that a triplet compares is known of its two pairs alone.  With a point in the middle, each
 *   other point near by is worked out once, and what remains of a triplet is three differences.
 */
#ifndef ZFINDER_NEAR_H
#define ZFINDER_NEAR_H
#include "search.h"

/* z on the beam line of two points.  Points of one layer make no pair, and in a barrel they have
 * the same radius: dividing by 1 instead of 0 then saves GPUs the slow way of a division. */
TRG_FN float zf_z0(float r1, float z1, trg_u32 layer1, float r2, float z2, trg_u32 layer2)
{
    return (z2 * r1 - z1 * r2) / (layer1 == layer2 ? 1.0f : r1 - r2);
}

/* The last layer on which pairs may begin: see zf_may_begin. */
TRG_FN trg_u32 zf_last_begin(trg_u32 layers, trg_u32 first_layers)
{
    for (trg_u32 n = 0; n < first_layers && layers; n++)
        if (n + 1u == first_layers)
            return 31u - trg_clz(layers & (0u - layers));
        else
            layers &= layers - 1u;
    return ZF_LAYERS;
}

/* An outer pair whose |z| is beyond this agrees with no inner pair inside z_max. */
TRG_FN float zf_far(float z_max, float triplet_dz)
{
    return z_max + triplet_dz + 0.01f; /* much more than rounding can do */
}

#define ZF_INNER 1u
#define ZF_OUTER 2u
struct zf_other { /* a point as one in the middle sees it */
    float z;      /* on the beam line, mm */
    float k;      /* curvature, rad/mm */
    float p;      /* inner: phi on the beam line, from its own; outer: what it adds to dphi */
    float dphi;   /* from it to the middle, rad */
    trg_u32 kind; /* ZF_INNER, ZF_OUTER, or 0 when it can be neither */
};

/* The terms of zf_triplets, of a point p around the middle one; dr as in zf_z0. */
TRG_FN struct zf_other zf_other(const struct zf_point p, const struct zf_point middle, float z_max,
                                float far, trg_u32 last_begin)
{
    struct zf_other x;
    const trg_u32 layer = p.tag & 255u, layer_o = middle.tag & 255u;
    const float away = p.rho - middle.rho, dr = ZF_CHOOSE(layer == layer_o, 1.0f, away);
    const float inv = 1.0f / dr;
    const trg_u32 is_inner = (trg_u32)(layer < layer_o);

    x.z = (middle.z * p.rho - p.z * middle.rho) / dr;
    x.dphi = zf_dphi(p.phi, middle.phi);
    x.k = 2.0f * x.dphi * inv;
    x.p = x.dphi * ZF_CHOOSE(is_inner, p.rho, middle.rho) * inv;
    x.kind = (ZF_MASK(is_inner) & ZF_MASK(layer <= last_begin) & ZF_MASK(trg_fabs(x.z) < z_max) &
              ZF_INNER) |
             (ZF_MASK(layer > layer_o) & ZF_MASK(trg_fabs(x.z) <= far) & ZF_OUTER);
    return x;
}

/* The points near a slice: of its own, the one before and the one after. */
struct zf_run {
    trg_u32 from, n;
};

TRG_FN struct zf_run zf_run(const struct zf_view v, const struct zf_roi roi, trg_u32 slice)
{
    struct zf_run x;

    x.from = v.start[slice ? slice - 1u : 0u];
    x.n = v.start[slice + 2u < roi.n_slices ? slice + 2u : roi.n_slices] - x.from;
    return x;
}

/* zf_plain: triplets of inner point i with o in the middle, as zf_triplets finds them; *ret_z0 is
 * where they count. */
TRG_FN trg_u32 zf_plain(const struct zf_view v, const struct zf_roi roi, const struct zf_par *par,
                        trg_u32 i, trg_u32 o, trg_u32 last_begin, float *ret_z0)
{
    const struct zf_point inner = zf_point(v, i), middle = zf_point(v, o);
    const trg_u32 layer = inner.tag & 255u;

    if (layer >= (middle.tag & 255u) || layer > last_begin)
        return 0u;
    *ret_z0 = zf_extrapolate(inner.rho, inner.z, middle.rho, middle.z);
    if (!(*ret_z0 > -par->z_max) || !(*ret_z0 < par->z_max))
        return 0u;
    return zf_triplets(v, roi, par, i, o, *ret_z0);
}
#endif
