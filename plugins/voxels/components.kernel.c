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
    const struct vox_words w = vox_words_of(b.n[0], b.n[1], b.n[2]);
    const trg_u32 step = par.groups_each * TRG_LSIZE;
    TRG_GLOBAL trg_u32 *parent = parents + b.runs, *size = parent + w.all * 32u;

    for (trg_u32 i = TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID; i < w.all; i += step) {
        const trg_u32 word = vox_word(labels + b.labels, w, i / w.row, i % w.row);

        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u) {
            const trg_u32 run = i * 32u + vox_first_bit(starts);

            parent[run] = run;
            size[run] = 0u;
        }
    }
}

TRG_KERNEL3(vox_runs_join, (const trg_u8, labels), (const struct vox_brick, bricks),
            (trg_u32, parents), (struct vox_runs_par, par))
{
    const struct vox_brick b = bricks[TRG_GID / par.groups_each];
    const struct vox_words w = vox_words_of(b.n[0], b.n[1], b.n[2]);
    const trg_u32 step = par.groups_each * TRG_LSIZE;
    TRG_GLOBAL const trg_u8 *bits = labels + b.labels;
    TRG_GLOBAL trg_u32 *parent = parents + b.runs;

    for (trg_u32 i = TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID; i < w.all; i += step) {
        const trg_u32 row = i / w.row, column = i % w.row, word = vox_word(bits, w, row, column);

        if (!word)
            continue;
        if (column && word & 1u) {
            const trg_u32 before = vox_word(bits, w, row, column - 1u);

            if (before >> 31)
                vox_join(parent, i * 32u, (i - 1u) * 32u + vox_run_of(before, 31u));
        }
        if (row % b.n[1])
            vox_join_words(parent, word, i, vox_word(bits, w, row - 1u, column), i - w.row);
        if (row >= b.n[1])
            vox_join_words(parent, word, i, vox_word(bits, w, row - b.n[1], column),
                           i - w.row * b.n[1]);
    }
}

/* Adds `n` voxels to a component; its size is then part of the maximum. */
TRG_FN trg_u32 vox_grow(TRG_GLOBAL trg_u32 *size, trg_u32 root, trg_u32 n, trg_u32 largest)
{
    const trg_u32 now = n ? TRG_ATOMIC_ADD_GLOBAL(&size[root], n) + n : 0u;

    return now > largest ? now : largest;
}

TRG_KERNEL3(vox_runs_count, (const trg_u8, labels), (struct vox_brick, bricks), (trg_u32, parents),
            (struct vox_runs_par, par))
{
    TRG_SHARED trg_u32 group[2];
    const trg_u32 number = TRG_GID / par.groups_each, step = par.groups_each * TRG_LSIZE;
    const struct vox_brick b = bricks[number];
    const struct vox_words w = vox_words_of(b.n[0], b.n[1], b.n[2]);
    TRG_GLOBAL trg_u32 *parent = parents + b.runs, *size = parent + w.all * 32u;
    trg_u32 root = 0u, n = 0u; /* voxels of the component met last: most are of one */
    trg_u32 largest = 0u, roots = 0u;

    for (trg_u32 i = TRG_LID; i < 2u; i += TRG_LSIZE)
        group[i] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_GID % par.groups_each * TRG_LSIZE + TRG_LID; i < w.all; i += step) {
        const trg_u32 word = vox_word(labels + b.labels, w, i / w.row, i % w.row);

        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u) {
            const trg_u32 first = vox_first_bit(starts), run = i * 32u + first;
            const trg_u32 here = vox_root(parent, run);

            if (here != root) {
                largest = vox_grow(size, root, n, largest);
                n = 0u;
            }
            roots += here == run ? 1u : 0u;
            root = here;
            n += vox_run_length(word, first);
        }
    }
    largest = vox_grow(size, root, n, largest);
    if (largest) {
        TRG_ATOMIC_MAX_LOCAL(&group[0], largest);
        TRG_ATOMIC_ADD_LOCAL(&group[1], roots);
    }
    TRG_BARRIER();
    if (TRG_LID == 0u && group[0]) {
        TRG_ATOMIC_MAX_GLOBAL(&vox_sums_of(bricks, number)[VOX_SUM_LARGEST], group[0]);
        TRG_ATOMIC_ADD_GLOBAL(&vox_sums_of(bricks, number)[VOX_SUM_COMPONENTS], group[1]);
    }
}
