/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_roads_host.h - ht_want for sixteen roads at once on a core with AVX-512. */
#ifndef HOUGH_TRIPLET_ROADS_HOST_H
#define HOUGH_TRIPLET_ROADS_HOST_H
#include "triplet_lanes_host.h"

/* Words of a road, and which one: offsetof in words. */
#define HT_ROAD_WORDS   (sizeof(struct ht_road) / 4u)
#define HT_ROAD_WORD(m) (offsetof(struct ht_road, m) / 4u)

struct ht_roads16 {
    const struct ht_road *road;
    __m512i at; /* words */
};

static inline __m512 ht_road_float16(const struct ht_roads16 r, size_t word, __mmask16 lanes)
{
    return ht_gather16((const float *)r.road + word, r.at, lanes);
}

static inline __m512i ht_road_word16(const struct ht_roads16 r, size_t word, __mmask16 lanes)
{
    return ht_gather_words16((const trg_u32 *)r.road + word, r.at, lanes);
}

struct ht_near16 { /* the nearest hits of the lanes on layers of a kind */
    __m512 off;
    __m512i at, id;
};

static inline void ht_keep_nearer16(struct ht_near16 *near, __mmask16 lanes, __m512 off, __m512i at,
                                    __m512i id)
{
    const __mmask16 same = _mm512_mask_cmp_ps_mask(lanes, off, near->off, _CMP_EQ_OQ);
    const __mmask16 nearer = _mm512_mask_cmp_ps_mask(lanes, off, near->off, _CMP_LT_OQ) |
                             _mm512_mask_cmp_epu32_mask(same, id, near->id, _MM_CMPINT_LT);

    near->off = _mm512_mask_mov_ps(near->off, nearer, off);
    near->at = _mm512_mask_mov_epi32(near->at, nearer, at);
    near->id = _mm512_mask_mov_epi32(near->id, nearer, id);
}

/* Which of the roads, all of three hits, have lost one of them to another road. */
static inline __mmask16 ht_are_robbed16(const struct ht_view *v, const struct ht_roads16 r,
                                        __mmask16 lanes)
{
    __mmask16 robbed = 0;

    for (trg_u32 k = 0; lanes && k < 3u; k++) {
        const __m512i hit = ht_road_word16(r, HT_ROAD_WORD(first) + k, lanes);

        robbed |= _mm512_mask_cmp_ps_mask(lanes, ht_gather16(v->x, hit, lanes),
                                          _mm512_set1_ps(HT_USED), _CMP_GE_OQ);
    }
    return robbed;
}

struct ht_looks16 { /* where roads look, as ht_look_from says it */
    struct ht_lines16 l;
    struct ht_windows16 w;
    __m512 most;
};

static inline struct ht_looks16 ht_looks_from16(const struct ht_view *v, const struct ht_par *par,
                                                const struct ht_roads16 r, trg_u32 station,
                                                const struct ht_station *s, __mmask16 lanes)
{
    struct ht_looks16 look;
    __m512 dz, tol, drift, x, y;

    look.l.x = ht_road_float16(r, HT_ROAD_WORD(x), lanes);
    look.l.y = ht_road_float16(r, HT_ROAD_WORD(y), lanes);
    look.l.z = ht_road_float16(r, HT_ROAD_WORD(z), lanes);
    look.l.tx = ht_road_float16(r, HT_ROAD_WORD(tx), lanes);
    look.l.ty = ht_road_float16(r, HT_ROAD_WORD(ty), lanes);
    dz = _mm512_sub_ps(_mm512_set1_ps(s->middle), look.l.z);
    tol = _mm512_add_ps(_mm512_set1_ps(par->common.tol_mm),
                        _mm512_mul_ps(_mm512_set1_ps(par->common.tol_rad), ht_abs16(dz)));
    tol = _mm512_min_ps(tol, _mm512_set1_ps(par->common.tol_max_mm));
    drift = ht_move16(&look.l, dz, s->depth, &x, &y);
    look.most = _mm512_mul_ps(tol, tol);
    look.w = ht_windows_of16(v, station, x, y, _mm512_add_ps(tol, drift), lanes);
    return look;
}

struct ht_nearest16 {
    struct ht_near16 even, odd; /* layers */
};

/* ht_find_nearest for hits 0, 1 .. of each window, or, from `number` on, for sixteen at a time. */
static inline struct ht_nearest16 ht_find_nearest16(const struct ht_view *v,
                                                    const struct ht_looks16 *look, __m512i number,
                                                    trg_u32 step)
{
    const __m512i none = _mm512_set1_epi32(-1), steps = _mm512_set1_epi32((int)step); /* HT_NONE */
    struct ht_nearest16 near = {{look->most, none, none}, {look->most, none, none}};
    __mmask16 lanes;
    __m512i at;

    for (; (lanes = ht_in_window16(&look->w, number, &at)) != 0;
         number = _mm512_add_epi32(number, steps)) {
        const struct ht_hits16 h = ht_hits_at16(v, at, lanes);
        const __m512 off = ht_off2_16(&look->l, &h);
        const __mmask16 found = ht_same_side16(
            &look->l, &h, _mm512_mask_cmp_ps_mask(lanes, off, look->most, _CMP_LE_OQ));

        if (found) {
            const __m512i id = ht_gather_words16(v->id, at, found);
            const __mmask16 odd =
                _mm512_mask_test_epi32_mask(found, id, _mm512_set1_epi32(1 << HT_ITEM_BITS));

            ht_keep_nearer16(&near.even, found & (__mmask16)~odd, off, at, id);
            ht_keep_nearer16(&near.odd, odd, off, at, id);
        }
    }
    return near;
}

