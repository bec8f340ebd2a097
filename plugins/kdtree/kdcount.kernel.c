/* SPDX-License-Identifier: Apache-2.0 */
/* Points counted in boxes or balls, without a list of them: a group a query.
 *
 * The group takes the newest nodes of a stack, as many as it has work-items, tests them and puts
 * their children back.  Nodes of the level where blocks begin (blocks.h) go to a list of their own:
 * the up to 31 nodes below each of them are tested at once, a work-item each.  Going for the newest
 * bounds the stack: what one step leaves behind is at most a group's worth of each level. */
#include "kdcount.h"
#include "blocks.h"
#include "trigd/common/group.h"

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "kdcount_host.h"
#endif

#define KDC_LEAVES 128u /* roots of blocks that wait */
#define KDC_STACK  ((KD_LEVELS_MAX - KD_BLOCK_LEVELS) * KDC_GROUP)

struct kdc_lists {
    TRG_LOCAL trg_u32 *inner, *leaf; /* [KDC_STACK], [KDC_LEAVES] */
    TRG_LOCAL trg_u32 *scratch;
};

/* Points of the blocks in the list that are inside, of those that this work-item tests. */
TRG_GROUP_FN trg_u32 kdc_test_blocks(const struct kdc_lists lists, trg_u32 n,
                                     const struct kdq_tree t, const struct kdc_region region,
                                     const struct kdq_par par, trg_u32 is_ball)
{
    trg_u32 found = 0u;

    for (trg_u32 lane = TRG_LID; lane < KD_BLOCK - 1u; lane += TRG_LSIZE) {
        const trg_u32 down = kd_levels(lane + 1u) - 1u; /* levels below the block's root */

        KDC_UNROLL
        for (trg_u32 i = 0u; i < n; i++) {
            const trg_u32 node = (lists.leaf[i] << down) + lane;

            found += node < t.n ? kdc_is_inside(t, region, par, is_ball, node) : 0u;
        }
    }
    return found;
}

/* Where the children of this work-item go among those of the group: inner nodes in the low half,
 * roots of blocks in the high half; of all to `ret_total`. */
TRG_GROUP_FN trg_u32 kdc_places(TRG_LOCAL trg_u32 *scratch, trg_u32 children, trg_u32 is_leaf,
                                trg_u32 *ret_total)
{
#if defined(__CUDACC__)
    /* a group is a warp */
    const trg_u32 lower = (1u << TRG_LID) - 1u;
    const trg_u32 one = __ballot_sync(0xffffffffu, children & 1u);
    const trg_u32 two = __ballot_sync(0xffffffffu, children & 2u);
    const trg_u32 leaf = __ballot_sync(0xffffffffu, is_leaf);

    (void)scratch;
    *ret_total = (trg_u32)(__popc(one & ~leaf) + 2 * __popc(two & ~leaf)) +
                 ((trg_u32)(__popc(one & leaf) + 2 * __popc(two & leaf)) << 16);
    return (trg_u32)(__popc(one & ~leaf & lower) + 2 * __popc(two & ~leaf & lower)) +
           ((trg_u32)(__popc(one & leaf & lower) + 2 * __popc(two & leaf & lower)) << 16);
#else
    return trg_group_scan(scratch, children << (is_leaf ? 16u : 0u), ret_total);
#endif
}

/* Tests the newest nodes of the stack, a work-item each, and puts their children into the lists;
 * `*n_inner` and `*n_leaf` are how many there are.  1 when this work-item's point is inside. */
TRG_GROUP_FN trg_u32 kdc_step(const struct kdc_lists lists, const struct kdq_tree t,
                              const struct kdc_region region, const struct kdq_par par,
                              trg_u32 is_ball, trg_u32 *n_inner, trg_u32 *n_leaf)
{
    const trg_u32 take = *n_inner < TRG_LSIZE ? *n_inner : TRG_LSIZE;
    const trg_u32 has = TRG_LID < take ? 1u : 0u;
    const trg_u32 node = has ? lists.inner[*n_inner - take + TRG_LID] : 0u;
    const trg_u32 is_leaf = has && kd_levels(node + 1u) == kd_block_level(t.n) ? 1u : 0u;
    const trg_u32 what = has ? kdc_test(t, region, par, is_ball, node) : 0u;
    const trg_u32 left = what & KDQ_LEFT ? 1u : 0u, right = what & KDQ_RIGHT ? 1u : 0u;
    TRG_LOCAL trg_u32 *list = is_leaf ? lists.leaf : lists.inner;
    trg_u32 total;
    const trg_u32 before = kdc_places(lists.scratch, left + right, is_leaf, &total);
    const trg_u32 place = is_leaf ? *n_leaf + (before >> 16) : *n_inner - take + (before & 0xffffu);

    TRG_BARRIER();
    if (left)
        list[place] = 2u * node + 1u;
    if (right)
        list[place + left] = 2u * node + 2u;
    TRG_BARRIER();
    *n_inner += (total & 0xffffu) - take;
    *n_leaf += total >> 16;
    return what & KDQ_INSIDE;
}

