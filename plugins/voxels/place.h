/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - bricks as they came to bricks with a border on each side, in aligned rows of bytes. */
#ifndef VOXELS_PLACE_H
#define VOXELS_PLACE_H
#include "trigd/kernel.h"

#include "voxels.h"

TRG_FN trg_u32 vox_pitch(trg_u32 nx)
{
    return VOX_MARGIN + (nx + 1u + VOX_MARGIN - 1u) / VOX_MARGIN * VOX_MARGIN;
}

TRG_FN trg_u32 vox_has(trg_u32 halo, trg_u32 side)
{
    return halo & side ? 1u : 0u;
}

struct vox_rows { /* one axis of the input */
    trg_i32 shift, last;
};

TRG_FN struct vox_rows vox_axis(trg_u32 n, trg_u32 halo, trg_u32 low, trg_u32 high)
{
    struct vox_rows a;

    a.shift = (trg_i32)vox_has(halo, low) - 1;
    a.last = (trg_i32)(n + vox_has(halo, low) + vox_has(halo, high)) - 1;
    return a;
}

/* Where place `p` of the axis, of which 0 is the border, lies in the input: the border rule is to
 * repeat the edge. */
TRG_FN trg_u32 vox_source(struct vox_rows a, trg_u32 p)
{
    const trg_i32 i = (trg_i32)p + a.shift;

    return (trg_u32)(i < 0 ? 0 : i > a.last ? a.last : i);
}

/* A 16-bit value through window and level: [low, low + width) to 0 .. 255 in equal parts. */
TRG_FN trg_u32 vox_window(trg_u32 raw, const struct vox_brick *b)
{
    const trg_i32 value = b->is_signed && raw >= 32768u ? (trg_i32)raw - 65536 : (trg_i32)raw;
    const trg_i32 above = value - b->low;

    if (above < 0)
        return 0u;
    return (trg_u32)above >= b->width ? 255u : (trg_u32)above * 256u / b->width;
}

TRG_FN trg_u32 vox_value(TRG_GLOBAL const trg_u8 *row, trg_u32 i, const struct vox_brick *b)
{
    if (b->bytes == 1u)
        return row[i];
    return vox_window(row[i + i] | (trg_u32)row[i + i + 1u] << 8, b);
}

/* Up to eight bytes from any place, in aligned words; what is behind them is 0 or any byte. */
TRG_FN trg_u64 vox_some(TRG_GLOBAL const trg_u8 *data, trg_u32 at, trg_u32 count)
{
    TRG_GLOBAL const trg_u32 *w = (TRG_GLOBAL const trg_u32 *)(data + (at & ~3u));
    const trg_u32 end = (at & 3u) + count, shift = (at & 3u) * 8u;
    const trg_u32 a = w[0], b = end > 4u ? w[1] : 0u, c = end > 8u ? w[2] : 0u;
    const trg_u64 low = (((trg_u64)b << 32 | a) >> shift) & 0xffffffffu;

    return low | (((trg_u64)c << 32 | b) >> shift) << 32;
}

/* Eight voxels of a row of bytes, of which the first is byte `first`.  Before the row lies the
 * border alone, in the last of the eight; behind it the border is the next after the row's last,
 * and what follows counts nowhere. */
TRG_FN trg_u64 vox_gather_bytes(TRG_GLOBAL const trg_u8 *data, trg_u32 row, trg_i32 last,
                                trg_i32 first)
{
    const trg_i32 from = first < 0 ? 0 : first > last ? last : first;
    const trg_u32 count = last - from < 7 ? (trg_u32)(last - from) + 1u : 8u;
    const trg_u64 some = vox_some(data, row + (trg_u32)from, first < 0 ? 1u : count);
    const trg_u32 bits = 8u * (count - 1u);

    if (first < 0)
        return some << 56;
    if (count == 8u)
        return some;
    return (some & (((trg_u64)1 << (bits + 8u)) - 1u)) | (some >> bits & 255u) << (bits + 8u);
}

/* Eight voxels of a placed row; the first is place p of the axis, 7 before a multiple of 8.  Places
 * beyond the right border count nowhere. */
TRG_FN trg_u64 vox_gather(TRG_GLOBAL const trg_u8 *data, trg_u32 row, struct vox_rows x, trg_i32 p,
                          const struct vox_brick *b)
{
    trg_u64 eight = 0u;

    if (b->bytes == 1u)
        return vox_gather_bytes(data, row, x.last, p + x.shift);
    for (trg_u32 k = 0; k < 8u; k++) {
        const trg_u32 i = p + (trg_i32)k < 0 ? 0u : vox_source(x, (trg_u32)(p + (trg_i32)k));

        eight |= (trg_u64)vox_value(data + row, i, b) << (8u * k);
    }
    return eight;
}

TRG_FN void vox_clear_sums(TRG_GLOBAL struct vox_sums *s)
{
    for (trg_u32 a = 0; a < 3u; a++) {
        s->not_low[a] = 0u;
        s->high[a] = 0u;
    }
    s->count = 0u;
    s->largest = 0u;
    s->components = 0u;
}

/* What a work-item places: stretches of eight bytes, each `step` behind the one before. */
struct vox_share {
    trg_u32 first, step;
};

/* Stretches follow each other along a row, row after row, plane after plane.  Divisions are slow,
 * so `step` is divided into stretches, rows and planes once, and these are added for each stretch.
 */
TRG_FN void vox_place_brick(TRG_GLOBAL const trg_u8 *data, const struct vox_brick *b,
                            TRG_GLOBAL trg_u8 *placed, struct vox_share share)
{
    const struct vox_rows x = vox_axis(b->n[0], b->halo, VOX_HALO_X_LOW, VOX_HALO_X_HIGH);
    const struct vox_rows y = vox_axis(b->n[1], b->halo, VOX_HALO_Y_LOW, VOX_HALO_Y_HIGH);
    const struct vox_rows z = vox_axis(b->n[2], b->halo, VOX_HALO_Z_LOW, VOX_HALO_Z_HIGH);
    const trg_u32 eights = vox_pitch(b->n[0]) / 8u - 1u; /* the first holds nothing */
    const trg_u32 rows = b->n[1] + 2u, planes = b->n[2] + 2u;
    const trg_u32 step_e = share.step % eights, step_y = share.step / eights % rows,
                  step_z = share.step / eights / rows;
    TRG_GLOBAL trg_u64 *out = (TRG_GLOBAL trg_u64 *)(placed + (trg_u64)b->placed * VOX_MARGIN);
    trg_u32 e = share.first % eights, py = share.first / eights % rows,
            pz = share.first / eights / rows;

    while (pz < planes && b->n[0]) {
        const trg_u32 from = vox_source(z, pz) * (trg_u32)(y.last + 1) + vox_source(y, py);

        out[(pz * rows + py) * (eights + 1u) + e + 1u] = vox_gather(
            data, b->in + from * (trg_u32)(x.last + 1) * b->bytes, x, (trg_i32)(e * 8u) - 7, b);
        e += step_e;
        py += step_y;
        pz += step_z;
        if (e >= eights) {
            e -= eights;
            py++;
        }
        if (py >= rows) {
            py -= rows;
            pz++;
        }
    }
}
#endif
