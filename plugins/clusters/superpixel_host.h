/* SPDX-License-Identifier: Apache-2.0 */
/* superpixel_host.h - what cl_superpixels does to each super-pixel and each cluster, for sixteen of
 * them at once on a core with AVX-512, by the same arithmetic.  Sums of the second sets of items
 * lie behind those of the first ones. */
#ifndef CLUSTERS_SUPERPIXEL_HOST_H
#define CLUSTERS_SUPERPIXEL_HOST_H
#include <immintrin.h>

#include "superpixel_hit.h"

#define CL_LANES 16u

static inline __mmask16 cl_lanes(trg_u32 n)
{
    return (__mmask16)(n < CL_LANES ? (1u << n) - 1u : 0xffffu);
}

static inline __m512i cl_words16(trg_u32 word)
{
    return _mm512_set1_epi32((int)word);
}

static inline __m512i cl_numbers16(trg_u32 from)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm512_add_epi32(cl_words16(from), lane);
}

/* ---------------------------------------------------------------- items */

/* cl_key */
static inline __m512i cl_keys16(__m512i sensor, __m512i word, const struct cl_par *par)
{
    const __m512i place = _mm512_and_si512(_mm512_srli_epi32(word, 8), cl_words16(0x7fffu));
    const __m512i column = _mm512_srli_epi32(place, CL_ROW_BITS);
    const __m512i row = _mm512_and_si512(place, cl_words16(CL_COLUMN_STEP - 1u));
    __mmask16 good = _mm512_cmp_epu32_mask(sensor, cl_words16(par->n_sensors), _MM_CMPINT_LT);

    good = _mm512_mask_cmp_epu32_mask(good, _mm512_slli_epi32(column, 1),
                                      cl_words16(par->n_columns), _MM_CMPINT_LT);
    good = _mm512_mask_cmp_epu32_mask(good, _mm512_slli_epi32(row, 2), cl_words16(par->n_rows),
                                      _MM_CMPINT_LT);
    good = _mm512_mask_testn_epi32_mask(good, word, cl_words16(CL_RESERVED));
    good = _mm512_mask_test_epi32_mask(good, word, cl_words16(255u));
    return _mm512_mask_or_epi32(cl_words16(CL_BAD), good, place,
                                _mm512_slli_epi32(sensor, CL_ROW_BITS + CL_COLUMN_BITS));
}

/* Keys and patterns as they come; CL_DISORDER: they are not in order, or some cannot be. */
static inline void cl_read_items(trg_u32 *count, const trg_u16 *sensor, const trg_u32 *word,
                                 trg_u32 *mine, trg_u32 n, const struct cl_par par)
{
    trg_u32 *key = mine + CL_KEY * par.room, *pattern = mine + CL_PATTERN * par.room;
    __m512i before = _mm512_setzero_si512();
    trg_u32 disorder = 0u, bad = 0u;

    for (trg_u32 i = 0u; i < n; i += CL_LANES) {
        const __mmask16 lanes = cl_lanes(n - i), behind = i ? lanes : lanes & (__mmask16)~1u;
        const __m512i w = _mm512_maskz_loadu_epi32(lanes, word + i);
        const __m512i here =
            cl_keys16(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, sensor + i)), w, &par);
        const __mmask16 alone =
            par.hint ? _mm512_cmp_epi32_mask(w, _mm512_setzero_si512(), _MM_CMPINT_LT) : 0;
        const __m512i pixels = _mm512_and_si512(w, cl_words16(255u));

        _mm512_mask_storeu_epi32(key + i, lanes, here);
        _mm512_mask_storeu_epi32(pattern + i, lanes,
                                 _mm512_mask_or_epi32(pixels, alone, pixels, cl_words16(CL_ALONE)));
        bad += (trg_u32)__builtin_popcount(
            _mm512_mask_cmpeq_epi32_mask(lanes, here, cl_words16(CL_BAD)));
        disorder |= _mm512_mask_cmp_epu32_mask(behind, here, _mm512_alignr_epi32(here, before, 15),
                                               _MM_CMPINT_LE);
        before = here;
    }
    count[CL_DISORDER] |= disorder || bad ? 1u : 0u;
    count[CL_N_BAD] += bad;
}

