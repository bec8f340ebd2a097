/* SPDX-License-Identifier: Apache-2.0 */
/* near_chunk.h - a chunk of slices in shared memory, and one point in the middle of triplets there.
 * Part of near.kernel.c; near_triplets.h tells what it is for. */
#ifndef ZFINDER_NEAR_CHUNK_H
#define ZFINDER_NEAR_CHUNK_H
#include "near_gpu.h"

#define ZF_CHUNK   256u  /* points of a chunk; eight bits are enough for their numbers */
#define ZF_RUNS    448u  /* its slices times layers */
#define ZF_LISTED  4608u /* words for the outer pairs that are listed at once */
#define ZF_BELOW   ((TRG_GROUP_SCAN_SCRATCH + 3u) & ~3u) /* words of it that are scratch */
#define ZF_BUCKETS 32u                                   /* for sorting by lengths, longest first */
#define ZF_TILE    2u          /* inner pairs that a work-item holds against a list */
#define ZF_TILES   960u        /* that are handed out at once */
#define ZF_NOTHING 0x7fc00000u /* not a number: agrees with none */

struct zf_dense { /* slices outside of which no point has many near by */
    trg_u32 slice, end;
};

struct zf_desk {                      /* what a group has in shared memory */
    zf_packed listed[ZF_LISTED / 4u]; /* z of outer pairs, fours of them; scratch */
    zf_packed point[ZF_CHUNK];        /* by slice and layer; tags as zf_local_tag has them */
    trg_u32 bins[ZF_HIST_WORDS];      /* see near_gpu.h */
    trg_u32 start[ZF_RUNS + 1u];      /* of each slice's points of each layer, and the end */
    trg_u32 bucket[ZF_BUCKETS];       /* of a sort: how many */
    trg_u32 place[ZF_BUCKETS + 1u];   /* and where they go; how many in all */
    trg_u32 tile[ZF_TILES];           /* number of a middle point; from bit 16 on which tile */
    /* Middle points, those with most outer ones first: which point; from bit 8 on how many tiles of
     * inner ones it has; from bit 16 on where these are among all tiles, longest lists first. */
    trg_u32 order[ZF_CHUNK];
    trg_u32 list[ZF_CHUNK + 1u];              /* where its list begins, and one more: the end */
    trg_u32 length[ZF_CHUNK], most[ZF_CHUNK]; /* of the list; the largest per_mm, as an integer */
    struct zf_dense dense;
};

struct zf_chunk {
    trg_u32 slice, slices;    /* from the one before the first on; so that each has a neighbour on
                                 both sides, there are empty ones where the RoI ends */
    trg_u32 layers, n_layers; /* that have points */
    trg_u32 n_inner;          /* layers on which triplets may begin */
};

/* ---------------------------------------------------------------- points of a chunk */

/* The tag of a point in a chunk: slices from its first on times layers, and the number of the layer
 * among those that have points. */
TRG_FN trg_u32 zf_local_tag(const struct zf_chunk c, trg_u32 tag)
{
    return ((tag >> 8) - c.slice) * c.n_layers << 8 |
           trg_popcount(c.layers & ((1u << (tag & 255u)) - 1u));
}

/* Which run of points that makes. */
TRG_FN trg_u32 zf_run_of(trg_u32 local_tag)
{
    return (local_tag >> 8) + (local_tag & 255u);
}

/* Points of some layers in three slices: they lie in three runs.  All of it is in bytes, so that a
 * step from one to the next takes few instructions. */
struct zf_runs {
    TRG_LOCAL const char *from, *second, *third, *end; /* as if the runs lay side by side */
    trg_u32 skip, skip2;                               /* between the runs */
};

