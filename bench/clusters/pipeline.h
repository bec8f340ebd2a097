/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - plugins one behind the other on a device, as a lane of the daemon runs steps with
 * `on_device`: the input of the first is copied in, products stay on the device, values come back.
 * One thread. */
#ifndef CLUSTERS_PIPELINE_H
#define CLUSTERS_PIPELINE_H
#include "algohost.h"
#include "conditions/condition_file.h"

#define PIPELINE_MAX 4u

struct pipeline_roi { /* the input of the first plugin, borrowed */
    uint32_t n;
    const void *column[TRG_COLUMNS_MAX];
};

struct pipeline_setup {
    /* Of each plugin: the first consumes one collection; the others what those before them make. */
    const struct algo_host *host[PIPELINE_MAX];
    const char *const *settings[PIPELINE_MAX]; /* as algo_configure */
    uint32_t n;
    struct trg_device *device;
    uint32_t batch, slots, max_items;        /* max_items: of a batch */
    const struct condition_list *conditions; /* of the first plugin; NULL: none */
};

struct pipeline;
int pipeline_open(const struct pipeline_setup *setup, struct pipeline **ret);
void pipeline_close(struct pipeline *p); /* NULL is allowed */
/* Runs RoIs 0 .. n - 1 a number of times; *ret_sum, if not NULL, gets the sum of the first value of
 * the last plugin. */
int pipeline_run(struct pipeline *p, const struct pipeline_roi *rois, uint32_t n, uint32_t rounds,
                 double *ret_sum);
#endif
