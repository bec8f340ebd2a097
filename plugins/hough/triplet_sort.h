/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_sort.h - the parts of ht_sort: how many buckets an RoI has, what its hits will cost, and
 * where buckets begin. */
#ifndef HOUGH_TRIPLET_SORT_H
#define HOUGH_TRIPLET_SORT_H
#include "trigd/common/group.h"
#include "triplet_window.h"

TRG_FN void ht_clear_summary(TRG_GLOBAL struct hg_summary *s, trg_u32 n_hits, trg_u32 left_out)
{
    s->n_hits = n_hits;
    s->n_on_tracks = s->n_tracks = s->n_cands = s->n_peaks = s->digest = 0u;
    s->wanted = left_out ? n_hits : 0u;
    s->kept = left_out ? n_hits - left_out : 0u;
}

/* Least power of two with which all stations together have a bucket a hit. */
TRG_FN trg_u32 ht_buckets_for(trg_u32 n_stations, trg_u32 n_hits)
{
    trg_u32 buckets = HT_BUCKETS;

    while (buckets * n_stations < n_hits)
        buckets *= 2u;
    return buckets;
}

/* What the triplets among n hits of one bucket cost.  Hits of collisions are spread over the
 * angles, with about one in a bucket; hits at one angle cost their number to the third power. */
TRG_FN trg_u32 ht_work(trg_u32 n)
{
    const trg_u32 units = n / HT_WORK_UNIT;

    return units > 128u || n * units * units > HT_WORK_MOST ? HT_WORK_MOST : n * units * units;
}

/* Replaces the counts of n buckets by where they begin, and behind them where the last one ends.
 * Returns the work of all. */
TRG_GROUP_FN trg_u32 ht_begin_buckets(TRG_LOCAL trg_u32 *scratch, TRG_GLOBAL trg_u32 *begin,
                                      trg_u32 n)
{
    trg_u32 work = 0u, sum = 0u, all;

    for (trg_u32 at = 0u; at <= n; at += HT_STRETCH * TRG_LSIZE) {
        const trg_u32 from = at + HT_STRETCH * TRG_LID;
        trg_u32 count[HT_STRETCH], mine = 0u, before, total;

        for (trg_u32 k = 0u; k < HT_STRETCH; k++) {
            count[k] = from + k < n ? begin[from + k] : 0u;
            mine += count[k];
            work += ht_work(count[k]);
            work = work < HT_WORK_MOST ? work : HT_WORK_MOST;
        }
        before = sum + trg_group_scan(scratch, mine, &total);
        for (trg_u32 k = 0u; k < HT_STRETCH; k++) {
            if (from + k <= n)
                begin[from + k] = before;
            before += count[k];
        }
        sum += total;
    }
    trg_group_scan(scratch, work, &all);
    return all;
}

TRG_FN void ht_clear_stations(TRG_LOCAL trg_u32 *low, TRG_LOCAL trg_u32 *high)
{
    for (trg_u32 s = TRG_LID; s < HT_STATIONS; s += TRG_LSIZE) {
        low[s] = 0xffffffffu;
        high[s] = 0u;
    }
}

TRG_FN void ht_put(const struct ht_view v, trg_u32 at, float x, float y, float z, trg_u32 id)
{
    struct ht_hit h;

    h.x = x;
    h.y = y;
    h.z = z;
    h.id = id;
    ht_put_hit(v, at, h);
}

/* Widens low .. high to z; most hits have the z of others. */
TRG_FN void ht_widen(TRG_LOCAL trg_u32 *low, TRG_LOCAL trg_u32 *high, float z)
{
    const trg_u32 at = ht_order_of_float(z);

    if (at < *low)
        TRG_ATOMIC_MIN_LOCAL(low, at);
    if (at > *high)
        TRG_ATOMIC_MAX_LOCAL(high, at);
}
#endif
