/* SPDX-License-Identifier: Apache-2.0 */
/* near_host.h - the CPU's own way through the pairs and triplets of one RoI, for one neighbour on
 * each side and one histogram.  Part of near.kernel.c; the arithmetic of a pair and of a
 * triplet is that of zf_weight and zf_triplets, bit for bit.
 *
 * Points lie sorted by slice, so the partners of a point that come after it are a run: the rest of
 * its slice and the next one.  Pairs: a block of points against the same block moved on by 1, 2, 3
 * ... places, until nothing is near any more; all loads are contiguous.  Triplets: see zf_middle.
 * Blocks have a fixed size, which the compiler turns into vectors; they may read ZF_BLOCK places
 * past the last point, which the plugin allocates and which count nowhere. */
#ifndef ZFINDER_NEAR_HOST_H
#define ZFINDER_NEAR_HOST_H
#include "near.h"

#define ZF_BLOCK  ZF_SLACK /* points that are looked at together */
#define ZF_SCANT  4u       /* up to so many points near by, plain loops are quicker */
#define ZF_PLACES 512u     /* pairs that are counted together */
#define ZF_LIST   (ZF_LISTS + 2u * ZF_BLOCK)

/* Bins hold entries in the lower half and places in the upper one: one addition for both.  The
 * places may run over, as they do in 32 bits.  Behind n_bins goes what does not count. */
struct zf_work { /* on one RoI */
    const float *phi, *rho, *z;
    const trg_u32 *tag, *start;
    const struct zf_view *view;
    const struct zf_roi *roi;
    const struct zf_par *par;
    trg_u32 end, last_begin;
    trg_u64 bin[ZF_ENTRIES + ZF_BLOCK]; /* see below */
};

/* Counts n places `t` (in bins; whole blocks of them).  What is below 0 goes behind the last bin.
 */
TRG_FN void zf_count_all(struct zf_work *w, const float *restrict t, trg_u32 n)
{
    const trg_i32 n_bins = (trg_i32)w->roi->n_bins;
    trg_u32 bin[ZF_PLACES], place[ZF_PLACES];

    for (trg_u32 k = 0; k < n; k++) {
        trg_i32 b = (trg_i32)t[k], behind = n_bins + (trg_i32)(k % ZF_BLOCK);

        b = b < n_bins ? b : n_bins - 1;
        place[k] = (trg_u32)(trg_i32)((t[k] - (float)b) * (float)ZF_QUANTA);
        bin[k] = (trg_u32)(b < 0 ? behind : b);
    }
    for (trg_u32 k = 0; k < n; k++)
        w->bin[bin[k]] += (trg_u64)place[k] << 32 | 1u;
}

/* Pairs of the block at `a` with the one `d` places on: the place of each in bins, -1 when it does
 * not count.  Returns whether any two are near in phi. */
TRG_FN trg_u32 zf_moved(const struct zf_work *w, trg_u32 a, trg_u32 d, float *restrict t)
{
    const float *restrict r1 = w->rho + a, *restrict r2 = r1 + d;
    const float *restrict z1 = w->z + a, *restrict z2 = z1 + d;
    const trg_u32 *restrict t1 = w->tag + a, *restrict t2 = t1 + d;
    const float z_max = w->par->z_max, inv_bin = w->roi->inv_bin;
    const trg_u32 last = w->last_begin;
    const trg_i32 left = (trg_i32)w->end - (trg_i32)(a + d); /* partners there are */
    trg_u32 any = 0u;

    for (trg_u32 k = 0; k < ZF_BLOCK; k++) {
        const trg_u32 l1 = t1[k] & 255u, l2 = t2[k] & 255u, lower = l1 < l2 ? l1 : l2;
        const trg_u32 inner = l1 == l2 ? ZF_LAYERS + 1u : lower; /* no pair: beyond any `last` */
        const trg_u32 slice = (trg_i32)k < left ? t2[k] >> 8 : ZF_SLICES + 2u;
        const float z = (z2[k] * r1[k] - z1[k] * r2[k]) / (r1[k] - r2[k]);
        const float in_bins = (z + z_max) * inv_bin;
        const trg_u32 near = ZF_MASK(slice - (t1[k] >> 8) <= 1u);
        const trg_u32 good = near & ZF_MASK(inner <= last) & ZF_MASK(trg_fabs(z) < z_max);

        any |= near;
        t[k] = ZF_CHOOSE(good & 1u, in_bins, -1.0f);
    }
    return any;
}

