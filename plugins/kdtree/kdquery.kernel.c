/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes searched in trees: all points with low <= x <= high in every dimension.
 *
 * The first pass counts, sums of the counts say where the results of each query go, the second pass
 * writes them: so none is lost.  Results are the numbers of the points in the order of the tree's
 * nodes (level by level, from the left), whichever way they were found.
 *
 * Depth first: a work-item a query, with a stack.  Breadth first: a gang of work-items a query,
 * which take the nodes of a level together from one buffer and put those of the next into another;
 * a query with more nodes on a level than fit goes depth first. */
#include "kdquery.h"
#include "layout.h"
#include "trigd/common/group.h"
#include "trigd/kernel.h"

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "kdquery_host.h"
#endif

/* ---------------------------------------------------------------- depth first */

/* counts: [levels + 1][query_room]: of each level, and of all. */
TRG_KERNEL5(kdq_dfs_count, (const float, nodes), (const trg_u32, trees), (const float, boxes),
            (const trg_u32, tree_of), (trg_u32, counts), (struct kdq_par, par))
{
    for (trg_u32 q = TRG_GID * TRG_LSIZE + TRG_LID; q < par.n_queries;
         q += TRG_GROUPS * TRG_LSIZE) {
        trg_u32 found[KD_LEVELS_MAX], sum = 0u;

        for (trg_u32 l = 0u; l < par.levels; l++)
            found[l] = 0u;
        kdq_depth_first(kdq_tree_of(nodes, trees, tree_of[q]), kdq_load(boxes, par, q), par, found,
                        0u, trees, counts);
        for (trg_u32 l = 0u; l < par.levels; l++) {
            counts[l * par.query_room + q] = found[l];
            sum += found[l];
        }
        counts[par.levels * par.query_room + q] = sum;
    }
}

/* counts: of each level; in the last row where the results of each query begin.  By hand: one
 * group, which also makes that row, and writes as many results as there is room for. */
TRG_KERNEL8(kdq_dfs_fill, (const float, nodes), (const trg_u32, ids), (const trg_u32, trees),
            (const float, boxes), (const trg_u32, tree_of), (trg_u32, counts),
            (const float, blocks), (trg_u32, results), (struct kdq_par, par))
{
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.by_hand) {
        struct kdq_forest forest = {nodes, ids, trees, blocks};

        kdq_host_search(&forest, boxes, tree_of, counts + par.levels * par.query_room, results,
                        &par);
        return;
    }
#endif
    (void)blocks; /* for the CPU */
    for (trg_u32 q = TRG_GID * TRG_LSIZE + TRG_LID; q < par.n_queries;
         q += TRG_GROUPS * TRG_LSIZE) {
        trg_u32 at[KD_LEVELS_MAX], sum = counts[par.levels * par.query_room + q];

        for (trg_u32 l = 0u; l < par.levels; l++) {
            at[l] = sum;
            sum += counts[l * par.query_room + q];
        }
        kdq_depth_first(kdq_tree_of(nodes, trees, tree_of[q]), kdq_load(boxes, par, q), par, at, 1u,
                        ids, results);
    }
}

/* ---------------------------------------------------------------- breadth first */

struct kdq_gang {
    trg_u32 size, lane; /* of this work-item in its gang */
    trg_u32 first;      /* work-item of the group that is its first */
    trg_u32 mask;       /* CUDA: the gang's lanes of the warp */
};

TRG_FN struct kdq_gang kdq_gang_of(trg_u32 size, trg_u32 item)
{
    struct kdq_gang g;

    g.size = size;
    g.lane = item % size;
    g.first = item - g.lane;
    g.mask = (size < 32u ? (1u << size) - 1u : 0xffffffffu) << (g.first & 31u);
    return g;
}

/* What the work-items of the gang before this one found, and all of it: points in the low half,
 * children in the high half. */
