/* SPDX-License-Identifier: Apache-2.0 */
/* label.h - the labels of eight voxels of a row. */
#ifndef VOXELS_LABEL_H
#define VOXELS_LABEL_H
#include "place.h"

struct vox_eight_rows { /* of eight voxels: themselves, and their neighbours along y and z */
    trg_u64 here, up, down, behind, front;
    trg_u32 left, right; /* the two neighbours along x */
};

TRG_FN trg_i32 vox_byte(trg_u64 eight, trg_u32 k)
{
    return (trg_i32)((trg_u32)(k < 4u ? (trg_u32)eight >> (8u * k)
                                      : (trg_u32)(eight >> 32) >> (8u * (k - 4u))) &
                     255u);
}

/* The entry of a table of positions. */
TRG_FN trg_i32 vox_position(TRG_GLOBAL const trg_i32 *table, trg_u32 entries, trg_u32 at)
{
    return table[at < entries ? at : entries - 1u];
}

/* Adds the votes of one feature, whose table begins at the value 0. */
TRG_FN void vox_look_up(TRG_LOCAL const trg_i32 *table, const trg_i32 *value, trg_i32 *sum)
{
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        sum[k] += table[value[k]];
}

/* The votes of one difference, and its square to s. */
TRG_FN void vox_differ(TRG_LOCAL const trg_i32 *table, trg_u32 is_used, const trg_i32 *d,
                       trg_i32 *s, trg_i32 *sum)
{
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        s[k] += d[k] * d[k];
    if (is_used)
        vox_look_up(table + VOX_D_ZERO, d, sum);
}

/* Adds to the sums of eight voxels what their values and neighbours vote; one bit for each sum
 * above 0. */
TRG_FN trg_u32 vox_vote(TRG_LOCAL const trg_i32 *table, struct vox_eight_rows r,
                        struct vox_label_par par, const trg_i32 *position, trg_i32 plane)
{
    trg_i32 f[VOX_CHUNK], s[VOX_CHUNK], v[VOX_CHUNK], d[VOX_CHUNK];
    trg_u32 bits = 0u;

    for (trg_u32 k = 0; k < VOX_CHUNK; k++) {
        f[k] = position[k] + plane - 1; /* so that its sign is the label */
        v[k] = vox_byte(r.here, k);
        s[k] = 0;
    }
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        d[k] = (k ? v[k - 1u] : (trg_i32)r.left) - (k < 7u ? v[k + 1u] : (trg_i32)r.right);
    if (par.uses & VOX_USES_V)
        vox_look_up(table + VOX_TABLE_V, v, f);
    vox_differ(table + VOX_TABLE_DX, par.uses & VOX_USES_DX, d, s, f);
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        d[k] = vox_byte(r.up, k) - vox_byte(r.down, k);
    vox_differ(table + VOX_TABLE_DY, par.uses & VOX_USES_DY, d, s, f);
    for (trg_u32 k = 0; k < VOX_CHUNK; k++)
        d[k] = vox_byte(r.behind, k) - vox_byte(r.front, k);
    vox_differ(table + VOX_TABLE_DZ, par.uses & VOX_USES_DZ, d, s, f);
    for (trg_u32 i = 0; i < par.s_steps; i++) {
        const trg_i32 at = table[VOX_TABLE_S + i], step = table[VOX_TABLE_S + VOX_S_STEPS + i];

        for (trg_u32 k = 0; k < VOX_CHUNK; k++)
            if (s[k] > at)
                f[k] += step;
    }
    for (trg_u32 k = VOX_CHUNK; k-- > 0u;)
        bits = bits << 1 | (trg_u32)f[k] >> 31;
    return bits ^ 255u;
}

/* What a work-item found in its columns. */
struct vox_found {
    trg_u32 count, low[3], high[3];
};

TRG_FN trg_u32 vox_lowest_bit(trg_u32 bits)
{
    return 31u - trg_clz(bits & (0u - bits));
}

TRG_FN void vox_found_chunk(struct vox_found *f, trg_u32 bits, trg_u32 x, trg_u32 y, trg_u32 z)
{
    const trg_u32 from = x + vox_lowest_bit(bits), to = x + 31u - trg_clz(bits);

    f->count += trg_popcount(bits);
    f->low[0] = from < f->low[0] ? from : f->low[0];
    f->high[0] = to > f->high[0] ? to : f->high[0];
    f->low[1] = y < f->low[1] ? y : f->low[1];
    f->high[1] = y > f->high[1] ? y : f->high[1];
    f->low[2] = z < f->low[2] ? z : f->low[2];
    f->high[2] = z > f->high[2] ? z : f->high[2];
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
