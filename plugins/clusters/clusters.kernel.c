/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of super-pixels, and the hits that they are, of a whole batch in one launch.
 *
 * A group works on one RoI.  It lists the super-pixels by sensor, column and row (banks come so,
 * others are sorted); joins the sets of pixels that touch; knows then how many clusters there are,
 * tells the groups behind it, and gets from those before it where its own begin; adds up the pixels
 * of each cluster; and writes the clusters in the order of their first super-pixels.  All sums are
 * integers and no order is left to chance, so that devices agree to the bit. */
#include "dead.h"
#include "sort.h"
#include "superpixel.h"
#include "trigd/common/group.h"

#include "clusters.collections.h"

#include "superpixel_hit.h"
#if CL_VECTORS
#include "superpixel_host.h"
#endif

/* ---------------------------------------------------------------- items in order */

/* Gives the pixels of super-pixels that are there twice to the first of them, which is alone if all
 * say so; the others stay without pixels, as those that cannot be.  Patterns go to `to`. */
TRG_FN void cl_merge_items(TRG_GLOBAL const trg_u32 *key, TRG_GLOBAL const trg_u32 *pattern,
                           TRG_GLOBAL trg_u32 *to, trg_u32 n)
{
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 first = key[i] != CL_BAD && (i == 0u || key[i] != key[i - 1u]);
        trg_u32 all = 0u, alone = CL_ALONE;

        for (trg_u32 k = i; first && k < n && key[k] == key[i]; k++) {
            all |= pattern[k] & 255u;
            alone &= pattern[k];
        }
        to[i] = all | alone;
    }
}

#if !CL_VECTORS
/* Keys and patterns as they come; CL_DISORDER: they are not in order, or some cannot be. */
TRG_FN void cl_read_items(TRG_LOCAL trg_u32 *count, TRG_GLOBAL const trg_u16 *sensor,
                          TRG_GLOBAL const trg_u32 *word, TRG_GLOBAL trg_u32 *mine, trg_u32 n,
                          const struct cl_par par)
{
    TRG_GLOBAL trg_u32 *key = mine + CL_KEY * par.room, *pattern = mine + CL_PATTERN * par.room;
    trg_u32 disorder = 0u, bad = 0u, touch = 0u;

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 w = word[i], here = cl_key(sensor[i], w, par);

        key[i] = here;
        pattern[i] = (w & 255u) | (par.hint && w >> 31 ? CL_ALONE : 0u);
        bad += here == CL_BAD;
        touch += !(par.hint && w >> 31);
        if (i)
            disorder |= here <= cl_key(sensor[i - 1u], word[i - 1u], par);
    }
    if (disorder || bad)
        TRG_ATOMIC_OR_LOCAL(&count[CL_DISORDER], 1u);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_BAD], bad);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_TOUCH], touch);
}
#endif

/* ---------------------------------------------------------------- clusters */

#if !CL_VECTORS
/* Nodes for the sets of the j-th item of the list, of pattern p. */
TRG_FN void cl_put_nodes(const struct cl_view v, trg_u32 j, trg_u32 key, trg_u32 p)
{
    const trg_u32 node = j * CL_NODES, upper = cl_upper(p);

    v.parent[node] = node;
    v.parent[node + 1u] = node + 1u;
    cl_put_sums(v, node, cl_sums_of(key, cl_lower(p & 255u)));
    if (upper)
        cl_put_sums(v, node + 1u, cl_sums_of(key, upper));
}

/* Lists the items that may touch others, in order, and makes their nodes; counts all sets, and
 * pixels.  Returns how many are listed. */
TRG_GROUP_FN trg_u32 cl_list_items(TRG_LOCAL trg_u32 *scratch, TRG_LOCAL trg_u32 *count,
                                   const struct cl_view v)
{
    trg_u32 n = 0u, pixels = 0u, listed = 0u;

    for (trg_u32 from = 0u; from < v.n; from += TRG_LSIZE) {
        const trg_u32 i = from + TRG_LID, p = i < v.n ? v.pattern[i] : CL_ALONE;
        const trg_u32 touches = p & CL_ALONE ? 0u : 1u;
        const trg_u32 place = trg_group_place(scratch, touches, &listed);

        if (touches) {
            v.list[place] = i;
            v.slot[i] = place;
            cl_put_nodes(v, place, v.key[i], p);
        }
        n += (p & 255u ? 1u : 0u) + (cl_upper(p) ? 1u : 0u);
        pixels += trg_popcount(p & 255u);
    }
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], n);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_PIXELS], pixels);
    return listed;
}
#endif

/* Joins nodes that touch; each time there is a cluster less. */
TRG_FN void cl_join_items(TRG_LOCAL trg_u32 *count, const struct cl_view v)
{
    trg_u32 joined = 0u, at = 0u;

    for (trg_u32 j = TRG_LID; j < v.n_listed; j += TRG_LSIZE)
        joined += cl_join_item(v, j, &at);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], 0u - joined);
}

