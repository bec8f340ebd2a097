/* SPDX-License-Identifier: Apache-2.0 */
/* links.h - whether a doublet goes on in another one that begins where it ends.
 *
 * Points 1 (inner), 2 (shared) and 3 (outer); x and y count from the beam spot.  All comparisons
 * are between products, without division or root, and the same on every device.
 */
#ifndef PATHS_LINKS_H
#define PATHS_LINKS_H
#include "paths.h"

struct pa_line { /* the inner doublet in r-z */
    float z1, r1, z2, r2;
    float slope;
    float theta_cut;
};
struct pa_side { /* all of it, and the cuts that belong to it */
    struct pa_line line;
    float x1, y1, x2, y2;
    float bend;
    float tolerance;
};

/* Alignment in r-z: the distance of point 2 from the line through 1 and 3 is at most theta_cut
 * times their distance in r.  This is what CMS's cellular automaton asks, with theta_cut its
 * thetaCut over its ptmin. */
TRG_FN trg_u32 pa_is_aligned(const struct pa_line s, float z3, float r3)
{
    const float dr = s.r1 - r3, dz = s.z1 - z3;
    const float area = s.z1 * (s.r2 - r3) + s.z2 * (r3 - s.r1) + z3 * (s.r1 - s.r2);
    const float most = s.theta_cut * s.theta_cut * (dr * dr + dz * dz) * (dr * dr);

    return (trg_u32)(area * area <= most);
}

/* The circle through the points: its radius is at least min_radius (`pt`), and it passes the beam
 * spot within the tolerance (`spot`).
 * With a = 1 - 2, b = 3 - 2 the centre is n / (2 det) from point 2, and its power with respect to
 * the beam spot o, seen from 2, is o^2 - n o / det.  So no straight track is a special case. */
TRG_FN trg_u32 pa_fits_circle(const struct pa_side s, float min_radius, float x3, float y3,
                              trg_u32 no_pt, trg_u32 no_spot)
{
    const float ax = s.x1 - s.x2, ay = s.y1 - s.y2, bx = x3 - s.x2, by = y3 - s.y2;
    const float a2 = ax * ax + ay * ay, b2 = bx * bx + by * by;
    const float det = ax * by - ay * bx, size = trg_fabs(det);
    const float nx = a2 * by - b2 * ay, ny = b2 * ax - a2 * bx;
    const float n2 = nx * nx + ny * ny;
    const float least = 2.0f * size * min_radius;
    const float o2 = s.x2 * s.x2 + s.y2 * s.y2 - s.tolerance * s.tolerance;
    const float no = nx * s.x2 + ny * s.y2; /* o = -point 2 */
    const float power = o2 * size + (det < 0.0f ? -no : no);

    return (no_pt | (trg_u32)(n2 >= least * least)) &
           (no_spot | (trg_u32)(power * power <= s.tolerance * s.tolerance * n2));
}

/* Curvature of the circle through the beam spot and two points, 1/mm. */
TRG_FN float pa_bend(float x1, float y1, float x2, float y2)
{
    const float dx = x2 - x1, dy = y2 - y1;
    const float sides = (x1 * x1 + y1 * y1) * (x2 * x2 + y2 * y2) * (dx * dx + dy * dy);

    return 2.0f * (x1 * y2 - y1 * x2) / trg_sqrt(sides);
}

/* Whether a doublet may be used: its outer hit lies further out, and it leaves out no more layers
 * than are allowed.  Layers are numbered barrel first, then the discs of one side, then those of
 * the other; from the barrel to a side's discs only discs count as left out. */
TRG_FN trg_u32 pa_may_use(trg_u32 inner, trg_u32 outer, trg_u32 last_barrel, trg_u32 discs,
                          trg_u32 skipped)
{
    const trg_u32 first = outer <= last_barrel           ? 0u
                          : outer <= last_barrel + discs ? last_barrel + 1u
                                                         : last_barrel + discs + 1u;
    const trg_u32 is_barrel = (trg_u32)(inner <= last_barrel);
    /* where counting begins: a side's first disc comes next to any barrel layer */
    const trg_u32 from = is_barrel && first ? first : inner + 1u;

    return (trg_u32)(outer > inner && (is_barrel || inner >= first) && outer - from <= skipped &&
                     outer <= last_barrel + 2u * discs);
}
#endif