struct ht_words_near { /* the same in memory */
    float off0[HT_LANES], off1[HT_LANES];
    trg_u32 at0[HT_LANES], at1[HT_LANES];
};

static inline struct ht_words_near ht_store_near(const struct ht_nearest16 *near)
{
    struct ht_words_near m;

    _mm512_storeu_ps(m.off0, near->even.off);
    _mm512_storeu_ps(m.off1, near->odd.off);
    _mm512_storeu_si512(m.at0, near->even.at);
    _mm512_storeu_si512(m.at1, near->odd.at);
    return m;
}

/* The nearest hits in a lane's window, which is large. */
static inline struct ht_near
ht_find_nearest_of(const struct ht_view *v, const struct ht_looks16 *look, trg_u32 lane, float most)
{
    const struct ht_looks16 its = {ht_line_for16(&look->l, lane), ht_window_for16(&look->w, lane),
                                   ht_float_for16(look->most, lane)};
    const struct ht_nearest16 near = ht_find_nearest16(v, &its, ht_numbers16(0u), HT_LANES);
    const struct ht_words_near m = ht_store_near(&near);
    struct ht_near best = {most, most, HT_NONE, HT_NONE};

    for (trg_u32 k = 0; k < HT_LANES; k++) {
        if (m.at0[k] != HT_NONE)
            ht_keep_nearer(*v, m.at0[k], m.off0[k], &best);
        if (m.at1[k] != HT_NONE)
            ht_keep_nearer(*v, m.at1[k], m.off1[k], &best);
    }
    return best;
}

/* The roads claim what is nearest in their windows. */
static inline void ht_claim16(const struct ht_view *v, const struct ht_par *par,
                              struct ht_road *road, const trg_u32 *now,
                              const struct ht_looks16 *look)
{
    const trg_u32 large = ht_large16(&look->w);
    const struct ht_looks16 small = {look->l, ht_windows_but16(look->w, (__mmask16)large),
                                     look->most};
    const struct ht_nearest16 near = ht_find_nearest16(v, &small, _mm512_setzero_si512(), 1u);
    const struct ht_words_near m = ht_store_near(&near);
    float most[HT_LANES];

    _mm512_storeu_ps(most, look->most);
    for (trg_u32 left = _mm512_test_epi32_mask(look->w.n, look->w.n); left; left &= left - 1u) {
        const trg_u32 k = (trg_u32)__builtin_ctz(left);
        const struct ht_near one = large >> k & 1u
                                       ? ht_find_nearest_of(v, look, k, most[k])
                                       : (struct ht_near){m.off0[k], m.off1[k], m.at0[k], m.at1[k]};

        ht_claim_nearest(*v, *par, &road[now[k]], one, most[k]);
    }
}

/* The first n <= 16 of the roads in `now`. */
static inline void ht_want16(const struct ht_view *v, const struct ht_par *par,
                             struct ht_road *road, const trg_u32 *now, trg_u32 n, trg_u32 station,
                             const struct ht_station *s)
{
    const __mmask16 lanes = ht_lanes(n);
    const struct ht_roads16 r = {road, _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(lanes, now),
                                                          _mm512_set1_epi32((int)HT_ROAD_WORDS))};
    const __m512i hits = ht_road_word16(r, HT_ROAD_WORD(n), lanes);
    const __m512i from = _mm512_srl_epi32(ht_road_word16(r, HT_ROAD_WORD(layer), lanes),
                                          _mm_cvtsi32_si128((int)par->station_shift));
    const __mmask16 robbed =
        ht_are_robbed16(v, r, _mm512_mask_cmpeq_epi32_mask(lanes, hits, _mm512_set1_epi32(3)));
    __mmask16 may = _mm512_mask_cmp_epu32_mask(lanes & (__mmask16)~robbed, from,
                                               _mm512_set1_epi32((int)station), _MM_CMPINT_NLE);
    struct ht_looks16 look;

    may = _mm512_mask_cmpneq_epi32_mask(may, hits, _mm512_set1_epi32((int)HG_TRACK_HITS));
    for (trg_u32 k = 0; k < n; k++) {
        road[now[k]].near[0] = road[now[k]].near[1] = HT_NONE;
        if (robbed >> k & 1)
            road[now[k]].n = 0u;
    }
    if (!may || !s->has_hits)
        return;
    look = ht_looks_from16(v, par, r, station, s, may);
    ht_claim16(v, par, road, now, &look);
}
#endif
