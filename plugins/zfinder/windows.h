/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - the CPU's own way through the pairs and triplets of one RoI, for one neighbour
 * on each side and one histogram.  Part of zfinder.kernel.c; the arithmetic of a pair and of a
 * triplet is that of zf_weight and zf_triplets, bit for bit.
 *
 * The points near a slice are sorted by layer into a window, so that what lies further out is its
 * tail; tails are read in blocks that the compiler turns into vectors.  Slices with few points are
 * quicker without a window, slices with more than a window holds do without one as well. */
#ifndef ZFINDER_WINDOWS_H
#define ZFINDER_WINDOWS_H
#include "search.h"

#define ZF_BLOCK  16u  /* candidates that are looked at together */
#define ZF_WINDOW 512u /* most points of a window */
#define ZF_FEW    8u   /* up to here plain loops are quicker */

struct zf_window { /* points of a slice and of the one on each side, inner layers first */
    trg_u32 n;
    trg_u32 slice;                /* whose window it is; ZF_SLICES: nobody's */
    trg_u32 begin[ZF_LAYERS + 1]; /* of a layer */
    float phi[ZF_WINDOW + ZF_BLOCK], rho[ZF_WINDOW + ZF_BLOCK], z[ZF_WINDOW + ZF_BLOCK];
    trg_u32 tag[ZF_WINDOW + ZF_BLOCK];
};

struct zf_bin {
    trg_u32 count, place;
};

struct zf_work { /* on one RoI */
    struct zf_view v;
    struct zf_roi roi;
    struct zf_par par;
    trg_u32 layers;                           /* that have points */
    struct zf_bin bin[ZF_ENTRIES + ZF_BLOCK]; /* behind n_bins: what does not count */
    struct zf_window window[4];               /* of slice s at s % 4 */
};

TRG_FN trg_u32 zf_low(trg_u32 s, trg_u32 reach)
{
    return s > reach ? s - reach : 0u;
}

TRG_FN trg_u32 zf_high(const struct zf_work *w, trg_u32 s, trg_u32 reach)
{
    return s + reach + 1u < w->roi.n_slices ? s + reach + 1u : w->roi.n_slices;
}

/* So many points fill whole blocks. */
TRG_FN trg_u32 zf_blocks(trg_u32 n)
{
    return (n + ZF_BLOCK - 1u) & ~(ZF_BLOCK - 1u);
}

/* The window of a slice, made unless it is there. */
TRG_FN const struct zf_window *zf_window(struct zf_work *w, trg_u32 slice)
{
    struct zf_window *to = &w->window[slice % 4u];
    const trg_u32 first = w->v.start[zf_low(slice, 1u)];
    trg_u32 at[ZF_LAYERS + 1] = {0};

    if (to->slice == slice)
        return to;
    to->slice = slice;
    to->n = w->v.start[zf_high(w, slice, 1u)] - first;
    for (trg_u32 k = first; k < first + to->n; k++)
        at[(w->v.tag[k] & 255u) + 1u]++;
    for (trg_u32 l = 0; l < ZF_LAYERS; l++)
        at[l + 1u] += at[l];
    memcpy(to->begin, at, sizeof at);
    for (trg_u32 k = first; k < first + to->n; k++) {
        const trg_u32 n = at[w->v.tag[k] & 255u]++;

        to->phi[n] = w->v.phi[k];
        to->rho[n] = w->v.rho[k];
        to->z[n] = w->v.z[k];
        to->tag[n] = w->v.tag[k];
    }
    for (trg_u32 k = to->n; k < to->n + ZF_BLOCK; k++) { /* matches nothing */
        to->phi[k] = to->rho[k] = 0.0f;
        to->z[k] = NAN;
    }
    return to;
}

/* Bins of the pairs of a point with `n` others, and the places within them; what is outside z goes
 * to the bins behind the last. */
TRG_FN void zf_bins(const struct zf_work *w, const struct zf_window *near, trg_u32 from, trg_u32 n,
                    float r1, float z1, trg_u32 *restrict bin, trg_u32 *restrict place)
{
    const float *restrict rho = near->rho + from, *restrict z = near->z + from;
    const float z_max = w->par.z_max, inv_bin = w->roi.inv_bin;
    const trg_i32 n_bins = (trg_i32)w->roi.n_bins;
    float t[ZF_WINDOW + ZF_BLOCK];

    /* two loops: in one the compiler makes branches and not vectors of it */
    for (trg_u32 k = 0; k < n; k++) {
        float z0 = (z[k] * r1 - z1 * rho[k]) / (r1 - rho[k]);
        trg_u32 good = (trg_u32)(z0 > -z_max) & (trg_u32)(z0 < z_max);
        float in_bins = (z0 + z_max) * inv_bin;

        t[k] = good ? in_bins : -1.0f;
    }
    for (trg_u32 k = 0; k < n; k++) {
        trg_i32 b = (trg_i32)t[k], behind = n_bins + (trg_i32)(k % ZF_BLOCK);

        b = b < n_bins ? b : n_bins - 1;
        place[k] = (trg_u32)(trg_i32)((t[k] - (float)b) * (float)ZF_QUANTA);
        bin[k] = (trg_u32)(b < 0 ? behind : b);
    }
}

