/* SPDX-License-Identifier: Apache-2.0 */
/* vote.h - the three ways to fill the cells of (theta, r).  Where hits vote, cells are 16 bits
 * wide, two to a word: a window has fewer than 2^16 hits.  Where pairs vote, and where hits count
 * by their distance, a cell is a word. */
#ifndef HOUGH_VOTE_H
#define HOUGH_VOTE_H
#include "../line.h"

struct hg_hits { /* of a window: places in the projected plane */
    TRG_GLOBAL const float *z, *u;
    trg_u32 n;
};

struct hg_strip { /* columns [first, end) of the grid, from cell 0 of `words` on */
    TRG_LOCAL trg_u32 *words;
    trg_u32 wide; /* 1: a cell is a word */
    TRG_GLOBAL const float *cosines, *sines;
    trg_u32 first, end;
};

TRG_FN trg_u32 hg_count(const struct hg_strip s, trg_u32 at)
{
    return s.wide ? s.words[at] : s.words[at >> 1] >> 16u * (at & 1u) & 0xffffu;
}

struct hg_curve {      /* of a point, in one column */
    float r, epsilon;  /* epsilon: what is further off does not count */
    float alpha, high; /* of its weight: high exp(-alpha d^2); high 0: it counts one */
};

TRG_FN float hg_distance(const struct hg_grid g, trg_u32 k, const struct hg_curve c)
{
    return trg_fabs(g.r_min + ((float)k + 0.5f) * g.dr - c.r);
}

/* Whether the curve of a point passes through the cell k of a column: |r_cell - r| <= epsilon, with
 * epsilon = (rho dtheta |sin(theta - phi)| + dr) / 2. */
TRG_FN trg_u32 hg_covers(const struct hg_grid g, trg_u32 k, const struct hg_curve c)
{
    return hg_distance(g, k, c) <= c.epsilon;
}

/* exp(-x) from 0 to 8 to 1e-5, from the four operations alone, so that all devices agree to the
 * bit: the polynomial of exp(-x / 16), and that to the power of 16. */
TRG_FN float hg_exp_of_minus(float x)
{
    const float y = x * 0.0625f;
    float e =
        1.0f - y * (1.0f - y * (0.5f - y * (0.16666667f - y * (0.041666668f - y * 0.0083333333f))));

    e = e * e;
    e = e * e;
    e = e * e;
    return e * e;
}

/* What a hit counts in cell k: a number of HG_UNITs (eq. 6.5 of the thesis, times dr). */
TRG_FN trg_u32 hg_weight(const struct hg_grid g, trg_u32 k, const struct hg_curve c)
{
    const float d = hg_distance(g, k, c);

    return (trg_u32)(c.high * hg_exp_of_minus(c.alpha * d * d) + 0.5f);
}

/* With g.gauss alpha = 1 / (2 sigma^2), where sigma comes from the grid, gauss epsilons, and from
 * the error of a hit; it counts up to four sigma. */
TRG_FN struct hg_curve hg_curve_of(const struct hg_grid g, float z, float u, float c, float s)
{
    struct hg_curve curve;
    float sigma;

    curve.r = z * c + u * s;
    curve.epsilon = 0.5f * (trg_fabs(u * c - z * s) * g.d_theta + g.dr);
    curve.alpha = curve.high = 0.0f;
    if (g.gauss > 0.0f) {
        sigma = g.gauss * curve.epsilon;
        sigma = trg_sqrt(sigma * sigma + g.error * g.error);
        curve.epsilon = 4.0f * sigma;
        curve.alpha = 0.5f / (sigma * sigma);
        curve.high = (float)HG_UNIT * 0.3989423f * g.dr / sigma; /* A = 1 / (sigma sqrt(2 pi)) */
    }
    return curve;
}

/* The cells that a curve can cover in a column: *ret_from <= k < the returned. */
TRG_FN trg_u32 hg_reach(const struct hg_grid g, const struct hg_curve c, trg_u32 *ret_from)
{
    const float low = (c.r - c.epsilon - g.r_min) * g.inv_dr - 1.0f;
    const float high = (c.r + c.epsilon - g.r_min) * g.inv_dr + 1.0f;

    if (!(high > 0.0f) || !(low < (float)g.n_r))
        return *ret_from = 0u;
    *ret_from = low > 0.0f ? (trg_u32)low : 0u;
    return high < (float)g.n_r ? (trg_u32)high : g.n_r;
}

TRG_FN void hg_count_in(const struct hg_strip s, const struct hg_grid g, trg_u32 base, trg_u32 k,
                        const struct hg_curve c)
{
    if (s.wide)
        s.words[base + k] += hg_weight(g, k, c);
    else
        s.words[(base + k) >> 1] += 1u << 16u * (k & 1u);
}

/* Counts a point into the cells [from, to) of column t that its curve covers.  The column belongs
 * to the caller: no other work-item counts there. */
TRG_FN void hg_vote(const struct hg_strip s, const struct hg_grid g, trg_u32 t, trg_u32 from,
                    trg_u32 to, const struct hg_curve c)
{
    const trg_u32 base = (t - s.first) * g.stride;

    for (trg_u32 k = from; k < to; k++)
        if (hg_covers(g, k, c))
            hg_count_in(s, g, base, k, c);
}

