/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_tracks.h - which roads are tracks. */
#ifndef HOUGH_TRIPLET_TRACKS_H
#define HOUGH_TRIPLET_TRACKS_H
#include "compete.h"
#include "triplet_search.h"

TRG_FN struct hg_point ht_point(const struct hg_input in, const struct hg_par par,
                                const struct ht_view v, trg_u32 at)
{
    return hg_point_at(in, par, in.first + ht_item(v, at));
}

/* A road of three free hits claims them if they are a track; the better, the lower
 * its key. */
TRG_FN void ht_apply(const struct ht_view v, const struct hg_input in, const struct hg_par par,
                     TRG_GLOBAL struct ht_road *to)
{
    const struct ht_road r = *to;
    const struct hg_point a = ht_point(in, par, v, r.first[2]),
                          b = ht_point(in, par, v, r.first[1]);
    const struct hg_point c = ht_point(in, par, v, r.first[0]);
    trg_u32 key;

    if (ht_is_robbed(v, &r) || !hg_are_track(par, a, b, c) || hg_is_chance3(in, par, a, b, c)) {
        to->n = 0u;
        return;
    }
    key = (trg_u32)(hg_chi2_of(par, a, b, c) / par.chi2_3_max * 2047.0f) << HT_ITEM_BITS | r.item;
    to->key = key;
    for (trg_u32 k = 0; k < 3u; k++)
        HT_MIN(&v.claim[r.first[k]], key);
}

/* Ends a road of four hits that are on it by chance, and sets them free. */
TRG_FN void ht_end_chance(const struct ht_view v, const struct hg_input in, const struct hg_par par,
                          TRG_GLOBAL struct ht_road *r)
{
    if (!hg_is_chance4(in, par, ht_point(in, par, v, r->last), ht_point(in, par, v, r->first[2]),
                       ht_point(in, par, v, r->first[1]), ht_point(in, par, v, r->first[0])))
        return;
    r->n = 0u;
    v.taken[ht_taken_at(v, r->last)] = 0u;
    for (trg_u32 k = 0; k < 3u; k++)
        v.taken[ht_taken_at(v, r->first[k])] = 0u;
}

TRG_FN trg_u32 ht_is_track(const struct ht_view v, const struct hg_par par,
                           TRG_GLOBAL const struct ht_road *r)
{
    return r->n >= par.min_hits &&
           (r->n > 3u || (v.claim[r->first[0]] == r->key && v.claim[r->first[1]] == r->key &&
                          v.claim[r->first[2]] == r->key));
}

/* Keeps a road as a track of this number, its hits along z by their items in the batch. */
TRG_FN void ht_keep(const struct ht_view v, TRG_GLOBAL const struct ht_road *r, trg_u32 first,
                    trg_u32 number, TRG_GLOBAL struct hg_cand *track)
{
    trg_u32 at = r->last, k = 0u;

    for (; k + 3u < r->n; k++) {
        track->hit[k] = first + ht_item(v, at);
        at = v.link[at];
    }
    for (trg_u32 j = 0; j < 3u; j++) {
        track->hit[k + j] = first + ht_item(v, r->first[2u - j]);
        v.taken[ht_taken_at(v, r->first[2u - j])] = 1u;
    }
    track->n = r->n;
    v.head[track->hit[0] - first] = number << HT_LENGTH_BITS | r->n;
}

struct ht_kept { /* tracks of an RoI, and their counts in shared memory */
    TRG_GLOBAL struct hg_cand *track;
    TRG_LOCAL trg_u32 *n, *n_on;
};
#endif
