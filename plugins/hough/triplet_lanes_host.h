/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_lanes_host.h - sixteen lines of one kind on a core with AVX-512, a lane each: their
 * windows, and how far the hits there are from them, by the arithmetic of one.  Windows hold a few
 * hits, so lanes go through theirs together, a hit at a time. */
#ifndef HOUGH_TRIPLET_LANES_HOST_H
#define HOUGH_TRIPLET_LANES_HOST_H
#include <immintrin.h>

#include "triplet_search.h"

#define HT_LANES 16u

struct ht_hits16 {
    __m512 x, y, z;
};

struct ht_lines16 {
    __m512 x, y, z, tx, ty;
};

struct ht_windows16 { /* as struct ht_window */
    __m512i first, n_first, n;
    trg_u32 begin; /* of the station's hits: where windows go on past the end of the circle */
};

static inline __mmask16 ht_lanes(trg_u32 n)
{
    return (__mmask16)(n < HT_LANES ? (1u << n) - 1u : 0xffffu);
}

static inline __m512 ht_abs16(__m512 x)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
}

static inline __m512 ht_gather16(const float *column, __m512i at, __mmask16 lanes)
{
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, at, column, 4);
}

static inline __m512i ht_gather_words16(const trg_u32 *column, __m512i at, __mmask16 lanes)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, at, column, 4);
}

static inline __m512i ht_numbers16(trg_u32 from)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm512_add_epi32(_mm512_set1_epi32((int)from), lane);
}

/* The hits at those places; where they are one behind the other no words are gathered. */
static inline struct ht_hits16 ht_hits_at16(const struct ht_view *v, __m512i at, __mmask16 lanes)
{
    const trg_u32 first = (trg_u32)_mm_cvtsi128_si32(_mm512_castsi512_si128(at));

    if (lanes == _mm512_mask_cmpeq_epi32_mask(lanes, at, ht_numbers16(first)))
        return (struct ht_hits16){.x = _mm512_maskz_loadu_ps(lanes, v->x + first),
                                  .y = _mm512_maskz_loadu_ps(lanes, v->y + first),
                                  .z = _mm512_maskz_loadu_ps(lanes, v->z + first)};
    return (struct ht_hits16){.x = ht_gather16(v->x, at, lanes),
                              .y = ht_gather16(v->y, at, lanes),
                              .z = ht_gather16(v->z, at, lanes)};
}

/* hg_off2 */
static inline __m512 ht_off2_16(const struct ht_lines16 *l, const struct ht_hits16 *h)
{
    const __m512 d = _mm512_sub_ps(h->z, l->z);
    const __m512 dx = _mm512_sub_ps(h->x, _mm512_add_ps(l->x, _mm512_mul_ps(l->tx, d)));
    const __m512 dy = _mm512_sub_ps(h->y, _mm512_add_ps(l->y, _mm512_mul_ps(l->ty, d)));

    return _mm512_add_ps(_mm512_mul_ps(dx, dx), _mm512_mul_ps(dy, dy));
}

/* Which of the lanes have a hit on their line's side of the beam. */
static inline __mmask16 ht_same_side16(const struct ht_lines16 *l, const struct ht_hits16 *h,
                                       __mmask16 lanes)
{
    const __m512 dot = _mm512_add_ps(_mm512_mul_ps(h->x, l->x), _mm512_mul_ps(h->y, l->y));

    return _mm512_mask_cmp_ps_mask(lanes, dot, _mm512_setzero_ps(), _CMP_GT_OQ);
}

/* Where lines get by dz, and ht_drift there. */
static inline __m512 ht_move16(const struct ht_lines16 *l, __m512 dz, float depth, __m512 *ret_x,
                               __m512 *ret_y)
{
    const __m512 x = _mm512_add_ps(l->x, _mm512_mul_ps(l->tx, dz));
    const __m512 y = _mm512_add_ps(l->y, _mm512_mul_ps(l->ty, dz));
    const __m512 turn = ht_abs16(_mm512_sub_ps(_mm512_mul_ps(x, l->ty), _mm512_mul_ps(y, l->tx)));
    const __m512 sum = _mm512_add_ps(ht_abs16(x), ht_abs16(y));

    *ret_x = x;
    *ret_y = y;
    return _mm512_div_ps(_mm512_mul_ps(_mm512_set1_ps(depth), turn),
                         _mm512_max_ps(sum, _mm512_set1_ps(1.0f)));
}

