/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - what the kernels do around one inner point: pairs, triplets, and their bins. */
#ifndef ZFINDER_SEARCH_H
#define ZFINDER_SEARCH_H
#include "points.h"

/* Phi slices to look at on each side, from one layer to another further out. */
TRG_FN trg_u32 zf_reach(const struct zf_view v, const struct zf_roi roi, trg_u32 last_barrel,
                        trg_u32 inner, trg_u32 outer)
{
    trg_u32 n = v.neighbours[inner * ZF_LAYERS + outer];

    if (outer > last_barrel) /* the outer one has the larger number */
        n = n > roi.fewer_slices ? n - roi.fewer_slices : 1u;
    return n < 1u ? 1u : n;
}

/* The largest of them from a layer outwards: no point beyond it can match. */
TRG_FN trg_u32 zf_reach_most(const struct zf_view v, trg_u32 inner)
{
    return v.neighbours[inner * ZF_LAYERS + inner]; /* the host keeps it on the diagonal */
}

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
    const trg_u32 most = zf_reach_most(v, layer);
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

/* Besides 1 and 2 charges: two, of which only one is to be counted now. */
#define ZF_ONLY_FIRST  3u
#define ZF_ONLY_SECOND 4u

/* Counts n entries at place t into the histograms of the charges that the bending allows. */
#define ZF_COUNT(hist, place, roi, par, i_slice, o_slice, t, n)                 \
    do {                                                                        \
        trg_u32 bin_ = (trg_u32)(t), at_;                                       \
        if (bin_ >= (roi).n_bins)                                               \
            bin_ = (roi).n_bins - 1u;                                           \
        at_ = (trg_u32)(((t) - (float)bin_) * (float)ZF_QUANTA) * (n);          \
        if ((par).charges == 1u ||                                              \
            ((par).charges != ZF_ONLY_SECOND && (o_slice) <= (i_slice) + 1u)) { \
            TRG_ATOMIC_ADD_LOCAL(&(hist)[bin_], (n));                           \
            TRG_ATOMIC_ADD_LOCAL(&(place)[bin_], at_);                          \
        }                                                                       \
        if ((par).charges != 1u && (par).charges != ZF_ONLY_FIRST &&            \
            (o_slice) + 1u >= (i_slice)) {                                      \
            TRG_ATOMIC_ADD_LOCAL(&(hist)[(roi).n_bins + bin_], (n));            \
            TRG_ATOMIC_ADD_LOCAL(&(place)[(roi).n_bins + bin_], at_);           \
        }                                                                       \
    } while (0)

/* Whether pairs may begin on a layer: it is one of the first filled ones, and not the last. */
TRG_FN trg_u32 zf_may_begin(trg_u32 layers, trg_u32 layer, trg_u32 first_layers)
{
    trg_u32 rank = trg_popcount(layers & ((1u << layer) - 1u)), filled = trg_popcount(layers);

    return rank < first_layers && rank + 1u < filled;
}

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
/* The host's way through the candidates of one inner point: first all places in one vectorized
 * pass, then the few that count.  The same arithmetic in the same order as zf_weight. */
#define ZF_CHUNK    128u
#define ZF_NO_PLACE -1.0f

TRG_FN void zf_places(const struct zf_view v, float r1, float z1, float z_max, float inv_bin,
                      trg_u32 layer, trg_u32 from, trg_u32 n, float *restrict place)
{
    const float *restrict rho = v.rho + from, *restrict z = v.z + from;
    const trg_u32 *restrict tag = v.tag + from;

    for (trg_u32 k = 0; k < n; k++) {
        float z0 = (z[k] * r1 - z1 * rho[k]) / (r1 - rho[k]);
        trg_u32 good =
            (trg_u32)(z0 > -z_max) & (trg_u32)(z0 < z_max) & (trg_u32)((tag[k] & 255u) > layer);
        float t = (z0 + z_max) * inv_bin;

        place[k] = good ? t : ZF_NO_PLACE;
    }
}
#endif

/* Counts all pairs that begin at point i. */
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define ZF_FROM_POINT(hist, place, v, roi, par, i)                                                 \
    do {                                                                                           \
        const trg_u32 s_ = (v).tag[i] >> 8, l_ = (v).tag[i] & 255u;                                \
        const trg_u32 most_ = zf_reach_most(v, l_);                                                \
        const trg_u32 low_ = s_ > most_ ? s_ - most_ : 0u;                                         \
        const trg_u32 high_ = s_ + most_ + 1u < (roi).n_slices ? s_ + most_ + 1u : (roi).n_slices; \
        const trg_u32 end_ = (v).start[high_];                                                     \
        float places_[ZF_CHUNK];                                                                   \
        for (trg_u32 from_ = (v).start[low_]; from_ < end_; from_ += ZF_CHUNK) {                   \
            const trg_u32 n_ = end_ - from_ < ZF_CHUNK ? end_ - from_ : ZF_CHUNK;                  \
            zf_places(v, (v).rho[i], (v).z[i], (par).z_max, (roi).inv_bin, l_, from_, n_,          \
                      places_);                                                                    \
            for (trg_u32 k_ = 0; k_ < n_; k_++) {                                                  \
                const trg_u32 o_ = from_ + k_;                                                     \
                trg_u32 so_, apart_, w_ = 1u;                                                      \
                if (places_[k_] < 0.0f)                                                            \
                    continue;                                                                      \
                so_ = (v).tag[o_] >> 8;                                                            \
                apart_ = so_ > s_ ? so_ - s_ : s_ - so_;                                           \
                if (apart_ > 1u &&                                                                 \
                    apart_ > zf_reach(v, roi, (par).last_barrel, l_, (v).tag[o_] & 255u))          \
                    continue;                                                                      \
                if ((par).triplet_mode)                                                            \
                    w_ =                                                                           \
                        zf_triplets(v, roi, &(par), i, o_,                                         \
                                    zf_extrapolate((v).rho[i], (v).z[i], (v).rho[o_], (v).z[o_])); \
                if (w_)                                                                            \
                    ZF_COUNT(hist, place, roi, par, s_, so_, places_[k_], w_);                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)
#else
#define ZF_FROM_POINT(hist, place, v, roi, par, i)                                                 \
    do {                                                                                           \
        const trg_u32 s_ = zf_tag(v, i) >> 8, l_ = zf_tag(v, i) & 255u;                            \
        const trg_u32 most_ = zf_reach_most(v, l_);                                                \
        const trg_u32 low_ = s_ > most_ ? s_ - most_ : 0u;                                         \
        const trg_u32 high_ = s_ + most_ + 1u < (roi).n_slices ? s_ + most_ + 1u : (roi).n_slices; \
        const trg_u32 end_ = (v).start[high_];                                                     \
        for (trg_u32 o_ = (v).start[low_]; o_ < end_; o_++) {                                      \
            const trg_u32 so_ = zf_tag(v, o_) >> 8, lo_ = zf_tag(v, o_) & 255u;                    \
            const trg_u32 apart_ = so_ > s_ ? so_ - s_ : s_ - so_;                                 \
            float t_ = 0.0f;                                                                       \
            trg_u32 w_ = 0u;                                                                       \
            if (lo_ > l_ &&                                                                        \
                (apart_ <= 1u || apart_ <= zf_reach(v, roi, (par).last_barrel, l_, lo_)))          \
                w_ = zf_weight(v, roi, &(par), i, o_, &t_);                                        \
            if (w_)                                                                                \
                ZF_COUNT(hist, place, roi, par, s_, so_, t_, w_);                                  \
        }                                                                                          \
    } while (0)
#endif
#endif
