/* SPDX-License-Identifier: Apache-2.0 */
/* chance.h - short tracks that the hits of a busy RoI make by chance.  The more hits there are, the
 * nearer to the beam line, the more straight lines of three or four unrelated ones; so what is
 * asked of a short track grows with the number of hits of its RoI. */
#ifndef HOUGH_CHANCE_H
#define HOUGH_CHANCE_H
#include "line.h"

/* Grows with the number of lines of three hits at least as good as this one that are made by chance
 * for each particle.  `crowd` is the hits of the RoI in ten thousands, squared, because three hits
 * are one that a particle makes anyhow and two others.  The others are: how near to the line the
 * second hit is, and how near the line to the beam.  From z_made_mm on particles come from the
 * material, too, and count less. */
TRG_FN float hg_chance3(const struct hg_par par, float crowd, const struct hg_point a,
                        const struct hg_point b, const struct hg_point c)
{
    const struct hg_turn t = hg_turn_of(par, a, b, c);
    const float room = t.ip + 0.05f;
    const float part = a.z < par.z_made ? room : 0.1f * trg_sqrt(room * trg_sqrt(room));

    return crowd * part * trg_sqrt((t.chi2 + 0.5f) * t.slope / (b.x * b.x + b.y * b.y)) *
           (t.is_rare ? 3.6f : 1.0f);
}

/* The same for four hits: the larger of the two turns counts. */
TRG_FN float hg_chance4(const struct hg_par par, float crowd, const struct hg_point a,
                        const struct hg_point b, const struct hg_point c, const struct hg_point d)
{
    const struct hg_turn first = hg_turn_of(par, a, b, c), second = hg_turn_of(par, b, c, d);
    const struct hg_turn all = hg_turn_of(par, a, b, d);
    const float x = b.x + c.x, y = b.y + c.y; /* twice the middle */

    return crowd * (first.chi2 > second.chi2 ? first.chi2 : second.chi2) *
           trg_sqrt(all.ip + 0.05f) * (first.is_rare || second.is_rare ? 4.0f : 1.0f) /
           (0.25f * (x * x + y * y));
}
#endif
