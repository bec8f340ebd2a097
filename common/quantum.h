/* SPDX-License-Identifier: Apache-2.0 */
/* quantum.h - spacepoints as 16-bit numbers: value = offset + step * number.
 *
 * The second layout in which spacepoints travel (docs/protocol.md): phi, rho and z of an RoI are
 * two bytes each, the low one first, unaligned; layers stay as they are.  A value
 * is computed with two roundings to single precision, of the product and of the sum, so that every
 * machine gives the same bits.
 */
#ifndef TRIGD_QUANTUM_H
#define TRIGD_QUANTUM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"

#define QUANTUM_COLUMNS 3u /* phi, rho, z: the first ones of spacepoints */
#define QUANTUM_MOST    65535u

struct quantum { /* by column; rad and mm */
    float offset[QUANTUM_COLUMNS], step[QUANTUM_COLUMNS];
};

/* Bytes of one item of column c of quantized spacepoints. */
static inline size_t quantum_size(uint32_t c)
{
    return c < QUANTUM_COLUMNS ? 2 : 1;
}

/* The same of a collection in either layout; only spacepoints are ever quantized. */
static inline size_t quantum_item_bytes(uint32_t kind, bool is_quantized, uint32_t c)
{
    return is_quantized ? quantum_size(c) : trg_column_bytes(&kind_info(kind)->column[c]);
}

/* The value of one number of column c, as quantum_values gives it. */
float quantum_value(const struct quantum *q, uint32_t c, uint16_t number);

/* The values of n numbers of column c; `numbers` may be unaligned, they do not overlap. */
void quantum_values(const struct quantum *q, uint32_t c, const void *numbers, size_t n, float *dst);

/* Offset and step of column c such that the numbers reach from the least to the largest of n
 * values and no number gives a value outside; 0 for both with no values.  -EINVAL: one is not
 * finite; -ERANGE: they lie farther apart than 65535 steps of single precision can tell. */
int quantum_fit(const float *values, size_t n, uint32_t c, struct quantum *ret_quantum);

/* The numbers nearest to n values of column c, which quantum_fit has seen: two bytes each. */
void quantum_numbers(const struct quantum *q, uint32_t c, const float *values, size_t n,
                     unsigned char *dst);
#endif
