/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - medians of repeated runs, and how they are told. */
#ifndef VX_MEASURE_H
#define VX_MEASURE_H
#include <stdbool.h>
#include <stdint.h>

#include "trigd/device.h"

/* Something that is measured: one call does it `times` times and waits for the end.  Negative
 * errno. */
struct work {
    int (*run)(void *arg, uint32_t times);
    void *arg;
    bool on_host; /* alone on a thread: its CPU time counts, so that a busy machine matters less */
};

struct timing {
    double us;     /* median of the runs, for one time */
    double spread; /* (longest - shortest) / median */
};

/* Runs of at least `min_ms` each. */
int measure(const struct work *w, uint32_t runs, double min_ms, struct timing *ret_timing);
/* The same with `threads` at a time, each with its own arg; us is the wall time of one time of all.
 */
int measure_all(const struct work *w, uint32_t threads, uint32_t runs, double min_ms,
                struct timing *ret_timing);

struct bench {
    const char *json;
    uint32_t runs;
    double min_ms;
    bool quick;
    uint32_t cores;
};

/* One figure: `per_s` things a second, and what the serial version does. */
struct figure {
    const char *what, *device, *unit;
    double per_s, spread, serial_per_s, goal;
};
int tell_open(const struct bench *b);
void tell(const struct bench *b, const struct figure *f);
int tell_close(void);
/* "cuda, NVIDIA H200" */
void device_name(struct trg_device *device, char *text, size_t bytes);
#endif
