/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - a circle through the hits of a path in x-y, and a line in s-z, s the length along it.
 *
 * The circle is w = a + b t + c (t^2 + w^2) in a frame whose t axis joins first and last hit, in
 * units of half their distance: the deviation of a hit from that equation is its distance from the
 * circle times a constant, so least squares in (a, b, c) are the fit, without iteration, and a
 * straight line is no special case.  Angles by polynomials of our own, so that every device gives
 * the same bits. */
#ifndef PATHS_FIT_H
#define PATHS_FIT_H
#include "paths.h"

#define PA_CHI2_MOST 1e30f /* of a path that cannot be fitted */
#define PA_PT_MOST   1e5f  /* GeV */

/* atan(x) for 0 <= x <= 1; off by less than 1e-7. */
TRG_FN float pa_atan(float x)
{
    const float y = x * x;
    float s = -0.004779936746f;

    s = s * y + 0.024555327371f;
    s = s * y - 0.059902273118f;
    s = s * y + 0.099425949156f;
    s = s * y - 0.140293627977f;
    s = s * y + 0.199713662267f;
    s = s * y - 0.333320915699f;
    return x * (s * y + 0.999999940395f);
}

/* The angle of a direction, -pi .. pi; 0 for (0, 0). */
TRG_FN float pa_atan2(float y, float x)
{
    const float ax = trg_fabs(x), ay = trg_fabs(y);
    const float low = ax < ay ? ax : ay, high = ax < ay ? ay : ax;
    float phi = high > 0.0f ? pa_atan(low / high) : 0.0f;

    if (ay > ax)
        phi = 1.57079637f - phi;
    if (x < 0.0f)
        phi = 3.14159274f - phi;
    return y < 0.0f ? -phi : phi;
}

/* asin(x) / x for 0 <= x <= 1/2. */
TRG_FN float pa_asin_ratio(float x)
{
    const float y = x * x;
    float s = 0.042689673603f;

    s = s * y + 0.023824332282f;
    s = s * y + 0.045557606965f;
    s = s * y + 0.074943684042f;
    s = s * y + 0.166667923331f;
    return s * y + 1.0f;
}

/* Length of the arc over a chord, in a circle of curvature k >= 0. */
TRG_FN float pa_arc(float chord, float k)
{
    float x = 0.5f * k * chord, rest;

    if (x <= 0.5f)
        return chord * pa_asin_ratio(x);
    if (x > 1.0f)
        x = 1.0f;
    rest = trg_sqrt(0.5f * (1.0f - x));
    return 2.0f * (1.57079637f - 2.0f * rest * pa_asin_ratio(rest)) / k;
}

struct pa_points { /* the hits of a path, x and y from the beam spot */
    float x[PA_HITS_MAX], y[PA_HITS_MAX], z[PA_HITS_MAX];
    trg_u32 is_disc[PA_HITS_MAX];
    trg_u32 n;
};

struct pa_track {
    float pt, phi, cot, d0, z0, chi2;
    float cos_phi, sin_phi;
    float var_x, var_tx, cov;
};

struct pa_circle {
    float scale;          /* mm: half the distance from first to last hit */
    float a, b, c, g;     /* g: size of the gradient on the circle */
    float from_x, from_y; /* its frame: origin and direction of the t axis */
    float dir_x, dir_y;
    float beam_t, beam_w;        /* the beam spot in it */
    float tan_t, tan_w;          /* direction of the track at the beam spot */
    float d0;                    /* in units of scale */
    float mean_t, slant, st, sq; /* mean of t; of q on t; sums of squares: for the errors */
    float mean_q;
};

/* A point in the frame of the circle. */
TRG_FN float pa_frame_t(const struct pa_circle c, float x, float y)
{
    return ((x - c.from_x) * c.dir_x + (y - c.from_y) * c.dir_y) / c.scale;
}

TRG_FN float pa_frame_w(const struct pa_circle c, float x, float y)
{
    return ((y - c.from_y) * c.dir_x - (x - c.from_x) * c.dir_y) / c.scale;
}

/* Least squares of w on (1, t, q), q made orthogonal to t. */
TRG_FN void pa_solve(struct pa_circle *c, const float *t, const float *w, trg_u32 n)
{
    const float inv = 1.0f / (float)n;
    float mean_w = 0.0f, tq = 0.0f, tw = 0.0f, qw = 0.0f;

    c->mean_t = c->mean_q = c->st = c->sq = 0.0f;
    for (trg_u32 i = 0; i < n; i++) {
        c->mean_t += t[i] * inv;
        mean_w += w[i] * inv;
        c->mean_q += (t[i] * t[i] + w[i] * w[i]) * inv;
    }
    for (trg_u32 i = 0; i < n; i++) {
        const float dt = t[i] - c->mean_t;

        c->st += dt * dt;
        tq += dt * (t[i] * t[i] + w[i] * w[i] - c->mean_q);
        tw += dt * (w[i] - mean_w);
    }
    c->slant = tq / c->st;
    for (trg_u32 i = 0; i < n; i++) {
        const float dq = t[i] * t[i] + w[i] * w[i] - c->mean_q - c->slant * (t[i] - c->mean_t);

        c->sq += dq * dq;
        qw += dq * (w[i] - mean_w);
    }
    c->c = c->sq > 1e-9f ? qw / c->sq : 0.0f;
    c->b = tw / c->st - c->c * c->slant;
    c->a = mean_w - c->b * c->mean_t - c->c * c->mean_q;
}

