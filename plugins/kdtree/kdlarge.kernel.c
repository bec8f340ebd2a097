/* SPDX-License-Identifier: Apache-2.0 */
/* One tree of many points by all groups of the device, in two ways.
 *
 * By sorting: kdl_keys, a radix sort of all dimensions at once (kdl_count, kdl_scan, kdl_scatter
 * for every 4 bits), level by level kdl_roots, kdl_sides, kdl_scan and kdl_move while subtrees are
 * large, and kdl_subtrees for the rest of each.  See levels.h.
 *
 * By selection, as D. Ernst, Performance studies on different accelerators using OpenCL, CERN
 * openlab 2016: kds_begin, kds_groups for the levels whose nodes have many points (a group a node,
 * radix select of 4 bits a pass, of which each goes on with the chosen bucket alone, scatter),
 * kds_items for the others (a work-item a node). */
#include "kdbuild.h"
#include "layout.h"
#include "levels.h"
#include "trigd/common/group.h"
#include "trigd/kernel.h"

/* ---------------------------------------------------------------- sorting */

TRG_KERNEL3(kdl_keys, (const float, points), (trg_u32, keys), (trg_u32, orders),
            (struct kd_build_par, par))
{
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n; i += TRG_GROUPS * TRG_LSIZE)
        for (trg_u32 d = 0u; d < par.k; d++) {
            keys[d * par.room + i] = kd_key(points[par.at + d * par.room + i]);
            orders[d * par.room + i] = i;
        }
}

/* Group d * tiles + t: how many keys of each digit a tile has: counts[(16 d + digit) * tiles + t].
 */
TRG_KERNEL2(kdl_count, (const trg_u32, keys), (trg_u32, counts), (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 count[TRG_GROUP_DIGITS];
    const trg_u32 d = TRG_GID / par.tiles, t = TRG_GID % par.tiles, begin = t * KD_TILE;
    const trg_u32 end = begin + KD_TILE < par.n ? begin + KD_TILE : par.n;
    TRG_GLOBAL const trg_u32 *key = keys + ((par.which & 1u) * par.k + d) * par.room;

    for (trg_u32 i = TRG_LID; i < TRG_GROUP_DIGITS; i += TRG_LSIZE)
        count[i] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = begin + TRG_LID; i < end; i += TRG_LSIZE)
        TRG_ATOMIC_ADD_LOCAL(&count[key[i] >> par.shift & (TRG_GROUP_DIGITS - 1u)], 1u);
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < TRG_GROUP_DIGITS; i += TRG_LSIZE)
        counts[(TRG_GROUP_DIGITS * d + i) * par.tiles + t] = count[i];
}

/* Exclusive sums of stretches of `shift` words, a group each. */
TRG_KERNEL1(kdl_scan, (trg_u32, counts), (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];

    trg_group_scan_global(scratch, counts + TRG_GID * par.shift, par.shift);
}

TRG_KERNEL3(kdl_scatter, (trg_u32, keys), (trg_u32, orders), (const trg_u32, counts),
            (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SORT_SCRATCH];
    const trg_u32 d = TRG_GID / par.tiles, t = TRG_GID % par.tiles, begin = t * KD_TILE;
    const trg_u32 n = par.n - begin < KD_TILE ? par.n - begin : KD_TILE;
    const trg_u32 from = ((par.which & 1u) * par.k + d) * par.room;
    const trg_u32 to = ((~par.which & 1u) * par.k + d) * par.room;

    trg_group_radix_tile(scratch, keys + from + begin, orders + from + begin, n, par.shift,
                         counts + TRG_GROUP_DIGITS * d * par.tiles + t, par.tiles, keys + to,
                         orders + to);
}

/* ---------------------------------------------------------------- levels */

TRG_FN struct kd_arrays kd_one_tree(TRG_GLOBAL const float *points, TRG_GLOBAL float *nodes,
                                    TRG_GLOBAL trg_u32 *ids, TRG_GLOBAL trg_u32 *orders,
                                    TRG_GLOBAL trg_u32 *side)
{
    struct kd_arrays a;

    a.points = points;
    a.nodes = nodes;
    a.ids = ids;
    a.orders = orders;
    a.side = side;
    a.base = 0u;
    return a;
}

TRG_KERNEL5(kdl_roots, (const float, points), (float, nodes), (trg_u32, ids), (trg_u32, orders),
            (trg_u32, side), (struct kd_build_par, par))
{
    const trg_u32 begin = TRG_GID * KD_TILE;
    const trg_u32 end = begin + KD_TILE < par.n ? begin + KD_TILE : par.n;
    const struct kd_stretch s = {par.n, par.level, begin, end, 0u, 0u};

    kd_place_roots(kd_one_tree(points + par.at, nodes, ids, orders, side), par, par.which, s);
}