/* zf_triplets over the tail of a window. */
TRG_FN trg_u32 zf_third_points(const struct zf_work *w, const struct zf_window *from,
                               const struct zf_window *near, trg_u32 i, trg_u32 o)
{
    const float ro = from->rho[o], zo = from->z[o], po = from->phi[o];
    const float z0 = zf_extrapolate(from->rho[i], from->z[i], ro, zo);
    const float inv = 1.0f / (from->rho[i] - ro), dp = zf_dphi(from->phi[i], po);
    const float k0 = 2.0f * dp * inv, p0 = dp * from->rho[i] * inv;
    const float dz_max = w->par.triplet_dz, dk_max = w->par.triplet_dk;
    const float dphi_max = w->par.triplet_dphi;
    const trg_u32 first = near->begin[(from->tag[o] & 255u) + 1u];
    const trg_u32 padded = zf_blocks(near->n - first);
    const float *restrict phi = near->phi + first, *restrict rho = near->rho + first;
    const float *restrict z = near->z + first;
    trg_u32 n = 0u;

    for (trg_u32 k = 0; k < padded; k++) {
        float zt = (z[k] * ro - zo * rho[k]) / (ro - rho[k]);
        float inv_t = 1.0f / (ro - rho[k]), dp_t = zf_dphi(po, phi[k]);

        n += (trg_u32)(trg_fabs(zt - z0) <= dz_max) &
             (trg_u32)(trg_fabs(2.0f * dp_t * inv_t - k0) <= dk_max) &
             (trg_u32)(trg_fabs(dp + dp_t * ro * inv_t - p0) < dphi_max);
    }
    return w->par.triplet_mode == 1u && n ? 1u : n;
}

/* All pairs that begin at point i of a slice's window. */
TRG_FN void zf_from_window(struct zf_work *w, const struct zf_window *near, trg_u32 i)
{
    const trg_u32 first = near->begin[(near->tag[i] & 255u) + 1u];
    const trg_u32 padded = zf_blocks(near->n - first);
    trg_u32 bin[ZF_WINDOW + ZF_BLOCK], place[ZF_WINDOW + ZF_BLOCK];

    zf_bins(w, near, first, padded, near->rho[i], near->z[i], bin, place);
    for (trg_u32 k = 0; k < padded && !w->par.triplet_mode; k++) {
        w->bin[bin[k]].count++;
        w->bin[bin[k]].place += place[k];
    }
    for (trg_u32 k = 0; k < padded && w->par.triplet_mode; k++) {
        const trg_u32 o = first + k;
        trg_u32 n;

        if (bin[k] >= w->roi.n_bins)
            continue;
        n = zf_third_points(w, near, zf_window(w, near->tag[o] >> 8), i, o);
        w->bin[bin[k]].count += n;
        w->bin[bin[k]].place += place[k] * n;
    }
}

/* All pairs that begin at point i, without a window. */
TRG_FN void zf_from_point(struct zf_work *w, trg_u32 slice, trg_u32 i)
{
    const trg_u32 end = w->v.start[zf_high(w, slice, 1u)], layer = w->v.tag[i] & 255u;

    for (trg_u32 o = w->v.start[zf_low(slice, 1u)]; o < end; o++) {
        trg_u32 n, b;
        float t;

        if ((w->v.tag[o] & 255u) <= layer)
            continue;
        n = zf_weight(w->v, w->roi, &w->par, i, o, &t);
        if (!n)
            continue;
        b = (trg_u32)t;
        b = b < w->roi.n_bins ? b : w->roi.n_bins - 1u;
        w->bin[b].count += n;
        w->bin[b].place += (trg_u32)((t - (float)b) * (float)ZF_QUANTA) * n;
    }
}

TRG_FN void zf_from_slice(struct zf_work *w, trg_u32 slice)
{
    const trg_u32 *start = w->v.start;
    const trg_u32 n = start[zf_high(w, slice, 1u)] - start[zf_low(slice, 1u)];
    const struct zf_window *near;

    if (n < 2u)
        return;
    /* the thirds of a triplet come from the windows of its neighbours, too */
    if (n <= ZF_FEW || start[zf_high(w, slice, 2u)] - start[zf_low(slice, 2u)] > ZF_WINDOW) {
        for (trg_u32 i = start[slice]; i < start[slice + 1u]; i++)
            if (zf_may_begin(w->layers, w->v.tag[i] & 255u, w->par.first_layers))
                zf_from_point(w, slice, i);
        return;
    }
    near = zf_window(w, slice);
    for (trg_u32 i = 0; i < near->n; i++)
        if (near->tag[i] >> 8 == slice &&
            zf_may_begin(w->layers, near->tag[i] & 255u, w->par.first_layers))
            zf_from_window(w, near, i);
}

/* The histogram of an RoI, into `out` as zf_pairs leaves it. */
static void zf_host_pairs(const struct zf_view v, const struct zf_roi roi, const struct zf_par par,
                          trg_u32 layers, trg_u32 *out)
{
    struct zf_work w;

    w.v = v;
    w.roi = roi;
    w.par = par;
    w.layers = layers;
    memset(w.bin, 0, (roi.n_bins + ZF_BLOCK) * sizeof *w.bin);
    for (trg_u32 k = 0; k < 4u; k++)
        w.window[k].slice = ZF_SLICES;
    for (trg_u32 s = 0; s < roi.n_slices; s++)
        if (v.start[s] < v.start[s + 1u])
            zf_from_slice(&w, s);
    for (trg_u32 c = 0; c < par.charges; c++) /* of neighbours, either sign may be the right one */
        for (trg_u32 b = 0; b < roi.n_bins; b++) {
            out[c * roi.n_bins + b] = w.bin[b].count;
            out[ZF_ENTRIES + c * roi.n_bins + b] = w.bin[b].place;
        }
}
#endif
