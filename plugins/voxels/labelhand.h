/* SPDX-License-Identifier: Apache-2.0 */
/* labelhand.h - the CPU's own way to the labels of a brick: rows in blocks of 32 voxels, and step
 * functions as comparisons in 16-bit lanes, because vectors cannot look up quickly.
 *
 * Weights are shifted right to fit 16 bits, which rounds each of them down by less than 1.  So with
 * `terms` of them the exact sum lies in [f, f + terms) of the 16-bit sum f: above 0 the label is 1,
 * at -terms and below it is 0, and the few voxels between are summed up exactly.  The labels are
 * those of vox_vote, bit for bit. */
#ifndef VOXELS_LABELHAND_H
#define VOXELS_LABELHAND_H
#if defined(__AVX2__) || defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include "label.h"

#define VOX_BLOCK    32u
#define VOX_PIECE    2048u /* voxels of a row whose tables are kept at hand */
#define VOX_COMPARED 5u    /* features that are compared: v, dx, dy, dz, s */
#define VOX_S_BIASED 32768 /* s is compared as s - 32768, saturated above 65535 */

typedef int16_t vox_lanes __attribute__((vector_size(2 * VOX_BLOCK)));
typedef uint16_t vox_ulanes __attribute__((vector_size(2 * VOX_BLOCK)));
typedef uint8_t vox_bytes __attribute__((vector_size(VOX_BLOCK)));
typedef int8_t vox_signs __attribute__((vector_size(VOX_BLOCK)));

struct vox_host {                                     /* what all rows of a launch share */
    vox_lanes at[VOX_STEPS_MAX], step[VOX_STEPS_MAX]; /* the same in every lane */
    trg_u32 first[VOX_COMPARED + 1u];                 /* steps of each feature */
    trg_u32 shift;
    trg_i32 terms;
    int16_t of_x[VOX_PIECE + VOX_BLOCK];
    const trg_i32 *table, *exact_x; /* for what 16 bits do not decide */
    trg_u32 extent_x;
};

/* One bit for each lane; lanes are 0 or -1. */
TRG_FN trg_u32 vox_lane_bits(const vox_lanes *m)
{
#if defined(__AVX512BW__)
    return _mm512_movepi16_mask((__m512i)*m);
#elif defined(__AVX2__)
    __m256i half[2];

    memcpy(half, m, sizeof half);
    return (trg_u32)_mm256_movemask_epi8(
        _mm256_permute4x64_epi64(_mm256_packs_epi16(half[0], half[1]), 0xd8));
#else
    const vox_signs bytes = __builtin_convertvector(*m, vox_signs);
    trg_u64 eight[4];
    trg_u32 bits = 0u;

    memcpy(eight, &bytes, sizeof eight);
    for (trg_u32 k = 0; k < 4u; k++)
        bits |= (trg_u32)((eight[k] & 0x8040201008040201u) * 0x0101010101010101u >> 56) << (8u * k);
    return bits;
#endif
}

TRG_FN void vox_load(const trg_u8 *at, vox_lanes *ret)
{
    vox_bytes b;

    memcpy(&b, at, sizeof b);
    *ret = __builtin_convertvector(b, vox_lanes);
}

/* The difference of two neighbours. */
TRG_FN void vox_subtract(const trg_u8 *low, const trg_u8 *high, vox_lanes *ret)
{
    vox_lanes a, b;

    vox_load(low, &a);
    vox_load(high, &b);
    *ret = a - b;
}

/* Adds the squares, and stays at 65535. */
TRG_FN void vox_add_square(const vox_lanes *d, vox_ulanes *sum)
{
    const vox_ulanes square = (vox_ulanes)*d * (vox_ulanes)*d, both = *sum + square;

    *sum = both | (vox_ulanes)(both < square);
}

TRG_FN void vox_add_steps(const struct vox_host *h, trg_u32 feature, const vox_lanes *value,
                          vox_lanes *sum)
{
    for (trg_u32 i = h->first[feature]; i < h->first[feature + 1u]; i++)
        *sum += (*value > h->at[i]) & h->step[i];
}

