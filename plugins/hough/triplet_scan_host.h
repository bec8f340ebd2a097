/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_scan_host.h - the same on a core with AVX-512: sixteen hits at once are held against a
 * line, and sixteen lines against the table of buckets, by the same arithmetic.  Included by
 * triplet_scan.h. */
#ifndef HOUGH_TRIPLET_SCAN_HOST_H
#define HOUGH_TRIPLET_SCAN_HOST_H
#include <immintrin.h>

#define HT_LANES 16u
#define HT_FEW   2 /* pairs whose windows are looked up one by one */

static inline __mmask16 ht_lanes(trg_u32 n)
{
    return (__mmask16)(n < HT_LANES ? (1u << n) - 1u : 0xffffu);
}

static inline __m512 ht_abs16(__m512 x)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
}

struct ht_hits16 { /* from one place on */
    __m512 x, y, z;
};

static inline struct ht_hits16 ht_load16(const struct ht_view *v, trg_u32 at, __mmask16 lanes)
{
    return (struct ht_hits16){.x = _mm512_maskz_loadu_ps(lanes, v->x + at),
                              .y = _mm512_maskz_loadu_ps(lanes, v->y + at),
                              .z = _mm512_maskz_loadu_ps(lanes, v->z + at)};
}

/* hg_off2 */
static inline __m512 ht_off2_16(const struct hg_line *l, const struct ht_hits16 *h)
{
    const __m512 d = _mm512_sub_ps(h->z, _mm512_set1_ps(l->z));
    const __m512 dx = _mm512_sub_ps(
        h->x, _mm512_add_ps(_mm512_set1_ps(l->x), _mm512_mul_ps(_mm512_set1_ps(l->tx), d)));
    const __m512 dy = _mm512_sub_ps(
        h->y, _mm512_add_ps(_mm512_set1_ps(l->y), _mm512_mul_ps(_mm512_set1_ps(l->ty), d)));

    return _mm512_add_ps(_mm512_mul_ps(dx, dx), _mm512_mul_ps(dy, dy));
}

/* Which of the lanes are on the line's side of the beam. */
static inline __mmask16 ht_same_side16(const struct hg_line *l, const struct ht_hits16 *h,
                                       __mmask16 lanes)
{
    const __m512 dot = _mm512_add_ps(_mm512_mul_ps(h->x, _mm512_set1_ps(l->x)),
                                     _mm512_mul_ps(h->y, _mm512_set1_ps(l->y)));

    return _mm512_mask_cmp_ps_mask(lanes, dot, _mm512_setzero_ps(), _CMP_GT_OQ);
}

static inline void ht_nearest_in(const struct ht_view *v, trg_u32 from, trg_u32 to,
                                 const struct hg_line *l, float most, struct ht_near *near)
{
    for (trg_u32 at = from; at < to; at += HT_LANES) {
        const __mmask16 lanes = ht_lanes(to - at);
        const struct ht_hits16 h = ht_load16(v, at, lanes);
        const __m512 off = ht_off2_16(l, &h);
        float offs[HT_LANES];
        trg_u32 found = ht_same_side16(
            l, &h, _mm512_mask_cmp_ps_mask(lanes, off, _mm512_set1_ps(most), _CMP_LE_OQ));

        if (!found)
            continue;
        _mm512_storeu_ps(offs, off);
        for (; found; found &= found - 1u) {
            const trg_u32 lane = (trg_u32)__builtin_ctz(found);

            ht_keep_nearer(*v, at + lane, offs[lane], near);
        }
    }
}

static inline void ht_find_nearest(const struct ht_view v, const struct ht_window w,
                                   const struct hg_line l, struct ht_near *near)
{
    const float most = near->off0;

    ht_nearest_in(&v, w.first, w.first + w.n_first, &l, most, near);
    if (w.n > w.n_first)
        ht_nearest_in(&v, w.second, w.second + w.n - w.n_first, &l, most, near);
}

static inline void ht_third_in(const struct ht_view *v, const struct ht_par *par,
                               const struct hg_line *l, trg_u32 second, trg_u32 from, trg_u32 to,
                               struct ht_triplet *best)
{
    for (trg_u32 at = from; at < to; at += HT_LANES) {
        const __mmask16 lanes = ht_lanes(to - at);
        const struct ht_hits16 h = ht_load16(v, at, lanes);
        const __m512 off = ht_off2_16(l, &h), d = _mm512_sub_ps(_mm512_set1_ps(l->z), h.z);
        const __m512 wide = _mm512_add_ps(_mm512_set1_ps(par->third_mm),
                                          _mm512_mul_ps(_mm512_set1_ps(par->third_rad), d));
        const __m512 tol = _mm512_min_ps(wide, _mm512_set1_ps(par->common.tol_max_mm));
        const __m512 most = _mm512_mul_ps(tol, tol);
        float offs[HT_LANES], mosts[HT_LANES];
        trg_u32 found =
            ht_same_side16(l, &h,
                           _mm512_mask_cmp_ps_mask(
                               _mm512_mask_cmp_ps_mask(lanes, d, _mm512_setzero_ps(), _CMP_GT_OQ),
                               off, _mm512_mul_ps(_mm512_set1_ps(best->share), most), _CMP_LE_OQ));

        if (!found)
            continue;
        _mm512_storeu_ps(offs, off);
        _mm512_storeu_ps(mosts, most);
        for (; found; found &= found - 1u) {
            const trg_u32 lane = (trg_u32)__builtin_ctz(found);
            const float share = offs[lane] / mosts[lane];

            if (ht_layer(*v, at + lane) != ht_layer(*v, second) &&
                ht_is_better(*v, best, share, second, at + lane)) {
                best->share = share;
                best->second = second;
                best->third = at + lane;
            }
        }
    }
}

