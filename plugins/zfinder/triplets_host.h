/* SPDX-License-Identifier: Apache-2.0 */
/* triplets_host.h - triplets on the CPU.  Part of double.kernel.c; the same bits as zf_triplets of
 * double.h gives.
 *
 * Around each middle point, pairs with the points further in are tested against those with the
 * points further out: see double.h.  Inner ones are in vectors, outer ones come one at a time, and
 * only those that any inner one can agree with.  Both lie in groups by their slice, because the
 * bending has to go on in the direction in which it began: an inner point has to do with whole
 * groups. */
#ifndef ZFINDER_TRIPLETS_HOST_H
#define ZFINDER_TRIPLETS_HOST_H
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "slices_host.h"

typedef float zf_tests __attribute__((vector_size(4 * ZF_ABREAST)));
typedef int32_t zf_agreed __attribute__((vector_size(4 * ZF_ABREAST)));

struct zf_middle { /* a middle point, and how far the bends of its pairs may be apart */
    double rho, z, from_start;
    trg_u32 rank, slice;
    float dk;
};

/* Groups of outer points: before the slices near by, in these, and behind. */
enum zf_group { ZF_BEFORE, ZF_HERE, ZF_BEHIND };

struct zf_terms { /* of the pairs of a middle point with ZF_WIDTH others, on the beam line */
    zf_doubles z;
    zf_floats k;
};

TRG_FN struct zf_terms zf_terms_at(const struct zf_walk *w, const struct zf_middle *m, trg_u32 at)
{
    zf_doubles rho, zed, phi, inv;

    memcpy(&rho, w->rho + at, sizeof rho);
    memcpy(&zed, w->z + at, sizeof zed);
    memcpy(&phi, w->from_start + at, sizeof phi);
    inv = 1.0 / (rho - m->rho);
    return (struct zf_terms){
        .z = (m->z * rho - zed * m->rho) * inv,
        .k = __builtin_convertvector(2.0 * (m->from_start - phi) * inv, zf_floats)};
}

/* ---------------------------------------------------------------- inner points */

/* Adds a stretch to the n inner points; those whose pair is out of range agree with none. */
TRG_FN void zf_add_inner(struct zf_walk *w, const struct zf_middle *m, const struct zf_stretch x,
                         trg_u32 rank, trg_u32 *n)
{
    const trg_i32 tag = (trg_i32)(rank << 27 | ZF_SECOND << 25);
    zf_ints near = zf_count_from(x.near - x.from), past = zf_count_from(x.past - x.from);
    struct zf_inner *in = &w->desk->inner;
    trg_u32 k = *n;

    for (trg_u32 at = x.from; at < x.to; at += ZF_WIDTH, k += ZF_WIDTH) {
        const struct zf_terms t = zf_terms_at(w, m, at);
        const zf_doubles z = zf_choose(zf_in_range(w, t.z), t.z, zf_all((double)NAN));
        const zf_floats f = __builtin_convertvector(z, zf_floats);
        /* seen from an inner point behind, the middle one lies before it */
        const zf_ints code = zf_z_codes(w, t.z) | (tag + (((near >= 0) + (past >= 0)) << 25));

        memcpy(in->z + k, &f, sizeof f);
        memcpy(in->k + k, &t.k, sizeof t.k);
        memcpy(in->code + k, &code, sizeof code);
        memcpy(in->slice + k, w->slice + at, sizeof code);
        near += ZF_WIDTH;
        past += ZF_WIDTH;
    }
    *n += x.to - x.from;
}

/* Adds the inner points up to the slice of the middle one, or those behind it, to the n before
 * them; returns how many they are then, in whole vectors. */
