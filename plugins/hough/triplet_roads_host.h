/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_roads_host.h - roads on a core with AVX-512: ht_want for thirty-two of them at once,
 * ht_take and ht_release for sixteen.  The roads that are followed lie side by side in columns, so
 * that a step loads them in one piece; those that have ended are in columns of their own. */
#ifndef HOUGH_TRIPLET_ROADS_HOST_H
#define HOUGH_TRIPLET_ROADS_HOST_H
#include "triplet_lanes_host.h"

#define HT_ROAD_WORDS   (sizeof(struct ht_road) / 4u)
#define HT_ROAD_WORD(m) (offsetof(struct ht_road, m) / 4u)

struct ht_roads {  /* of an RoI */
    trg_u32 *word; /* word w of road i, as in struct ht_road, is word[w * room + i] */
    trg_u32 room, n;
};

static inline trg_u32 *ht_road_words(const struct ht_roads *r, size_t word, trg_u32 at)
{
    return r->word + word * r->room + at;
}

static inline __m512i ht_load_words16(const struct ht_roads *r, size_t word, trg_u32 at,
                                      __mmask16 lanes)
{
    return _mm512_maskz_loadu_epi32(lanes, ht_road_words(r, word, at));
}

static inline __m512 ht_load_floats16(const struct ht_roads *r, size_t word, trg_u32 at,
                                      __mmask16 lanes)
{
    return _mm512_castsi512_ps(ht_load_words16(r, word, at, lanes));
}

static inline void ht_store_words16(const struct ht_roads *r, size_t word, trg_u32 at,
                                    __mmask16 lanes, __m512i words)
{
    _mm512_mask_storeu_epi32(ht_road_words(r, word, at), lanes, words);
}

static inline void ht_store_floats16(const struct ht_roads *r, size_t word, trg_u32 at,
                                     __mmask16 lanes, __m512 floats)
{
    ht_store_words16(r, word, at, lanes, _mm512_castps_si512(floats));
}

/* Where the words of a road are. */
static inline __m512i ht_road_strides(const struct ht_roads *r)
{
    return _mm512_mullo_epi32(ht_numbers16(0u), _mm512_set1_epi32((int)r->room));
}

static inline void ht_store_road(const struct ht_roads *r, trg_u32 at, const struct ht_road *road)
{
    _mm512_i32scatter_epi32(r->word + at, ht_road_strides(r), _mm512_loadu_si512(road), 4);
}

static inline struct ht_road ht_load_road(const struct ht_roads *r, trg_u32 at)
{
    struct ht_road road;

    _mm512_storeu_si512(&road, _mm512_i32gather_epi32(ht_road_strides(r), r->word + at, 4));
    return road;
}

static inline __mmask16 ht_are16(__m512i words, trg_u32 word, __mmask16 lanes)
{
    return _mm512_mask_cmpeq_epi32_mask(lanes, words, _mm512_set1_epi32((int)word));
}

static inline __mmask16 ht_are_not16(__m512i words, trg_u32 word, __mmask16 lanes)
{
    return _mm512_mask_cmpneq_epi32_mask(lanes, words, _mm512_set1_epi32((int)word));
}

/* ---------------------------------------------------------------- what they want */

struct ht_nearest { /* as struct ht_near, of thirty-two roads: on even layers, and on odd ones */
    trg_u64 key[2][HT_LINES]; /* the bits of how near, then the id */
    trg_u32 at[2][HT_LINES];
};

struct ht_looks16 { /* where roads look, as ht_look_from says it */
    struct ht_lines16 l;
    struct ht_windows16 w;
    __m512 most;
};

