/* SPDX-License-Identifier: Apache-2.0 */
/* near_gpu.h - how GPUs go through the pairs and triplets of one RoI, for one neighbour on each
 * side and one histogram.  Part of near.kernel.c. */
#ifndef ZFINDER_NEAR_GPU_H
#define ZFINDER_NEAR_GPU_H
#include "near.h"

#define ZF_BITE  4u    /* points that a work-item holds against so many others */
#define ZF_BITES 2048u /* such pieces of work that a group lists at a time */

/* What NVIDIA's chips have and the dialect has not: their reciprocal.  Their OpenCL takes the same
 * assembly. */
#if defined(__CUDACC__) || defined(__NV_CL_C_VERSION)
#define ZF_NVIDIA        1
#define ZF_FAST_DIVISION 1
#else
#define ZF_NVIDIA 0
#ifndef ZF_FAST_DIVISION /* the test of the division sets it */
#define ZF_FAST_DIVISION 0
#endif
#endif

/* 1 / d of points that are not wild, rounded as IEEE wants it; of 0 it is not a number.  The chip's
 * own reciprocal is off by a part in 2^23; one step of Newton's rounds it right (tried for all). */
TRG_FN float zf_inverse(float d)
{
#if ZF_NVIDIA
    float y;

    __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
    return trg_fma(y, trg_fma(-d, y, 1.0f), y);
#else
    return 1.0f / d;
#endif
}

/* n / d rounded as IEEE wants it, with y = zf_inverse(d), for n and d of points that are not wild;
 * by 0 it is not a number.  One correction is enough: the sum before the last rounding is off by a
 * part in 2^47, and the 46,517,690 quotients of floats that lie that near to the middle between two
 * floats come out right (tests/zfinder/test_division.c tries some of them). */
TRG_FN float zf_divide(float n, float d, float y)
{
#if ZF_FAST_DIVISION
    const float q = n * y;

    return trg_fma(y, trg_fma(-d, q, n), q);
#else
    (void)y;
    return n / d;
#endif
}

/* Where a pair that points to z0 counts, in quanta from -z_max on. */
TRG_FN trg_u32 zf_place(const struct zf_roi roi, float z_max, float z0)
{
    return (trg_u32)((z0 + z_max) * (roi.inv_bin * (float)ZF_QUANTA));
}

/* The histogram of a group: entries, and from here on the sums of places.  The places of bin b are
 * b * ZF_QUANTA too large, each, and what rounding puts past the last bin goes behind it: see
 * ZF_PUT_OUT. */
#define ZF_PLACES_AT  (ZF_NEAR_BINS + 1u)
#define ZF_HIST_WORDS (2u * ZF_PLACES_AT)

/* Counts n entries at place t. */
TRG_FN void zf_count(TRG_LOCAL trg_u32 *hist, trg_u32 t, trg_u32 n)
{
    TRG_LOCAL trg_u32 *bin = hist + t / ZF_QUANTA;

    TRG_ATOMIC_ADD_LOCAL(bin, n);
    TRG_ATOMIC_ADD_LOCAL(bin + ZF_PLACES_AT, t * n);
}

/* ---------------------------------------------------------------- pairs */

/* The tag with a layer of `most` at most: points behind it are as good as of one layer. */
TRG_FN struct zf_point zf_clip(struct zf_point p, trg_u32 most)
{
    p.tag = (p.tag & 255u) > most ? (p.tag & ~255u) + most : p.tag;
    return p;
}

/* How many times four followers there are for the four points from a on. */
TRG_FN trg_u32 zf_bites(const struct zf_view v, const struct zf_roi roi, trg_u32 a, trg_u32 end)
{
    trg_u32 slice, stop;

    if (a + ZF_BITE >= end)
        return 0u;
    slice = zf_tag(v, a + ZF_BITE - 1u) >> 8;
    stop = v.start[slice + 2u < roi.n_slices ? slice + 2u : roi.n_slices];
    return (stop - (a + ZF_BITE) + ZF_BITE - 1u) / ZF_BITE;
}

struct zf_pairing { /* how pairs count */
    TRG_LOCAL trg_u32 *hist;
    float z_max, quanta;
    trg_u32 most; /* zf_clip */
};

/* Counts the pair of point p with q, which comes after it, if it is one.  Tags tell which are near
 * in phi and on different layers. */