TRG_FN void zf_all_pairs(struct zf_work *w)
{
    float t[ZF_PLACES];
    trg_u32 n = 0u;

    for (trg_u32 a = w->start[0]; a < w->end; a += ZF_BLOCK)
        for (trg_u32 d = 1u; zf_moved(w, a, d, t + n); d++) {
            n += ZF_BLOCK;
            if (n == ZF_PLACES) {
                zf_count_all(w, t, n);
                n = 0u;
            }
        }
    zf_count_all(w, t, n);
}

/* ---------------------------------------------------------------- triplets */

struct zf_lists { /* around one middle point: the terms of all others, and which are what */
    float z[ZF_LIST], k[ZF_LIST], p[ZF_LIST], m[ZF_LIST];
    trg_u32 kind[ZF_LIST];
    trg_u32 inner[ZF_LIST + ZF_BLOCK], outer[ZF_LIST];
    trg_u32 n_inner, n_outer;
};

/* What point o and the n others from `from` on are to each other; see near.h. */
TRG_FN void zf_around(const struct zf_work *w, trg_u32 o, trg_u32 from, trg_u32 n,
                      struct zf_lists *restrict l)
{
    const float *restrict rho = w->rho + from, *restrict z = w->z + from;
    const float *restrict phi = w->phi + from;
    const trg_u32 *restrict tag = w->tag + from;
    const struct zf_point middle = zf_point(*w->view, o);
    const float z_max = w->par->z_max, far = zf_far(z_max, w->par->triplet_dz);
    const trg_u32 last = w->last_begin;

    for (trg_u32 c = 0; c < n; c += ZF_BLOCK)
        for (trg_u32 k = c; k < c + ZF_BLOCK; k++) {
            const struct zf_point p = {phi[k], rho[k], z[k], tag[k]};
            const struct zf_other x = zf_other(p, middle, z_max, far, last);

            l->z[k] = x.z;
            l->m[k] = x.dphi;
            l->k[k] = x.k;
            l->p[k] = x.p;
            l->kind[k] = k < n ? x.kind : 0u;
        }
}

/* Makes lists of the inner and of the outer ones. */
TRG_FN void zf_part(struct zf_lists *restrict l, trg_u32 n)
{
    trg_u32 inner = 0u, outer = 0u;

    for (trg_u32 k = 0; k < n; k++) {
        l->inner[inner] = k;
        inner += l->kind[k] & 1u;
        l->outer[outer] = k;
        outer += l->kind[k] >> 1;
    }
    l->n_inner = inner;
    l->n_outer = outer;
    for (trg_u32 k = inner; k < inner + ZF_BLOCK; k++)
        l->inner[k] = ZF_LIST - 1u; /* fills up the last block */
}

/* Counts for a block of inner points how many outer ones agree in z, curvature and phi. */
TRG_FN void zf_agree(const struct zf_par *par, const struct zf_lists *restrict l,
                     const trg_u32 *restrict inner, float *restrict z, trg_u32 *restrict agree)
{
    const float dz = par->triplet_dz, dk = par->triplet_dk, dphi = par->triplet_dphi;
    float k0[ZF_BLOCK], p0[ZF_BLOCK], m[ZF_BLOCK];

    for (trg_u32 j = 0; j < ZF_BLOCK; j++) {
        z[j] = l->z[inner[j]];
        k0[j] = l->k[inner[j]];
        p0[j] = l->p[inner[j]];
        m[j] = l->m[inner[j]];
        agree[j] = 0u;
    }
    for (trg_u32 i = 0; i < l->n_outer; i++) {
        const float zt = l->z[l->outer[i]], kt = l->k[l->outer[i]], pt = l->p[l->outer[i]];

        for (trg_u32 j = 0; j < ZF_BLOCK; j++)
            agree[j] += (trg_u32)(trg_fabs(zt - z[j]) <= dz) &
                        (trg_u32)(trg_fabs(kt - k0[j]) <= dk) &
                        (trg_u32)(trg_fabs(m[j] + pt - p0[j]) < dphi);
    }
}

