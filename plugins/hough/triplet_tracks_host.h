/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_tracks_host.h - tracks of the roads in columns, on a core with AVX-512: ht_apply and
 * ht_end_chance for sixteen roads at once, by the same arithmetic. */
#ifndef HOUGH_TRIPLET_TRACKS_HOST_H
#define HOUGH_TRIPLET_TRACKS_HOST_H
#include "triplet_roads_host.h"
#include "triplet_tracks.h"

struct ht_points16 { /* hits; x and y from the beam line */
    __m512 x, y, z;
    __m512i layer;
};

/* ht_point */
static inline struct ht_points16 ht_points16(const struct ht_view *v, const struct hg_input *in,
                                             const struct hg_par *par, __m512i at, __mmask16 lanes)
{
    const __m512i id = ht_gather_words16(v->id, at, lanes);
    const __m512i item = _mm512_and_si512(id, _mm512_set1_epi32((int)HT_ITEM));

    return (struct ht_points16){
        .x = _mm512_sub_ps(ht_gather16(in->x + in->first, item, lanes),
                           _mm512_set1_ps(par->beam_x)), /* the sorted one may be HT_USED */
        .y = ht_gather16(v->y, at, lanes),
        .z = ht_gather16(v->z, at, lanes),
        .layer = _mm512_srli_epi32(id, HT_ITEM_BITS)};
}

static inline __m512i ht_step16(const struct ht_points16 *a, const struct ht_points16 *b)
{
    return _mm512_abs_epi32(_mm512_sub_epi32(a->layer, b->layer));
}

/* hg_is_rare: a station has a power of two of layers. */
static inline __mmask16 ht_is_rare16(const struct hg_par *par, __m512i step)
{
    const trg_u32 layers = par->station_layers;

    return _mm512_cmp_epu32_mask(step, _mm512_set1_epi32((int)(2u * layers)), _MM_CMPINT_NLT) |
           _mm512_test_epi32_mask(step, _mm512_set1_epi32((int)layers - 1));
}

struct ht_turns16 {
    __m512 chi2, ip, slope;
    __mmask16 is_rare;
};

/* hg_turn_of */
static inline struct ht_turns16 ht_turns16(const struct hg_par *par, const struct ht_points16 *a,
                                           const struct ht_points16 *b, const struct ht_points16 *c)
{
    const __m512 one = _mm512_set1_ps(1.0f), far = _mm512_sub_ps(b->z, a->z);
    const __m512 length = _mm512_sub_ps(c->z, a->z), inv = _mm512_div_ps(one, length);
    const struct ht_lines16 l = {.x = a->x,
                                 .y = a->y,
                                 .z = a->z,
                                 .tx = _mm512_mul_ps(_mm512_sub_ps(c->x, a->x), inv),
                                 .ty = _mm512_mul_ps(_mm512_sub_ps(c->y, a->y), inv)};
    const struct ht_hits16 h = {.x = b->x, .y = b->y, .z = b->z};
    const __m512 part = _mm512_div_ps(far, length), rest = _mm512_sub_ps(one, part);
    const __m512 arm = _mm512_mul_ps(far, rest);
    const __m512 slope2 = _mm512_add_ps(_mm512_mul_ps(l.tx, l.tx), _mm512_mul_ps(l.ty, l.ty));
    const __m512 cross =
        ht_abs16(_mm512_sub_ps(_mm512_mul_ps(a->x, l.ty), _mm512_mul_ps(a->y, l.tx)));
    const __m512 turn2 = _mm512_add_ps(
        _mm512_set1_ps(par->scatter * par->scatter),
        _mm512_mul_ps(_mm512_set1_ps(par->scatter_slope * par->scatter_slope), slope2));
    const __m512 arms =
        _mm512_add_ps(_mm512_add_ps(one, _mm512_mul_ps(part, part)), _mm512_mul_ps(rest, rest));
    const __m512 var =
        _mm512_add_ps(_mm512_mul_ps(_mm512_set1_ps(par->sigma_mm * par->sigma_mm), arms),
                      _mm512_mul_ps(_mm512_mul_ps(arm, arm), turn2));
    struct ht_turns16 t;

    t.chi2 = _mm512_div_ps(ht_off2_16(&l, &h), var);
    t.slope = _mm512_sqrt_ps(slope2);
    t.ip = _mm512_maskz_div_ps(_mm512_cmp_ps_mask(slope2, _mm512_setzero_ps(), _CMP_GT_OQ), cross,
                               t.slope);
    t.is_rare = ht_is_rare16(par, ht_step16(a, b)) | ht_is_rare16(par, ht_step16(b, c));
    return t;
}

