/* SPDX-License-Identifier: Apache-2.0 */
/* refine.h - from a first line to a candidate: all hits of the window that lie on it, without
 * outliers. */
#ifndef HOUGH_REFINE_H
#define HOUGH_REFINE_H
#include "compete.h"
#include "line.h"

struct hg_range { /* of the sorted columns: two stretches, one behind the other */
    trg_u32 first, n_first, second, n;
};

TRG_FN trg_u32 hg_at(const struct hg_range r, trg_u32 i)
{
    return i < r.n_first ? r.first + i : r.second + i - r.n_first;
}

/* The hits of `span` bins from bin `w` on, around the circle. */
TRG_FN struct hg_range hg_window(TRG_GLOBAL const trg_u32 *start, trg_u32 n_bins, trg_u32 w,
                                 trg_u32 span)
{
    const trg_u32 end = w + span < n_bins ? w + span : n_bins;
    const trg_u32 over = w + span - end < w ? w + span - end : w; /* bins from the beginning */
    struct hg_range r;

    r.first = start[w];
    r.n_first = start[end] - start[w];
    r.second = start[0];
    r.n = r.n_first + start[over] - start[0];
    return r;
}

struct hg_view { /* the sorted columns, and the window that is looked at */
    TRG_GLOBAL const float *x, *y, *z;
    TRG_GLOBAL const trg_u32 *item, *layer;
    struct hg_range in, wide; /* the window; the window and a bin more on both sides */
    trg_u32 n_first_bin;      /* hits of the window's first bin; those of a bin are along layers */
    float cos_axis, sin_axis;
};

struct hg_list { /* hits by their place in the sorted columns, along z; equal z by item */
    trg_u32 n;
    trg_u32 at[HG_TRACK_HITS];
};

TRG_FN trg_u32 hg_comes_before(const struct hg_view v, trg_u32 a, trg_u32 b)
{
    return v.z[a] < v.z[b] || (v.z[a] == v.z[b] && v.item[a] < v.item[b]);
}

TRG_FN void hg_insert(const struct hg_view v, struct hg_list *list, trg_u32 at)
{
    trg_u32 k = list->n++;

    for (; k && hg_comes_before(v, at, list->at[k - 1u]); k--)
        list->at[k] = list->at[k - 1u];
    list->at[k] = at;
}

TRG_FN void hg_remove(struct hg_list *list, trg_u32 k)
{
    list->n--;
    for (; k < list->n; k++)
        list->at[k] = list->at[k + 1u];
}

/* How far a hit at z may be from a line that hits between z_low and z_high define. */
TRG_FN float hg_tolerance(const struct hg_par par, float z, float z_low, float z_high)
{
    const float out = z < z_low ? z_low - z : z > z_high ? z - z_high : 0.0f;
    const float t = par.tol_mm + par.tol_rad * out;

    return t < par.tol_max_mm ? t : par.tol_max_mm;
}

TRG_FN trg_u32 hg_gap(const struct hg_view v, trg_u32 i, trg_u32 j)
{
    return v.layer[i] < v.layer[j] ? v.layer[j] - v.layer[i] : v.layer[i] - v.layer[j];
}

/* Whether the line through two hits is worth a look: on layers as near as those of two neighbours
 * on a track, not too steep, and close to the beam line at a z where there are collisions. */
TRG_FN trg_u32 hg_may_pair(const struct hg_view v, const struct hg_par par, trg_u32 i, trg_u32 j)
{
    const float dz = v.z[j] - v.z[i], dx = v.x[j] - v.x[i], dy = v.y[j] - v.y[i];
    const float cross = v.x[i] * dy - v.y[i] * dx, d2 = dx * dx + dy * dy;

    if (v.layer[i] == v.layer[j] || hg_gap(v, i, j) > par.max_gap || !(dz > 0.0f))
        return 0u;
    if (trg_fabs(dx) > par.slope_max * dz || trg_fabs(dy) > par.slope_max * dz)
        return 0u;
    if (cross * cross > par.ip_max2 * d2)
        return 0u;
    return trg_fabs((v.z[i] - par.grid.z0) * d2 - (v.x[i] * dx + v.y[i] * dy) * dz) <=
           par.z_beam_max * d2;
}

