/* SPDX-License-Identifier: Apache-2.0 */
/* The 6-connected components of a small brick's labels by one group, which keeps the runs in shared
 * memory: union-find walks along chains of runs, which is slow through the cache, and one launch
 * does what components.kernel.c does in three.
 *
 * A work-item numbers the runs of its words, one behind the other.  A brick with more of them than
 * there is room for is left to the same group in global memory, as components.kernel.c has them. */
#if defined(__CUDACC__)
#define TRG_BOUNDS __launch_bounds__(VOX_BRICK_GROUP)
#endif
#include "runs.h"

/* A run in shared memory: the number of its parent, and above that the size of its component. */
#define RUN_BITS 13u
#define PARENT   ((1u << RUN_BITS) - 1u)

/* The same operation as in global memory, in all dialects. */
#define CAS_LOCAL(p, old, v) TRG_ATOMIC_CAS_GLOBAL((p), (old), (v))

struct desk {                 /* of a group */
    TRG_LOCAL trg_u32 *run;   /* [VOX_BRICK_RUNS] */
    TRG_LOCAL trg_u16 *first; /* [VOX_BRICK_WORDS] number of the first run of each word */
    TRG_LOCAL trg_u32 *scan;  /* [VOX_BRICK_GROUP] */
};

TRG_FN trg_u32 word_at(TRG_GLOBAL const trg_u8 *bits, struct vox_words w, trg_u32 i)
{
    return vox_word(bits, w, i / w.row, i % w.row);
}

/* The number of the run of word `i` that holds bit `bit`. */
TRG_FN trg_u32 run_number(const struct desk d, trg_u32 i, trg_u32 word, trg_u32 bit)
{
    return d.first[i] + trg_popcount(vox_run_starts(word) & ((2u << bit) - 1u)) - 1u;
}

TRG_FN trg_u32 root_of(TRG_LOCAL trg_u32 *run, trg_u32 i)
{
    trg_u32 up = run[i] & PARENT;

    while (up != i) {
        const trg_u32 above = run[up] & PARENT;

        run[i] = above; /* no root: it has no size */
        i = up;
        up = above;
    }
    return i;
}

TRG_FN void join(TRG_LOCAL trg_u32 *run, trg_u32 a, trg_u32 b)
{
    for (;;) {
        trg_u32 was;

        a = root_of(run, a);
        b = root_of(run, b);
        if (a == b)
            return;
        if (a < b) {
            const trg_u32 c = a;

            a = b;
            b = c;
        }
        was = CAS_LOCAL(&run[a], a, b);
        if (was == a)
            return;
        a = was; /* another one hooked it */
    }
}

/* Joins the runs of two neighbouring words wherever they touch. */
TRG_FN void join_words(const struct desk d, trg_u32 word, trg_u32 i, trg_u32 other, trg_u32 other_i)
{
    for (trg_u32 touch = vox_run_starts(word & other); touch; touch &= touch - 1u) {
        const trg_u32 bit = vox_first_bit(touch);

        join(d.run, run_number(d, i, word, bit), run_number(d, other_i, other, bit));
    }
}

/* Word `i` with those before it along x, y and z. */
TRG_FN void join_word(const struct desk d, TRG_GLOBAL const trg_u8 *bits, struct vox_words w,
                      trg_u32 rows, trg_u32 i)
{
    const trg_u32 word = word_at(bits, w, i);

    if (!word)
        return;
    if (i % w.row && word & 1u) {
        const trg_u32 before = word_at(bits, w, i - 1u);

        if (before >> 31)
            join(d.run, d.first[i], run_number(d, i - 1u, before, 31u));
    }
    if (i / w.row % rows)
        join_words(d, word, i, word_at(bits, w, i - w.row), i - w.row);
    if (i / w.row >= rows)
        join_words(d, word, i, word_at(bits, w, i - w.row * rows), i - w.row * rows);
}

