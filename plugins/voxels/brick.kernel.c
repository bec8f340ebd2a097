/* SPDX-License-Identifier: Apache-2.0 */
/* The 6-connected components of a small brick's labels by one group, which keeps the runs in shared
 * memory: union-find walks along chains of runs, which is slow through the cache, and one launch
 * does what components.kernel.c does in three.
 *
 * A work-item numbers the runs of its words, which follow each other as words and runs do.  From
 * then on it has runs instead of words, most of which are empty: it gives each run one neighbour
 * before it as its parent, all halve the ways to the roots, and few runs are left to be hooked one
 * by one (Jaiganesh and Burtscher 2018 begin so).  A brick with more runs than there is room for is
 * left to the same group in global memory, as components.kernel.c has them. */
#if defined(__CUDACC__)
#define TRG_BOUNDS __launch_bounds__(VOX_BRICK_GROUP)
#endif
#include "runs.h"

/* A run in shared memory: the number of its parent, and above that the size of its component. */
#define RUN_BITS 13u
#define PARENT   ((1u << RUN_BITS) - 1u)

/* The same operation as in global memory, in all dialects. */
#define CAS_LOCAL(p, old, v) TRG_ATOMIC_CAS_GLOBAL((p), (old), (v))

#define HALVINGS 6u /* of the ways to the roots: a chain of neighbours has 128 runs, about */

struct desk { /* of a group */
    TRG_GLOBAL const trg_u8 *bits;
    struct vox_words w;
    trg_u32 rows, n;           /* rows of a plane; runs */
    TRG_LOCAL trg_u32 *run;    /* [VOX_BRICK_RUNS] */
    TRG_LOCAL trg_u16 *first;  /* [VOX_BRICK_WORDS] number of the first run of each word */
    TRG_GLOBAL trg_u32 *place; /* of each run: its word, first bit and length - 1 */
};

TRG_FN trg_u32 word_at(const struct desk d, trg_u32 i)
{
    if (d.w.bytes % 4u == 0u) /* rows end with whole words */
        return ((TRG_GLOBAL const trg_u32 *)d.bits)[i];
    return vox_word(d.bits, d.w, i / d.w.row, i % d.w.row);
}

TRG_FN trg_u32 place_of(trg_u32 i, trg_u32 first, trg_u32 length)
{
    return i << 10 | first << 5 | (length - 1u);
}

struct neighbour { /* a word before a run's, and its bits that touch the run */
    trg_u32 i, word, touch;
};
struct neighbours {
    struct neighbour x, y, z;
};

TRG_FN struct neighbour neighbour_at(const struct desk d, trg_u32 is_there, trg_u32 i, trg_u32 mask)
{
    struct neighbour n;

    n.i = i;
    n.word = is_there ? word_at(d, i) : 0u;
    n.touch = n.word & mask;
    return n;
}

TRG_FN struct neighbours neighbours_of(const struct desk d, trg_u32 place)
{
    const trg_u32 i = place >> 10, first = place >> 5 & 31u, row = i / d.w.row;
    const trg_u32 mask = 0xffffffffu >> (31u - (place & 31u)) << first;
    struct neighbours n;

    n.x = neighbour_at(d, first == 0u && i != row * d.w.row ? 1u : 0u, i - 1u, 0x80000000u);
    n.y = neighbour_at(d, row % d.rows ? 1u : 0u, i - d.w.row, mask);
    n.z = neighbour_at(d, row >= d.rows ? 1u : 0u, i - d.w.row * d.rows, mask);
    return n;
}

