/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_roads_host.h - ht_want for thirty-two roads at once on a core with AVX-512. */
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

/* Keeps those of the hits at `at` that are near to the road with their lane if they are nearest to
 * it. */
static inline void ht_find_nearest16(const struct ht_view *v, const struct ht_lines16 l[2],
                                     const __m512 most[2], __m512i at, __m512i lane,
                                     __mmask16 lanes, struct ht_near *nearest)
{
    const struct ht_lines16 its = ht_pick_lines16(l, lane);
    const struct ht_hits16 h = ht_hits_at16(v, at, lanes);
    const __m512 off = ht_off2_16(&its, &h);
    const __mmask16 near = ht_same_side16(
        &its, &h, _mm512_mask_cmp_ps_mask(lanes, off, ht_pick16(most, lane), _CMP_LE_OQ));
    trg_u32 place[HT_LANES], road[HT_LANES];
    float offs[HT_LANES];

    _mm512_storeu_si512(place, at);
    _mm512_storeu_si512(road, lane);
    _mm512_storeu_ps(offs, off);
    for (trg_u32 left = near; left; left &= left - 1u) {
        const trg_u32 k = (trg_u32)__builtin_ctz(left);

        ht_keep_nearer(*v, place[k], offs[k], &nearest[road[k]]);
    }
}

/* Which of the first n <= 16 of the roads in `now` look for hits.  The others want none. */
static inline __mmask16 ht_which_look16(const struct ht_view *v, const struct ht_par *par,
                                        struct ht_road *road, const trg_u32 *now, trg_u32 n,
                                        const struct ht_roads16 r, trg_u32 station)
{
    const __mmask16 lanes = ht_lanes(n);
    const __m512i hits = ht_road_word16(r, HT_ROAD_WORD(n), lanes);
    const __m512i from = _mm512_srl_epi32(ht_road_word16(r, HT_ROAD_WORD(layer), lanes),
                                          _mm_cvtsi32_si128((int)par->station_shift));
    const __mmask16 robbed =
        ht_are_robbed16(v, r, _mm512_mask_cmpeq_epi32_mask(lanes, hits, _mm512_set1_epi32(3)));
    const __mmask16 may = _mm512_mask_cmp_epu32_mask(
        lanes & (__mmask16)~robbed, from, _mm512_set1_epi32((int)station), _MM_CMPINT_NLE);

    for (trg_u32 k = 0; k < n; k++) {
        road[now[k]].near[0] = road[now[k]].near[1] = HT_NONE;
        if (robbed >> k & 1)
            road[now[k]].n = 0u;
    }
    return _mm512_mask_cmpneq_epi32_mask(may, hits, _mm512_set1_epi32((int)HG_TRACK_HITS));
}

/* The first n <= 32 of the roads in `now` claim what is nearest in their windows. */
static inline void ht_want32(const struct ht_view *v, const struct ht_par *par,
                             struct ht_road *road, const trg_u32 *now, trg_u32 n, trg_u32 station,
                             const struct ht_station *s)
{
    struct ht_lines16 l[2] = {0};
    __m512 most[2] = {0};
    struct ht_near nearest[HT_LINES];
    float mosts[HT_LINES];
    struct ht_spread hits;
    trg_u32 seek = 0u; /* roads that have hits in their windows */

    hits.left = 0u;
    for (trg_u32 c = 0, at = 0; at < n; c++, at += HT_LANES) {
        const trg_u32 here = n - at < HT_LANES ? n - at : HT_LANES;
        const struct ht_roads16 r = {
            road, _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(ht_lanes(here), now + at),
                                     _mm512_set1_epi32((int)HT_ROAD_WORDS))};
        const __mmask16 may = ht_which_look16(v, par, road, now + at, here, r, station);
        struct ht_looks16 look;

        if (!s->has_hits)
            continue;
        look = ht_looks_from16(v, par, r, station, s, may);
        l[c] = look.l;
        most[c] = look.most;
        _mm512_storeu_ps(mosts + at, look.most);
        ht_spread_add(&hits, c, &look.w);
        seek |= (trg_u32)_mm512_test_epi32_mask(look.w.n, look.w.n) << at;
    }
    for (trg_u32 k = 0; seek && k < n; k++)
        nearest[k] = (struct ht_near){mosts[k], mosts[k], HT_NONE, HT_NONE};
    while (ht_spread_next(&hits))
        for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
            ht_find_nearest16(v, l, most, _mm512_loadu_si512(hits.at + k),
                              _mm512_loadu_si512(hits.lane + k), ht_lanes(hits.n - k), nearest);
    for (trg_u32 left = seek; left; left &= left - 1u) {
        const trg_u32 k = (trg_u32)__builtin_ctz(left);

        ht_claim_nearest(*v, *par, &road[now[k]], nearest[k], mosts[k]);
    }
}
#endif
