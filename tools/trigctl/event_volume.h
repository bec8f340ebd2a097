/* SPDX-License-Identifier: Apache-2.0 */
/* event_volume.h - a volume that comes in bricks (collections/bricks.yaml), one in each RoI of an
 * event: its three middle slices, and the labels of its voxels that steps made. */
#ifndef TRIGCTL_EVENT_VOLUME_H
#define TRIGCTL_EVENT_VOLUME_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trigd.pb-c.h"

struct event_slice {
    uint32_t n_u, n_v; /* voxels to the right, and upwards */
    uint8_t *value;    /* 0 to 255, v after v */
    uint8_t *label;    /* bit k: of the k-th step with labels */
};

struct event_volume {
    uint32_t n[3]; /* 0: the event has none */
    uint32_t bricks, labelled;
    uint32_t step[8], n_steps;
    struct event_slice slice[3]; /* across x, y, z */
};

/* Adds the brick of an RoI and its labels; nothing where it has none.  -ENOMEM; -EBADMSG: sizes
 * that do not agree. */
int event_volume_add(struct event_volume *v, const Trigd__V1__Roi *roi);
/* Voxels of an RoI's brick and of its whole volume; 0: it has none.  Bricks of one volume follow
 * each other in a file, and in a stream each is an event of its own. */
uint64_t event_volume_part(const Trigd__V1__Roi *roi, uint64_t *ret_whole);
/* The slices side by side as SVG, in a page of that width and height. */
int event_volume_draw(const struct event_volume *v, double width, double height, FILE *out);
void event_volume_fini(struct event_volume *v);
#endif