/* Group i * tiles + t, for the i-th of the dimensions that do not split: how many points of the
 * tile go left, and how many are roots: counts[2 i * tiles + t] and counts[(2 i + 1) * tiles + t].
 */
TRG_KERNEL3(kdl_sides, (const trg_u32, orders), (const trg_u32, side), (trg_u32, counts),
            (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 i = TRG_GID / par.tiles, t = TRG_GID % par.tiles, begin = t * KD_TILE;
    const trg_u32 end = begin + KD_TILE < par.n ? begin + KD_TILE : par.n;
    const trg_u32 d = (par.level + 1u + i) % par.k;
    TRG_GLOBAL const trg_u32 *order = orders + ((par.which >> d & 1u) * par.k + d) * par.room;
    trg_u32 sum = 0u;

    for (trg_u32 p = begin + TRG_LID; p < end; p += TRG_LSIZE) {
        const struct kd_subtree s =
            kd_subtree(par.n, par.level, kd_subtree_at(par.n, par.level, p));

        if (p - s.begin < s.size)
            sum += side[order[p]];
    }
    sum = trg_group_sum(scratch, sum);
    if (TRG_LID == 0u) {
        counts[2u * i * par.tiles + t] = sum & 0xffffu;
        counts[(2u * i + 1u) * par.tiles + t] = sum >> 16;
    }
}

TRG_KERNEL3(kdl_move, (trg_u32, orders), (trg_u32, side), (const trg_u32, counts),
            (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 i = TRG_GID / par.tiles, t = TRG_GID % par.tiles, begin = t * KD_TILE;
    const trg_u32 end = begin + KD_TILE < par.n ? begin + KD_TILE : par.n;
    const trg_u32 d = (par.level + 1u + i) % par.k;
    struct kd_stretch s = {par.n, par.level, begin, end, 0u, 0u};
    struct kd_arrays a;

    a.points = 0;
    a.nodes = 0;
    a.ids = 0;
    a.orders = orders;
    a.side = side;
    a.base = 0u;
    s.lefts = counts[2u * i * par.tiles + t];
    s.medians = counts[(2u * i + 1u) * par.tiles + t];
    kd_partition(scratch, a, par, par.which, d, s);
}

/* Group j: the rest of subtree j below depth par.level. */
TRG_KERNEL5(kdl_subtrees, (const float, points), (float, nodes), (trg_u32, ids), (trg_u32, orders),
            (trg_u32, side), (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];

    kd_levels_of(scratch, kd_one_tree(points + par.at, nodes, ids, orders, side), par, par.n,
                 par.level, TRG_GID, par.which);
}

/* ---------------------------------------------------------------- selection */

TRG_KERNEL1(kds_begin, (trg_u32, orders), (struct kd_build_par, par))
{
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n; i += TRG_GROUPS * TRG_LSIZE)
        orders[i] = i;
}

/* A list of points from which one is selected. */
struct kd_chosen {
    TRG_GLOBAL const trg_u32 *points;
    trg_u32 n, rank; /* of the one, from 0 */
};

/* What a pass looks at: the key of a point or, among those of one key, its number. */
TRG_FN trg_u32 kd_word(TRG_GLOBAL const float *x, trg_u32 point, trg_u32 is_number)
{
    return is_number ? point : kd_key(x[point]);
}

/* One pass: counts the digits of the words, takes the bucket that the one is in, and copies its
 * points, in their order, to `to`. */
TRG_GROUP_FN struct kd_chosen kd_choose(TRG_LOCAL trg_u32 *scratch, TRG_LOCAL trg_u32 *count,
                                        TRG_GLOBAL const float *x, const struct kd_chosen from,
                                        trg_u32 is_number, trg_u32 shift, TRG_GLOBAL trg_u32 *to)
{
    struct kd_chosen bucket;
    trg_u32 digit = 0u, n = 0u;

    bucket.points = to;
    bucket.rank = from.rank;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < 16u; i += TRG_LSIZE)
        count[i] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < from.n; i += TRG_LSIZE)
        TRG_ATOMIC_ADD_LOCAL(&count[kd_word(x, from.points[i], is_number) >> shift & 15u], 1u);
    TRG_BARRIER();
    while (digit < 15u && bucket.rank >= count[digit])
        bucket.rank -= count[digit++];
    bucket.n = count[digit];
    if (bucket.n == from.n) { /* all of them: nothing to copy */
        bucket.points = from.points;
        return bucket;
    }
    for (trg_u32 at = 0u; at < from.n; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID, point = i < from.n ? from.points[i] : 0u;
        const trg_u32 is = i < from.n && (kd_word(x, point, is_number) >> shift & 15u) == digit;
        const trg_u32 place = trg_group_place(scratch, is, &n);

        if (is)
            to[place] = point;
    }
    return bucket;
}

/* The point of rank `all.rank`: 4 bits of the key a pass, and where keys are equal of the number,
 * until one is left.  `a` and `b` have room for all points, and are overwritten. */
