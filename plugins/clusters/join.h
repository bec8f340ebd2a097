/* SPDX-License-Identifier: Apache-2.0 */
/* join.h - sets of nodes that touch, by union-find: a node points to a smaller one of its set, the
 * smallest to itself.  Work-items of a group join at once by compare-and-swap; which nodes are
 * joined does not depend on the order.  Also where an RoI's clusters go among those of the batch.
 */
#ifndef CLUSTERS_JOIN_H
#define CLUSTERS_JOIN_H
#include "trigd/common/group.h"

/* Atomics within a group.  On the CPU it is one work-item, and its memory is nobody else's. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define CL_ADD(p, v)      TRG_ATOMIC_ADD_GLOBAL((p), (v))
#define CL_OR(p, v)       TRG_ATOMIC_OR_GLOBAL((p), (v))
#define CL_CAS(p, old, v) TRG_ATOMIC_CAS_GLOBAL((p), (old), (v))
#else
#define CL_ADD(p, v)      (*(p) += (v))
#define CL_OR(p, v)       (*(p) |= (v))
#define CL_CAS(p, old, v) (*(p) == (old) ? (*(p) = (v), (old)) : *(p))
#endif

TRG_FN trg_u32 cl_find(TRG_GLOBAL const trg_u32 *parent, trg_u32 node)
{
    trg_u32 up = parent[node];

    while (up != node) {
        node = up;
        up = parent[node];
    }
    return node;
}

/* Joins the sets of two nodes; 1: they were two, 0: one. */
TRG_FN trg_u32 cl_join(TRG_GLOBAL trg_u32 *parent, trg_u32 a, trg_u32 b)
{
    a = cl_find(parent, a);
    b = cl_find(parent, b);
    while (a != b) {
        const trg_u32 high = a > b ? a : b, low = a > b ? b : a;
        const trg_u32 was = CL_CAS(&parent[high], high, low);

        if (was == high)
            return 1u;
        a = cl_find(parent, was); /* somebody else joined it */
        b = cl_find(parent, low);
    }
    return 0u;
}

/* The first place from `from` on whose key is not below `wanted`, or n.  Keys ascend.  Searches
 * from nearby outwards, so that following wanted keys in order costs a step each. */
TRG_FN trg_u32 cl_seek(TRG_GLOBAL const trg_u32 *key, trg_u32 from, trg_u32 n, trg_u32 wanted)
{
    trg_u32 step = 1u, low = from;

    while (low + step <= n && key[low + step - 1u] < wanted) {
        low += step;
        step *= 2u;
    }
    while (step > 1u) {
        step /= 2u;
        if (low + step <= n && key[low + step - 1u] < wanted)
            low += step;
    }
    return low;
}

/* ---------------------------------------------------------------- places in the batch */

enum cl_count { CL_N_CLUSTERS, CL_N_PIXELS, CL_N_BAD, CL_N_TOUCH, CL_DISORDER, CL_ROI, CL_COUNTS };

/* The RoI that this group works on, with all counts 0: RoIs are dealt out in their order, so that
 * whoever waits for an RoI before its own waits for a group that runs.  `count`: shared memory. */
TRG_GROUP_FN trg_u32 cl_next_roi(TRG_LOCAL trg_u32 *count, TRG_GLOBAL trg_u32 *state)
{
    if (TRG_LID == 0u) {
        for (trg_u32 i = 0u; i < CL_ROI; i++)
            count[i] = 0u;
        count[CL_ROI] = TRG_ATOMIC_ADD_GLOBAL(&state[0], 1u);
    }
    TRG_BARRIER();
    return count[CL_ROI];
}

/* Tells the other groups how many clusters this RoI has. */
TRG_FN void cl_publish(TRG_GLOBAL trg_u32 *state, trg_u32 roi, trg_u32 n)
{
    if (TRG_LID == 0u)
        TRG_ATOMIC_ADD_GLOBAL(&state[CL_STATE_COUNTS + roi], n + 1u);
}

/* A word of the state, as soon as it is known. */
TRG_FN trg_u32 cl_wait(TRG_GLOBAL trg_u32 *word)
{
    trg_u32 n = 0u;

#if defined(__CUDACC__)
    /* reads, with pauses: hundreds of groups wait at a time, and others need the second cache */
    while ((n = *(volatile trg_u32 *)word) == 0u)
        __nanosleep(200);
#else
    while (n == 0u)
        n = TRG_ATOMIC_OR_GLOBAL(word, 0u);
#endif
    return n - 1u;
}

/* The clusters of all RoIs before this one, for every work-item: those of its own block of RoIs one
 * by one, those of all blocks before together.  The last of a block, which has `n`, tells the next
 * block. */
TRG_GROUP_FN trg_u32 cl_before(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL trg_u32 *state, trg_u32 roi,
                               trg_u32 n_rois, trg_u32 n)
{
    TRG_GLOBAL trg_u32 *blocks = state + CL_STATE_COUNTS + n_rois;
    const trg_u32 block = roi / CL_BLOCK;
    trg_u32 sum = 0u;

    for (trg_u32 i = block * CL_BLOCK + TRG_LID; i < roi; i += TRG_LSIZE)
        sum += cl_wait(&state[CL_STATE_COUNTS + i]);
    if (block && TRG_LID == 0u)
        sum += cl_wait(&blocks[block - 1u]);
    sum = trg_group_sum(scratch, sum);
    if (TRG_LID == 0u && roi % CL_BLOCK == CL_BLOCK - 1u)
        TRG_ATOMIC_ADD_GLOBAL(&blocks[block], sum + n + 1u);
    return sum;
}
/* Where the hits of the RoI begin, and behind the last one where they end. */
TRG_FN void cl_write_offsets(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 roi,
                             trg_u32 n_rois, trg_u32 base, trg_u32 n)
{
    TRG_GLOBAL trg_u32 *offsets = (TRG_GLOBAL trg_u32 *)(out + span.offsets);

    if (TRG_LID)
        return;
    offsets[roi] = base;
    if (roi + 1u == n_rois)
        offsets[n_rois] = base + n;
}

TRG_FN void cl_write_summary(TRG_GLOBAL struct cl_summary *summaries,
                             TRG_LOCAL const trg_u32 *count, trg_u32 roi, trg_u32 n_items)
{
    if (TRG_LID)
        return;
    summaries[roi].n_items = n_items;
    summaries[roi].n_bad = count[CL_N_BAD];
    summaries[roi].n_clusters = count[CL_N_CLUSTERS];
    summaries[roi].n_pixels = count[CL_N_PIXELS];
}
#endif