/* Least squares with equal weights.  The z of the line is the mean of the hits'. */
TRG_FN struct hg_line hg_fit(const struct hg_view v, const struct hg_list *list)
{
    float sz = 0.0f, sx = 0.0f, sy = 0.0f, szz = 0.0f, sxz = 0.0f, syz = 0.0f;
    const float inv = 1.0f / (float)list->n;
    struct hg_line l;

    for (trg_u32 k = 0; k < list->n; k++) {
        sz += v.z[list->at[k]];
        sx += v.x[list->at[k]];
        sy += v.y[list->at[k]];
    }
    l.z = sz * inv;
    l.x = sx * inv;
    l.y = sy * inv;
    for (trg_u32 k = 0; k < list->n; k++) {
        const float dz = v.z[list->at[k]] - l.z;

        szz += dz * dz;
        sxz += dz * (v.x[list->at[k]] - l.x);
        syz += dz * (v.y[list->at[k]] - l.y);
    }
    l.tx = szz > 0.0f ? sxz / szz : 0.0f;
    l.ty = szz > 0.0f ? syz / szz : 0.0f;
    return l;
}

/* Takes out the worst hit until all are within `most` of the fitted line. */
TRG_FN struct hg_line hg_drop_outliers(const struct hg_view v, const struct hg_par par,
                                       struct hg_list *list)
{
    for (;;) {
        const struct hg_line l = hg_fit(v, list);
        const float most = list->n > 3u ? par.residual_max_mm : par.residual3_max_mm;
        float worst = most * most;
        trg_u32 which = list->n;

        for (trg_u32 k = 0; k < list->n; k++) {
            const trg_u32 h = list->at[k];
            const float off = hg_off2(l, v.x[h], v.y[h], v.z[h]);

            if (off > worst) {
                worst = off;
                which = k;
            }
        }
        if (which == list->n)
            return l;
        hg_remove(list, which);
        if (list->n < par.min_hits)
            return l;
    }
}

/* Drops what lies behind a gap of more than max_gap layers: the smaller side. */
TRG_FN void hg_cut_gaps(const struct hg_view v, const struct hg_par par, struct hg_list *list)
{
    trg_u32 from = 0u, best_from = 0u, best_n = 0u;

    for (trg_u32 k = 1u; k <= list->n; k++) {
        const trg_u32 a = v.layer[list->at[k - 1u]];
        const trg_u32 b = k < list->n ? v.layer[list->at[k]] : 0xffffffffu;
        const trg_u32 gap = a > b ? a - b : b - a;

        if (k < list->n && gap <= par.max_gap)
            continue;
        if (k - from > best_n) {
            best_n = k - from;
            best_from = from;
        }
        from = k;
    }
    for (trg_u32 k = 0; k < best_n; k++)
        list->at[k] = list->at[best_from + k];
    list->n = best_n;
}

struct hg_road { /* a line that hits between these z define */
    struct hg_line l;
    float z_low, z_high;
};

/* Which of up to 32 hits from place `first` on lie on the line, a bit each: no branch, so that
 * work-items stay side by side and a CPU takes several hits at once. */
TRG_FN trg_u32 hg_near(const struct hg_view v, const struct hg_par par, const struct hg_road road,
                       trg_u32 first, trg_u32 n)
{
    TRG_GLOBAL const float *x = v.x + first, *y = v.y + first, *z = v.z + first;
    trg_u32 mask = 0u;

    for (trg_u32 k = 0; k < n; k++) {
        const float tol = hg_tolerance(par, z[k], road.z_low, road.z_high);

        mask |= (trg_u32)(hg_off2(road.l, x[k], y[k], z[k]) <= tol * tol) << k;
    }
    return mask;
}

/* Takes a hit into the list, or, where its layer has one already, the nearer of the two.  `seen`: a
 * bit for each of the list's layers, of numbers that differ by 32 the same. */
