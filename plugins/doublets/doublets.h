/* SPDX-License-Identifier: Apache-2.0 */
/* doublets.h - what makes a doublet, and what its kernels and the plugin share.  4-byte
 * members only. */
#ifndef DOUBLETS_H
#define DOUBLETS_H
#include "trigd/kernel.h"

#define DBT_LAYERS      10u /* 0-3 barrel, from the inside; 4-6 forward, 7-9 backward discs */
#define DBT_BARREL      4u  /* layers below this are cylinders, the others discs */
#define DBT_PAIRS_MAX   19u
#define DBT_GROUP       256u
#define DBT_GROUP_LARGE 1024u /* of kernels that have one group for an RoI */
#define DBT_GANG        8u    /* work-items of a GPU for a hit */
#define DBW_BINS        256u  /* of phi */
#define DBW_CELLS       (DBT_LAYERS * DBW_BINS)
#define DBW_TAKEN       (DBW_CELLS + 2u) /* behind the cell of hits on no layer, and the end: */
#define DBW_LEFT        (DBW_CELLS + 3u) /* doublets in `loose`; 1: not all that were found */
#define DBW_ROOM        (DBW_CELLS + 4u)
#define DBW_TILE        64u              /* hits that a group searches for at a time, at most */
#define DBW_DENSE       800000u          /* and fewer where these times the RoI's hits are more */
#define DBW_GANG        4u               /* work-items of a GPU for a portion, and for a row */
#define DBW_PORTION     16u              /* hits of a window */
#define DBW_LISTED      (6u * DBT_GROUP) /* doublets that a group can note */
#define DBW_LONG        64u              /* row that a whole group puts in order */
#define DBW_UNLISTED    0x80000000u      /* of where a row is: it is not there yet */
#define DBT_PI          3.14159274f
#define DBT_TURN        6.28318548f

struct dbt_pair { /* doublets from layer `inner` to layer `outer` */
    trg_u32 inner, outer;
    float phi_road;       /* rad: largest difference in phi */
    float z_road;         /* mm: largest difference in z */
    float past_r, past_z; /* mm: where r is past_r, the line through both is past this abs(z) */
};

struct dbt_cuts {                 /* of all pairs */
    float beam_x, beam_y, beam_z; /* mm */
    float beam_half;              /* mm: half length of the window on the beam line */
    float two_r_min;              /* mm: twice the radius of the softest track */
};

struct dbt_hit { /* about the beam line */
    float x, y, z, r, phi;
};

struct dbt_par {
    struct trg_span in, out;
    struct dbt_cuts cuts;
    struct dbt_pair pair[DBT_PAIRS_MAX]; /* in order of their inner layers */
    trg_u32 first[DBT_LAYERS + 1u];      /* of the pairs of each layer */
    trg_u32 n_pairs;
    trg_u32 n_rois;
    trg_u32 room;        /* places for hits: the stride of all columns */
    trg_u32 parts;       /* groups that share an RoI */
    trg_u32 max_roi;     /* doublets of one RoI at most */
    trg_u32 max_per_hit; /* and this many times its hits */
    trg_u32 out_room;    /* places for doublets: never too few */
    trg_u32 windows;     /* 1: without trees */
    trg_u32 tile;        /* hits that a group searches for at a time, a power of two */
    trg_u32 slots;       /* pairs that have the same inner layer, at most */
    trg_u32 gang;        /* work-items that share a hit, without trees: 1, 2, 4 .. 32 */
};

/* Most doublets of an RoI with n hits. */
TRG_FN trg_u32 dbt_limit_of(trg_u32 max_roi, trg_u32 max_per_hit, trg_u32 n)
{
    return n <= max_roi / max_per_hit ? n * max_per_hit : max_roi;
}

struct dbt_summary { /* of one RoI */
    trg_u32 n_used;  /* hits on layers that there are */
    trg_u32 wanted, kept;
};

/* Angle of (x, y) in [-pi, pi], to about 1e-7: the same bits on every device, as it needs nothing
 * but the four operations.  0 for the origin. */
