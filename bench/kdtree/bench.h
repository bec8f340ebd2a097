/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of bench_kdtree share. */
#ifndef KDTREE_BENCH_H
#define KDTREE_BENCH_H
#include <stdbool.h>
#include <stdio.h>

#include "devices.h"
#include "result.h"
#include "trigd/kdtree.h"

struct bench { /* as the command line says */
    bool is_quick;
    uint32_t runs;
    struct results out;
};
extern struct bench bench;

void die(const char *what) __attribute__((noreturn));
const char *name_of(const struct device *device);

float random_unit(uint64_t *state);
/* Uniform in the unit cube, [k][n]; the caller frees them. */
float *make_points(uint32_t k, uint32_t n);
/* A forest with these points for one tree, which is not built; NULL: not enough memory. */
struct kd_forest *plant(const struct device *device, struct trg_queue *q, uint32_t k, uint32_t n,
                        const float *points);

void bench_build(void);
/* Boxes with so many of the points in each; `goal`: million queries/s by hand. */
void bench_search(uint32_t k, uint32_t points, double hits, double goal);
/* The same with gangs from 1 to 32 on GPUs, as given and as the most that KD_SEARCH_AUTO may take.
 */
void bench_gangs(void);
/* Points counted in balls and boxes, copies included and not. */
void bench_count(void);
/* One tree by more and more cores. */
void bench_cores(void);
/* How long the host enqueues the kernels of a build, of the time until it is done. */
void bench_enqueue(void);
/* Events for each joule. */
void bench_energy(void);
/* Hits of generated events in five dimensions: place, time and angle. */
void bench_hits(void);
#endif
