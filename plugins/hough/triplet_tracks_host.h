/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_tracks_host.h - tracks of the roads in columns, on a core with AVX-512. */
#ifndef HOUGH_TRIPLET_TRACKS_HOST_H
#define HOUGH_TRIPLET_TRACKS_HOST_H
#include "triplet_roads_host.h"
#include "triplet_tracks.h"

/* Ends those of the roads that are on their hits by chance, and lets those of three hits claim
 * them. */
static inline void ht_judge(const struct ht_view *v, const struct hg_input in,
                            const struct hg_par *par, const struct ht_roads *roads)
{
    for (trg_u32 k = 0; k < roads->n; k++) {
        struct ht_road r;

        if (*ht_road_words(roads, HT_ROAD_WORD(n), k) - 3u > 1u)
            continue;
        r = ht_load_road(roads, k);
        if (r.n == 3u)
            ht_apply(*v, in, *par, &r);
        else
            ht_end_chance(*v, in, *par, &r);
        *ht_road_words(roads, HT_ROAD_WORD(n), k) = r.n;
        *ht_road_words(roads, HT_ROAD_WORD(key), k) = r.key;
    }
}

/* Keeps those of the roads that are tracks. */
static inline void ht_make_tracks(const struct ht_view *v, const struct hg_input in,
                                  const struct hg_par *par, const struct ht_roads *roads,
                                  const struct ht_kept kept)
{
    for (trg_u32 k = 0; k < roads->n; k++) {
        const struct ht_road r = ht_load_road(roads, k);

        if (ht_is_track(*v, *par, &r)) {
            ht_keep(*v, &r, in.first, *kept.n, &kept.track[*kept.n]);
            *kept.n_on += r.n;
            ++*kept.n;
        }
    }
}
#endif