static inline struct ht_looks16 ht_looks_from16(const struct ht_view *v, const struct ht_par *par,
                                                const struct ht_roads *r, trg_u32 at,
                                                trg_u32 station, const struct ht_station *s,
                                                __mmask16 lanes)
{
    struct ht_looks16 look;
    __m512 dz, tol, drift, x, y;

    look.l.x = ht_load_floats16(r, HT_ROAD_WORD(x), at, lanes);
    look.l.y = ht_load_floats16(r, HT_ROAD_WORD(y), at, lanes);
    look.l.z = ht_load_floats16(r, HT_ROAD_WORD(z), at, lanes);
    look.l.tx = ht_load_floats16(r, HT_ROAD_WORD(tx), at, lanes);
    look.l.ty = ht_load_floats16(r, HT_ROAD_WORD(ty), at, lanes);
    dz = _mm512_sub_ps(_mm512_set1_ps(s->middle), look.l.z);
    tol = _mm512_add_ps(_mm512_set1_ps(par->common.tol_mm),
                        _mm512_mul_ps(_mm512_set1_ps(par->common.tol_rad), ht_abs16(dz)));
    tol = _mm512_min_ps(tol, _mm512_set1_ps(par->common.tol_max_mm));
    drift = ht_move16(&look.l, dz, s->depth, &x, &y);
    look.most = _mm512_mul_ps(tol, tol);
    look.w = ht_windows_of16(v, station, x, y, _mm512_add_ps(tol, drift), lanes);
    return look;
}

static inline void ht_none_is_near16(struct ht_nearest *nearest, trg_u32 c, __m512 most)
{
    const __m512i bits = _mm512_castps_si512(most), none = _mm512_set1_epi32(-1);
    const __m512i low = _mm512_unpacklo_epi32(none, bits), high = _mm512_unpackhi_epi32(none, bits);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);

    for (trg_u32 odd = 0; odd < 2u; odd++) {
        _mm512_storeu_si512(nearest->key[odd] + c, _mm512_permutex2var_epi64(low, first, high));
        _mm512_storeu_si512(nearest->key[odd] + c + 8u, _mm512_permutex2var_epi64(low, last, high));
        _mm512_storeu_si512(nearest->at[odd] + c, none);
    }
}

/* How near the nearest hits of sixteen roads are. */
static inline __m512 ht_least16(const struct ht_nearest *nearest, trg_u32 odd, trg_u32 c)
{
    const __m512i odds =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);

    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi32(_mm512_loadu_si512(nearest->key[odd] + c), odds,
                                  _mm512_loadu_si512(nearest->key[odd] + c + 8u)));
}

/* ht_keep_nearer, of those that are listed; none of the choices is a branch. */
static inline void ht_keep_nearer_of(const struct ht_view *v, const struct ht_near_list *list,
                                     struct ht_nearest *to)
{
    for (trg_u32 i = 0; i < list->n; i++) {
        const trg_u32 at = list->at[i], road = list->lane[i], id = v->id[at];
        const trg_u32 odd = id >> HT_ITEM_BITS & 1u;
        const trg_u64 key = (trg_u64)trg_as_u32(list->off[i]) << 32 | id, was = to->key[odd][road];

        to->key[odd][road] = key < was ? key : was;
        to->at[odd][road] = key < was ? at : to->at[odd][road];
    }
}

/* Lists those of sixteen hits that are near to the road with their lane. */
static inline void ht_find_nearest16(const struct ht_lines16 l[2], const __m512 most[2],
                                     const struct ht_spread *hits, trg_u32 from,
                                     struct ht_near_list *list)
{
    const __m512i lane = _mm512_loadu_si512(hits->lane + from);
    const struct ht_lines16 its = ht_pick_lines16(l, lane);
    const struct ht_hits16 h = ht_spread_hits16(hits, from);
    const __mmask16 lanes = ht_lanes(hits->n - from);
    const __m512 off = ht_off2_16(&its, &h);

    ht_list_near16(
        list, hits, from, off,
        ht_same_side16(&its, &h,
                       _mm512_mask_cmp_ps_mask(lanes, off, ht_pick16(most, lane), _CMP_LE_OQ)));
}

/* Which of the roads in `three`, all of three hits, have lost one of them to another road. */
static inline __mmask16 ht_are_robbed16(const struct ht_view *v, const struct ht_roads *r,
                                        trg_u32 at, __mmask16 three)
{
    __mmask16 robbed = 0;

    for (trg_u32 k = 0; three && k < 3u; k++)
        robbed |= _mm512_mask_cmp_ps_mask(
            three, ht_gather16(v->x, ht_load_words16(r, HT_ROAD_WORD(first) + k, at, three), three),
            _mm512_set1_ps(HT_USED), _CMP_GE_OQ);
    return robbed;
}

