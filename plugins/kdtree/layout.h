/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - the hole-free left-balanced k-d tree: where its nodes are, and how points are ordered.
 *
 * A tree of n points is an array of n nodes.  The children of node i are 2i + 1 and 2i + 2; the
 * last level is filled from the left; each node holds one point.  Node i of level l splits by
 * dimension l modulo k: points of its left subtree come before its own, those of the right one
 * after it, in the order of (kd_key(coordinate), number of the point).  That order is total, so
 * there is exactly one such tree for a list of points, and whatever builds it must give the same
 * nodes.
 *
 * While it is built a tree is seen in order (left subtree, node, right subtree): position p of n.
 * The subtrees below depth l are stretches of positions, with one ancestor between neighbours; all
 * that must be known of them follows from n, l and p without looking anything up (kd_subtree).  The
 * idea is that of Wald, arXiv 2211.00120, section 3, for the level order. */
#ifndef KD_LAYOUT_H
#define KD_LAYOUT_H
#include "trigd/kernel.h"

#ifndef KD_DIMS_MAX /* trigd/kdtree.h, which devices do not read, has it as well */
#define KD_DIMS_MAX  8u
#define KD_NO_PERIOD KD_DIMS_MAX
#endif
#define KD_LEVELS_MAX 32u
#define KD_NONE       0xffffffffu

/* Order of coordinates as integers: -inf < ... < -0 = 0 < ... < inf < NaN. */
TRG_FN trg_u32 kd_key(float x)
{
    const trg_u32 u = trg_as_u32(x + 0.0f); /* -0 + 0 is 0 */

    if (!(x == x))
        return 0xffffffffu;
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* The coordinate of a key that is no NaN's. */
TRG_FN float kd_unkey(trg_u32 key)
{
    return trg_as_f32(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

/* Levels of a tree of n > 0 nodes. */
TRG_FN trg_u32 kd_levels(trg_u32 n)
{
    return 32u - trg_clz(n);
}

struct kd_subtree {
    trg_u32 node;  /* index of its root in the tree */
    trg_u32 begin; /* its first position in order */
    trg_u32 size;  /* its nodes; may be 0 on the last level */
    trg_u32 left;  /* those of its left subtree; the root is at begin + left */
};

/* Subtree j of those below depth l, from the left, of a tree of n nodes; l < kd_levels(n). */
TRG_FN struct kd_subtree kd_subtree(trg_u32 n, trg_u32 l, trg_u32 j)
{
    const trg_u32 h = kd_levels(n);
    const trg_u32 last = n - ((1u << (h - 1u)) - 1u); /* nodes on the last level */
    const trg_u32 width = 1u << (h - 1u - l);         /* places of a subtree on the last level */
    const trg_u32 before = j * width < last ? j * width : last;
    const trg_u32 here = last - before < width ? last - before : width;
    const trg_u32 wing = width >> 1;
    struct kd_subtree s;

    s.node = (1u << l) - 1u + j;
    s.begin = j * width + before;
    s.size = width - 1u + here;
    s.left = wing ? wing - 1u + (here < wing ? here : wing) : 0u;
    return s;
}

/* Which subtree below depth l position p is in, or the one before it where p holds an ancestor. */
TRG_FN trg_u32 kd_subtree_at(trg_u32 n, trg_u32 l, trg_u32 p)
{
    const trg_u32 h = kd_levels(n);
    const trg_u32 last = n - ((1u << (h - 1u)) - 1u);
    const trg_u32 shift = h - 1u - l;
    const trg_u32 full = last >> shift; /* subtrees whose last level is full */

    if (p < ((full + 1u) << shift) + last) {
        const trg_u32 j = p >> (shift + 1u);

        return j < full ? j : full;
    }
    return (p - last) >> shift;
}

/* How many points lie in left subtrees of the subtrees below depth l before subtree j. */
TRG_FN trg_u32 kd_lefts_before(trg_u32 n, trg_u32 l, trg_u32 j)
{
    const trg_u32 h = kd_levels(n);
    const trg_u32 last = n - ((1u << (h - 1u)) - 1u);
    const trg_u32 shift = h - 1u - l, wing = (1u << shift) >> 1;
    const trg_u32 full = last >> shift, rest = last - (full << shift);

    if (!wing)
        return 0u;
    return j * (wing - 1u) + (j <= full ? j * wing : full * wing + (rest < wing ? rest : wing));
}
#endif