#if !CL_VECTORS
TRG_FN void cl_add_up(const struct cl_view v)
{
    for (trg_u32 j = TRG_LID; j < v.n_listed; j += TRG_LSIZE) {
        const trg_u32 nodes = cl_upper(v.pattern[v.list[j]]) ? 2u : 1u;

        for (trg_u32 k = 0u; k < nodes; k++) {
            const trg_u32 node = j * CL_NODES + k, root = cl_find(v.parent, node);

            if (root != node)
                cl_give_sums(v, node, root);
        }
    }
}

/* ---------------------------------------------------------------- hits */

/* Which of an item's sets are the first of their clusters, in two bits. */
TRG_FN trg_u32 cl_roots(const struct cl_view v, trg_u32 i)
{
    const trg_u32 p = v.pattern[i], sets = (p & 255u ? 1u : 0u) | (cl_upper(p) ? 2u : 0u);
    trg_u32 node;

    if (p & CL_ALONE)
        return sets;
    node = v.slot[i] * CL_NODES;
    return sets &
           ((v.parent[node] == node ? 1u : 0u) | (v.parent[node + 1u] == node + 1u ? 2u : 0u));
}

/* Those of the cluster that begins with set k of item i. */
TRG_FN struct cl_sums cl_sums_at(const struct cl_view v, trg_u32 i, trg_u32 k)
{
    const trg_u32 p = v.pattern[i];
    struct cl_sums s;

    if (p & CL_ALONE)
        return cl_sums_of(v.key[i], k ? cl_upper(p) : cl_lower(p & 255u));
    for (trg_u32 f = 0u; f < CL_SUMS; f++)
        s.of[f] = v.sum[f * v.stride + v.slot[i] * CL_NODES + k];
    return s;
}

/* The clusters of the RoI, of which there are `base` before.  Few sets are first of a cluster, and
 * items have one or two: they are listed behind the scratch memory, so that neighbours write one
 * each. */
TRG_GROUP_FN void cl_write_hits(TRG_LOCAL trg_u32 *scratch, const struct cl_view v, trg_u32 base,
                                TRG_GLOBAL const struct cl_sensor *sensors,
                                TRG_GLOBAL const float *centres, TRG_GLOBAL trg_u8 *hits,
                                TRG_GLOBAL trg_u8 *clusters, const struct cl_par par)
{
    TRG_LOCAL trg_u32 *list = scratch + TRG_GROUP_SCRATCH;

    for (trg_u32 from = 0u; from < v.n; from += TRG_LSIZE) {
        const trg_u32 i = from + TRG_LID, roots = i < v.n ? cl_roots(v, i) : 0u;
        trg_u32 all;
        const trg_u32 place = trg_group_scan(scratch, trg_popcount(roots), &all);

        if (roots & 1u)
            list[place] = i << 1;
        if (roots & 2u)
            list[place + (roots & 1u)] = i << 1 | 1u;
        TRG_BARRIER();
        for (trg_u32 k = TRG_LID; k < all; k += TRG_LSIZE) {
            const trg_u32 item = list[k] >> 1;

            cl_write_hit(cl_sums_at(v, item, list[k] & 1u), CL_SENSOR_OF(v.key[item]), base + k,
                         sensors, centres, hits, clusters, par);
        }
        base += all;
    }
}
#endif

TRG_KERNEL8(cl_superpixels, (const trg_u8, data), (const struct cl_sensor, sensors),
            (const float, centres), (trg_u32, work), (trg_u32, state),
            (struct cl_summary, summaries), (trg_u8, hits), (trg_u8, clusters),
            (struct cl_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH + CL_NODES * CL_GROUP];
    TRG_SHARED trg_u32 count[CL_COUNTS];
#if defined(__CUDACC__)
    TRG_SHARED trg_u32 parents[CL_FEW];
#endif
    const trg_u32 roi = cl_next_roi(count, state);
    const trg_u32 begin = TRG_BEGIN(data, par.in, roi), n = TRG_END(data, par.in, roi) - begin;
    TRG_GLOBAL const trg_u32 *word = TRG_BANKS_WORD(data, par.in) + begin;
    const trg_u32 at = CL_AT(begin);
    TRG_GLOBAL trg_u32 *mine = work + at;
    struct cl_view v;
    trg_u32 to_sort, is_second, base;

    cl_read_items(count, TRG_BANKS_SENSOR(data, par.in) + begin, word, mine, n, par);
    TRG_BARRIER();
    /* nothing to sort is loops without turns, not a condition: PoCL 3.1 compiles barriers behind
     * conditions for minutes */
    to_sort = count[CL_DISORDER] ? n : 0u;
    is_second = cl_sort_items(mine, to_sort, par.room);
    v.n = n;
    v.key = mine + (CL_KEY + is_second) * par.room;
    v.pattern = mine + (to_sort && !is_second ? CL_PATTERN_2 : CL_PATTERN) * par.room;
    cl_merge_items(v.key, mine + (CL_PATTERN + is_second) * par.room, v.pattern, to_sort);
    TRG_BARRIER();
    v.list = mine + CL_LIST * par.room;
    v.slot = mine + CL_SLOT * par.room;
    /* nodes have two words an item */
    v.parent = mine + CL_PARENT * par.room + at;
#if defined(__CUDACC__)
    if (CL_NODES * count[CL_N_TOUCH] <= CL_FEW) /* no fewer than will be listed */
        v.parent = parents;
#endif
    v.sum = mine + CL_SUM * par.room + at;
    v.stride = 2u * par.room;
    v.n_listed = cl_list_items(scratch, count, v);
    TRG_BARRIER();
    cl_join_items(count, v);
    TRG_BARRIER();
    cl_publish(state, roi, count[CL_N_CLUSTERS]);
    cl_add_up(v);
    base = cl_before(scratch, state, roi, par.n_rois, count[CL_N_CLUSTERS]);
    cl_write_offsets(hits, par.hits, roi, par.n_rois, base, count[CL_N_CLUSTERS]);
    cl_write_offsets(clusters, par.clusters, roi, par.n_rois, base, count[CL_N_CLUSTERS]);
    TRG_BARRIER();
    cl_write_hits(scratch, v, base, sensors, centres, hits, clusters, par);
    cl_write_summary(summaries, count, roi, n);
}

