/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/math.h - sin, cos, atan2, exp, log and pow for kernels in the dialect of trigd/kernel.h.
 *
 * They are made of the four operations, trg_fma and operations on integers, and so give the same
 * bits on the CPU, OpenCL and CUDA.  Errors in units of the last place of the true value, the
 * largest that tests/dialect/test_math.c allows:
 *
 *     trg_sin(x), trg_cos(x)   3 ulp    |x| < 2^24; NaN beyond
 *     trg_atan2(y, x)          3 ulp    finite; 0 where both are 0
 *     trg_exp(x)               2 ulp    infinite above 88.72
 *     trg_ln(x)                2 ulp    -infinity at 0, NaN below
 *     trg_pow(x, y)            2 ulp    x >= 0; NaN below
 *
 * Results smaller than 2^-126 are 0.  A NaN gives a NaN.
 *
 * The coefficients are minimax fits (Lawson's iteration) of the range after the
 * reduction.  Angles are reduced with 1 / (2 pi) as an integer of 96 bits, after M. Payne and
 * R. Hanek, SIGNUM Newsletter 18 (1983) 19; pow carries the logarithm in two floats, after
 * T. Dekker, Numer. Math. 18 (1971) 224. */
#ifndef TRG_MATH_H
#define TRG_MATH_H
#include "trigd/kernel.h"

#define TRG_INFINITY_ trg_as_f32(0x7f800000u)
#define TRG_NAN_      trg_as_f32(0x7fc00000u)

/* ---------------------------------------------------------------- sin, cos */

struct trg_angle_ { /* an angle >= 0 as quarter turns and the rest, -pi/4 to pi/4 */
    float rest;
    trg_u32 quarters;
};

/* x from 0.5 to 2^24: the fraction of x / (2 pi) in units of 2^-64. */
TRG_FN trg_u64 trg_turns_(float x)
{
    const trg_u32 bits = trg_as_u32(x);
    const trg_u64 m = (bits & 0x007fffffu) | 0x00800000u;
    const trg_u32 shift = 182u - (bits >> 23); /* 32 to 56 */
    const trg_u64 p0 = m * 0x7f09d5f4u;
    const trg_u64 p1 = m * 0x9391054au + (p0 >> 32);
    const trg_u64 high = m * 0x28be60dbu + (p1 >> 32);
    const trg_u64 low = (p1 << 32) | (p0 & 0xffffffffu);

    return (high << (64u - shift)) | (low >> shift);
}

TRG_FN struct trg_angle_ trg_reduce_(float x)
{
    struct trg_angle_ a;
    trg_u64 turns, quarters;

    a.rest = x;
    a.quarters = 0u;
    if (x < 0.5f)
        return a;
    turns = trg_turns_(x);
    quarters = (turns + ((trg_u64)1u << 61)) >> 62;
    a.rest = (float)(trg_i64)(turns - (quarters << 62)) * 3.4061217e-19f; /* 2 pi / 2^64 */
    a.quarters = (trg_u32)quarters;
    return a;
}

/* The sine of an angle, quarters of a turn further on. */
TRG_FN float trg_wave_(float x, trg_u32 further)
{
    const struct trg_angle_ a = trg_reduce_(x);
    const trg_u32 quarters = a.quarters + further;
    const float z = a.rest * a.rest;
    const float s = a.rest + a.rest * z * (-0.16666655f + z * (0.008332176f - z * 0.00019516982f));
    const float c =
        1.0f - 0.5f * z + z * z * (0.041666646f + z * (-0.0013887364f + z * 2.4438094e-05f));
    const float v = (quarters & 1u) ? c : s;

    return (quarters & 2u) ? -v : v;
}

TRG_FN float trg_sin(float x)
{
    const float size = trg_fabs(x);
    float s;

    if (!(size < 16777216.0f))
        return TRG_NAN_;
    s = trg_wave_(size, 0u);
    return x < 0.0f ? -s : s;
}

TRG_FN float trg_cos(float x)
{
    const float size = trg_fabs(x);

    if (!(size < 16777216.0f))
        return TRG_NAN_;
    return trg_wave_(size, 1u);
}

/* ---------------------------------------------------------------- atan2 */

/* The angle of (x, y), -pi to pi. */
TRG_FN float trg_atan2(float y, float x)
{
    const float ax = trg_fabs(x), ay = trg_fabs(y);
    const float large = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
    const float quotient = large > 0.0f ? small / large : 0.0f;
    const trg_u32 is_steep = quotient > 0.41421357f; /* tan(pi/8) */
    const float t = is_steep ? (small - large) / (small + large) : quotient;
    const float z = t * t;
    float a = t + t * z * (-0.33332953f + z * (0.19977868f + z * (-0.13879164f + z * 0.08057912f)));

    if (x != x || y != y)
        return TRG_NAN_;
    if (is_steep)
        a += 0.78539819f;
    if (ay > ax)
        a = 1.57079637f - a;
    if (x < 0.0f)
        a = 3.14159274f - a;
    return y < 0.0f ? -a : a;
}

/* ---------------------------------------------------------------- exp, log, pow */

/* x * 2^k for x from 0.5 to 2 and k from -150 to 128. */
TRG_FN float trg_scale_(float x, trg_i32 k)
{
    const trg_i32 half_k = k >> 1;
    const float y = x * trg_as_f32((trg_u32)(half_k + 127) << 23) *
                    trg_as_f32((trg_u32)(k - half_k + 127) << 23);

    return y < 1.17549435e-38f ? 0.0f : y;
}

TRG_FN float trg_exp(float x)
{
    float k, r, p;

    if (!(x < 88.722839f)) /* also NaN, which stays */
        return x != x ? x : TRG_INFINITY_;
    if (x < -87.4f)
        return 0.0f;
    k = trg_floor(x * 1.442695f + 0.5f);
    r = (x - k * 0.69311523f) - k * 3.1946183e-05f; /* ln 2 in two parts */
    p = 0.5f + r * (0.16666518f + r * (0.041666206f + r * (0.008368953f + r * 0.0013950599f)));
    return trg_scale_(1.0f + (r + r * r * p), (trg_i32)k);
}

struct trg_mantissa_ { /* x = value * 2^exponent, value from sqrt(1/2) to sqrt(2) */
    float value;
    trg_i32 exponent;
};

/* Of a positive finite number. */
TRG_FN struct trg_mantissa_ trg_split_(float x)
{
    const trg_u32 is_tiny = x < 1.17549435e-38f;
    const trg_u32 bits = trg_as_u32(is_tiny ? x * 8388608.0f : x);
    const trg_u32 is_large = (bits & 0x007fffffu) > 0x003504f3u; /* above sqrt(2) */
    struct trg_mantissa_ m;

    m.value = trg_as_f32((bits & 0x007fffffu) | (is_large ? 0x3f000000u : 0x3f800000u));
    m.exponent = (trg_i32)(bits >> 23) - (is_tiny ? 150 : 127) + (trg_i32)is_large;
    return m;
}

TRG_FN float trg_ln(float x)
{
    struct trg_mantissa_ m;
    float e, f, s, w;

    if (!(x > 0.0f))
        return x < 0.0f || x != x ? TRG_NAN_ : -TRG_INFINITY_;
    if (x == TRG_INFINITY_)
        return x;
    m = trg_split_(x);
    e = (float)m.exponent;
    f = m.value - 1.0f;
    s = f / (2.0f + f);
    w = s * s;
    /* log(1 + f) = 2 s + s w P = f - s (f - w P) */
    w = f - s * (f - w * (0.66666666f + w * (0.40000337f + w * (0.28537217f + w * 0.23584f))));
    return e * 0.69311523f + (w + e * 3.1946183e-05f);
}

struct trg_pair_ { /* a sum of two floats, the second within half a unit of the first's last place
                    */
    float high, low;
};

TRG_FN struct trg_pair_ trg_product_(float a, float b)
{
    struct trg_pair_ p;

    p.high = a * b;
    p.low = trg_fma(a, b, -p.high);
    return p;
}

/* The sum where |a| >= |b| or a is 0. */
TRG_FN struct trg_pair_ trg_sum_(float a, float b)
{
    struct trg_pair_ s;

    s.high = a + b;
    s.low = (a - s.high) + b;
    return s;
}

/* The logarithm to base 2 of a positive finite number: s 2 / ln 2 + s^3 P(s^2) with s = (m - 1) /
 * (m + 1), the first two terms in pairs. */
TRG_FN struct trg_pair_ trg_log2_(float x)
{
    const struct trg_mantissa_ m = trg_split_(x);
    const float n = m.value - 1.0f, d = m.value + 1.0f, d_low = m.value - (d - 1.0f);
    const float s = n / d, s_low = (trg_fma(-s, d, n) - s * d_low) / d;
    const struct trg_pair_ linear = trg_product_(s, 2.88539f), w = trg_product_(s, s);
    const struct trg_pair_ first = trg_product_(w.high, 0.9617967f);
    const struct trg_pair_ u = trg_sum_(
        first.high, w.high * w.high * (0.5770829f + w.high * (0.41170502f + w.high * 0.3402452f)));
    const float u_low =
        u.low + first.low + (w.low + 2.0f * s * s_low) * 0.9617967f + w.high * -2.183875e-08f;
    const struct trg_pair_ cubic = trg_product_(s, u.high);
    const struct trg_pair_ sum = trg_sum_(linear.high, cubic.high);
    const float low = sum.low + linear.low + cubic.low + s * u_low + s_low * u.high +
                      (s * 3.851926e-08f + s_low * 2.88539f);
    struct trg_pair_ all = trg_sum_((float)m.exponent, sum.high);

    all.low += low;
    return all;
}

/* x to the power of y for x >= 0. */
TRG_FN float trg_pow(float x, float y)
{
    struct trg_pair_ l;
    float p, k, f;

    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (!(x >= 0.0f) || y != y)
        return TRG_NAN_;
    if (x == 0.0f || x == TRG_INFINITY_)
        return (x == 0.0f) == (y > 0.0f) ? 0.0f : TRG_INFINITY_;
    l = trg_log2_(x);
    p = l.high * y;
    if (!(p < 129.0f))
        return TRG_INFINITY_;
    if (p < -150.0f)
        return 0.0f;
    k = trg_floor(p + 0.5f);
    f = (p - k) + (trg_fma(l.high, y, -p) + l.low * y);
    f = f * (0.6931472f +
             f * (0.2402265f +
                  f * (0.05550411f +
                       f * (0.009618036f +
                            f * (0.001333343f + f * (0.00015467365f + f * 1.5315196e-05f))))));
    return k > 128.0f ? TRG_INFINITY_ : trg_scale_(1.0f + f, (trg_i32)k);
}
#endif
