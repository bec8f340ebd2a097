/* SPDX-License-Identifier: Apache-2.0 */
/* band.h - from a peak of the first projection to a first line in space: the hits of the peak's
 * band, and the best of their pairs in both projections. */
#ifndef HOUGH_BAND_H
#define HOUGH_BAND_H
#include "../refine.h"

struct hg_peak { /* a line of the first projection: r = z' c + u s */
    float c, s, r;
};

/* Whether a hit is within `band` epsilons of the line of a peak. */
TRG_FN trg_u32 hg_in_band(const struct hg_view v, const struct hg_par par, trg_u32 at,
                          const struct hg_peak p, float band)
{
    const float z = (v.z[at] - par.grid.z0) * par.grid.inv_z_scale;
    const float u = v.x[at] * v.cos_axis + v.y[at] * v.sin_axis;

    return trg_fabs(z * p.c + u * p.s - p.r) <=
           band * 0.5f * (trg_fabs(u * p.c - z * p.s) * par.grid.d_theta + par.grid.dr);
}

/* The hits near the line of a peak.  Where there are more than a list holds the band is halved
 * until there are not; where that does not help (hits at one place) there are none. */
TRG_FN struct hg_list hg_band(const struct hg_view v, const struct hg_par par,
                              const struct hg_peak p)
{
    float band = par.band;
    struct hg_list list;

    for (trg_u32 again = 0; again < 8u; again++) {
        trg_u32 n = 0u;

        list.n = 0u;
        for (trg_u32 i = 0; i < v.in.n; i++)
            if (hg_in_band(v, par, hg_at(v.in, i), p, band)) {
                if (n < HG_TRACK_HITS)
                    hg_insert(v, &list, hg_at(v.in, i));
                n++;
            }
        if (n <= HG_TRACK_HITS)
            return list;
        band *= 0.5f;
    }
    list.n = 0u;
    return list;
}

struct hg_support { /* of a line */
    trg_u32 n;      /* layers of the list that agree with it */
    trg_u32 mask;   /* which hits of the list, a bit each */
    float sum;      /* how badly they agree */
};

/* Of the line through hits i and j. */
TRG_FN struct hg_support hg_support_of(const struct hg_view v, const struct hg_par par,
                                       const struct hg_list *list, trg_u32 i, trg_u32 j)
{
    const float za = v.z[i], zb = v.z[j];
    const struct hg_line l = hg_through(v.x[i], v.y[i], za, v.x[j], v.y[j], zb);
    trg_u32 last = 0xffffffffu;
    struct hg_support s = {0u, 0u, 0.0f};

    for (trg_u32 k = 0; k < list->n; k++) {
        const trg_u32 h = list->at[k];
        const float tol = hg_tolerance(par, v.z[h], za, zb), tol2 = tol * tol;
        const float off = hg_off2(l, v.x[h], v.y[h], v.z[h]);

        if (off <= tol2) {
            s.n += v.layer[h] != last;
            last = v.layer[h];
            s.sum += off;
            s.mask |= 1u << k;
        }
    }
    return s;
}

/* The line through two hits of the list that most others agree with; among equals the one that they
 * agree with best.  0: none that min_hits agree with. */
TRG_FN trg_u32 hg_best_pair(const struct hg_view v, const struct hg_par par,
                            const struct hg_list *list, struct hg_line *ret_line)
{
    trg_u32 most = par.min_hits - 1u, best_mask = 0u;
    float least = 0.0f;

    for (trg_u32 a = 0; a + 1u < list->n; a++)
        for (trg_u32 b = a + 1u; b < list->n; b++) {
            const trg_u32 i = list->at[a], j = list->at[b];
            struct hg_support s;

            if ((best_mask >> a & 1u) && (best_mask >> b & 1u))
                continue; /* both lie on the best line already */
            if (!hg_may_pair(v, par, i, j))
                continue;
            s = hg_support_of(v, par, list, i, j);
            if (s.n > most || (s.n == most && s.n >= par.min_hits && s.sum < least)) {
                most = s.n;
                least = s.sum;
                best_mask = s.mask;
                *ret_line = hg_through(v.x[i], v.y[i], v.z[i], v.x[j], v.y[j], v.z[j]);
            }
        }
    return most >= par.min_hits;
}
#endif
