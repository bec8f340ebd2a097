/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the batches of a slot, for whatever runs plugins: the runner of a lane and tools/drive.
 *
 * Order:   batch_open; for each batch its memory and tables are written, batch_submit for each
 *          plugin, batch_flush; when the queue is through, the plugins collect; batch_close.
 * Errors:  0 or a negative errno.
 */
#ifndef TRIGD_BATCH_H
#define TRIGD_BATCH_H
#include <stdbool.h>

#include "plugin/plugin_host.h"

/* Memory for the results and outputs of so many RoIs in a slot; `infos` is borrowed.  -ENOMEM:
 * batch_close all the same. */
int batch_open(struct trg_batch *b, uint32_t slot, const struct trg_roi_info *infos,
               uint32_t max_rois, const struct trg_plugin *p);
void batch_close(struct trg_batch *b);

struct batch_memory { /* pinned, and on the device; on the host both are one buffer */
    struct trg_buffer *host, *dev;
};
int batch_memory_open(struct trg_device *device, size_t bytes, struct batch_memory *m);
void batch_memory_close(struct batch_memory *m);
/* Enqueues the copy of the first bytes to the device, if it is not the host. */
int batch_memory_write(const struct batch_memory *m, struct trg_queue *q, size_t bytes);

struct batch_table { /* a condition */
    struct batch_memory memory;
    uint64_t key;        /* of the table that is there; 0: none yet */
    struct trg_input in; /* as plugins get it; no collection: it is not given */
};
/* The rows of `key` were laid out in its pinned memory, `bytes` of it, as `in` says: enqueues their
 * copy. */
int batch_table_load(struct batch_table *t, struct trg_queue *q, const struct trg_input *in,
                     uint64_t key, size_t bytes);
/* Makes it condition i of the plugin. */
void batch_give(struct trg_batch *b, uint32_t i, const struct batch_table *t);

/* Clears the results of the batch's RoIs and lets the plugin enqueue its work. */
int batch_submit(const struct trg_plugin *p, struct trg_algo *a, struct trg_batch *b,
                 struct trg_queue *q);
/* Marks the end of a batch in its queue, and sees that the device begins. */
int batch_flush(struct trg_queue *q, struct trg_event *reached);
#endif