static inline void ht_find_third(const struct ht_view *v, const struct ht_par *par,
                                 const struct hg_line *l, trg_u32 second, trg_u32 station,
                                 const struct ht_station *s, struct ht_triplet *best)
{
    const struct ht_window w = ht_third_window(*v, *par, *l, station, *s);

    ht_third_in(v, par, l, second, w.first, w.first + w.n_first, best);
    if (w.n > w.n_first)
        ht_third_in(v, par, l, second, w.second, w.second + w.n - w.n_first, best);
}

/* ht_may_pair; d: from the second hits to the first. */
static inline __mmask16 ht_may_pair16(const struct hg_par *par, float window,
                                      const struct ht_hits16 *d, const struct ht_hits16 *h,
                                      __mmask16 lanes)
{
    const __m512 zero = _mm512_setzero_ps(), window2 = _mm512_set1_ps(window * window);
    const __m512 steep = _mm512_mul_ps(_mm512_set1_ps(par->slope_max), d->z);
    const __m512 cross = _mm512_sub_ps(_mm512_mul_ps(h->x, d->y), _mm512_mul_ps(h->y, d->x));
    const __m512 cross2 = _mm512_mul_ps(cross, cross);
    const __m512 d2 = _mm512_add_ps(_mm512_mul_ps(d->x, d->x), _mm512_mul_ps(d->y, d->y));
    const __m512 x0 = _mm512_add_ps(h->x, d->x), y0 = _mm512_add_ps(h->y, d->y);
    const __m512 dot = _mm512_add_ps(_mm512_mul_ps(h->x, x0), _mm512_mul_ps(h->y, y0));
    const __m512 r2 = _mm512_add_ps(_mm512_mul_ps(x0, x0), _mm512_mul_ps(y0, y0));
    const __m512 along =
        _mm512_mul_ps(_mm512_add_ps(_mm512_mul_ps(h->x, d->x), _mm512_mul_ps(h->y, d->y)), d->z);
    const __m512 far =
        _mm512_sub_ps(_mm512_mul_ps(_mm512_sub_ps(h->z, _mm512_set1_ps(par->grid.z0)), d2), along);

    lanes = _mm512_mask_cmp_ps_mask(lanes, d->z, zero, _CMP_GT_OQ);
    lanes = _mm512_mask_cmp_ps_mask(lanes, dot, zero, _CMP_GT_OQ);
    lanes = _mm512_mask_cmp_ps_mask(lanes, ht_abs16(d->x), steep, _CMP_LE_OQ);
    lanes = _mm512_mask_cmp_ps_mask(lanes, ht_abs16(d->y), steep, _CMP_LE_OQ);
    lanes = _mm512_mask_cmp_ps_mask(lanes, _mm512_mul_ps(cross2, r2),
                                    _mm512_mul_ps(window2, _mm512_mul_ps(dot, dot)), _CMP_LE_OQ);
    lanes = _mm512_mask_cmp_ps_mask(lanes, cross2, _mm512_mul_ps(_mm512_set1_ps(par->ip_max2), d2),
                                    _CMP_LE_OQ);
    return _mm512_mask_cmp_ps_mask(lanes, ht_abs16(far),
                                   _mm512_mul_ps(_mm512_set1_ps(par->z_beam_max), d2), _CMP_LE_OQ);
}

struct ht_windows16 {
    trg_u32 from[HT_LANES], to[HT_LANES];
    __mmask16 is_one; /* the window is one stretch, and this is it */
};

