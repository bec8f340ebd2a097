/* SPDX-License-Identifier: Apache-2.0 */
/* cell.h - one cell of the lattice: how its distributions are stored, and its collision.  Part of
 * lattice.kernel.c and lattice16.kernel.c, which differ in how they are stored. */
#ifndef LATTICE_CELL_H
#define LATTICE_CELL_H
#include "lattice.h"

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define LT_HOST 1
#else
#define LT_HOST 0
#endif

/* The nine places of different cells are different: a loop over cells may take many at once.  clang
 * 14 cannot, and says so. */
#if LT_HOST && !defined(__clang__)
#define LT_CELLS_APART _Pragma("GCC ivdep")
#else
#define LT_CELLS_APART
#endif

/* ---------------------------------------------------------------- storage */

#if defined(LT_HALF)
/* 16 bits: the number times 2^15 as IEEE half, so that 2 is the largest (M. Lehmann et al., Phys.
 * Rev. E 106, 015308, 2022: FP16S).  Rounded to nearest, ties to even, by all devices. */
typedef trg_u16 lt_number;
#define LT_HALF_SCALE 32768.0f
#if defined(__CUDACC__)
TRG_FN float lt_load(TRG_GLOBAL const lt_number *p, trg_u32 i)
{
    float x;

    __asm__("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(p[i]));
    return x * (1.0f / LT_HALF_SCALE);
}
TRG_FN void lt_store(TRG_GLOBAL lt_number *p, trg_u32 i, float x)
{
    lt_number h;

    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x * LT_HALF_SCALE));
    p[i] = h;
}
#else
/* By the bits of floats: no device has to know halves. */
TRG_FN float lt_load(TRG_GLOBAL const lt_number *p, trg_u32 i)
{
    const trg_u32 h = p[i];
    /* 2^112 makes exponents of one what they are in the other, subnormal ones as well; 2^-15 of it
     */
    const float x = trg_as_f32((h & 0x7fffu) << 13) * 158456325028528675187087900672.0f;

    return trg_as_f32(trg_as_u32(x) | (h & 0x8000u) << 16);
}
TRG_FN void lt_store(TRG_GLOBAL lt_number *p, trg_u32 i, float value)
{
    const trg_u32 bits = trg_as_u32(value * LT_HALF_SCALE), sign = bits >> 16 & 0x8000u;
    const trg_u32 size = bits & 0x7fffffffu;
    /* below 2^-14, steps of 2^-24: adding 1/2 rounds to them */
    const trg_u32 small = trg_as_u32(trg_as_f32(size) + 0.5f) - 0x3f000000u;
    const trg_u32 normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    const trg_u32 finite = size < 0x38800000u ? small : normal;
    const trg_u32 large = size > 0x7f800000u ? 0x7fffu : 0x7c00u; /* what is none; infinity */

    p[i] = (lt_number)(sign | (size < 0x477ff000u ? finite : large));
}
#endif
#else
typedef float lt_number;
TRG_FN float lt_load(TRG_GLOBAL const lt_number *p, trg_u32 i)
{
    return p[i];
}
TRG_FN void lt_store(TRG_GLOBAL lt_number *p, trg_u32 i, float x)
{
    p[i] = x;
}
#endif

/* ---------------------------------------------------------------- collision */

struct lt_nine {
    float f0, f1, f2, f3, f4, f5, f6, f7, f8;
};

/* 1 / rho, rounded as IEEE wants it, of a density that is not wild.  The chip's own reciprocal is
 * off by a part in 2^23; one step of Newton's rounds it right. */
TRG_FN float lt_inverse(float rho)
{
#if defined(__CUDACC__)
    float y;

    __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(rho));
    return trg_fma(y, trg_fma(-rho, y, 1.0f), y);
#else
    return 1.0f / rho;
#endif
}

/* Floats next to 1/3 and 1/12 for which 2/3 + 4/12 is exactly 1: momentum would else grow by some
 * parts in 10^8 a step, which is much where a flow takes 10^5 steps to decay. */
