/* SPDX-License-Identifier: Apache-2.0 */
/* encoding.h - columns of floats that travel as 16-bit numbers: value = offset + step * number.
 *
 * A collection travels plain, or encoded: then its columns with an encoding are two bytes a value,
 * the low one first, unaligned, and the others stay as they are.  Offset and step are in the
 * declaration, or come with each RoI; everybody who reads or writes an encoded column learns them
 * from encoding_of.  A value is computed with two roundings to single precision, of the product and
 * of the sum, so that every machine gives the same bits.
 */
#ifndef TRIGD_ENCODING_H
#define TRIGD_ENCODING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"
#include "values.h"

#define ENCODING_MOST 65535u

/* Whether column c has an encoding, and whether its offset and step come with each RoI. */
static inline bool encoding_is_there(const struct trg_collection *info, uint32_t c)
{
    return info->column[c].flags & TRG_COLUMN_ENCODED;
}
static inline bool encoding_is_sent(const struct trg_collection *info, uint32_t c)
{
    return encoding_is_there(info, c) && !(trg_column_encoding(info, c).step > 0);
}

/* How many columns have an encoding, and how many offsets and steps come with each RoI. */
uint32_t encoding_count(const struct trg_collection *info);
uint32_t encoding_sent(const struct trg_collection *info);

/* Offset and step of a column with an encoding; `sent` are those that came with the RoI, in the
 * order of columns. */
struct trg_encoding encoding_of(const struct trg_collection *info, const struct trg_encoding *sent,
                                uint32_t c);

/* Bytes of one item of column c of a collection that travels so. */
static inline size_t encoding_item_bytes(uint32_t kind, bool is_encoded, uint32_t c)
{
    const struct trg_collection *info = kind_info(kind);

    return is_encoded && encoding_is_there(info, c) ? sizeof(uint16_t) * info->column[c].length
                                                    : trg_column_bytes(&info->column[c]);
}

/* The value of one number, as encoding_values gives it. */
float encoding_value(struct trg_encoding e, uint16_t number);
/* The values of n numbers, which may be unaligned and do not overlap with them. */
void encoding_values(struct trg_encoding e, const void *numbers, size_t n, float *dst);

/* Whether all numbers give values of the range: then none has to be looked at. */
bool encoding_is_within(struct trg_encoding e, struct values_range r);
/* The first of n numbers whose value lies outside, as values_find. */
bool encoding_find(struct trg_encoding e, struct values_range r, const void *numbers, size_t n,
                   size_t *ret_at, double *ret_value);

/* An encoding whose numbers reach from the least to the largest of n values, none of them outside;
 * 0, 0 with no values.  -EINVAL: one is not finite; -ERANGE: they lie farther apart than 65535
 * steps of single precision can tell. */
int encoding_fit(const float *values, size_t n, struct trg_encoding *ret_encoding);
/* The numbers nearest to n values, two bytes each.  Returns how many values come back within half a
 * step: n, or the number of the first that does not, as NaN never does. */
size_t encoding_numbers(struct trg_encoding e, const float *values, size_t n, unsigned char *dst);
#endif
