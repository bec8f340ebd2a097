/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - the final fit: weighted least squares with multiple scattering, as a Kalman filter
 * from the outermost hit inwards, so that the state is best where the track begins.  The planes
 * that a track crosses turn it by an angle whose mean square is scatter^2 + scatter_slope^2 (tx^2 +
 * ty^2): tracks at large angles are soft.  x and y have the same errors, so one covariance serves
 * both. */
#ifndef HOUGH_FILTER_H
#define HOUGH_FILTER_H
#include "line.h"

struct hg_state {
    struct hg_line l;
    float xx, xt, tt; /* covariance of (x, tx), and of (y, ty) */
    float chi2;       /* of both projections together; 2 n - 4 degrees of freedom */
};

TRG_FN void hg_scatter(struct hg_state *s, const struct hg_par par)
{
    s->tt += par.scatter * par.scatter +
             par.scatter_slope * par.scatter_slope * (s->l.tx * s->l.tx + s->l.ty * s->l.ty);
}

/* Moves the state along the line. */
TRG_FN void hg_move(struct hg_state *s, float z)
{
    const float dz = z - s->l.z;

    s->l.x += s->l.tx * dz;
    s->l.y += s->l.ty * dz;
    s->l.z = z;
    s->xx += dz * (2.0f * s->xt + dz * s->tt);
    s->xt += dz * s->tt;
}

TRG_FN void hg_update(struct hg_state *s, float x, float y, float var)
{
    const float inv = 1.0f / (s->xx + var), dx = x - s->l.x, dy = y - s->l.y;
    const float kx = s->xx * inv, kt = s->xt * inv;

    s->l.x += kx * dx;
    s->l.y += kx * dy;
    s->l.tx += kt * dx;
    s->l.ty += kt * dy;
    s->chi2 += (dx * dx + dy * dy) * inv;
    s->tt -= kt * s->xt;
    s->xt = s->xt * var * inv;
    s->xx = s->xx * var * inv;
}

/* Moves the state to where it is closest to the beam line, or, where it runs along that, not at
 * all. */
TRG_FN void hg_to_beam(struct hg_state *s, const struct hg_par par)
{
    const float t2 = s->l.tx * s->l.tx + s->l.ty * s->l.ty;
    const float along = (s->l.x - par.beam_x) * s->l.tx + (s->l.y - par.beam_y) * s->l.ty;

    if (t2 > 1e-8f)
        hg_move(s, s->l.z - along / t2);
}

/* The state of a track, whose hits are given along z, where it is closest to the beam line. */
TRG_FN struct hg_state hg_filter(TRG_GLOBAL const float *x, TRG_GLOBAL const float *y,
                                 TRG_GLOBAL const float *z, const struct hg_par par,
                                 TRG_GLOBAL const struct hg_cand *c)
{
    const trg_u32 low = c->hit[0], high = c->hit[c->n - 1u];
    const float ax = x[low] - par.beam_x, ay = y[low] - par.beam_y;
    const float bx = x[high] - par.beam_x, by = y[high] - par.beam_y;
    const trg_u32 backward = ax * ax + ay * ay > bx * bx + by * by; /* it begins at the high end */
    const float var = par.sigma_mm * par.sigma_mm;
    const trg_u32 i = backward ? c->hit[0] : c->hit[c->n - 1u];
    const trg_u32 j = backward ? c->hit[1] : c->hit[c->n - 2u];
    const float inv = 1.0f / (z[j] - z[i]);
    struct hg_state s;

    s.l.z = z[j];
    s.l.x = x[j];
    s.l.y = y[j];
    s.l.tx = (x[j] - x[i]) * inv;
    s.l.ty = (y[j] - y[i]) * inv;
    s.xx = var;
    s.xt = var * inv;
    s.tt = 2.0f * var * inv * inv;
    s.chi2 = 0.0f;
    for (trg_u32 k = 2u; k < c->n; k++) {
        const trg_u32 h = backward ? c->hit[k] : c->hit[c->n - 1u - k];

        hg_scatter(&s, par);
        hg_move(&s, z[h]);
        hg_update(&s, x[h], y[h], var);
    }
    hg_scatter(&s, par);
    hg_to_beam(&s, par);
    return s;
}
#endif
