/* SPDX-License-Identifier: Apache-2.0 */
/* pull.h - batches that a device gathers itself: a kernel reads the columns of co-located clients,
 * or those that the front left in the arena as they came (raw.h), over the bus, and checks every
 * value on its own copy, so no CPU touches them.  Large RoIs of
 * collections in which every value is allowed need no check: the device's copy engine fetches them.
 *
 * Where they are large enough (fetch.h) the copy engine fetches all of them, and the kernel reads
 * them on the device.
 *
 * The host writes where they lie (pull_layout.h).  What comes out is, to the bit, what stage_fill
 * gives of the same memory, and so is the fault of an RoI with a value that is not allowed. */
#ifndef TRIGD_PULL_H
#define TRIGD_PULL_H
#include "check_fault.h"
#include "exec/arena.h"
#include "exec/fetch.h"
#include "trigd/plugin.h"

#define PULL_LEAST 1024u /* bytes: fewer are copied sooner than a kernel begins to read them */

struct pull { /* of one lane; zero: none */
    struct trg_module *module;
    struct trg_kernel *kernel;
    uint32_t group_max;  /* work-items of a group at most */
    uint32_t work_items; /* of a launch that reads over the bus at most, a power of two */
    struct fetch fetch;
};

struct pull_input { /* one collection of a batch */
    uint32_t kind, max_layer;
    uint32_t n_rois;
    const struct trg_roi_info *rois;
    const struct arena_source *sources; /* all at multiples of 64 bytes of the window */
    const unsigned char *pool;          /* the mapping that the sources' encodings lie in */
    struct trg_buffer *window;          /* open where the sources lie */
    struct fetch_window open;           /* of it */
    struct trg_buffer *host, *dev;      /* rooms of the block, as stage_bytes says */
    struct trg_buffer *fetched;         /* of the device, for what is fetched; NULL: nothing is */
    uint64_t fetched_bytes;
};

/* Loads the kernel, for a device whose kernels read memory of the host (trg_window_new). pull_close
 * takes one that is empty as well. */
int pull_open(struct trg_device *d, uint32_t max_rois, struct pull *ret_pull);
void pull_close(struct pull *p);

/* Bytes of the tables in the block of a batch. */
size_t pull_bytes(uint32_t kind, uint32_t n_rois);
/* Room on the device for what is fetched of a batch whose block takes so many bytes at most. */
uint64_t pull_fetched_bytes(uint32_t kind, uint32_t max_layer, uint32_t max_rois, uint64_t bytes);
/* Enqueues everything that makes the block of a batch on the device; the RoIs, the offsets and,
 * later, the verdicts are in `host`. */
int pull_enqueue(struct pull *p, struct trg_queue *q, const struct pull_input *in,
                 struct trg_span *ret_span);
/* When the queue has passed: what was found wrong with RoI i of the block in `host`, which has a
 * span as pull_enqueue gave it; zero: nothing. */
struct check_fault pull_fault(uint32_t kind, const struct trg_span *span, const void *host,
                              uint32_t i);
#endif