/* Which of the roads from `at` on look for hits; ends those that have lost their first three to
 * another road.  None wants a hit yet. */
static inline __mmask16 ht_which_look16(const struct ht_view *v, const struct ht_par *par,
                                        const struct ht_roads *r, trg_u32 at, __mmask16 lanes,
                                        trg_u32 station)
{
    const __m512i n = ht_load_words16(r, HT_ROAD_WORD(n), at, lanes), none = _mm512_set1_epi32(-1);
    const __m512i from = _mm512_srl_epi32(ht_load_words16(r, HT_ROAD_WORD(layer), at, lanes),
                                          _mm_cvtsi32_si128((int)par->station_shift));
    const __mmask16 robbed = ht_are_robbed16(v, r, at, ht_are16(n, 3u, lanes));

    ht_store_words16(r, HT_ROAD_WORD(n), at, robbed, _mm512_setzero_si512());
    ht_store_words16(r, HT_ROAD_WORD(near), at, lanes, none);
    ht_store_words16(r, HT_ROAD_WORD(near) + 1u, at, lanes, none);
    return ht_are_not16(n, HG_TRACK_HITS,
                        _mm512_mask_cmp_epu32_mask(lanes & (__mmask16)~robbed, from,
                                                   _mm512_set1_epi32((int)station),
                                                   _MM_CMPINT_NLE));
}

/* Roads of a layer want the nearest hits of one kind of layer, if that is not too far. */
static inline __mmask16 ht_wish16(const struct ht_view *v, const struct ht_par *par,
                                  const struct ht_roads *r, trg_u32 at, trg_u32 odd, __m512i hit,
                                  __mmask16 lanes)
{
    const __mmask16 any = ht_are_not16(hit, HT_NONE, lanes);
    const __m512i layer = _mm512_srli_epi32(ht_gather_words16(v->id, hit, any), HT_ITEM_BITS);
    const __mmask16 wish = _mm512_mask_cmp_epu32_mask(
        any, _mm512_sub_epi32(ht_load_words16(r, HT_ROAD_WORD(layer), at, lanes), layer),
        _mm512_set1_epi32((int)par->common.max_gap), _MM_CMPINT_LE);

    ht_store_words16(r, HT_ROAD_WORD(near) + odd, at, wish, hit);
    return wish;
}

static inline void ht_claim_words(const struct ht_view *v, const struct ht_roads *r, size_t word,
                                  trg_u32 at, trg_u32 roads)
{
    for (trg_u32 left = roads; left; left &= left - 1u) {
        const trg_u32 k = at + (trg_u32)__builtin_ctz(left);

        ht_min(&v->claim[*ht_road_words(r, word, k)], *ht_road_words(r, HT_ROAD_WORD(key), k));
    }
}

/* Keys by what is 0 for the best roads and 1 for the worst ones. */
static inline void ht_store_keys16(const struct ht_roads *r, trg_u32 at, __mmask16 lanes,
                                   __m512 share)
{
    const __m512i rank = _mm512_cvttps_epu32(_mm512_mul_ps(share, _mm512_set1_ps(2047.0f)));

    ht_store_words16(r, HT_ROAD_WORD(key), at, lanes,
                     _mm512_or_si512(_mm512_slli_epi32(rank, HT_ITEM_BITS),
                                     ht_load_words16(r, HT_ROAD_WORD(item), at, lanes)));
}

