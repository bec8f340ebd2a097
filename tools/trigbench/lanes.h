/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - throughput of lanes without a daemon: a thread each, with an instance of the plugin,
 * slots and queues (drive.h). */
#ifndef TRIGBENCH_LANES_H
#define TRIGBENCH_LANES_H
#include <stdint.h>

#include "exec/stage.h"
#include "plugin/plugin_host.h"
#include "trace.h"

#define LANES_MAX 64u

enum lanes_copies {
    LANES_GATHER, /* RoIs are gathered into pinned memory, copied in, results copied out */
    LANES_PINNED, /* batches lie in pinned memory already */
    LANES_DEVICE, /* batches lie on the device already: only kernels, and results out */
    LANES_PULL    /* the device gathers RoIs itself from memory as that of clients */
};

struct lanes_roi { /* inputs in the order of the plugin's `consumes` */
    struct trg_roi_info info;
    struct stage_source input[TRG_INPUTS_MAX];
};

struct lanes_setup { /* borrowed until lanes_close */
    const struct trg_host *host;
    struct trg_device *device;
    const struct plugin *plugin;
    const void *params;
    const struct lanes_roi *rois; /* [n_rois], n_rois > 0 */
    uint32_t n_rois;
    uint32_t lanes, slots, batch; /* 1 .. LANES_MAX, 1 .. TRG_SLOTS_MAX, from 1 on */
    enum lanes_copies copies;
    struct trace *trace; /* NULL: none */
};

struct lanes_rate {
    double rois_per_s;  /* all lanes together */
    double bytes_per_s; /* of input, copied or not */
    double batch_us;    /* mean time from the beginning of a batch to its collected end */
};

struct lanes;
int lanes_open(const struct lanes_setup *setup, struct lanes **ret_lanes);
void lanes_close(struct lanes *l); /* NULL is allowed */
/* Runs all lanes for this time, after each had every slot in flight once. */
int lanes_run(struct lanes *l, double seconds, struct lanes_rate *ret_rate);
/* Runs this number of batches on each lane. */
int lanes_run_batches(struct lanes *l, uint32_t batches);
#endif
