/* SPDX-License-Identifier: Apache-2.0 */
/* windows_host.h - doublets on one core of the CPU.  A layer has so few hits that a window of phi
 * in a sorted list is found faster than a tree is built: sixteen hits are held against the cuts at
 * once, with the same arithmetic.  Hits are gone through by their number, so that doublets come in
 * their order in one pass. */
#ifndef DOUBLETS_WINDOWS_HOST_H
#define DOUBLETS_WINDOWS_HOST_H
#include <stddef.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "../kdtree/kdbuild_host.h"
#include "doublets.h"

#define DBT_VECTOR   16u
#define DBT_BOX_PAYS 100.0f /* hits of a layer, times the road in phi */

/* Sorts words that all differ. */
static inline void dbt_sort_words(trg_u64 *v, size_t n)
{
    struct {
        trg_u64 *v;
        size_t n;
    } stack[64]; /* the longer part waits: never more than the logarithm of n */
    trg_u32 depth = 0;

    for (;;) {
        while (n > KD_SORTED_BELOW) {
            const trg_u64 pivot = kd_pivot(v, n);
            size_t m = kd_split_words(v, n, pivot);

            if (!m) /* the pivot is the smallest: puts it first */
                m = kd_split_words(v, n, pivot + 1u);
            stack[depth].v = 2 * m < n ? v + m : v;
            stack[depth++].n = 2 * m < n ? n - m : m;
            v = 2 * m < n ? v : v + m;
            n = 2 * m < n ? m : n - m;
        }
        kd_sort_words(v, n);
        if (!depth)
            return;
        v = stack[--depth].v;
        n = stack[depth].n;
    }
}

static inline void dbt_reach_out(struct dbt_extent *e, const struct dbt_hit h)
{
    e->r_low = h.r < e->r_low ? h.r : e->r_low;
    e->r_high = h.r > e->r_high ? h.r : e->r_high;
    e->z_low = h.z < e->z_low ? h.z : e->z_low;
    e->z_high = h.z > e->z_high ? h.z : e->z_high;
}

struct dbt_input { /* the n hits of one RoI */
    const float *x, *y, *z;
    const trg_u16 *layer;
    trg_u32 n;
};

struct dbt_layout { /* what dbt_layers writes */
    trg_u32 *numbers, *counts;
    float *hits;
    trg_u32 *trees; /* of the RoI */
    struct dbt_extent *extents;
};

static inline struct dbt_hit dbt_input_hit(const struct dbt_input *in, const struct dbt_par *par,
                                           trg_u32 i)
{
    return dbt_about_beam(par->cuts, in->x[i], in->y[i], in->z[i]);
}

/* dbt_layers for one RoI, whose hits begin at `base`: hits in order of (layer, phi), in counts
 * where each number of a hit went, and where the hits of each layer are. */
static inline void dbt_host_layers(const struct dbt_input *in, trg_u32 base,
                                   const struct dbt_par *par, const struct dbt_layout *to)
{
    const trg_u32 n = in->n;
    trg_u32 *numbers = to->numbers;
    float *hits = to->hits;
    trg_u64 *words = (trg_u64 *)(void *)(numbers + 2u * (size_t)par->room) + base;
    trg_u32 begin[DBT_LAYERS + 2u] = {0}, at[DBT_LAYERS + 1u];

    for (trg_u32 i = 0; i < n; i++) {
        const struct dbt_hit h = dbt_input_hit(in, par, i);
        const trg_u32 l = in->layer[i] < DBT_LAYERS && dbt_is_good(h) ? in->layer[i] : DBT_LAYERS;

        numbers[base + i] = l;
        begin[l + 1u]++;
    }
    for (trg_u32 l = 0; l <= DBT_LAYERS; l++) {
        begin[l + 1u] += begin[l];
        at[l] = begin[l];
    }
    for (trg_u32 i = 0; i < n; i++) {
        const struct dbt_hit h = dbt_input_hit(in, par, i);

        words[at[numbers[base + i]]++] = (trg_u64)kd_key(dbt_phi(h.x, h.y)) << 32 | i;
    }
    for (trg_u32 l = 0; l <= DBT_LAYERS; l++) {
        struct dbt_extent extent = {1e30f, -1e30f, 1e30f, -1e30f};

        if (l < DBT_LAYERS) {
            dbt_sort_words(words + begin[l], begin[l + 1u] - begin[l]);
            to->trees[2u * l] = base + begin[l];
            to->trees[2u * l + 1u] = begin[l + 1u] - begin[l];
        }
        for (trg_u32 p = begin[l]; p < begin[l + 1u]; p++) {
            const trg_u32 i = (trg_u32)words[p];
            const struct dbt_hit h = dbt_input_hit(in, par, i);

            hits[base + p] = h.x;
            hits[par->room + base + p] = h.y;
            hits[2u * (size_t)par->room + base + p] = h.z;
            hits[3u * (size_t)par->room + base + p] = h.r;
            hits[4u * (size_t)par->room + base + p] = kd_unkey((trg_u32)(words[p] >> 32));
            to->counts[base + i] = p;
            numbers[par->room + base + p] = i;
            dbt_reach_out(&extent, h);
        }
        if (l < DBT_LAYERS)
            to->extents[l] = extent;
    }
    for (trg_u32 l = 0; l <= DBT_LAYERS; l++)
        for (trg_u32 p = begin[l]; p < begin[l + 1u]; p++)
            numbers[base + p] = l;
}

