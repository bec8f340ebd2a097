/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - elementary functions made of IEEE operations that every machine rounds alike, so that
 * simulated RoIs are the same to the bit everywhere.  (A C library's own differ in the last bit
 * from version to version and from CPU to CPU.)  Good to 1e-10 and better in the ranges stated.
 */
#ifndef TRIGD_EXACT_H
#define TRIGD_EXACT_H
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
#endif