TRG_FN void hg_keep(const struct hg_view v, const struct hg_line l, struct hg_list *list,
                    trg_u32 *seen, trg_u32 i)
{
    const trg_u32 bit = 1u << (v.layer[i] & 31u);
    trg_u32 k = *seen & bit ? 0u : list->n;

    while (k < list->n && v.layer[list->at[k]] != v.layer[i])
        k++;
    if (k < list->n) {
        const trg_u32 h = list->at[k];
        const float off = hg_off2(l, v.x[i], v.y[i], v.z[i]);
        const float other = hg_off2(l, v.x[h], v.y[h], v.z[h]);

        if (off > other || (off == other && v.item[i] > v.item[h]))
            return;
        hg_remove(list, k);
    }
    *seen |= bit;
    if (list->n < HG_TRACK_HITS)
        hg_insert(v, list, i);
}

/* All hits of the window that lie on the line, the nearest of each layer. */
TRG_FN void hg_gather(const struct hg_view v, const struct hg_par par, const struct hg_road road,
                      struct hg_range in, struct hg_list *list)
{
    trg_u32 seen = 0u;

    list->n = 0u;
    for (trg_u32 second = 0u; second < 2u; second++) {
        const trg_u32 end = second ? in.second + in.n - in.n_first : in.first + in.n_first;

        for (trg_u32 first = second ? in.second : in.first; first < end; first += 32u) {
            trg_u32 mask = hg_near(v, par, road, first, end - first < 32u ? end - first : 32u);

            for (; mask; mask &= mask - 1u)
                hg_keep(v, road.l, list, &seen, first + 31u - trg_clz(mask & (0u - mask)));
        }
    }
}

TRG_FN struct hg_point hg_point_of(const struct hg_view v, trg_u32 at)
{
    struct hg_point p;

    p.x = v.x[at];
    p.y = v.y[at];
    p.z = v.z[at];
    p.layer = v.layer[at];
    return p;
}

/* From a first line to the track: gathers hits and fits, twice.  0: not enough hits are left. */
TRG_FN trg_u32 hg_collect(const struct hg_view v, const struct hg_par par,
                          const struct hg_line line, struct hg_list *list)
{
    struct hg_road road;

    road.l = line;
    road.z_low = road.z_high = line.z;
    for (trg_u32 round = 0; round < 3u; round++) {
        if (round) {
            road.z_low = v.z[list->at[0]];
            road.z_high = v.z[list->at[list->n - 1u]];
        }
        hg_gather(v, par, road, round == 2u ? v.wide : v.in, list);
        hg_cut_gaps(v, par, list);
        if (list->n < par.min_hits)
            return 0u;
        road.l = hg_drop_outliers(v, par, list);
        if (list->n < par.min_hits)
            return 0u;
    }
    hg_cut_gaps(v, par, list);
    if (list->n == 3u && !hg_are_track(par, hg_point_of(v, list->at[0]),
                                       hg_point_of(v, list->at[1]), hg_point_of(v, list->at[2])))
        return 0u;
    return list->n >= par.min_hits;
}

/* Keeps a candidate.  Its key: what its hits are worth together, the nearer to the line the more, 1
 * at most each; then its number. */
TRG_FN void hg_store(const struct hg_view v, const struct hg_list *list, const struct hg_cands out,
                     trg_u32 number, const struct hg_par par)
{
    const struct hg_line l = hg_fit(v, list);
    const float most = list->n > 3u ? par.residual_max_mm : par.residual3_max_mm;
    const float unit = (float)(1u << (HG_HIT_BITS - HG_CAND_BITS));
    const float highest = (float)((1u << (32u - HG_CAND_BITS)) - 1u);
    float sum = 0.0f, worth;

    for (trg_u32 k = 0; k < list->n; k++) {
        const trg_u32 h = list->at[k];

        sum += hg_off2(l, v.x[h], v.y[h], v.z[h]);
        hg_set(out, number, HG_HIT + k, v.item[h]);
    }
    worth = ((float)list->n - sum / (most * most)) * unit;
    worth = worth < highest ? worth : highest;
    hg_set(out, number, HG_NOW, list->n);
    hg_set(out, number, HG_FIRST, list->n);
    hg_set(out, number, HG_KEY,
           (trg_u32)(worth > 0.0f ? worth : 0.0f) << HG_CAND_BITS | (HG_CANDS - 1u - number));
}

#endif