struct dbt_columns { /* the hits of one RoI */
    const float *x, *y, *z, *r, *phi;
    const trg_u32 *number;
};

struct dbt_seek { /* the partners of hit i on the outer layer of a pair */
    const struct dbt_columns *columns;
    struct dbt_cuts cuts;
    struct dbt_pair pair;
    struct dbt_hit i;
};

/* The first place in [begin, end) whose phi is not below the limit; no branch depends on a hit. */
static inline trg_u32 dbt_first(const float *phi, trg_u32 begin, trg_u32 end, float limit)
{
    trg_u32 n = end - begin;

    while (n > 1u) {
        const trg_u32 step = n / 2u;

        begin += phi[begin + step - 1u] < limit ? step : 0u;
        n -= step;
    }
    return n && phi[begin] < limit ? begin + 1u : begin;
}

#if defined(__AVX512F__)
/* dbt_accepts for sixteen hits from place p on, of those in `in`: the same operations in the same
 * order. */
static inline __mmask16 dbt_accepts_vector(const struct dbt_columns *c, trg_u32 p, __mmask16 in,
                                           const struct dbt_cuts cuts, const struct dbt_pair pair,
                                           const struct dbt_hit i)
{
    const __m512 x = _mm512_maskz_loadu_ps(in, c->x + p), y = _mm512_maskz_loadu_ps(in, c->y + p);
    const __m512 z = _mm512_maskz_loadu_ps(in, c->z + p), r = _mm512_maskz_loadu_ps(in, c->r + p);
    const __m512 ix = _mm512_set1_ps(i.x), iy = _mm512_set1_ps(i.y), iz = _mm512_set1_ps(i.z);
    const __m512 ir = _mm512_set1_ps(i.r), two_r = _mm512_set1_ps(cuts.two_r_min * cuts.two_r_min);
    const __m512 dr = r - ir, dx = x - ix, dy = y - iy, at_beam = iz * r - z * ir;
    const __m512 past_r = _mm512_set1_ps(pair.past_r), cross = ix * y - iy * x;
    const __m512 past = _mm512_set1_ps(i.z + cuts.beam_z) * dr + (past_r - ir) * (z - iz);
    const __m512 jump =
        _mm512_abs_ps(_mm512_maskz_loadu_ps(in, c->phi + p) - _mm512_set1_ps(i.phi));
    const __m512 dphi = _mm512_min_ps(_mm512_set1_ps(DBT_TURN) - jump, jump);

    in = _mm512_mask_cmp_ps_mask(in, dr, _mm512_setzero_ps(), _CMP_GT_OQ);
    in = _mm512_mask_cmp_ps_mask(in, dphi, _mm512_set1_ps(pair.phi_road), _CMP_LE_OQ);
    in =
        _mm512_mask_cmp_ps_mask(in, _mm512_abs_ps(z - iz), _mm512_set1_ps(pair.z_road), _CMP_LE_OQ);
    in = _mm512_mask_cmp_ps_mask(in, _mm512_abs_ps(at_beam), _mm512_set1_ps(cuts.beam_half) * dr,
                                 _CMP_LE_OQ);
    in &= _mm512_mask_cmp_ps_mask(in, r, past_r, _CMP_LE_OQ) |
          _mm512_mask_cmp_ps_mask(in, _mm512_abs_ps(past), _mm512_set1_ps(pair.past_z) * dr,
                                  _CMP_GE_OQ);
    return _mm512_mask_cmp_ps_mask(in, ir * ir * (r * r) * (dx * dx + dy * dy),
                                   two_r * (cross * cross), _CMP_GE_OQ);
}
#endif

