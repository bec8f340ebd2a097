/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - b events against the others: how many of each a trigger keeps, for every cut. */
#ifndef VX_CURVE_H
#define VX_CURVE_H
#include "driver.h"

/* Prints efficiency at fixed retention and the table of the best cut, and writes all points as CSV.
 * An event is a b event when a b decay with two tracks or more is in it. */
int curve_write(const char *path, const char *label, const struct event *e,
                const struct vx_answer *a, uint32_t n);
/* A line for each event: whether it has a b decay, then the features of beauty.h. */
int curve_features(const char *path, const struct event *e, const struct vx_answer *a, uint32_t n);
#endif
