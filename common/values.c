/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <math.h>
#include <string.h>

struct values_range values_range(const struct trg_column *column, uint32_t max_layer)
{
    struct values_range r = {column->min, column->max};

    if (column->flags & TRG_COLUMN_LAYER && r.most > max_layer)
        r.most = max_layer;
    return r;
}

/* Passes without branches, which vectorize: whether a value is above, or below. */
#define PASS(T, suffix)                                                           \
    static bool any_above_##suffix(const unsigned char *bytes, size_t n, T most)  \
    {                                                                             \
        T largest = most;                                                         \
                                                                                  \
        for (size_t i = 0; i < n; i++) {                                          \
            T v;                                                                  \
                                                                                  \
            memcpy(&v, &bytes[i * sizeof v], sizeof v);                           \
            largest = v > largest ? v : largest;                                  \
        }                                                                         \
        return largest > most;                                                    \
    }                                                                             \
    static bool any_below_##suffix(const unsigned char *bytes, size_t n, T least) \
    {                                                                             \
        T smallest = least;                                                       \
                                                                                  \
        for (size_t i = 0; i < n; i++) {                                          \
            T v;                                                                  \
                                                                                  \
            memcpy(&v, &bytes[i * sizeof v], sizeof v);                           \
            smallest = v < smallest ? v : smallest;                               \
        }                                                                         \
        return smallest < least;                                                  \
    }
PASS(uint8_t, u8)
PASS(uint16_t, u16)
PASS(uint32_t, u32)
PASS(int8_t, i8)
PASS(int16_t, i16)
PASS(int32_t, i32)
#define SUSPECT(T, suffix, MIN, MAX)                                \
    ((r.most < (MAX) && any_above_##suffix(bytes, n, (T)r.most)) || \
     (r.least > (MIN) && any_below_##suffix(bytes, n, (T)r.least)))

struct extremes {     /* of the bits of floats */
    uint32_t largest; /* magnitude; that of an infinity or a NaN is over all others */
    uint32_t any;     /* all together: the sign bit tells of a negative one, or of a -0 */
};

/* One pass that vectorizes: the magnitude of a float grows with its bits. */
static inline __attribute__((always_inline)) struct extremes
look_through(const unsigned char *bytes, size_t n)
{
    struct extremes x = {0, 0};

    for (size_t i = 0; i < n; i++) {
        uint32_t u, magnitude;

        memcpy(&u, &bytes[i * sizeof u], sizeof u);
        magnitude = u & 0x7fffffffu;
        x.largest = magnitude > x.largest ? magnitude : x.largest;
        x.any |= u;
    }
    return x;
}

/* The same for the vectors that the processor has. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static struct extremes look_avx2(const unsigned char *bytes,
                                                                 size_t n)
{
    return look_through(bytes, n);
}

__attribute__((target("avx512f"))) static struct extremes look_avx512(const unsigned char *bytes,
                                                                      size_t n)
{
    return look_through(bytes, n);
}
#endif

static struct extremes extremes_of(const unsigned char *bytes, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return look_avx512(bytes, n);
    if (__builtin_cpu_supports("avx2"))
        return look_avx2(bytes, n);
#endif
    return look_through(bytes, n);
}

/* A range that goes as far to both sides, or begins at 0, is told by the bits alone; a -0 where 0
 * is the least looks like a negative value.  Others are suspect where their values could be. */
static bool suspect_floats(struct values_range r, const unsigned char *bytes, size_t n)
{
    const struct extremes x = extremes_of(bytes, n);
    const float most = (float)r.most, least = (float)r.least;
    uint32_t bits;

    if (least < 0 ? least != -most : least > 0)
        return n > 0;
    memcpy(&bits, &most, sizeof bits);
    return x.largest > bits || (least >= 0 && x.any >> 31);
}

bool values_suspect(const struct trg_column *column, struct values_range r, const void *bytes,
                    size_t n)
{
    size_t at;
    double value;

    n *= column->length;
    switch (column->type) {
    case TRG_U8:
        return SUSPECT(uint8_t, u8, 0, UINT8_MAX);
    case TRG_U16:
        return SUSPECT(uint16_t, u16, 0, UINT16_MAX);
    case TRG_U32:
        return SUSPECT(uint32_t, u32, 0, UINT32_MAX);
    case TRG_I8:
        return SUSPECT(int8_t, i8, INT8_MIN, INT8_MAX);
    case TRG_I16:
        return SUSPECT(int16_t, i16, INT16_MIN, INT16_MAX);
    case TRG_I32:
        return SUSPECT(int32_t, i32, INT32_MIN, INT32_MAX);
    case TRG_F32:
        return suspect_floats(r, bytes, n);
    default:
        return values_find(column, r, bytes, n / column->length, &at, &value);
    }
}

double values_at(uint32_t type, const void *bytes, size_t at)
{
    const unsigned char *p = (const unsigned char *)bytes + at * trg_type_size(type);
    uint32_t bits = 0;
    float f;

    memcpy(&bits, p, trg_type_size(type)); /* little-endian */
    memcpy(&f, &bits, sizeof f);
    switch (type) {
    case TRG_I8:
        return (int8_t)bits;
    case TRG_I16:
        return (int16_t)bits;
    case TRG_I32:
        return (int32_t)bits;
    case TRG_F16:
        return (double)trg_f16_value((uint16_t)bits);
    case TRG_F32:
        return (double)f;
    default:
        return bits;
    }
}

/* In single precision, as the ends of a range are meant for floats. */
static bool is_outside(uint32_t type, struct values_range r, double v)
{
    if (type == TRG_F32 || type == TRG_F16)
        return !isfinite(v) || (float)v < (float)r.least || (float)v > (float)r.most;
    return v < r.least || v > r.most;
}

bool values_find(const struct trg_column *column, struct values_range r, const void *bytes,
                 size_t n, size_t *ret_at, double *ret_value)
{
    for (size_t i = 0; i < n * column->length; i++) {
        const double v = values_at(column->type, bytes, i);

        if (!is_outside(column->type, r, v))
            continue;
        *ret_at = i;
        *ret_value = v;
        return true;
    }
    return false;
}
