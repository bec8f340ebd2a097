/* SPDX-License-Identifier: Apache-2.0 */
/* points.h - how the points lie that zf_sort leaves, sorted by slice.  GPUs read and write a point
 * with one instruction of 16 bytes; the CPU wants columns for its vectors. */
#ifndef ZFINDER_POINTS_H
#define ZFINDER_POINTS_H
#include "trigd/kernel.h"
#include "zfinder.h"

/* Chooses between two floats that are both there.  GCC makes branches of conditions in loops for
 * AVX2, and vectors of masks. */
#define ZF_MASK(condition) (0u - (trg_u32)(condition))
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define ZF_CHOOSE(condition, a, b) ((condition) ? (a) : (b))
#else
#define ZF_CHOOSE(condition, a, b) \
    trg_as_f32((trg_as_u32(a) & ZF_MASK(condition)) | (trg_as_u32(b) & ~ZF_MASK(condition)))
#endif

struct zf_point {
    float phi, rho, z;
    trg_u32 tag; /* slice << 8 | layer */
};

/* Whether a point is none of those between which zf_divide may divide: coordinates of mm that no
 * detector has.  Between others no product overflows, and neither the reciprocal of a difference of
 * radii nor the rest of a division gets lost in the smallest numbers. */
TRG_FN trg_u32 zf_is_wild(float rho, float z)
{
    const float r = trg_fabs(rho), a = trg_fabs(z);

    return !(r <= 1e6f && (r >= 1e-6f || r == 0.0f) && a <= 1e9f && (a >= 1e-9f || a == 0.0f));
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
typedef uint4 zf_packed; /* integers: no device flushes them */

struct zf_view { /* all that the search reads of one RoI */
    TRG_GLOBAL const zf_packed *point;
    TRG_GLOBAL const trg_u32 *start;
    TRG_GLOBAL const trg_u8 *neighbours; /* [layer][layer] */
};

TRG_FN struct zf_point zf_unpack(const zf_packed x)
{
    struct zf_point p;

    p.phi = trg_as_f32(x.x);
    p.rho = trg_as_f32(x.y);
    p.z = trg_as_f32(x.z);
    p.tag = x.w;
    return p;
}

TRG_FN struct zf_point zf_point(const struct zf_view v, trg_u32 i)
{
    return zf_unpack(v.point[i]);
}

/* The same points, numbered from i on. */
TRG_FN struct zf_view zf_from(struct zf_view v, trg_u32 i)
{
    v.point += i;
    return v;
}

TRG_FN trg_u32 zf_tag(const struct zf_view v, trg_u32 i)
{
    return v.point[i].w;
}

TRG_FN void zf_store(TRG_GLOBAL float *points, TRG_GLOBAL trg_u32 *tags, trg_u32 room, trg_u32 i,
                     const struct zf_point p)
{
    zf_packed x;

    x.x = trg_as_u32(p.phi);
    x.y = trg_as_u32(p.rho);
    x.z = trg_as_u32(p.z);
    x.w = p.tag;
    ((TRG_GLOBAL zf_packed *)points)[i] = x;
    (void)tags;
    (void)room;
}

#define ZF_VIEW(points, tags, starts, neighbours, r, par)                                  \
    {                                                                                      \
        (TRG_GLOBAL const zf_packed *)(points), (starts) + (r) * ((par).slices_room + 1u), \
            neighbours                                                                     \
    }
#else
struct zf_view {
    const float *phi, *rho, *z;
    const trg_u32 *tag, *start;
    const trg_u8 *neighbours;
};

TRG_FN struct zf_point zf_point(const struct zf_view v, trg_u32 i)
{
    return (struct zf_point){v.phi[i], v.rho[i], v.z[i], v.tag[i]};
}

TRG_FN struct zf_view zf_from(struct zf_view v, trg_u32 i)
{
    v.phi += i;
    v.rho += i;
    v.z += i;
    v.tag += i;
    return v;
}

TRG_FN trg_u32 zf_tag(const struct zf_view v, trg_u32 i)
{
    return v.tag[i];
}

TRG_FN void zf_store(float *points, trg_u32 *tags, trg_u32 room, trg_u32 i, const struct zf_point p)
{
    points[i] = p.phi;
    points[room + i] = p.rho;
    points[2u * room + i] = p.z;
    tags[i] = p.tag;
}

#define ZF_VIEW(points, tags, starts, neighbours, r, par)                            \
    {                                                                                \
        points, (points) + (par).items_room, (points) + 2u * (par).items_room, tags, \
            (starts) + (r) * ((par).slices_room + 1u), neighbours                    \
    }
#endif
#endif