/* ht_claim_nearest for sixteen roads from number c on of those whose nearest hits these are. */
static inline void ht_claim16(const struct ht_view *v, const struct ht_par *par,
                              const struct ht_roads *r, trg_u32 at,
                              const struct ht_nearest *nearest, trg_u32 c, __m512 most,
                              __mmask16 lanes)
{
    const __m512 least = _mm512_min_ps(ht_least16(nearest, 0u, c), ht_least16(nearest, 1u, c));
    const __m512 all = _mm512_div_ps(least, most);
    const __mmask16 three = ht_are16(ht_load_words16(r, HT_ROAD_WORD(n), at, lanes), 3u, lanes);
    const __m512 share =
        _mm512_mask_mul_ps(all, three, _mm512_set1_ps(0.5f),
                           _mm512_add_ps(all, ht_load_floats16(r, HT_ROAD_WORD(share), at, lanes)));
    const __mmask16 even =
        ht_wish16(v, par, r, at, 0u, _mm512_loadu_si512(nearest->at[0] + c), lanes);
    const __mmask16 odd =
        ht_wish16(v, par, r, at, 1u, _mm512_loadu_si512(nearest->at[1] + c), lanes);

    ht_store_keys16(r, at, lanes, share);
    ht_claim_words(v, r, HT_ROAD_WORD(near), at, even);
    ht_claim_words(v, r, HT_ROAD_WORD(near) + 1u, at, odd);
    for (trg_u32 k = 0; k < 3u; k++)
        ht_claim_words(v, r, HT_ROAD_WORD(first) + k, at, (trg_u32)(three & (even | odd)));
}

/* Up to thirty-two roads from `at` on claim what is nearest in their windows. */
static inline void ht_want32(const struct ht_view *v, const struct ht_par *par,
                             const struct ht_roads *r, trg_u32 at, trg_u32 station,
                             const struct ht_station *s)
{
    struct ht_lines16 l[2] = {0};
    __m512 most[2] = {0};
    __mmask16 seek[2] = {0}; /* roads that have hits in their windows */
    struct ht_nearest nearest;
    struct ht_near_list list;
    struct ht_spread hits;

    hits.left = 0u;
    for (trg_u32 c = 0; c < 2u && at + c * HT_LANES < r->n; c++) {
        const trg_u32 from = at + c * HT_LANES;
        const __mmask16 may = ht_which_look16(v, par, r, from, ht_lanes(r->n - from), station);
        struct ht_looks16 look;

        if (!s->has_hits)
            continue;
        look = ht_looks_from16(v, par, r, from, station, s, may);
        l[c] = look.l;
        most[c] = look.most;
        seek[c] = _mm512_test_epi32_mask(look.w.n, look.w.n);
        ht_spread_add(&hits, c, &look.w);
        ht_none_is_near16(&nearest, c * HT_LANES, look.most);
    }
    while (ht_spread_next(&hits, v)) {
        list.n = 0u;
        for (trg_u32 k = 0; k < hits.n; k += HT_LANES)
            ht_find_nearest16(l, most, &hits, k, &list);
        ht_keep_nearer_of(v, &list, &nearest);
    }
    for (trg_u32 c = 0; c < 2u; c++)
        if (seek[c])
            ht_claim16(v, par, r, at + c * HT_LANES, &nearest, c * HT_LANES, most[c], seek[c]);
}

/* ---------------------------------------------------------------- what they get */

static inline void ht_use16(const struct ht_view *v, __m512i at, __mmask16 lanes)
{
    _mm512_mask_i32scatter_ps(v->x, lanes, at, _mm512_set1_ps(HT_USED), 4);
    _mm512_mask_i32scatter_epi32(v->taken, lanes, at, _mm512_set1_epi32(1), 4);
}

static inline __mmask16 ht_have_claimed16(const struct ht_view *v, __m512i hit, __m512i key,
                                          __mmask16 lanes)
{
    return _mm512_mask_cmpeq_epi32_mask(lanes, ht_gather_words16(v->claim, hit, lanes), key);
}

/* Roads go on from their last hit, `last`. */
static inline void ht_turn16(const struct ht_view *v, const struct ht_roads *r, trg_u32 at,
                             __m512i last, __mmask16 lanes)
{
    const struct ht_hits16 h = ht_hits_at16(v, last, lanes);
    const __m512 dx = _mm512_sub_ps(ht_load_floats16(r, HT_ROAD_WORD(x), at, lanes), h.x);
    const __m512 dy = _mm512_sub_ps(ht_load_floats16(r, HT_ROAD_WORD(y), at, lanes), h.y);
    const __m512 dz = _mm512_sub_ps(ht_load_floats16(r, HT_ROAD_WORD(z), at, lanes), h.z);
    const __m512 inv = _mm512_div_ps(_mm512_set1_ps(1.0f), dz);

    ht_store_floats16(r, HT_ROAD_WORD(x), at, lanes, h.x);
    ht_store_floats16(r, HT_ROAD_WORD(y), at, lanes, h.y);
    ht_store_floats16(r, HT_ROAD_WORD(z), at, lanes, h.z);
    ht_store_floats16(r, HT_ROAD_WORD(tx), at, lanes, _mm512_mul_ps(dx, inv));
    ht_store_floats16(r, HT_ROAD_WORD(ty), at, lanes, _mm512_mul_ps(dy, inv));
    ht_store_words16(r, HT_ROAD_WORD(last), at, lanes, last);
    ht_store_words16(r, HT_ROAD_WORD(layer), at, lanes,
                     _mm512_srli_epi32(ht_gather_words16(v->id, last, lanes), HT_ITEM_BITS));
}

