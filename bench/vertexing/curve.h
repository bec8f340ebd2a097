/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - b events against the others: how many of each a trigger keeps, for every cut. */
#ifndef VX_CURVE_H
#define VX_CURVE_H
#include "driver.h"

/* Prints efficiency at fixed retention and the table of the best cut, and writes all points as CSV.
 * An event is a b event when a b decay with two tracks or more is in it. */
int curve_write(const char *path, const char *label, const struct event *e,
                const struct vx_answer *a, uint32_t n);
/* A line for each event: whether it has a b decay, then the features of beauty.h; those of pairs
 * from the reference graph, with the scores that the plugin has now. */
int curve_features(const char *path, const struct vx_config *c, const struct event *e,
                   const struct vx_answer *a, uint32_t n);
/* A line for each pair of tracks that the cuts leave: whether its event has a b decay, then the
 * features of pairs.h, from the reference graph. */
int curve_pairs(const char *path, const struct vx_config *c, const struct event *e,
                const struct vx_answer *a, uint32_t n);
#endif