/* Those of layers [a, b), counted among the filled ones, near the slice of a point. */
TRG_FN struct zf_runs zf_runs(TRG_LOCAL const struct zf_desk *desk, const struct zf_chunk c,
                              trg_u32 local_tag, trg_u32 a, trg_u32 b)
{
    TRG_LOCAL const trg_u32 *from = desk->start + (local_tag >> 8) + a - c.n_layers;
    TRG_LOCAL const trg_u32 *to = from + (b - a);
    const trg_u32 size = (trg_u32)sizeof(zf_packed), n = c.n_layers;
    struct zf_runs x;

    x.from = (TRG_LOCAL const char *)(desk->point + from[0]);
    x.second = (TRG_LOCAL const char *)(desk->point + to[0]);
    x.third = x.second + (to[n] - from[n]) * size;
    x.end = x.third + (to[2u * n] - from[2u * n]) * size;
    x.skip = (from[n] - to[0]) * size;
    x.skip2 = (from[2u * n] - to[n]) * size;
    return x;
}

TRG_FN struct zf_runs zf_inner_runs(TRG_LOCAL const struct zf_desk *desk, const struct zf_chunk c,
                                    trg_u32 local_tag)
{
    const trg_u32 layer = local_tag & 255u;

    return zf_runs(desk, c, local_tag, 0u, layer < c.n_inner ? layer : c.n_inner);
}

TRG_FN struct zf_runs zf_outer_runs(TRG_LOCAL const struct zf_desk *desk, const struct zf_chunk c,
                                    trg_u32 local_tag)
{
    return zf_runs(desk, c, local_tag, (local_tag & 255u) + 1u, c.n_layers);
}

/* How many points there are. */
TRG_FN trg_u32 zf_in_runs(const struct zf_runs x)
{
    return (trg_u32)(x.end - x.from) / (trg_u32)sizeof(zf_packed);
}

/* The point at a place between x.from and x.end. */
TRG_FN struct zf_point zf_at(const struct zf_runs x, TRG_LOCAL const char *at)
{
    return zf_unpack(*(TRG_LOCAL const zf_packed *)(at + (at >= x.second ? x.skip : 0u) +
                                                    (at >= x.third ? x.skip2 : 0u)));
}

/* ---------------------------------------------------------------- one point in the middle */

struct zf_pair { /* of a point in the middle and another */
    float z;     /* on the beam line, mm; not a number if there is none */
    float bend; /* |difference in phi|, rad; of points across the end of a circle it is too large */
    float per_mm; /* the same over the difference in radius */
};

TRG_FN struct zf_pair zf_pair_of(const struct zf_point p, const struct zf_point middle,
                                 trg_u32 wild)
{
    const float n = middle.z * p.rho - p.z * middle.rho, d = p.rho - middle.rho;
    const float inv = wild ? 1.0f / d : zf_inverse(d);
    struct zf_pair x;

    x.z = wild ? n / d : zf_divide(n, d, inv);
    x.bend = trg_fabs(middle.phi - p.phi);
    x.per_mm = x.bend * trg_fabs(inv);
    return x;
}

/* Outer points that agree with an inner one in z, curvature and phi, as zf_triplets finds them. */
TRG_FN trg_u32 zf_exactly(const struct zf_runs out, const struct zf_point inner,
                          const struct zf_point middle, const struct zf_par *par, trg_u32 wild)
{
    const struct zf_other i =
        wild ? zf_other(inner, middle, 0.0f, 0.0f, 0u) : zf_other_tame(inner, middle);
    trg_u32 agree = 0u;

    for (TRG_LOCAL const char *at = out.from; at < out.end; at += sizeof(zf_packed)) {
        const struct zf_point p = zf_at(out, at);
        const struct zf_other o =
            wild ? zf_other(p, middle, 0.0f, 0.0f, 0u) : zf_other_tame(p, middle);

        agree += (trg_u32)(trg_fabs(o.z - i.z) <= par->triplet_dz &&
                           trg_fabs(o.k - i.k) <= par->triplet_dk &&
                           trg_fabs(i.dphi + o.p - i.p) < par->triplet_dphi);
    }
    return agree;
}

