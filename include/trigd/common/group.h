/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/group.h - what kernels in the dialect of trigd/kernel.h do together within a group:
 * scan, reduction, compaction, stable radix sort.
 *
 *     TRG_KERNEL2(pick, (const trg_u32, in), (trg_u32, out), (struct pick_par, par))
 *     {
 *         TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
 *         trg_u32 n = 0;
 *
 *         for (trg_u32 at = 0; at < par.n; at += TRG_LSIZE) {          (same for all work-items)
 *             trg_u32 i = at + TRG_LID, keep = i < par.n && in[i] > par.cut;
 *             trg_u32 place = trg_group_place(scratch, keep, &n);
 *
 *             if (keep)
 *                 out[place] = in[i];
 *         }
 *     }
 *
 * Rules, for all of them:
 * - Every work-item of the group calls them, with the same n, or none does: there are barriers in
 * them.
 * - Groups of 1 to TRG_GROUP_MAX work-items, of any number; one work-item is the CPU's case, in
 * which all of it becomes plain loops.
 * - `scratch` is TRG_SHARED memory of the words that the function names; the same scratch may be
 * used by the next call at once.  It holds nothing before or after a call.
 * - What the group wrote to its arrays before a call is seen in it, and what a call writes is seen
 * by the whole group after it.
 * - Functions of your own that call them are TRG_GROUP_FN instead of TRG_FN.
 * - Sums are modulo 2^32.  Results do not depend on the size of the group.
 *
 * In CUDA, warps vote and shuffle inside these functions; the other builds use shared memory. */
#ifndef TRG_COMMON_GROUP_H
#define TRG_COMMON_GROUP_H
#include "trigd/common/version.h"
#include "trigd/kernel.h"

/* For functions that call these: like TRG_FN, but inlined before anything else is done to them,
 * without which LLVM 15 (PoCL 3.1) may crash where barriers are in nested loops. */
#if defined(__OPENCL_VERSION__)
#define TRG_GROUP_FN static inline __attribute__((always_inline))
#else
#define TRG_GROUP_FN TRG_FN
#endif

#define TRG_GROUP_MAX    1024u /* work-items of a group */
#define TRG_GROUP_PARTS_ 32u   /* work-items that add up, of a large group */
/* Words for all but sorting; in CUDA one for each warp. */
#if defined(__CUDACC__)
#define TRG_GROUP_SCRATCH (TRG_GROUP_MAX / 32u)
#else
#define TRG_GROUP_SCRATCH (TRG_GROUP_MAX + TRG_GROUP_PARTS_ + 1u)
#endif
#define TRG_GROUP_SCAN_SCRATCH TRG_GROUP_SCRATCH

#define TRG_GROUP_DIGIT_BITS   4u /* of a radix pass */
#define TRG_GROUP_DIGITS       (1u << TRG_GROUP_DIGIT_BITS)
#define TRG_GROUP_SORTERS_MAX_ 64u /* work-items, or warps, that count and scatter */
#define TRG_GROUP_COUNTS_      (TRG_GROUP_DIGITS * TRG_GROUP_SORTERS_MAX_)
#define TRG_GROUP_SORT_SCRATCH (TRG_GROUP_COUNTS_ + TRG_GROUP_SCRATCH) /* words for sorting */

/* ---------------------------------------------------------------- one value per work-item */

#if defined(__CUDACC__)
/* The work-items of this warp that exist: the last warp of a group may be short. */
TRG_GROUP_FN trg_u32 trg_warp_mask_(void)
{
    const trg_u32 n = TRG_LSIZE - (TRG_LID & ~31u);

    return n < 32u ? (1u << n) - 1u : 0xffffffffu;
}

TRG_GROUP_FN trg_u32 trg_warp_scan_(trg_u32 mask, trg_u32 lane, trg_u32 value)
{
    for (trg_u32 step = 1u; step < 32u; step <<= 1) {
        const trg_u32 other = __shfl_up_sync(mask, value, step);

        if (lane >= step)
            value += other;
    }
    return value;
}

/* Of a full warp whose lanes have items numbered one behind the other, up to `end` of each: the
 * lane that has item p; the last one behind all. */
