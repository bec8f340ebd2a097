/* SPDX-License-Identifier: Apache-2.0 */
/* geometry.h - lines, distances and vertices in float32; only operations that round alike on
 * every device. */
#ifndef VX_GEOMETRY_H
#define VX_GEOMETRY_H
#include "vertexing.h"

/* One track, loaded from the columns.  A column is a pointer and then an index, which compilers see
 * through when they vectorize; one 32-bit sum might wrap around. */
struct vx_line {
    float x, y, z, ux, uy, uz, v, c, vt;
};

TRG_FN struct vx_line vx_load(TRG_GLOBAL const float *t, trg_u32 room, trg_u32 i)
{
    struct vx_line l;

    l.x = (t + VX_X * room)[i];
    l.y = (t + VX_Y * room)[i];
    l.z = (t + VX_Z * room)[i];
    l.ux = (t + VX_UX * room)[i];
    l.uy = (t + VX_UY * room)[i];
    l.uz = (t + VX_UZ * room)[i];
    l.v = (t + VX_V * room)[i];
    l.c = (t + VX_C * room)[i];
    l.vt = (t + VX_VT * room)[i];
    return l;
}

/* The variance across the track where its z is `dz` further on. */
TRG_FN float vx_variance(struct vx_line l, float dz)
{
    const float v = l.v + 2.0f * dz * l.c + dz * dz * l.vt;

    return v > 1e-6f ? v : 1e-6f;
}

/* From the point (x, y, z) to the nearest one of the line, and its significance squared. */
struct vx_miss {
    float x, y, z, r2, inv_var, chi2;
};

/* `var_z`: of the point's own z, when that counts. */
TRG_FN struct vx_miss vx_from_about(struct vx_line l, float x, float y, float z, float var_z)
{
    const float dx = l.x - x, dy = l.y - y, dz = l.z - z;
    const float along = dx * l.ux + dy * l.uy + dz * l.uz;
    const float var = vx_variance(l, -along * l.uz) + var_z * (l.ux * l.ux + l.uy * l.uy);
    struct vx_miss m;

    m.x = dx - along * l.ux;
    m.y = dy - along * l.uy;
    m.z = dz - along * l.uz;
    m.r2 = m.x * m.x + m.y * m.y + m.z * m.z;
    m.inv_var = 1.0f / var;
    m.chi2 = m.r2 * m.inv_var;
    return m;
}

TRG_FN struct vx_miss vx_from(struct vx_line l, float x, float y, float z)
{
    return vx_from_about(l, x, y, z, 0.0f);
}

/* 1: the line misses the point by less than the root of `limit2`, in its errors; without division.
 */
TRG_FN trg_i32 vx_fits(struct vx_line l, float x, float y, float z, float limit2)
{
    const float dx = l.x - x, dy = l.y - y, dz = l.z - z;
    const float along = dx * l.ux + dy * l.uy + dz * l.uz;
    const float mx = dx - along * l.ux, my = dy - along * l.uy, mz = dz - along * l.uz;

    return mx * mx + my * my + mz * mz < limit2 * vx_variance(l, -along * l.uz) ? 1 : 0;
}

/* ---------------------------------------------------------------- two lines */

struct vx_pair {
    float cx, cy, cz; /* cross product of the directions */
    float sin2;       /* its length squared: sine of the angle, squared */
    float dx, dy, dz; /* from the first point to the second */
};

/* a d - b c and a dot product, with fused operations: they round the same everywhere and are fewer.
 */
TRG_FN float vx_minor(float a, float d, float b, float c)
{
    return trg_fma(a, d, -(b * c));
}

TRG_FN float vx_dot(float ax, float ay, float az, float bx, float by, float bz)
{
    return trg_fma(az, bz, trg_fma(ay, by, ax * bx));
}

TRG_FN struct vx_pair vx_pair_of(struct vx_line a, struct vx_line b)
{
    struct vx_pair p;

    p.cx = vx_minor(a.uy, b.uz, a.uz, b.uy);
    p.cy = vx_minor(a.uz, b.ux, a.ux, b.uz);
    p.cz = vx_minor(a.ux, b.uy, a.uy, b.ux);
    p.sin2 = vx_dot(p.cx, p.cy, p.cz, p.cx, p.cy, p.cz);
    p.dx = b.x - a.x;
    p.dy = b.y - a.y;
    p.dz = b.z - a.z;
    return p;
}

/* Below zero: skew lines are closer than the root of limit2, |dp . c| / |c|, without division and
 * root. */
