/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the host side that the plugins of this folder share: hits and clusters from one launch a
 * batch.  Errors and threads as in trigd/plugin.h. */
#ifndef CLUSTERS_HOST_H
#define CLUSTERS_HOST_H
#include <stdio.h>

#include "clusters.h"
#include "dead_table.h"
#include "geometry.h"
#include "trigd/common/lane.h"

enum { CL_HITS, CL_CLUSTERS, CL_PRODUCTS };

/* The values of both plugins, in this order. */
enum { CL_VALUE_HITS, CL_VALUE_ITEMS, CL_VALUE_BAD, CL_VALUE_PIXELS, CL_VALUE_MASKED };

/* The conditions of both plugins, in this order. */
enum { CL_ALIGNMENT, CL_DEAD_CHANNELS };

struct cl_slot {
    struct trg_buffer *work, *state, *summaries, *out[CL_PRODUCTS];
    struct trg_buffer *summaries_host, *out_host[CL_PRODUCTS];
    struct trg_buffer *sensors, *sensors_host; /* where they are for the batches of the slot: */
    uint64_t alignment;                        /* key of the condition; 0: the nominal places */
    bool is_read[CL_PRODUCTS];                 /* the columns of this batch came to the host */
    struct trg_buffer *masked, *masks, *masks_host; /* the input without dead channels; counts */
    struct trg_buffer *first, *map, *dead, *first_host, *map_host, *dead_host;
    uint64_t dead_channels; /* key of the condition that these are of; 0: none */
    bool is_masked;         /* this batch */
};

struct trg_algo {
    struct cl_par par; /* what does not change from batch to batch */
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module;
    struct trg_kernel *find, *mask;
    struct trg_buffer *centres;
    struct cl_sensor *nominal; /* [n_sensors] */
    uint32_t n_sensors;
    float middle[2]; /* as alignment.h has it */
    const struct trg_collection *product[CL_PRODUCTS];
    struct block out[CL_PRODUCTS], masked;
    struct dead_row *dead_rows; /* [CL_DEAD_ROWS] */
    struct buffers buffers;
    struct cl_slot slot[TRG_SLOTS_MAX];
    uint32_t hits_per_item; /* at most */
    bool is_taken;          /* CL_CLUSTERS, by another plugin on the device */
};

struct cl_setup {
    const struct trg_program *program;
    const char *kernel, *mask;
    const struct trg_collection *items, *hits, *clusters;
    uint32_t arrays; /* of `room` words, in the scratch memory of a slot */
    uint32_t hits_per_item;
    uint32_t geometry; /* number in geometry_texts */
    float sigma[3];    /* as in struct cl_par */
    /* Whether keys have room for the places of this geometry, whose sizes are in *par; else why
     * not. */
    bool (*fits)(struct cl_par *par, char *why, size_t bytes);
};

/* The functions of both plugins. */
int cl_create(const struct trg_host *host, struct trg_device *device,
              const struct trg_limits *limits, const struct cl_setup *setup,
              struct trg_algo **ret_algo);
void cl_destroy(struct trg_algo *a);
int cl_device_output(struct trg_algo *a, uint32_t slot, uint32_t k, struct trg_input *ret);
int cl_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q);
int cl_collect(struct trg_algo *a, struct trg_batch *b);
#endif