TRG_FN trg_u32 zf_add_group(struct zf_walk *w, const struct zf_middle *m, bool behind, trg_u32 n)
{
    const zf_tests none = (zf_tests){0} + NAN;

    for (trg_u32 a = 0; a < m->rank && a < w->n_begin; a++) {
        const trg_u32 *start = w->start + a * (w->par->slices_room + 1u);
        struct zf_stretch x = zf_stretch(w, a, m->slice, w->reach[a][m->rank]);

        if (behind)
            x.from = start[m->slice + 1u];
        else
            x.to = start[m->slice + 1u];
        if (n + (x.to - x.from) + ZF_ABREAST > ZF_SIDE)
            w->failed = 1u;
        else
            zf_add_inner(w, m, x, a, &n);
    }
    memcpy(w->desk->inner.z + n, &none, sizeof none);
    return (n + ZF_ABREAST - 1u) & ~(ZF_ABREAST - 1u);
}

/* The inner points; false when there are none, or too many. */
TRG_FN bool zf_look_in(struct zf_walk *w, const struct zf_middle *m)
{
    struct zf_inner *in = &w->desk->inner;

    in->n_not_behind = zf_add_group(w, m, false, 0u);
    in->n = zf_add_group(w, m, true, in->n_not_behind);
    return in->n && !w->failed;
}

/* ---------------------------------------------------------------- outer points */

/* Which of the points of a stretch are before the slices near by, which are not behind them, and
 * which are there at all, as bits: of ZF_PARTS points. */
struct zf_parts {
    trg_u64 before, not_behind, all;
};
#define ZF_PARTS 64u

struct zf_ends { /* of the groups */
    trg_u32 before, here, behind;
};

TRG_FN trg_u64 zf_ones(trg_u32 from, trg_u32 to)
{
    const trg_u32 n = from < to ? to - from : 0u;

    return n < ZF_PARTS ? ((trg_u64)1u << n) - 1u : ~(trg_u64)0u;
}

/* Of those from `at` on, when the ones before it are known. */
TRG_FN struct zf_parts zf_parts_at(const struct zf_stretch x, trg_u32 at, const struct zf_parts p)
{
    if ((at - x.from) % ZF_PARTS == 0u)
        return (struct zf_parts){zf_ones(at, x.near), zf_ones(at, x.past), zf_ones(at, x.to)};
    return (struct zf_parts){p.before >> ZF_WIDTH, p.not_behind >> ZF_WIDTH, p.all >> ZF_WIDTH};
}

/* Adds pairs to the groups of outer points: those whose z is between low and high.  Places behind
 * a group are written over by the next ones. */
TRG_FN struct zf_ends zf_add_outer(struct zf_outer *out, struct zf_ends to, zf_floats z,
                                   zf_floats k, float low, float high, const struct zf_parts p)
{
#if defined(__AVX512F__)
    const __m256 zs = (__m256)z;
    const __mmask8 in = _mm256_mask_cmp_ps_mask(
        _mm256_mask_cmp_ps_mask((__mmask8)p.all, zs, _mm256_set1_ps(low), _CMP_GE_OQ), zs,
        _mm256_set1_ps(high), _CMP_LE_OQ);
    const trg_u32 n = (trg_u32)__builtin_popcount(in);
    const trg_u32 before = (trg_u32)__builtin_popcount(in & (trg_u32)p.before);
    const trg_u32 not_behind = (trg_u32)__builtin_popcount(in & (trg_u32)p.not_behind);
    const __m256 z_in = _mm256_maskz_compress_ps(in, zs);
    const __m256 k_in = _mm256_maskz_compress_ps(in, (__m256)k);
    const __mmask8 not_before = (__mmask8)(0xffu << before),
                   behind = (__mmask8)(0xffu << not_behind);

    _mm256_storeu_ps(out[ZF_BEFORE].z + to.before, z_in);
    _mm256_storeu_ps(out[ZF_BEFORE].k + to.before, k_in);
    _mm256_mask_storeu_ps(out[ZF_HERE].z + to.here - before, not_before, z_in);
    _mm256_mask_storeu_ps(out[ZF_HERE].k + to.here - before, not_before, k_in);
    _mm256_mask_storeu_ps(out[ZF_BEHIND].z + to.behind - not_behind, behind, z_in);
    _mm256_mask_storeu_ps(out[ZF_BEHIND].k + to.behind - not_behind, behind, k_in);
    return (struct zf_ends){to.before + before, to.here + not_behind - before,
                            to.behind + n - not_behind};
#else
    trg_u32 *const end[3] = {&to.before, &to.here, &to.behind};

    for (trg_u32 j = 0; j < ZF_WIDTH && p.all >> j & 1u; j++) {
        const trg_u32 g = (trg_u32)(~p.before >> j & 1u) + (trg_u32)(~p.not_behind >> j & 1u);

        out[g].z[*end[g]] = z[j];
        out[g].k[*end[g]] = k[j];
        *end[g] += (trg_u32)(z[j] >= low) & (trg_u32)(z[j] <= high);
    }
    return to;
#endif
}

