/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled without contraction to fused operations (CMakeLists.txt), so that the vectors of all
 * processors give the same bits. */
#include "quantum.h"

#include <errno.h>
#include <math.h>
#include <string.h>

float quantum_value(const struct quantum *q, uint32_t c, uint16_t number)
{
    return q->offset[c] + q->step[c] * (float)number;
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

void quantum_values(const struct quantum *q, uint32_t c, const void *numbers, size_t n, float *dst)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        convert_avx512(numbers, n, q->offset[c], q->step[c], dst);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        convert_avx2(numbers, n, q->offset[c], q->step[c], dst);
        return;
    }
#endif
    convert(numbers, n, q->offset[c], q->step[c], dst);
}

int quantum_fit(const float *values, size_t n, uint32_t c, struct quantum *ret_quantum)
{
    struct quantum q = {.offset = {0}};
    float least = n ? values[0] : 0, most = least;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            return -EINVAL;
        least = fminf(least, values[i]);
        most = fmaxf(most, values[i]);
    }
    q.offset[c] = least;
    q.step[c] = (float)(((double)most - (double)least) / QUANTUM_MOST);
    if (!isfinite(q.step[c] * (float)QUANTUM_MOST))
        return -ERANGE;
    while (quantum_value(&q, c, QUANTUM_MOST) > most) /* by rounding */
        q.step[c] = nextafterf(q.step[c], 0);
    ret_quantum->offset[c] = q.offset[c];
    ret_quantum->step[c] = q.step[c];
    return 0;
}

void quantum_numbers(const struct quantum *q, uint32_t c, const float *values, size_t n,
                     unsigned char *dst)
{
    const double per_step = q->step[c] > 0 ? 1 / (double)q->step[c] : 0;

    for (size_t i = 0; i < n; i++) {
        double number = ((double)values[i] - (double)q->offset[c]) * per_step + 0.5;
        uint16_t rounded = number < 0               ? 0
                           : number >= QUANTUM_MOST ? (uint16_t)QUANTUM_MOST
                                                    : (uint16_t)number;

        dst[2 * i] = (unsigned char)rounded;
        dst[2 * i + 1] = (unsigned char)(rounded >> 8);
    }
}
