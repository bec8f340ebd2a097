/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the voxels of bricks, by the step functions that a boosted set of stumps collapses to:
 *
 *     vox_place  the input, bytes or 16-bit values, to bytes in aligned rows with a border
 *     vox_label  labels, their number and their bounding box
 *
 * The gradient is never stored: a work-item marches along z with three planes of its eight voxels
 * in registers (Micikevicius 2009) and reads the neighbours along x and y through the cache. */
#if defined(__CUDACC__)
/* four groups on a multiprocessor: 64 registers; tried with 3 and 5 as well */
#define TRG_BOUNDS __launch_bounds__(VOX_GROUP_SIZE, 4)
#endif
#include "label.h"

#define GROUP_SUMS 7u /* of a group: count, bits of the low ends inverted, high ends */
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "labelhand.h"
#endif

TRG_KERNEL3(vox_place, (const trg_u8, data), (struct vox_brick, bricks), (trg_u8, placed),
            (struct vox_place_par, par))
{
    const trg_u32 number = TRG_GID / par.groups_each, part = TRG_GID % par.groups_each;
    const struct vox_brick b = bricks[number];
    const struct vox_share share = {part * TRG_LSIZE + TRG_LID, par.groups_each * TRG_LSIZE};

    if (part == 0u && TRG_LID == 0u)
        vox_clear_sums(&bricks[number].sums);
    vox_place_brick(data, &b, placed, share);
}

/* The tables that the group keeps in shared memory, and its sums. */
TRG_FN void vox_begin_group(TRG_GLOBAL const trg_i32 *tables, trg_u32 s_steps,
                            TRG_LOCAL trg_i32 *table, TRG_LOCAL trg_u32 *group)
{
    for (trg_u32 i = TRG_LID; i < VOX_TABLE_CROWDED + s_steps; i += TRG_LSIZE)
        table[i] = tables[i];
    for (trg_u32 i = TRG_LID; i < s_steps; i += TRG_LSIZE)
        table[VOX_TABLE_CROWDED + VOX_S_STEPS + i] = tables[VOX_TABLE_CROWDED + VOX_S_STEPS + i];
    for (trg_u32 i = TRG_LID; i < GROUP_SUMS; i += TRG_LSIZE)
        group[i] = 0u;
}

/* Of one work-item to those of its group, and of the group to those of its brick. */
TRG_FN void vox_add_found(TRG_LOCAL trg_u32 *group, const struct vox_found found)
{
    TRG_ATOMIC_ADD_LOCAL(&group[0], found.count);
    for (trg_u32 a = 0; a < 3u; a++) {
        TRG_ATOMIC_MAX_LOCAL(&group[1u + a], ~found.low[a]);
        TRG_ATOMIC_MAX_LOCAL(&group[4u + a], found.high[a]);
    }
}

TRG_FN void vox_add_group(TRG_GLOBAL struct vox_sums *s, TRG_LOCAL const trg_u32 *group)
{
    TRG_ATOMIC_ADD_GLOBAL(&s->count, group[0]);
    for (trg_u32 a = 0; a < 3u; a++) {
        TRG_ATOMIC_MAX_GLOBAL(&s->not_low[a], group[1u + a]);
        TRG_ATOMIC_MAX_GLOBAL(&s->high[a], group[4u + a]);
    }
}

TRG_KERNEL4(vox_label, (const trg_u8, placed), (struct vox_brick, bricks), (const trg_i32, tables),
            (trg_u8, labels), (struct vox_label_par, par))
{
    TRG_SHARED trg_i32 table[VOX_TABLE_REST];
    TRG_SHARED trg_u32 group[GROUP_SUMS];
    const trg_u32 number = TRG_GID / par.groups_each, part = TRG_GID % par.groups_each;
    const struct vox_brick b = bricks[number];
    const trg_u32 chunks = (b.n[0] + VOX_CHUNK - 1u) / VOX_CHUNK, columns = chunks * b.n[1];
    const trg_u32 tiles = (columns + par.tile - 1u) / par.tile + (columns ? 0u : 1u);
    const trg_u32 z_first = part / tiles * par.depth;
    const trg_u32 z_end = z_first + par.depth < b.n[2] ? z_first + par.depth : b.n[2];
    const trg_u32 pitch = vox_pitch(b.n[0]), plane = pitch * (b.n[1] + 2u);
    TRG_GLOBAL const trg_i32 *of_x = tables + VOX_TABLE_REST;
    TRG_GLOBAL const trg_i32 *of_y = of_x + par.extent[0], *of_z = of_y + par.extent[1];
    TRG_GLOBAL const trg_u8 *brick = placed + (trg_u64)b.placed * VOX_MARGIN + plane;
    struct vox_found found;
    trg_u32 columns_mine = par.tile;

    if (z_first >= b.n[2])
        return;
    vox_found_nothing(&found);
    vox_begin_group(tables, par.s_steps, table, group);
    TRG_BARRIER();
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.steps && par.tile >= columns) {
        const struct vox_host_job job = {&b,      &par,  brick + pitch + VOX_MARGIN,
                                         of_y,    of_z,  labels + b.labels,
                                         z_first, z_end, &found};
        struct vox_host host;

        vox_host_open(&host, tables, &par);
        vox_host_label(&host, &job);
        columns_mine = 0u;
    }
#endif
    for (trg_u32 i = TRG_LID; i < columns_mine; i += TRG_LSIZE) {
        const trg_u32 column = part % tiles * par.tile + i;
        const trg_u32 y = column / chunks, x = column % chunks * VOX_CHUNK;
        const trg_u32 valid = b.n[0] - x < VOX_CHUNK ? (1u << (b.n[0] - x)) - 1u : 255u;
        TRG_GLOBAL const trg_u8 *at = brick + (y + 1u) * pitch + VOX_MARGIN + x;
        struct vox_column in_column = {0u, 0xffffffffu, 0u};
        struct vox_eight_rows r;
        trg_i32 position[VOX_CHUNK];

        if (column >= columns)
            break;
        at += (trg_u64)z_first * plane;
        for (trg_u32 k = 0; k < VOX_CHUNK; k++)
            position[k] = vox_position(of_x, par.extent[0], b.origin[0] + x + k) +
                          vox_position(of_y, par.extent[1], b.origin[1] + y);
        r.behind = *(TRG_GLOBAL const trg_u64 *)(at - plane);
        r.here = *(TRG_GLOBAL const trg_u64 *)at;
        for (trg_u32 z = z_first; z < z_end; z++, at += plane) {
            trg_u32 bits;

            r.front = *(TRG_GLOBAL const trg_u64 *)(at + plane);
            r.up = *(TRG_GLOBAL const trg_u64 *)(at - pitch);
            r.down = *(TRG_GLOBAL const trg_u64 *)(at + pitch);
            r.left = *(at - 1);
            r.right = at[VOX_CHUNK];
            bits = valid & vox_vote(table, r, par, position,
                                    vox_position(of_z, par.extent[2], b.origin[2] + z));
            vox_store(labels + b.labels, z * columns + column, bits, par.as_bytes);
            vox_found_bits(&found, &in_column, bits, b.origin[2] + z);
            r.behind = r.here;
            r.here = r.front;
        }
        vox_found_column(&found, in_column, b.origin[0] + x, b.origin[1] + y);
    }
    if (found.count)
        vox_add_found(group, found);
    TRG_BARRIER();
    if (TRG_LID == 0u && group[0])
        vox_add_group(&bricks[number].sums, group);
}