/* The outer points, without those whose z no inner one can have; false when there are none, or too
 * many. */
TRG_FN bool zf_look_out(struct zf_walk *w, const struct zf_middle *m)
{
    const float far = w->par->triplet_dz + 1.0f; /* mm; roundings are less */
    const float low = w->roi->z_low - far, high = w->roi->z_high + far;
    struct zf_outer *out = w->desk->outer;
    struct zf_parts parts = {0u, 0u, 0u};
    struct zf_ends to = {0u, 0u, 0u};
    trg_u32 n = 0u;

    for (trg_u32 b = m->rank + 1u; b < w->n_layers; b++) {
        const struct zf_stretch x = zf_stretch(w, b, m->slice, w->reach[m->rank][b]);

        n += x.to - x.from;
        if (n > ZF_SIDE) {
            w->failed = 1u;
            return false;
        }
        for (trg_u32 at = x.from; at < x.to; at += ZF_WIDTH) {
            const struct zf_terms t = zf_terms_at(w, m, at);

            parts = zf_parts_at(x, at, parts);
            to = zf_add_outer(out, to, __builtin_convertvector(t.z, zf_floats), t.k, low, high,
                              parts);
        }
    }
    out[ZF_BEFORE].n = to.before;
    out[ZF_HERE].n = to.here;
    out[ZF_BEHIND].n = to.behind;
    return to.before + to.here + to.behind > 0u;
}

/* ---------------------------------------------------------------- triplets */

TRG_FN zf_tests zf_sizes(zf_tests x)
{
    return (zf_tests)((zf_agreed)x & 0x7fffffff);
}

/* How many outer points of a group agree in z and curvature with each of ZF_ABREAST inner ones. */
TRG_FN zf_agreed zf_agreeing(const struct zf_walk *w, trg_u32 at, const struct zf_outer *out,
                             float dk)
{
    const float dz = w->par->triplet_dz;
    zf_agreed n = {0};
    zf_tests z, k;

    memcpy(&z, w->desk->inner.z + at, sizeof z);
    memcpy(&k, w->desk->inner.k + at, sizeof k);
    for (trg_u32 j = 0; j < out->n; j++) {
        const zf_tests z_apart = zf_sizes(out->z[j] - z), k_apart = zf_sizes(out->k[j] - k);

#if defined(__AVX512F__)
        n = (zf_agreed)_mm512_mask_sub_epi32(
            (__m512i)n,
            _mm512_mask_cmp_ps_mask(
                _mm512_cmp_ps_mask((__m512)z_apart, _mm512_set1_ps(dz), _CMP_LE_OQ),
                (__m512)k_apart, _mm512_set1_ps(dk), _CMP_LE_OQ),
            (__m512i)n, _mm512_set1_epi32(-1));
#else
        n -= (zf_agreed)(z_apart <= dz) & (zf_agreed)(k_apart <= dk);
#endif
    }
    return n;
}

/* The same for all outer points to which the bending may go on: in the direction in which it began.
 */
