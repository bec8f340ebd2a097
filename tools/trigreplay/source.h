/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - the distinct RoIs that a replay sends again and again: packed once, before the clock
 * starts, so that sending one is a copy. */
#ifndef TRIGD_SOURCE_H
#define TRIGD_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

struct source_roi {
    unsigned char *bytes; /* a packed Roi without token and l1id */
    size_t n;
    uint32_t items;       /* spacepoints */
    uint32_t run, l1id;   /* as made, or in the file */
    uint32_t event_rois;  /* the same: RoIs of its event */
    uint32_t part, parts; /* which of the RoIs of its event that are here, and how many */
    bool has_truth;
    float truth_z_mm; /* of the hard scatter */
};

struct source {
    struct source_roi *roi;
    uint32_t n;
    uint64_t items;  /* spacepoints, all RoIs together */
    bool has_events; /* of several RoIs, which follow each other */
};

/* `n` RoIs of a generator preset.  -EINVAL: there is no such preset. */
int source_generate(const char *preset, uint64_t seed, uint32_t n, enum layout layout,
                    struct source *ret_source);
/* At most `n` RoIs of a file, or of all RoI files in a folder. */
int source_read(const char *path, uint32_t n, enum layout layout, struct source *ret_source);
/* Gives all RoIs a type, unless it is NULL, and a deadline, unless it is 0.  -ENOMEM. */
int source_stamp(struct source *s, const uint32_t *type, uint32_t deadline_us);
/* Makes events of `n` RoIs each of those that follow each other; what is left over goes.  -ENOMEM;
 * -ENODATA: there are fewer than n. */
int source_group(struct source *s, uint32_t n);
void source_free(struct source *s);
#endif
