/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the host side that the plugins of this folder share: hits and clusters from one launch a
 * batch.  Errors and threads as in trigd/plugin.h. */
#ifndef CLUSTERS_HOST_H
#define CLUSTERS_HOST_H
#include <stdio.h>

#include "clusters.h"
#include "geometry.h"
#include "trigd/common/lane.h"

enum { CL_HITS, CL_CLUSTERS, CL_PRODUCTS };

/* The values of both plugins, in this order. */
enum { CL_VALUE_HITS, CL_VALUE_ITEMS, CL_VALUE_BAD, CL_VALUE_PIXELS };

struct cl_slot {
    struct trg_buffer *work, *state, *summaries, *out[CL_PRODUCTS];
    struct trg_buffer *summaries_host, *out_host[CL_PRODUCTS];
    struct trg_buffer *sensors, *sensors_host; /* where they are for the batches of the slot: */
    uint64_t alignment;                        /* key of the condition; 0: the nominal places */
    bool is_read[CL_PRODUCTS];                 /* the columns of this batch came to the host */
};

struct cl_host {
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *find;
    struct trg_buffer *centres;
    struct cl_sensor *nominal; /* [n_sensors] */
    uint32_t n_sensors;
    float middle[2]; /* as alignment.h has it */
    const struct trg_collection *product[CL_PRODUCTS];
    struct block out[CL_PRODUCTS];
    struct buffers buffers;
    struct cl_slot slot[TRG_SLOTS_MAX];
    uint32_t room;          /* items of a batch */
    uint32_t hits_per_item; /* at most */
};

struct cl_host_setup {
    const struct trg_program *program;
    const char *kernel;
    const struct trg_collection *hits, *clusters;
    uint32_t arrays; /* of `room` words, in the scratch memory of a slot */
    uint32_t hits_per_item;
};

/* All but the geometry.  On failure cl_host_close is called with what there is. */
int cl_host_open(struct cl_host *h, struct trg_device *device, const struct trg_limits *limits,
                 const struct cl_host_setup *setup);
void cl_host_close(struct cl_host *h);
/* Copies sensors and columns to the device, for the slots that are open. */
int cl_host_geometry(struct cl_host *h, struct trg_device *device, const struct geometry *g);

int cl_host_device_output(struct cl_host *h, uint32_t slot, uint32_t k, struct trg_input *ret);
/* `par`: the struct of the kernel.  The batch's first condition is the alignment. */
int cl_host_submit(struct cl_host *h, const struct trg_batch *b, struct trg_queue *q,
                   struct trg_arg par);
int cl_host_collect(struct cl_host *h, struct trg_batch *b);
#endif
