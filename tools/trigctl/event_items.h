/* SPDX-License-Identifier: Apache-2.0 */
/* event_items.h - what an event holds that can be drawn: points, tracks and vertices. */
#ifndef TRIGCTL_EVENT_ITEMS_H
#define TRIGCTL_EVENT_ITEMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd.pb-c.h"

enum event_kind { EVENT_POINTS, EVENT_TRACKS, EVENT_VERTICES };

struct event_item {
    enum event_kind kind;
    float x, y, z;      /* mm */
    float tx, ty;       /* of tracks: slopes dx/dz, dy/dz */
    bool is_secondary;  /* of vertices */
    float z_from, z_to; /* of tracks: where their points are */
};

struct event_items {
    struct event_item *item;
    uint32_t n, room;
    uint32_t run, l1id;
    uint32_t n_rois;
    size_t count[3];   /* of each kind */
    char sources[256]; /* names of the collections */
};

/* Adds all that an RoI holds; -ENOMEM, -EBADMSG for columns of different lengths. */
int event_items_add(struct event_items *e, const Trigd__V1__Roi *roi);
/* After the last RoI: looks where the points of each track are. */
void event_items_match(struct event_items *e);
void event_items_fini(struct event_items *e);
#endif
