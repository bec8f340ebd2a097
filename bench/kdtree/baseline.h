/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - what the trees are measured beside: a serial build with std::nth_element, and
 * nanoflann. */
#ifndef KDTREE_BENCH_BASELINE_H
#define KDTREE_BENCH_BASELINE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same left-balanced tree by std::nth_element at each node; ret_ids [n].  points: float [k][n].
 */
void serial_build(const float *points, uint32_t k, uint32_t n, uint32_t *ret_ids);

/* 1 when nanoflann was there at build time. */
int nanoflann_is_here(void);

struct nanoflann_tree;
/* NULL without nanoflann, or for numbers of dimensions other than 3 and 5. */
struct nanoflann_tree *nanoflann_build(const float *points, uint32_t k, uint32_t n);
void nanoflann_free(struct nanoflann_tree *t);
/* Appends the numbers of all points in the box to a list that is emptied first; returns how many.
 */
size_t nanoflann_box(const struct nanoflann_tree *t, const float *low, const float *high);

#ifdef __cplusplus
}
#endif
#endif
