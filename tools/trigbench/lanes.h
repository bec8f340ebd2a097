/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - lanes without a daemon: a thread each, with an instance of the plugin, slots and
 * queues, which drives batches through the device API as the daemon's lanes do. */
#ifndef TRIGBENCH_LANES_H
#define TRIGBENCH_LANES_H
#include <stdint.h>

#include "generator.h"
#include "plugin/plugin_host.h"
#include "trace.h"

#define LANES_MAX       64u
#define LANES_SLOTS_MAX 8u

enum lanes_copies {
    LANES_GATHER, /* RoIs are gathered into pinned memory, copied in, results copied out */
    LANES_PINNED, /* batches lie in pinned memory already */
    LANES_DEVICE  /* batches lie on the device already: only kernels, and results out */
};

struct lanes_setup { /* borrowed until lanes_close */
    const struct trg_host *host;
    struct trg_device *device;
    const struct plugin *plugin; /* with one input */
    const void *params;
    const struct generated *rois; /* of the plugin's kind */
    uint32_t n_rois;
    uint32_t lanes, slots, batch;
    enum lanes_copies copies;
    struct trace *trace; /* NULL: none */
};

struct lanes_rate {
    double rois_per_s;  /* all lanes together */
    double bytes_per_s; /* of input, copied or not */
    double batch_us;    /* mean time from the beginning of a batch to its collected end */
};

struct lanes;
/* -EINVAL with a sentence in `why` when the plugin cannot be driven. */
int lanes_open(const struct lanes_setup *setup, struct lanes **ret_lanes, char *why,
               size_t why_bytes);
void lanes_close(struct lanes *l); /* NULL is fine */
/* Runs all lanes for so long, after each had every slot in flight once. */
int lanes_run(struct lanes *l, double seconds, struct lanes_rate *ret_rate);
/* Runs so many batches on each lane. */
int lanes_run_batches(struct lanes *l, uint32_t batches);
#endif
