/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - what the kernels do around one inner point: pairs, triplets, and their bins. */
#ifndef ZFINDER_SEARCH_H
#define ZFINDER_SEARCH_H
#include "points.h"

/* Phi slices to look at on each side, from one layer to another further out. */
TRG_FN trg_u32 zf_reach(const struct zf_view v, const struct zf_roi roi, trg_u32 last_barrel,
                        trg_u32 inner, trg_u32 outer)
{
    trg_i32 n = (trg_i32)v.neighbours[inner * ZF_LAYERS + outer];

    if (outer > last_barrel) /* the outer one has the larger number */
        n -= roi.fewer_slices;
    return n < 1 ? 1u : (trg_u32)n;
}

/* The largest of them from a layer outwards: no point beyond it can match. */
TRG_FN trg_u32 zf_reach_most(const struct zf_view v, const struct zf_roi roi, trg_u32 inner)
{
    const trg_u32 n = v.neighbours[inner * ZF_LAYERS + inner]; /* the host keeps it there */

    return roi.fewer_slices < 0 ? n + (trg_u32)(-roi.fewer_slices) : n;
}

#if defined(ZF_DOUBLE)
#include "double.h"
#else
typedef float zf_real;

/* z on the beam line of the straight line through two points. */
TRG_FN float zf_extrapolate(float r1, float z1, float r2, float z2)
{
    return (z2 * r1 - z1 * r2) / (r1 - r2);
}

/* Shortest way from one phi to the other, rad. */
TRG_FN float zf_dphi(float from, float to)
{
    const float d = to - from, below = d - 6.2831855f;
    const float e = ZF_CHOOSE(d > 3.1415927f, below, d), above = e + 6.2831855f;

    return ZF_CHOOSE(e < -3.1415927f, above, e);
}

/* Third points further out that agree with the pair (i, o) in z, curvature and phi. */
TRG_FN trg_u32 zf_triplets(const struct zf_view v, const struct zf_roi roi,
                           const struct zf_par *par, trg_u32 i, trg_u32 o, float z0)
{
    const struct zf_point inner = zf_point(v, i), middle = zf_point(v, o);
    const trg_u32 inner_slice = inner.tag >> 8, slice = middle.tag >> 8, layer = middle.tag & 255u;
    const trg_u32 most = zf_reach_most(v, roi, layer);
    /* the bending goes on in the direction in which it began */
    const trg_u32 down = slice >= inner_slice ? 1u : most, up = slice <= inner_slice ? 1u : most;
    const trg_u32 low = slice > down ? slice - down : 0u;
    const trg_u32 high = slice + up + 1u < roi.n_slices ? slice + up + 1u : roi.n_slices;
    const float ro = middle.rho, zo = middle.z, po = middle.phi;
    const float inv = 1.0f / (inner.rho - ro);
    const float dp = zf_dphi(inner.phi, po);
    const float k0 = 2.0f * dp * inv,
                p0 = dp * inner.rho * inv; /* phi on the beam line, from phi_i */
    trg_u32 n = 0u;

    for (trg_u32 t = v.start[low]; t < v.start[high]; t++) {
        const struct zf_point p = zf_point(v, t);
        const trg_u32 t_layer = p.tag & 255u, t_slice = p.tag >> 8;
        trg_u32 reach, apart;
        float inv_t, dp_t;

        if (t_layer <= layer)
            continue;
        reach = zf_reach(v, roi, par->last_barrel, layer, t_layer);
        apart = t_slice > slice ? t_slice - slice : slice - t_slice;
        if (apart > reach && apart > 1u)
            continue;
        if (!(trg_fabs(zf_extrapolate(ro, zo, p.rho, p.z) - z0) <= par->triplet_dz))
            continue;
        inv_t = 1.0f / (ro - p.rho);
        dp_t = zf_dphi(po, p.phi);
        if (!(trg_fabs(2.0f * dp_t * inv_t - k0) <= par->triplet_dk))
            continue;
        if (!(trg_fabs(dp + dp_t * ro * inv_t - p0) < par->triplet_dphi))
            continue;
        if (par->triplet_mode == 1u)
            return 1u;
        n++;
    }
    return n;
}

/* What a pair adds: entries (0 for none), and in *ret_t its place in units of bins. */
TRG_FN trg_u32 zf_weight(const struct zf_view v, const struct zf_roi roi, const struct zf_par *par,
                         trg_u32 i, trg_u32 o, float *ret_t)
{
    const struct zf_point a = zf_point(v, i), b = zf_point(v, o);
    const float z0 = zf_extrapolate(a.rho, a.z, b.rho, b.z);

    if (!(z0 > -par->z_max && z0 < par->z_max))
        return 0u;
    *ret_t = (z0 + par->z_max) * roi.inv_bin;
    return par->triplet_mode ? zf_triplets(v, roi, par, i, o, z0) : 1u;
}

#endif

/* Besides 1 and 2 charges: two, of which only one is to be counted now. */
#define ZF_ONLY_FIRST  3u
#define ZF_ONLY_SECOND 4u

struct zf_histogram { /* of a group: two of them with charges, one behind the other */
    TRG_LOCAL trg_u32 *count, *place;
};

/* Counts n entries at place t of a pair in two slices into the histograms of the charges that the
 * bending allows. */
