/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - what bench_shm and bench_layouts share: RoIs sent through the daemon, and the command
 * line. */
#ifndef TRIGD_BENCH_MEASURE_H
#define TRIGD_BENCH_MEASURE_H
#include "replay.h"
#include "result.h"
#include "ways.h"

struct load { /* what is sent and who looks at it */
    const char *plugin, *params, *preset;
    uint32_t batch, credits;
    uint64_t rois;
};

struct figures {
    struct result rate, cpu, bytes, p50, p99;
};

/* Sends RoIs of a load; all must be decided.  The caller calls replay_result_fini, on any return.
 */
int measure_send(const struct daemon *d, enum way way, const struct load *load, enum layout layout,
                 uint64_t rois, struct replay_result *ret);
/* The same with all of the load's; adds what is measured. */
int measure_run(const struct daemon *d, enum way way, const struct load *load, enum layout layout,
                struct figures *f);

/* How often everything is measured, after a round that warms up. */
uint32_t measure_rounds(void);

/* The main of the program bench_NAME: takes --json FILE, --rounds N and --quick. */
int measure_main(int argc, char **argv, const char *name, uint32_t rounds,
                 int (*run)(const struct results *out));
#endif
