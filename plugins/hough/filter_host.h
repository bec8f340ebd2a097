/* SPDX-License-Identifier: Apache-2.0 */
/* filter_host.h - sixteen tracks at once on a core with AVX-512: hg_filter and hg_put_track, by the
 * same arithmetic.  Lanes that have no further hit wait. */
#ifndef HOUGH_FILTER_HOST_H
#define HOUGH_FILTER_HOST_H
#include <immintrin.h>

#include "write.h"

#define HG_LANES 16u

struct hg_state16 {
    __m512 x, y, z, tx, ty, xx, xt, tt, chi2;
};

struct hg_hits16 { /* the tracks' hits, in the order of the filter */
    const struct hg_input *in;
    const int *words;     /* the tracks */
    __m512i first, step;  /* of each track: where its first hit is in words; 1, or -1 backwards */
    __mmask16 has_tracks; /* lanes */
};

static inline __m512 hg_add_product16(__m512 a, __m512 b, __m512 c)
{
    return _mm512_add_ps(a, _mm512_mul_ps(b, c));
}

static inline void hg_hit16(const struct hg_hits16 *h, trg_u32 k, __mmask16 lanes, __m512 *x,
                            __m512 *y, __m512 *z)
{
    const __m512 zero = _mm512_setzero_ps();
    const __m512i at =
        _mm512_add_epi32(h->first, _mm512_mullo_epi32(h->step, _mm512_set1_epi32((int)k)));
    const __m512i hit = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, at, h->words, 4);

    *x = _mm512_mask_i32gather_ps(zero, lanes, hit, h->in->x, 4);
    *y = _mm512_mask_i32gather_ps(zero, lanes, hit, h->in->y, 4);
    *z = _mm512_mask_i32gather_ps(zero, lanes, hit, h->in->z, 4);
}

static inline void hg_scatter16(struct hg_state16 *s, const struct hg_par *par)
{
    const __m512 slope2 = _mm512_add_ps(_mm512_mul_ps(s->tx, s->tx), _mm512_mul_ps(s->ty, s->ty));

    s->tt = _mm512_add_ps(
        s->tt, hg_add_product16(_mm512_set1_ps(par->scatter * par->scatter),
                                _mm512_set1_ps(par->scatter_slope * par->scatter_slope), slope2));
}

static inline void hg_move16(struct hg_state16 *s, __m512 z)
{
    const __m512 dz = _mm512_sub_ps(z, s->z);
    const __m512 two = _mm512_mul_ps(_mm512_set1_ps(2.0f), s->xt);

    s->x = hg_add_product16(s->x, s->tx, dz);
    s->y = hg_add_product16(s->y, s->ty, dz);
    s->z = z;
    s->xx = hg_add_product16(s->xx, dz, hg_add_product16(two, dz, s->tt));
    s->xt = hg_add_product16(s->xt, dz, s->tt);
}

static inline void hg_update16(struct hg_state16 *s, __m512 x, __m512 y, __m512 var)
{
    const __m512 inv = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_add_ps(s->xx, var));
    const __m512 dx = _mm512_sub_ps(x, s->x), dy = _mm512_sub_ps(y, s->y);
    const __m512 kx = _mm512_mul_ps(s->xx, inv), kt = _mm512_mul_ps(s->xt, inv);
    const __m512 off = _mm512_add_ps(_mm512_mul_ps(dx, dx), _mm512_mul_ps(dy, dy));

    s->x = hg_add_product16(s->x, kx, dx);
    s->y = hg_add_product16(s->y, kx, dy);
    s->tx = hg_add_product16(s->tx, kt, dx);
    s->ty = hg_add_product16(s->ty, kt, dy);
    s->chi2 = hg_add_product16(s->chi2, off, inv);
    s->tt = _mm512_sub_ps(s->tt, _mm512_mul_ps(kt, s->xt));
    s->xt = _mm512_mul_ps(_mm512_mul_ps(s->xt, var), inv);
    s->xx = _mm512_mul_ps(_mm512_mul_ps(s->xx, var), inv);
}

