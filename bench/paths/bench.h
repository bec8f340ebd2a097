/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of bench_paths share. */
#ifndef PATHS_BENCH_H
#define PATHS_BENCH_H
#include <stdbool.h>
#include <stdio.h>

#include "phases.h"
#include "result.h"

struct sample {
    const char *name;
    const struct roi *rois;
    uint32_t n;                 /* RoIs */
    const char *const *options; /* of the plugin */
    double goal_us[2], base_us; /* for one RoI: one core, CUDA; baseline; 0: none */
};

struct bench { /* as the command line says */
    struct results out;
    uint32_t runs;
    const char *backend; /* the only one; NULL: all */
    bool is_curves;
};
extern struct bench bench;
extern struct algo_host host;
extern const char *const phase_names[PA_PHASES];

/* The defaults, and these options. */
void set(struct pa_config *c, const char *const *options, const char *growth);
/* Medians of all that is timed, and half the range of the wall time over it; a negative number on
 * failure. */
int measure(struct lane *l, struct timing *ret, double *ret_spread);
/* RoIs a second of n lanes on the CPU, each with the batch that one of them does in `once_us`. */
void side_by_side(const struct sample *s, uint32_t n, double once_us);

/* The sample with more and more threads: lanes on the CPU; on other devices wider launches, and
 * larger portions, more rounds.  `backend`: only this one; NULL: all. */
void curves(const struct sample *s, const char *backend);
#endif
