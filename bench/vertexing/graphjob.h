/* SPDX-License-Identifier: Apache-2.0 */
/* graphjob.h - a step of the graph, over and over on one device: what bench_adjacency and
 * bench_components time. */
#ifndef VX_GRAPHJOB_H
#define VX_GRAPHJOB_H
#include "kit.h"
#include "measure.h"

struct graph_case {
    uint32_t n, n_rois, threads; /* lines of an RoI; RoIs of a launch; on the host */
    const float *columns;        /* [VX_COLUMNS][n_rois][n] */
    struct vx_par par;
    int (*step)(struct kit *kit, struct kit_graph *graph);
    const uint32_t *matrix; /* [words], in the place of the graph's own; NULL: that one */
    size_t words;
};

int graph_case_measure(const struct bench *b, struct trg_device *device, const struct graph_case *c,
                       struct timing *ret_timing);
#endif
