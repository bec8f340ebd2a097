/* SPDX-License-Identifier: Apache-2.0 */
/* trees.h - points, and trees and searches made the slow way. */
#ifndef KDTREE_TEST_TREES_H
#define KDTREE_TEST_TREES_H
#include "devices.h"
#include "trigd/kdtree.h"

enum kind { UNIFORM, FEW_VALUES, ALL_EQUAL, WITH_NAN, KINDS };

/* float [k][n]. */
float *make_points(enum kind kind, uint32_t k, uint32_t n, uint64_t *seed);

/* The number of the point of each node, [n]: sorts the points of every subtree. */
uint32_t *slow_tree(const float *points, uint32_t k, uint32_t n);

/* Whether point i is in the box low[k], high[k]; dimension `period_dim` goes round. */
struct slow_box {
    float low[KD_DIMS_MAX], high[KD_DIMS_MAX];
};
int slow_inside(const float *points, uint32_t k, uint32_t n, uint32_t i, const struct slow_box *box,
                uint32_t period_dim, float period);

float random_float(uint64_t *seed, double low, double high);
#endif
