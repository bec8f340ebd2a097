/* SPDX-License-Identifier: Apache-2.0 */
/* The whole plane as one window, no peaks looked at: what filling and searching the cells costs,
 * for grids of 10 x 10 to 512 x 512 and 10 to 10,000 hits (the thesis's figures 6.5 and 6.6), RoIs
 * one at a time and in batches.  What would take too long by what the device needed for less is
 * left out, and said. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "process.h"

#define LIMIT_S  0.7 /* of one round of a figure */
#define BACKENDS 8u
#define EVENTS   128u
#define BATCH    64u
#define BATCH_10 16u /* RoIs of 10,000 hits */

static const char *const methods[] = {"brute", "paint", "analytic"};
static const char *const sides[] = {"10", "32", "128", "512"};
static const uint32_t hits[] = {10, 100, 1000, 10000};
#define METHODS (sizeof methods / sizeof *methods)
#define SIDES   (sizeof sides / sizeof *sides)

struct cell { /* what is measured on all devices */
    const struct sample *s;
    uint32_t method, side;
    /* seconds of one RoI on one work-group or core, in units of steps(), as the last figure told;
     * 0: not known yet */
    double (*pace)[METHODS];
};

static uint64_t random_state = 1;

static float uniform(float low, float high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

/* How often the innermost loops run. */
static double steps(const struct hough_config *c, const struct cell *cell)
{
    const struct hg_grid g = hough_par(c, 0).grid;
    const double n = cell->s->most_hits, area = (double)g.n_theta * g.n_r;
    const uint32_t strips = (g.n_theta + g.strip - 1) / g.strip;

    switch (c->method) {
    case HG_BRUTE:
        return n * area;
    case HG_ANALYTIC:
        return 0.5 * n * n * strips + area;
    default:
        return n * g.n_theta + area;
    }
}

/* One figure of one device; `rois` of the sample, in batches of as many at most. */
static void measure_cell(const struct bench *b, const struct algo_place *p, const struct cell *cell,
                         uint32_t lanes, uint32_t rois, uint32_t batch)
{
    const char *const settings[] = {"phi_bins",
                                    "1",
                                    "passes",
                                    "1",
                                    "n_theta",
                                    sides[cell->side],
                                    "n_r",
                                    sides[cell->side],
                                    "max_bin_hits",
                                    "32767",
                                    "max_peaks",
                                    "1",
                                    "threshold",
                                    "10000",
                                    NULL};
    const struct sample s = {cell->s->name, cell->s->events, rois, cell->s->most_hits};
    double *pace = &cell->pace[p->number][cell->method];
    struct hough_config c;
    char figure[80], name[WAY_NAME_BYTES];
    struct way w = way_on(p, batch, lanes, name);
    double rate, work;

    if (algo_configure(b->host.plugin, methods[cell->method], settings, &c) < 0)
        exit(1);
    snprintf(figure, sizeof figure, "cells %s x %s, %u hits, %s%s", sides[cell->side],
             sides[cell->side], s.most_hits, methods[cell->method],
             p->info.is_host ? ""
             : batch > 1     ? ", batched"
                             : ", alone");
    work = steps(&c, cell);
    if (*pace * work > LIMIT_S) {
        if (!b->only)
            printf("%-38s %-40s left out: about %.0f s\n", figure, name, *pace * work);
        return;
    }
    w.figure = figure;
    w.seconds = 0.02;
    rate = measure(b, &w, &c, &s);
    if (rate > 0 && batch == 1 && lanes == 1)
        *pace = 1 / (rate * work);
}

static void grid_on(const struct bench *b, const struct algo_place *p, void *arg)
{
    const struct cell *cell = arg;
    const uint32_t batch = cell->s->most_hits < 10000 ? BATCH : BATCH_10;

    if (p->number >= BACKENDS)
        return;
    measure_cell(b, p, cell, 1, 1, 1);
    if (p->info.is_host)
        measure_cell(b, p, cell, process_cores(LANES_MAX), 1, 1);
    else
        measure_cell(b, p, cell, 1, 2 * batch, batch);
}

void grids(const struct bench *b)
{
    double pace[BACKENDS][METHODS] = {{0}};

    for (uint32_t k = 0; k < sizeof hits / sizeof *hits; k++) {
        struct event events[EVENTS];
        struct sample s = {"plane", events, EVENTS, hits[k]};

        for (uint32_t i = 0; i < EVENTS; i++) {
            if (event_new(hits[k], 0, 0, &events[i]) < 0)
                exit(1);
            for (uint32_t h = 0; h < hits[k]; h++) {
                events[i].x[h] = uniform(-50, 50);
                events[i].z[h] = uniform(-300, 750);
                events[i].layer[h] = (uint16_t)h;
            }
        }
        for (uint32_t side = 0; side < SIDES; side++)
            for (uint32_t m = 0; m < METHODS; m++) {
                struct cell cell = {&s, m, side, pace};

                for_all_devices(b, grid_on, &cell);
            }
        for (uint32_t i = 0; i < EVENTS; i++)
            event_free(&events[i]);
    }
}