/* ---------------------------------------------------------------- dead channels */

#define CL_DROPPED 0x100u /* beside the dead pixels of a super-pixel: there is no other */

/* The dead pixels of each super-pixel; counts those that have others, and the pixels. */
TRG_FN void cl_look_for_dead(TRG_LOCAL trg_u32 *count, TRG_GLOBAL const trg_u16 *sensor,
                             TRG_GLOBAL const trg_u32 *word, TRG_GLOBAL trg_u32 *gone, trg_u32 n,
                             const struct cl_dead_view v, const struct cl_par par)
{
    trg_u32 kept = 0u, pixels = 0u, dropped = 0u;

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 w = word[i], key = cl_key(sensor[i], w, par);
        const trg_u32 dead =
            key == CL_BAD ? 0u
                          : w & cl_dead_pixels(v, par, sensor[i], CL_COLUMN_OF(key) * CL_COLUMNS,
                                               CL_ROW_OF(key) * CL_ROWS, CL_COLUMNS, CL_ROWS);
        const trg_u32 is_dropped = dead && dead == (w & 255u) ? 1u : 0u;

        gone[i] = is_dropped ? dead | CL_DROPPED : dead;
        kept += 1u - is_dropped;
        dropped += is_dropped;
        pixels += trg_popcount(dead);
    }
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], kept);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_BAD], dropped);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_PIXELS], pixels);
}

/* Writes what is left, in order, from number `base` of the batch on. */
TRG_GROUP_FN void cl_write_words(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u16 *sensor,
                                 TRG_GLOBAL const trg_u32 *word, TRG_GLOBAL const trg_u32 *gone,
                                 trg_u32 n, trg_u32 base, TRG_GLOBAL trg_u8 *masked,
                                 const struct cl_mask_par par)
{
    trg_u32 written = 0u;

    for (trg_u32 from = 0u; from < n; from += TRG_LSIZE) {
        const trg_u32 i = from + TRG_LID, is_kept = i < n && !(gone[i] & CL_DROPPED) ? 1u : 0u;
        const trg_u32 at = base + trg_group_place(scratch, is_kept, &written);

        if (is_kept) {
            TRG_BANKS_SENSOR_OUT(masked, par.masked)[at] = sensor[i];
            TRG_BANKS_WORD_OUT(masked, par.masked)[at] = word[i] & ~gone[i];
        }
    }
}

/* The banks without the pixels that are dead. */
TRG_KERNEL8(cl_mask, (const trg_u8, data), (const trg_u32, first), (const trg_u32, map),
            (const struct cl_dead, dead), (trg_u32, work), (trg_u32, state),
            (struct cl_summary, summaries), (trg_u8, masked), (struct cl_mask_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 count[CL_COUNTS];
    const trg_u32 roi = cl_next_roi(count, state), n_rois = par.common.n_rois;
    const trg_u32 begin = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - begin;
    TRG_GLOBAL const trg_u16 *sensor = TRG_BANKS_SENSOR(data, par.common.in) + begin;
    TRG_GLOBAL const trg_u32 *word = TRG_BANKS_WORD(data, par.common.in) + begin;
    struct cl_dead_view v;
    trg_u32 base;

    v.first = first;
    v.map = map;
    v.dead = dead;
    cl_look_for_dead(count, sensor, word, work + begin, n, v, par.common);
    TRG_BARRIER();
    cl_publish(state, roi, count[CL_N_CLUSTERS]);
    base = cl_before(scratch, state, roi, n_rois, count[CL_N_CLUSTERS]);
    cl_write_offsets(masked, par.masked, roi, n_rois, base, count[CL_N_CLUSTERS]);
    cl_write_words(scratch, sensor, word, work + begin, n, base, masked, par);
    cl_write_summary(summaries, count, roi, n);
}