/* The equation of the circle, 0 on it; on the right of the track it is positive. */
TRG_FN float pa_equation(const struct pa_circle *c, float t, float w)
{
    return c->a + c->b * t + c->c * (t * t + w * w) - w;
}

TRG_FN struct pa_circle pa_fit_circle(const struct pa_points *p, float *t, float *w)
{
    const trg_u32 last = p->n - 1u;
    const float dx = p->x[last] - p->x[0], dy = p->y[last] - p->y[0];
    const float chord = trg_sqrt(dx * dx + dy * dy);
    struct pa_circle c;
    float g2, at_beam, f;

    c.scale = 0.5f * chord;
    c.dir_x = dx / chord;
    c.dir_y = dy / chord;
    c.from_x = 0.5f * (p->x[0] + p->x[last]);
    c.from_y = 0.5f * (p->y[0] + p->y[last]);
    for (trg_u32 i = 0; i < p->n; i++) {
        t[i] = pa_frame_t(c, p->x[i], p->y[i]);
        w[i] = pa_frame_w(c, p->x[i], p->y[i]);
    }
    pa_solve(&c, t, w, p->n);
    g2 = 1.0f + c.b * c.b - 4.0f * c.a * c.c;
    c.g = trg_sqrt(g2 > 1e-6f ? g2 : 1e-6f);
    c.beam_t = pa_frame_t(c, 0.0f, 0.0f);
    c.beam_w = pa_frame_w(c, 0.0f, 0.0f);
    f = pa_equation(&c, c.beam_t, c.beam_w);
    g2 = c.g * c.g + 4.0f * c.c * f;
    at_beam = trg_sqrt(g2 > 1e-6f ? g2 : 1e-6f);
    c.d0 = 2.0f * f / (c.g + at_beam);
    c.tan_t = (1.0f - 2.0f * c.c * c.beam_w) / at_beam;
    c.tan_w = (2.0f * c.c * c.beam_t + c.b) / at_beam;
    return c;
}

struct pa_line {
    float cot, z0, chi2, weight, mean_s, ss;
};

/* Least squares of z on s.  `var_ms` is added to the variance of each z. */
TRG_FN struct pa_line pa_fit_line(const struct pa_points *p, const float *s, float var_z,
                                  float var_disc, float var_ms)
{
    struct pa_line l;
    float mean_z = 0.0f, sz = 0.0f;

    l.weight = l.mean_s = l.ss = l.chi2 = 0.0f;
    for (trg_u32 i = 0; i < p->n; i++) {
        const float weight = 1.0f / ((p->is_disc[i] ? var_disc : var_z) + var_ms);

        l.weight += weight;
        l.mean_s += weight * s[i];
        mean_z += weight * p->z[i];
    }
    l.mean_s /= l.weight;
    mean_z /= l.weight;
    for (trg_u32 i = 0; i < p->n; i++) {
        const float weight = 1.0f / ((p->is_disc[i] ? var_disc : var_z) + var_ms);
        const float ds = s[i] - l.mean_s;

        l.ss += weight * ds * ds;
        sz += weight * ds * (p->z[i] - mean_z);
    }
    l.cot = sz / l.ss;
    l.z0 = mean_z - l.cot * l.mean_s;
    for (trg_u32 i = 0; i < p->n; i++) {
        const float weight = 1.0f / ((p->is_disc[i] ? var_disc : var_z) + var_ms);
        const float dz = p->z[i] - l.z0 - l.cot * s[i];

        l.chi2 += weight * dz * dz;
    }
    return l;
}

/* Lengths along the circle from the point closest to the beam spot. */
TRG_FN void pa_lengths(const struct pa_circle *c, const float *t, const float *w, trg_u32 n,
                       float *s)
{
    const float near_t = c->beam_t - c->d0 * c->tan_w, near_w = c->beam_w + c->d0 * c->tan_t;
    const float k = 2.0f * trg_fabs(c->c) / c->g;

    for (trg_u32 i = 0; i < n; i++) {
        const float dt = t[i] - near_t, dw = w[i] - near_w;
        const float length = pa_arc(trg_sqrt(dt * dt + dw * dw), k) * c->scale;

        s[i] = dt * c->tan_t + dw * c->tan_w < 0.0f ? -length : length;
    }
}

