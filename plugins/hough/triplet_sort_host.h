/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_sort_host.h - ht_sort on a core with AVX-512: buckets of sixteen hits at once.  The
 * second pass does not sort again: it takes those hits out that tracks have. */
#ifndef HOUGH_TRIPLET_SORT_HOST_H
#define HOUGH_TRIPLET_SORT_HOST_H
#include "triplet_lanes_host.h"
#include "triplet_sort.h"

struct ht_columns { /* an RoI's hits as they come */
    const float *x, *y, *z;
    const trg_u16 *layer;
    trg_u32 n;
};

static inline __m512i ht_layers16(const trg_u16 *layer, __mmask16 lanes)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, layer));
}

/* ht_order_of_float */
static inline __m512i ht_order_of_float16(__m512 z)
{
    const __m512i bits = _mm512_castps_si512(z), sign = _mm512_set1_epi32(INT32_MIN);

    return _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi32(bits, 31), sign));
}

/* ht_bucket_of */
static inline __m512i ht_buckets_of16(__m512 x, __m512 y, trg_u32 buckets)
{
    const __m512 zero = _mm512_setzero_ps(), sum = _mm512_add_ps(ht_abs16(x), ht_abs16(y));
    const __m512 part = _mm512_maskz_div_ps(_mm512_cmp_ps_mask(sum, zero, _CMP_GT_OQ), y, sum);
    const __mmask16 left = _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ);
    const __mmask16 below = _mm512_cmp_ps_mask(part, zero, _CMP_LT_OQ) & (__mmask16)~left;
    const __m512 right = _mm512_mask_add_ps(part, below, _mm512_set1_ps(4.0f), part);
    const __m512 angle = _mm512_mask_sub_ps(right, left, _mm512_set1_ps(2.0f), part);
    const __m512 b = _mm512_mul_ps(angle, _mm512_set1_ps(0.25f * (float)buckets));
    const __mmask16 is_number = _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q); /* another one is in 0 */

    return _mm512_min_epu32(_mm512_maskz_cvttps_epu32(is_number, b),
                            _mm512_set1_epi32((int)buckets - 1));
}

/* Of sixteen words the sums up to each. */
static inline __m512i ht_sums16(__m512i words)
{
    const __m512i zero = _mm512_setzero_si512();

    words = _mm512_add_epi32(words, _mm512_alignr_epi32(words, zero, 15));
    words = _mm512_add_epi32(words, _mm512_alignr_epi32(words, zero, 14));
    words = _mm512_add_epi32(words, _mm512_alignr_epi32(words, zero, 12));
    return _mm512_add_epi32(words, _mm512_alignr_epi32(words, zero, 8));
}

/* ---------------------------------------------------------------- the first pass */

/* The stations up to the last one with hits; *ret_left_out: hits behind them, or too many. */
static inline trg_u32 ht_count_stations(const struct ht_columns *h, trg_u32 shift,
                                        trg_u32 *ret_left_out)
{
    const __m512i last = _mm512_set1_epi32((int)HT_STATIONS - 1);
    __m512i top = _mm512_setzero_si512();
    trg_u32 out = 0u;

    for (trg_u32 i = 0; i < h->n; i += HT_LANES) {
        const __mmask16 lanes = ht_lanes(h->n - i);
        const __m512i s =
            _mm512_srl_epi32(ht_layers16(h->layer + i, lanes), _mm_cvtsi32_si128((int)shift));
        const __mmask16 may = _mm512_mask_cmp_epu32_mask(lanes, s, last, _MM_CMPINT_LE);
        const __mmask16 near = _mm512_mask_cmp_epu32_mask(
            may, ht_numbers16(i), _mm512_set1_epi32((int)HT_ITEM), _MM_CMPINT_LT);

        top = _mm512_mask_max_epu32(top, may, top, _mm512_add_epi32(s, _mm512_set1_epi32(1)));
        out += (trg_u32)__builtin_popcount((unsigned)(lanes & ~near));
    }
    *ret_left_out = out;
    return _mm512_reduce_max_epu32(top);
}

/* Widens the stations of hits to their z; neighbours are on one station in most cases. */
static inline void ht_widen16(struct ht_stations *to, __m512i station, __m512 z, __mmask16 lanes)
{
    const __m512i order = ht_order_of_float16(z);

    while (lanes) {
        const trg_u32 s = _mm512_mask_reduce_max_epu32(lanes, station);
        const __mmask16 here =
            _mm512_mask_cmpeq_epi32_mask(lanes, station, _mm512_set1_epi32((int)s));
        const trg_u32 low = _mm512_mask_reduce_min_epu32(here, order);
        const trg_u32 high = _mm512_mask_reduce_max_epu32(here, order);

        to->low[s] = low < to->low[s] ? low : to->low[s];
        to->high[s] = high > to->high[s] ? high : to->high[s];
        lanes &= (__mmask16)~here;
    }
}

