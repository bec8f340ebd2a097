/* SPDX-License-Identifier: Apache-2.0 */
/* Halves on the host, by the kernels' own functions. */
#define LT_HALF
#include "cell.h"
#include "inner.h"

void lattice_from_half(const uint16_t *from, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = lt_load(from, (trg_u32)i);
}

void lattice_to_half(const float *from, uint16_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lt_store(to, (trg_u32)i, from[i]);
}
