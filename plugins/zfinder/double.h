/* SPDX-License-Identifier: Apache-2.0 */
/* double.h - pairs and triplets in double precision, as the ATLAS original counts them.
 *
 * A pair's z, and with it its bin, is a double: in float32 one pair in a thousand falls into the
 * next bin.  All that a triplet compares is known of its two pairs alone, drawn from the middle
 * point: z on the beam line and the curvature k.  The phi on the beam line of two pairs with the
 * same middle point differs by the difference of their curvatures times half of its radius.  These
 * terms are rounded to float32 before they are compared. */
#ifndef ZFINDER_DOUBLE_H
#define ZFINDER_DOUBLE_H
#include "points.h"
#include "trigd/common/group.h"

#if defined(__OPENCL_VERSION__)
#if !defined(cl_khr_fp64)
#error "the z-finder counts as the ATLAS original only on devices with double precision"
#endif
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef double zf_real;
#define ZF_TWO_PI 6.283185307179586
/* What the original adds on both sides of the range of the points, rad. */
#define ZF_MARGIN 1e-10

TRG_FN double zf_inv_slice(const struct zf_roi roi)
{
    return (double)roi.inv_slice + (double)roi.inv_slice_rest;
}

TRG_FN double zf_inv_bin(const struct zf_roi roi)
{
    return (double)roi.inv_bin + (double)roi.inv_bin_rest;
}

/* phi from where slice 0 begins, from 0 on. */
TRG_FN double zf_from_start(const struct zf_roi roi, float phi)
{
    const double d = (double)phi - ((double)roi.phi_min + (double)roi.phi_min_rest);

    return d < 0.0 ? d + ZF_TWO_PI : d;
}

/* The slice of a point, or n_slices when it is outside the RoI or its layer is not used. */
TRG_FN trg_u32 zf_slice_of(const struct zf_roi roi, float phi, trg_u32 layer, trg_u32 layers_used)
{
    const double d = zf_from_start(roi, phi);
    trg_u32 s;

    if (!(d < (double)roi.phi_width) || layer >= ZF_LAYERS || !(layers_used >> layer & 1u))
        return roi.n_slices;
    s = (trg_u32)(d * zf_inv_slice(roi));
    return s < roi.n_slices ? s : roi.n_slices - 1u;
}

/* Largest and smallest phi of the points above 0, and of -phi of those below, as the bits of a
 * float, which grow with it. */
struct zf_extremes {
    trg_u32 above_min, above_max, below_min, below_max;
};

TRG_FN void zf_extend(TRG_LOCAL struct zf_extremes *e, float phi)
{
    const trg_u32 bits = trg_as_u32(phi) & 0x7fffffffu;

    if (phi > 0.0f) {
        TRG_ATOMIC_MIN_LOCAL(&e->above_min, bits);
        TRG_ATOMIC_MAX_LOCAL(&e->above_max, bits);
    } else if (phi < 0.0f) {
        TRG_ATOMIC_MIN_LOCAL(&e->below_min, bits);
        TRG_ATOMIC_MAX_LOCAL(&e->below_max, bits);
    }
}

/* The range in phi that the points span, where that is less than half of the circle; between points
 * on both sides of 0 the smaller gap decides whether the range goes through 0 or through pi. */
TRG_FN struct zf_roi zf_range_of(struct zf_roi roi, const struct zf_extremes e)
{
    const float above_min = trg_as_f32(e.above_min), above_max = trg_as_f32(e.above_max);
    const float below_min = -trg_as_f32(e.below_min), below_max = -trg_as_f32(e.below_max);
    const trg_u32 any_above = (trg_u32)(e.above_max > 0u), any_below = (trg_u32)(e.below_max > 0u);
    float first = 0.0f, last = 0.0f;
    double width;

    if (any_above && (!any_below || (double)above_min - (double)below_min >= 0.5 * ZF_TWO_PI)) {
        first = above_min;
        last = any_below ? below_min : above_max;
    } else if (any_below) {
        first = below_max;
        last = any_above ? above_max : below_min;
    }
    width = (double)last - (double)first + 2.0 * ZF_MARGIN;
    if (width < 0.0)
        width += ZF_TWO_PI;
    roi.phi_min = first;
    roi.phi_min_rest = (float)-ZF_MARGIN;
    roi.phi_width = (float)width + 1e-6f; /* no point but those at 0 can be outside */
    roi.n_slices = (trg_u32)(width * zf_inv_slice(roi)) + 1u;
    return roi;
}