TRG_GROUP_FN trg_u32 kdq_gang_scan(TRG_LOCAL trg_u32 *scratch, const struct kdq_gang g,
                                   trg_u32 what, trg_u32 *ret_total)
{
    const trg_u32 mine = (what & KDQ_INSIDE ? 1u : 0u) + (what & KDQ_LEFT ? 0x10000u : 0u) +
                         (what & KDQ_RIGHT ? 0x10000u : 0u);
    trg_u32 before = 0u, total;
#if defined(__CUDACC__)
    const trg_u32 lower = g.mask & ((1u << (TRG_LID & 31u)) - 1u);
    const trg_u32 in = __ballot_sync(g.mask, what & KDQ_INSIDE);
    const trg_u32 left = __ballot_sync(g.mask, what & KDQ_LEFT);
    const trg_u32 right = __ballot_sync(g.mask, what & KDQ_RIGHT);

    (void)scratch;
    (void)mine;
    before = (trg_u32)__popc(in & lower) +
             ((trg_u32)(__popc(left & lower) + __popc(right & lower)) << 16);
    total = (trg_u32)__popc(in & g.mask) +
            ((trg_u32)(__popc(left & g.mask) + __popc(right & g.mask)) << 16);
#else
    TRG_BARRIER();
    scratch[TRG_LID] = mine;
    TRG_BARRIER();
    total = 0u;
    for (trg_u32 i = 0u; i < g.size; i++) {
        before = i == g.lane ? total : before;
        total += scratch[g.first + i];
    }
#endif
    *ret_total = total;
    return before;
}

#if defined(__CUDACC__)
/* Gangs are parts of a warp and go their own way. */
#define KDQ_GANG_SYNC(g)           __syncwarp((g).mask)
#define KDQ_STEPS(scratch, g, own) (own)
#else
/* All gangs of a group go on together, for as many steps as the longest takes: barriers are for
 * all. */
#define KDQ_GANG_SYNC(g)           TRG_BARRIER()
#define KDQ_STEPS(scratch, g, own) trg_group_max(scratch, own)
#endif

struct kdq_query { /* one of a gang */
    struct kdq_tree tree;
    struct kdq_box box;
    TRG_GLOBAL const trg_u32 *ids;
    TRG_GLOBAL trg_u32 *results;
    trg_u32 at; /* where its results begin */
};

struct kdq_level { /* `size` nodes that a gang tests in `steps`, and where their children go */
    TRG_GLOBAL const trg_u32 *from;
    TRG_GLOBAL trg_u32 *to;
    trg_u32 steps, size;
};

/* Tests the nodes of a level; adds the points found to the results.  Returns the number of
 * children, which may be larger than the room. */
TRG_GROUP_FN trg_u32 kdq_one_level(TRG_LOCAL trg_u32 *scratch, const struct kdq_gang g,
                                   const struct kdq_query q, const struct kdq_par par,
                                   const struct kdq_level l, trg_u32 *found)
{
    trg_u32 next = 0u;

    for (trg_u32 s = 0u; s < l.steps; s++) {
        const trg_u32 i = s * g.size + g.lane;
        const trg_u32 node = i < l.size ? l.from[i] : 0u;
        const trg_u32 what = i < l.size ? kdq_test(q.tree, q.box, par, node) : 0u;
        trg_u32 total;
        const trg_u32 before = kdq_gang_scan(scratch, g, what, &total);
        trg_u32 place = next + (before >> 16);

        if (par.fill && what & KDQ_INSIDE)
            q.results[q.at + *found + (before & 0xffffu)] = q.ids[q.tree.base + node];
        if (what & KDQ_LEFT && place < par.front_room)
            l.to[place] = 2u * node + 1u;
        place += what & KDQ_LEFT ? 1u : 0u;
        if (what & KDQ_RIGHT && place < par.front_room)
            l.to[place] = 2u * node + 2u;
        *found += total & 0xffffu;
        next += total >> 16;
    }
    return next;
}

/* A query with more nodes on a level than fit, depth first by one work-item: counts its points, and
 * writes them level by level. */
TRG_FN trg_u32 kdq_over(const struct kdq_query q, const struct kdq_par par)
{
    trg_u32 level[KD_LEVELS_MAX], sum = 0u;

    for (trg_u32 l = 0u; l < par.levels; l++)
        level[l] = 0u;
    kdq_depth_first(q.tree, q.box, par, level, 0u, q.ids, q.results);
    for (trg_u32 l = 0u; l < par.levels; l++) {
        const trg_u32 here = level[l];

        level[l] = q.at + sum;
        sum += here;
    }
    if (par.fill)
        kdq_depth_first(q.tree, q.box, par, level, 1u, q.ids, q.results);
    return sum;
}