/* b where the mask is set. */
static inline void hg_choose16(struct hg_state16 *a, __mmask16 m, const struct hg_state16 *b)
{
    a->x = _mm512_mask_mov_ps(a->x, m, b->x);
    a->y = _mm512_mask_mov_ps(a->y, m, b->y);
    a->z = _mm512_mask_mov_ps(a->z, m, b->z);
    a->tx = _mm512_mask_mov_ps(a->tx, m, b->tx);
    a->ty = _mm512_mask_mov_ps(a->ty, m, b->ty);
    a->xx = _mm512_mask_mov_ps(a->xx, m, b->xx);
    a->xt = _mm512_mask_mov_ps(a->xt, m, b->xt);
    a->tt = _mm512_mask_mov_ps(a->tt, m, b->tt);
    a->chi2 = _mm512_mask_mov_ps(a->chi2, m, b->chi2);
}

static inline void hg_to_beam16(struct hg_state16 *s, const struct hg_par *par)
{
    const __m512 t2 = _mm512_add_ps(_mm512_mul_ps(s->tx, s->tx), _mm512_mul_ps(s->ty, s->ty));
    const __m512 x = _mm512_sub_ps(s->x, _mm512_set1_ps(par->beam_x));
    const __m512 y = _mm512_sub_ps(s->y, _mm512_set1_ps(par->beam_y));
    const __m512 along = _mm512_add_ps(_mm512_mul_ps(x, s->tx), _mm512_mul_ps(y, s->ty));
    struct hg_state16 moved = *s;

    hg_move16(&moved, _mm512_sub_ps(s->z, _mm512_div_ps(along, t2)));
    hg_choose16(s, _mm512_cmp_ps_mask(t2, _mm512_set1_ps(1e-8f), _CMP_GT_OQ), &moved);
}

/* The filter begins at the hit that is farther from the beam line. */
static inline void hg_turn16(struct hg_hits16 *h, const struct hg_par *par, __m512i last)
{
    const __m512 beam_x = _mm512_set1_ps(par->beam_x), beam_y = _mm512_set1_ps(par->beam_y);
    struct hg_hits16 end = *h;
    __m512 ax, ay, bx, by, z;
    __mmask16 backward;

    end.first = last;
    hg_hit16(h, 0u, h->has_tracks, &ax, &ay, &z);
    hg_hit16(&end, 0u, h->has_tracks, &bx, &by, &z);
    ax = _mm512_sub_ps(ax, beam_x);
    ay = _mm512_sub_ps(ay, beam_y);
    bx = _mm512_sub_ps(bx, beam_x);
    by = _mm512_sub_ps(by, beam_y);
    backward =
        _mm512_cmp_ps_mask(_mm512_add_ps(_mm512_mul_ps(ax, ax), _mm512_mul_ps(ay, ay)),
                           _mm512_add_ps(_mm512_mul_ps(bx, bx), _mm512_mul_ps(by, by)), _CMP_GT_OQ);
    h->first = _mm512_mask_mov_epi32(last, backward, h->first);
    h->step = _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), backward, _mm512_set1_epi32(1));
}

static inline struct hg_state16 hg_filter16(const struct hg_hits16 *h, const struct hg_par *par,
                                            __m512i n)
{
    const __m512 var = _mm512_set1_ps(par->sigma_mm * par->sigma_mm);
    struct hg_state16 s;
    __m512 x, y, z, inv;

    hg_hit16(h, 0u, h->has_tracks, &x, &y, &z);
    hg_hit16(h, 1u, h->has_tracks, &s.x, &s.y, &s.z);
    inv = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sub_ps(s.z, z));
    s.tx = _mm512_mul_ps(_mm512_sub_ps(s.x, x), inv);
    s.ty = _mm512_mul_ps(_mm512_sub_ps(s.y, y), inv);
    s.xx = var;
    s.xt = _mm512_mul_ps(var, inv);
    s.tt = _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(2.0f), var), inv), inv);
    s.chi2 = _mm512_setzero_ps();
    for (trg_u32 k = 2u;; k++) {
        const __mmask16 lanes =
            _mm512_mask_cmp_epi32_mask(h->has_tracks, _mm512_set1_epi32((int)k), n, _MM_CMPINT_LT);
        struct hg_state16 next = s;

        if (!lanes)
            break;
        hg_hit16(h, k, lanes, &x, &y, &z);
        hg_scatter16(&next, par);
        hg_move16(&next, z);
        hg_update16(&next, x, y, var);
        hg_choose16(&s, lanes, &next);
    }
    hg_scatter16(&s, par);
    hg_to_beam16(&s, par);
    return s;
}

