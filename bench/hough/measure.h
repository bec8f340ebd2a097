/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - RoIs per second of the plugin on a device, in a bounded time. */
#ifndef HOUGH_MEASURE_H
#define HOUGH_MEASURE_H
#include <stdio.h>

#include "driver.h"
#include "result.h"

#define LANES_MAX 64u

struct bench { /* what all figures share */
    struct algo_host host;
    struct results out;
    const char *only; /* figures with this in their name; NULL: all */
    uint32_t runs;    /* of a figure, the median counts */
};

struct sample {
    const char *name;
    struct event *events;
    uint32_t n, most_hits;
};

struct way { /* to measure */
    const char *figure, *device_name;
    struct trg_device *device;
    uint32_t lanes, batch;
    enum way_clock {
        BY_WALL,
        BY_THREAD, /* one core: per second of the lane's CPU time, however busy the machine is */
        BY_PROCESS /* OpenCL that is threads on the CPU: of all threads together */
    } clock;
    double seconds; /* that a run takes about */
    double base;    /* RoIs/s that the figure is compared with, or 0 */
};

/* One figure for people and for the file. */
void report(const struct bench *b, const struct way *w, const struct result *rates);
/* A way with so many lanes of a device, by the clock that suits it; `name` gets the name of both
 * and lives as long. */
#define WAY_NAME_BYTES 80
struct way way_on(const struct algo_place *p, uint32_t batch, uint32_t lanes,
                  char name[WAY_NAME_BYTES]);
/* Measures with a thread a lane, and tells it.  What is slow is run once.  RoIs/s; 0: nothing was
 * measured. */
double measure(const struct bench *b, const struct way *w, const struct hough_config *c,
               const struct sample *s);

/* Calls `measure_on` for the first device of each backend. */
void for_all_devices(const struct bench *b,
                     void (*measure_on)(const struct bench *b, const struct algo_place *p,
                                        void *arg),
                     void *arg);

/* The filling of cells alone, for many grids and numbers of hits. */
void grids(const struct bench *b);

/* RoIs of 500 to 50,000 hits. */
void sizes_of_rois(const struct bench *b);
#endif
