/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_pairs_host.h - ht_find_triplet for the hits of a station on a core with AVX-512: sixteen
 * first hits look for their second ones at once, and sixteen of the pairs that they make for their
 * third ones. */
#ifndef HOUGH_TRIPLET_PAIRS_HOST_H
#define HOUGH_TRIPLET_PAIRS_HOST_H
#include "triplet_lanes_host.h"

#define HT_CHUNKS 4u /* of sixteen first hits that are looked at together */
#define HT_FIRSTS (HT_CHUNKS * HT_LANES)

struct ht_pairs16 {
    __m512i who, second; /* number of the first hit; place of the second one */
};

struct ht_list { /* of up to 31 pairs */
    trg_u32 who[2u * HT_LANES], second[2u * HT_LANES], count;
};

struct ht_seek {
    const struct ht_view *v;
    const struct ht_par *par;
    trg_u32 first, n;          /* the first hits: places from `first` on */
    __mmask16 open[HT_CHUNKS]; /* those that still look */
    struct ht_triplet best[HT_FIRSTS];
    struct ht_list pairs;  /* that look for third hits */
    trg_u32 second, third; /* stations */
    struct ht_station at_third;
};

/* ---------------------------------------------------------------- lists */

/* Sixteen words to the end of a list, those of the lanes first. */
static inline void ht_push16(trg_u32 *to, __mmask16 lanes, __m512i words)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(lanes, words));
}

static inline void ht_append16(struct ht_list *list, __mmask16 lanes, const struct ht_pairs16 *p)
{
    ht_push16(list->who + list->count, lanes, p->who);
    ht_push16(list->second + list->count, lanes, p->second);
    list->count += (trg_u32)__builtin_popcount(lanes);
}

/* The first sixteen words; the others move up. */
static inline __m512i ht_pop16(trg_u32 *words)
{
    const __m512i these = _mm512_loadu_si512(words);

    _mm512_storeu_si512(words, _mm512_loadu_si512(words + HT_LANES));
    return these;
}

static inline __mmask16 ht_take16(struct ht_list *list, struct ht_pairs16 *ret)
{
    const __mmask16 lanes = ht_lanes(list->count);

    ret->who = _mm512_maskz_mov_epi32(lanes, ht_pop16(list->who));
    ret->second = _mm512_maskz_mov_epi32(lanes, ht_pop16(list->second));
    list->count = list->count > HT_LANES ? list->count - HT_LANES : 0u;
    return lanes;
}

/* ---------------------------------------------------------------- third hits */

/* The lines through the second hits and the first ones. */
static inline struct ht_lines16 ht_lines_of16(const struct ht_seek *s, const struct ht_pairs16 *p,
                                              __mmask16 lanes)
{
    const __m512i first = _mm512_add_epi32(p->who, _mm512_set1_epi32((int)s->first));
    const struct ht_hits16 h0 = ht_hits_at16(s->v, first, lanes);
    const struct ht_hits16 h = ht_hits_at16(s->v, p->second, lanes);
    const __m512 inv = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sub_ps(h0.z, h.z));

    return (struct ht_lines16){.x = h.x,
                               .y = h.y,
                               .z = h.z,
                               .tx = _mm512_mul_ps(_mm512_sub_ps(h0.x, h.x), inv),
                               .ty = _mm512_mul_ps(_mm512_sub_ps(h0.y, h.y), inv)};
}

/* ht_third_tolerance */
static inline __m512 ht_third_tolerance16(const struct ht_par *par, __m512 dz)
{
    const __m512 wide = _mm512_add_ps(_mm512_set1_ps(par->third_mm),
                                      _mm512_mul_ps(_mm512_set1_ps(par->third_rad), dz));

    return _mm512_min_ps(wide, _mm512_set1_ps(par->common.tol_max_mm));
}

struct ht_seeking16 { /* pairs that look for third hits */
    struct ht_lines16 l;
    __m512i layer; /* of the second hit */
    trg_u32 who[HT_LANES], second[HT_LANES];
};

/* Offers the triplets of pairs, each with its lane, with third hits at `at` to their first hits. */
static inline void ht_offer16(struct ht_seek *s, const struct ht_seeking16 *p, __m512 share,
                              __m512i at, __m512i lane, __mmask16 found)
{
    trg_u32 third[HT_LANES], lanes[HT_LANES];
    float shares[HT_LANES];

    _mm512_storeu_si512(third, at);
    _mm512_storeu_si512(lanes, lane);
    _mm512_storeu_ps(shares, share);
    for (trg_u32 left = found; left; left &= left - 1u) {
        const trg_u32 k = (trg_u32)__builtin_ctz(left), second = p->second[lanes[k]];
        struct ht_triplet *its = &s->best[p->who[lanes[k]]];

        if (ht_is_better(*s->v, its, shares[k], second, third[k]))
            *its = (struct ht_triplet){shares[k], second, third[k]};
    }
}