/* ht_window_of */
static inline struct ht_windows16 ht_windows_of16(const struct ht_view *v, trg_u32 station,
                                                  __m512 x, __m512 y, __m512 reach, __mmask16 lanes)
{
    const trg_u32 *begin = v->begin + station * v->buckets;
    const __m512 one = _mm512_set1_ps(1.0f), four = _mm512_set1_ps(4.0f);
    const __m512 scale = _mm512_set1_ps(v->per_angle);
    const __m512i mask = _mm512_set1_epi32((int)v->buckets - 1);
    const __m512 inv = _mm512_div_ps(one, _mm512_add_ps(ht_abs16(x), ht_abs16(y)));
    const __m512 part = _mm512_mul_ps(y, inv), around = _mm512_mul_ps(reach, inv);
    const __m512 angle = _mm512_mask_sub_ps(
        part, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), _mm512_set1_ps(2.0f), part);
    const __m512i low = _mm512_cvttps_epu32(
        _mm512_mul_ps(_mm512_add_ps(_mm512_sub_ps(angle, around), four), scale));
    const __m512i high = _mm512_cvttps_epu32(
        _mm512_mul_ps(_mm512_add_ps(_mm512_add_ps(angle, around), four), scale));
    const __mmask16 narrow =
        _mm512_mask_cmp_epu32_mask(_mm512_mask_cmp_ps_mask(lanes, around, one, _CMP_LT_OQ),
                                   _mm512_sub_epi32(high, low), mask, _MM_CMPINT_LT);
    const __m512i from = _mm512_and_si512(low, mask), to = _mm512_and_si512(high, mask);
    const __mmask16 turns = _mm512_mask_cmp_epu32_mask(narrow, from, to, _MM_CMPINT_NLE);
    const __m512i end = _mm512_set1_epi32((int)begin[v->buckets]);
    const __m512i all = _mm512_sub_epi32(end, _mm512_set1_epi32((int)begin[0]));
    struct ht_windows16 w;

    w.begin = begin[0];
    w.first = _mm512_mask_i32gather_epi32(_mm512_set1_epi32((int)w.begin), narrow, from, begin, 4);
    w.n = _mm512_sub_epi32(_mm512_mask_i32gather_epi32(end, narrow, to, begin + 1, 4), w.first);
    w.n = _mm512_maskz_mov_epi32(lanes, _mm512_mask_add_epi32(w.n, turns, w.n, all));
    w.n_first = _mm512_mask_sub_epi32(w.n, turns, end, w.first);
    return w;
}

/* Of the lanes, those whose window has a hit of its number; *ret_at: its place. */
static inline __mmask16 ht_in_window16(const struct ht_windows16 *w, __m512i number,
                                       __m512i *ret_at)
{
    const __m512i begin = _mm512_set1_epi32((int)w->begin);
    const __m512i turned = _mm512_add_epi32(begin, _mm512_sub_epi32(number, w->n_first));

    *ret_at =
        _mm512_mask_mov_epi32(_mm512_add_epi32(w->first, number),
                              _mm512_cmp_epu32_mask(number, w->n_first, _MM_CMPINT_NLT), turned);
    return _mm512_cmp_epu32_mask(number, w->n, _MM_CMPINT_LT);
}

/* ---------------------------------------------------------------- large windows */

/* Lanes go through windows of more hits one after the other, sixteen hits at a time. */
#define HT_SMALL 8u

static inline __mmask16 ht_large16(const struct ht_windows16 *w)
{
    return _mm512_cmp_epu32_mask(w->n, _mm512_set1_epi32((int)HT_SMALL), _MM_CMPINT_NLE);
}

/* The windows without those of the lanes. */
static inline struct ht_windows16 ht_windows_but16(struct ht_windows16 w, __mmask16 lanes)
{
    w.n = _mm512_maskz_mov_epi32((__mmask16)~lanes, w.n);
    return w;
}

/* One lane's for all. */
static inline __m512i ht_word_for16(__m512i words, trg_u32 lane)
{
    return _mm512_permutexvar_epi32(_mm512_set1_epi32((int)lane), words);
}

static inline __m512 ht_float_for16(__m512 floats, trg_u32 lane)
{
    return _mm512_permutexvar_ps(_mm512_set1_epi32((int)lane), floats);
}

static inline struct ht_windows16 ht_window_for16(const struct ht_windows16 *w, trg_u32 lane)
{
    return (struct ht_windows16){.first = ht_word_for16(w->first, lane),
                                 .n_first = ht_word_for16(w->n_first, lane),
                                 .n = ht_word_for16(w->n, lane),
                                 .begin = w->begin};
}

static inline struct ht_lines16 ht_line_for16(const struct ht_lines16 *l, trg_u32 lane)
{
    return (struct ht_lines16){.x = ht_float_for16(l->x, lane),
                               .y = ht_float_for16(l->y, lane),
                               .z = ht_float_for16(l->z, lane),
                               .tx = ht_float_for16(l->tx, lane),
                               .ty = ht_float_for16(l->ty, lane)};
}
#endif