TRG_FN float vx_excess(struct vx_pair p, float limit2)
{
    const float volume = vx_dot(p.dx, p.dy, p.dz, p.cx, p.cy, p.cz);

    return trg_fma(volume, volume, -(limit2 * p.sin2));
}

/* For near-parallel lines, where the cross product is all rounding: whether the part of dp across
 * the mean direction is below the limit. */
TRG_FN trg_u32 vx_is_near_parallel(struct vx_line a, struct vx_line b, struct vx_pair p,
                                   float limit2)
{
    const float mx = a.ux + b.ux, my = a.uy + b.uy, mz = a.uz + b.uz;
    const float along = p.dx * mx + p.dy * my + p.dz * mz;
    const float m2 = mx * mx + my * my + mz * mz;
    const float far2 = p.dx * p.dx + p.dy * p.dy + p.dz * p.dz;

    return (far2 - limit2) * m2 < along * along ? 1u : 0u;
}

/* Whether two lines come closer than `limit2` (mm^2) to each other. */
TRG_FN trg_u32 vx_is_near(struct vx_line a, struct vx_line b, float limit2, float parallel_sin2)
{
    const struct vx_pair p = vx_pair_of(a, b);

    if (p.sin2 > parallel_sin2)
        return vx_excess(p, limit2) < 0.0f ? 1u : 0u;
    return vx_is_near_parallel(a, b, p, limit2);
}

/* Where two lines cross: the middle of their closest points.  Near-parallel lines have no such
 * point; theirs is the middle of the two reference points. */
struct vx_point {
    float x, y, z;
};

TRG_FN struct vx_point vx_crossing(struct vx_line a, struct vx_line b, float parallel_sin2)
{
    const struct vx_pair p = vx_pair_of(a, b);
    struct vx_point q;
    float s = 0.0f, t = 0.0f;

    if (p.sin2 > parallel_sin2) {
        /* s = (dp x ub) . c / |c|^2,  t = (dp x ua) . c / |c|^2 */
        const float ax = p.dy * b.uz - p.dz * b.uy, ay = p.dz * b.ux - p.dx * b.uz,
                    az = p.dx * b.uy - p.dy * b.ux;
        const float bx = p.dy * a.uz - p.dz * a.uy, by = p.dz * a.ux - p.dx * a.uz,
                    bz = p.dx * a.uy - p.dy * a.ux;

        s = (ax * p.cx + ay * p.cy + az * p.cz) / p.sin2;
        t = (bx * p.cx + by * p.cy + bz * p.cz) / p.sin2;
    }
    q.x = 0.5f * ((a.x + s * a.ux) + (b.x + t * b.ux));
    q.y = 0.5f * ((a.y + s * a.uy) + (b.y + t * b.uy));
    q.z = 0.5f * ((a.z + s * a.uz) + (b.z + t * b.uz));
    return q;
}

/* The limit on the distance of two tracks, squared: doca_max, and with the statistical version
 * doca_sigmas standard deviations of both tracks at `z`, whichever is less. */
TRG_FN float vx_limit2(float doca_max, float doca_sigmas, struct vx_line a, struct vx_line b,
                       float z)
{
    const float most = doca_max * doca_max;
    const float var = vx_variance(a, z - a.z) + vx_variance(b, z - b.z);
    const float own = doca_sigmas * doca_sigmas * var;

    return doca_sigmas > 0.0f && own < most ? own : most;
}

/* ---------------------------------------------------------------- sums of a fit */

/* Sums over tracks of W = w / var (1 - u u^T), of W times the miss, and of what describes the
 * vertex.  They are integers, so that no order of adding makes a difference. */
enum {
    VX_S_W, /* 2^-10 / mm^2 */
    VX_S_XX,
    VX_S_YY,
    VX_S_XY,
    VX_S_XZ,
    VX_S_YZ,
    VX_S_GX, /* 2^-16 / mm */
    VX_S_GY,
    VX_S_GZ,
    VX_S_CHI2,   /* 2^-16 */
    VX_S_WEIGHT, /* 2^-16 */
    VX_S_N,
    VX_SUMS
};

/* x in units of 1 / scale, cut off at what 31 bits hold. */
TRG_FN trg_i32 vx_quanta(float x, float scale)
{
    float q = x * scale;

    q = q < 2.0e9f ? q : 2.0e9f;
    q = q > -2.0e9f ? q : -2.0e9f;
    return (trg_i32)q;
}

/* Tukey's biweight: (1 - chi2 / C^2)^2 inside C, nothing outside. */
TRG_FN float vx_tukey(float chi2, float inv_c2)
{
    const float q = 1.0f - chi2 * inv_c2;

    return q > 0.0f ? q * q : 0.0f;
}