TRG_GROUP_FN trg_u32 kd_radix_select(TRG_LOCAL trg_u32 *scratch, TRG_LOCAL trg_u32 *count,
                                     TRG_GLOBAL const float *x, const struct kd_chosen all,
                                     TRG_GLOBAL trg_u32 *a, TRG_GLOBAL trg_u32 *b)
{
    struct kd_chosen left = all;

    for (trg_u32 pass = 0u; pass < 16u && left.n > 1u; pass++)
        left = kd_choose(scratch, count, x, left, pass >> 3, 28u - 4u * (pass & 7u),
                         left.points == a ? b : a);
    TRG_BARRIER();
    return left.points[0];
}

/* Group j: finds the root of subtree j below depth par.level, and moves what is left and right of
 * it to the other half of `orders`.  The orders of the other dimensions are not used, and are where
 * buckets go. */
TRG_KERNEL4(kds_groups, (const float, points), (float, nodes), (trg_u32, ids), (trg_u32, orders),
            (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 count[16];
    const struct kd_subtree t = kd_subtree(par.n, par.level, TRG_GID);
    const trg_u32 begin = t.begin, end = t.begin + t.size;
    TRG_GLOBAL const float *x = points + par.at + par.level % par.k * par.room;
    TRG_GLOBAL const trg_u32 *order = orders + (par.which & 1u) * par.room;
    TRG_GLOBAL trg_u32 *to = orders + (~par.which & 1u) * par.room;
    struct kd_chosen all;
    trg_u32 lefts = 0u, roots = 0u, root, key;

    all.points = order + begin;
    all.n = t.size;
    all.rank = t.left;
    root = kd_radix_select(scratch, count, x, all, orders + 2u * par.room + begin,
                           orders + 3u * par.room + begin);
    key = kd_key(x[root]);
    for (trg_u32 at = begin; at < end; at += TRG_LSIZE) {
        const trg_u32 p = at + TRG_LID;
        const trg_u32 point = p < end ? order[p] : 0u, here = p < end ? kd_key(x[point]) : 0u;
        const trg_u32 left = here < key || (here == key && point < root) ? 1u : 0u;
        const trg_u32 code = p >= end ? 0u : left ? KD_LEFT : point == root ? KD_MEDIAN : 0u;
        trg_u32 total;
        const trg_u32 before = trg_group_scan(scratch, code, &total);

        if (code == KD_LEFT)
            to[begin + lefts + (before & 0xffffu)] = point;
        else if (code == 0u && p < end)
            to[p + t.left + 1u - lefts - (before & 0xffffu) - roots - (before >> 16)] = point;
        lefts += total & 0xffffu;
        roots += total >> 16;
    }
    for (trg_u32 d = TRG_LID; d < par.k; d += TRG_LSIZE)
        nodes[d * par.room + t.node] = points[par.at + d * par.room + root];
    if (TRG_LID == 0u)
        ids[t.node] = root;
}

/* Whether point a comes before point b. */
TRG_FN trg_u32 kd_before(TRG_GLOBAL const float *x, trg_u32 a, trg_u32 b)
{
    const trg_u32 ka = kd_key(x[a]), kb = kd_key(x[b]);

    return ka < kb || (ka == kb && a < b) ? 1u : 0u;
}

/* Work-item j: the same for one small subtree, in place. */
TRG_KERNEL4(kds_items, (const float, points), (float, nodes), (trg_u32, ids), (trg_u32, orders),
            (struct kd_build_par, par))
{
    TRG_GLOBAL const float *x = points + par.at + par.level % par.k * par.room;
    TRG_GLOBAL trg_u32 *order = orders + (par.which & 1u) * par.room;

    for (trg_u32 j = TRG_GID * TRG_LSIZE + TRG_LID; j < 1u << par.level;
         j += TRG_GROUPS * TRG_LSIZE) {
        const struct kd_subtree t = kd_subtree(par.n, par.level, j);
        const trg_i32 want = (trg_i32)(t.begin + t.left);
        trg_i32 low = (trg_i32)t.begin, high = (trg_i32)(t.begin + t.size) - 1;

        if (t.size == 0u)
            continue;
        while (low < high) {
            const trg_u32 pivot = order[(low + high) / 2];
            trg_i32 a = low, b = high;

            while (a <= b) {
                while (kd_before(x, order[a], pivot))
                    a++;
                while (kd_before(x, pivot, order[b]))
                    b--;
                if (a <= b) {
                    const trg_u32 swap = order[a];

                    order[a++] = order[b];
                    order[b--] = swap;
                }
            }
            if (want <= b)
                high = b;
            else if (want >= a)
                low = a;
            else
                break;
        }
        ids[t.node] = order[want];
        for (trg_u32 d = 0u; d < par.k; d++)
            nodes[d * par.room + t.node] = points[par.at + d * par.room + order[want]];
    }
}