/* Lists z of every second outer pair, from the first or the second on, in every second place. */
TRG_FN void zf_list_outer(const struct zf_runs out, const struct zf_point middle, float far,
                          trg_u32 second, TRG_LOCAL float *list, TRG_LOCAL trg_u32 *length,
                          TRG_LOCAL trg_u32 *per_mm, trg_u32 wild)
{
    TRG_LOCAL float *next = list + second;
    trg_u32 most = 0u;

    for (TRG_LOCAL const char *at = out.from + second * (trg_u32)sizeof(zf_packed); at < out.end;
         at += 2u * (trg_u32)sizeof(zf_packed)) {
        const struct zf_pair x = zf_pair_of(zf_at(out, at), middle, wild);

        if (trg_fabs(x.z) <= far) {
            *next = x.z;
            next += 2;
            most = trg_as_u32(x.per_mm) > most ? trg_as_u32(x.per_mm) : most;
        }
    }
    if (next - list > 1) {
        TRG_ATOMIC_MAX_LOCAL(length, (trg_u32)(next - list) - 1u);
        TRG_ATOMIC_MAX_LOCAL(per_mm, most);
    }
}

/* How far an inner pair may bend and agree with all of a list in curvature and phi. */
struct zf_limits {
    float per_mm, phi;
};

/* With outer pairs that bend by `most` rad/mm.  What is left of a part in 10,000 is much more than
 * rounding can do. */
TRG_FN struct zf_limits zf_limits(const struct zf_par *par, float most, float rho)
{
    struct zf_limits x;

    x.per_mm = 0.5f * 0.9999f * par->triplet_dk - most;
    x.phi = 0.9999f * par->triplet_dphi - most * trg_fabs(rho);
    return x;
}

#define ZF_AGREE(list, z, dz) (trg_fabs(trg_as_f32(list) - (z)) <= (dz) ? 1.0f : 0.0f)

/* Counts the triplets of some inner pairs, which begin at `at`, with the list of n fours of outer
 * pairs. */
TRG_FN void zf_join_inner(TRG_LOCAL struct zf_desk *desk, const struct zf_chunk c,
                          const struct zf_point middle, const struct zf_runs in,
                          TRG_LOCAL const char *at, const struct zf_roi roi,
                          const struct zf_par *par, const struct zf_limits limits,
                          TRG_LOCAL const zf_packed *list, trg_u32 n, trg_u32 wild)
{
    const trg_u32 step = (trg_u32)sizeof(zf_packed);
    const float dz = par->triplet_dz;
    float z[ZF_TILE], agree[ZF_TILE];
    trg_u32 sure[ZF_TILE];

    for (trg_u32 k = 0; k < ZF_TILE; k++) {
        const trg_u32 there = at + k * step < in.end;
        const struct zf_point p = zf_at(in, there ? at + k * step : at);
        const struct zf_pair x = zf_pair_of(p, middle, wild);

        z[k] = there && trg_fabs(x.z) < par->z_max ? x.z : trg_as_f32(ZF_NOTHING);
        sure[k] =
            x.per_mm <= limits.per_mm && x.bend + x.per_mm * trg_fabs(p.rho) < limits.phi && !wild;
        agree[k] = 0.0f;
    }
#pragma unroll 1
    for (trg_u32 t = 0; t < n; t++) {
        const zf_packed q = list[t];

        for (trg_u32 k = 0; k < ZF_TILE; k++) {
            agree[k] += ZF_AGREE(q.x, z[k], dz);
            agree[k] += ZF_AGREE(q.y, z[k], dz);
            agree[k] += ZF_AGREE(q.z, z[k], dz);
            agree[k] += ZF_AGREE(q.w, z[k], dz);
        }
    }
    for (trg_u32 k = 0; k < ZF_TILE; k++) {
        trg_u32 found = (trg_u32)agree[k];

        if (found && !sure[k])
            found = zf_exactly(zf_outer_runs(desk, c, middle.tag), zf_at(in, at + k * step), middle,
                               par, wild);
        if (found)
            zf_count(desk->bins, zf_place(roi, par->z_max, z[k]),
                     par->triplet_mode == 1u ? 1u : found);
    }
}
#endif