/* cl_lower */
static inline __m512i cl_lower16(__m512i pattern)
{
    const __m512i rows =
        _mm512_and_si512(_mm512_or_si512(pattern, _mm512_srli_epi32(pattern, 4)), cl_words16(15u));
    const __m512i low = _mm512_and_si512(rows, _mm512_sub_epi32(_mm512_setzero_si512(), rows));
    const __m512i run = _mm512_andnot_si512(_mm512_add_epi32(rows, low), rows);

    return _mm512_and_si512(pattern, _mm512_or_si512(run, _mm512_slli_epi32(run, 4)));
}

/* For each byte below 16 the sum of its bits' numbers << 4 | how many they are. */
static inline __m512i cl_bits16(__m512i bytes)
{
    const __m128i of = _mm_setr_epi8(0x00, 0x01, 0x11, 0x12, 0x21, 0x22, 0x32, 0x33, 0x31, 0x32,
                                     0x42, 0x43, 0x52, 0x53, 0x63, 0x64);

    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of), bytes);
}

struct cl_sums16 {
    __m512i of[CL_SUMS];
};

/* cl_sums_of */
static inline struct cl_sums16 cl_sums_of16(__m512i key, __m512i pixels)
{
    const __m512i left = _mm512_and_si512(pixels, cl_words16(15u));
    const __m512i right = _mm512_srli_epi32(pixels, 4), low = cl_words16(15u);
    const __m512i of_right = cl_bits16(right), of_all = _mm512_add_epi32(cl_bits16(left), of_right);
    const __m512i n = _mm512_and_si512(of_all, low);
    const __m512i row =
        _mm512_slli_epi32(_mm512_and_si512(key, cl_words16(CL_COLUMN_STEP - 1u)), 2);
    const __m512i column = _mm512_and_si512(_mm512_srli_epi32(key, CL_ROW_BITS - 1u),
                                            cl_words16((1u << (CL_COLUMN_BITS + 1u)) - 2u));
    const __m512i columns =
        _mm512_or_si512(_mm512_maskz_set1_epi32(_mm512_test_epi32_mask(left, left), 1),
                        _mm512_maskz_set1_epi32(_mm512_test_epi32_mask(right, right), 2));
    const __m512i bit = cl_words16(31u);
    struct cl_sums16 s;

    s.of[CL_SIZE] = n;
    s.of[CL_SUM_COLUMN] =
        _mm512_add_epi32(_mm512_madd_epi16(n, column), _mm512_and_si512(of_right, low));
    s.of[CL_SUM_ROW] = _mm512_add_epi32(_mm512_madd_epi16(n, row), _mm512_srli_epi32(of_all, 4));
    s.of[CL_COLUMN_BIT] = _mm512_sllv_epi32(columns, _mm512_and_si512(column, bit));
    s.of[CL_ROW_BIT] = _mm512_sllv_epi32(_mm512_or_si512(left, right), _mm512_and_si512(row, bit));
    return s;
}

/* ---------------------------------------------------------------- clusters */

