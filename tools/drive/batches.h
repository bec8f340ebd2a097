/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h - runs any number of RoIs through a plugin on a device, batch by batch. */
#ifndef TRIGD_BATCHES_H
#define TRIGD_BATCHES_H
#include "conditions/condition_file.h"
#include "exec/stage.h"
#include "trigd/plugin.h"

struct batches_setup { /* what it points to outlives the batches */
    const struct trg_host *host;
    const struct trg_plugin *plugin;
    const void *config;
    struct trg_device *device;
    uint32_t slots, max_rois, max_items;     /* items: of one input in one batch */
    const struct condition_list *conditions; /* NULL: none are given */
};

struct products { /* what a plugin made of one RoI, in the order of its `produces` */
    struct product {
        uint32_t n, room;
        void *column[TRG_COLUMNS_MAX];
    } of[TRG_OUTPUTS_MAX];
};
void products_fini(struct products *p);
void products_free(struct products *p, uint32_t n); /* an array of n; NULL is allowed */

struct batches_work { /* RoIs 0 .. n - 1 */
    uint32_t n;
    /* Gives RoI i's inputs, in the order of the plugin's `consumes`, and its window, both zero
     * before.  Called again for an RoI that did not fit into a batch. */
    void (*input)(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info);
    const void *rois;
    struct trg_result *results; /* [n] */
    struct products *products;  /* [n], zero or of a run before; NULL: none are wanted */
};

struct batches;
int batches_open(const struct batches_setup *setup, struct batches **ret_batches);
void batches_close(struct batches *b); /* NULL is allowed */
/* Runs all RoIs.  -E2BIG: one has more than max_items.  After an error nothing is in flight. */
int batches_run(struct batches *b, const struct batches_work *work);
#endif
