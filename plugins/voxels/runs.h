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

/* Word number `column` of a row; a row of bits ends with a whole byte only. */
TRG_FN trg_u32 vox_word(TRG_GLOBAL const trg_u8 *bits, struct vox_words w, trg_u32 row,
                        trg_u32 column)
{
    const trg_u32 from = column * 4u, left = w.bytes - from, place = row * w.bytes + from;
    TRG_GLOBAL const trg_u8 *at = bits + place;
    trg_u32 word = at[0];

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
#endif
