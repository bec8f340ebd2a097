/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_onecore - microseconds of one core for an RoI, beside the ATLAS original: processor time
 * of the thread, copies and the host's share included, so that other work on the machine does not
 * count.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_onecore [--json FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "clock.h"
#include "driver.h"
#include "result.h"
#include "vertices.h"

#define RUNS 9u

/* The original's times on one core of an EPYC at 2.45 GHz (double precision, athena), and how many
 * times faster the goal is. */
static const struct {
    const char *sample, *preset, *triplet_mode, *per_slice;
    uint32_t rois, rounds;
    double original_us, times;
} cases[] = {
    {"lowlum", "pure", "0", "false", 512, 10, 404, 10},
    {"lowlum", "pure", "1", "false", 512, 5, 372, 0},
    {"lowlum", "pure", "2", "false", 512, 5, 0, 0},
    {"highlum", "pure", "0", "false", 32, 5, 4781, 6},
    {"highlum", "pure", "1", "false", 32, 2, 9381, 6},
    {"highlum", "pure", "2", "false", 32, 2, 10679, 6},
    {"highlum", "dense", "1", "false", 32, 3, 0, 0},
    /* the original beside us, -O3 -march=native, memory kept by malloc; least of six runs */
    {"lowlum", "atlas", "0", "true", 512, 2, 3272, 10},
    {"lowlum", "atlas", "1", "true", 512, 2, 3209, 0},
    {"lowlum", "atlas", "0", "false", 512, 5, 257, 0},
    {"highlum", "atlas", "0", "true", 32, 2, 14076, 6},
    {"highlum", "atlas", "1", "true", 32, 1, 24398, 6},
    {"highlum", "atlas", "0", "false", 32, 2, 4078, 6}};

/* One case: microseconds an RoI, in `ret`. */
static int measure(struct algo_host *host, size_t i, struct result *ret)
{
    const uint32_t n = cases[i].rois;
    struct generated *rois = generated_new(cases[i].sample, 1, 0, n);
    struct trg_result *results = calloc(n, sizeof *results);
    struct zf_config c;
    struct batches_setup s = {.host = &host->host,
                              .plugin = &host->plugin->d,
                              .config = &c,
                              .slots = 2,
                              .max_rois = 16,
                              .max_items = 300000};
    struct batches *b = NULL;
    int r = rois && results ? 0 : -1;

    if (r == 0)
        r = algo_configure(host->plugin, cases[i].preset,
                           (const char *const[]){"triplet_mode", cases[i].triplet_mode,
                                                 "histogram_per_slice", cases[i].per_slice, NULL},
                           &c);
    if (r == 0)
        r = backends_device(host->backends, "cpu", 0, &s.device);
    if (r == 0)
        r = batches_open(&s, &b);
    for (uint32_t run = 0; r == 0 && run <= RUNS; run++) {
        uint64_t start = clock_thread_ns();

        for (uint32_t k = 0; r == 0 && k < cases[i].rounds; k++)
            r = zfinder_run(b, rois, n, results, NULL);
        if (run) /* the first one warms up */
            result_add(ret, (double)(clock_thread_ns() - start) * 1e-3 / n / cases[i].rounds);
    }
    batches_close(b);
    generated_free(rois, n);
    free(results);
    return r;
}

static void report(size_t i, const struct result *r, const struct results *out)
{
    const double original = cases[i].original_us;

    result_report(
        out,
        &(struct result_figure){.unit = "us",
                                .goal = cases[i].times > 0 ? original / cases[i].times : 0,
                                .baseline = "ATLAS original",
                                .baseline_value = original},
        r, "%s %s triplet_mode %s%s, one core", cases[i].sample, cases[i].preset,
        cases[i].triplet_mode, strcmp(cases[i].per_slice, "true") == 0 ? ", per slice" : "");
}

int main(int argc, char **argv)
{
    static struct algo_host host;
    struct results out = {.bench = "zfinder-onecore", .command = "zfinder_onecore"};
    const struct arg table[] = {
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"}, {0}};
    const int args = args_parse(argc, argv, NULL, table);

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    if (algo_host_open(&host, "zfinder") < 0) {
        fprintf(stderr, "zfinder_onecore: the plugin zfinder cannot be opened\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result r = {.n = 0};

        if (measure(&host, i, &r) < 0) {
            fprintf(stderr, "zfinder_onecore: a run failed\n");
            return 1;
        }
        report(i, &r, &out);
    }
    algo_host_close(&host);
    return result_end(&out, 0);
}