TRG_FN zf_agreed zf_following(const struct zf_walk *w, const struct zf_middle *m, trg_u32 at)
{
    const struct zf_inner *in = &w->desk->inner;
    const struct zf_outer *out = w->desk->outer;
    const zf_agreed n = zf_agreeing(w, at, &out[ZF_HERE], m->dk);
    zf_agreed slice;

    if (at >= in->n_not_behind)
        return n + zf_agreeing(w, at, &out[ZF_BEFORE], m->dk);
    memcpy(&slice, in->slice + at, sizeof slice);
    return n + (zf_agreeing(w, at, &out[ZF_BEHIND], m->dk) & (slice != (trg_i32)m->slice));
}

/* Keeps those inner points, from `at` on, with which any agree: see struct zf_desk. */
TRG_FN void zf_keep_triples(struct zf_walk *w, trg_u32 at, zf_agreed n)
{
    const struct zf_inner *in = &w->desk->inner;
    uint64_t *to = w->desk->triples + w->n_kept;
#if defined(__AVX512F__)
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i rest = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const __mmask16 any = _mm512_test_epi32_mask((__m512i)n, (__m512i)n);
    const __m512i slice = _mm512_loadu_si512(in->slice + at);
    const __m512i high = _mm512_or_si512(_mm512_slli_epi32((__m512i)n, 16), slice);
    const __m512i low = _mm512_maskz_compress_epi32(any, _mm512_loadu_si512(in->code + at));
    const __m512i upper = _mm512_maskz_compress_epi32(any, high);

    _mm512_storeu_si512(to, _mm512_permutex2var_epi32(low, first, upper));
    _mm512_storeu_si512(to + 8, _mm512_permutex2var_epi32(low, rest, upper));
    w->n_kept += (trg_u32)__builtin_popcount(any);
#else
    trg_u32 kept = 0u;

    for (trg_u32 j = 0; j < ZF_ABREAST; j++) {
        to[kept] = (trg_u64)n[j] << 48 | (trg_u64)in->slice[at + j] << 32 | in->code[at + j];
        kept += (trg_u32)(n[j] != 0);
    }
    w->n_kept += kept;
#endif
}

/* Counts all that were kept in one histogram. */
TRG_FN void zf_empty_triples(struct zf_walk *w)
{
    for (trg_u32 k = 0; k < w->n_kept; k++)
        zf_add_whole(w, (trg_u32)w->desk->triples[k], (trg_u32)(w->desk->triples[k] >> 48));
    w->n_kept = 0u;
}

TRG_FN void zf_triplets_around(struct zf_walk *w, const struct zf_middle *m)
{
    /* one outer point is enough, or all count */
    const zf_agreed most = (zf_agreed){0} + (w->par->triplet_mode == 1u ? 1 : (trg_i32)ZF_SIDE);
    const struct zf_inner *in = &w->desk->inner;

    if (!zf_look_in(w, m) || !zf_look_out(w, m))
        return;
    if (w->n_kept + in->n > ZF_TRIPLES) {
        if (w->par->per_slice)
            w->failed = 1u;
        else
            zf_empty_triples(w);
    }
    for (trg_u32 at = 0; at < in->n && !w->failed; at += ZF_ABREAST) {
        const zf_agreed n = zf_following(w, m, at), more = n > most;

        zf_keep_triples(w, at, (most & more) | (n & ~more));
    }
}

TRG_FN void zf_all_triplets(struct zf_walk *w)
{
    for (trg_u32 b = 1; b + 1u < w->n_layers; b++) {
        const trg_u32 *start = w->start + b * (w->par->slices_room + 1u);

        for (trg_u32 i = start[0]; i < start[w->roi->n_slices] && !w->failed; i++) {
            const struct zf_middle m = {w->rho[i], w->z[i],     w->from_start[i],
                                        b,         w->slice[i], zf_bend_apart(w->par, w->rho[i])};

            zf_triplets_around(w, &m);
        }
    }
    if (!w->par->per_slice)
        zf_empty_triples(w);
}

/* ---------------------------------------------------------------- a histogram for each slice */