/* Brute force: every cell for every hit. */
TRG_FN void hg_brute(const struct hg_strip s, const struct hg_grid g, const struct hg_hits h,
                     trg_u32 t)
{
    for (trg_u32 i = 0; i < h.n; i++)
        hg_vote(s, g, t, 0u, g.n_r, hg_curve_of(g, h.z[i], h.u[i], s.cosines[t], s.sines[t]));
}

/* Paint by numbers: along the curve of each hit. */
TRG_FN void hg_paint(const struct hg_strip s, const struct hg_grid g, const struct hg_hits h,
                     trg_u32 t)
{
    for (trg_u32 i = 0; i < h.n; i++) {
        const struct hg_curve c = hg_curve_of(g, h.z[i], h.u[i], s.cosines[t], s.sines[t]);
        trg_u32 from;
        const trg_u32 to = hg_reach(g, c, &from);

        hg_vote(s, g, t, from, to, c);
    }
}

/* The same for pairs, which may come from any work-item. */
TRG_FN void hg_vote_shared(const struct hg_strip s, const struct hg_grid g, trg_u32 t, trg_u32 k)
{
    const trg_u32 at = (t - s.first) * g.stride + k;

    if (t >= s.first && t < s.end && k < g.n_r)
        TRG_ATOMIC_ADD_LOCAL(&s.words[at], 1u);
}

/* Two hits at one place lie on every line through it: they vote for its whole curve. */
TRG_FN void hg_vote_curve(const struct hg_strip s, const struct hg_grid g, float z, float u)
{
    for (trg_u32 t = s.first; t < s.end; t++) {
        const struct hg_curve c = hg_curve_of(g, z, u, s.cosines[t], s.sines[t]);
        trg_u32 from;
        const trg_u32 to = hg_reach(g, c, &from);

        for (trg_u32 k = from; k < to; k++)
            if (hg_covers(g, k, c))
                hg_vote_shared(s, g, t, k);
    }
}

/* Analytic: the line through two hits votes for the four cells whose centres are around it, so that
 * lines that differ by less than a cell have one in common; with g.one_cell for the one that it is
 * in, as in the thesis, which leaves out two hits at one place. */
TRG_FN void hg_pair(const struct hg_strip s, const struct hg_grid g, const struct hg_hits h,
                    trg_u32 i, trg_u32 j)
{
    float dz = h.z[j] - h.z[i], du = h.u[j] - h.u[i], inv, c, sn, t, k;

    if (dz == 0.0f && du == 0.0f) {
        if (!g.one_cell)
            hg_vote_curve(s, g, h.z[i], h.u[i]);
        return;
    }
    inv = 1.0f / trg_sqrt(dz * dz + du * du);
    if (dz < 0.0f || (dz == 0.0f && du > 0.0f))
        inv = -inv; /* theta lies in [0, pi) */
    c = -du * inv;
    sn = dz * inv;
    k = (h.z[i] * c + h.u[i] * sn - g.r_min) * g.inv_dr - 0.5f;
    if (!(k > -1.0f) || !(k < (float)g.n_r))
        return;
    t = (hg_atan2(sn, c) - g.theta_min) * g.inv_d_theta - 0.5f;
    if (!(t > -1.0f) || !(t < (float)g.n_theta))
        return;
    if (g.one_cell) {
        if (t >= -0.5f && k >= -0.5f)
            hg_vote_shared(s, g, (trg_u32)(t + 0.5f), (trg_u32)(k + 0.5f));
    } else {
        const trg_u32 t1 = (trg_u32)(t + 1.0f), k1 = (trg_u32)(k + 1.0f); /* the upper ones */

        hg_vote_shared(s, g, t1, k1);
        if (k1)
            hg_vote_shared(s, g, t1, k1 - 1u);
        if (t1) {
            hg_vote_shared(s, g, t1 - 1u, k1);
            if (k1)
                hg_vote_shared(s, g, t1 - 1u, k1 - 1u);
        }
    }
}

/* Whether two cells are within the distance: in each direction, or with g.euclidean as the crow
 * flies, as in the thesis. */
TRG_FN trg_u32 hg_are_close(const struct hg_grid g, trg_u32 dt, trg_u32 dk, trg_u32 distance)
{
    return !g.euclidean || dt * dt + dk * dk <= distance * distance;
}

/* Whether a cell is a peak: none within the distance is stronger.  Of equal ones the first is.  The
 * answer depends on nothing but the counts, so all cells can be asked at once. */
TRG_FN trg_u32 hg_is_peak(const struct hg_strip s, const struct hg_grid g, trg_u32 t, trg_u32 k,
                          trg_u32 distance)
{
    const trg_u32 n = hg_count(s, t * g.stride + k), columns = s.end - s.first;
    const trg_u32 t_from = t > distance ? t - distance : 0u,
                  k_from = k > distance ? k - distance : 0u;
    const trg_u32 t_to = t + distance + 1u < columns ? t + distance + 1u : columns;
    const trg_u32 k_to = k + distance + 1u < g.n_r ? k + distance + 1u : g.n_r;

    for (trg_u32 a = t_from; a < t_to; a++)
        for (trg_u32 b = k_from; b < k_to; b++) {
            const trg_u32 other = hg_count(s, a * g.stride + b);

            if (!hg_are_close(g, a < t ? t - a : a - t, b < k ? k - b : b - k, distance))
                continue;
            if (other > n || (other == n && (a < t || (a == t && b < k))))
                return 0u;
        }
    return 1u;
}
#endif