/* Writes the bucket of each hit to v->link; clears its claim, taken and head. */
static inline void ht_find_buckets(const struct ht_view *v, const struct ht_columns *h,
                                   const struct ht_par *par, struct ht_stations *to)
{
    const __m512 beam_x = _mm512_set1_ps(par->common.beam_x);
    const __m512 beam_y = _mm512_set1_ps(par->common.beam_y);
    const __m512i none = _mm512_set1_epi32(-1), zero = _mm512_setzero_si512(); /* HT_NONE */

    for (trg_u32 i = 0; i < h->n; i += HT_LANES) {
        const __mmask16 lanes = ht_lanes(h->n - i);
        const __m512 x = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, h->x + i), beam_x);
        const __m512 y = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, h->y + i), beam_y);
        const __m512i s = _mm512_srl_epi32(ht_layers16(h->layer + i, lanes),
                                           _mm_cvtsi32_si128((int)par->station_shift));
        const __mmask16 may = _mm512_mask_cmp_epu32_mask(
            _mm512_mask_cmp_epu32_mask(lanes, s, _mm512_set1_epi32((int)HT_STATIONS),
                                       _MM_CMPINT_LT),
            ht_numbers16(i), _mm512_set1_epi32((int)HT_ITEM), _MM_CMPINT_LT);
        const __m512i bucket =
            _mm512_add_epi32(_mm512_mullo_epi32(s, _mm512_set1_epi32((int)v->buckets)),
                             ht_buckets_of16(x, y, v->buckets));

        _mm512_mask_storeu_epi32(v->link + i, lanes, _mm512_mask_mov_epi32(none, may, bucket));
        _mm512_mask_storeu_epi32(v->claim + i, lanes, none);
        _mm512_mask_storeu_epi32(v->taken + i, lanes, zero);
        _mm512_mask_storeu_epi32(v->head + i, lanes, zero);
        ht_widen16(to, s, _mm512_maskz_loadu_ps(may, h->z + i), may);
    }
}

/* Replaces the counts of n buckets by where they begin, and behind them where the last one ends.
 * Returns the work of all. */
static inline trg_u32 ht_begin_counted(trg_u32 *begin, trg_u32 n)
{
    __m512i most = _mm512_setzero_si512();
    trg_u32 sum = 0u, work = 0u;

    for (trg_u32 k = 0; k <= n; k += HT_LANES) {
        const __mmask16 lanes = ht_lanes(n - k);
        const __m512i count = _mm512_maskz_loadu_epi32(lanes, begin + k), sums = ht_sums16(count);
        const __m512i before = _mm512_sub_epi32(sums, count);

        most = _mm512_max_epu32(most, count);
        _mm512_mask_storeu_epi32(begin + k, ht_lanes(n + 1u - k),
                                 _mm512_add_epi32(before, _mm512_set1_epi32((int)sum)));
        sum += (trg_u32)_mm_extract_epi32(_mm512_extracti32x4_epi32(sums, 3), 3);
    }
    if (_mm512_reduce_max_epu32(most) < HT_WORK_UNIT)
        return 0u;
    for (trg_u32 k = 0; k < n && work < HT_WORK_MOST; k++)
        work += ht_work(begin[k + 1u] - begin[k]);
    return work < HT_WORK_MOST ? work : HT_WORK_MOST;
}

/* Puts all hits into buckets and returns how many of them are left out; of an RoI over max_work all
 * are.  `place`: room for a word a hit. */
static inline trg_u32 ht_sort_all(struct ht_view v, const struct ht_columns *h,
                                  const struct ht_par *par, trg_u32 *place, struct ht_stations *to)
{
    trg_u32 left_out;
    const trg_u32 top = ht_count_stations(h, par->station_shift, &left_out);

    v.buckets = ht_buckets_for(top, h->n);
    for (trg_u32 s = 0; s < top; s++) {
        to->low[s] = 0xffffffffu;
        to->high[s] = 0u;
    }
    for (trg_u32 k = 0; k < top * v.buckets; k++)
        v.begin[k] = 0u;
    ht_find_buckets(&v, h, par, to);
    for (trg_u32 i = 0; i < h->n; i++)
        if (v.link[i] != HT_NONE)
            place[i] = v.begin[v.link[i]]++; /* in its bucket */
    to->n = top;
    to->buckets = v.buckets;
    if (ht_begin_counted(v.begin, top * v.buckets) > par->max_work) {
        to->n = 0u;
        return h->n;
    }
    for (trg_u32 i = 0; i < h->n; i++)
        if (v.link[i] != HT_NONE)
            ht_put(v, v.begin[v.link[i]] + place[i], h->x[i] - par->common.beam_x,
                   h->y[i] - par->common.beam_y, h->z[i], (trg_u32)h->layer[i] << HT_ITEM_BITS | i);
    return left_out;
}