/* The 16-bit sums of the block of voxels that begins at `at`. */
TRG_FN void vox_host_sums(const struct vox_host *h, const trg_u8 *at, trg_u32 pitch, trg_u32 plane,
                          vox_lanes *sum)
{
    vox_lanes v, dx, dy, dz, s;
    vox_ulanes squares = {0};

    vox_load(at, &v);
    vox_subtract(at - 1, at + 1, &dx);
    vox_subtract(at - pitch, at + pitch, &dy);
    vox_subtract(at - plane, at + plane, &dz);
    vox_add_square(&dx, &squares);
    vox_add_square(&dy, &squares);
    vox_add_square(&dz, &squares);
    s = (vox_lanes)(squares ^ (uint16_t)VOX_S_BIASED);
    vox_add_steps(h, 0, &v, sum);
    vox_add_steps(h, 1, &dx, sum);
    vox_add_steps(h, 2, &dy, sum);
    vox_add_steps(h, 3, &dz, sum);
    vox_add_steps(h, 4, &s, sum);
}

/* The label of one voxel by the tables; `position` is the part of y, z and the bias. */
TRG_FN trg_u32 vox_host_exact(const struct vox_host *h, const struct vox_label_par *par,
                              const trg_u8 *at, trg_u32 pitch, trg_u32 plane, trg_i32 position)
{
    const trg_i32 dx = at[-1] - at[1], dy = *(at - pitch) - at[pitch];
    const trg_i32 dz = *(at - plane) - at[plane];
    const trg_u32 whole = vox_whole((trg_u32)(dx * dx + dy * dy + dz * dz));
    trg_i32 f = position + h->table[VOX_TABLE_V + at[0]] +
                h->table[(trg_i32)VOX_TABLE_DX + dx + VOX_D_ZERO] +
                h->table[(trg_i32)VOX_TABLE_DY + dy + VOX_D_ZERO] +
                h->table[(trg_i32)VOX_TABLE_DZ + dz + VOX_D_ZERO];

    f += vox_of_square(h->table, whole);
    vox_add_crowded(h->table, par->s_steps, &whole, 1u, &f);
    return f > 0 ? 1u : 0u;
}

/* The labels of a block, whose part of y, z and the bias is `position`; x counts in the volume. */
TRG_FN trg_u32 vox_host_block(const struct vox_host *h, const struct vox_label_par *par,
                              const trg_u8 *at, trg_u32 pitch, trg_u32 plane, trg_i32 position,
                              trg_u32 in_piece, trg_u32 x)
{
    const int16_t base = (int16_t)(position >> h->shift);
    vox_lanes sum;
    trg_u32 bits, open;

    memcpy(&sum, h->of_x + in_piece, sizeof sum);
    sum += base;
    vox_host_sums(h, at, pitch, plane, &sum);
    {
        const vox_lanes is_above = sum > (int16_t)0;
        const vox_lanes is_open = (sum > (int16_t)-h->terms) & ~is_above;

        bits = vox_lane_bits(&is_above);
        open = vox_lane_bits(&is_open);
    }
    for (; open; open &= open - 1u) {
        const trg_u32 k = vox_lowest_bit(open);
        const trg_i32 there = position + vox_position(h->exact_x, h->extent_x, x + k);

        bits |= vox_host_exact(h, par, at + k, pitch, plane, there) << k;
    }
    return bits;
}

/* What a model's steps are to the blocks; `words` as tables.c writes them: the first step of each
 * feature and the end, shift, terms, then threshold and step of each. */