TRG_FN void zf_pair(const struct zf_pairing c, const struct zf_point p, const struct zf_point q,
                    trg_u32 wild)
{
    const trg_u32 stop = (p.tag & ~255u) + 512u; /* tags of the slice after the next */
    const float n = q.z * p.rho - p.z * q.rho, d = p.rho - q.rho;
    const float z0 = wild ? n / d : zf_divide(n, d, zf_inverse(d));

    if (((q.tag ^ p.tag) & 255u) && q.tag < stop && trg_fabs(z0) < c.z_max)
        zf_count(c.hist, (trg_u32)((z0 + c.z_max) * c.quanta), 1u);
}

/* The pairs among the four points from a on. */
TRG_FN void zf_among_(const struct zf_pairing c, const struct zf_view v, trg_u32 a, trg_u32 wild)
{
    struct zf_point p[ZF_BITE];

    for (trg_u32 i = 0; i < ZF_BITE; i++)
        p[i] = zf_clip(zf_point(zf_from(v, a), i), c.most);
    for (trg_u32 i = 0; i < ZF_BITE; i++)
        for (trg_u32 k = i + 1u; k < ZF_BITE; k++)
            zf_pair(c, p[i], p[k], wild);
}

/* The same four against four that come after them, `step` from each other, so that neighbouring
 * work-items read neighbouring points. */
TRG_FN void zf_bite_(const struct zf_pairing c, const struct zf_view v, trg_u32 a, trg_u32 o,
                     trg_u32 step, trg_u32 wild)
{
    struct zf_point p[ZF_BITE], q[ZF_BITE];

    for (trg_u32 i = 0; i < ZF_BITE; i++)
        p[i] = zf_clip(zf_point(zf_from(v, a), i), c.most);
    for (trg_u32 k = 0; k < ZF_BITE; k++)
        q[k] = zf_clip(zf_point(v, o + k * step), c.most);
    for (trg_u32 k = 0; k < ZF_BITE; k++)
        for (trg_u32 i = 0; i < ZF_BITE; i++)
            zf_pair(c, p[i], q[k], wild);
}

/* Where it matters whether points are wild, the code is there twice: the division is chosen
 * outside. */
#if ZF_FAST_DIVISION
#define ZF_EITHER(wild, call_wild, call_tame) \
    do {                                      \
        if (wild)                             \
            call_wild;                        \
        else                                  \
            call_tame;                        \
    } while (0)
#else
#define ZF_EITHER(wild, call_wild, call_tame) call_wild
#endif

TRG_FN void zf_among(const struct zf_pairing c, const struct zf_view v, trg_u32 a, trg_u32 wild)
{
    ZF_EITHER(wild, zf_among_(c, v, a, 1u), zf_among_(c, v, a, 0u));
    (void)wild;
}

TRG_FN void zf_bite(const struct zf_pairing c, const struct zf_view v, trg_u32 a, trg_u32 o,
                    trg_u32 step, trg_u32 wild)
{
    ZF_EITHER(wild, zf_bite_(c, v, a, o, step, 1u), zf_bite_(c, v, a, o, step, 0u));
    (void)wild;
}

/* ---------------------------------------------------------------- triplets */

/* Counts the triplets of inner points i, i + step, ... < end with o in the middle, without lists.
 */
#define ZF_PLAIN_TRIPLETS(bins, v, roi, par, last, o, i, end, step)             \
    do {                                                                        \
        for (trg_u32 i_ = (i); i_ < (end); i_ += (step)) {                      \
            float z0_;                                                          \
            const trg_u32 agree_ = zf_plain(v, roi, &(par), i_, o, last, &z0_); \
            if (agree_)                                                         \
                zf_count(bins, zf_place(roi, (par).z_max, z0_), agree_);        \
        }                                                                       \
    } while (0)

/* What zf_other works out, but for the kind, of points that are not wild. */
TRG_FN struct zf_other zf_other_tame(const struct zf_point p, const struct zf_point middle)
{
    struct zf_other x;
    const float n = middle.z * p.rho - p.z * middle.rho, dr = p.rho - middle.rho;
    const float inv = zf_inverse(dr), d = middle.phi - p.phi;
    const float turn = trg_as_f32((trg_as_u32(d) & 0x80000000u) | 0x40c90fdbu); /* 2 pi */
    const trg_u32 inner = (p.tag & 255u) < (middle.tag & 255u);

    x.z = zf_divide(n, dr, inv);
    x.dphi = trg_fabs(d) > 3.1415927f ? d - turn : d;
    x.k = 2.0f * x.dphi * inv;
    x.p = x.dphi * (inner ? p.rho : middle.rho) * inv;
    x.kind = 0u;
    return x;
}
#endif