/* Adds one track with weight w to the sums: `s` is an array of VX_SUMS trg_i64 of the caller. */
#define VX_ADD(s, l, m, w)                                     \
    do {                                                       \
        const float f_ = (w) * (m).inv_var;                    \
        (s)[VX_S_W] += vx_quanta(f_, 1024.0f);                 \
        (s)[VX_S_XX] += vx_quanta(f_ * l.ux * l.ux, 1024.0f);  \
        (s)[VX_S_YY] += vx_quanta(f_ * l.uy * l.uy, 1024.0f);  \
        (s)[VX_S_XY] += vx_quanta(f_ * l.ux * l.uy, 1024.0f);  \
        (s)[VX_S_XZ] += vx_quanta(f_ * l.ux * l.uz, 1024.0f);  \
        (s)[VX_S_YZ] += vx_quanta(f_ * l.uy * l.uz, 1024.0f);  \
        (s)[VX_S_GX] += vx_quanta(f_ * (m).x, 65536.0f);       \
        (s)[VX_S_GY] += vx_quanta(f_ * (m).y, 65536.0f);       \
        (s)[VX_S_GZ] += vx_quanta(f_ * (m).z, 65536.0f);       \
        (s)[VX_S_CHI2] += vx_quanta((m).chi2 * (w), 65536.0f); \
        (s)[VX_S_WEIGHT] += vx_quanta((w), 65536.0f);          \
        (s)[VX_S_N] += (w) > 0.0f ? 1 : 0;                     \
    } while (0)

/* Inverse of the symmetric matrix of the sums, and the step to the minimum. */
struct vx_step {
    float cov[6]; /* xx yy zz xy xz yz */
    float x, y, z;
    trg_u32 good; /* 0: the tracks do not fix a point */
};

TRG_FN struct vx_step vx_solve(TRG_LOCAL const trg_i64 *s)
{
    const float unit = 1.0f / 1024.0f, step = 1.0f / 65536.0f;
    const float xx = (float)(s[VX_S_W] - s[VX_S_XX]) * unit;
    const float yy = (float)(s[VX_S_W] - s[VX_S_YY]) * unit;
    const float zz = (float)(s[VX_S_XX] + s[VX_S_YY]) * unit;
    const float xy = -(float)s[VX_S_XY] * unit, xz = -(float)s[VX_S_XZ] * unit,
                yz = -(float)s[VX_S_YZ] * unit;
    const float gx = (float)s[VX_S_GX] * step, gy = (float)s[VX_S_GY] * step,
                gz = (float)s[VX_S_GZ] * step;
    const float a = yy * zz - yz * yz, b = xz * yz - xy * zz, c = xy * yz - xz * yy;
    const float d = xx * zz - xz * xz, e = xy * xz - xx * yz, f = xx * yy - xy * xy;
    const float det = xx * a + xy * b + xz * c;
    struct vx_step r;
    float inv;

    /* without two directions the determinant is rounding */
    r.good = det > 1e-7f * xx * yy * zz && s[VX_S_N] >= 2;
    inv = r.good ? 1.0f / det : 0.0f;
    r.cov[0] = a * inv;
    r.cov[1] = d * inv;
    r.cov[2] = f * inv;
    r.cov[3] = b * inv;
    r.cov[4] = c * inv;
    r.cov[5] = e * inv;
    r.x = r.cov[0] * gx + r.cov[3] * gy + r.cov[4] * gz;
    r.y = r.cov[3] * gx + r.cov[1] * gy + r.cov[5] * gz;
    r.z = r.cov[4] * gx + r.cov[5] * gy + r.cov[2] * gz;
    r.good = r.good && r.cov[0] > 0.0f && r.cov[1] > 0.0f && r.cov[2] > 0.0f;
    return r;
}

struct vx_cov { /* mm^2, as in struct vx_vertex */
    float xx, yy, zz, xy, xz, yz;
};

/* How far (dx, dy, dz) is from a vertex in units of the vertex's error along that way, squared:
 * d^4 / (d^T C d). */
TRG_FN float vx_significance2(const struct vx_cov c, float dx, float dy, float dz)
{
    const float d2 = dx * dx + dy * dy + dz * dz;
    const float along = c.xx * dx * dx + c.yy * dy * dy + c.zz * dz * dz +
                        2.0f * (c.xy * dx * dy + c.xz * dx * dz + c.yz * dy * dz);

    return along > 0.0f ? d2 * (d2 / along) : 0.0f;
}
#endif
