/* SPDX-License-Identifier: Apache-2.0 */
/* graphjob.h - a step of the graph, over and over on one device: what bench_adjacency and
 * bench_components time. */
#ifndef VX_GRAPHJOB_H
#define VX_GRAPHJOB_H
#include "kit.h"

struct graph_job {
    struct kit kit;
    struct kit_graph graph;
    int (*step)(struct kit *kit, struct kit_graph *graph);
};

/* The `run` of a struct work whose arg is a struct graph_job. */
static inline int graph_job_run(void *arg, uint32_t times)
{
    struct graph_job *j = arg;
    int r = 0;

    while (r == 0 && times--)
        r = j->step(&j->kit, &j->graph);
    return r ? r : trg_finish(j->kit.queue);
}
#endif