/* Appends the numbers of hits from place p to `end` that are a doublet with hit i and whose phi is
 * not above `most` to a row of n. */
static inline trg_u32 dbt_scan(const struct dbt_seek s, trg_u32 p, trg_u32 end, float most,
                               trg_u32 *row, trg_u32 n)
{
    const struct dbt_columns *c = s.columns;

#if defined(__AVX512F__)
    for (; p < end && c->phi[p] <= most; p += DBT_VECTOR) {
        const trg_u32 here = end - p < DBT_VECTOR ? end - p : DBT_VECTOR;
        __mmask16 in = (__mmask16)(0xffffu >> (DBT_VECTOR - here));

        in = _mm512_mask_cmp_ps_mask(in, _mm512_maskz_loadu_ps(in, c->phi + p),
                                     _mm512_set1_ps(most), _CMP_LE_OQ);
        in = dbt_accepts_vector(c, p, in, s.cuts, s.pair, s.i);
        _mm512_storeu_si512(
            row + n, _mm512_maskz_compress_epi32(in, _mm512_maskz_loadu_epi32(in, c->number + p)));
        n += (trg_u32)__builtin_popcount(in);
    }
#else
    for (; p < end && c->phi[p] <= most; p++) {
        const struct dbt_hit o = {c->x[p], c->y[p], c->z[p], c->r[p], c->phi[p]};

        row[n] = c->number[p];
        n += dbt_accepts(s.cuts, s.pair, s.i, o);
    }
#endif
    return n;
}

/* Whether the outer layer is a disc that no line from the beam window through hit i meets within
 * its radius.  Rounding leaves it open. */
static inline trg_u32 dbt_is_behind(const struct dbt_cuts c, const struct dbt_pair pair,
                                    const struct dbt_hit i, const struct dbt_extent e)
{
    const float a = i.z + c.beam_half, b = i.z - c.beam_half;
    const float most = a * (a > 0.0f ? e.r_high : i.r), least = b * (b < 0.0f ? e.r_high : i.r);
    const float left = 1.0f + 1e-5f * (trg_fabs(i.z) + c.beam_half) * e.r_high;

    return (trg_u32)(pair.outer >= DBT_BARREL) &
           ((trg_u32)(most + left < (e.z_low + c.beam_half) * i.r) |
            (trg_u32)(least - left > (e.z_high - c.beam_half) * i.r));
}

/* All doublets that begin with the hit at place p; their numbers go to `row`, which has room for
 * all hits and one more.  A hit whose neighbours are all on the other side of +-pi is found there.
 */
static inline trg_u32 dbt_row(const struct dbt_columns *c, const struct dbt_par *par,
                              const trg_u32 *trees, const struct dbt_extent *extents, trg_u32 base,
                              trg_u32 layer, trg_u32 p, trg_u32 *row)
{
    const struct dbt_hit i = {c->x[p], c->y[p], c->z[p], c->r[p], c->phi[p]};
    trg_u32 n = 0;

    for (trg_u32 k = 0; k < par->n_pairs; k++) {
        const struct dbt_pair pair = par->pair[k];
        const struct dbt_seek seek = {c, par->cuts, pair, i};
        const trg_u32 begin = trees[2u * pair.outer] - base;
        const trg_u32 end = begin + trees[2u * pair.outer + 1u];
        const float reach = pair.phi_road + 1e-5f;
        float low = i.phi - reach, high = i.phi + reach;

        if (pair.inner != layer || dbt_is_behind(par->cuts, pair, i, extents[pair.outer]))
            continue;
        if ((float)(end - begin) * pair.phi_road > DBT_BOX_PAYS) {
            const struct dbt_box box = dbt_box_of(par->cuts, pair, i, extents[pair.outer]);

            if (!(box.low[1] <= box.high[1]))
                continue;
            low = box.low[0];
            high = box.high[0];
        }
        n = dbt_scan(seek, dbt_first(c->phi, begin, end, low), end, high, row, n);
        if (high > DBT_PI)
            n = dbt_scan(seek, begin, end, high - DBT_TURN, row, n);
        else if (low < -DBT_PI)
            n = dbt_scan(seek, dbt_first(c->phi, begin, end, low + DBT_TURN), end, 4.0f, row, n);
    }
    return n;
}

