/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of any size, a group each: points are sorted once by each dimension, then made to levels.
 */
#include "kdbuild.h"
#include "blocks.h"
#include "layout.h"
#include "levels.h"
#include "trigd/common/group.h"
#include "trigd/kernel.h"

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "kdbuild_host.h"
#endif

/* Tree t = TRG_GID of a forest: the trees[2 t + 1] points from trees[2 t] on become the nodes at
 * the same places. */
TRG_KERNEL7(kd_build_trees, (const trg_u32, trees), (const float, points), (float, nodes),
            (trg_u32, ids), (trg_u32, orders), (trg_u32, keys), (trg_u32, side),
            (struct kd_build_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SORT_SCRATCH];
    const trg_u32 base = trees[2u * TRG_GID], n = trees[2u * TRG_GID + 1u];
    struct kd_arrays a;

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    if (par.by_hand) {
        kd_host_build(points + par.at + base, &par, base, n, nodes + base, ids + base,
                      orders + 2u * par.k * (size_t)base);
        return;
    }
#endif
    a.points = points + par.at + base;
    a.nodes = nodes + base;
    a.ids = ids + base;
    a.orders = orders + base;
    a.side = side + base;
    a.base = base;
    for (trg_u32 d = 0u; d < par.k; d++) {
        TRG_GLOBAL trg_u32 *order = kd_order(a, par, 0u, d);

        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
            keys[base + i] = kd_key(a.points[d * par.room + i]);
            order[i] = base + i;
        }
        trg_group_sort(scratch, keys + base, order, keys + par.room + base,
                       kd_order(a, par, 0xffffffffu, d), n);
    }
    if (n > 0u)
        kd_levels_of(scratch, a, par, n, 0u, 0u, 0u);
}

/* Group t: the blocks of tree t, once it is built; part `which` of `parts`. */
TRG_KERNEL4(kd_make_blocks, (const trg_u32, trees), (const float, nodes), (const trg_u32, ids),
            (float, blocks), (struct kd_build_par, par))
{
    const trg_u32 base = trees[2u * TRG_GID], n = trees[2u * TRG_GID + 1u];
    const trg_u32 words = (par.k + 1u) * KD_BLOCK;
    TRG_GLOBAL float *block = blocks + kd_blocks_at(par.k, base, TRG_GID);
    const trg_u32 each = (kd_blocks(n) + par.parts - 1u) / par.parts, first = par.which * each;
    const trg_u32 end = first + each < kd_blocks(n) ? first + each : kd_blocks(n);

    for (trg_u32 i = first * KD_BLOCK + TRG_LID; i < end * KD_BLOCK; i += TRG_LSIZE) {
        const trg_u32 node = kd_block_node(n, i / KD_BLOCK, i % KD_BLOCK);
        const trg_u32 at = i / KD_BLOCK * words + i % KD_BLOCK;

        for (trg_u32 d = 0u; d < par.k; d++)
            block[at + d * KD_BLOCK] =
                node < n ? nodes[d * par.room + base + node] : trg_as_f32(0x7fc00000u);
        block[at + par.k * KD_BLOCK] = trg_as_f32(node < n ? ids[base + node] : 0u);
    }
}
