/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - runs of labelled voxels in words of a row, and union-find over them. */
#ifndef VOXELS_RUNS_H
#define VOXELS_RUNS_H
#include "voxels.h"

struct vox_words {           /* of a brick whose labels are bits */
    trg_u32 bytes, row, all; /* bytes of a row; words of a row and of the brick */
};

TRG_FN struct vox_words vox_words_of(trg_u32 nx, trg_u32 ny, trg_u32 nz)
{
    struct vox_words w;

    w.bytes = (nx + 7u) / 8u;
    w.row = (w.bytes + 3u) / 4u;
    w.all = w.row * ny * nz;
    return w;
}

/* Word number `column` of a row; a row of bits ends with a whole byte only.  A brick's labels begin
 * at a multiple of 16 bytes. */
TRG_FN trg_u32 vox_word(TRG_GLOBAL const trg_u8 *bits, struct vox_words w, trg_u32 row,
                        trg_u32 column)
{
    const trg_u32 from = column * 4u, left = w.bytes - from, place = row * w.bytes + from;
    TRG_GLOBAL const trg_u8 *at = bits + place;
    trg_u32 word;

    if (w.bytes % 4u == 0u)
        return *(TRG_GLOBAL const trg_u32 *)at;
    word = at[0];

    word |= left > 1u ? (trg_u32)at[1] << 8 : 0u;
    word |= left > 2u ? (trg_u32)at[2] << 16 : 0u;
    word |= left > 3u ? (trg_u32)at[3] << 24 : 0u;
    return word;
}

TRG_FN trg_u32 vox_first_bit(trg_u32 bits)
{
    return 31u - trg_clz(bits & (0u - bits));
}

TRG_FN trg_u32 vox_run_starts(trg_u32 word)
{
    return word & ~(word << 1);
}

/* The first bit of the run that bit `bit` belongs to. */
TRG_FN trg_u32 vox_run_of(trg_u32 word, trg_u32 bit)
{
    return 32u - trg_clz(~word & ((1u << bit) - 1u));
}

TRG_FN trg_u32 vox_run_length(trg_u32 word, trg_u32 first)
{
    const trg_u32 rest = ~(word >> first);

    return rest ? vox_first_bit(rest) : 32u;
}

/* The smallest run that is known of the component; shortens the way there. */
TRG_FN trg_u32 vox_root(TRG_GLOBAL trg_u32 *parent, trg_u32 run)
{
    trg_u32 up = parent[run];

    while (up != run) {
        const trg_u32 above = parent[up];

        parent[run] = above;
        run = up;
        up = above;
    }
    return run;
}

TRG_FN void vox_join(TRG_GLOBAL trg_u32 *parent, trg_u32 a, trg_u32 b)
{
    for (;;) {
        trg_u32 was;

        a = vox_root(parent, a);
        b = vox_root(parent, b);
        if (a == b)
            return;
        if (a < b) {
            const trg_u32 c = a;

            a = b;
            b = c;
        }
        was = TRG_ATOMIC_CAS_GLOBAL(&parent[a], a, b);
        if (was == a)
            return;
        a = was; /* another one hooked it */
    }
}

/* Joins the runs of two neighbouring words wherever they touch. */
TRG_FN void vox_join_words(TRG_GLOBAL trg_u32 *parent, trg_u32 word, trg_u32 at, trg_u32 other,
                           trg_u32 other_at)
{
    for (trg_u32 touch = vox_run_starts(word & other); touch; touch &= touch - 1u) {
        const trg_u32 bit = vox_first_bit(touch);

        vox_join(parent, at * 32u + vox_run_of(word, bit), other_at * 32u + vox_run_of(other, bit));
    }
}

/* ---------------------------------------------------------------- the three steps */

struct vox_walk { /* the words of a work-item, from the first on */
    trg_u32 first, step;
};

TRG_FN void vox_begin_runs(TRG_GLOBAL const trg_u8 *bits, struct vox_words w,
                           TRG_GLOBAL trg_u32 *parent, struct vox_walk walk)
{
    TRG_GLOBAL trg_u32 *size = parent + w.all * 32u;

    for (trg_u32 i = walk.first; i < w.all; i += walk.step) {
        const trg_u32 word = vox_word(bits, w, i / w.row, i % w.row);

        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u) {
            const trg_u32 run = i * 32u + vox_first_bit(starts);

            parent[run] = run;
            size[run] = 0u;
        }
    }
}

TRG_FN void vox_join_runs(TRG_GLOBAL const trg_u8 *bits, struct vox_words w, trg_u32 rows,
                          TRG_GLOBAL trg_u32 *parent, struct vox_walk walk)
{
    for (trg_u32 i = walk.first; i < w.all; i += walk.step) {
        const trg_u32 row = i / w.row, column = i % w.row, word = vox_word(bits, w, row, column);

        if (!word)
            continue;
        if (column && word & 1u) {
            const trg_u32 before = vox_word(bits, w, row, column - 1u);

            if (before >> 31)
                vox_join(parent, i * 32u, (i - 1u) * 32u + vox_run_of(before, 31u));
        }
        if (row % rows)
            vox_join_words(parent, word, i, vox_word(bits, w, row - 1u, column), i - w.row);
        if (row >= rows)
            vox_join_words(parent, word, i, vox_word(bits, w, row - rows, column),
                           i - w.row * rows);
    }
}

struct vox_largest { /* what a work-item found */
    trg_u32 voxels;  /* of the largest component that it made larger */
    trg_u32 roots;   /* components whose first run was its */
};

/* The larger of what was largest and of a component that grew from `before` by n.  gcc 12 compiles
 * (before + n > largest) wrong where `before` comes from an atomic addition of n and largest is 0;
 * voxels.components finds it at -O1. */
TRG_FN trg_u32 vox_larger_of(trg_u32 largest, trg_u32 before, trg_u32 n)
{
    return largest < n || before > largest - n ? before + n : largest;
}

/* Adds `n` voxels to a component; its size is then part of the maximum. */
TRG_FN trg_u32 vox_grow(TRG_GLOBAL trg_u32 *size, trg_u32 root, trg_u32 n, trg_u32 largest)
{
    return n ? vox_larger_of(largest, TRG_ATOMIC_ADD_GLOBAL(&size[root], n), n) : largest;
}

TRG_FN struct vox_largest vox_count_runs(TRG_GLOBAL const trg_u8 *bits, struct vox_words w,
                                         TRG_GLOBAL trg_u32 *parent, struct vox_walk walk)
{
    TRG_GLOBAL trg_u32 *size = parent + w.all * 32u;
    struct vox_largest l = {0u, 0u};
    trg_u32 root = 0u, n = 0u; /* voxels of the component met last: most are of one */

    for (trg_u32 i = walk.first; i < w.all; i += walk.step) {
        const trg_u32 word = vox_word(bits, w, i / w.row, i % w.row);

        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u) {
            const trg_u32 first = vox_first_bit(starts), run = i * 32u + first;
            const trg_u32 here = vox_root(parent, run);

            if (here != root) {
                l.voxels = vox_grow(size, root, n, l.voxels);
                n = 0u;
            }
            l.roots += here == run ? 1u : 0u;
            root = here;
            n += vox_run_length(word, first);
        }
    }
    l.voxels = vox_grow(size, root, n, l.voxels);
    return l;
}
#endif
