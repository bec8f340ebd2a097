/* SPDX-License-Identifier: Apache-2.0 */
/* links_host.h - links of one doublet on a core with vectors of sixteen numbers: the default
 * criteria, the same operations in the same order as in links.h, whose answers are bits of a mask.
 */
#ifndef PATHS_LINKS_HOST_H
#define PATHS_LINKS_HOST_H
#include <immintrin.h>

#include "graph.h"

#define PA_VECTOR 16u

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

/* As pa_link, for the default criteria. */
static inline trg_u32 pa_link_vector(trg_u32 *work, const struct pa_par *par,
                                     const struct pa_side *s, const struct pa_next next,
                                     trg_u32 base, trg_u32 at, trg_u32 most, trg_u64 *wanted)
{
    const struct pa_columns c = {PA_CF32(work, par->at.outer_x), PA_CF32(work, par->at.outer_y),
                                 PA_CF32(work, par->at.outer_z), PA_CF32(work, par->at.outer_r)};
    trg_u32 *links = PA_U32(work, par->at.links) + base;

    for (trg_u32 d = next.first; d < next.end; d += PA_VECTOR) {
        const trg_u32 n = next.end - d < PA_VECTOR ? next.end - d : PA_VECTOR;
        trg_u32 in = pa_aligned_vector(&s->line, &c, d, (__mmask16)(0xffffu >> (PA_VECTOR - n)));

        if (in)
            in = pa_circles_vector(s, par->min_radius, &c, d, (__mmask16)in);
        *wanted += trg_popcount(in);
        for (; in && at < most; in &= in - 1u) {
            const trg_u32 e = d + (trg_u32)__builtin_ctz(in);

            links[at++] = e;
            if (par->longest)
                PA_U32(work, par->at.has_in)[e] = 1u;
        }
    }
    return at;
}
#endif