TRG_GROUP_FN trg_u32 trg_warp_owner_(trg_u32 end, trg_u32 p)
{
    trg_u32 owner = 0u;

    for (trg_u32 step = 16u; step; step /= 2u)
        owner += p >= __shfl_sync(0xffffffffu, end, owner + step - 1u) ? step : 0u;
    return owner;
}
#endif

/* Exclusive sum of `value` over the work-items before this one; the sum of all goes to `ret_total`.
 * TRG_GROUP_SCRATCH words. */
TRG_GROUP_FN trg_u32 trg_group_scan(TRG_LOCAL trg_u32 *scratch, trg_u32 value, trg_u32 *ret_total)
{
#if defined(__CUDACC__)
    const trg_u32 lane = TRG_LID & 31u, warp = TRG_LID >> 5, warps = (TRG_LSIZE + 31u) >> 5;
    const trg_u32 mask = trg_warp_mask_();
    const trg_u32 sum = trg_warp_scan_(mask, lane, value);

    TRG_BARRIER();
    if (lane == (trg_u32)__popc(mask) - 1u)
        scratch[warp] = sum;
    TRG_BARRIER();
    if (warp == 0u) {
        const trg_u32 all = trg_warp_scan_(mask, lane, lane < warps ? scratch[lane] : 0u);

        if (lane < warps)
            scratch[lane] = all;
    }
    TRG_BARRIER();
    *ret_total = scratch[warps - 1u];
    return (warp ? scratch[warp - 1u] : 0u) + sum - value;
#elif defined(__OPENCL_VERSION__)
    const trg_u32 chunk = (TRG_LSIZE + TRG_GROUP_PARTS_ - 1u) / TRG_GROUP_PARTS_;
    const trg_u32 from = TRG_LID * chunk;
    const trg_u32 to = from + chunk < TRG_LSIZE ? from + chunk : TRG_LSIZE;
    TRG_LOCAL trg_u32 *part = scratch + TRG_GROUP_MAX;
    trg_u32 sum = 0u;

    TRG_BARRIER();
    scratch[TRG_LID] = value;
    TRG_BARRIER();
    if (TRG_LID < TRG_GROUP_PARTS_) {
        for (trg_u32 i = from; i < to; i++)
            sum += scratch[i];
        part[TRG_LID] = sum;
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        const trg_u32 n = TRG_LSIZE < TRG_GROUP_PARTS_ ? TRG_LSIZE : TRG_GROUP_PARTS_;

        sum = 0u;
        for (trg_u32 i = 0u; i < n; i++) {
            const trg_u32 here = part[i];

            part[i] = sum;
            sum += here;
        }
        part[TRG_GROUP_PARTS_] = sum;
    }
    TRG_BARRIER();
    if (TRG_LID < TRG_GROUP_PARTS_) {
        sum = part[TRG_LID];
        for (trg_u32 i = from; i < to; i++) {
            const trg_u32 here = scratch[i];

            scratch[i] = sum;
            sum += here;
        }
    }
    TRG_BARRIER();
    *ret_total = part[TRG_GROUP_PARTS_];
    return scratch[TRG_LID];
#else
    (void)scratch;
    *ret_total = value;
    return 0u;
#endif
}

/* The sum, smallest, largest, or bitwise OR of `value` over the group, for every work-item.
 * TRG_GROUP_SCRATCH words. */
#if defined(__CUDACC__) || defined(__OPENCL_VERSION__)
#define TRG_GROUP_REDUCE_(name, ATOMIC, first)                           \
    TRG_GROUP_FN trg_u32 name(TRG_LOCAL trg_u32 *scratch, trg_u32 value) \
    {                                                                    \
        TRG_BARRIER();                                                   \
        if (TRG_LID == 0u)                                               \
            scratch[0] = (first);                                        \
        TRG_BARRIER();                                                   \
        ATOMIC(&scratch[0], value);                                      \
        TRG_BARRIER();                                                   \
        return scratch[0];                                               \
    }
