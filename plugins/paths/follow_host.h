/* SPDX-License-Identifier: Apache-2.0 */
/* follow_host.h - candidates of one doublet on a core with vectors.  With the default criteria
 * sixteen are tried at once, alignment first, which few pass; the same operations in the same order
 * as in links.h.  Part of follow.h. */
#ifndef PATHS_FOLLOW_HOST_H
#define PATHS_FOLLOW_HOST_H
#if defined(__AVX512F__)
#include <immintrin.h>

struct pa_columns { /* of the outer hits of sorted doublets */
    const float *x, *y, *z, *r;
};

/* pa_is_aligned for the doublets of `in`, from d on. */
static inline __mmask16 pa_aligned_vector(const struct pa_line *s, const struct pa_columns *c,
                                          trg_u32 d, __mmask16 in)
{
    const __m512 z3 = _mm512_maskz_loadu_ps(in, c->z + d);
    const __m512 r3 = _mm512_maskz_loadu_ps(in, c->r + d);
    const __m512 z1 = _mm512_set1_ps(s->z1), r1 = _mm512_set1_ps(s->r1);
    const __m512 dr = r1 - r3, dz = z1 - z3;
    const __m512 area = z1 * (_mm512_set1_ps(s->r2) - r3) + _mm512_set1_ps(s->z2) * (r3 - r1) +
                        z3 * _mm512_set1_ps(s->r1 - s->r2);
    const __m512 most =
        _mm512_set1_ps(s->theta_cut * s->theta_cut) * (dr * dr + dz * dz) * (dr * dr);

    return _mm512_mask_cmp_ps_mask(in, area * area, most, _CMP_LE_OQ);
}

/* pa_fits_circle with both cuts. */
static inline __mmask16 pa_circles_vector(const struct pa_side *s, float min_radius,
                                          const struct pa_columns *c, trg_u32 d, __mmask16 in)
{
    const __m512 x2 = _mm512_set1_ps(s->x2), y2 = _mm512_set1_ps(s->y2);
    const __m512 bx = _mm512_maskz_loadu_ps(in, c->x + d) - x2;
    const __m512 by = _mm512_maskz_loadu_ps(in, c->y + d) - y2;
    const float ax = s->x1 - s->x2, ay = s->y1 - s->y2;
    const __m512 vax = _mm512_set1_ps(ax), vay = _mm512_set1_ps(ay);
    const __m512 a2 = _mm512_set1_ps(ax * ax + ay * ay), b2 = bx * bx + by * by;
    const __m512 det = vax * by - vay * bx, size = _mm512_abs_ps(det);
    const __m512 nx = a2 * by - b2 * vay, ny = b2 * vax - a2 * bx;
    const __m512 n2 = nx * nx + ny * ny;
    const __m512 least = _mm512_set1_ps(2.0f) * size * _mm512_set1_ps(min_radius);
    const __m512 tolerance2 = _mm512_set1_ps(s->tolerance * s->tolerance);
    const __m512 o2 = _mm512_set1_ps(s->x2 * s->x2 + s->y2 * s->y2 - s->tolerance * s->tolerance);
    const __m512 no = nx * x2 + ny * y2;
    const __mmask16 minus = _mm512_cmp_ps_mask(det, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 power = o2 * size + _mm512_mask_sub_ps(no, minus, _mm512_setzero_ps(), no);

    in = _mm512_mask_cmp_ps_mask(in, n2, least * least, _CMP_GE_OQ);
    return _mm512_mask_cmp_ps_mask(in, power * power, tolerance2 * n2, _CMP_LE_OQ);
}

/* pa_try for the default criteria. */
static inline trg_u32 pa_try_defaults(const trg_u32 *work, const struct pa_par *par,
                                      const struct pa_side *s, trg_u32 first, trg_u32 n)
{
    const struct pa_columns c = {PA_CF32(work, par->at.outer_x), PA_CF32(work, par->at.outer_y),
                                 PA_CF32(work, par->at.outer_z), PA_CF32(work, par->at.outer_r)};
    const __mmask16 in =
        pa_aligned_vector(&s->line, &c, first, (__mmask16)(0xffffu >> (PA_CHUNK - n)));

    return in ? pa_circles_vector(s, par->min_radius, &c, first, in) : 0u;
}
#else
/* The same in loops without branches for the compiler's vectors; what lies beyond n is tried, and
 * dropped. */
static inline trg_u32 pa_try_defaults(const trg_u32 *work, const struct pa_par *par,
                                      const struct pa_side *s, trg_u32 first, trg_u32 n)
{
    const float *TRG_RESTRICT x = PA_CF32(work, par->at.outer_x) + first;
    const float *TRG_RESTRICT y = PA_CF32(work, par->at.outer_y) + first;
    const float *TRG_RESTRICT z = PA_CF32(work, par->at.outer_z) + first;
    const float *TRG_RESTRICT r = PA_CF32(work, par->at.outer_r) + first;
    trg_u32 ok[PA_CHUNK], any = 0u, found = 0u;

    for (trg_u32 k = 0; k < PA_CHUNK; k++) {
        ok[k] = pa_is_aligned(s->line, z[k], r[k]) & (trg_u32)(k < n);
        any |= ok[k];
    }
    if (!any)
        return 0u;
    for (trg_u32 k = 0; k < PA_CHUNK; k++)
        ok[k] &= pa_fits_circle(*s, par->min_radius, x[k], y[k], 0u, 0u);
    for (trg_u32 k = 0; k < PA_CHUNK; k++)
        found |= ok[k] << k;
    return found;
}
#endif

/* As in follow.h. */
static inline trg_u32 pa_try(const trg_u32 *work, const struct pa_par *par, const struct pa_side *s,
                             trg_u32 first, trg_u32 n)
{
    trg_u32 found = 0u;

    if (par->align == PA_ALIGN_CMS && par->curvature == PA_CURVE_PT && par->beam_spot)
        return pa_try_defaults(work, par, s, first, n);
    for (trg_u32 k = 0; k < n; k++)
        if (pa_is_in_line(work, par, s->line, first + k) && pa_links_to(work, par, *s, first + k))
            found |= 1u << k;
    return found;
}
#endif
