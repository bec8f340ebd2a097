/* SPDX-License-Identifier: Apache-2.0 */
/* beam.h - where the beam line is, from the tracks of an RoI: the point of the x-y plane that their
 * projections miss least.  Included by prepare.kernel.c. */
#ifndef VX_BEAM_H
#define VX_BEAM_H
#include "geometry.h"

#define VX_BEAM_TRACKS 128u /* that are looked at, evenly spread over the RoI's list */
#define VX_BEAM_ROUNDS 4u
#define VX_BEAM_START  4.0f  /* mm: the first round's width, beside the tracks' own errors */
#define VX_BEAM_SHRINK 0.25f /* to 0.06 mm in the last round: no weight is above 256 / mm^2 */
#define VX_BEAM_SIGMAS 3.0f  /* tracks that miss it by more do not count */
#define VX_BEAM_PRIOR  0.01f /* 1/mm^2: without tracks it stays where it began */

enum { /* sums, 2^-20 / mm^2 and 2^-20 / mm */
       VX_B_XX,
       VX_B_XY,
       VX_B_YY,
       VX_B_X,
       VX_B_Y,
       VX_B_SUMS
};

/* What one track says of the beam line at (x, y), when a line that far away counts as `width`: the
 * normal of its projection, how far it misses, its weight. */
struct vx_beam_track {
    float nx, ny, miss, weight;
};

TRG_FN struct vx_beam_track vx_beam_track_of(float dx, float dy, float tx, float ty, float vx,
                                             float vt, float cov, float width)
{
    const float t2 = tx * tx + ty * ty;
    const float inv = 1.0f / trg_sqrt(t2 > 1e-10f ? t2 : 3e38f); /* along the beam: no normal */
    const float s = -(dx * tx + dy * ty) * inv * inv;
    const float var = (vx + s * (2.0f * cov + s * vt)) / (1.0f + 0.5f * t2);
    const float all = width * width + (var > 0.0f ? var : 0.0f);
    struct vx_beam_track b;

    b.nx = -ty * inv;
    b.ny = tx * inv;
    b.miss = b.nx * dx + b.ny * dy;
    b.weight = vx_tukey(b.miss * b.miss / all, 1.0f / (VX_BEAM_SIGMAS * VX_BEAM_SIGMAS)) / all;
    return b;
}

struct vx_beam {
    float x, y;
};

/* The step to the minimum of the sums, with the prior at (x0, y0). */
TRG_FN struct vx_beam vx_beam_step(TRG_LOCAL const trg_i64 *s, float x, float y, float x0, float y0)
{
    const float unit = 1.0f / 1048576.0f;
    const float xx = (float)s[VX_B_XX] * unit + VX_BEAM_PRIOR;
    const float yy = (float)s[VX_B_YY] * unit + VX_BEAM_PRIOR, xy = (float)s[VX_B_XY] * unit;
    const float gx = (float)s[VX_B_X] * unit + VX_BEAM_PRIOR * (x0 - x);
    const float gy = (float)s[VX_B_Y] * unit + VX_BEAM_PRIOR * (y0 - y);
    const float inv = 1.0f / (xx * yy - xy * xy);
    struct vx_beam b;

    b.x = x + (yy * gx - xy * gy) * inv;
    b.y = y + (xx * gy - xy * gx) * inv;
    return b;
}
#endif