TRG_FN float dbt_phi(float x, float y)
{
    const float ax = trg_fabs(x), ay = trg_fabs(y);
    const float low = ax < ay ? ax : ay, high = ax < ay ? ay : ax;
    float t = high > 0.0f ? low / high : 0.0f, base = 0.0f, z;

    if (t > 0.41421356f) { /* tan(pi/8): half of the octant is turned by pi/4 */
        t = (t - 1.0f) / (t + 1.0f);
        base = 0.78539816f;
    }
    z = t * t; /* a fit to (atan(t) - t) / t^3 in t^2, to 5e-9 in atan */
    z = z * (-0.33332757f + z * (0.19971879f + z * (-0.13824453f + z * 0.07902597f)));
    z = base + (t + t * z);
    if (ax < ay)
        z = 1.5707964f - z;
    if (x < 0.0f)
        z = DBT_PI - z;
    return y < 0.0f ? -z : z;
}

/* A hit about the beam line; its phi is left out. */
TRG_FN struct dbt_hit dbt_about_beam(const struct dbt_cuts c, float x, float y, float z)
{
    struct dbt_hit h;

    h.x = x - c.beam_x;
    h.y = y - c.beam_y;
    h.z = z - c.beam_z;
    h.r = trg_sqrt(h.x * h.x + h.y * h.y);
    h.phi = 0.0f;
    return h;
}

/* Whether a hit may be used: not on the beam line, not out of this world, no NaN. */
TRG_FN trg_u32 dbt_is_good(const struct dbt_hit h)
{
    return h.r > 1e-3f && h.r < 1e4f && trg_fabs(h.z) < 1e5f ? 1u : 0u;
}

/* Whether two hits of a pair of layers are a doublet: the difference in phi and in z is within the
 * roads; the straight line through both in (r, z) meets the beam line in its window, and leaves the
 * barrel before a layer that it may not cross; and the circle through both and the beam line is not
 * smaller than that of the softest track. */
TRG_FN trg_u32 dbt_accepts(const struct dbt_cuts c, const struct dbt_pair p, const struct dbt_hit i,
                           const struct dbt_hit o)
{
    const float dr = o.r - i.r, dx = o.x - i.x, dy = o.y - i.y;
    const float at_beam = i.z * o.r - o.z * i.r; /* z on the beam line, times dr */
    const float past = (i.z + c.beam_z) * dr + (p.past_r - i.r) * (o.z - i.z); /* the same */
    const float cross = i.x * o.y - i.y * o.x;
    const float jump = trg_fabs(o.phi - i.phi);
    const float back = DBT_TURN - jump,
                dphi = back < jump ? back : jump; /* the way round, if shorter */
    const float bent = c.two_r_min * c.two_r_min * (cross * cross);

    /* without branches, for vectors */
    return (trg_u32)(dr > 0.0f) & (trg_u32)(dphi <= p.phi_road) &
           (trg_u32)(trg_fabs(o.z - i.z) <= p.z_road) &
           (trg_u32)(trg_fabs(at_beam) <= c.beam_half * dr) &
           ((trg_u32)(o.r <= p.past_r) | (trg_u32)(trg_fabs(past) >= p.past_z * dr)) &
           (trg_u32)(i.r * i.r * (o.r * o.r) * (dx * dx + dy * dy) >= bent);
}

struct dbt_extent { /* where the hits of one layer are */
    float r_low, r_high, z_low, z_high;
};

struct dbt_box { /* in phi, and in z on cylinders or r on discs; phi may reach past +-pi */
    float low[2], high[2];
};

/* z on a cylinder: the lines through the ends of the beam window, at the ends of the range in r. */
TRG_FN void dbt_box_on_cylinder(const struct dbt_cuts c, const struct dbt_hit i,
                                const struct dbt_extent e, float margin, struct dbt_box *box)
{
    const float a = i.z - c.beam_half, b = i.z + c.beam_half, pad = margin / i.r;
    const float from = (e.r_low > i.r ? e.r_low : i.r) / i.r, to = e.r_high / i.r;
    const float z1 = a * from + c.beam_half, z2 = a * to + c.beam_half;
    const float z3 = b * from - c.beam_half, z4 = b * to - c.beam_half;

    box->low[1] = (z1 < z2 ? z1 : z2) - pad;
    box->high[1] = (z3 > z4 ? z3 : z4) + pad;
}

/* r on a disc: (i.z - half) r <= (z - half) i.r and (i.z + half) r >= (z + half) i.r for some z of
 * it. */
