/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - elementary functions made of IEEE operations that every machine rounds alike, so that
 * simulated RoIs are the same to the bit everywhere.  (A C library's own differ in the last bit
 * from version to version and from CPU to CPU.)  Good to 1e-10 and better in the ranges stated.
 */
#ifndef TRIGD_EXACT_H
#define TRIGD_EXACT_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EXACT_LN2 0.69314718055994530942

/* Natural logarithm of a normal number > 0: ln(m 2^e), ln m = 2 artanh((m - 1) / (m + 1)). */
static inline double exact_log(double x)
{
    uint64_t bits;
    int e;
    double m, s, z, sum = 1.0 / 21;

    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int k = 19; k > 0; k -= 2)
        sum = sum * z + 1.0 / k;
    return 2 * s * sum + e * EXACT_LN2;
}

/* e^x for |x| <= 700, by halving: a power of two times a Taylor sum. */
static inline double exact_exp(double x)
{
    int k = (int)(x / EXACT_LN2 + (x < 0 ? -0.5 : 0.5));
    double r = x - k * EXACT_LN2, sum = 1, scale;
    uint64_t bits = (uint64_t)(k + 1023) << 52;

    for (int i = 13; i > 0; i--)
        sum = 1 + sum * (r * (1.0 / i));
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

static inline double exact_sinh(double x)
{
    double e = exact_exp(x);

    return 0.5 * (e - 1 / e);
}

/* |x| <= pi / 2. */
static inline double exact_sin(double x)
{
    double z = x * x, sum = 1;

    for (int i = 18; i > 0; i -= 2)
        sum = 1 - sum * (z * (1.0 / (i * (i + 1))));
    return x * sum;
}

/* |x| <= 0.4. */
static inline double exact_asin(double x)
{
    double z = x * x, sum = 1;

    for (int k = 12; k > 0; k--)
        sum = 1 + sum * (z * ((2 * k - 1) * (2 * k - 1) / (2.0 * k * (2 * k + 1))));
    return x * sum;
}

#define EXACT_PI 3.14159265358979323846

/* |x| <= 1: halves the angle until the series above is good. */
static inline double exact_asin_wide(double x)
{
    double scale = 1;

    while (x > 0.4 || x < -0.4) {
        double square = 1 - x * x;

        x /= sqrt(2 * (1 + sqrt(square > 0 ? square : 0)));
        scale *= 2;
    }
    return scale * exact_asin(x);
}

/* The angle of a vector, in [-pi, pi]; 0 for (0, 0). */
static inline double exact_atan2(double y, double x)
{
    double r = sqrt(x * x + y * y), ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, a;

    if (r <= 0)
        return 0;
    a = ay < ax ? exact_asin_wide(ay / r) : EXACT_PI / 2 - exact_asin_wide(ax / r);
    if (x < 0)
        a = EXACT_PI - a;
    return y < 0 ? -a : a;
}

/* |x| <= pi. */
static inline double exact_cos(double x)
{
    return exact_sin(EXACT_PI / 2 - (x < 0 ? -x : x));
}

/* |x| <= pi. */
static inline double exact_sin_wide(double x)
{
    if (x > EXACT_PI / 2)
        return exact_sin(EXACT_PI - x);
    return x < -EXACT_PI / 2 ? exact_sin(-EXACT_PI - x) : exact_sin(x);
}
#endif
