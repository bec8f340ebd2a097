/* SPDX-License-Identifier: Apache-2.0 */
/* study.h - the exercise in the way of D. Cope's report (2018), one of its optimisations after the
 * other: distributions as they are, in floats; a float for the speeds of each work-group; the host
 * adds these up. Kept for comparison; simulation.h is for use. */
#ifndef LATTICE_STUDY_H
#define LATTICE_STUDY_H
#include "study_par.h"
#include "trigd/device.h"

enum study_variant {             /* each has what the ones before it have, but for the layout */
                     STUDY_FIVE, /* five kernels, an array of structures; item 0 of a group adds up
                                  */
                     STUDY_ARRAYS,  /* a structure of arrays */
                     STUDY_FUSED,   /* rebound, collision and speeds in one kernel */
                     STUDY_MASKED,  /* arithmetic in the place of branches on obstacles */
                     STUDY_PRIVATE, /* distributions in private variables */
                     STUDY_TREE,    /* groups add up in a tree */
                     STUDY_VARIANTS
};

struct study_setup {
    uint32_t nx, ny;
    double density, accel, omega;
    const unsigned char *kind; /* [ny][nx]; 1: an obstacle */
    enum study_variant variant;
    uint32_t group; /* cells of a work-group: a power of two up to STUDY_GROUP_MAX */
};

struct study;

const char *study_name(enum study_variant v);
/* 0 or a negative errno; -EINVAL: a group that is not allowed. */
int study_open(struct trg_device *device, const struct study_setup *setup,
               struct study **ret_study);
void study_close(struct study *s); /* NULL is fine */
/* Steps, and waits: the mean speed after each, to `ret_mean` [steps]. */
int study_run(struct study *s, struct trg_queue *q, uint32_t steps, double *ret_mean);
#endif
