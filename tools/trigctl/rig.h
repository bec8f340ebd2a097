/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h - a drive whose plugin is watched: what it reads, where it writes, what it leaves on the
 * device. */
#ifndef TRIGCTL_RIG_H
#define TRIGCTL_RIG_H
#include "drive.h"
#include "exec/sample.h"
#include "outcome.h"

#define RIG_SLOTS 3u

struct rig_setup { /* borrowed until rig_close */
    const struct plugin *plugin;
    const void *config;
    const struct trg_host *host;
    struct trg_device *device;
    struct trg_limits limits; /* slots <= RIG_SLOTS */
    const struct condition_list *conditions;
    bool on_device; /* inputs without a host copy, as of an earlier step on the device */
};

struct rig {
    struct rig_setup s;
    struct drive *drive;
    uint64_t checksum[RIG_SLOTS]; /* of all staged input */
    struct trg_buffer *readback;  /* of a column that device_output tells of; NULL without it */
};

/* Makes slots and buffers, not yet the algo. */
int rig_open(const struct rig_setup *setup, struct rig **ret_rig);
void rig_close(struct rig *r); /* destroys the algo as well; NULL is allowed */
int rig_create(struct rig *r);
void rig_destroy(struct rig *r);

/* Stages and submits the RoIs `order[0 .. n - 1]` of the sample; outcome i belongs to order[i] and
 * has been initialized.  On failure nothing is in flight. */
int rig_submit(struct rig *r, uint32_t slot, const struct sample *s, const uint32_t *order,
               uint32_t n, const struct outcome *outcomes);
/* Waits and collects.  -EILSEQ, with `why`: the plugin wrote outside of its output, or its product
 * on the device differs from the one on the host. */
int rig_collect(struct rig *r, uint32_t slot, struct outcome *outcomes, char *why, size_t bytes);
#endif