TRG_FN void dbt_box_on_disc(const struct dbt_cuts c, const struct dbt_hit i,
                            const struct dbt_extent e, float margin, struct dbt_box *box)
{
    const float a = i.z - c.beam_half, b = i.z + c.beam_half;
    const float most = (e.z_high - c.beam_half) * i.r + margin;
    const float least = (e.z_low + c.beam_half) * i.r - margin;

    box->low[1] = i.r;
    box->high[1] = e.r_high;
    if (a > 0.0f && most / a < box->high[1])
        box->high[1] = most / a;
    if (a < 0.0f && most / a > box->low[1])
        box->low[1] = most / a;
    if (b > 0.0f && least / b > box->low[1])
        box->low[1] = least / b;
    if (b < 0.0f && least / b < box->high[1])
        box->high[1] = least / b;
    if ((a == 0.0f && most < 0.0f) || (b == 0.0f && least > 0.0f))
        box->high[1] = -1e30f;
}

/* r on a disc, where the line has to be past the end of the barrel: with ends at z > 0, and seen
 * from z < end, (o.r - i.r) (end - z) <= (past_r - i.r) (o.z - z), or o.r <= past_r. */
TRG_FN void dbt_box_past(const struct dbt_cuts c, const struct dbt_pair p, const struct dbt_hit i,
                         const struct dbt_extent e, struct dbt_box *box)
{
    const float side = e.z_low + c.beam_z < 0.0f ? -1.0f : 1.0f, z = side * (i.z + c.beam_z);
    const float near = side * ((side > 0.0f ? e.z_low : e.z_high) + c.beam_z);
    const float far = side * ((side > 0.0f ? e.z_high : e.z_low) + c.beam_z);
    const float pad = 2e-6f * ((trg_fabs(z) + p.past_z) * e.r_high +
                               trg_fabs(p.past_r - i.r) * (trg_fabs(far) + trg_fabs(z)));
    float most;

    if (!(i.r < p.past_r && p.past_r < e.r_high) ||
        !(z < p.past_z && z > -p.past_z && near > -p.past_z))
        return;
    most = i.r + ((p.past_r - i.r) * (far - z) + pad) / (p.past_z - z);
    most = most > p.past_r ? most : p.past_r;
    if (most < box->high[1])
        box->high[1] = most;
}

/* A box that holds every hit of the outer layer, which is where `e` says, with which hit i can be a
 * doublet.  It is a little larger than it need be, so that rounding loses nothing; it may be empty.
 */
TRG_FN struct dbt_box dbt_box_of(const struct dbt_cuts c, const struct dbt_pair p,
                                 const struct dbt_hit i, const struct dbt_extent e)
{
    /* what rounding can make of i.z r - z i.r and of half (r - i.r) */
    const float far =
        trg_fabs(e.z_low) > trg_fabs(e.z_high) ? trg_fabs(e.z_low) : trg_fabs(e.z_high);
    const float margin = 1e-6f * ((trg_fabs(i.z) + c.beam_half) * e.r_high + far * i.r);
    float reach = p.phi_road, r_high = e.r_high;
    struct dbt_box box;

    if (p.outer < DBT_BARREL) {
        dbt_box_on_cylinder(c, i, e, margin, &box);
        if (i.z + p.z_road < box.high[1])
            box.high[1] = i.z + p.z_road;
        if (i.z - p.z_road > box.low[1])
            box.low[1] = i.z - p.z_road;
    } else {
        dbt_box_on_disc(c, i, e, margin, &box);
        dbt_box_past(c, p, i, e, &box);
        r_high = box.high[1] < r_high ? box.high[1] : r_high;
    }
    box.low[1] -= 1e-3f + 1e-5f * trg_fabs(box.low[1]);
    box.high[1] += 1e-3f + 1e-5f * trg_fabs(box.high[1]);
    if (!(e.r_high > i.r))
        box.high[1] = -1e30f; /* nothing is further out */
    if (r_high > i.r && r_high < 0.7f * c.two_r_min) {
        /* phi of a track changes by asin(r / 2R) from the beam line: no faster than at the far end
         */
        const float s = r_high / c.two_r_min;
        const float bend = (r_high - i.r) / (c.two_r_min * trg_sqrt(1.0f - s * s));

        reach = bend < reach ? bend : reach;
    }
    reach = reach + 1e-5f + 1e-5f * reach;
    box.low[0] = i.phi - reach;
    box.high[0] = i.phi + reach;
    return box;
}
#endif
