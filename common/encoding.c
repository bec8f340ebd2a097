/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled without contraction to fused operations (CMakeLists.txt), so that the vectors of all
 * processors give the same bits. */
#include "encoding.h"

#include <errno.h>
#include <math.h>
#include <string.h>

uint32_t encoding_count(const struct trg_collection *info)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < info->n_columns; c++)
        n += encoding_is_there(info, c);
    return n;
}

uint32_t encoding_sent(const struct trg_collection *info)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < info->n_columns; c++)
        n += encoding_is_sent(info, c);
    return n;
}

struct trg_encoding encoding_of(const struct trg_collection *info, const struct trg_encoding *sent,
                                uint32_t c)
{
    if (!encoding_is_sent(info, c))
        return trg_column_encoding(info, c);
    for (uint32_t before = 0; before < c; before++)
        sent += encoding_is_sent(info, before);
    return *sent;
}

/* ---------------------------------------------------------------- to values */

float encoding_value(struct trg_encoding e, uint16_t number)
{
    return e.offset + e.step * (float)number;
}

/* One pass that vectorizes. */
static inline __attribute__((always_inline)) void convert(const unsigned char *restrict numbers,
                                                          size_t n, float offset, float step,
                                                          float *restrict dst)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t number;

        memcpy(&number, &numbers[i * sizeof number], sizeof number);
        dst[i] = offset + step * (float)number;
    }
}

/* The same for the vectors that the processor has. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void convert_avx2(const unsigned char *numbers, size_t n,
                                                         float offset, float step, float *dst)
{
    convert(numbers, n, offset, step, dst);
}

__attribute__((target("avx512f"))) static void
convert_avx512(const unsigned char *numbers, size_t n, float offset, float step, float *dst)
{
    convert(numbers, n, offset, step, dst);
}
#endif

void encoding_values(struct trg_encoding e, const void *numbers, size_t n, float *dst)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        convert_avx512(numbers, n, e.offset, e.step, dst);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        convert_avx2(numbers, n, e.offset, e.step, dst);
        return;
    }
#endif
    convert(numbers, n, e.offset, e.step, dst);
}

static bool is_within(float v, struct values_range r)
{
    return isfinite(v) && v >= (float)r.least && v <= (float)r.most;
}

/* A value lies between those of the least and the largest number, as rounding keeps order. */
bool encoding_is_within(struct trg_encoding e, struct values_range r)
{
    return is_within(encoding_value(e, 0), r) && is_within(encoding_value(e, ENCODING_MOST), r);
}

bool encoding_find(struct trg_encoding e, struct values_range r, const void *numbers, size_t n,
                   size_t *ret_at, double *ret_value)
{
    const unsigned char *from = numbers;

    for (size_t i = 0; i < n; i++) {
        uint16_t number;
        float value;

        memcpy(&number, &from[i * sizeof number], sizeof number);
        value = encoding_value(e, number);
        if (is_within(value, r))
            continue;
        *ret_at = i;
        *ret_value = (double)value;
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- from values */

int encoding_fit(const float *values, size_t n, struct trg_encoding *ret_encoding)
{
    float least = n ? values[0] : 0, most = least;
    struct trg_encoding e;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            return -EINVAL;
        least = fminf(least, values[i]);
        most = fmaxf(most, values[i]);
    }
    e.offset = least;
    e.step = (float)(((double)most - (double)least) / ENCODING_MOST);
    if (!isfinite(e.step * (float)ENCODING_MOST))
        return -ERANGE;
    while (encoding_value(e, ENCODING_MOST) > most) /* by rounding */
        e.step = nextafterf(e.step, 0);
    *ret_encoding = e;
    return 0;
}

size_t encoding_numbers(struct trg_encoding e, const float *values, size_t n, unsigned char *dst)
{
    const double per_step = e.step > 0 ? 1 / (double)e.step : 0;
    size_t good = n;

    for (size_t i = 0; i < n; i++) {
        const double number = ((double)values[i] - (double)e.offset) * per_step + 0.5;
        const bool is_there = number >= 0 && number < ENCODING_MOST + 1.0; /* no NaN is */
        const uint16_t rounded = is_there ? (uint16_t)number : number > 0 ? ENCODING_MOST : 0;

        good = is_there || good < n ? good : i;
        dst[2 * i] = (unsigned char)rounded;
        dst[2 * i + 1] = (unsigned char)(rounded >> 8);
    }
    return good;
}
