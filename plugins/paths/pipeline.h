/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - the device side of the path finder: memory of all slots, and the kernels of a batch
 * in their order, phase by phase, so that they can be timed apart. */
#ifndef PATHS_PIPELINE_H
#define PATHS_PIPELINE_H
#include <stdbool.h>

#include "parameters.h"
#include "trigd/common/lane.h"

#define PA_MODULES 5u

enum pa_phase {
    PA_PHASE_STARTS,
    PA_PHASE_LINKS,
    PA_PHASE_PATHS,
    PA_PHASE_FIT,
    PA_PHASE_OUT,
    PA_PHASES
};

struct pa_slot { /* one batch in flight */
    struct trg_buffer *work, *product[2];
    struct trg_buffer *summary_host, *product_host[2]; /* on the CPU the last two are NULL */
    uint32_t n_rois;
    bool is_wanted[2]; /* somebody on the host takes the columns */
};

struct pa_pipeline {
    const struct pa_config *config;
    const struct trg_host *host;
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module[PA_MODULES];
    struct trg_kernel *kernel[32];
    struct buffers buffers;
    struct pa_slot slot[TRG_SLOTS_MAX];
    struct pa_par par;       /* what does not change */
    struct block product[2]; /* paths, tracks */
    uint32_t work_words;
    uint32_t group;
    uint32_t rounds; /* of the choice among duplicates, where the whole device begins with it */
};

/* The most paths, and the most candidates, that an RoI of so many hits and doublets can have. */

/* Inside: of layout.c, for pipeline.c. */
/* Rows of the products that a batch can need. */
uint32_t pa_batch_rows(const struct pa_pipeline *p, uint32_t n_rois, uint32_t n_hits);
/* Lays out the buffers for the limits; -ENOMEM when they would be too large, which it logs. */
int pa_set_sizes(struct pa_pipeline *p);
void pa_set_par(const struct pa_config *c, struct pa_par *ret_par);

/* Loads the kernels and allocates for `limits`.  0, or a negative errno with nothing left. */
int pa_open(struct pa_pipeline *p, const struct trg_host *host, const struct pa_config *config,
            struct trg_device *device, const struct trg_limits *limits);
void pa_close(struct pa_pipeline *p);

/* Who wants to know where phases end: called with 0 before the work is enqueued, and with 1 + phase
 * behind each phase; on the CPU for each RoI again.  0 or a negative errno. */
struct pa_watcher {
    int (*mark)(void *ctx, struct trg_queue *q, uint32_t i);
    void *ctx;
};

/* Enqueues all of a batch.  `watcher` may be NULL. */
int pa_enqueue(struct pa_pipeline *p, const struct trg_batch *b, struct trg_queue *q,
               const struct pa_watcher *watcher);

/* The block of product k as its columns lie on the host; valid when the queue has passed it. */
const unsigned char *pa_product(const struct pa_pipeline *p, const struct pa_slot *s, uint32_t k);
#endif
