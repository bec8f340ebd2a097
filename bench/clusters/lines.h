/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the lines of plugins that bench_clusters measures, and the sizes of their batches. */
#ifndef TRIGD_BENCH_LINES_H
#define TRIGD_BENCH_LINES_H
#include <stddef.h>
#include <stdint.h>

#define PLUGINS    4u /* of a line, at most */
#define HITS_BATCH 8u /* what the cache of a core holds */

enum { CLUSTERS, HOUGH, VERTEXING, PIXELS, DOUBLETS, PATHS, HOSTS };
static const char *const plugins[HOSTS] = {"clusters", "hough",    "vertexing",
                                           "pixels",   "doublets", "paths"};

struct line { /* plugins one behind the other */
    uint32_t n, plugin[PLUGINS];
    const char *what[PLUGINS];                 /* with one of them, two, ...; NULL: no figure */
    const char *const *settings[PLUGINS];      /* NULL: none */
    const uint32_t *gpu_batches, *cpu_batches; /* with 0 behind the last; the first two are quick */
    const struct line *next;                   /* of the same events; NULL: none */
};

static const uint32_t small_batches[] = {64, 8, 0}, gpu_batches[] = {256, 1024, 64, 2048, 0};
static const uint32_t few[] = {16, 64, 0}, daemons[] = {64, 128, 0}, one_batch[] = {HITS_BATCH, 0};

static const char *const no_secondaries[] = {"secondaries", "false", NULL};
static const struct line primaries_line = {
    /* what LHCb's Allen of 2020 makes */
    .n = 3,
    .plugin = {CLUSTERS, HOUGH, VERTEXING},
    .what = {NULL, NULL, "banks to primary vertices"},
    .settings = {NULL, NULL, no_secondaries},
    .gpu_batches = gpu_batches,
    .cpu_batches = small_batches};
static const struct line banks_line = {
    .n = 3,
    .plugin = {CLUSTERS, HOUGH, VERTEXING},
    .what = {"banks to hits", "banks to tracks", "banks to vertices"},
    .gpu_batches = gpu_batches,
    .cpu_batches = small_batches,
    .next = &primaries_line};
static const struct line hits_line = {.n = 2,
                                      .plugin = {HOUGH, VERTEXING},
                                      .what = {"hits to tracks", "hits to vertices"},
                                      .gpu_batches = gpu_batches,
                                      .cpu_batches = small_batches};
static const struct line pixels_line = {
    .n = 4,
    .plugin = {PIXELS, DOUBLETS, PATHS, VERTEXING},
    .what = {"pixels to hits", "pixels to doublets", "pixels to tracks", "pixels to vertices"},
    .settings = {(const char *const[]){"geometry", "cms", NULL}},
    .gpu_batches = few,
    .cpu_batches = one_batch};

static const struct line pixel_hits_line = {
    .n = 3,
    .plugin = {DOUBLETS, PATHS, VERTEXING},
    .what = {"pixel hits to doublets", "pixel hits to tracks", "pixel hits to vertices"},
    .settings = {NULL, NULL, (const char *const[]){"z_range_mm", "300", NULL}},
    .gpu_batches = daemons,
    .cpu_batches = one_batch};
#endif