/* Adds `n` voxels to a component; its size is then part of the maximum. */
TRG_FN trg_u32 grow(TRG_LOCAL trg_u32 *run, trg_u32 root, trg_u32 n, trg_u32 largest)
{
    const trg_u32 more = n << RUN_BITS;

    return n ? vox_larger_of(largest, TRG_ATOMIC_ADD_LOCAL(&run[root], more) >> RUN_BITS, n)
             : largest;
}

/* Counts the voxels of the runs of a work-item's words. */
TRG_FN struct vox_largest count_words(const struct desk d, TRG_GLOBAL const trg_u8 *bits,
                                      struct vox_words w, struct vox_walk walk)
{
    struct vox_largest l = {0u, 0u};
    trg_u32 root = 0u, n = 0u; /* voxels of the component met last: most are of one */

    for (trg_u32 i = walk.first; i < w.all; i += walk.step) {
        const trg_u32 word = word_at(bits, w, i);
        trg_u32 number = d.first[i];

        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u, number++) {
            const trg_u32 here = root_of(d.run, number);

            if (here != root) {
                l.voxels = grow(d.run, root, n, l.voxels);
                n = 0u;
            }
            l.roots += here == number ? 1u : 0u;
            root = here;
            n += vox_run_length(word, vox_first_bit(starts));
        }
    }
    l.voxels = grow(d.run, root, n, l.voxels);
    return l;
}

TRG_KERNEL3(vox_runs_brick, (const trg_u8, labels), (struct vox_brick, bricks), (trg_u32, parents),
            (struct vox_runs_par, par))
{
    TRG_SHARED trg_u32 run[VOX_BRICK_RUNS];
    TRG_SHARED trg_u16 first[VOX_BRICK_WORDS];
    TRG_SHARED trg_u32 scan[VOX_BRICK_GROUP];
    TRG_SHARED trg_u32 group[2];
    const struct desk d = {run, first, scan};
    const struct vox_brick b = bricks[TRG_GID];
    const struct vox_words w = vox_words_of(b.n[0], b.n[1], b.n[2]);
    TRG_GLOBAL const trg_u8 *bits = labels + b.labels;
    TRG_GLOBAL trg_u32 *parent = parents + b.runs;
    const struct vox_walk walk = {TRG_LID, TRG_LSIZE};
    struct vox_largest l = {0u, 0u};
    trg_u32 mine = 0u, number;

    for (trg_u32 i = TRG_LID; i < 2u; i += TRG_LSIZE)
        group[i] = 0u;
    for (trg_u32 i = walk.first; i < w.all; i += walk.step)
        mine += trg_popcount(vox_run_starts(word_at(bits, w, i)));
    scan[TRG_LID] = mine;
    TRG_BARRIER();
    for (trg_u32 away = 1u; away < TRG_LSIZE; away *= 2u) {
        const trg_u32 more = TRG_LID >= away ? scan[TRG_LID - away] : 0u;

        TRG_BARRIER();
        scan[TRG_LID] += more;
        TRG_BARRIER();
    }
    if (scan[TRG_LSIZE - 1u] > par.most_runs) {
        vox_begin_runs(bits, w, parent, walk);
        TRG_BARRIER();
        vox_join_runs(bits, w, b.n[1], parent, walk);
        TRG_BARRIER();
        l = vox_count_runs(bits, w, parent, walk);
    } else {
        number = scan[TRG_LID] - mine;
        for (trg_u32 i = walk.first; i < w.all; i += walk.step) {
            const trg_u32 runs = trg_popcount(vox_run_starts(word_at(bits, w, i)));

            first[i] = (trg_u16)number;
            for (trg_u32 end = number + runs; number < end; number++)
                run[number] = number;
        }
        TRG_BARRIER();
        for (trg_u32 i = walk.first; i < w.all; i += walk.step)
            join_word(d, bits, w, b.n[1], i);
        TRG_BARRIER();
        l = count_words(d, bits, w, walk);
    }
    if (l.voxels) {
        TRG_ATOMIC_MAX_LOCAL(&group[0], l.voxels);
        TRG_ATOMIC_ADD_LOCAL(&group[1], l.roots);
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        bricks[TRG_GID].sums.largest = group[0];
        bricks[TRG_GID].sums.components = group[1];
    }
}