TRG_FN void vox_host_open(struct vox_host *h, const trg_i32 *tables,
                          const struct vox_label_par *par)
{
    const trg_i32 *words =
        tables + VOX_TABLE_REST + par->extent[0] + par->extent[1] + par->extent[2];

    for (trg_u32 f = 0; f <= VOX_COMPARED; f++)
        h->first[f] = (trg_u32)words[f];
    h->shift = (trg_u32)words[VOX_COMPARED + 1u];
    h->terms = words[VOX_COMPARED + 2u];
    words += VOX_COMPARED + 3u;
    for (trg_u32 i = 0; i < par->steps; i++) {
        h->at[i] = (vox_lanes){0} + (int16_t)words[2u * i];
        h->step[i] = (vox_lanes){0} + (int16_t)words[2u * i + 1u];
    }
    h->table = tables;
    h->exact_x = tables + VOX_TABLE_REST;
    h->extent_x = par->extent[0];
}

/* A block of up to 32 voxels from x on of a row. */
TRG_FN void vox_found_block(struct vox_found *f, trg_u32 bits, trg_u32 x, trg_u32 y, trg_u32 z)
{
    const struct vox_column c = {bits, z, z};

    f->count += trg_popcount(bits);
    vox_found_column(f, c, x, y);
}

struct vox_host_job { /* planes z_first .. z_end of a brick */
    const struct vox_brick *brick;
    const struct vox_label_par *par;
    const trg_u8 *at; /* its first voxel, placed */
    const trg_i32 *of_y, *of_z;
    trg_u8 *labels;
    trg_u32 z_first, z_end;
    struct vox_found *found;
};

/* Voxels [x, x + n) of the row at `at`; their labels to `labels`, that of x in the first bit. */
TRG_FN void vox_host_row(const struct vox_host *h, const struct vox_host_job *j, const trg_u8 *at,
                         trg_u32 x, trg_u32 n, trg_u32 y, trg_u32 z, trg_u8 *labels)
{
    const struct vox_brick *b = j->brick;
    const trg_u32 pitch = vox_pitch(b->n[0]), plane = pitch * (b->n[1] + 2u);
    const trg_i32 position = vox_position(j->of_y, j->par->extent[1], b->origin[1] + y) +
                             vox_position(j->of_z, j->par->extent[2], b->origin[2] + z);

    for (trg_u32 i = 0; i < n; i += VOX_BLOCK) {
        const trg_u32 left = n - i, xi = b->origin[0] + x + i;
        trg_u32 bits = vox_host_block(h, j->par, at + i, pitch, plane, position, i, xi);

        bits &= left < VOX_BLOCK ? (1u << left) - 1u : 0xffffffffu;
        for (trg_u32 k = 0; k < 4u && 8u * k < left; k++)
            vox_store(labels, i / VOX_CHUNK + k, bits >> (8u * k) & 255u, j->par->as_bytes);
        if (bits)
            vox_found_block(j->found, bits, xi, b->origin[1] + y, b->origin[2] + z);
    }
}

TRG_FN void vox_host_label(struct vox_host *h, const struct vox_host_job *j)
{
    const struct vox_brick *b = j->brick;
    const trg_u32 pitch = vox_pitch(b->n[0]), plane = pitch * (b->n[1] + 2u);
    const trg_u32 chunks = (b->n[0] + VOX_CHUNK - 1u) / VOX_CHUNK;
    const trg_u32 scale = j->par->as_bytes ? VOX_CHUNK : 1u; /* bytes of a chunk's labels */

    for (trg_u32 x = 0; x < b->n[0]; x += VOX_PIECE) {
        const trg_u32 n = b->n[0] - x < VOX_PIECE ? b->n[0] - x : VOX_PIECE;

        for (trg_u32 i = 0; i < n + VOX_BLOCK; i++)
            h->of_x[i] =
                (int16_t)(vox_position(h->exact_x, h->extent_x, b->origin[0] + x + i) >> h->shift);
        for (trg_u32 z = j->z_first; z < j->z_end; z++)
            for (trg_u32 y = 0; y < b->n[1]; y++)
                vox_host_row(h, j, j->at + (trg_u64)z * plane + y * pitch + x, x, n, y, z,
                             j->labels +
                                 ((trg_u64)(z * b->n[1] + y) * chunks + x / VOX_CHUNK) * scale);
    }
}
#endif