TRG_FN void zf_count_at(struct zf_work *w, float z0, trg_u32 n)
{
    const float t = (z0 + w->par->z_max) * w->roi->inv_bin;
    trg_u32 b = (trg_u32)t, place;

    b = b < w->roi->n_bins ? b : w->roi->n_bins - 1u;
    place = (trg_u32)((t - (float)b) * (float)ZF_QUANTA) * n;
    w->bin[b] += (trg_u64)place << 32 | n;
}

/* Triplets with `o` in the middle: what a pair needs is computed once for every other point near
 * by, then the inner ones are held against the outer ones. */
TRG_FN void zf_middle(struct zf_work *w, struct zf_lists *l, trg_u32 o, trg_u32 from, trg_u32 n)
{
    zf_around(w, o, from, n, l);
    zf_part(l, n);
    for (trg_u32 j = 0; j < l->n_inner && l->n_outer; j += ZF_BLOCK) {
        trg_u32 agree[ZF_BLOCK];
        float z[ZF_BLOCK];

        zf_agree(w->par, l, l->inner + j, z, agree);
        for (trg_u32 k = 0; k < ZF_BLOCK && j + k < l->n_inner; k++)
            if (agree[k])
                zf_count_at(w, z[k], w->par->triplet_mode == 1u ? 1u : agree[k]);
    }
}

/* The same without lists, for few points near by, and for more than those hold. */
TRG_FN void zf_middle_plain(struct zf_work *w, trg_u32 o, trg_u32 from, trg_u32 n)
{
    for (trg_u32 i = from; i < from + n; i++) {
        float z0;
        const trg_u32 agree = zf_plain(*w->view, *w->roi, w->par, i, o, w->last_begin, &z0);

        if (agree)
            zf_count_at(w, z0, agree);
    }
}

TRG_FN void zf_all_triplets(struct zf_work *w)
{
    struct zf_lists l;

    l.z[ZF_LIST - 1u] = l.k[ZF_LIST - 1u] = l.p[ZF_LIST - 1u] = l.m[ZF_LIST - 1u] = NAN;
    for (trg_u32 s = 0; s < w->roi->n_slices; s++) {
        const struct zf_run near = zf_run(*w->view, *w->roi, s);

        for (trg_u32 o = w->start[s]; o < w->start[s + 1u] && near.n >= 3u; o++)
            if (near.n > ZF_SCANT && near.n <= ZF_LISTS)
                zf_middle(w, &l, o, near.from, near.n);
            else
                zf_middle_plain(w, o, near.from, near.n);
    }
}

/* The histogram of an RoI, into `out` as zf_pairs leaves it. */
static void zf_host_near(const struct zf_view *v, const struct zf_roi *roi,
                         const struct zf_par *par, trg_u32 last_begin, trg_u32 *out)
{
    struct zf_work w;

    w.phi = v->phi;
    w.rho = v->rho;
    w.z = v->z;
    w.tag = v->tag;
    w.start = v->start;
    w.view = v;
    w.roi = roi;
    w.par = par;
    w.end = v->start[roi->n_slices];
    w.last_begin = last_begin;
    memset(w.bin, 0, (roi->n_bins + ZF_BLOCK) * sizeof *w.bin);
    if (par->triplet_mode)
        zf_all_triplets(&w);
    else
        zf_all_pairs(&w);
    for (trg_u32 c = 0; c < par->charges; c++) /* of neighbours, either sign may be the right one */
        for (trg_u32 b = 0; b < roi->n_bins; b++) {
            out[c * roi->n_bins + b] = (trg_u32)w.bin[b];
            out[ZF_ENTRIES + c * roi->n_bins + b] = (trg_u32)(w.bin[b] >> 32);
        }
}
#endif