/* The `keep` smallest of the n different numbers of a row, ascending.  The row has room for sixteen
 * more. */
#if defined(__AVX512F__)
static inline void dbt_sort_row(trg_u32 *row, trg_u32 n, trg_u32 *to, trg_u32 keep)
{
    _mm512_storeu_si512(row + n, _mm512_set1_epi32(-1));
    for (trg_u32 i = 0; i < n; i++) { /* its place is how many are smaller */
        const __m512i x = _mm512_set1_epi32((int)row[i]);
        trg_u32 place = 0;

        for (trg_u32 k = 0; k < n; k += DBT_VECTOR)
            place += (trg_u32)__builtin_popcount(
                _mm512_cmplt_epu32_mask(_mm512_loadu_si512(row + k), x));
        if (place < keep)
            to[place] = row[i];
    }
}
#else
static inline void dbt_sort_row(trg_u32 *row, trg_u32 n, trg_u32 *to, trg_u32 keep)
{
    for (trg_u32 i = 1; i < n; i++) {
        const trg_u32 x = row[i];
        trg_u32 k = i;

        for (; k > 0 && row[k - 1u] > x; k--)
            row[k] = row[k - 1u];
        row[k] = x;
    }
    memcpy(to, row, keep * sizeof *to);
}
#endif

struct dbt_sorted { /* what dbt_layers wrote, and where the hits of each RoI began */
    const float *hits;
    const trg_u32 *numbers, *trees, *counts, *offsets;
};

/* dbt_count, dbt_sum, dbt_offsets and dbt_fill of all RoIs at once.  `row` has room for the hits of
 * any RoI, and one more. */
static inline void dbt_host_fill(const struct dbt_sorted *in, trg_u32 *row,
                                 struct dbt_summary *summaries, unsigned char *out,
                                 const struct dbt_par *par)
{
    const float *hits = in->hits;
    const trg_u32 *numbers = in->numbers, *trees = in->trees, *counts = in->counts;
    trg_u32 *offsets = (trg_u32 *)(void *)(out + par->out.offsets);
    trg_u32 sum = 0;

    for (trg_u32 roi = 0; roi < par->n_rois; roi++, trees += 2u * DBT_LAYERS) {
        const trg_u32 base = in->offsets[roi], n_hits = in->offsets[roi + 1u] - base;
        const size_t room = par->room;
        const struct dbt_extent *extents =
            (const struct dbt_extent *)(const void *)(trees +
                                                      2u * DBT_LAYERS * (par->n_rois - roi)) +
            DBT_LAYERS * roi;
        const struct dbt_columns c = {hits + base,
                                      hits + room + base,
                                      hits + 2u * room + base,
                                      hits + 3u * room + base,
                                      hits + 4u * room + base,
                                      numbers + room + base};
        const trg_u32 limit = dbt_limit_of(par->max_roi, par->max_per_hit, n_hits);
        trg_u32 *inner = TRG_DOUBLETS_INNER_OUT(out, par->out) + sum;
        trg_u32 *outer = TRG_DOUBLETS_OUTER_OUT(out, par->out) + sum;
        trg_u32 wanted = 0, used = 0;

        for (trg_u32 i = 0; i < n_hits; i++) {
            const trg_u32 p = counts[base + i], layer = numbers[base + p];
            trg_u32 n, keep;

            if (layer == DBT_LAYERS)
                continue;
            used++;
            n = dbt_row(&c, par, trees, extents, base, layer, p, row);
            keep = wanted < limit ? (n < limit - wanted ? n : limit - wanted) : 0u;
            if (keep)
                dbt_sort_row(row, n, outer + wanted, keep);
            for (trg_u32 k = 0; k < keep; k++)
                inner[wanted + k] = i;
            wanted += n;
        }
        offsets[roi] = sum;
        summaries[roi].n_used = used;
        summaries[roi].wanted = wanted;
        summaries[roi].kept = wanted < limit ? wanted : limit;
        sum += summaries[roi].kept;
    }
    offsets[par->n_rois] = sum;
}
#endif