TRG_FN void zf_count_pair(const struct zf_histogram h, trg_u32 n_bins, trg_u32 charges,
                          trg_u32 i_slice, trg_u32 o_slice, zf_real t, trg_u32 n)
{
    const trg_u32 b = (trg_u32)t, bin = b >= n_bins ? n_bins - 1u : b;
    const trg_u32 at = (trg_u32)((t - (zf_real)bin) * (zf_real)ZF_QUANTA) * n;

    if (charges == 1u || (charges != ZF_ONLY_SECOND && o_slice <= i_slice + 1u)) {
        TRG_ATOMIC_ADD_LOCAL(&h.count[bin], n);
        TRG_ATOMIC_ADD_LOCAL(&h.place[bin], at);
    }
    if (charges != 1u && charges != ZF_ONLY_FIRST && o_slice + 1u >= i_slice) {
        TRG_ATOMIC_ADD_LOCAL(&h.count[n_bins + bin], n);
        TRG_ATOMIC_ADD_LOCAL(&h.place[n_bins + bin], at);
    }
}

/* Whether pairs may begin on a layer: it is one of the first filled ones, and not the last. */
TRG_FN trg_u32 zf_may_begin(trg_u32 layers, trg_u32 layer, trg_u32 first_layers)
{
    trg_u32 rank = trg_popcount(layers & ((1u << layer) - 1u)), filled = trg_popcount(layers);

    return rank < first_layers && rank + 1u < filled;
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__) || defined(ZF_DOUBLE)
#define ZF_ONE_BY_ONE
#endif

#if !defined(ZF_ONE_BY_ONE)
/* The host's way through the candidates of one inner point: first all places in one vectorized
 * pass, then the few that count.  The same arithmetic in the same order as zf_weight. */
#define ZF_CHUNK    128u
#define ZF_NO_PLACE -1.0f

TRG_FN void zf_places(const struct zf_view v, const struct zf_point p, float z_max, float inv_bin,
                      trg_u32 from, trg_u32 n, float *TRG_RESTRICT place)
{
    const float *TRG_RESTRICT rho = v.rho + from, *TRG_RESTRICT z = v.z + from;
    const float r1 = p.rho, z1 = p.z;
    const trg_u32 *TRG_RESTRICT tag = v.tag + from;
    const trg_u32 layer = p.tag & 255u;

    for (trg_u32 k = 0; k < n; k++) {
        float z0 = (z[k] * r1 - z1 * rho[k]) / (r1 - rho[k]);
        trg_u32 good =
            (trg_u32)(z0 > -z_max) & (trg_u32)(z0 < z_max) & (trg_u32)((tag[k] & 255u) > layer);
        float t = (z0 + z_max) * inv_bin;

        place[k] = good ? t : ZF_NO_PLACE;
    }
}
#endif

/* The points that may be near one: in the slices from `most` before its own to `most` behind. */
TRG_FN void zf_near(const struct zf_view v, const struct zf_roi roi, trg_u32 tag, trg_u32 *ret_from,
                    trg_u32 *ret_end)
{
    const trg_u32 slice = tag >> 8, most = zf_reach_most(v, roi, tag & 255u);

    *ret_from = v.start[slice > most ? slice - most : 0u];
    *ret_end = v.start[slice + most + 1u < roi.n_slices ? slice + most + 1u : roi.n_slices];
}

/* Counts all pairs that begin at point i. */
#if !defined(ZF_ONE_BY_ONE)
__attribute__((always_inline)) /* a call costs 7 % more instructions */
TRG_FN void
zf_from_point(const struct zf_histogram h, const struct zf_view v, const struct zf_roi roi,
              const struct zf_par par, trg_u32 i)
{
    const struct zf_point p = zf_point(v, i);
    const trg_u32 slice = p.tag >> 8, layer = p.tag & 255u;
    float places[ZF_CHUNK];
    trg_u32 from, end;

    zf_near(v, roi, p.tag, &from, &end);
    for (; from < end; from += ZF_CHUNK) {
        const trg_u32 n = end - from < ZF_CHUNK ? end - from : ZF_CHUNK;

        zf_places(v, p, par.z_max, roi.inv_bin, from, n, places);
        for (trg_u32 k = 0; k < n; k++) {
            const trg_u32 o = from + k;
            trg_u32 other, apart, w = 1u;

            if (places[k] < 0.0f)
                continue;
            other = v.tag[o] >> 8;
            apart = other > slice ? other - slice : slice - other;
            if (apart > 1u && apart > zf_reach(v, roi, par.last_barrel, layer, v.tag[o] & 255u))
                continue;
            if (par.triplet_mode)
                w = zf_triplets(v, roi, &par, i, o, zf_extrapolate(p.rho, p.z, v.rho[o], v.z[o]));
            if (w)
                zf_count_pair(h, roi.n_bins, par.charges, slice, other, places[k], w);
        }
    }
}
#else
TRG_FN void zf_from_point(const struct zf_histogram h, const struct zf_view v,
                          const struct zf_roi roi, const struct zf_par par, trg_u32 i)
{
    const trg_u32 tag = zf_tag(v, i), slice = tag >> 8, layer = tag & 255u;
    trg_u32 o, end;

    zf_near(v, roi, tag, &o, &end);
    for (; o < end; o++) {
        const trg_u32 other = zf_tag(v, o) >> 8, other_layer = zf_tag(v, o) & 255u;
        const trg_u32 apart = other > slice ? other - slice : slice - other;
        zf_real t = 0.0f;
        trg_u32 w = 0u;

        if (other_layer > layer &&
            (apart <= 1u || apart <= zf_reach(v, roi, par.last_barrel, layer, other_layer)))
            w = zf_weight(v, roi, &par, i, o, &t);
        if (w)
            zf_count_pair(h, roi.n_bins, par.charges, slice, other, t, w);
    }
}
#endif
#endif