#define LT_TWELFTH (5592405.0f / 67108864.0f)
#define LT_THIRD   (0.5f - 2.0f * LT_TWELFTH)

struct lt_motion { /* of what arrived at a cell */
    float jj;      /* momentum, squared */
    float inverse; /* 1 / density */
};

/* Speed in units of 2^-32 cells a step, LT_SPEED_LIMIT for 1/2 and more or what is not a number. */
TRG_FN trg_u32 lt_speed(const struct lt_motion m)
{
    const float speed = trg_sqrt(m.jj) * m.inverse;

    return (trg_u32)(trg_i32)((trg_fabs(speed) < 0.49999997f ? speed : 0.49999997f) *
                                  4294967296.0f +
                              0.5f);
}

/* Collides what arrived at a free cell.  The even part of each pair of opposite directions relaxes
 * with omega, the odd part with an omega of its own (two relaxation times; BGK where both are
 * equal). */
TRG_FN struct lt_motion lt_collide(struct lt_nine *c, const struct lt_numbers n)
{
    const float sum_x = c->f1 + c->f3, sum_y = c->f2 + c->f4;
    const float sum_u = c->f5 + c->f7, sum_d = c->f6 + c->f8;
    const float dif_x = c->f1 - c->f3, dif_y = c->f2 - c->f4;
    const float dif_u = c->f5 - c->f7, dif_d = c->f6 - c->f8;
    const float jx = dif_x + (dif_u - dif_d), jy = dif_y + (dif_u + dif_d);
    const float more = (c->f0 + (sum_x + sum_y)) + (sum_u + sum_d); /* than at rest */
    const float inverse = lt_inverse(n.density + more);
    const float xx = jx * jx, yy = jy * jy, jj = xx + yy, up = jx + jy, down = jy - jx;
    const float scale = 4.5f * inverse, base = more - jj * (1.5f * inverse);
    const float even_x = sum_x * n.even + n.even_1 * (base + scale * xx);
    const float even_y = sum_y * n.even + n.even_1 * (base + scale * yy);
    const float even_u = sum_u * n.even + n.even_2 * (base + scale * (up * up));
    const float even_d = sum_d * n.even + n.even_2 * (base + scale * (down * down));
    const float mx = n.odd_omega * jx + n.force_x, my = n.odd_omega * jy + n.force_y;
    const float odd_x = dif_x * n.odd + mx * LT_THIRD;
    const float odd_y = dif_y * n.odd + my * LT_THIRD;
    const float odd_u = dif_u * n.odd + (mx + my) * LT_TWELFTH;
    const float odd_d = dif_d * n.odd + (my - mx) * LT_TWELFTH;
    struct lt_motion motion;

    c->f0 = c->f0 * n.keep + n.rest * base;
    c->f1 = even_x + odd_x;
    c->f3 = even_x - odd_x;
    c->f2 = even_y + odd_y;
    c->f4 = even_y - odd_y;
    c->f5 = even_u + odd_u;
    c->f7 = even_u - odd_u;
    c->f6 = even_d + odd_d;
    c->f8 = even_d - odd_d;
    motion.jj = jj;
    motion.inverse = inverse;
    return motion;
}

/* The push of the acceleration row, for the next step: where no distribution becomes negative. */
TRG_FN void lt_push(struct lt_nine *c, const struct lt_numbers n)
{
    const trg_u32 is_pushed = c->f3 + n.shift_1 - n.accel_1 > 0.0f &&
                              c->f6 + n.shift_2 - n.accel_2 > 0.0f &&
                              c->f7 + n.shift_2 - n.accel_2 > 0.0f;
    const float push_1 = is_pushed ? n.accel_1 : 0.0f, push_2 = is_pushed ? n.accel_2 : 0.0f;

    c->f1 += push_1;
    c->f5 += push_2;
    c->f8 += push_2;
    c->f3 -= push_1;
    c->f6 -= push_2;
    c->f7 -= push_2;
}
#endif