/* Nodes for the sets of sixteen items of the list, from the j-th on. */
static inline void cl_put_nodes16(const struct cl_view *v, trg_u32 j, __mmask16 lanes)
{
    const __m512i item = _mm512_maskz_loadu_epi32(lanes, v->list + j);
    const __m512i zero = _mm512_setzero_si512(), ones = cl_words16(255u);
    const __m512i key = _mm512_mask_i32gather_epi32(zero, lanes, item, v->key, 4);
    const __m512i pattern = _mm512_mask_i32gather_epi32(zero, lanes, item, v->pattern, 4);
    const __m512i pixels = _mm512_and_si512(pattern, ones), lower = cl_lower16(pixels);
    const __mmask16 has_two = _mm512_cmpneq_epi32_mask(pixels, lower);
    const struct cl_sums16 s = cl_sums_of16(key, lower);

    for (trg_u32 f = 0u; f < CL_SUMS; f++)
        _mm512_mask_storeu_epi32(v->sum + f * v->stride + j, lanes, s.of[f]);
    if (has_two) {
        const struct cl_sums16 t = cl_sums_of16(key, _mm512_xor_si512(pixels, lower));

        for (trg_u32 f = 0u; f < CL_SUMS; f++)
            _mm512_mask_storeu_epi32(v->sum + f * v->stride + v->n + j, has_two, t.of[f]);
    }
}

/* Lists the items that may touch others, in order, and makes their nodes; counts all sets, and
 * pixels.  Returns how many are listed. */
static inline trg_u32 cl_list_items(trg_u32 *scratch, trg_u32 *count, const struct cl_view v)
{
    __m512i pixels = _mm512_setzero_si512();
    trg_u32 n = 0u, listed = 0u;

    (void)scratch;
    for (trg_u32 i = 0u; i < v.n; i += CL_LANES) {
        const __mmask16 lanes = cl_lanes(v.n - i);
        const __m512i p = _mm512_maskz_loadu_epi32(lanes, v.pattern + i);
        const __m512i mine = _mm512_and_si512(p, cl_words16(255u)), lower = cl_lower16(mine);
        const __mmask16 touch = _mm512_mask_testn_epi32_mask(lanes, p, cl_words16(CL_ALONE));
        const trg_u32 touches = (trg_u32)__builtin_popcount(touch);

        _mm512_mask_storeu_epi32(v.list + listed, cl_lanes(touches),
                                 _mm512_maskz_compress_epi32(touch, cl_numbers16(i)));
        _mm512_mask_storeu_epi32(v.slot + i, touch,
                                 _mm512_maskz_expand_epi32(touch, cl_numbers16(listed)));
        n += (trg_u32)__builtin_popcount(_mm512_test_epi32_mask(mine, mine)) +
             (trg_u32)__builtin_popcount(_mm512_cmpneq_epi32_mask(mine, lower));
        pixels = _mm512_add_epi32(
            pixels,
            _mm512_and_si512(_mm512_add_epi32(cl_bits16(_mm512_and_si512(mine, cl_words16(15u))),
                                              cl_bits16(_mm512_srli_epi32(mine, 4))),
                             cl_words16(15u)));
        listed += touches;
    }
    for (trg_u32 j = 0u; j < listed; j += CL_LANES)
        cl_put_nodes16(&v, j, cl_lanes(listed - j));
    for (trg_u32 node = 0u; node < CL_NODES * listed; node++)
        v.parent[node] = node;
    count[CL_N_CLUSTERS] += n;
    count[CL_N_PIXELS] += (trg_u32)_mm512_reduce_add_epi32(pixels);
    return listed;
}

/* Adds the sums of set k of the j-th item of the list to those of its cluster.  Returns whether the
 * cluster begins with it. */
static inline trg_u32 cl_add_set(const struct cl_view *v, trg_u32 j, trg_u32 k)
{
    const trg_u32 node = j * CL_NODES + k, root = cl_find(v->parent, node);
    trg_u32 *from = v->sum + k * v->n + j, *to = v->sum + root % CL_NODES * v->n + root / CL_NODES;

    if (root == node)
        return 1u;
    for (trg_u32 f = 0u; f < CL_COLUMN_BIT; f++)
        to[f * v->stride] += from[f * v->stride];
    for (trg_u32 f = CL_COLUMN_BIT; f < CL_SUMS; f++)
        to[f * v->stride] |= from[f * v->stride];
    return 0u;
}

