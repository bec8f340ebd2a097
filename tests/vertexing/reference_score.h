/* SPDX-License-Identifier: Apache-2.0 */
/* reference_score.h - what b_score sees of an event, from its answer and the graph in double
 * precision: for tests, and to train it. */
#ifndef VX_REFERENCE_SCORE_H
#define VX_REFERENCE_SCORE_H
#include "beauty.h"
#include "reference_graph.h"

/* The features of beauty.h (VX_B_FEATURES); the scores of pairs are those of the plugin's trees.
 * -ENOMEM. */
int ref_features(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                 float *ret_features);
#endif