/* ---------------------------------------------------------------- the second pass */

struct ht_rest { /* of the hits so far */
    trg_u32 n;   /* that are free */
    __m512i low, high;
};

/* Moves those of the hits at places from <= at < to that are free behind the rest before them, and
 * tells for each place how many are free before it. */
static inline void ht_keep_free(const struct ht_view *v, const float *x, float beam_x, trg_u32 from,
                                trg_u32 to, trg_u32 *before, struct ht_rest *rest)
{
    for (trg_u32 at = from; at < to; at += HT_LANES) {
        const __mmask16 lanes = ht_lanes(to - at);
        const __m512i id = _mm512_maskz_loadu_epi32(lanes, v->id + at);
        const __m512i item = _mm512_and_si512(id, _mm512_set1_epi32((int)HT_ITEM));
        const __m512 here = _mm512_maskz_loadu_ps(lanes, v->x + at);
        const __m512 y = _mm512_maskz_loadu_ps(lanes, v->y + at);
        const __m512 z = _mm512_maskz_loadu_ps(lanes, v->z + at);
        const __mmask16 is_free = _mm512_mask_testn_epi32_mask(
            lanes, _mm512_maskz_loadu_epi32(lanes, v->taken + at), _mm512_set1_epi32(-1));
        const __mmask16 was_used =
            _mm512_mask_cmp_ps_mask(is_free, here, _mm512_set1_ps(HT_USED), _CMP_GE_OQ);
        const __m512 again = _mm512_sub_ps(ht_gather16(x, item, was_used), _mm512_set1_ps(beam_x));
        const __m512 x_now = _mm512_mask_mov_ps(here, was_used, again);
        const __m512i one = _mm512_maskz_set1_epi32(is_free, 1), sums = ht_sums16(one);
        const __m512i order = ht_order_of_float16(z);
        const trg_u32 n = (trg_u32)__builtin_popcount(is_free);
        const __mmask16 kept = ht_lanes(n);

        _mm512_mask_storeu_epi32(
            before + at, lanes,
            _mm512_add_epi32(_mm512_sub_epi32(sums, one), _mm512_set1_epi32((int)rest->n)));
        _mm512_mask_storeu_ps(v->x + rest->n, kept, _mm512_maskz_compress_ps(is_free, x_now));
        _mm512_mask_storeu_ps(v->y + rest->n, kept, _mm512_maskz_compress_ps(is_free, y));
        _mm512_mask_storeu_ps(v->z + rest->n, kept, _mm512_maskz_compress_ps(is_free, z));
        _mm512_mask_storeu_epi32(v->id + rest->n, kept, _mm512_maskz_compress_epi32(is_free, id));
        _mm512_mask_storeu_epi32(v->claim + rest->n, kept, _mm512_set1_epi32(-1)); /* HT_NONE */
        _mm512_mask_storeu_epi32(v->taken + rest->n, kept, _mm512_setzero_si512());
        rest->low = _mm512_mask_min_epu32(rest->low, is_free, rest->low, order);
        rest->high = _mm512_mask_max_epu32(rest->high, is_free, rest->high, order);
        rest->n += n;
    }
}

/* Takes out the hits that tracks have.  They stay in order, and in the buckets of the first pass.
 * `before`: room for a word a hit. */
static inline void ht_sort_rest(const struct ht_view v, const float *x, float beam_x,
                                trg_u32 *before, struct ht_stations *all)
{
    struct ht_rest rest = {.n = 0u};

    for (trg_u32 s = 0; s < all->n; s++) {
        trg_u32 *begin = v.begin + s * v.buckets;
        const trg_u32 to = begin[v.buckets];

        rest.low = _mm512_set1_epi32(-1);
        rest.high = _mm512_setzero_si512();
        ht_keep_free(&v, x, beam_x, begin[0], to, before, &rest);
        for (trg_u32 k = 0; k < v.buckets; k += HT_LANES) {
            const __mmask16 lanes = ht_lanes(v.buckets - k);
            const __m512i was = _mm512_maskz_loadu_epi32(lanes, begin + k);
            const __mmask16 has_hits =
                _mm512_mask_cmp_epu32_mask(lanes, was, _mm512_set1_epi32((int)to), _MM_CMPINT_LT);

            _mm512_mask_storeu_epi32(begin + k, lanes,
                                     _mm512_mask_i32gather_epi32(_mm512_set1_epi32((int)rest.n),
                                                                 has_hits, was, before, 4));
        }
        all->low[s] = _mm512_reduce_min_epu32(rest.low);
        all->high[s] = _mm512_reduce_max_epu32(rest.high);
    }
    v.begin[all->n * v.buckets] = rest.n;
}
#endif