/* Tells in v.list, which nobody reads after it, which sets of an item begin a cluster. */
static inline void cl_add_up(const struct cl_view v)
{
    for (trg_u32 j = 0u; j < v.n_listed; j++) {
        const trg_u32 has_two = cl_upper(v.pattern[v.list[j]]) != 0u;

        v.list[j] = cl_add_set(&v, j, 0u) | (has_two ? cl_add_set(&v, j, 1u) << 1 : 0u);
    }
}

/* ---------------------------------------------------------------- hits */

enum { CL_READY_SENSOR = CL_SUMS, CL_READY_WORDS };

#define CL_READY (16u * CL_LANES) /* clusters that are listed before they are written */

struct cl_ready { /* clusters that are to be written; at: number of the first in the batch */
    trg_u32 of[CL_READY_WORDS][CL_READY + 2u * CL_LANES], n, at;
};

struct cl_output {
    const struct cl_sensor *sensors;
    const float *centres;
    trg_u8 *hits, *clusters;
    const struct cl_par *par;
};

/* Of numbers below 2^23 the quotient, rounded down. */
static inline __m512i cl_divide16(__m512i a, __m512 n)
{
    return _mm512_cvttps_epu32(_mm512_div_ps(_mm512_cvtepu32_ps(a), n));
}

static inline __m512i cl_popcount16(__m512i words)
{
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i bytes = _mm512_add_epi8(
        _mm512_and_si512(cl_bits16(_mm512_and_si512(words, low)), low),
        _mm512_and_si512(cl_bits16(_mm512_and_si512(_mm512_srli_epi32(words, 4), low)), low));

    return _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)),
                             _mm512_set1_epi16(1));
}

/* cl_sigma in pitches, squared, times the pitch's square as cl_write_place has it. */
static inline __m512 cl_variance16(__m512i span, __m512 pitch, const struct cl_par *par)
{
    const __mmask16 is_two = _mm512_cmpeq_epi32_mask(span, cl_words16(2u));
    const __mmask16 is_one = _mm512_cmp_epu32_mask(span, cl_words16(2u), _MM_CMPINT_LT);
    __m512 sigma = _mm512_set1_ps(par->sigma[2]);

    sigma = _mm512_mask_mov_ps(sigma, is_two, _mm512_set1_ps(par->sigma[1]));
    sigma = _mm512_mask_mov_ps(sigma, is_one, _mm512_set1_ps(par->sigma[0]));
    sigma = _mm512_mul_ps(sigma, pitch);
    return _mm512_mul_ps(sigma, sigma);
}

static inline __m512 cl_of_sensor16(const struct cl_output *o, __m512i at, size_t word)
{
    return _mm512_i32gather_ps(at, (const float *)(const void *)o->sensors + word, 4);
}

static inline void cl_store_short16(trg_u16 *to, __mmask16 lanes, __m512i words)
{
    _mm256_mask_storeu_epi16(to, lanes, _mm512_cvtepi32_epi16(words));
}

struct cl_places16 { /* as struct cl_place */
    __m512i sensor, columns, rows;
    __m512 pitch, a, b;
};

#define CL_SENSOR_WORD(m) (offsetof(struct cl_sensor, m) / 4u)

