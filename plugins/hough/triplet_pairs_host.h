/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_pairs_host.h - ht_find_triplet on a core with AVX-512, for up to thirty-two hits of a
 * station at once: the windows of all, all hits in them, the pairs that they make, the windows of
 * all pairs, all hits in these.  Each step has no branch that waits for the one before, which costs
 * more than its arithmetic. */
#ifndef HOUGH_TRIPLET_PAIRS_HOST_H
#define HOUGH_TRIPLET_PAIRS_HOST_H
#include "triplet_roads_host.h"

struct ht_firsts { /* hits that look for triplets */
    trg_u32 n, place[HT_LINES + HT_LANES];
    __m512 x[2], y[2], z[2], r[2]; /* r: from the beam line */
    __m512i id[2];
    __mmask16 open[2];
    struct ht_triplet best[HT_LINES];
    trg_u32 have; /* bits of those that have one */
};

struct ht_list { /* pairs: number of the first hit, place of the second one */
    trg_u32 who[2u * HT_SPREAD + HT_LANES], second[2u * HT_SPREAD + HT_LANES], n;
};

struct ht_seek {
    const struct ht_view *v;
    const struct ht_par *par;
    struct ht_firsts firsts;
    struct ht_list pairs; /* that look for third hits, */
    trg_u32 third;        /* on this station */
    struct ht_station at_third;
};

/* ---------------------------------------------------------------- third hits */

/* ht_third_tolerance */
static inline __m512 ht_third_tolerance16(const struct ht_par *par, __m512 dz)
{
    const __m512 wide = _mm512_add_ps(_mm512_set1_ps(par->third_mm),
                                      _mm512_mul_ps(_mm512_set1_ps(par->third_rad), dz));

    return _mm512_min_ps(wide, _mm512_set1_ps(par->common.tol_max_mm));
}

struct ht_seconds { /* up to thirty-two pairs */
    struct ht_lines16 l[2];
    __m512i layer[2]; /* of the second hit */
    const trg_u32 *who, *second;
};

/* Offers triplets of pairs, each with its lane, with third hits at `at` to their first hits. */
static inline void ht_offer16(struct ht_seek *s, const struct ht_seconds *p, __m512 share,
                              const trg_u32 *at, const trg_u32 *lane, __mmask16 found)
{
    float shares[HT_LANES];

    _mm512_storeu_ps(shares, share);
    for (trg_u32 left = found; left; left &= left - 1u) {
        const trg_u32 k = (trg_u32)__builtin_ctz(left), who = p->who[lane[k]];
        const struct ht_triplet offer = {shares[k], p->second[lane[k]], at[k]};

        if (ht_is_better(*s->v, &s->firsts.best[who], offer.share, offer.second, offer.third)) {
            s->firsts.best[who] = offer;
            s->firsts.have |= 1u << who;
        }
    }
}

/* Offers those of the hits at `at` that are on the line of the pair with their lane, on another
 * layer than its second hit. */
static inline void ht_find_thirds16(struct ht_seek *s, const struct ht_seconds *p,
                                    const struct ht_spread *hits, trg_u32 from)
{
    const __m512i lane = _mm512_loadu_si512(hits->lane + from);
    const struct ht_lines16 l = ht_pick_lines16(p->l, lane);
    const struct ht_hits16 h = ht_spread_hits16(hits, from);
    const __mmask16 lanes = ht_lanes(hits->n - from);
    const __m512 off = ht_off2_16(&l, &h), d = _mm512_sub_ps(l.z, h.z);
    const __m512 tol = ht_third_tolerance16(s->par, d), most = _mm512_mul_ps(tol, tol);
    const __mmask16 behind = _mm512_mask_cmp_ps_mask(lanes, d, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __mmask16 near =
        ht_same_side16(&l, &h, _mm512_mask_cmp_ps_mask(behind, off, most, _CMP_LE_OQ));
    __m512i layer;

    if (!near)
        return;
    layer = _mm512_srli_epi32(
        ht_gather_words16(s->v->id, _mm512_loadu_si512(hits->at + from), near), HT_ITEM_BITS);
    ht_offer16(s, p, _mm512_div_ps(off, most), hits->at + from, hits->lane + from,
               _mm512_mask_cmpneq_epi32_mask(near, layer, ht_pick_words16(p->layer, lane)));
}

/* The windows of sixteen pairs, in vector `part` of up to thirty-two. */
static inline void ht_find_windows16(const struct ht_seek *s, struct ht_seconds *p, trg_u32 part,
                                     __mmask16 lanes, struct ht_spread *hits)
{
    const struct ht_firsts *f = &s->firsts;
    const __m512i who = _mm512_maskz_loadu_epi32(lanes, p->who + part * HT_LANES);
    const __m512i second = _mm512_maskz_loadu_epi32(lanes, p->second + part * HT_LANES);
    const struct ht_hits16 h = ht_hits_at16(s->v, second, lanes);
    const __m512 inv =
        _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sub_ps(ht_pick16(f->z, who), h.z));
    const struct ht_lines16 l = {.x = h.x,
                                 .y = h.y,
                                 .z = h.z,
                                 .tx = _mm512_mul_ps(_mm512_sub_ps(ht_pick16(f->x, who), h.x), inv),
                                 .ty =
                                     _mm512_mul_ps(_mm512_sub_ps(ht_pick16(f->y, who), h.y), inv)};
    const __m512 dz = _mm512_sub_ps(_mm512_set1_ps(s->at_third.middle), l.z);
    const __m512 far = _mm512_add_ps(ht_abs16(dz), _mm512_set1_ps(s->at_third.depth));
    __m512 x, y;
    const __m512 drift = ht_move16(&l, dz, s->at_third.depth, &x, &y);
    const __m512 reach = _mm512_add_ps(ht_third_tolerance16(s->par, far), drift);
    const struct ht_windows16 w = ht_windows_of16(s->v, s->third, x, y, reach, lanes);

    p->l[part] = l;
    p->layer[part] = _mm512_srli_epi32(ht_gather_words16(s->v->id, second, lanes), HT_ITEM_BITS);
    ht_spread_add(hits, part, &w);
}

