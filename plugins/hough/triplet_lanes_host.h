/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_lanes_host.h - sixteen lines of one kind on a core with AVX-512, a lane each: their
 * windows, and how far the hits there are from them, by the arithmetic of one.  Windows hold a few
 * hits, so those of thirty-two lines are laid end to end and looked through sixteen hits at a time.
 */
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

static inline struct ht_hits16 ht_hits_at16(const struct ht_view *v, __m512i at, __mmask16 lanes)
{
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

/* ---------------------------------------------------------------- hits of windows, end to end */

#define HT_LINES  (2u * HT_LANES) /* whose windows are laid end to end, in two vectors */
#define HT_SPREAD 128u            /* hits at a time */
#define HT_PIECE  8u              /* hits that are copied at once */

struct ht_spread {
    float x[HT_SPREAD], y[HT_SPREAD], z[HT_SPREAD]; /* the hits, */
    trg_u32 at[HT_SPREAD], lane[HT_SPREAD], n; /* their places, and whose windows they are in */
    trg_u32 from[2u * HT_LINES], to_go[2u * HT_LINES]; /* parts of windows */
    trg_u64 left;                                      /* bits of those that have hits */
};

/* Windows of the lines of vector `part`, 0 or 1.  Those that go on past the end of the circle have
 * a second part. */
static inline void ht_spread_add(struct ht_spread *s, trg_u32 part, const struct ht_windows16 *w)
{
    const __m512i first = _mm512_min_epu32(w->n, w->n_first), rest = _mm512_sub_epi32(w->n, first);
    const trg_u32 one = part * HT_LANES, two = HT_LINES + part * HT_LANES;

    _mm512_storeu_si512(s->from + one, w->first);
    _mm512_storeu_si512(s->to_go + one, first);
    _mm512_storeu_si512(s->from + two, _mm512_set1_epi32((int)w->begin));
    _mm512_storeu_si512(s->to_go + two, rest);
    s->left |= (trg_u64)_mm512_test_epi32_mask(first, first) << one |
               (trg_u64)_mm512_test_epi32_mask(rest, rest) << two;
}

/* Copies up to HT_PIECE hits from place `from` on: what is behind the window is overwritten by the
 * next one, and what is behind the columns is not looked at. */
static inline void ht_spread_copy(struct ht_spread *s, const struct ht_view *v, trg_u32 n,
                                  trg_u32 from, trg_u32 lane)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    _mm256_storeu_ps(s->x + n, _mm256_loadu_ps(v->x + from));
    _mm256_storeu_ps(s->y + n, _mm256_loadu_ps(v->y + from));
    _mm256_storeu_ps(s->z + n, _mm256_loadu_ps(v->z + from));
    _mm256_storeu_si256((__m256i *)(void *)(s->at + n),
                        _mm256_add_epi32(_mm256_set1_epi32((int)from), number));
    _mm256_storeu_si256((__m256i *)(void *)(s->lane + n), _mm256_set1_epi32((int)lane));
}

/* The next hits; 0: there are no more. */
static inline trg_u32 ht_spread_next(struct ht_spread *s, const struct ht_view *v)
{
    trg_u32 n = 0u;

    while (s->left && n + HT_PIECE <= HT_SPREAD) {
        const trg_u32 k = (trg_u32)__builtin_ctzll(s->left), to_go = s->to_go[k];

        ht_spread_copy(s, v, n, s->from[k], k % HT_LINES);
        if (to_go <= HT_PIECE) {
            n += to_go;
            s->left &= s->left - 1u;
        } else {
            n += HT_PIECE;
            s->from[k] += HT_PIECE;
            s->to_go[k] -= HT_PIECE;
        }
    }
    return s->n = n;
}

/* Those of the hits that are near to their lines.  They are looked at when all of `ht_spread` are
 * through: how many there are among sixteen cannot be foreseen, and a loop over them would wait. */
struct ht_near_list {
    float off[HT_SPREAD + HT_LANES]; /* how near, by the measure of who lists them */
    trg_u32 at[HT_SPREAD + HT_LANES], lane[HT_SPREAD + HT_LANES], n;
};

/* Lists those in `near` of the sixteen hits from number `from` on. */
static inline void ht_list_near16(struct ht_near_list *list, const struct ht_spread *s,
                                  trg_u32 from, __m512 off, __mmask16 near)
{
    const trg_u32 n = list->n;

    _mm512_storeu_ps(list->off + n, _mm512_maskz_compress_ps(near, off));
    _mm512_storeu_si512(list->at + n,
                        _mm512_maskz_compress_epi32(near, _mm512_loadu_si512(s->at + from)));
    _mm512_storeu_si512(list->lane + n,
                        _mm512_maskz_compress_epi32(near, _mm512_loadu_si512(s->lane + from)));
    list->n = n + (trg_u32)__builtin_popcount(near);
}

/* Sixteen of the hits from number k on. */
static inline struct ht_hits16 ht_spread_hits16(const struct ht_spread *s, trg_u32 k)
{
    return (struct ht_hits16){.x = _mm512_loadu_ps(s->x + k),
                              .y = _mm512_loadu_ps(s->y + k),
                              .z = _mm512_loadu_ps(s->z + k)};
}

/* ---------------------------------------------------------------- one of thirty-two for each lane
 */

static inline __m512 ht_pick16(const __m512 of[2], __m512i lane)
{
    return _mm512_permutex2var_ps(of[0], lane, of[1]);
}

static inline __m512i ht_pick_words16(const __m512i of[2], __m512i lane)
{
    return _mm512_permutex2var_epi32(of[0], lane, of[1]);
}

static inline struct ht_lines16 ht_pick_lines16(const struct ht_lines16 of[2], __m512i lane)
{
    return (struct ht_lines16){.x = _mm512_permutex2var_ps(of[0].x, lane, of[1].x),
                               .y = _mm512_permutex2var_ps(of[0].y, lane, of[1].y),
                               .z = _mm512_permutex2var_ps(of[0].z, lane, of[1].z),
                               .tx = _mm512_permutex2var_ps(of[0].tx, lane, of[1].tx),
                               .ty = _mm512_permutex2var_ps(of[0].ty, lane, of[1].ty)};
}
#endif