/* The RoI with its range in phi, for all of the group. */
TRG_GROUP_FN struct zf_roi zf_take_range(TRG_LOCAL struct zf_extremes *e,
                                         TRG_GLOBAL const float *phi, trg_u32 first, trg_u32 end,
                                         struct zf_roi roi)
{
    if (TRG_LID == 0u) {
        e->above_min = e->below_min = 0xffffffffu;
        e->above_max = e->below_max = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = first + TRG_LID; i < end && roi.from_points; i += TRG_LSIZE)
        zf_extend(e, phi[i]);
    TRG_BARRIER();
    if (roi.from_points)
        roi = zf_range_of(roi, *e);
    return roi;
}

/* z on the beam line of the straight line through two points. */
TRG_FN double zf_extrapolate(double r1, double z1, double r2, double z2)
{
    return (z2 * r1 - z1 * r2) * (1.0 / (r1 - r2));
}

/* Twice the change of phi between two points, drawn from the middle one, over that of the radius:
 * the curvature. */
TRG_FN float zf_curvature(double r, double from_start, double middle_r, double middle_from_start)
{
    return (float)(2.0 * (middle_from_start - from_start) * (1.0 / (r - middle_r)));
}

/* By how much the curvatures of two pairs with this middle point may differ: by the cut on them,
 * and by what the cut in phi leaves. */
TRG_FN float zf_bend_apart(const struct zf_par *par, double middle_r)
{
    const double by_phi = (double)par->triplet_dphi / (0.5 * middle_r);

    return (double)par->triplet_dk < by_phi ? par->triplet_dk : (float)by_phi;
}

TRG_FN float zf_size(float x)
{
    return x < 0.0f ? -x : x;
}

/* Third points further out that agree with the pair (i, o) in z, curvature and phi. */
TRG_FN trg_u32 zf_triplets(const struct zf_view v, const struct zf_roi roi,
                           const struct zf_par *par, trg_u32 i, trg_u32 o, double z0)
{
    const struct zf_point inner = zf_point(v, i), middle = zf_point(v, o);
    const trg_u32 inner_slice = inner.tag >> 8, slice = middle.tag >> 8, layer = middle.tag & 255u;
    const trg_u32 most = zf_reach_most(v, roi, layer);
    /* the bending goes on in the direction in which it began */
    const trg_u32 down = slice >= inner_slice ? 1u : most, up = slice <= inner_slice ? 1u : most;
    const trg_u32 low = slice > down ? slice - down : 0u;
    const trg_u32 high = slice + up + 1u < roi.n_slices ? slice + up + 1u : roi.n_slices;
    const double ro = (double)middle.rho, zo = (double)middle.z;
    const double po = zf_from_start(roi, middle.phi);
    const float k = zf_curvature((double)inner.rho, zf_from_start(roi, inner.phi), ro, po);
    const float dk = zf_bend_apart(par, ro), z = (float)z0;
    trg_u32 n = 0u;

    for (trg_u32 t = v.start[low]; t < v.start[high]; t++) {
        const struct zf_point p = zf_point(v, t);
        const trg_u32 t_layer = p.tag & 255u, t_slice = p.tag >> 8;
        const trg_u32 apart = t_slice > slice ? t_slice - slice : slice - t_slice;

        if (t_layer <= layer || apart > zf_reach(v, roi, par->last_barrel, layer, t_layer))
            continue;
        if (!(zf_size((float)zf_extrapolate(ro, zo, (double)p.rho, (double)p.z) - z) <=
              par->triplet_dz))
            continue;
        if (!(zf_size(zf_curvature((double)p.rho, zf_from_start(roi, p.phi), ro, po) - k) <= dk))
            continue;
        if (par->triplet_mode == 1u)
            return 1u;
        n++;
    }
    return n;
}

/* What a pair adds: entries (0 for none), and in *ret_t its place in units of bins. */
TRG_FN trg_u32 zf_weight(const struct zf_view v, const struct zf_roi roi, const struct zf_par *par,
                         trg_u32 i, trg_u32 o, double *ret_t)
{
    const struct zf_point a = zf_point(v, i), b = zf_point(v, o);
    const double z0 = zf_extrapolate((double)a.rho, (double)a.z, (double)b.rho, (double)b.z);

    if (!(z0 > (double)roi.z_low && z0 < (double)roi.z_high))
        return 0u;
    *ret_t = z0 * zf_inv_bin(roi) + (double)roi.origin;
    return par->triplet_mode ? zf_triplets(v, roi, par, i, o, z0) : 1u;
}
#endif