#else
#define TRG_GROUP_REDUCE_(name, ATOMIC, first)                           \
    TRG_GROUP_FN trg_u32 name(TRG_LOCAL trg_u32 *scratch, trg_u32 value) \
    {                                                                    \
        (void)scratch;                                                   \
        return value;                                                    \
    }
#endif
TRG_GROUP_REDUCE_(trg_group_sum, TRG_ATOMIC_ADD_LOCAL, 0u)
TRG_GROUP_REDUCE_(trg_group_min, TRG_ATOMIC_MIN_LOCAL, 0xffffffffu)
TRG_GROUP_REDUCE_(trg_group_max, TRG_ATOMIC_MAX_LOCAL, 0u)
TRG_GROUP_REDUCE_(trg_group_or, TRG_ATOMIC_OR_LOCAL, 0u)

/* Stream compaction: where the item of this work-item goes if `keep` is 1 (it is 0 or 1), in the
 * order of work-items and behind the `*count` that were kept in earlier calls; `*count` then counts
 * these too.  It starts at 0 and is the same in all work-items.  TRG_GROUP_SCRATCH words. */
TRG_GROUP_FN trg_u32 trg_group_place(TRG_LOCAL trg_u32 *scratch, trg_u32 keep, trg_u32 *count)
{
    trg_u32 total;
    const trg_u32 place = *count + trg_group_scan(scratch, keep, &total);

    *count += total;
    return place;
}

/* ---------------------------------------------------------------- arrays */

/* Replaces a[0 .. n) by its exclusive sums and returns the sum of all, to every work-item.
 * TRG_GROUP_SCRATCH words. */
#define TRG_GROUP_SCAN_ARRAY_(name, SPACE)                                             \
    TRG_GROUP_FN trg_u32 name(TRG_LOCAL trg_u32 *scratch, SPACE trg_u32 *a, trg_u32 n) \
    {                                                                                  \
        trg_u32 sum = 0u;                                                              \
        TRG_BARRIER();                                                                 \
        for (trg_u32 at = 0u; at < n; at += TRG_LSIZE) {                               \
            const trg_u32 i = at + TRG_LID;                                            \
            const trg_u32 value = i < n ? a[i] : 0u;                                   \
            trg_u32 total;                                                             \
            const trg_u32 before = trg_group_scan(scratch, value, &total);             \
            if (i < n)                                                                 \
                a[i] = sum + before;                                                   \
            sum += total;                                                              \
        }                                                                              \
        TRG_BARRIER();                                                                 \
        return sum;                                                                    \
    }
TRG_GROUP_SCAN_ARRAY_(trg_group_scan_global, TRG_GLOBAL)
#if defined(__OPENCL_VERSION__)
TRG_GROUP_SCAN_ARRAY_(trg_group_scan_local, TRG_LOCAL)
#else
#define trg_group_scan_local trg_group_scan_global
#endif

/* Writes the indices i with flag[i] != 0, ascending, to `ret_index` and returns how many there are,
 * to every work-item.  TRG_GROUP_SCRATCH words. */
TRG_GROUP_FN trg_u32 trg_group_compact(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u32 *flag,
                                       trg_u32 n, TRG_GLOBAL trg_u32 *ret_index)
{
    trg_u32 count = 0u;

    TRG_BARRIER();
    for (trg_u32 at = 0u; at < n; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID;
        const trg_u32 keep = i < n && flag[i] ? 1u : 0u;
        const trg_u32 place = trg_group_place(scratch, keep, &count);

        if (keep)
            ret_index[place] = i;
    }
    TRG_BARRIER();
    return count;
}

/* ---------------------------------------------------------------- sorting */

#if defined(__CUDACC__)
/* A warp is one sorter: its stretch is [from, to), in steps of as many pairs as it has work-items.
 */
#define TRG_GROUP_SORTER_  (TRG_LID >> 5)
#define TRG_GROUP_SORTERS_ ((TRG_LSIZE + 31u) >> 5)
#else
#define TRG_GROUP_SORTER_  TRG_LID
#define TRG_GROUP_SORTERS_ (TRG_LSIZE < TRG_GROUP_SORTERS_MAX_ ? TRG_LSIZE : TRG_GROUP_SORTERS_MAX_)
#endif