/* Sorts the pairs that were kept by the slice of their inner point. */
TRG_FN void zf_sort_triples(struct zf_walk *w)
{
    trg_u32 *first = w->desk->first_triple;
    const trg_u32 n = w->roi->n_slices;

    memset(first, 0, (n + 2u) * sizeof *first);
    for (trg_u32 k = 0; k < w->n_kept; k++)
        first[(w->desk->triples[k] >> 32 & 0xffffu) + 2u]++;
    for (trg_u32 s = 2; s < n + 2u; s++)
        first[s] += first[s - 1u];
    for (trg_u32 k = 0; k < w->n_kept; k++)
        w->desk->by_slice[first[(w->desk->triples[k] >> 32 & 0xffffu) + 1u]++] =
            w->desk->triples[k];
}

TRG_FN void zf_count_triples(struct zf_walk *w, trg_u32 slice)
{
    const trg_u32 *first = w->desk->first_triple;
    trg_u32 digest = 0u, times = 0u;

    for (trg_u32 k = first[slice]; k < first[slice + 1u]; k++)
        times += (trg_u32)(w->desk->by_slice[k] >> 48);
    if (zf_has_room(w, slice, times))
        for (trg_u32 k = first[slice]; k < first[slice + 1u]; k++)
            digest += zf_count_code(w, (trg_u32)w->desk->by_slice[k],
                                    (trg_u32)(w->desk->by_slice[k] >> 48));
    w->sum.digest += digest;
}

/* The places of a peak's entries. */
TRG_FN void zf_places_of(struct zf_walk *w, struct zf_peak *p)
{
    const trg_u32 far = w->most_spread, *first = w->desk->first_triple;

    for (trg_u32 s = p->slice > far ? p->slice - far : 0u;
         s <= p->slice + far && s < w->roi->n_slices; s++) {
        zf_set_steps(w, s);
        if (!w->par->triplet_mode)
            zf_pairs_of(w, s, zf_take_places, p);
        for (trg_u32 k = first[s]; w->par->triplet_mode && k < first[s + 1u]; k++)
            zf_add_place(w, p, (trg_u32)w->desk->by_slice[k],
                         (trg_u32)(w->desk->by_slice[k] >> 48));
    }
}

/* Points in a slice at which pairs begin. */
TRG_FN trg_u32 zf_begins(const struct zf_walk *w, trg_u32 slice)
{
    trg_u32 n = 0u;

    for (trg_u32 a = 0; a < w->n_begin; a++) {
        const struct zf_stretch own = zf_stretch(w, a, slice, 0u);

        n += own.to - own.from;
    }
    return n;
}

/* Counts all slices and finds their peaks; `room` holds those of one slice. */
TRG_FN void zf_walk_slices(struct zf_walk *w, struct zf_peak *room)
{
    const trg_u32 n = w->roi->n_slices, far = w->most_spread, mode = w->par->triplet_mode;

    w->failed |= (trg_u32)(2u * far + 1u >= ZF_RING);
    if (mode && !w->failed) {
        zf_all_triplets(w);
        zf_sort_triples(w);
    }
    for (trg_u32 s = 0; s < n && !w->failed; s++) {
        if (s + far >= w->done + ZF_RING)
            zf_finish(w, s - far, room);
        w->load[s % ZF_RING] = 0u;
        if (!(mode ? w->desk->first_triple[s + 1u] - w->desk->first_triple[s] : zf_begins(w, s)))
            continue;
        zf_set_steps(w, s);
        if (mode)
            zf_count_triples(w, s);
        else
            zf_pairs_of(w, s, zf_take_slices, NULL);
    }
    while (!w->failed && w->done < n)
        zf_finish(w, w->done + ZF_RING < n ? w->done + ZF_RING : n, room);
    for (trg_u32 k = 0; !w->failed && k < w->n_list; k++)
        zf_places_of(w, &w->list[k]);
    for (trg_u32 k = w->n_list; k < w->par->peaks_room; k++)
        w->list[k].total = 0u;
}
#endif
