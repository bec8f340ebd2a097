/* SPDX-License-Identifier: Apache-2.0 */
/* sums_host.h - vx_host_sums on a core with AVX-512: the same expressions as vx_add_lanes, with the
 * sums in registers. */
#ifndef VX_SUMS_HOST_H
#define VX_SUMS_HOST_H
#include <immintrin.h>

#include "fit.h"

struct vx_line16 {
    __m512 x, y, z, ux, uy, uz, v, c, vt;
};

static inline __m512 vx_load16(const float *t, trg_u32 room, trg_u32 column, __mmask16 lanes)
{
    return _mm512_maskz_loadu_ps(lanes, t + column * room);
}

static inline struct vx_line16 vx_line_at16(const float *t, trg_u32 room, __mmask16 lanes)
{
    return (struct vx_line16){.x = vx_load16(t, room, VX_X, lanes),
                              .y = vx_load16(t, room, VX_Y, lanes),
                              .z = vx_load16(t, room, VX_Z, lanes),
                              .ux = vx_load16(t, room, VX_UX, lanes),
                              .uy = vx_load16(t, room, VX_UY, lanes),
                              .uz = vx_load16(t, room, VX_UZ, lanes),
                              .v = vx_load16(t, room, VX_V, lanes),
                              .c = vx_load16(t, room, VX_C, lanes),
                              .vt = vx_load16(t, room, VX_VT, lanes)};
}

static inline __m512 vx_dot16(__m512 ax, __m512 ay, __m512 az, __m512 bx, __m512 by, __m512 bz)
{
    return _mm512_add_ps(_mm512_add_ps(_mm512_mul_ps(ax, bx), _mm512_mul_ps(ay, by)),
                         _mm512_mul_ps(az, bz));
}

/* vx_variance */
static inline __m512 vx_variance16(const struct vx_line16 *l, __m512 dz)
{
    const __m512 two = _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(2.0f), dz), l->c);
    const __m512 v =
        _mm512_add_ps(_mm512_add_ps(l->v, two), _mm512_mul_ps(_mm512_mul_ps(dz, dz), l->vt));

    return _mm512_max_ps(v, _mm512_set1_ps(1e-6f));
}

struct vx_miss16 {
    __m512 x, y, z, inv_var, chi2;
};

/* vx_from_about */
static inline struct vx_miss16 vx_from_about16(const struct vx_line16 *l, struct vx_vertex v,
                                               float var_z)
{
    const __m512 dx = _mm512_sub_ps(l->x, _mm512_set1_ps(v.x));
    const __m512 dy = _mm512_sub_ps(l->y, _mm512_set1_ps(v.y));
    const __m512 dz = _mm512_sub_ps(l->z, _mm512_set1_ps(v.z));
    const __m512 along = vx_dot16(dx, dy, dz, l->ux, l->uy, l->uz);
    const __m512 back = _mm512_mul_ps(_mm512_sub_ps(_mm512_setzero_ps(), along), l->uz);
    const __m512 across = _mm512_add_ps(_mm512_mul_ps(l->ux, l->ux), _mm512_mul_ps(l->uy, l->uy));
    const __m512 var =
        _mm512_add_ps(vx_variance16(l, back), _mm512_mul_ps(_mm512_set1_ps(var_z), across));
    struct vx_miss16 m;

    m.x = _mm512_sub_ps(dx, _mm512_mul_ps(along, l->ux));
    m.y = _mm512_sub_ps(dy, _mm512_mul_ps(along, l->uy));
    m.z = _mm512_sub_ps(dz, _mm512_mul_ps(along, l->uz));
    m.inv_var = _mm512_div_ps(_mm512_set1_ps(1.0f), var);
    m.chi2 = _mm512_mul_ps(vx_dot16(m.x, m.y, m.z, m.x, m.y, m.z), m.inv_var);
    return m;
}

