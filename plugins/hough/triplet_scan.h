/* SPDX-License-Identifier: Apache-2.0 */
/* triplet_scan.h - which hits of a window lie on a line, and which pairs of hits have a third one
 * on theirs.  Of equal hits those with the lower id are taken, so that nothing depends on their
 * order.
 */
#ifndef HOUGH_TRIPLET_SCAN_H
#define HOUGH_TRIPLET_SCAN_H
#include "triplet_window.h"

struct ht_near { /* one for even layers, one for odd ones */
    float off0, off1;
    trg_u32 at0, at1;
};

TRG_FN void ht_keep_nearer(const struct ht_view v, trg_u32 at, float off, struct ht_near *near)
{
    if (ht_layer(v, at) & 1u) {
        if (off < near->off1 ||
            (off == near->off1 && (near->at1 == HT_NONE || ht_id(v, at) < ht_id(v, near->at1)))) {
            near->off1 = off;
            near->at1 = at;
        }
    } else if (off < near->off0 || (off == near->off0 &&
                                    (near->at0 == HT_NONE || ht_id(v, at) < ht_id(v, near->at0)))) {
        near->off0 = off;
        near->at0 = at;
    }
}

struct ht_triplet {
    float share; /* of the tolerance, squared */
    trg_u32 second, third;
};

TRG_FN trg_u32 ht_is_better(const struct ht_view v, const struct ht_triplet *best, float share,
                            trg_u32 second, trg_u32 third)
{
    if (best->second == HT_NONE || share != best->share)
        return share <= best->share;
    if (third != best->third)
        return ht_id(v, third) < ht_id(v, best->third);
    return ht_id(v, second) < ht_id(v, best->second);
}

/* Whether two hits may be on a track: at angles about the beam line that differ by `window` over
 * the distance of the first from it, not too steep, and on a line that is near to the beam where
 * there may be vertices.  dx, dy, dz: from the second to the first. */
TRG_FN trg_u32 ht_may_pair(const struct hg_par par, float window, float dx, float dy, float dz,
                           float x, float y, float z)
{
    const float cross = x * dy - y * dx, cross2 = cross * cross, d2 = dx * dx + dy * dy;
    const float x0 = x + dx, y0 = y + dy, dot = x * x0 + y * y0;

    return dz > 0.0f && dot > 0.0f && trg_fabs(dx) <= par.slope_max * dz &&
           trg_fabs(dy) <= par.slope_max * dz &&
           cross2 * (x0 * x0 + y0 * y0) <= window * window * (dot * dot) &&
           cross2 <= par.ip_max2 * d2 &&
           trg_fabs((z - par.grid.z0) * d2 - (x * dx + y * dy) * dz) <= par.z_beam_max * d2;
}

/* How far a third hit may be from the line of the first two. */
TRG_FN float ht_third_tolerance(const struct ht_par par, float dz)
{
    const float t = par.third_mm + par.third_rad * dz;

    return t < par.common.tol_max_mm ? t : par.common.tol_max_mm;
}

/* Where the third hits of a pair on the line l are on a station. */
TRG_FN struct ht_window ht_third_window(const struct ht_view v, const struct ht_par par,
                                        const struct hg_line l, trg_u32 station,
                                        const struct ht_station s)
{
    const float dz = s.middle - l.z, x = l.x + l.tx * dz, y = l.y + l.ty * dz;
    const float reach = ht_third_tolerance(par, trg_fabs(dz) + s.depth);

    return ht_window_of(v, station, x, y, reach + ht_drift(x, y, l.tx, l.ty, s.depth));
}

/* The hits of a window that are nearest to a line and on its side of the beam. */
TRG_FN void ht_find_nearest(const struct ht_view v, const struct ht_window w,
                            const struct hg_line l, struct ht_near *near)
{
    const float most = near->off0;

    for (trg_u32 k = 0; k < w.n; k++) {
        const trg_u32 at = ht_place(w, k);
        const struct ht_hit h = ht_hit_at(v, at);
        const float off = hg_off2(l, h.x, h.y, h.z);

        if (off <= most && h.x * l.x + h.y * l.y > 0.0f)
            ht_keep_nearer(v, at, off, near);
    }
}

/* Looks for a third hit on a station, on the line of two through l. */
TRG_FN void ht_find_third(const struct ht_view v, const struct ht_par par, const struct hg_line l,
                          trg_u32 second, trg_u32 station, const struct ht_station s,
                          struct ht_triplet *best)
{
    const struct ht_window w = ht_third_window(v, par, l, station, s);

    for (trg_u32 k = 0; k < w.n; k++) {
        const trg_u32 at = ht_place(w, k);
        const struct ht_hit h = ht_hit_at(v, at);
        const float d = l.z - h.z, tol = ht_third_tolerance(par, d), most = tol * tol;
        const float off = hg_off2(l, h.x, h.y, h.z);

        if (off <= best->share * most && d > 0.0f && h.x * l.x + h.y * l.y > 0.0f &&
            h.id >> HT_ITEM_BITS != ht_layer(v, second) &&
            ht_is_better(v, best, off / most, second, at)) {
            best->share = off / most;
            best->second = second;
            best->third = at;
        }
    }
}

/* Looks for the second and the third hit on two stations. */
TRG_FN void ht_find_on(const struct ht_view v, const struct ht_par par,
                       TRG_GLOBAL const struct ht_stations *all, trg_u32 first, trg_u32 station1,
                       trg_u32 station2, float window_mm, struct ht_triplet *best)
{
    const struct ht_hit h0 = ht_hit_at(v, first);
    const struct ht_station s = ht_station_of(all, station2);
    const struct ht_window w = ht_window_of(v, station1, h0.x, h0.y, window_mm);

    for (trg_u32 k = 0; s.has_hits && k < w.n; k++) {
        const trg_u32 at = ht_place(w, k);
        const struct ht_hit h = ht_hit_at(v, at);

        if (ht_may_pair(par.common, window_mm, h0.x - h.x, h0.y - h.y, h0.z - h.z, h.x, h.y, h.z) &&
            (h.id ^ h0.id) >> HT_ITEM_BITS)
            ht_find_third(v, par, hg_through(h.x, h.y, h.z, h0.x, h0.y, h0.z), at, station2, s,
                          best);
    }
}
#endif