/* cl_write_place */
static inline void cl_write_places16(const struct cl_output *o, const struct cl_places16 *p,
                                     trg_u32 at, __mmask16 lanes)
{
    const __m512 row_pitch = _mm512_set1_ps(o->par->row_pitch);
    const __m512 var_a = cl_variance16(p->columns, p->pitch, o->par);
    const __m512 var_b = cl_variance16(p->rows, row_pitch, o->par);
    const __m512i sensor = _mm512_mullo_epi32(p->sensor, cl_words16(sizeof(struct cl_sensor) / 4u));
    float *const place[] = {TRG_HITS_X_OUT(o->hits, o->par->hits),
                            TRG_HITS_Y_OUT(o->hits, o->par->hits),
                            TRG_HITS_Z_OUT(o->hits, o->par->hits)};
    __m512 column[3], row[3];

    for (trg_u32 k = 0u; k < 3u; k++) {
        column[k] = cl_of_sensor16(o, sensor, CL_SENSOR_WORD(column) + k);
        row[k] = cl_of_sensor16(o, sensor, CL_SENSOR_WORD(row) + k);
        _mm512_mask_storeu_ps(place[k] + at, lanes,
                              _mm512_add_ps(_mm512_add_ps(_mm512_mul_ps(column[k], p->a),
                                                          _mm512_mul_ps(row[k], p->b)),
                                            cl_of_sensor16(o, sensor, CL_SENSOR_WORD(corner) + k)));
    }
    cl_store_short16(TRG_HITS_LAYER_OUT(o->hits, o->par->hits) + at, lanes,
                     _mm512_castps_si512(cl_of_sensor16(o, sensor, CL_SENSOR_WORD(layer))));
    if (!o->par->with_clusters)
        return;
    cl_store_short16(TRG_CLUSTERS_N_COLUMNS_OUT(o->clusters, o->par->clusters) + at, lanes,
                     p->columns);
    cl_store_short16(TRG_CLUSTERS_N_ROWS_OUT(o->clusters, o->par->clusters) + at, lanes, p->rows);
    _mm512_mask_storeu_ps(TRG_CLUSTERS_VAR_X_OUT(o->clusters, o->par->clusters) + at, lanes,
                          _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(column[0], column[0]), var_a),
                                        _mm512_mul_ps(_mm512_mul_ps(row[0], row[0]), var_b)));
    _mm512_mask_storeu_ps(TRG_CLUSTERS_VAR_Y_OUT(o->clusters, o->par->clusters) + at, lanes,
                          _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(column[1], column[1]), var_a),
                                        _mm512_mul_ps(_mm512_mul_ps(row[1], row[1]), var_b)));
    _mm512_mask_storeu_ps(TRG_CLUSTERS_COV_XY_OUT(o->clusters, o->par->clusters) + at, lanes,
                          _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(column[0], column[1]), var_a),
                                        _mm512_mul_ps(_mm512_mul_ps(row[0], row[1]), var_b)));
}

/* Clusters that are ready, from the k-th on, become hits; their sums are below 2^23. */
static inline void cl_write_hits16(const struct cl_output *o, const struct cl_ready *r, trg_u32 k,
                                   __mmask16 lanes)
{
    const trg_u32 at = r->at + k;
    const __m512i n = _mm512_maskz_loadu_epi32(lanes, r->of[CL_SIZE] + k);
    const __m512i sum_column = _mm512_maskz_loadu_epi32(lanes, r->of[CL_SUM_COLUMN] + k);
    const __m512i sum_row = _mm512_maskz_loadu_epi32(lanes, r->of[CL_SUM_ROW] + k);
    const __m512 size = _mm512_mask_cvtepu32_ps(_mm512_set1_ps(1.0f), lanes, n);
    const __m512i column = cl_divide16(sum_column, size), row = cl_divide16(sum_row, size);
    const __m512 over = _mm512_div_ps(
        _mm512_cvtepu32_ps(_mm512_sub_epi32(sum_column, _mm512_mullo_epi32(column, n))), size);
    const __m512 above = _mm512_div_ps(
        _mm512_cvtepu32_ps(_mm512_sub_epi32(sum_row, _mm512_mullo_epi32(row, n))), size);
    const __m512 low = _mm512_i32gather_ps(column, o->centres, 4);
    struct cl_places16 p = {
        .sensor = _mm512_maskz_loadu_epi32(lanes, r->of[CL_READY_SENSOR] + k),
        .columns = cl_popcount16(_mm512_maskz_loadu_epi32(lanes, r->of[CL_COLUMN_BIT] + k)),
        .rows = cl_popcount16(_mm512_maskz_loadu_epi32(lanes, r->of[CL_ROW_BIT] + k))};

    p.pitch = _mm512_sub_ps(_mm512_i32gather_ps(column, o->centres + 1, 4), low);
    p.a = _mm512_add_ps(low, _mm512_mul_ps(over, p.pitch));
    p.b = _mm512_mul_ps(
        _mm512_add_ps(_mm512_add_ps(_mm512_cvtepu32_ps(row), _mm512_set1_ps(0.5f)), above),
        _mm512_set1_ps(o->par->row_pitch));
    cl_write_places16(o, &p, at, lanes);
    _mm512_mask_storeu_epi32(
        TRG_HITS_ID_OUT(o->hits, o->par->hits) + at, lanes,
        _mm512_or_si512(_mm512_or_si512(cl_words16(1u << 31), _mm512_slli_epi32(p.sensor, 18)),
                        _mm512_or_si512(_mm512_slli_epi32(column, 8), row)));
    if (!o->par->with_clusters)
        return;
    cl_store_short16(TRG_CLUSTERS_SIZE_OUT(o->clusters, o->par->clusters) + at, lanes,
                     _mm512_min_epu32(n, cl_words16(65535u)));
    _mm512_mask_storeu_epi32(TRG_CLUSTERS_CHARGE_OUT(o->clusters, o->par->clusters) + at, lanes,
                             _mm512_setzero_si512());
}