/* The pairs that are listed look for third hits. */
static inline void ht_find_thirds(struct ht_seek *s)
{
    for (trg_u32 from = 0; from < s->pairs.n; from += HT_LINES) {
        const trg_u32 n = s->pairs.n - from;
        struct ht_seconds p = {.who = s->pairs.who + from, .second = s->pairs.second + from};
        struct ht_spread hits;

        hits.left = 0u;
        ht_find_windows16(s, &p, 0u, ht_lanes(n), &hits);
        if (n > HT_LANES)
            ht_find_windows16(s, &p, 1u, ht_lanes(n - HT_LANES), &hits);
        while (ht_spread_next(&hits, s->v))
            for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
                ht_find_thirds16(s, &p, &hits, k);
    }
    s->pairs.n = 0u;
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

/* Lists the pairs of first hits, each with its lane, with the hits at `at`. */
static inline void ht_list_pairs16(struct ht_seek *s, const __m512 window[2],
                                   const struct ht_spread *hits, trg_u32 from)
{
    const struct ht_firsts *f = &s->firsts;
    const __m512i at = _mm512_loadu_si512(hits->at + from);
    const __m512i lane = _mm512_loadu_si512(hits->lane + from);
    const struct ht_hits16 h = ht_spread_hits16(hits, from);
    const __mmask16 lanes = ht_lanes(hits->n - from);
    const struct ht_hits16 d = {.x = _mm512_sub_ps(ht_pick16(f->x, lane), h.x),
                                .y = _mm512_sub_ps(ht_pick16(f->y, lane), h.y),
                                .z = _mm512_sub_ps(ht_pick16(f->z, lane), h.z)};
    const __mmask16 may = ht_may_pair16(&s->par->common, ht_pick16(window, lane), &d, &h, lanes);
    const __m512i ids =
        _mm512_xor_si512(ht_gather_words16(s->v->id, at, may), ht_pick_words16(f->id, lane));
    const __mmask16 pairs = _mm512_mask_test_epi32_mask(may, ids, _mm512_set1_epi32((int)~HT_ITEM));

    _mm512_storeu_si512(s->pairs.who + s->pairs.n, _mm512_maskz_compress_epi32(pairs, lane));
    _mm512_storeu_si512(s->pairs.second + s->pairs.n, _mm512_maskz_compress_epi32(pairs, at));
    s->pairs.n += (trg_u32)__builtin_popcount(pairs);
}

/* The first hits that are open look for second ones on a station, in windows as
 * ht_window_in_crowd has them. */
static inline void ht_find_seconds(struct ht_seek *s, trg_u32 station, float window_mm)
{
    const trg_u32 *begin = s->v->begin + station * s->v->buckets;
    const float n = (float)(begin[s->v->buckets] - begin[0]);
    const struct ht_firsts *f = &s->firsts;
    __m512 window[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    struct ht_spread hits;

    hits.left = 0u;
    for (trg_u32 c = 0; c < 2u && n > 0.0f; c++)
        if (f->open[c]) {
            const __m512 all = _mm512_set1_ps(window_mm);
            const __m512 most = _mm512_mul_ps(_mm512_set1_ps(s->par->crowd_pi), f->r[c]);
            struct ht_windows16 w;

            window[c] = _mm512_mask_div_ps(
                all, _mm512_cmp_ps_mask(_mm512_set1_ps(window_mm * n), most, _CMP_GT_OQ), most,
                _mm512_set1_ps(n));
            w = ht_windows_of16(s->v, station, f->x[c], f->y[c], window[c], f->open[c]);
            ht_spread_add(&hits, c, &w);
        }
    while (ht_spread_next(&hits, s->v)) {
        for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
            ht_list_pairs16(s, window, &hits, k);
        if (s->pairs.n > HT_SPREAD)
            ht_find_thirds(s);
    }
}

/* ---------------------------------------------------------------- triplets */

/* The first hits at their places. */
static inline void ht_take_firsts(const struct ht_view *v, struct ht_firsts *f)
{
    for (trg_u32 c = 0; c < 2u; c++) {
        const __mmask16 lanes = ht_lanes(f->n > c * HT_LANES ? f->n - c * HT_LANES : 0u);
        const __m512i at = _mm512_maskz_loadu_epi32(lanes, f->place + c * HT_LANES);
        const struct ht_hits16 h = ht_hits_at16(v, at, lanes);

        f->x[c] = h.x;
        f->y[c] = h.y;
        f->z[c] = h.z;
        f->r[c] = _mm512_sqrt_ps(_mm512_add_ps(_mm512_mul_ps(h.x, h.x), _mm512_mul_ps(h.y, h.y)));
        f->id[c] = ht_gather_words16(v->id, at, lanes);
        f->open[c] = lanes;
    }
    for (trg_u32 i = 0; i < f->n; i++)
        f->best[i] = (struct ht_triplet){1.0f, HT_NONE, HT_NONE};
    f->have = 0u;
}

/* ht_find_triplet for the first hits, of a station.  Its ways are here by the station of the third
 * hit: pairs that look on the same one look together. */
static inline void ht_find_triplets(struct ht_seek *s, const struct ht_stations *all,
                                    trg_u32 station)
{
    static const trg_u32 third[] = {2u, 1u, 3u}, second[] = {1u, 0u, 1u}; /* stations behind */
    struct ht_firsts *f = &s->firsts;

    ht_take_firsts(s->v, f);
    for (trg_u32 way = 0; way < (s->par->is_wide ? 3u : 1u); way++) {
        f->open[0] &= (__mmask16)~f->have;
        f->open[1] &= (__mmask16) ~(f->have >> HT_LANES);
        s->third = station - third[way];
        if (station < third[way] || !(s->at_third = ht_station_of(all, s->third)).has_hits)
            continue;
        ht_find_seconds(s, station - second[way], way ? s->par->narrow_mm : s->par->window_mm);
        if (way)
            ht_find_seconds(s, station - second[way] - 1u, s->par->narrow_mm);
        ht_find_thirds(s);
    }
}

/* Begins roads at those of the hits from <= h < to of station `behind` that find a triplet, and
 * returns how many. */
static inline trg_u32 ht_begin_roads(const struct ht_view v, const struct ht_par par,
                                     const struct ht_stations *all, trg_u32 from, trg_u32 to,
                                     trg_u32 behind, struct ht_roads *roads)
{
    struct ht_seek s;
    struct ht_firsts *f = &s.firsts;
    const trg_u32 before = roads->n;

    s.v = &v;
    s.par = &par;
    s.pairs.n = f->n = 0u;
    for (trg_u32 h = from; h < to; h += HT_LANES) {
        const __mmask16 lanes = ht_lanes(to - h);
        const __mmask16 is_free = _mm512_mask_cmp_ps_mask(
            lanes, _mm512_maskz_loadu_ps(lanes, v.x + h), _mm512_set1_ps(HT_USED), _CMP_LT_OQ);

        _mm512_storeu_si512(f->place + f->n, _mm512_maskz_compress_epi32(is_free, ht_numbers16(h)));
        f->n += (trg_u32)__builtin_popcount(is_free);
        if (!f->n || (f->n <= HT_LANES && h + HT_LANES < to))
            continue;
        ht_find_triplets(&s, all, behind);
        for (trg_u32 left = f->have; left; left &= left - 1u) {
            const trg_u32 k = (trg_u32)__builtin_ctz(left);
            struct ht_road road;

            ht_begin_road(v, f->place[k], f->best[k], &road);
            ht_store_road(roads, roads->n++, &road);
        }
        f->n = 0u;
    }
    return roads->n - before;
}
#endif
