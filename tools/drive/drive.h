/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h - one instance of a plugin on one device with its slots, without a daemon: stages,
 * submits and collects batches as a lane does.  Tools, tests and benchmarks are built on it.
 *
 * Order:   open; create; for each batch fill a slot (gather), copy_in, submit, collect; close.
 * Threads: a drive belongs to one thread at a time.
 * Errors:  0 or a negative errno.
 */
#ifndef TRIGD_DRIVE_H
#define TRIGD_DRIVE_H
#include <stdbool.h>

#include "conditions/condition_file.h"
#include "exec/batch.h"
#include "exec/stage.h"
#include "plugin/room.h"
#include "trigd/plugin.h"

struct drive_setup { /* the pointers are borrowed until drive_close */
    const struct trg_host *host;
    const struct trg_plugin *plugin;
    const void *config;
    struct trg_device *device;
    struct trg_limits limits;
    const struct condition_list *conditions; /* in force for all batches; NULL: none are given */
};

struct drive_slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct batch_memory in[TRG_INPUTS_MAX];
    size_t staged[TRG_INPUTS_MAX]; /* bytes of each input */
    struct trg_roi_info *infos;    /* [max_rois] */
    struct trg_result *results;    /* [max_rois + 1]: the last is never written */
    struct trg_batch batch;        /* with all of the above, and outputs [max_rois], zero */
};

struct drive {
    struct drive_setup s;
    uint32_t n_inputs, n_outputs;
    uint32_t consumes[TRG_INPUTS_MAX], produces[TRG_OUTPUTS_MAX]; /* kinds */
    struct room room;                                             /* of the products */
    bool is_host;
    struct trg_algo *algo; /* NULL before drive_create and after drive_destroy */
    struct drive_slot slot[TRG_SLOTS_MAX];
    struct batch_table table[TRG_CONDITIONS_MAX];
    struct stage_source *sources[TRG_INPUTS_MAX]; /* [max_rois], of the batch to be gathered */
};

/* Makes queues and buffers, not yet the algo.  -ENOENT: a condition that the plugin needs is not
 * given (logged). */
int drive_open(const struct drive_setup *setup, struct drive **ret_drive);
/* Also destroys the algo; NULL is allowed. */
void drive_close(struct drive *d);
int drive_create(struct drive *d);
void drive_destroy(struct drive *d);

/* Gathers the collections that d->sources names into the slot's pinned memory, for n RoIs whose
 * infos are filled in. */
void drive_gather(struct drive *d, struct drive_slot *s, uint32_t n_rois);
/* Enqueues the copies of the gathered inputs to the device. */
int drive_copy_in(struct drive *d, struct drive_slot *s);
/* Clears the results and submits the batch.  On failure the slot's queue is empty. */
int drive_submit(struct drive *d, struct drive_slot *s);
/* Waits for the batch and collects it. */
int drive_collect(struct drive *d, struct drive_slot *s);

/* Work on many batches, with several in flight. */
struct drive_loop {
    /* Fills and submits the next batch: 1; 0: there is none; or an error. */
    int (*begin)(void *ctx, struct drive_slot *s);
    /* Collects a batch; batches end in the order in which they began. */
    int (*end)(void *ctx, struct drive_slot *s);
    void *ctx;
    uint32_t in_flight; /* 1 .. limits.slots */
};
/* Runs until there is no batch to begin.  After an error all queues are empty. */
int drive_run(struct drive *d, const struct drive_loop *loop);
#endif