/* The same for n <= 16 of them, large ones one by one. */
static inline void cl_write_some(const struct cl_output *o, const struct cl_ready *r, trg_u32 from,
                                 trg_u32 n)
{
    const __mmask16 lanes = cl_lanes(n);
    const __m512i sums =
        _mm512_or_si512(_mm512_maskz_loadu_epi32(lanes, r->of[CL_SUM_COLUMN] + from),
                        _mm512_maskz_loadu_epi32(lanes, r->of[CL_SUM_ROW] + from));

    if (!_mm512_test_epi32_mask(sums, cl_words16(~((1u << 23) - 1u)))) {
        cl_write_hits16(o, r, from, lanes);
        return;
    }
    for (trg_u32 k = from; k < from + n; k++) {
        struct cl_sums s;

        for (trg_u32 f = 0u; f < CL_SUMS; f++)
            s.of[f] = r->of[f][k];
        cl_write_hit(s, r->of[CL_READY_SENSOR][k], r->at + k, o->sensors, o->centres, o->hits,
                     o->clusters, *o->par);
    }
}

/* Writes the clusters that are ready, sixteen by sixteen; those that are left come first. */
static inline void cl_write_ready(const struct cl_output *o, struct cl_ready *r)
{
    const trg_u32 n = r->n / CL_LANES * CL_LANES;

    for (trg_u32 k = 0u; k < n; k += CL_LANES)
        cl_write_some(o, r, k, CL_LANES);
    for (trg_u32 f = 0u; f < CL_READY_WORDS; f++)
        _mm512_storeu_si512(r->of[f], _mm512_loadu_si512(r->of[f] + n));
    r->n -= n;
    r->at += n;
}

static inline void cl_make_ready(struct cl_ready *r, __mmask16 which, const struct cl_sums16 *s,
                                 __m512i sensor)
{
    for (trg_u32 f = 0u; f < CL_SUMS; f++)
        _mm512_storeu_si512(r->of[f] + r->n, _mm512_maskz_compress_epi32(which, s->of[f]));
    _mm512_storeu_si512(r->of[CL_READY_SENSOR] + r->n, _mm512_maskz_compress_epi32(which, sensor));
    r->n += (trg_u32)__builtin_popcount(which);
}

