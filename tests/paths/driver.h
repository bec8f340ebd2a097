/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs the path finder on a device as a lane does, for tests and measurements. */
#ifndef PATHS_TEST_DRIVER_H
#define PATHS_TEST_DRIVER_H
#include <stdbool.h>

#include "algohost.h"
#include "batches.h"
#include "parameters.h"

/* One RoI's hits and doublets; arrays grow as they are added to and belong to it. */
struct roi {
    uint32_t n_hits, hit_room;
    float *x, *y, *z;
    uint16_t *layer;
    uint32_t *id;
    uint32_t n_doublets, doublet_room;
    uint32_t *inner, *outer;
};
void roi_init(struct roi *r);
void roi_fini(struct roi *r);
/* Both return the number of what they added; memory that is out ends the program. */
uint32_t roi_hit(struct roi *r, double x, double y, double z, uint32_t layer);
uint32_t roi_doublet(struct roi *r, uint32_t inner, uint32_t outer);

#define PATH_COLUMNS 16u
struct answer { /* what came back for one RoI */
    struct trg_result result;
    uint32_t n;                   /* candidates */
    uint32_t *path[PATH_COLUMNS]; /* floats as their bits */
    uint32_t *track[11];
};
float answer_path(const struct answer *a, uint32_t column, uint32_t i);
uint32_t answer_hit(const struct answer *a, uint32_t k, uint32_t i);
float answer_track(const struct answer *a, uint32_t column, uint32_t i);
void answers_free(struct answer *a, uint32_t n);
bool answers_equal(const struct answer *a, const struct answer *b);

/* Runs all RoIs in batches of `batch`, two in flight.  `ret_answers` has a place for each RoI and
 * is freed by the caller with answers_free.  0 or a negative errno. */
int paths_run(const struct algo_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, uint32_t batch, struct answer *ret_answers);
#endif