/* fronts: two swap buffers for each gang of the launch. */
TRG_KERNEL8(kdq_bfs, (const float, nodes), (const trg_u32, ids), (const trg_u32, trees),
            (const float, boxes), (const trg_u32, tree_of), (trg_u32, counts), (trg_u32, fronts),
            (trg_u32, results), (struct kdq_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 size = par.gang < TRG_LSIZE ? par.gang : TRG_LSIZE, gangs = TRG_LSIZE / size;
    TRG_GLOBAL trg_u32 *front = fronts + (TRG_GID * gangs + TRG_LID / size) * 2u * par.front_room;
    TRG_GLOBAL trg_u32 *totals = counts + par.levels * par.query_room;
    const struct kdq_gang g = kdq_gang_of(size, TRG_LID);

    for (trg_u32 first = TRG_GID * gangs; first < par.n_queries; first += TRG_GROUPS * gangs) {
        const trg_u32 number = first + TRG_LID / size, mine = number < par.n_queries ? 1u : 0u;
        const trg_u32 q = mine ? number : first; /* all of a group go on together */
        struct kdq_query query;
        struct kdq_level level;
        trg_u32 n, found = 0u, which = 0u, over = 0u;

        query.box = kdq_load(boxes, par, q);
        query.tree = kdq_tree_of(nodes, trees, tree_of[q]);
        query.ids = ids;
        query.results = results;
        query.at = par.fill ? totals[q] : 0u;
        n = mine && query.tree.n > 0u ? 1u : 0u;
        if (n && g.lane == 0u)
            front[0] = 0u;
        KDQ_GANG_SYNC(g);
        level.steps = KDQ_STEPS(scratch, g, n);
        while (level.steps) {
            level.size = n;
            level.from = front + which * par.front_room;
            level.to = front + (1u - which) * par.front_room;
            n = kdq_one_level(scratch, g, query, par, level, &found);
            over |= n > par.front_room ? 1u : 0u;
            n = over ? 0u : n;
            which = 1u - which;
            KDQ_GANG_SYNC(g);
            level.steps = KDQ_STEPS(scratch, g, (n + size - 1u) / size);
        }
        if (over && g.lane == 0u)
            found = kdq_over(query, par);
        if (!par.fill && mine && g.lane == 0u)
            totals[q] = found;
        KDQ_GANG_SYNC(g);
    }
}

/* ---------------------------------------------------------------- sums of the counts */

/* Group t: how many results the queries of a tile have; 0xffffffff for that many or more. */
TRG_KERNEL2(kdq_sum_tiles, (const trg_u32, counts), (trg_u32, tiles), (struct kdq_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 begin = TRG_GID * KDQ_TILE;
    const trg_u32 end = begin + KDQ_TILE < par.n_queries ? begin + KDQ_TILE : par.n_queries;
    trg_u32 low = 0u, high = 0u;

    for (trg_u32 q = begin + TRG_LID; q < end; q += TRG_LSIZE) {
        low += counts[par.levels * par.query_room + q] & 0xffffu;
        high += counts[par.levels * par.query_room + q] >> 16;
    }
    low = trg_group_sum(scratch, low);
    high = trg_group_sum(scratch, high) + (low >> 16);
    if (TRG_LID == 0u)
        tiles[TRG_GID] = high < 65536u ? high << 16 | (low & 0xffffu) : 0xffffffffu;
}

/* One group: where the results of each tile begin, and behind them the number of all and whether it
 * has more than 32 bits. */
TRG_KERNEL1(kdq_sum_all, (trg_u32, tiles), (struct kdq_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 n = (par.n_queries + KDQ_TILE - 1u) / KDQ_TILE;
    trg_u64 all = 0u;
    trg_u32 sum;

    if (TRG_LID == 0u)
        for (trg_u32 t = 0u; t < n; t++)
            all += tiles[t];
    sum = trg_group_scan_global(scratch, tiles, n);
    if (TRG_LID == 0u) {
        tiles[n] = sum;
        tiles[n + 1u] = all >= 0xffffffffu ? 1u : 0u;
    }
}

/* Group t: where the results of each query begin. */
TRG_KERNEL2(kdq_offsets, (const trg_u32, tiles), (trg_u32, counts), (struct kdq_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 begin = TRG_GID * KDQ_TILE;
    const trg_u32 n = par.n_queries - begin < KDQ_TILE ? par.n_queries - begin : KDQ_TILE;
    TRG_GLOBAL trg_u32 *totals = counts + par.levels * par.query_room + begin;

    trg_group_scan_global(scratch, totals, n);
    for (trg_u32 q = TRG_LID; q < n; q += TRG_LSIZE)
        totals[q] += tiles[TRG_GID];
    if (TRG_LID == 0u && TRG_GID + 1u == TRG_GROUPS)
        totals[n] = tiles[TRG_GID + 1u];
}
