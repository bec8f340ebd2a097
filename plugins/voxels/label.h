/* SPDX-License-Identifier: Apache-2.0 */
/* label.h - the labels of eight voxels of a row. */
#ifndef VOXELS_LABEL_H
#define VOXELS_LABEL_H
#include "place.h"

#if defined(__CUDACC__)
#define VOX_ROLLED _Pragma("unroll 1") /* for what is seldom done: registers matter more */
#else
#define VOX_ROLLED
#endif

#if defined(__OPENCL_VERSION__) /* inlined first: the inliner of LLVM 15 crashes on it */
#define VOX_FN static inline __attribute__((always_inline))
#else
#define VOX_FN TRG_FN
#endif

struct vox_eight_rows { /* of eight voxels: themselves, and their neighbours along y and z */
    trg_u64 here, up, down, behind, front;
    trg_u32 left, right; /* the two neighbours along x */
};

TRG_FN trg_i32 vox_byte(trg_u32 four, trg_u32 k)
{
    return (trg_i32)(four >> (8u * k) & 255u);
}

/* The entry of a table of positions. */
TRG_FN trg_i32 vox_position(TRG_GLOBAL const trg_i32 *table, trg_u32 entries, trg_u32 at)
{
    return table[at < entries ? at : entries - 1u];
}

/* The entry of a table `at` bytes behind its begin: bytes as places save shifts. */
TRG_FN trg_i32 vox_entry(TRG_LOCAL const trg_i32 *table, trg_i32 at)
{
    return *(TRG_LOCAL const trg_i32 *)((TRG_LOCAL const trg_u8 *)table + at);
}

/* What s votes, but for thresholds that are crowded. */
TRG_FN trg_i32 vox_of_square(TRG_LOCAL const trg_i32 *table, trg_u32 whole)
{
    trg_i32 place = (trg_i32)(4u * vox_part_of(whole));

    if ((trg_i32)whole > vox_entry(table + VOX_TABLE_S_AT, place))
        place += (trg_i32)(4u * VOX_S_PARTS);
    return vox_entry(table + VOX_TABLE_S_SUM, place);
}

/* Adds what those vote, for n voxels. */
VOX_FN void vox_add_crowded(TRG_LOCAL const trg_i32 *table, trg_u32 s_steps, const trg_u32 *whole,
                            trg_u32 n, trg_i32 *sum)
{
    VOX_ROLLED
    for (trg_u32 i = 0; i < s_steps; i++) {
        const trg_i32 at = table[VOX_TABLE_CROWDED + i];
        const trg_i32 step = table[VOX_TABLE_CROWDED + VOX_S_STEPS + i];

        for (trg_u32 k = 0; k < n; k++)
            if ((trg_i32)whole[k] > at)
                sum[k] += step;
    }
}

/* Four voxels of a row and their neighbours, a byte each. */
struct vox_four {
    trg_u32 here, left, right, up, down, behind, front;
};

/* vox_whole(s) of each. */
VOX_FN void vox_squares(const struct vox_four w, trg_u32 *whole)
{
#if defined(__CUDACC__)
    const trg_u32 dx = __vabsdiffu4(w.left, w.right), dy = __vabsdiffu4(w.up, w.down);
    const trg_u32 dz = __vabsdiffu4(w.behind, w.front);
    const trg_u32 even = __byte_perm(dx, dy, 0x6240), odd = __byte_perm(dx, dy, 0x7351);
    const trg_u32 even_z = dz & 0x00ff00ffu, odd_z = dz >> 8 & 0x00ff00ffu;
    const trg_u32 d[4] = {__byte_perm(even, even_z, 0x5410), __byte_perm(odd, odd_z, 0x5410),
                          __byte_perm(even, even_z, 0x7632), __byte_perm(odd, odd_z, 0x7632)};

    for (trg_u32 k = 0; k < 4u; k++)
        whole[k] = __dp4a(d[k], d[k], VOX_WHOLE);
#else
    for (trg_u32 k = 0; k < 4u; k++) {
        const trg_i32 dx = vox_byte(w.left, k) - vox_byte(w.right, k);
        const trg_i32 dy = vox_byte(w.up, k) - vox_byte(w.down, k);
        const trg_i32 dz = vox_byte(w.behind, k) - vox_byte(w.front, k);

        whole[k] = vox_whole((trg_u32)(dx * dx + dy * dy + dz * dz));
    }
#endif
}

/* Byte k of a word as a place in a table: times four. */
TRG_FN trg_i32 vox_place_of(trg_u32 word, trg_u32 k)
{
    return (trg_i32)((k ? word >> (8u * k - 2u) : word << 2) & 0x3fcu);
}

/* Adds what the difference of two bytes votes, for four voxels. */
VOX_FN void vox_differ(TRG_LOCAL const trg_i32 *table, trg_u32 more, trg_u32 less, trg_i32 *sum)
{
    for (trg_u32 k = 0; k < 4u; k++)
        sum[k] += vox_entry(table + VOX_D_ZERO, vox_place_of(more, k) - vox_place_of(less, k));
}

/* Adds to the sums of four voxels what their neighbours vote, but for dx. */
VOX_FN void vox_vote_four(TRG_LOCAL const trg_i32 *table, const struct vox_four w,
                          struct vox_label_par par, trg_i32 *sum)
{
    trg_u32 whole[4];

