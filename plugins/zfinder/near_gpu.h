/* SPDX-License-Identifier: Apache-2.0 */
/* near_gpu.h - how GPUs go through the pairs and triplets of one RoI, for one neighbour on each
 * side and one histogram.  Part of near.kernel.c. */
#ifndef ZFINDER_NEAR_GPU_H
#define ZFINDER_NEAR_GPU_H
#include "near.h"

#define ZF_BITE  4u    /* points that a work-item holds against so many others */
#define ZF_BITES 2048u /* such pieces of work that a group lists at a time */

/* What NVIDIA's chips have and the dialect has not: their reciprocal, and votes of a warp.  Their
 * OpenCL takes the same assembly. */
#if defined(__CUDACC__) || defined(__NV_CL_C_VERSION)
#define ZF_FAST_DIVISION 1
#define ZF_WARPS         (ZF_GROUP_MAX / 32u) /* of a group; 0 where warps cannot vote */
#else
#ifndef ZF_FAST_DIVISION /* the test of the division sets it */
#define ZF_FAST_DIVISION 0
#endif
#define ZF_WARPS 0
#endif

/* 1 / d of points that are not wild, rounded as IEEE wants it; of 0 it is not a number.  The chip's
 * own reciprocal is off by a part in 2^23; one step of Newton's rounds it right (tried for all). */
