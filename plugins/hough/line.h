/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - straight lines in space: x = x0 + tx (z - z0), y = y0 + ty (z - z0).  Sums run in the
 * order of the hits, so every device gets the same bits. */
#ifndef HOUGH_LINE_H
#define HOUGH_LINE_H
#include "hough.h"

struct hg_line {
    float z, x, y, tx, ty;
};

/* atan2 to 1e-6 rad from the four operations alone, so that all devices agree to the bit. */
TRG_FN float hg_atan2(float y, float x)
{
    const float ax = trg_fabs(x), ay = trg_fabs(y);
    const float big = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
    const float a = big > 0.0f ? small / big : 0.0f, s = a * a;
    float t =
        ((((((0.0028662257f * s - 0.0161657367f) * s + 0.0429096138f) * s - 0.0752896400f) * s +
           0.1065626393f) *
              s -
          0.1420889944f) *
             s +
         0.1999355085f) *
            s -
        0.3333314528f;

    t = t * s * a + a;
    t = ay > ax ? 1.57079633f - t : t;
    t = x < 0.0f ? 3.14159265f - t : t;
    return y < 0.0f ? -t : t;
}

TRG_FN float hg_off_x(const struct hg_line l, float x, float z)
{
    return x - (l.x + l.tx * (z - l.z));
}

TRG_FN float hg_off_y(const struct hg_line l, float y, float z)
{
    return y - (l.y + l.ty * (z - l.z));
}

/* Squared distance of a hit to the line, at the hit's z. */
TRG_FN float hg_off2(const struct hg_line l, float x, float y, float z)
{
    const float dx = hg_off_x(l, x, z), dy = hg_off_y(l, y, z);

    return dx * dx + dy * dy;
}

TRG_FN struct hg_line hg_through(float xa, float ya, float za, float xb, float yb, float zb)
{
    const float inv = 1.0f / (zb - za);
    struct hg_line l;

    l.z = za;
    l.x = xa;
    l.y = ya;
    l.tx = (xb - xa) * inv;
    l.ty = (yb - ya) * inv;
    return l;
}

struct hg_point { /* a hit; x and y from the beam line */
    float x, y, z;
    trg_u32 layer;
};

TRG_FN trg_u32 hg_step(const struct hg_point a, const struct hg_point b)
{
    return a.layer < b.layer ? b.layer - a.layer : a.layer - b.layer;
}

/* Whether few tracks make such a step: past a station, or, where a station has two layers, from one
 * side of the beam to the other. */
TRG_FN trg_u32 hg_is_rare(const struct hg_par par, trg_u32 step)
{
    return step >= 2u * par.station_layers || step % par.station_layers;
}

struct hg_turn {     /* of three hits along z at the second */
    float chi2;      /* of what its plane and the errors of all three explain */
    float ip, slope; /* of the line through the outer two */
    trg_u32 is_rare;
};

TRG_FN struct hg_turn hg_turn_of(const struct hg_par par, const struct hg_point a,
                                 const struct hg_point b, const struct hg_point c)
{
    const struct hg_line l = hg_through(a.x, a.y, a.z, c.x, c.y, c.z);
    const float part = (b.z - a.z) / (c.z - a.z), rest = 1.0f - part;
    const float arm = (b.z - a.z) * rest; /* a turn by an angle moves the second hit so far */
    const float slope2 = l.tx * l.tx + l.ty * l.ty, cross = trg_fabs(a.x * l.ty - a.y * l.tx);
    const float turn2 = par.scatter * par.scatter + par.scatter_slope * par.scatter_slope * slope2;
    const float var =
        par.sigma_mm * par.sigma_mm * (1.0f + part * part + rest * rest) + arm * arm * turn2;
    struct hg_turn t;

    t.chi2 = hg_off2(l, b.x, b.y, b.z) / var;
    t.slope = trg_sqrt(slope2);
    t.ip = slope2 > 0.0f ? cross / t.slope : 0.0f;
    t.is_rare = hg_is_rare(par, hg_step(a, b)) || hg_is_rare(par, hg_step(b, c));
    return t;
}

/* Chi2 of three hits.  More where most are no track: of a line that passes the beam line further
 * off, twice as much at ip3_mm, and with a rare step. */
TRG_FN float hg_chi2_of(const struct hg_par par, const struct hg_point a, const struct hg_point b,
                        const struct hg_point c)
{
    const struct hg_turn t = hg_turn_of(par, a, b, c);

    return t.chi2 * (1.0f + t.ip * par.inv_ip3) * (t.is_rare ? par.rare3 : 1.0f);
}

/* Whether three hits along z are a track: straight, and no far step between layers. */
TRG_FN trg_u32 hg_are_track(const struct hg_par par, const struct hg_point a,
                            const struct hg_point b, const struct hg_point c)
{
    return hg_step(a, b) <= par.max_gap3 && hg_step(b, c) <= par.max_gap3 &&
           hg_chi2_of(par, a, b, c) <= par.chi2_3_max;
}
#endif