static inline void hg_store16(TRG_GLOBAL trg_u8 *out, const struct trg_span *span, trg_u32 c,
                              trg_u32 at, __mmask16 lanes, __m512 value)
{
    _mm512_mask_storeu_ps((float *)(void *)(out + span->column[c]) + at, lanes, value);
}

/* Fits up to sixteen tracks and writes them from place `at` on. */
static inline void hg_put_tracks16(const struct hg_products to, const struct hg_input *in,
                                   const struct hg_par *par, const struct hg_cand *tracks,
                                   const trg_u32 *which, trg_u32 n_tracks, trg_u32 at)
{
    const __mmask16 lanes = (__mmask16)(n_tracks < HG_LANES ? (1u << n_tracks) - 1u : 0xffffu);
    const __m512i begin =
        _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(lanes, which),
                           _mm512_set1_epi32((int)(sizeof(struct hg_cand) / sizeof(trg_u32))));
    struct hg_hits16 h = {.in = in,
                          .words = (const int *)(const void *)tracks,
                          .first = _mm512_add_epi32(begin, _mm512_set1_epi32(1)),
                          .step = _mm512_set1_epi32(1),
                          .has_tracks = lanes};
    const __m512i n = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, begin, h.words, 4);
    struct hg_state16 s;

    hg_turn16(&h, par, _mm512_add_epi32(begin, n));
    s = hg_filter16(&h, par, n);
    hg_store16(to.tracks, &par->tracks, 0u, at, lanes, s.x);
    hg_store16(to.tracks, &par->tracks, 1u, at, lanes, s.y);
    hg_store16(to.tracks, &par->tracks, 2u, at, lanes, s.z);
    hg_store16(to.tracks, &par->tracks, 3u, at, lanes, s.tx);
    hg_store16(to.tracks, &par->tracks, 4u, at, lanes, s.ty);
    hg_store16(to.tracks, &par->tracks, 5u, at, lanes, s.xx);
    hg_store16(to.tracks, &par->tracks, 6u, at, lanes, s.tt);
    hg_store16(to.tracks, &par->tracks, 7u, at, lanes, s.xt);
    hg_store16(to.tracks, &par->tracks, 8u, at, lanes, s.chi2);
    hg_store16(to.tracks, &par->tracks, 9u, at, lanes, _mm512_setzero_ps());
    hg_store16(to.tracks, &par->tracks, 10u, at, lanes, _mm512_castsi512_ps(n));
}
/* hg_put_doublets */
static inline void hg_put_doublets16(const struct hg_products to, const struct hg_input *in,
                                     const struct hg_par *par, const struct hg_cand *c, trg_u32 at)
{
    trg_u32 *inner = TRG_DOUBLETS_INNER_OUT(to.doublets, par->doublets) + at;
    trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(to.doublets, par->doublets) + at;
    const __m512i first = _mm512_set1_epi32((int)in->first);

    for (trg_u32 k = 0; k + 1u < c->n; k += HG_LANES) {
        const trg_u32 n = c->n - 1u - k;
        const __mmask16 lanes = (__mmask16)(n < HG_LANES ? (1u << n) - 1u : 0xffffu);

        _mm512_mask_storeu_epi32(
            inner + k, lanes, _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, c->hit + k), first));
        _mm512_mask_storeu_epi32(
            outer + k, lanes,
            _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, c->hit + k + 1), first));
    }
}
#endif
