/* SPDX-License-Identifier: Apache-2.0 */
/* Each primitive of trigd/common/group.h as a kernel: a group works on its own part of the
 * arrays. */
#include "trigd/common/group.h"
#include "group.h"
#include "trigd/kernel.h"

/* Every work-item scans one value, tile by tile; the same scratch is used again at once. */
TRG_KERNEL3(group_scan_values, (const trg_u32, in), (trg_u32, out), (trg_u32, totals),
            (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL const trg_u32 *a = in + TRG_GID * par.room;
    trg_u32 sum = 0u;

    for (trg_u32 at = 0u; at < par.n; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID;
        trg_u32 total;
        const trg_u32 before = trg_group_scan(scratch, i < par.n ? a[i] : 0u, &total);

        if (i < par.n)
            out[TRG_GID * par.room + i] = sum + before;
        sum += total;
    }
    if (TRG_LID == TRG_LSIZE - 1u)
        totals[TRG_GID] = sum;
}

TRG_KERNEL2(group_scan_array, (trg_u32, a), (trg_u32, totals), (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 total = trg_group_scan_global(scratch, a + TRG_GID * par.room, par.n);

    if (TRG_LID == TRG_LSIZE - 1u)
        totals[TRG_GID] = total;
}

/* ret: sum, smallest, largest, OR of a group's words */
TRG_KERNEL2(group_reduce, (const trg_u32, in), (trg_u32, ret), (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL const trg_u32 *a = in + TRG_GID * par.room;
    trg_u32 sum = 0u, least = 0xffffffffu, most = 0u, bits = 0u;

    for (trg_u32 i = TRG_LID; i < par.n; i += TRG_LSIZE) {
        sum += a[i];
        least = a[i] < least ? a[i] : least;
        most = a[i] > most ? a[i] : most;
        bits |= a[i];
    }
    sum = trg_group_sum(scratch, sum);
    least = trg_group_min(scratch, least);
    most = trg_group_max(scratch, most);
    bits = trg_group_or(scratch, bits);
    if (TRG_LID == TRG_LSIZE - 1u) {
        ret[4u * TRG_GID] = sum;
        ret[4u * TRG_GID + 1u] = least;
        ret[4u * TRG_GID + 2u] = most;
        ret[4u * TRG_GID + 3u] = bits;
    }
}

/* Indices of odd words, through flags. */
TRG_KERNEL4(group_compact, (const trg_u32, in), (trg_u32, flags), (trg_u32, out), (trg_u32, totals),
            (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 at = TRG_GID * par.room;
    trg_u32 n;

    for (trg_u32 i = TRG_LID; i < par.n; i += TRG_LSIZE)
        flags[at + i] = in[at + i] & 1u;
    n = trg_group_compact(scratch, flags + at, par.n, out + at);
    if (TRG_LID == TRG_LSIZE - 1u)
        totals[TRG_GID] = n;
}

TRG_KERNEL4(group_pass, (const trg_u32, key), (const trg_u32, value), (trg_u32, key_to),
            (trg_u32, value_to), (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SORT_SCRATCH];
    const trg_u32 at = TRG_GID * par.room;

    trg_group_radix_pass(scratch, key + at, value + at, par.n, par.shift, key_to + at,
                         value_to + at);
}

TRG_KERNEL4(group_sort, (trg_u32, key), (trg_u32, value), (trg_u32, key2), (trg_u32, value2),
            (struct group_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SORT_SCRATCH];
    const trg_u32 at = TRG_GID * par.room;

    trg_group_sort(scratch, key + at, value + at, key2 + at, value2 + at, par.n);
}
