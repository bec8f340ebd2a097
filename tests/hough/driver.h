/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs events through the Hough transform, and what it found. */
#ifndef HOUGH_DRIVER_H
#define HOUGH_DRIVER_H
#include "algohost.h"
#include "batches.h"
#include "events.h"
#include "parameters.h"

/* `ret_results` and `found` as in struct batches_work. */
int hough_run(struct batches *b, const struct event *events, uint32_t n,
              struct trg_result *ret_results, struct products *found);

/* Tracks: of[0].n; their columns x y z tx ty var_x var_tx cov_x_tx chi2 qop, and how many hits each
 * has. */
static inline const float *found_column(const struct products *f, uint32_t column)
{
    return f->of[0].column[column];
}

static inline const uint32_t *found_hits(const struct products *f)
{
    return f->of[0].column[10];
}

/* Doublets: of[1].n, for each track one less than its hits. */
static inline const uint32_t *found_inner(const struct products *f)
{
    return f->of[1].column[0];
}

static inline const uint32_t *found_outer(const struct products *f)
{
    return f->of[1].column[1];
}
#endif