/* Which of the pairs have any hit in the window where their third one would be: ht_find_third. */
static inline __mmask16 ht_have_third16(const struct ht_view *v, const struct ht_par *par,
                                        const struct ht_hits16 *d, const struct ht_hits16 *h,
                                        __mmask16 lanes, trg_u32 station,
                                        const struct ht_station *s, struct ht_windows16 *ret)
{
    const trg_u32 *begin = v->begin + station * v->buckets;
    const __m512 one = _mm512_set1_ps(1.0f), depth = _mm512_set1_ps(s->depth);
    const __m512i mask = _mm512_set1_epi32((int)v->buckets - 1);
    const __m512 inv = _mm512_div_ps(one, d->z);
    const __m512 tx = _mm512_mul_ps(d->x, inv), ty = _mm512_mul_ps(d->y, inv);
    const __m512 dz = _mm512_sub_ps(_mm512_set1_ps(s->middle), h->z);
    const __m512 x = _mm512_add_ps(h->x, _mm512_mul_ps(tx, dz));
    const __m512 y = _mm512_add_ps(h->y, _mm512_mul_ps(ty, dz));
    const __m512 wide = _mm512_add_ps(
        _mm512_set1_ps(par->third_mm),
        _mm512_mul_ps(_mm512_set1_ps(par->third_rad), _mm512_add_ps(ht_abs16(dz), depth)));
    const __m512 tol = _mm512_min_ps(wide, _mm512_set1_ps(par->common.tol_max_mm));
    const __m512 sum = _mm512_add_ps(ht_abs16(x), ht_abs16(y));
    const __m512 turn = ht_abs16(_mm512_sub_ps(_mm512_mul_ps(x, ty), _mm512_mul_ps(y, tx)));
    const __m512 drift = _mm512_div_ps(_mm512_mul_ps(depth, turn), _mm512_max_ps(sum, one));
    const __m512 per = _mm512_div_ps(one, sum), part = _mm512_mul_ps(y, per);
    const __m512 angle = _mm512_mask_sub_ps(
        part, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), _mm512_set1_ps(2.0f), part);
    const __m512 around = _mm512_mul_ps(_mm512_add_ps(tol, drift), per);
    const __m512 scale = _mm512_set1_ps(v->per_angle), four = _mm512_set1_ps(4.0f);
    const __m512i low = _mm512_cvttps_epu32(
        _mm512_mul_ps(_mm512_add_ps(_mm512_sub_ps(angle, around), four), scale));
    const __m512i high = _mm512_cvttps_epu32(
        _mm512_mul_ps(_mm512_add_ps(_mm512_add_ps(angle, around), four), scale));
    const __mmask16 narrow =
        _mm512_mask_cmp_epu32_mask(_mm512_mask_cmp_ps_mask(lanes, around, one, _CMP_LT_OQ),
                                   _mm512_sub_epi32(high, low), mask, _MM_CMPINT_LT);
    const __m512i from = _mm512_and_si512(low, mask), to = _mm512_and_si512(high, mask);
    const __mmask16 flat = _mm512_mask_cmp_epu32_mask(narrow, from, to, _MM_CMPINT_LE);
    const __m512i none = _mm512_setzero_si512();
    const __m512i a = _mm512_mask_i32gather_epi32(none, flat, from, begin, 4);
    const __m512i b = _mm512_mask_i32gather_epi32(none, flat, to, begin + 1, 4);

    _mm512_storeu_si512(ret->from, a);
    _mm512_storeu_si512(ret->to, b);
    ret->is_one = flat;
    return (lanes & (__mmask16)~flat) | _mm512_mask_cmp_epu32_mask(flat, a, b, _MM_CMPINT_LT);
}

static inline void ht_find_in(const struct ht_view *v, const struct ht_par *par, trg_u32 first,
                              float window, trg_u32 from, trg_u32 to, trg_u32 station,
                              const struct ht_station *s, struct ht_triplet *best)
{
    const float x0 = v->x[first], y0 = v->y[first], z0 = v->z[first];

    for (trg_u32 at = from; at < to; at += HT_LANES) {
        const __mmask16 lanes = ht_lanes(to - at);
        const struct ht_hits16 h = ht_load16(v, at, lanes);
        const struct ht_hits16 d = {.x = _mm512_sub_ps(_mm512_set1_ps(x0), h.x),
                                    .y = _mm512_sub_ps(_mm512_set1_ps(y0), h.y),
                                    .z = _mm512_sub_ps(_mm512_set1_ps(z0), h.z)};
        trg_u32 pairs = ht_may_pair16(&par->common, window, &d, &h, lanes);
        struct ht_windows16 w;

        w.is_one = 0;
        if (__builtin_popcount(pairs) > HT_FEW)
            pairs = ht_have_third16(v, par, &d, &h, (__mmask16)pairs, station, s, &w);
        for (; pairs; pairs &= pairs - 1u) {
            const trg_u32 lane = (trg_u32)__builtin_ctz(pairs), second = at + lane;
            const struct hg_line l =
                hg_through(v->x[second], v->y[second], v->z[second], x0, y0, z0);

            if (ht_layer(*v, second) == ht_layer(*v, first))
                continue;
            if ((trg_u32)w.is_one >> lane & 1u)
                ht_third_in(v, par, &l, second, w.from[lane], w.to[lane], best);
            else
                ht_find_third(v, par, &l, second, station, s, best);
        }
    }
}

static inline void ht_find_on(const struct ht_view v, const struct ht_par par,
                              const struct ht_stations *all, trg_u32 first, trg_u32 station1,
                              trg_u32 station2, float window_mm, struct ht_triplet *best)
{
    const struct ht_station s = ht_station_of(all, station2);
    const struct ht_window w = ht_window_of(v, station1, v.x[first], v.y[first], window_mm);

    if (!s.has_hits)
        return;
    ht_find_in(&v, &par, first, window_mm, w.first, w.first + w.n_first, station2, &s, best);
    if (w.n > w.n_first)
        ht_find_in(&v, &par, first, window_mm, w.second, w.second + w.n - w.n_first, station2, &s,
                   best);
}
#endif
