/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - medians of repeated runs, and their rows. */
#ifndef VX_MEASURE_H
#define VX_MEASURE_H
#include <stdbool.h>
#include <stdint.h>

#include "result.h"
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
    uint32_t runs;
};

struct bench {
    struct results out;
    const char *match; /* NULL: all figures; else those whose name holds this */
    uint32_t runs;
    double min_ms;  /* a run takes at least so long */
    double cell_ms; /* no other run is begun for a figure after so long */
    bool quick;
    uint32_t cores;
};

/* Whether a figure of this name is asked for. */
bool is_wanted(const struct bench *b, const char *what);

int measure(const struct bench *b, const struct work *w, struct timing *ret_timing);
/* The same with `threads` at a time, each with its own arg; us is the wall time of one time of all.
 */
int measure_all(const struct bench *b, const struct work *w, uint32_t threads,
                struct timing *ret_timing);

/* One figure: `per_s` things a second, and what the serial version does. */
struct figure {
    const char *what, *device, *unit;
    double per_s, serial_per_s;
    struct timing t;
};
/* Its row, and its line in the JSON file. */
void report(const struct bench *b, const struct figure *f);
/* "cuda, NVIDIA H200" */
void device_name(struct trg_device *device, char *text, size_t bytes);
#endif
