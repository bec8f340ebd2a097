/* SPDX-License-Identifier: Apache-2.0 */
/* The 6-connected components of a brick's labels, by union-find over runs of labelled voxels:
 *
 *     vox_runs_begin -> vox_runs_join -> vox_runs_count
 *
 * A run is a stretch of 1 within a word of 32 voxels of a row; its number is the place of its first
 * voxel, in rows of whole words.  A run points to a smaller one of its component, the smallest to
 * itself; runs are hooked by compare-and-swap (Komura 2015, Playne and Hawick 2018).  A component's
 * size grows by additions, and the largest of all that any of them made is the largest size: an
 * integer that does not depend on their order. */
#include "runs.h"

TRG_KERNEL3(vox_runs_begin, (const trg_u8, labels), (const struct vox_brick, bricks),
            (trg_u32, parents), (struct vox_runs_par, par))
{
    const struct vox_brick b = bricks[TRG_GID / par.groups_each];
    const struct vox_walk walk = {TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID,
                                  par.groups_each * TRG_LSIZE};

    vox_begin_runs(labels + b.labels, vox_words_of(b.n[0], b.n[1], b.n[2]), parents + b.runs, walk);
}

TRG_KERNEL3(vox_runs_join, (const trg_u8, labels), (const struct vox_brick, bricks),
            (trg_u32, parents), (struct vox_runs_par, par))
{
    const struct vox_brick b = bricks[TRG_GID / par.groups_each];
    const struct vox_walk walk = {TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID,
                                  par.groups_each * TRG_LSIZE};

    vox_join_runs(labels + b.labels, vox_words_of(b.n[0], b.n[1], b.n[2]), b.n[1], parents + b.runs,
                  walk);
}

TRG_KERNEL3(vox_runs_count, (const trg_u8, labels), (struct vox_brick, bricks), (trg_u32, parents),
            (struct vox_runs_par, par))
{
    TRG_SHARED trg_u32 group[2];
    const trg_u32 number = TRG_GID / par.groups_each;
    const struct vox_brick b = bricks[number];
    const struct vox_walk walk = {TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID,
                                  par.groups_each * TRG_LSIZE};
    struct vox_largest l;

    for (trg_u32 i = TRG_LID; i < 2u; i += TRG_LSIZE)
        group[i] = 0u;
    TRG_BARRIER();
    l = vox_count_runs(labels + b.labels, vox_words_of(b.n[0], b.n[1], b.n[2]), parents + b.runs,
                       walk);
    if (l.voxels) {
        TRG_ATOMIC_MAX_LOCAL(&group[0], l.voxels);
        TRG_ATOMIC_ADD_LOCAL(&group[1], l.roots);
    }
    TRG_BARRIER();
    if (TRG_LID == 0u && group[0]) {
        TRG_ATOMIC_MAX_GLOBAL(&bricks[number].sums.largest, group[0]);
        TRG_ATOMIC_ADD_GLOBAL(&bricks[number].sums.components, group[1]);
    }
}