/* hg_chi2_of */
static inline __m512 ht_chi2_16(const struct hg_par *par, const struct ht_turns16 *t)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 off = _mm512_add_ps(one, _mm512_mul_ps(t->ip, _mm512_set1_ps(par->inv_ip3)));
    const __m512 rare = _mm512_mask_mov_ps(one, t->is_rare, _mm512_set1_ps(par->rare3));

    return _mm512_mul_ps(_mm512_mul_ps(t->chi2, off), rare);
}

/* hg_chance3 */
static inline __m512 ht_chance3_16(const struct hg_par *par, float crowd,
                                   const struct ht_turns16 *t, const struct ht_points16 *a,
                                   const struct ht_points16 *b)
{
    const __m512 room = _mm512_add_ps(t->ip, _mm512_set1_ps(0.05f));
    const __m512 root = _mm512_sqrt_ps(_mm512_mul_ps(room, _mm512_sqrt_ps(room)));
    const __m512 part =
        _mm512_mask_mov_ps(_mm512_mul_ps(_mm512_set1_ps(0.1f), root),
                           _mm512_cmp_ps_mask(a->z, _mm512_set1_ps(par->z_made), _CMP_LT_OQ), room);
    const __m512 r2 = _mm512_add_ps(_mm512_mul_ps(b->x, b->x), _mm512_mul_ps(b->y, b->y));
    const __m512 bend =
        _mm512_div_ps(_mm512_mul_ps(_mm512_add_ps(t->chi2, _mm512_set1_ps(0.5f)), t->slope), r2);
    const __m512 rare = _mm512_mask_mov_ps(_mm512_set1_ps(1.0f), t->is_rare, _mm512_set1_ps(3.6f));

    return _mm512_mul_ps(
        _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(crowd), part), _mm512_sqrt_ps(bend)), rare);
}

/* hg_chance4 */
static inline __m512 ht_chance4_16(const struct hg_par *par, float crowd,
                                   const struct ht_points16 p[4])
{
    const struct ht_turns16 first = ht_turns16(par, &p[0], &p[1], &p[2]);
    const struct ht_turns16 second = ht_turns16(par, &p[1], &p[2], &p[3]);
    const struct ht_turns16 all = ht_turns16(par, &p[0], &p[1], &p[3]);
    const __m512 x = _mm512_add_ps(p[1].x, p[2].x), y = _mm512_add_ps(p[1].y, p[2].y);
    const __m512 r2 = _mm512_add_ps(_mm512_mul_ps(x, x), _mm512_mul_ps(y, y));
    const __m512 rare = _mm512_mask_mov_ps(_mm512_set1_ps(1.0f), first.is_rare | second.is_rare,
                                           _mm512_set1_ps(4.0f));
    const __m512 chi2 =
        _mm512_mul_ps(_mm512_set1_ps(crowd), _mm512_max_ps(first.chi2, second.chi2));
    const __m512 near =
        _mm512_mul_ps(chi2, _mm512_sqrt_ps(_mm512_add_ps(all.ip, _mm512_set1_ps(0.05f))));

    return _mm512_div_ps(_mm512_mul_ps(near, rare), _mm512_mul_ps(_mm512_set1_ps(0.25f), r2));
}

/* ---------------------------------------------------------------- roads of three and four hits */

