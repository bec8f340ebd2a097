/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of bench_lattice share. */
#ifndef LATTICE_BENCH_H
#define LATTICE_BENCH_H
#include <stdbool.h>

#include "devices.h"
#include "parameters.h"
#include "result.h"

struct bench { /* as the command line says */
    bool is_quick;
    uint32_t runs;
    uint32_t size;    /* of grids of speed and sweep; 0: all */
    const char *data; /* folder of the reference runs; NULL: none */
    struct results out;
};
extern struct bench bench;

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
const char *name_of(const struct device *device);
/* Opens a simulation and a queue, or ends the program. */
struct lattice *flow_open(const struct device *device, const struct lattice_setup *setup,
                          const unsigned char *kind, const struct lattice_tuning *tuning,
                          struct trg_queue **ret_queue);
void flow_close(struct lattice *l, struct trg_queue *q);
/* Steps that must succeed. */
void flow_run(struct lattice *l, struct trg_queue *q, uint64_t steps, double *ret_mean);
/* Kinds [ny][nx] with walls all around. */
unsigned char *box(uint32_t nx, uint32_t ny);

void bench_speed(const struct device *device);      /* million updates a second, by size and way */
void bench_sweep(const struct device *device);      /* blocks and groups of all shapes */
void bench_study(const struct device *device);      /* the report's steps, one after the other */
void bench_course(void);                            /* the course's program on a core */
void bench_references(const struct device *device); /* the four reference runs; NULL: the oracle */
void bench_physics(const struct device *device);    /* cavity, Poiseuille, Taylor-Green */
#endif
