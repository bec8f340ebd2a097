/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of bench_voxels share: the volume, the model, and the rows of
 * figures. */
#ifndef BENCH_VOXELS_H
#define BENCH_VOXELS_H
#include <stdbool.h>
#include <stdio.h>

#include "lane.h"
#include "result.h"
#include "volume.h"

struct bench {
    struct results out;
    const char *match; /* only figures whose name holds this; NULL: all */
    double seconds;    /* of a run */
    uint32_t runs;
    uint32_t planes; /* out of core; 0: not measured */
    struct vox_model model;
    struct vox_tables tables;
    uint32_t n[3];
    unsigned char *values; /* n[0] x n[1] x n[2] bytes */
};

struct place {
    struct trg_device *device;
    struct trg_device_info info;
};

/* Something that is measured: one call does it `times` times and waits for the end. */
struct work {
    int (*run)(void *arg, uint32_t times);
    void *arg;
    double voxels; /* of one time */
    bool on_host;  /* alone on this thread: its CPU time counts */
};

/* Measures and tells voxels per second; `goal` as well, 0: none.  Returns the median in voxels per
 * second, 0 where it was not asked for; negative errno. */
int measure(const struct bench *b, const struct place *p, const char *figure, const struct work *w,
            double goal, double *ret_per_s);
/* Measures and tells the microseconds of one time. */
int measure_time(const struct bench *b, const struct place *p, const char *figure,
                 const struct work *w);

/* The techniques of the thesis, one at a time: study.c. */
int bench_study(const struct bench *b, const struct place *p);
/* Volumes in files: outofcore.c. */
int bench_out_of_core(const struct bench *b, const struct place *p);
/* Lanes: speed.c. */
int bench_speed(const struct bench *b, const struct place *p);
#endif