/* The number of the run of a neighbour that holds bit `bit`. */
TRG_FN trg_u32 run_number(const struct desk d, struct neighbour n, trg_u32 bit)
{
    return d.first[n.i] + trg_popcount(vox_run_starts(n.word) & ((2u << bit) - 1u)) - 1u;
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

/* A run that touches run number `k` and comes before it, or itself. */
TRG_FN trg_u32 before_run(const struct desk d, trg_u32 k)
{
    const struct neighbours n = neighbours_of(d, d.place[k]);
    const struct neighbour any = n.z.touch ? n.z : n.y.touch ? n.y : n.x;

    return any.touch ? run_number(d, any, vox_first_bit(any.touch)) : k;
}

TRG_FN void join_neighbour(const struct desk d, trg_u32 k, struct neighbour n)
{
    for (trg_u32 touch = vox_run_starts(n.touch); touch; touch &= touch - 1u)
        join(d.run, k, run_number(d, n, vox_first_bit(touch)));
}

/* Joins run number `k` with all that touch it and come before it. */
TRG_FN void join_run(const struct desk d, trg_u32 k)
{
    const struct neighbours n = neighbours_of(d, d.place[k]);

    join_neighbour(d, k, n.x);
    join_neighbour(d, k, n.y);
    join_neighbour(d, k, n.z);
}

/* Adds `n` voxels to a component; its size is then part of the maximum. */
TRG_FN trg_u32 grow(TRG_LOCAL trg_u32 *run, trg_u32 root, trg_u32 n, trg_u32 largest)
{
    const trg_u32 more = n << RUN_BITS;

    return n ? vox_larger_of(largest, TRG_ATOMIC_ADD_LOCAL(&run[root], more) >> RUN_BITS, n)
             : largest;
}

/* Numbers the runs of the words `begin` to `end` - 1. */
TRG_FN void number_runs(const struct desk d, trg_u32 begin, trg_u32 end, trg_u32 number)
{
    for (trg_u32 i = begin; i < end; i++) {
        const trg_u32 word = word_at(d, i);

        d.first[i] = (trg_u16)number;
        for (trg_u32 starts = vox_run_starts(word); starts; starts &= starts - 1u) {
            const trg_u32 first = vox_first_bit(starts);

            d.place[number++] = place_of(i, first, vox_run_length(word, first));
        }
    }
}

/* Counts the voxels of a work-item's runs. */
TRG_FN struct vox_largest count_runs(const struct desk d, struct vox_walk walk)
{
    struct vox_largest l = {0u, 0u};
    trg_u32 root = 0u, n = 0u; /* voxels of the component met last: most are of one */

    for (trg_u32 k = walk.first; k < d.n; k += walk.step) {
        const trg_u32 here = root_of(d.run, k);

        if (here != root) {
            l.voxels = grow(d.run, root, n, l.voxels);
            n = 0u;
        }
        l.roots += here == k ? 1u : 0u;
        root = here;
        n += (d.place[k] & 31u) + 1u;
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
    const struct vox_brick b = bricks[TRG_GID];
    TRG_GLOBAL trg_u32 *parent = parents + b.runs;
    struct desk d = {
        labels + b.labels, vox_words_of(b.n[0], b.n[1], b.n[2]), b.n[1], 0u, run, first, parent};
    const struct vox_walk walk = {TRG_LID, TRG_LSIZE};
    const trg_u32 each = (d.w.all + TRG_LSIZE - 1u) / TRG_LSIZE;
    const trg_u32 begin = each * TRG_LID, end = begin + each < d.w.all ? begin + each : d.w.all;
    struct vox_largest l = {0u, 0u};
    trg_u32 mine = 0u;

    for (trg_u32 i = TRG_LID; i < 2u; i += TRG_LSIZE)
        group[i] = 0u;
    for (trg_u32 i = begin; i < end; i++)
        mine += trg_popcount(vox_run_starts(word_at(d, i)));
    scan[TRG_LID] = mine;
    TRG_BARRIER();
    for (trg_u32 away = 1u; away < TRG_LSIZE; away *= 2u) {
        const trg_u32 more = TRG_LID >= away ? scan[TRG_LID - away] : 0u;

        TRG_BARRIER();
        scan[TRG_LID] += more;
        TRG_BARRIER();
    }
    d.n = scan[TRG_LSIZE - 1u];
    if (d.n > par.most_runs) {
        vox_begin_runs(d.bits, d.w, parent, walk);
        TRG_BARRIER();
        vox_join_runs(d.bits, d.w, d.rows, parent, walk);
        TRG_BARRIER();
        l = vox_count_runs(d.bits, d.w, parent, walk);
    } else {
        number_runs(d, begin, end, scan[TRG_LID] - mine);
        TRG_BARRIER();
        for (trg_u32 k = walk.first; k < d.n; k += walk.step)
            run[k] = before_run(d, k);
        for (trg_u32 halving = 0; halving < HALVINGS; halving++) {
            TRG_BARRIER();
            for (trg_u32 k = walk.first; k < d.n; k += walk.step)
                run[k] = run[run[k]];
        }
        TRG_BARRIER();
        for (trg_u32 k = walk.first; k < d.n; k += walk.step)
            join_run(d, k);
        TRG_BARRIER();
        l = count_runs(d, walk);
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