/* The same for the first and second sets of items in turns. */
static inline void cl_make_both_ready(struct cl_ready *r, __mmask16 first, __mmask16 second,
                                      const struct cl_sums16 *s, const struct cl_sums16 *t,
                                      __m512i sensor)
{
    const trg_u32 turns = _pdep_u32(first, 0x55555555u) | _pdep_u32(second, 0xaaaaaaaau);

    for (trg_u32 part = 0u; part < 2u; part++) {
        const __m512i item = _mm512_srli_epi32(cl_numbers16(part * CL_LANES), 1);
        const __m512i from = _mm512_mask_add_epi32(item, 0xaaaau, item, cl_words16(CL_LANES));
        struct cl_sums16 both;

        for (trg_u32 f = 0u; f < CL_SUMS; f++)
            both.of[f] = _mm512_permutex2var_epi32(s->of[f], from, t->of[f]);
        cl_make_ready(r, (__mmask16)(turns >> part * CL_LANES), &both,
                      _mm512_permutexvar_epi32(item, sensor));
    }
}

/* Those of the lanes that are in the list get the sums that are there, from place `at` on. */
static inline void cl_take_sums16(const struct cl_view *v, const trg_u32 *at, __mmask16 lanes,
                                  struct cl_sums16 *s)
{
    for (trg_u32 f = 0u; f < CL_SUMS; f++)
        s->of[f] = _mm512_mask_expandloadu_epi32(s->of[f], lanes, at + f * v->stride);
}

/* The clusters of the RoI, of which there are `base` before. */
static inline void cl_write_hits(trg_u32 *scratch, const struct cl_view v, trg_u32 base,
                                 const struct cl_sensor *sensors, const float *centres,
                                 trg_u8 *hits, trg_u8 *clusters, const struct cl_par par)
{
    const struct cl_output o = {sensors, centres, hits, clusters, &par};
    struct cl_ready r;
    trg_u32 listed = 0u;

    (void)scratch;
    r.n = 0u;
    r.at = base;
    for (trg_u32 i = 0u; i < v.n; i += CL_LANES) {
        const __mmask16 lanes = cl_lanes(v.n - i);
        const __m512i key = _mm512_maskz_loadu_epi32(lanes, v.key + i);
        const __m512i p = _mm512_maskz_loadu_epi32(lanes, v.pattern + i);
        const __mmask16 touch = _mm512_mask_testn_epi32_mask(lanes, p, cl_words16(CL_ALONE));
        const __m512i pixels = _mm512_and_si512(p, cl_words16(255u)), lower = cl_lower16(pixels);
        const __m512i upper = _mm512_xor_si512(pixels, lower);
        const __m512i begins = _mm512_maskz_expandloadu_epi32(touch, v.list + listed);
        const __m512i sensor = _mm512_srli_epi32(key, CL_ROW_BITS + CL_COLUMN_BITS);
        const __mmask16 alone = lanes & (__mmask16)~touch;
        const __mmask16 first = _mm512_mask_test_epi32_mask(alone, lower, lower) |
                                _mm512_test_epi32_mask(begins, cl_words16(1u));
        const __mmask16 second = _mm512_mask_test_epi32_mask(alone, upper, upper) |
                                 _mm512_test_epi32_mask(begins, cl_words16(2u));
        struct cl_sums16 s = cl_sums_of16(key, lower);

        cl_take_sums16(&v, v.sum + listed, touch, &s);
        if (second) {
            struct cl_sums16 t = cl_sums_of16(key, upper);

            cl_take_sums16(&v, v.sum + v.n + listed, touch, &t);
            cl_make_both_ready(&r, first, second, &s, &t, sensor);
        } else {
            cl_make_ready(&r, first, &s, sensor);
        }
        if (r.n >= CL_READY)
            cl_write_ready(&o, &r);
        listed += (trg_u32)__builtin_popcount(touch);
    }
    cl_write_ready(&o, &r);
    cl_write_some(&o, &r, 0u, r.n);
}
#endif
