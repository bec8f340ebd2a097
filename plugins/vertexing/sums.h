/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - the sums of a fit on the host, sixteen tracks at a time so that compilers vectorize
 * them. The same expressions as VX_ADD, so the same integers; nothing has to be cut off, because
 * the variance is at least 1e-6 mm^2 and Tukey's constant at most VX_TUKEY_MAX.  Host builds only.
 */
#ifndef VX_SUMS_H
#define VX_SUMS_H
#include "geometry.h"

#define VX_LANES 16u
#define VX_KNOWN (VX_VT + 1) /* columns that a fit reads */

struct vx_bounds {
    float low, high; /* of z */
    float var_z;     /* of the point that misses are counted from */
};

/* Adds the first n of 16 tracks, those with low <= z < high, to `sum`; columns are `room` apart. */
static inline void vx_add_lanes(const float *t, trg_u32 room, trg_u32 n, struct vx_bounds in,
                                struct vx_vertex v, float inv_c2, trg_i64 (*restrict sum)[VX_LANES])
{
    trg_i32 q[VX_SUMS][VX_LANES];

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const struct vx_line l = vx_load(t, room, k);
        const struct vx_miss m = vx_from_about(l, v.x, v.y, v.z, in.var_z);
        const float tukey = 1.0f - m.chi2 * inv_c2;
        const trg_i32 counts = (k < n ? 1 : 0) & (l.z >= in.low ? 1 : 0) & (l.z < in.high ? 1 : 0) &
                               (tukey > 0.0f ? 1 : 0);
        const float w = counts ? tukey * tukey : 0.0f, f = w / m.var;

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
    for (trg_u32 j = 0u; j < VX_SUMS; j++)
        for (trg_u32 k = 0u; k < VX_LANES; k++)
            sum[j][k] += q[j][k];
}

/* Adds the tracks from <= i < to within the bounds to `own`. */
static inline void vx_host_sums(const float *t, trg_u32 room, trg_u32 from, trg_u32 to,
                                struct vx_bounds in, struct vx_vertex v, float inv_c2, trg_i64 *own)
{
    trg_i64 sum[VX_SUMS][VX_LANES] = {{0}};
    trg_u32 i = from;

    for (; i + VX_LANES <= to; i += VX_LANES)
        vx_add_lanes(t + i, room, VX_LANES, in, v, inv_c2, sum);
    if (i < to) {
        float rest[VX_KNOWN * VX_LANES]; /* filled up with copies, which do not count */

        for (trg_u32 c = 0u; c < VX_KNOWN; c++)
            for (trg_u32 k = 0u; k < VX_LANES; k++)
                rest[c * VX_LANES + k] = t[c * room + (i + k < to ? i + k : i)];
        vx_add_lanes(rest, VX_LANES, to - i, in, v, inv_c2, sum);
    }
    for (trg_u32 j = 0u; j < VX_SUMS; j++)
        for (trg_u32 k = 0u; k < VX_LANES; k++)
            own[j] += sum[j][k];
}
#endif