TRG_FN float zf_inverse(float d)
{
#if ZF_WARPS
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

/* Counts the pair of point p with q, which comes after it, if it is one.  Tags tell which are near
 * in phi and on different layers. */
TRG_FN void zf_pair(TRG_LOCAL trg_u32 *hist, const struct zf_point p, const struct zf_point q,
                    float z_max, float quanta, trg_u32 wild)
{
    const trg_u32 stop = (p.tag & ~255u) + 512u; /* tags of the slice after the next */
    const float n = q.z * p.rho - p.z * q.rho, d = p.rho - q.rho;
    const float z0 = wild ? n / d : zf_divide(n, d, zf_inverse(d));
    const trg_u32 t = (trg_u32)((z0 + z_max) * quanta);

    if (((q.tag ^ p.tag) & 255u) && q.tag < stop && trg_fabs(z0) < z_max)
        zf_count(hist, t, 1u);
}

/* The pairs among the four points from a on. */
TRG_FN void zf_among_(TRG_LOCAL trg_u32 *hist, const struct zf_view v, float z_max, float quanta,
                      trg_u32 most, trg_u32 a, trg_u32 wild)
{
    struct zf_point p[ZF_BITE];

    for (trg_u32 i = 0; i < ZF_BITE; i++)
        p[i] = zf_clip(zf_point(zf_from(v, a), i), most);
    for (trg_u32 i = 0; i < ZF_BITE; i++)
        for (trg_u32 k = i + 1u; k < ZF_BITE; k++)
            zf_pair(hist, p[i], p[k], z_max, quanta, wild);
}

/* The same four against four that come after them, `step` from each other, so that neighbouring
 * work-items read neighbouring points. */
TRG_FN void zf_bite_(TRG_LOCAL trg_u32 *hist, const struct zf_view v, float z_max, float quanta,
                     trg_u32 most, trg_u32 a, trg_u32 o, trg_u32 step, trg_u32 wild)
{
    struct zf_point p[ZF_BITE], q[ZF_BITE];

    for (trg_u32 i = 0; i < ZF_BITE; i++)
        p[i] = zf_clip(zf_point(zf_from(v, a), i), most);
    for (trg_u32 k = 0; k < ZF_BITE; k++)
        q[k] = zf_clip(zf_point(v, o + k * step), most);
    for (trg_u32 k = 0; k < ZF_BITE; k++)
        for (trg_u32 i = 0; i < ZF_BITE; i++)
            zf_pair(hist, p[i], q[k], z_max, quanta, wild);
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

TRG_FN void zf_among(TRG_LOCAL trg_u32 *hist, const struct zf_view v, float z_max, float quanta,
                     trg_u32 most, trg_u32 a, trg_u32 wild)
{
    ZF_EITHER(wild, zf_among_(hist, v, z_max, quanta, most, a, 1u),
              zf_among_(hist, v, z_max, quanta, most, a, 0u));
    (void)wild;
}

TRG_FN void zf_bite(TRG_LOCAL trg_u32 *hist, const struct zf_view v, float z_max, float quanta,
                    trg_u32 most, trg_u32 a, trg_u32 o, trg_u32 step, trg_u32 wild)
{
    ZF_EITHER(wild, zf_bite_(hist, v, z_max, quanta, most, a, o, step, 1u),
              zf_bite_(hist, v, z_max, quanta, most, a, o, step, 0u));
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

#if defined(__CUDACC__)
#define zf_warp_vote(x)     __ballot_sync(0xffffffffu, (x))
#define zf_warp_at(x, lane) __shfl_sync(0xffffffffu, (x), (lane))
#define zf_warp_sync()      __syncwarp(0xffffffffu)
#elif ZF_WARPS
TRG_FN trg_u32 zf_warp_vote(trg_u32 x)
{
    trg_u32 votes;

    __asm__ volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t"
                     "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}"
                     : "=r"(votes)
                     : "r"(x));
    return votes;
}

TRG_FN trg_u32 zf_warp_at(trg_u32 x, trg_u32 lane)
{
    trg_u32 there;

    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
                     : "=r"(there)
                     : "r"(x), "r"(lane));
    return there;
}

#define zf_warp_sync() __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory")
#endif
#define ZF_ROOM 80u /* points around one that a half of a warp lists */

#if ZF_WARPS
TRG_FN trg_u32 zf_rank(trg_u32 votes, trg_u32 lane)
{
    return trg_popcount(votes & ((1u << lane) - 1u));
}

/* Whether there are layers on both sides of this one. */
TRG_FN trg_u32 zf_in_between(trg_u32 layers, trg_u32 layer)
{
    return (layers & ((1u << layer) - 1u)) && layers >> layer > 1u;
}

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

/* Holds the n_in inner points of a list against its n_out outer ones: the lanes of the warp lie in
 * rows, with an inner point for each lane of a row and outer points by turns for the rows. */
TRG_FN void zf_warp_join(TRG_LOCAL trg_u32 *bins, const struct zf_roi roi, const struct zf_par *par,
                         TRG_LOCAL const zf_packed *terms, trg_u32 n_in, trg_u32 n_out,
                         trg_u32 lane)
{
    const trg_u32 first_only = par->triplet_mode == 1u;
    const trg_u32 shift = first_only || n_in > 16u ? 5u : 32u - trg_clz(n_in - 1u);
    const trg_u32 rows = 32u >> shift, row = lane >> shift;
    TRG_LOCAL const zf_packed *out = terms + ZF_ROOM - 1u - n_out; /* numbered from 1 */
    const float dz = par->triplet_dz, dk = par->triplet_dk, dphi = par->triplet_dphi;

    for (trg_u32 j = lane & ((1u << shift) - 1u); j < n_in; j += 1u << shift) {
        const zf_packed i = terms[j];
        const float z0 = trg_as_f32(i.x), k0 = trg_as_f32(i.y), p0 = trg_as_f32(i.z);
        const float away = trg_as_f32(i.w);
        trg_u32 agree = 0u;

#pragma unroll 2
        for (trg_i32 t = (trg_i32)(n_out - row); t > 0; t -= (trg_i32)rows) {
            const zf_packed q = out[t];
            const float z = trg_as_f32(q.x), k = trg_as_f32(q.y), p = trg_as_f32(q.z);

            agree += (trg_u32)(trg_fabs(z - z0) <= dz && trg_fabs(k - k0) <= dk &&
                               trg_fabs(away + p - p0) < dphi);
        }
        if (agree)
            zf_count(bins, zf_place(roi, par->z_max, z0), first_only ? 1u : agree);
    }
}

/* Lists what there is around a middle point, which is the work of half a warp: the points of
 * `near`, 16 at a time, up to the larger number of both halves, `most`.  Inner ones go to `terms`
 * from its first place on, outer ones from its last place down. */
TRG_FN void zf_half_list(const struct zf_view v, const struct zf_par *par, trg_u32 last,
                         trg_u32 wild, const struct zf_point middle, const struct zf_run near,
                         trg_u32 most, TRG_LOCAL zf_packed *terms, trg_u32 lane, trg_u32 *ret_in,
                         trg_u32 *ret_out)
{
    const trg_u32 layer_o = middle.tag & 255u, limit = layer_o <= last ? layer_o : last + 1u;
    const trg_u32 mine = 0xffffu << (lane & 16u), before = mine & ((1u << lane) - 1u);
    const float z_max = par->z_max, far = zf_far(z_max, par->triplet_dz);
    trg_u32 n_in = 0u, n_out = 0u;

    for (trg_u32 c = lane & 15u; c < most; c += 16u) {
        const struct zf_point p = zf_point(v, near.from + c); /* or one behind it: c < near.n */
        const trg_u32 layer = p.tag & 255u, there = c < near.n;
        const struct zf_other x =
            wild ? zf_other(p, middle, z_max, far, last) : zf_other_tame(p, middle);
        const trg_u32 is_in = there & (trg_u32)(layer < limit) & (trg_u32)(trg_fabs(x.z) < z_max);
        const trg_u32 is_out = there & (trg_u32)(layer > layer_o) & (trg_u32)(trg_fabs(x.z) <= far);
        const trg_u32 ins = zf_warp_vote(is_in) & mine, outs = zf_warp_vote(is_out) & mine;
        const trg_u32 rank = trg_popcount((is_in ? ins : outs) & before);

        if (is_in | is_out) {
            zf_packed y;

            y.x = trg_as_u32(x.z);
            y.y = trg_as_u32(x.k);
            y.z = trg_as_u32(x.p);
            y.w = trg_as_u32(x.dphi);
            terms[is_in ? n_in + rank : ZF_ROOM - 1u - n_out - rank] = y;
        }
        n_in += trg_popcount(ins);
        n_out += trg_popcount(outs);
    }
    *ret_in = n_in;
    *ret_out = n_out;
}

/* Triplets around the points todo[0] and todo[1] (if n_todo is 1, only the first).  `terms` has
 * ZF_ROOM places for each. */
TRG_FN void zf_two_middles(TRG_LOCAL trg_u32 *bins, const struct zf_view v, const struct zf_roi roi,
                           const struct zf_par *par, trg_u32 last, trg_u32 wild,
                           TRG_LOCAL const trg_u32 *todo, trg_u32 n_todo,
                           TRG_LOCAL zf_packed *terms, trg_u32 lane)
{
    const trg_u32 which = lane >> 4;
    const struct zf_point middle = zf_point(v, todo[n_todo > 1u ? which : 0u]);
    struct zf_run near = zf_run(v, roi, middle.tag >> 8);
    trg_u32 other, most, n_in, n_out;

    near.n = which < n_todo ? near.n : 0u;
    other = zf_warp_at(near.n, lane ^ 16u);
    most = ((near.n > other ? near.n : other) + 15u) & ~15u;
    if (most > ZF_ROOM) {
        for (trg_u32 h = 0; h < 2u && h < n_todo; h++) {
            const struct zf_run all = zf_run(v, roi, zf_tag(v, todo[h]) >> 8);

            ZF_PLAIN_TRIPLETS(bins, v, roi, *par, last, todo[h], all.from + lane, all.from + all.n,
                              32u);
        }
        return;
    }
    zf_half_list(v, par, last, wild, middle, near, most, terms + which * ZF_ROOM, lane, &n_in,
                 &n_out);
    zf_warp_sync();
    for (trg_u32 h = 0; h < 2u; h++) {
        const trg_u32 ins = zf_warp_at(n_in, h << 4), outs = zf_warp_at(n_out, h << 4);

        if (ins && outs)
            zf_warp_join(bins, roi, par, terms + h * ZF_ROOM, ins, outs, lane);
    }
    zf_warp_sync();
}
#endif
#endif