/* Puts hits behind the last ones of roads of n: of two, in lanes `both`, the one with the higher z
 * first. */
static inline void ht_append16(const struct ht_view *v, const struct ht_roads *r, trg_u32 at,
                               const __m512i near[2], __mmask16 even, __mmask16 both,
                               __mmask16 lanes)
{
    const __m512i n = ht_load_words16(r, HT_ROAD_WORD(n), at, lanes);
    const __mmask16 two = ht_are_not16(n, HG_TRACK_HITS - 1u, both);
    const __mmask16 swap = _mm512_mask_cmp_ps_mask(both, ht_gather16(v->z, near[0], both),
                                                   ht_gather16(v->z, near[1], both), _CMP_LT_OQ);
    const __m512i first = _mm512_mask_mov_epi32(near[1], even & (__mmask16)~swap, near[0]);
    const __m512i second = _mm512_mask_mov_epi32(near[1], swap, near[0]);
    const __m512i more = _mm512_mask_mov_epi32(_mm512_set1_epi32(1), two, _mm512_set1_epi32(2));

    _mm512_mask_i32scatter_epi32(v->link, lanes, first,
                                 ht_load_words16(r, HT_ROAD_WORD(last), at, lanes), 4);
    _mm512_mask_i32scatter_epi32(v->link, two, second, first, 4);
    ht_turn16(v, r, at, _mm512_mask_mov_epi32(first, two, second), lanes);
    ht_use16(v, first, lanes);
    ht_use16(v, second, two);
    ht_store_words16(r, HT_ROAD_WORD(n), at, lanes, _mm512_add_epi32(n, more));
}

/* ht_take */
static inline void ht_take16(const struct ht_view *v, const struct ht_roads *r, trg_u32 at,
                             __mmask16 lanes)
{
    const __m512i near[2] = {ht_load_words16(r, HT_ROAD_WORD(near), at, lanes),
                             ht_load_words16(r, HT_ROAD_WORD(near) + 1u, at, lanes)};
    const __m512i key = ht_load_words16(r, HT_ROAD_WORD(key), at, lanes);
    const __mmask16 want0 = ht_are_not16(near[0], HT_NONE, lanes);
    const __mmask16 want1 = ht_are_not16(near[1], HT_NONE, lanes);
    __mmask16 even = ht_have_claimed16(v, near[0], key, want0);
    __mmask16 odd = ht_have_claimed16(v, near[1], key, want1);
    const __mmask16 three =
        ht_are16(ht_load_words16(r, HT_ROAD_WORD(n), at, lanes), 3u, even | odd);
    __m512i first[3];
    __mmask16 own = three, gets, all;

    for (trg_u32 k = 0; three && k < 3u; k++) {
        first[k] = ht_load_words16(r, HT_ROAD_WORD(first) + k, at, three);
        own = ht_have_claimed16(v, first[k], key, own);
    }
    gets = (__mmask16)((even | odd) & (~three | own));
    if (!gets)
        return;
    even &= gets;
    odd &= gets;
    all = gets & (__mmask16) ~((even ^ want0) | (odd ^ want1));
    for (trg_u32 k = 0; own && k < 3u; k++)
        ht_use16(v, first[k], own);
    ht_append16(v, r, at, near, even, even & odd, gets);
    ht_store_words16(r, HT_ROAD_WORD(near), at, all, _mm512_set1_epi32(-1));
    ht_store_words16(r, HT_ROAD_WORD(near) + 1u, at, all, _mm512_set1_epi32(-1));
}