/* Adds sixteen numbers in units of 1 / scale: two fit in 31 bits. */
static inline __m512i vx_add16(__m512i sum, __m512 x, float scale)
{
    const __m512i q = _mm512_cvttps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(scale)));
    const __m256i two =
        _mm256_add_epi32(_mm512_castsi512_si256(q), _mm512_extracti64x4_epi64(q, 1));

    return _mm512_add_epi64(sum, _mm512_cvtepi32_epi64(two));
}

/* Adds the tracks in `lanes` within the bounds to `sum`, and returns how many count. */
static inline trg_u32 vx_add_lanes16(const float *t, trg_u32 room, __mmask16 lanes,
                                     struct vx_bounds in, struct vx_vertex v, float inv_c2,
                                     __m512i sum[VX_S_N])
{
    const struct vx_line16 l = vx_line_at16(t, room, lanes);
    const struct vx_miss16 m = vx_from_about16(&l, v, in.var_z);
    const __m512 tukey =
        _mm512_sub_ps(_mm512_set1_ps(1.0f), _mm512_mul_ps(m.chi2, _mm512_set1_ps(inv_c2)));
    const __mmask16 above = _mm512_mask_cmp_ps_mask(lanes, l.z, _mm512_set1_ps(in.low), _CMP_GE_OQ);
    const __mmask16 inside =
        _mm512_mask_cmp_ps_mask(above, l.z, _mm512_set1_ps(in.high), _CMP_LT_OQ);
    const __mmask16 counts =
        _mm512_mask_cmp_ps_mask(inside, tukey, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __m512 w = _mm512_maskz_mul_ps(counts, tukey, tukey), f = _mm512_mul_ps(w, m.inv_var);
    const __m512 fx = _mm512_mul_ps(f, l.ux), fy = _mm512_mul_ps(f, l.uy);

    sum[VX_S_W] = vx_add16(sum[VX_S_W], f, 1024.0f);
    sum[VX_S_XX] = vx_add16(sum[VX_S_XX], _mm512_mul_ps(fx, l.ux), 1024.0f);
    sum[VX_S_YY] = vx_add16(sum[VX_S_YY], _mm512_mul_ps(fy, l.uy), 1024.0f);
    sum[VX_S_XY] = vx_add16(sum[VX_S_XY], _mm512_mul_ps(fx, l.uy), 1024.0f);
    sum[VX_S_XZ] = vx_add16(sum[VX_S_XZ], _mm512_mul_ps(fx, l.uz), 1024.0f);
    sum[VX_S_YZ] = vx_add16(sum[VX_S_YZ], _mm512_mul_ps(fy, l.uz), 1024.0f);
    sum[VX_S_GX] = vx_add16(sum[VX_S_GX], _mm512_mul_ps(f, m.x), 65536.0f);
    sum[VX_S_GY] = vx_add16(sum[VX_S_GY], _mm512_mul_ps(f, m.y), 65536.0f);
    sum[VX_S_GZ] = vx_add16(sum[VX_S_GZ], _mm512_mul_ps(f, m.z), 65536.0f);
    sum[VX_S_CHI2] = vx_add16(sum[VX_S_CHI2], _mm512_mul_ps(m.chi2, w), 65536.0f);
    sum[VX_S_WEIGHT] = vx_add16(sum[VX_S_WEIGHT], w, 65536.0f);
    return (trg_u32)__builtin_popcount(counts);
}

/* Adds the tracks from <= i < to within the bounds to `own`. */
static inline void vx_host_sums(const float *t, trg_u32 room, trg_u32 from, trg_u32 to,
                                struct vx_bounds in, struct vx_vertex v, float inv_c2, trg_i64 *own)
{
    __m512i sum[VX_S_N];

    for (trg_u32 j = 0u; j < VX_S_N; j++)
        sum[j] = _mm512_setzero_si512();
    for (trg_u32 i = from; i < to; i += 16u)
        own[VX_S_N] +=
            vx_add_lanes16(t + i, room, (__mmask16)(to - i < 16u ? (1u << (to - i)) - 1u : 0xffffu),
                           in, v, inv_c2, sum);
    for (trg_u32 j = 0u; j < VX_S_N; j++)
        own[j] += _mm512_reduce_add_epi64(sum[j]);
}
#endif