/* Points inside, of those that this work-item tests. */
TRG_GROUP_FN trg_u32 kdc_count(const struct kdc_lists lists, const struct kdq_tree t,
                               const struct kdc_region region, const struct kdq_par par,
                               trg_u32 is_ball)
{
    const trg_u32 bottom = kd_block_level(t.n);
    trg_u32 n_inner = bottom ? 1u : 0u, n_leaf = t.n && !bottom ? 1u : 0u, found = 0u;

    if (TRG_LID == 0u)
        lists.inner[0] = lists.leaf[0] = 0u;
    TRG_BARRIER();
    while (n_inner) {
        found += kdc_step(lists, t, region, par, is_ball, &n_inner, &n_leaf);
        if (n_leaf > KDC_LEAVES - 2u * KDC_GROUP) {
            found += kdc_test_blocks(lists, n_leaf, t, region, par, is_ball);
            n_leaf = 0u;
            TRG_BARRIER();
        }
    }
    return found + kdc_test_blocks(lists, n_leaf, t, region, par, is_ball);
}

/* Query q. */
TRG_GROUP_FN void kdc_query(const struct kdc_lists lists, const struct kdq_tree t,
                            TRG_GLOBAL const float *regions, TRG_GLOBAL trg_u32 *counts,
                            const struct kdq_par par, trg_u32 is_ball, trg_u32 q)
{
    const struct kdc_region r = kdc_load(regions, par, is_ball, q);
    const trg_u32 found = trg_group_sum(lists.scratch, kdc_count(lists, t, r, par, is_ball));

    if (TRG_LID == 0u)
        counts[q] = found;
}

/* boxes: [2][k][query_room].  By hand: one group. */
TRG_KERNEL6(kdc_boxes, (const float, nodes), (const trg_u32, trees), (const float, boxes),
            (const trg_u32, tree_of), (const float, blocks), (trg_u32, counts),
            (struct kdq_par, par))
{
    TRG_SHARED trg_u32 inner[KDC_STACK], leaf[KDC_LEAVES];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCAN_SCRATCH];
    struct kdc_lists lists;

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.by_hand) {
        const struct kdq_forest forest = {nodes, trees, trees, blocks};

        kdc_host_count(&forest, boxes, tree_of, counts, &par, 0u);
        return;
    }
#endif
    (void)blocks;
    lists.inner = inner;
    lists.leaf = leaf;
    lists.scratch = scratch;
    for (trg_u32 q = TRG_GID; q < par.n_queries; q += TRG_GROUPS)
        kdc_query(lists, kdq_tree_of(nodes, trees, tree_of[q]), boxes, counts, par, 0u, q);
}

/* balls: centres [k][query_room], then radii [query_room]. */
TRG_KERNEL6(kdc_balls, (const float, nodes), (const trg_u32, trees), (const float, balls),
            (const trg_u32, tree_of), (const float, blocks), (trg_u32, counts),
            (struct kdq_par, par))
{
    TRG_SHARED trg_u32 inner[KDC_STACK], leaf[KDC_LEAVES];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCAN_SCRATCH];
    struct kdc_lists lists;

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.by_hand) {
        const struct kdq_forest forest = {nodes, trees, trees, blocks};

        kdc_host_count(&forest, balls, tree_of, counts, &par, 1u);
        return;
    }
#endif
    (void)blocks;
    lists.inner = inner;
    lists.leaf = leaf;
    lists.scratch = scratch;
    for (trg_u32 q = TRG_GID; q < par.n_queries; q += TRG_GROUPS)
        kdc_query(lists, kdq_tree_of(nodes, trees, tree_of[q]), balls, counts, par, 1u, q);
}