/* Of roads of three hits: those that are free and a track claim them, the others end. */
static inline void ht_apply16(const struct ht_view *v, const struct hg_input *in,
                              const struct hg_par *par, const struct ht_roads *r, trg_u32 at,
                              __mmask16 lanes)
{
    const __m512i most = _mm512_set1_epi32((int)par->max_gap3);
    struct ht_points16 p[3];
    __mmask16 good = lanes & (__mmask16)~ht_are_robbed16(v, r, at, lanes);
    struct ht_turns16 turn;
    __m512 chi2;

    for (trg_u32 k = 0; k < 3u; k++)
        p[k] = ht_points16(v, in, par, ht_load_words16(r, HT_ROAD_WORD(first) + 2u - k, at, lanes),
                           lanes);
    turn = ht_turns16(par, &p[0], &p[1], &p[2]);
    chi2 = ht_chi2_16(par, &turn);
    good = _mm512_mask_cmp_epu32_mask(good, ht_step16(&p[0], &p[1]), most, _MM_CMPINT_LE);
    good = _mm512_mask_cmp_epu32_mask(good, ht_step16(&p[1], &p[2]), most, _MM_CMPINT_LE);
    good = _mm512_mask_cmp_ps_mask(good, chi2, _mm512_set1_ps(par->chi2_3_max), _CMP_LE_OQ);
    good &= (__mmask16)~_mm512_cmp_ps_mask(ht_chance3_16(par, in->crowd, &turn, &p[0], &p[1]),
                                           _mm512_set1_ps(par->chance3_max), _CMP_GT_OQ);
    ht_store_keys16(r, at, good, _mm512_div_ps(chi2, _mm512_set1_ps(par->chi2_3_max)));
    ht_store_words16(r, HT_ROAD_WORD(n), at, lanes & (__mmask16)~good, _mm512_setzero_si512());
    for (trg_u32 k = 0; k < 3u; k++)
        ht_claim_words(v, r, HT_ROAD_WORD(first) + k, at, good);
}

/* Ends roads of four hits that are on them by chance, and sets these free. */
static inline void ht_end_chance16(const struct ht_view *v, const struct hg_input *in,
                                   const struct hg_par *par, const struct ht_roads *r, trg_u32 at,
                                   __mmask16 lanes)
{
    static const size_t word[] = {HT_ROAD_WORD(last), HT_ROAD_WORD(first) + 2u,
                                  HT_ROAD_WORD(first) + 1u, HT_ROAD_WORD(first)};
    struct ht_points16 p[4];
    __mmask16 ends;

    for (trg_u32 k = 0; k < 4u; k++)
        p[k] = ht_points16(v, in, par, ht_load_words16(r, word[k], at, lanes), lanes);
    ends = _mm512_mask_cmp_ps_mask(lanes, ht_chance4_16(par, in->crowd, p),
                                   _mm512_set1_ps(par->chance4_max), _CMP_GT_OQ);
    ht_store_words16(r, HT_ROAD_WORD(n), at, ends, _mm512_setzero_si512());
    for (trg_u32 k = 0; k < 4u; k++)
        _mm512_mask_i32scatter_epi32(v->taken, ends, ht_load_words16(r, word[k], at, ends),
                                     _mm512_setzero_si512(), 4);
}

/* Ends those of the roads that are on their hits by chance, and lets those of three hits claim
 * them. */
static inline void ht_judge(const struct ht_view *v, const struct hg_input *in,
                            const struct hg_par *par, const struct ht_roads *r)
{
    for (trg_u32 at = 0; at < r->n; at += HT_LANES) {
        const __mmask16 lanes = ht_lanes(r->n - at);
        const __m512i n = ht_load_words16(r, HT_ROAD_WORD(n), at, lanes);
        const __mmask16 three = ht_are16(n, 3u, lanes), four = ht_are16(n, 4u, lanes);

        if (three)
            ht_apply16(v, in, par, r, at, three);
        if (four)
            ht_end_chance16(v, in, par, r, at, four);
    }
}

/* Keeps those of the roads that are tracks. */
static inline void ht_make_tracks(const struct ht_view *v, const struct hg_input in,
                                  const struct hg_par *par, const struct ht_roads *roads,
                                  const struct ht_kept kept)
{
    for (trg_u32 k = 0; k < roads->n; k++) {
        const struct ht_road r = ht_load_road(roads, k);

        if (ht_is_track(*v, *par, &r)) {
            ht_keep(*v, &r, in.first, *kept.n, &kept.track[*kept.n]);
            *kept.n_on += r.n;
            ++*kept.n;
        }
    }
}
#endif