TRG_GROUP_FN trg_u32 trg_radix_from_(trg_u32 n)
{
    const trg_u32 chunk = (n + TRG_GROUP_SORTERS_ - 1u) / TRG_GROUP_SORTERS_;
    const trg_u32 from = TRG_GROUP_SORTER_ * chunk;

    return TRG_GROUP_SORTER_ < TRG_GROUP_SORTERS_ && from < n ? from : n;
}

TRG_GROUP_FN trg_u32 trg_radix_to_(trg_u32 n)
{
    const trg_u32 chunk = (n + TRG_GROUP_SORTERS_ - 1u) / TRG_GROUP_SORTERS_;
    const trg_u32 from = trg_radix_from_(n);

    return from + chunk < n ? from + chunk : n;
}

/* Where each sorter's pairs of each digit go among n: count[digit * sorters + sorter]. */
TRG_GROUP_FN void trg_radix_count_(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u32 *key,
                                   trg_u32 n, trg_u32 shift)
{
    TRG_LOCAL trg_u32 *count = scratch + TRG_GROUP_SCRATCH;

    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < TRG_GROUP_DIGITS * TRG_GROUP_SORTERS_; i += TRG_LSIZE)
        count[i] = 0u;
    TRG_BARRIER();
#if defined(__CUDACC__)
    for (trg_u32 i = trg_radix_from_(n) + (TRG_LID & 31u); i < trg_radix_to_(n);
         i += (trg_u32)__popc(trg_warp_mask_()))
        atomicAdd(&count[(key[i] >> shift & (TRG_GROUP_DIGITS - 1u)) * TRG_GROUP_SORTERS_ +
                         TRG_GROUP_SORTER_],
                  1u);
#else
    for (trg_u32 i = trg_radix_from_(n); i < trg_radix_to_(n); i++)
        count[(key[i] >> shift & (TRG_GROUP_DIGITS - 1u)) * TRG_GROUP_SORTERS_ + TRG_LID]++;
#endif
    trg_group_scan_local(scratch, count, TRG_GROUP_DIGITS * TRG_GROUP_SORTERS_);
}

TRG_GROUP_FN void trg_radix_scatter_(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u32 *key,
                                     TRG_GLOBAL const trg_u32 *value, trg_u32 n, trg_u32 shift,
                                     TRG_GLOBAL trg_u32 *key_to, TRG_GLOBAL trg_u32 *value_to)
{
    TRG_LOCAL trg_u32 *count = scratch + TRG_GROUP_SCRATCH + TRG_GROUP_SORTER_;
#if defined(__CUDACC__)
    const trg_u32 mask = trg_warp_mask_(), width = (trg_u32)__popc(mask), lane = TRG_LID & 31u;
    const trg_u32 to = trg_radix_to_(n);

    for (trg_u32 at = trg_radix_from_(n); at < to; at += width) {
        const trg_u32 i = at + lane;
        const trg_u32 k = i < to ? key[i] : 0u;
        /* a digit of its own for work-items past the end */
        const trg_u32 digit = i < to ? k >> shift & (TRG_GROUP_DIGITS - 1u) : TRG_GROUP_DIGITS;
        const trg_u32 peers = __match_any_sync(mask, digit);
        const trg_u32 before = (trg_u32)__popc(peers & ((1u << lane) - 1u));

        if (i < to) {
            const trg_u32 place = count[digit * TRG_GROUP_SORTERS_] + before;

            key_to[place] = k;
            value_to[place] = value[i];
        }
        __syncwarp(mask);
        if (i < to && before == 0u)
            count[digit * TRG_GROUP_SORTERS_] += (trg_u32)__popc(peers);
        __syncwarp(mask);
    }
#else
    const trg_u32 to = trg_radix_to_(n);

    for (trg_u32 i = trg_radix_from_(n); i < to; i++) {
        const trg_u32 k = key[i];
        const trg_u32 digit = k >> shift & (TRG_GROUP_DIGITS - 1u);
        const trg_u32 place = count[digit * TRG_GROUP_SORTERS_]++;

        key_to[place] = k;
        value_to[place] = value[i];
    }
#endif
    TRG_BARRIER();
}