/* ht_release */
static inline void ht_release16(const struct ht_view *v, const struct ht_roads *r, trg_u32 at,
                                __mmask16 lanes)
{
    const __m512i near[2] = {ht_load_words16(r, HT_ROAD_WORD(near), at, lanes),
                             ht_load_words16(r, HT_ROAD_WORD(near) + 1u, at, lanes)};
    const __m512i none = _mm512_set1_epi32(-1);
    const __mmask16 even = ht_are_not16(near[0], HT_NONE, lanes);
    const __mmask16 odd = ht_are_not16(near[1], HT_NONE, lanes);
    const __mmask16 three =
        ht_are16(ht_load_words16(r, HT_ROAD_WORD(n), at, lanes), 3u, even | odd);

    if (!(even | odd))
        return;
    _mm512_mask_i32scatter_epi32(v->claim, even, near[0], none, 4);
    _mm512_mask_i32scatter_epi32(v->claim, odd, near[1], none, 4);
    for (trg_u32 k = 0; three && k < 3u; k++)
        _mm512_mask_i32scatter_epi32(
            v->claim, three, ht_load_words16(r, HT_ROAD_WORD(first) + k, at, lanes), none, 4);
}

/* Moves those of the roads from `at` on that go on (ht_goes_on) to the first `kept` ones, and those
 * that have ended with hits to `ended`.  Returns how many are kept then. */
static inline trg_u32 ht_sort_out16(const struct ht_roads *r, const struct ht_par *par, trg_u32 at,
                                    __mmask16 lanes, trg_u32 station, trg_u32 kept,
                                    struct ht_roads *ended)
{
    const __m512i lowest = _mm512_set1_epi32((int)(station << par->station_shift));
    const __m512i layer = ht_load_words16(r, HT_ROAD_WORD(layer), at, lanes);
    const __mmask16 alive = ht_are_not16(ht_load_words16(r, HT_ROAD_WORD(n), at, lanes), 0u, lanes);
    const __mmask16 on =
        _mm512_mask_cmp_epu32_mask(alive, layer, lowest, _MM_CMPINT_LT) |
        _mm512_mask_cmp_epu32_mask(alive, _mm512_sub_epi32(layer, lowest),
                                   _mm512_set1_epi32((int)par->common.max_gap), _MM_CMPINT_LT);
    const __mmask16 done = alive & (__mmask16)~on;
    const trg_u32 n_on = (trg_u32)__builtin_popcount(on);
    const trg_u32 n_done = (trg_u32)__builtin_popcount(done);

    for (size_t w = 0; w < HT_ROAD_WORDS; w++) {
        const __m512i words = ht_load_words16(r, w, at, lanes);

        if (w == HT_ROAD_WORD(near) || w == HT_ROAD_WORD(near) + 1u || w == HT_ROAD_WORD(key))
            continue;
        ht_store_words16(ended, w, ended->n, ht_lanes(n_done),
                         _mm512_maskz_compress_epi32(done, words));
        ht_store_words16(r, w, kept, ht_lanes(n_on), _mm512_maskz_compress_epi32(on, words));
    }
    ended->n += n_done;
    return kept + n_on;
}

/* Roads take hits of a station. */
static inline void ht_follow_roads(const struct ht_view *v, const struct ht_par *par,
                                   struct ht_roads *r, trg_u32 station, const struct ht_station *s,
                                   struct ht_roads *ended)
{
    trg_u32 kept = 0u;

    for (trg_u32 k = 0; k < r->n; k += HT_LINES)
        ht_want32(v, par, r, k, station, s);
    for (trg_u32 k = 0; k < r->n; k += HT_LANES)
        ht_take16(v, r, k, ht_lanes(r->n - k));
    for (trg_u32 k = 0; k < r->n; k += HT_LANES) {
        ht_release16(v, r, k, ht_lanes(r->n - k));
        kept = ht_sort_out16(r, par, k, ht_lanes(r->n - k), station, kept, ended);
    }
    r->n = kept;
}
#endif
