/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - the sums of a fit on the host, sixteen tracks at a time so that compilers vectorize
 * them. The same expressions as VX_ADD, so the same integers; nothing has to be cut off, because
 * the variance is at least 1e-6 mm^2 and Tukey's constant at most VX_TUKEY_MAX.  A core with
 * AVX-512 has sums_host.h.  Host builds only.
 */
#ifndef VX_SUMS_H
#define VX_SUMS_H
#include "fit.h"

#define VX_LANES 16u
#define VX_HALF  8u

/* One of 16 tracks; columns are `room` apart.  Behind the last track there is something to read,
 * which may be anything: `there` 0 makes zeros of it, as bits, because compilers turn choices into
 * branches here and then do not vectorize. */
static inline struct vx_line vx_load_lane(const float *t, trg_u32 room, trg_u32 there, trg_u32 k)
{
    const trg_u32 mask = 0u - there;
    struct vx_line l = vx_load(t, room, k);

    l.x = trg_as_f32(trg_as_u32(l.x) & mask);
    l.y = trg_as_f32(trg_as_u32(l.y) & mask);
    l.z = trg_as_f32(trg_as_u32(l.z) & mask);
    l.ux = trg_as_f32(trg_as_u32(l.ux) & mask);
    l.uy = trg_as_f32(trg_as_u32(l.uy) & mask);
    l.uz = trg_as_f32(trg_as_u32(l.uz) & mask);
    l.v = trg_as_f32(trg_as_u32(l.v) & mask);
    l.c = trg_as_f32(trg_as_u32(l.c) & mask);
    l.vt = trg_as_f32(trg_as_u32(l.vt) & mask);
    return l;
}

#if defined(__AVX512F__)
#include "sums_host.h"
#else
/* Adds the first n of 16 tracks, those with low <= z < high, to `sum`. */
static inline void vx_add_lanes(const float *t, trg_u32 room, trg_u32 n, struct vx_bounds in,
                                struct vx_vertex v, float inv_c2, trg_i64 (*restrict sum)[VX_HALF])
{
    trg_i32 q[VX_SUMS][VX_LANES];

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const trg_i32 there = k < n ? 1 : 0;
        const struct vx_line l = vx_load_lane(t, room, (trg_u32)there, k);
        const struct vx_miss m = vx_from_about(l, v.x, v.y, v.z, in.var_z);
        const float tukey = 1.0f - m.chi2 * inv_c2;
        const trg_i32 counts =
            there & (l.z >= in.low ? 1 : 0) & (l.z < in.high ? 1 : 0) & (tukey > 0.0f ? 1 : 0);
        const float w = counts ? tukey * tukey : 0.0f, f = w * m.inv_var;

        q[VX_S_W][k] = (trg_i32)(f * 1024.0f);
        q[VX_S_XX][k] = (trg_i32)(f * l.ux * l.ux * 1024.0f);
        q[VX_S_YY][k] = (trg_i32)(f * l.uy * l.uy * 1024.0f);
        q[VX_S_XY][k] = (trg_i32)(f * l.ux * l.uy * 1024.0f);
        q[VX_S_XZ][k] = (trg_i32)(f * l.ux * l.uz * 1024.0f);
        q[VX_S_YZ][k] = (trg_i32)(f * l.uy * l.uz * 1024.0f);
        q[VX_S_GX][k] = (trg_i32)(f * m.x * 65536.0f);
        q[VX_S_GY][k] = (trg_i32)(f * m.y * 65536.0f);
        q[VX_S_GZ][k] = (trg_i32)(f * m.z * 65536.0f);
        q[VX_S_CHI2][k] = (trg_i32)(m.chi2 * w * 65536.0f);
        q[VX_S_WEIGHT][k] = (trg_i32)(w * 65536.0f);
        q[VX_S_N][k] = counts;
    }
    /* two fit in 31 bits: f is at most 1e6, and where a track misses by much its weight is small */
    for (trg_u32 j = 0u; j < VX_SUMS; j++)
        for (trg_u32 k = 0u; k < VX_HALF; k++)
            sum[j][k] += q[j][k] + q[j][k + VX_HALF];
}

/* Adds the tracks from <= i < to within the bounds to `own`. */
static inline void vx_host_sums(const float *t, trg_u32 room, trg_u32 from, trg_u32 to,
                                struct vx_bounds in, struct vx_vertex v, float inv_c2, trg_i64 *own)
{
    trg_i64 sum[VX_SUMS][VX_HALF] = {{0}};
    trg_u32 i = from;

    for (; i + VX_LANES <= to; i += VX_LANES)
        vx_add_lanes(t + i, room, VX_LANES, in, v, inv_c2, sum);
    if (i < to)
        vx_add_lanes(t + i, room, to - i, in, v, inv_c2, sum);
    for (trg_u32 j = 0u; j < VX_SUMS; j++)
        for (trg_u32 k = 0u; k < VX_HALF; k++)
            own[j] += sum[j][k];
}
#endif

/* How many of 16 tracks fit v, but not the vertex below, and not the one above. */
static inline void vx_own_lanes(const float *t, trg_u32 room, trg_u32 n, struct vx_bounds in,
                                const struct vx_vertex *v, float end2, float fits2, trg_u32 *own)
{
    trg_i32 below[VX_LANES], above[VX_LANES];
    trg_i32 n_below = 0, n_above = 0;

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const trg_i32 there = k < n ? 1 : 0;
        const struct vx_line l = vx_load_lane(t, room, (trg_u32)there, k);
        const trg_i32 fits = there & (l.z >= in.low ? 1 : 0) & (l.z < in.high ? 1 : 0) &
                             vx_fits(l, v[0].x, v[0].y, v[0].z, end2);

        below[k] = fits & (vx_fits(l, v[1].x, v[1].y, v[1].z, fits2) ^ 1);
        above[k] = fits & (vx_fits(l, v[2].x, v[2].y, v[2].z, fits2) ^ 1);
    }
    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        n_below += below[k];
        n_above += above[k];
    }
    own[0] += (trg_u32)n_below;
    own[1] += (trg_u32)n_above;
}

/* The same for n tracks; `v` holds the vertex, the one below and the one above. */
static inline void vx_host_own(const float *t, trg_u32 room, trg_u32 n, struct vx_bounds in,
                               const struct vx_vertex *v, float end2, float fits2, trg_u32 *own)
{
    trg_u32 i = 0u;

    for (; i + VX_LANES <= n; i += VX_LANES)
        vx_own_lanes(t + i, room, VX_LANES, in, v, end2, fits2, own);
    if (i < n)
        vx_own_lanes(t + i, room, n - i, in, v, end2, fits2, own);
}
#endif
