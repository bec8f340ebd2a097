/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h - one algo on one device with its slots, driven as a lane of the daemon drives it. */
#ifndef TRIGCTL_RIG_H
#define TRIGCTL_RIG_H
#include "exec/sample.h"
#include "outcome.h"

#define RIG_SLOTS 3u

struct rig_setup { /* borrowed until rig_close */
    const struct plugin *plugin;
    const void *config;
    const struct trg_host *host;
    struct trg_device *device;
    struct trg_limits limits; /* slots <= RIG_SLOTS */
    bool on_device;           /* hand over inputs as an earlier step on the device does */
};

struct rig_slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host[TRG_INPUTS_MAX], *dev[TRG_INPUTS_MAX]; /* one buffer on the CPU */
    size_t staged[TRG_INPUTS_MAX];                                 /* bytes of each input */
    uint64_t checksum;                                             /* of all staged input */
    struct trg_roi_info *infos;
    struct trg_result *results; /* one more than allowed, to see who writes past the end */
    struct trg_output *outputs[TRG_OUTPUTS_MAX];
    struct trg_batch batch;
};

struct rig {
    struct rig_setup s;
    bool is_host;
    struct trg_algo *algo; /* NULL: rig_create was not called, or failed */
    struct rig_slot slot[RIG_SLOTS];
    struct stage_source *sources;
    struct trg_buffer *readback; /* of a column that device_output tells of; NULL without it */
};

/* Makes slots and buffers, not yet the algo. */
int rig_open(const struct rig_setup *setup, struct rig **ret_rig);
void rig_close(struct rig *r); /* destroys the algo as well; NULL is fine */
int rig_create(struct rig *r);
void rig_destroy(struct rig *r);

/* Stages and submits the RoIs `order[0 .. n - 1]` of the sample; outcome i belongs to order[i] and
 * has been initialized.  On failure nothing is in flight. */
int rig_submit(struct rig *r, uint32_t slot, const struct sample *s, const uint32_t *order,
               uint32_t n, const struct outcome *outcomes);
/* Waits and collects.  -EILSEQ, with `why`: the plugin wrote where it must not, or what lies on the
 * device for the next step is not what it told the host. */
int rig_collect(struct rig *r, uint32_t slot, struct outcome *outcomes, char *why, size_t bytes);
#endif
