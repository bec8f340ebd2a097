/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks as RoIs bring them, one row of the collection bricks and the bytes of brick_values:
 * checked, made the table of bricks of a batch, whose parts lie at equal distances, and placed. */
#include "place.h"

#include "voxels.collections.h"

/* Rows begin to end - 1 are the RoI's.  An RoI without rows and voxels is an empty brick. */
TRG_FN void vox_take_row(TRG_GLOBAL const trg_u8 *rows, trg_u32 begin, trg_u32 end,
                         struct vox_take_par par, struct vox_brick *b)
{
    const trg_u32 is_there = end > begin ? 1u : 0u, row = is_there ? begin : 0u;
    const trg_u32 type = is_there ? TRG_BRICKS_TYPE(rows, par.rows)[row] : 0u;

    b->problem = end - begin > 1u ? VOX_ROWS : VOX_FINE;
    b->given = end - begin;
    b->halo = 0u;
    for (trg_u32 a = 0; a < 3u; a++) {
        b->size[a] = is_there ? TRG_BRICKS_N(rows, par.rows)[3u * row + a] : 0u;
        b->origin[a] = is_there ? TRG_BRICKS_ORIGIN(rows, par.rows)[3u * row + a] : 0u;
        b->volume[a] = is_there ? TRG_BRICKS_VOLUME(rows, par.rows)[3u * row + a] : 0u;
        if (b->origin[a])
            b->halo |= VOX_HALO_X_LOW << (2u * a);
        if (b->origin[a] + b->size[a] < b->volume[a])
            b->halo |= VOX_HALO_X_HIGH << (2u * a);
        if (!b->problem && b->size[a] > par.max_edge)
            b->problem = VOX_EDGE;
        if (!b->problem && b->origin[a] + b->size[a] > b->volume[a])
            b->problem = VOX_OUTSIDE;
    }
    b->bytes = type ? 2u : 1u;
    b->is_signed = type == 2u ? 1u : 0u;
    b->low = is_there ? TRG_BRICKS_LOW(rows, par.rows)[row] : 0;
    b->width = is_there ? TRG_BRICKS_WIDTH(rows, par.rows)[row] : 1u;
}

/* Bytes of a brick's voxels with its halo; edges are checked. */
TRG_FN trg_u32 vox_brick_bytes(const struct vox_brick *b)
{
    trg_u32 bytes = b->bytes;

    for (trg_u32 a = 0; a < 3u; a++)
        bytes *= b->size[a] + (b->halo >> (2u * a) & 1u) + (b->halo >> (2u * a + 1u) & 1u);
    return bytes;
}

TRG_FN void vox_take_values(trg_u32 begin, trg_u32 end, struct vox_take_par par,
                            struct vox_brick *b)
{
    b->in = par.values.column[0] + begin;
    if (!b->problem && end - begin != vox_brick_bytes(b)) {
        b->problem = b->given ? VOX_VALUES : VOX_ROWS;
        b->given = b->given ? end - begin : 0u;
    }
}

/* Brick number `i` of a batch, checked. */
TRG_FN void vox_take_brick(TRG_GLOBAL const trg_u8 *rows, TRG_GLOBAL const trg_u8 *values,
                           struct vox_take_par par, trg_u32 i, struct vox_brick *b)
{
    b->placed = i * par.placed;
    b->labels = par.first_labels + i * par.labels;
    b->runs = i * par.runs;
    vox_take_row(rows, TRG_BEGIN(rows, par.rows, i), TRG_END(rows, par.rows, i), par, b);
    vox_take_values(TRG_BEGIN(values, par.values, i), TRG_END(values, par.values, i), par, b);
    for (trg_u32 a = 0; a < 3u; a++)
        b->n[a] = b->problem ? 0u : b->size[a];
}

/* Each group of a brick looks at it by itself; one of them writes it down. */
TRG_KERNEL4(vox_take, (const trg_u8, rows), (const trg_u8, values), (struct vox_brick, bricks),
            (trg_u8, placed), (struct vox_take_par, par))
{
    const trg_u32 number = TRG_GID / par.groups_each, part = TRG_GID % par.groups_each;
    const struct vox_share share = {part * TRG_LSIZE + TRG_LID, par.groups_each * TRG_LSIZE};
    struct vox_brick b;

    vox_take_brick(rows, values, par, number, &b);
    if (part == 0u && TRG_LID == 0u) {
        bricks[number] = b;
        vox_clear_sums(&bricks[number].sums);
    }
    vox_place_brick(values, &b, placed, share);
}