/* Offers those of the hits at `at` that are on the line of the pair with their lane, on another
 * layer than its second hit. */
static inline void ht_find_thirds16(struct ht_seek *s, const struct ht_seeking16 *p, __m512i at,
                                    __m512i lane, __mmask16 lanes)
{
    const struct ht_lines16 l = ht_lines_for16(&p->l, lane);
    const struct ht_hits16 h = ht_hits_at16(s->v, at, lanes);
    const __m512 off = ht_off2_16(&l, &h), d = _mm512_sub_ps(l.z, h.z);
    const __m512 tol = ht_third_tolerance16(s->par, d), most = _mm512_mul_ps(tol, tol);
    const __mmask16 behind = _mm512_mask_cmp_ps_mask(lanes, d, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __mmask16 near =
        ht_same_side16(&l, &h, _mm512_mask_cmp_ps_mask(behind, off, most, _CMP_LE_OQ));
    __m512i id;

    if (!near)
        return;
    id = _mm512_srli_epi32(ht_gather_words16(s->v->id, at, near), HT_ITEM_BITS);
    ht_offer16(s, p, _mm512_div_ps(off, most), at, lane,
               _mm512_mask_cmpneq_epi32_mask(near, id, _mm512_permutexvar_epi32(lane, p->layer)));
}

/* Up to sixteen pairs that are listed look for third hits. */
static inline void ht_find_triplets16(struct ht_seek *s)
{
    struct ht_pairs16 pairs;
    const __mmask16 lanes = ht_take16(&s->pairs, &pairs);
    struct ht_seeking16 p = {.l = ht_lines_of16(s, &pairs, lanes)};
    const __m512 dz = _mm512_sub_ps(_mm512_set1_ps(s->at_third.middle), p.l.z);
    const __m512 far = _mm512_add_ps(ht_abs16(dz), _mm512_set1_ps(s->at_third.depth));
    __m512 x, y;
    const __m512 drift = ht_move16(&p.l, dz, s->at_third.depth, &x, &y);
    const __m512 reach = _mm512_add_ps(ht_third_tolerance16(s->par, far), drift);
    const struct ht_windows16 w = ht_windows_of16(s->v, s->third, x, y, reach, lanes);
    struct ht_spread hits;

    p.layer = _mm512_srli_epi32(ht_gather_words16(s->v->id, pairs.second, lanes), HT_ITEM_BITS);
    _mm512_storeu_si512(p.who, pairs.who);
    _mm512_storeu_si512(p.second, pairs.second);
    ht_spread_begin(&hits, &w);
    while (ht_spread_next(&hits))
        for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
            ht_find_thirds16(s, &p, _mm512_loadu_si512(hits.at + k),
                             _mm512_loadu_si512(hits.lane + k), ht_lanes(hits.n - k));
}

/* ---------------------------------------------------------------- second hits */

/* ht_may_pair; d: from the second hits to the first. */
static inline __mmask16 ht_may_pair16(const struct hg_par *par, __m512 window,
                                      const struct ht_hits16 *d, const struct ht_hits16 *h,
                                      __mmask16 lanes)
{
    const __m512 zero = _mm512_setzero_ps(), window2 = _mm512_mul_ps(window, window);
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

struct ht_starts16 { /* first hits */
    struct ht_hits16 h;
    __m512i id, from; /* from: number of the first of them */
    __m512 window;    /* for second hits */
};

/* The first hits of a chunk, with their windows as ht_window_in_crowd has them. */
static inline struct ht_starts16 ht_starts_of16(const struct ht_seek *s, trg_u32 chunk,
                                                float window)
{
    const trg_u32 *begin = s->v->begin + s->second * s->v->buckets;
    const float n = (float)(begin[s->v->buckets] - begin[0]);
    const trg_u32 at = s->first + chunk * HT_LANES;
    const __mmask16 lanes = s->open[chunk];
    struct ht_starts16 t;
    __m512 r2, most;

    t.h.x = _mm512_maskz_loadu_ps(lanes, s->v->x + at);
    t.h.y = _mm512_maskz_loadu_ps(lanes, s->v->y + at);
    t.h.z = _mm512_maskz_loadu_ps(lanes, s->v->z + at);
    t.id = _mm512_maskz_loadu_epi32(lanes, s->v->id + at);
    t.from = _mm512_set1_epi32((int)(chunk * HT_LANES));
    r2 = _mm512_add_ps(_mm512_mul_ps(t.h.x, t.h.x), _mm512_mul_ps(t.h.y, t.h.y));
    most = _mm512_mul_ps(_mm512_set1_ps(s->par->crowd_pi), _mm512_sqrt_ps(r2));
    t.window = _mm512_set1_ps(window);
    t.window = _mm512_mask_div_ps(t.window,
                                  _mm512_cmp_ps_mask(_mm512_set1_ps(window * n), most, _CMP_GT_OQ),
                                  most, _mm512_set1_ps(n));
    return t;
}

/* Lists the pairs of first hits, each with its lane, with the hits at `at`. */
static inline void ht_list_pairs16(struct ht_seek *s, const struct ht_starts16 *t, __m512i at,
                                   __m512i lane, __mmask16 lanes)
{
    const struct ht_hits16 h = ht_hits_at16(s->v, at, lanes), h0 = ht_hits_of16(&t->h, lane);
    const struct ht_hits16 d = {.x = _mm512_sub_ps(h0.x, h.x),
                                .y = _mm512_sub_ps(h0.y, h.y),
                                .z = _mm512_sub_ps(h0.z, h.z)};
    const __mmask16 may =
        ht_may_pair16(&s->par->common, _mm512_permutexvar_ps(lane, t->window), &d, &h, lanes);
    const __m512i ids = _mm512_xor_si512(ht_gather_words16(s->v->id, at, may),
                                         _mm512_permutexvar_epi32(lane, t->id));
    const struct ht_pairs16 p = {.who = _mm512_add_epi32(t->from, lane), .second = at};

    ht_append16(&s->pairs, _mm512_mask_test_epi32_mask(may, ids, _mm512_set1_epi32((int)~HT_ITEM)),
                &p);
    if (s->pairs.count >= HT_LANES)
        ht_find_triplets16(s);
}

/* The first hits of a chunk look for triplets. */
static inline void ht_find_seconds16(struct ht_seek *s, trg_u32 chunk, float window)
{
    const struct ht_starts16 t = ht_starts_of16(s, chunk, window);
    const struct ht_windows16 w =
        ht_windows_of16(s->v, s->second, t.h.x, t.h.y, t.window, s->open[chunk]);
    struct ht_spread hits;

    ht_spread_begin(&hits, &w);
    while (ht_spread_next(&hits))
        for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
            ht_list_pairs16(s, &t, _mm512_loadu_si512(hits.at + k),
                            _mm512_loadu_si512(hits.lane + k), ht_lanes(hits.n - k));
}

/* ---------------------------------------------------------------- triplets */

/* The first hits that have a triplet look no further. */
static inline void ht_close(struct ht_seek *s)
{
    for (trg_u32 i = 0; i < s->n; i++)
        if (s->best[i].second != HT_NONE)
            s->open[i / HT_LANES] &= (__mmask16) ~(1u << i % HT_LANES);
}

/* ht_find_triplet for n <= HT_FIRSTS hits of a station from `first` on. */
static inline void ht_find_triplets(struct ht_seek *s, const struct ht_stations *all,
                                    trg_u32 station)
{
    for (trg_u32 i = 0; i < HT_FIRSTS; i += HT_LANES) {
        const __mmask16 lanes = ht_lanes(i < s->n ? s->n - i : 0u);

        s->open[i / HT_LANES] =
            _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, s->v->x + s->first + i),
                                    _mm512_set1_ps(HT_USED), _CMP_LT_OQ);
    }
    for (trg_u32 i = 0; i < s->n; i++)
        s->best[i] = (struct ht_triplet){1.0f, HT_NONE, HT_NONE};
    for (trg_u32 way = 0; way < (s->par->is_wide ? 5u : 1u); way++) {
        const trg_u32 back1 = way == 1u ? 0u : way == 4u ? 2u : 1u;
        const trg_u32 back2 = way == 0u ? 2u : way < 3u ? 1u : 3u;

        if (way == 1u || way == 3u)
            ht_close(s);
        s->second = station - back1;
        s->third = station - back2;
        if (station < back2 || !(s->at_third = ht_station_of(all, s->third)).has_hits)
            continue;
        for (trg_u32 c = 0; c < HT_CHUNKS; c++)
            if (s->open[c])
                ht_find_seconds16(s, c, way ? s->par->narrow_mm : s->par->window_mm);
        if (s->pairs.count)
            ht_find_triplets16(s);
    }
}

/* Begins roads at those of the hits from <= h < to of station `behind` that find a triplet. */
static inline void ht_begin_roads(const struct ht_view v, const struct ht_par par,
                                  const struct ht_stations *all, trg_u32 from, trg_u32 to,
                                  trg_u32 behind, const struct ht_begun b)
{
    struct ht_seek s;

    s.v = &v;
    s.par = &par;
    s.pairs.count = 0u;
    for (s.first = from; s.first < to; s.first += HT_FIRSTS) {
        s.n = to - s.first < HT_FIRSTS ? to - s.first : HT_FIRSTS;
        ht_find_triplets(&s, all, behind);
        for (trg_u32 i = 0; i < s.n; i++)
            if (s.best[i].second != HT_NONE)
                ht_add_road(v, b, s.first + i, s.best[i]);
    }
}
#endif