    if (par.uses & VOX_USES_DY)
        vox_differ(table + VOX_TABLE_DY, w.up, w.down, sum);
    if (par.uses & VOX_USES_DZ)
        vox_differ(table + VOX_TABLE_DZ, w.behind, w.front, sum);
    if (!(par.uses & VOX_USES_S))
        return;
    vox_squares(w, whole);
    for (trg_u32 k = 0; k < 4u; k++)
        sum[k] += vox_of_square(table, whole[k]);
    vox_add_crowded(table, par.s_steps, whole, 4u, sum);
}

/* Adds what the values of eight voxels and dx vote. */
VOX_FN void vox_vote_row(TRG_LOCAL const trg_i32 *table, struct vox_eight_rows r, trg_u32 uses,
                         trg_i32 *sum)
{
    trg_i32 place[VOX_CHUNK + 2u];

    place[0] = (trg_i32)(r.left * 4u);
    place[VOX_CHUNK + 1u] = (trg_i32)(r.right * 4u);
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        place[k + 1u] = vox_place_of((trg_u32)(k < 4u ? r.here : r.here >> 32), k % 4u);
    if (uses & VOX_USES_V)
        for (trg_u32 k = 0; k < VOX_CHUNK; k++)
            sum[k] += vox_entry(table + VOX_TABLE_V, place[k + 1u]);
    if (uses & VOX_USES_DX)
        for (trg_u32 k = 0; k < VOX_CHUNK; k++)
            sum[k] += vox_entry(table + VOX_TABLE_DX + VOX_D_ZERO, place[k] - place[k + 2u]);
}

/* One bit for each of eight voxels whose sum is above 0. */
TRG_FN trg_u32 vox_vote(TRG_LOCAL const trg_i32 *table, struct vox_eight_rows r,
                        struct vox_label_par par, const trg_i32 *position, trg_i32 plane)
{
    const trg_u32 low = (trg_u32)r.here, high = (trg_u32)(r.here >> 32);
    const struct vox_four first = {low,
                                   low << 8 | r.left,
                                   low >> 8 | high << 24,
                                   (trg_u32)r.up,
                                   (trg_u32)r.down,
                                   (trg_u32)r.behind,
                                   (trg_u32)r.front};
    const struct vox_four second = {high,
                                    high << 8 | low >> 24,
                                    high >> 8 | r.right << 24,
                                    (trg_u32)(r.up >> 32),
                                    (trg_u32)(r.down >> 32),
                                    (trg_u32)(r.behind >> 32),
                                    (trg_u32)(r.front >> 32)};
    trg_i32 f[VOX_CHUNK];
    trg_u32 bits = 0u;

    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        f[k] = position[k] + plane - 1; /* so that its sign is the label */
    vox_vote_row(table, r, par.uses, f);
    vox_vote_four(table, first, par, f);
    vox_vote_four(table, second, par, f + 4);
    for (trg_u32 k = VOX_CHUNK; k-- > 0u;)
        bits = bits << 1 | (trg_u32)f[k] >> 31;
    return bits ^ 255u;
}

/* What a work-item found in its columns. */
struct vox_found {
    trg_u32 count, low[3], high[3];
};

/* What it found in one column: which of the eight have a label anywhere, and in which planes. */
struct vox_column {
    trg_u32 any, low, high;
};

TRG_FN trg_u32 vox_lowest_bit(trg_u32 bits)
{
    return 31u - trg_clz(bits & (0u - bits));
}

TRG_FN trg_u32 vox_smaller(trg_u32 a, trg_u32 b)
{
    return a < b ? a : b;
}

TRG_FN trg_u32 vox_larger(trg_u32 a, trg_u32 b)
{
    return a > b ? a : b;
}

TRG_FN void vox_found_bits(struct vox_found *f, struct vox_column *c, trg_u32 bits, trg_u32 z)
{
    f->count += trg_popcount(bits);
    c->any |= bits;
    c->low = bits ? vox_smaller(c->low, z) : c->low;
    c->high = bits ? z : c->high;
}

/* A column of the chunk at x, y of the volume. */
TRG_FN void vox_found_column(struct vox_found *f, struct vox_column c, trg_u32 x, trg_u32 y)
{
    if (!c.any)
        return;
    f->low[0] = vox_smaller(f->low[0], x + vox_lowest_bit(c.any));
    f->high[0] = vox_larger(f->high[0], x + 31u - trg_clz(c.any));
    f->low[1] = vox_smaller(f->low[1], y);
    f->high[1] = vox_larger(f->high[1], y);
    f->low[2] = vox_smaller(f->low[2], c.low);
    f->high[2] = vox_larger(f->high[2], c.high);
}

TRG_FN void vox_found_nothing(struct vox_found *f)
{
    f->count = 0u;
    for (trg_u32 a = 0; a < 3u; a++) {
        f->low[a] = 0xffffffffu;
        f->high[a] = 0u;
    }
}

/* The labels of one chunk, as bits or as bytes. */
TRG_FN void vox_store(TRG_GLOBAL trg_u8 *labels, trg_u32 chunk, trg_u32 bits, trg_u32 as_bytes)
{
    if (!as_bytes) {
        labels[chunk] = (trg_u8)bits;
    } else {
        trg_u64 bytes = 0u;

        for (trg_u32 k = 0; k < VOX_CHUNK; k++)
            bytes |= (trg_u64)(bits >> k & 1u) << (8u * k);
        ((TRG_GLOBAL trg_u64 *)labels)[chunk] = bytes;
    }
}
#endif
