/* SPDX-License-Identifier: Apache-2.0 */
/* bench_histograms - CPU time that the histograms of a menu add to the decision of an RoI: none, 10
 * and 100 of a value, and one of a collection.  The kinds of menu take turns in every run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "flow/histograms.h"
#include "log.h"
#include "menu/chains.h"
#include "result.h"

#define ROIS   1024u
#define POINTS 1000u
#define KINDS  4u
#define REPEAT 20u

static const struct kind {
    const char *figure;
    uint32_t n_values, n_columns;
} kinds[KINDS] = {{"no histogram: an RoI", 0, 0},
                  {"10 histograms of values: an RoI", 10, 0},
                  {"100 histograms of values: an RoI", 100, 0},
                  {"1 histogram of a column of 1,000 items: an RoI", 0, 1}};

struct bench {
    uint32_t runs;
    struct results out;
    struct pool *pool;
    struct roi roi[ROIS];
    uint64_t chains;
    struct engine engine[KINDS];
    struct histograms *histograms[KINDS];
    struct result result[KINDS];
};

/* ---------------------------------------------------------------- what is filled */

static int load(struct bench *b, struct plugin_host *host, uint32_t kind)
{
    char path[] = "/tmp/bench-histograms-XXXXXX";
    const int fd = mkstemp(path);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    struct menu *m = NULL;
    int r = 0;

    if (!out)
        return -errno;
    fputs("streams: [s]\nsteps: [{name: c, plugin: copying}]\n"
          "chains: [{name: all, id: 1, steps: [{step: c}], streams: [s]}]\nhistograms:",
          out);
    fputs(kinds[kind].n_values + kinds[kind].n_columns ? "\n" : " []\n", out);
    for (uint32_t i = 0; i < kinds[kind].n_values; i++)
        fprintf(out, "  - {name: h%u, step: c, value: n, bins: 100, min: 0, max: %u}\n", i,
                500 + i);
    for (uint32_t i = 0; i < kinds[kind].n_columns; i++)
        fprintf(out,
                "  - {name: z%u, step: c, collection: spacepoints, column: z, bins: 100, "
                "min: -200, max: 200}\n",
                i);
    if (fclose(out) != 0)
        r = -EIO;
    if (r == 0)
        r = menu_load(path, host, &m);
    unlink(path);
    b->engine[kind].menu = m;
    if (r == 0)
        r = histograms_new(&b->histograms[kind]);
    return r < 0 ? r : histograms_begin(b->histograms[kind], &b->engine[kind]);
}

/* RoIs with a result each; the items of all are the same ones. */
static int make_rois(struct bench *b)
{
    const uint64_t items = pool_alloc(b->pool, pool_collection_bytes(TRG_SPACEPOINTS, POINTS));
    const struct roi_collection c = {
        .at = items, .capacity = POINTS, .n = POINTS, .is_there = true};
    uint64_t state = 1;

    b->chains = pool_alloc(b->pool, 4096);
    memset(pool_at(b->pool, b->chains), 0, 4096);
    for (uint32_t i = 0; i < ROIS; i++) {
        struct roi_step *step;

        b->roi[i].done = 1;
        b->roi[i].steps = pool_alloc(b->pool, sizeof *step);
        if (b->roi[i].steps == UINT64_MAX)
            return -ENOMEM;
        step = pool_steps(b->pool, &b->roi[i]);
        memset(step, 0, sizeof *step);
        state = state * 6364136223846793005u + 1442695040888963407u;
        step->result.value[0] = (float)(state >> 40) * (600.0f / 16777216.0f);
        step->product[0] = c;
    }
    for (uint32_t i = 0; i < POINTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((float *)pool_column(b->pool, TRG_SPACEPOINTS, &c, TRG_SPACEPOINTS_Z_COLUMN))[i] =
            (float)(state >> 40) * (420.0f / 16777216.0f) - 210.0f;
    }
    return 0;
}

/* ---------------------------------------------------------------- measuring */

static double time_kind(struct bench *b, uint32_t kind)
{
    const uint64_t from = clock_thread_ns();

    for (uint32_t k = 0; k < REPEAT; k++)
        for (uint32_t i = 0; i < ROIS; i++)
            histograms_fill(b->histograms[kind], &b->engine[kind], b->pool, &b->roi[i],
                            pool_at(b->pool, b->chains));
    return (double)(clock_thread_ns() - from) / (ROIS * REPEAT);
}

static void report(struct bench *b)
{
    for (uint32_t k = 0; k < KINDS; k++)
        result_report(&b->out, &(struct result_figure){.unit = "ns"}, &b->result[k], "%s",
                      kinds[k].figure);
}

int main(int argc, char **argv)
{
    static struct bench b = {.runs = 41, .out = {.bench = "histograms"}};
    const struct arg table[] = {
        {"runs", ARG_U32, &b.runs, 1, RESULT_RUNS_MAX, "N", "of which the median counts (41)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    char folder[] = PLUGINS, *paths[] = {folder};
    struct plugin_host *host = NULL;
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    log_set_level(TRG_ERROR);
    r = plugin_host_new(paths, 1, &host);
    if (r == 0)
        r = pool_open(16, 1 << 22, &b.pool);
    if (r == 0)
        r = b.pool ? make_rois(&b) : -ENOMEM;
    for (uint32_t k = 0; r == 0 && k < KINDS; k++)
        r = load(&b, host, k);
    for (uint32_t i = 0; r == 0 && i < b.runs; i++)
        for (uint32_t k = 0; k < KINDS; k++)
            result_add(&b.result[k], time_kind(&b, k));
    if (r == 0)
        report(&b);
    for (uint32_t k = 0; k < KINDS; k++) {
        if (b.histograms[k])
            histograms_leave(b.histograms[k], &b.engine[k]);
        histograms_free(b.histograms[k]);
        menu_free((struct menu *)(uintptr_t)b.engine[k].menu);
    }
    pool_close(b.pool);
    plugin_host_free(host);
    return result_end(&b.out, r);
}
