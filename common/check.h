/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - whether the values of an RoI are such as a detector can make: finite, within their
 * ranges, on layers that exist.  One set of rules for messages and for shared memory.
 *
 * Each returns 0, or -EBADMSG with the code and a sentence in *ret_error. */
#ifndef TRIGD_CHECK_H
#define TRIGD_CHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check_fault.h"
#include "encoding.h"
#include "trigd/event.h"
#include "wire.h"

/* Fills *e; returns -EBADMSG. */
__attribute__((format(printf, 3, 4))) int
check_refuse(struct wire_error *e, Trigd__V1__Error__Code code, const char *format, ...);

/* The window of an RoI. */
int check_window(const struct trg_roi_info *info, uint64_t token, struct wire_error *ret_error);

/* The type of an RoI. */
int check_type(uint32_t type, uint64_t token, struct wire_error *ret_error);

/* How many items a collection has; at most max_items. */
int check_count(uint32_t kind, size_t n, uint32_t max_items, uint64_t token,
                struct wire_error *ret_error);

/* The first value among `n` items that is not allowed: whether there is one.  The columns may be
 * unaligned; those that are NULL are not looked at. */
bool check_find(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                struct check_fault *ret_fault);
/* The fault that a value is which is not allowed: number `at` of a column, whose bits are there. */
struct check_fault check_fault_of(uint32_t kind, uint32_t column, size_t at, const void *bits);
/* Says what is wrong: -EBADMSG. */
int check_say(const struct check_fault *f, uint32_t max_layer, uint64_t token,
              struct wire_error *ret_error);
/* Copies a column and looks at it on the way: whether the copy may hold a value that is not
 * allowed, which check_find then tells.  The source may be unaligned and may change meanwhile. */
bool check_copy(uint32_t kind, uint32_t column, void *dst, const void *src, size_t n,
                uint32_t max_layer);

/* Both: the values of `n` items; the columns may be unaligned.  In memory that somebody else writes
 * to at the same time the answer holds for no moment at all, but nothing worse comes of it. */
int check_values(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                 uint64_t token, struct wire_error *ret_error);

/* The offsets and steps that came with an RoI for an encoded collection: no number gives a value
 * that is not allowed, so those columns need not be looked at. */
int check_encodings(uint32_t kind, const struct trg_encoding *sent, uint64_t token,
                    struct wire_error *ret_error);
/* check_find and check_values of an encoded collection whose offsets and steps were checked. */
bool check_find_encoded(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                        struct check_fault *ret_fault);
int check_encoded(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                  uint64_t token, struct wire_error *ret_error);
/* Makes the values of an encoded column, of n items: whether one may not be allowed, as check_copy.
 */
bool check_decode(uint32_t kind, uint32_t column, struct trg_encoding encoding, void *dst,
                  const void *src, size_t n);
#endif
