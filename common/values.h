/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - looks through a column of any type: is a value outside of what is allowed, and which.
 */
#ifndef TRIGD_VALUES_H
#define TRIGD_VALUES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd/collection.h"

struct values_range { /* both ends included */
    double least, most;
};

/* What a declaration allows in a column, with layers of 0 to max_layer. */
struct values_range values_range(const struct trg_column *column, uint32_t max_layer);

/* Whether a value of `n` items may lie outside, as NaN and infinity always do; false is certain,
 * and true is for all types but F32.  The bytes may be unaligned. */
bool values_suspect(const struct trg_column *column, struct values_range r, const void *bytes,
                    size_t n);
/* The first value outside: whether there is one, its number among all values and what it is. */
bool values_find(const struct trg_column *column, struct values_range r, const void *bytes,
                 size_t n, size_t *ret_at, double *ret_value);
/* Value `at` of a column. */
double values_at(uint32_t type, const void *bytes, size_t at);
#endif
