/* SPDX-License-Identifier: Apache-2.0 */
/* crossings.h - hits of the plugin `pixels` beside the places where the generator's particles
 * crossed modules, and as events of the tests of paths.
 *
 * A hit belongs to the nearest crossing of its module within CROSSING_NEAR of it. */
#ifndef CLUSTERS_CROSSINGS_H
#define CLUSTERS_CROSSINGS_H
#include "../paths/events.h"
#include "batches.h"
#include "generator.h"

#define CROSSING_NEAR  0.3 /* mm along columns and along rows: two pixels, three */
#define CROSSING_SPANS 3u  /* hits that span one, two, more */

struct crossing_width {
    uint64_t n;
    double square, pull_square; /* mm^2; in errors */
};

struct crossings {             /* sums over events */
    uint64_t crossings, found; /* found: there is a hit near */
    uint64_t hits, true_hits;  /* true: there is a crossing near */
    /* of the hits nearest to a crossing, by what they span; pulls along rows, whose errors are in
     * the plane of x and y */
    struct crossing_width column[CROSSING_SPANS], row[CROSSING_SPANS];
};

/* The parameters of `pixels` for these presets, as configs/menus/pixels.yaml has them. */
extern const char *const crossings_settings[];
/* The clusters that `pixels` makes of generated RoIs, on the CPU.  Arrays of n; negative errno. */
int crossings_run(const struct algo_host *pixels, const struct generated *roi, uint32_t n,
                  struct products *ret_found);

/* Adds an event.  -ENOMEM. */
int crossings_add(struct crossings *c, const struct generated *roi, const struct products *found);
double crossings_resolution(const struct crossing_width *w, uint32_t n); /* um, of n widths */
double crossings_pull(const struct crossing_width *w, uint32_t n);

/* The hits as an event of the tests of paths, without doublets.  Takes the truth of the RoI over:
 * `roi` is empty then.  -ENOMEM. */
int crossings_event(struct generated *roi, const struct products *found, struct event *ret);
#endif
