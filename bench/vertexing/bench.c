/* SPDX-License-Identifier: Apache-2.0 */
/* bench_vertexing - the parts of the vertexing plugin on every device, beside serial
 * double-precision versions: medians and ratios.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_vertexing
 *         [--quick] [--json FILE] [--part adjacency|histogram|components|chain] [--device NAME]
 *         [--match TEXT] [--min-ms MS] [--cell-ms MS]
 *
 * A figure is the median of five runs of --min-ms or more, of fewer where that takes --cell-ms. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "crew.h"
#include "parts.h"
#include "process.h"

static int run_part(const char *part, const struct bench *b, const struct algo_host *h,
                    struct trg_device *device)
{
    int r = 0;

    if (!part || !strcmp(part, "adjacency"))
        r = bench_adjacency(b, device);
    if (r == 0 && (!part || !strcmp(part, "histogram")))
        r = bench_histogram(b, device);
    if (r == 0 && (!part || !strcmp(part, "components")))
        r = bench_components(b, device);
    if (r == 0 && (!part || !strcmp(part, "chain")))
        r = bench_chain(b, h, device);
    return r;
}

static int run_devices(const char *part, const char *only, const struct bench *b,
                       const struct algo_host *h)
{
    struct algo_place place[ALGO_PLACES_MAX];
    const uint32_t n = algo_host_places(h, only, place);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = run_part(part, b, h, place[i].device);
    return r;
}

int main(int argc, char **argv)
{
    struct bench b = {.out = {.bench = "vertexing"},
                      .runs = 5,
                      .min_ms = 50,
                      .cell_ms = 1000,
                      .cores = process_cores(CREW_MAX)};
    const char *part = NULL, *only = NULL;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &b.quick, 0, 0, NULL, "three shorter runs of smaller samples"},
        {"part", ARG_TEXT, &part, 0, 0, "PART", "adjacency, histogram, components or chain"},
        {"device", ARG_TEXT, &only, 0, 0, "BACKEND", "only devices of this backend"},
        {"match", ARG_TEXT, &b.match, 0, 0, "TEXT", "only figures with this in their name"},
        {"min-ms", ARG_REAL, &b.min_ms, 0.001, 1e6, "MS", "of a run (default 50)"},
        {"cell-ms", ARG_REAL, &b.cell_ms, 0.001, 1e6, "MS",
         "after which no run begins (default 1000)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    struct algo_host h;
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (b.quick) {
        b.runs = 3;
        b.min_ms = 10;
    }
    if (algo_host_open(&h, "vertexing") < 0)
        return 1;
    r = run_devices(part, only, &b, &h);
    algo_host_close(&h);
    return result_end(&b.out, r);
}