/* Variances of the state (x, tx) on a straight line in z: half of what the directions along and
 * across the track have together, because tracks have one variance for x and y. */
TRG_FN void pa_errors(const struct pa_circle *c, const struct pa_line *l, trg_u32 n, float var,
                      float cot, struct pa_track *ret)
{
    const float inv = 1.0f / cot, inv2 = inv * inv;
    const float dt = c->beam_t - c->mean_t;
    const float q = c->beam_t * c->beam_t + c->beam_w * c->beam_w;
    const float dq = q - c->mean_q - c->slant * dt, dq_dt = 2.0f * c->beam_t - c->slant;
    const float inv_sq = c->sq > 1e-9f ? 1.0f / c->sq : 0.0f;
    const float var_d0 = var * (1.0f / (float)n + dt * dt / c->st + dq * dq * inv_sq);
    const float var_phi = var / (c->scale * c->scale) * (1.0f / c->st + dq_dt * dq_dt * inv_sq);
    const float cov_d0 = var / c->scale * (dt / c->st + dq * dq_dt * inv_sq);
    const float var_z0 = 1.0f / l->weight + l->mean_s * l->mean_s / l->ss;

    ret->var_x = 0.5f * (var_d0 + var_z0 * inv2);
    ret->var_tx = 0.5f * (var_phi * inv2 + inv2 * inv2 / l->ss);
    ret->cov = 0.5f * (cov_d0 * inv - l->mean_s / l->ss * inv * inv2);
}

TRG_FN trg_u32 pa_is_sane(float x)
{
    return (trg_u32)(trg_fabs(x) < PA_CHI2_MOST); /* false for NaN */
}

/* |cot theta| is kept above this, so that slopes in z stay finite. */
TRG_FN float pa_steep(float cot)
{
    if (trg_fabs(cot) >= 1e-4f)
        return cot;
    return cot < 0.0f ? -1e-4f : 1e-4f;
}

TRG_FN struct pa_track pa_no_track(void)
{
    struct pa_track r;

    r.pt = r.phi = r.cot = r.d0 = r.z0 = r.sin_phi = 0.0f;
    r.cos_phi = 1.0f;
    r.chi2 = PA_CHI2_MOST;
    r.var_x = r.var_tx = 1e6f;
    r.cov = 0.0f;
    return r;
}

/* Multiple scattering is taken as a shift of every hit by what the layer before it does:
 * scatter / pT over the mean step, longer by the angle of the track. */
TRG_FN struct pa_track pa_fit(const struct pa_par *par, const struct pa_points *p)
{
    const float k_least = 1.0f / (PA_PT_MOST * par->mm_per_gev);
    float t[PA_HITS_MAX], w[PA_HITS_MAX], s[PA_HITS_MAX];
    const struct pa_circle c = pa_fit_circle(p, t, w);
    const trg_u32 last = p->n - 1u;
    float k = 2.0f * trg_fabs(c.c) / (c.g * c.scale), cot, shift, stretch, var;
    struct pa_track r;
    struct pa_line l;

    pa_lengths(&c, t, w, p->n, s);
    if (k < k_least)
        k = k_least;
    r.pt = (c.c > 0.0f ? -1.0f : 1.0f) / (k * par->mm_per_gev);
    cot = (p->z[last] - p->z[0]) / (s[last] - s[0]);
    shift = par->scatter * (s[last] - s[0]) / (float)last / r.pt;
    stretch = trg_sqrt(1.0f + cot * cot);
    var = par->var_rphi + shift * shift * stretch;
    l = pa_fit_line(p, s, par->var_z, par->var_r * cot * cot,
                    shift * shift * stretch * stretch * stretch);
    r.cot = l.cot;
    r.z0 = l.z0;
    r.chi2 = 0.0f;
    for (trg_u32 i = 0; i < p->n; i++) {
        const float d = pa_equation(&c, t[i], w[i]) / c.g * c.scale;

        r.chi2 += d * d / var;
    }
    r.chi2 += l.chi2;
    r.d0 = c.d0 * c.scale;
    r.cos_phi = c.dir_x * c.tan_t - c.dir_y * c.tan_w;
    r.sin_phi = c.dir_y * c.tan_t + c.dir_x * c.tan_w;
    r.phi = pa_atan2(r.sin_phi, r.cos_phi);
    pa_errors(&c, &l, p->n, var, pa_steep(l.cot), &r);
    if (pa_is_sane(r.pt) & pa_is_sane(r.cot) & pa_is_sane(r.d0) & pa_is_sane(r.z0) &
        pa_is_sane(r.chi2) & pa_is_sane(r.phi) & pa_is_sane(r.var_x) & pa_is_sane(r.var_tx) &
        pa_is_sane(r.cov))
        return r;
    return pa_no_track();
}
#endif
