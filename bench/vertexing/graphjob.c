/* SPDX-License-Identifier: Apache-2.0 */
#include "graphjob.h"

#include <errno.h>
#include <stdlib.h>

#include "graph.program.h"

struct job { /* of one thread */
    struct kit kit;
    struct kit_graph graph;
    int (*step)(struct kit *kit, struct kit_graph *graph);
};

static int run_job(void *arg, uint32_t times)
{
    struct job *j = arg;
    int r = 0;

    while (r == 0 && times--)
        r = j->step(&j->kit, &j->graph);
    return r ? r : trg_finish(j->kit.queue);
}

static int open_job(struct trg_device *device, const struct graph_case *c, const uint32_t *zero,
                    const struct vx_vertex *pvs, struct job *j)
{
    int r = kit_open(device, &graph_program, &j->kit);

    j->step = c->step;
    if (r == 0)
        r = kit_graph_open(&j->kit, c->n_rois, c->n, c->columns, zero, pvs, 0, &c->par, &j->graph);
    if (r == 0 && c->matrix) {
        trg_buffer_free(j->graph.matrix);
        j->graph.matrix = NULL;
        r = kit_upload(&j->kit, c->matrix, c->words * sizeof *c->matrix, &j->graph.matrix);
    }
    return r;
}

int graph_case_measure(const struct bench *b, struct trg_device *device, const struct graph_case *c,
                       struct timing *ret_timing)
{
    uint32_t *zero = calloc((size_t)c->n * c->n_rois, sizeof *zero);
    struct vx_vertex *pvs = calloc(c->n_rois, sizeof *pvs);
    struct job *jobs = calloc(c->threads, sizeof *jobs);
    struct work *work = calloc(c->threads, sizeof *work);
    int r = zero && pvs && jobs && work ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < c->threads; i++) {
        r = open_job(device, c, zero, pvs, &jobs[i]);
        work[i] = (struct work){run_job, &jobs[i], jobs[i].kit.info.is_host != 0};
    }
    if (r == 0)
        r = measure_all(b, work, c->threads, ret_timing);
    for (uint32_t i = 0; jobs && i < c->threads; i++) {
        kit_graph_close(&jobs[i].graph);
        kit_close(&jobs[i].kit);
    }
    free(zero);
    free(pvs);
    free(jobs);
    free(work);
    return r;
}