/* One pass of a radix sort of pairs by the 4 bits of the keys at `shift`, stable: pairs of the same
 * digit keep their order.  From key, value to key_to, value_to, [n] each, other arrays.  A group of
 * more than 64 work-items counts with 64 (in CUDA, with its warps), each over a stretch of its own.
 * TRG_GROUP_SORT_SCRATCH words. */
TRG_GROUP_FN void trg_group_radix_pass(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u32 *key,
                                       TRG_GLOBAL const trg_u32 *value, trg_u32 n, trg_u32 shift,
                                       TRG_GLOBAL trg_u32 *key_to, TRG_GLOBAL trg_u32 *value_to)
{
    trg_radix_count_(scratch, key, n, shift);
    trg_radix_scatter_(scratch, key, value, n, shift, key_to, value_to);
}

/* The same for a tile of a larger array that many groups sort together: the tile's pairs of digit d
 * go to base[d * stride] and the places behind it, in their order. */
TRG_GROUP_FN void trg_group_radix_tile(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL const trg_u32 *key,
                                       TRG_GLOBAL const trg_u32 *value, trg_u32 n, trg_u32 shift,
                                       TRG_GLOBAL const trg_u32 *base, trg_u32 stride,
                                       TRG_GLOBAL trg_u32 *key_to, TRG_GLOBAL trg_u32 *value_to)
{
    TRG_LOCAL trg_u32 *count = scratch + TRG_GROUP_SCRATCH;

    trg_radix_count_(scratch, key, n, shift);
    for (trg_u32 d = TRG_LID; d < TRG_GROUP_DIGITS; d += TRG_LSIZE) {
        const trg_u32 move = base[d * stride] - count[d * TRG_GROUP_SORTERS_];

        for (trg_u32 i = 0u; i < TRG_GROUP_SORTERS_; i++)
            count[d * TRG_GROUP_SORTERS_ + i] += move;
    }
    TRG_BARRIER();
    trg_radix_scatter_(scratch, key, value, n, shift, key_to, value_to);
}

/* Sorts pairs by their keys, ascending and stable, in passes over the bits in which keys differ.
 * The result is in key, value; key2, value2 are room for [n] each.  TRG_GROUP_SORT_SCRATCH words.
 */
TRG_GROUP_FN void trg_group_sort(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL trg_u32 *key,
                                 TRG_GLOBAL trg_u32 *value, TRG_GLOBAL trg_u32 *key2,
                                 TRG_GLOBAL trg_u32 *value2, trg_u32 n)
{
    trg_u32 differ = 0u, passes = 0u;

    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        differ |= key[i] ^ key[0];
    differ = trg_group_or(scratch, differ);
    for (trg_u32 shift = 0u; shift < 32u; shift += TRG_GROUP_DIGIT_BITS)
        if (differ >> shift & (TRG_GROUP_DIGITS - 1u)) {
            const trg_u32 back = passes++ & 1u;

            trg_group_radix_pass(scratch, back ? key2 : key, back ? value2 : value, n, shift,
                                 back ? key : key2, back ? value : value2);
        }
    if (passes % 2u == 1u)
        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
            key[i] = key2[i];
            value[i] = value2[i];
        }
    TRG_BARRIER();
}

/* ---------------------------------------------------------------- warps */

#if defined(__CUDACC__)
/* Of a full warp, for each lane: the sum of all values. */
TRG_GROUP_FN trg_u32 trg_warp_sum_(trg_u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    for (trg_u32 step = 16u; step; step /= 2u)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
#endif
}
#endif

#if defined(__CUDACC__)
/* Of a full warp, for each lane: the bitwise OR of all values. */
TRG_GROUP_FN trg_u32 trg_warp_or_(trg_u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffffu, value);
#else
    for (trg_u32 step = 16u; step; step /= 2u)
        value |= __shfl_xor_sync(0xffffffffu, value, step);
    return value;
#endif
}
#endif
#endif
