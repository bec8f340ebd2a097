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
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "process.h"

static int usage(void)
{
    fprintf(stderr, "usage: bench_vertexing [--quick] [--json FILE] "
                    "[--part adjacency|histogram|components|chain] [--device NAME]\n"
                    "       [--match TEXT] [--min-ms MS] [--cell-ms MS]\n");
    return 2;
}

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
    int r = 0;

    for (uint32_t i = 0; i < backends_count(h->backends); i++) {
        uint32_t n;
        const char *backend = backends_name(h->backends, i, &n);

        for (uint32_t k = 0; r == 0 && k < n; k++) {
            struct trg_device *device;

            if (only && strcmp(only, backend) != 0)
                continue;
            r = backends_device(h->backends, backend, k, &device);
            if (r == 0)
                r = run_part(part, b, h, device);
        }
    }
    return r;
}

static bool parse(int argc, char **argv, struct bench *b, const char **part, const char **only)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            b->quick = true;
            b->runs = 3;
            b->min_ms = 10;
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            b->json = argv[++i];
        } else if (!strcmp(argv[i], "--part") && i + 1 < argc) {
            *part = argv[++i];
        } else if (!strcmp(argv[i], "--device") && i + 1 < argc) {
            *only = argv[++i];
        } else if (!strcmp(argv[i], "--match") && i + 1 < argc) {
            b->match = argv[++i];
        } else if (!strcmp(argv[i], "--min-ms") && i + 1 < argc) {
            b->min_ms = strtod(argv[++i], NULL);
        } else if (!strcmp(argv[i], "--cell-ms") && i + 1 < argc) {
            b->cell_ms = strtod(argv[++i], NULL);
        } else {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bench b = {.runs = 5, .min_ms = 50, .cell_ms = 1000, .cores = process_cores(UINT32_MAX)};
    const char *part = NULL, *only = NULL;
    struct algo_host h;
    int r;

    if (!parse(argc, argv, &b, &part, &only))
        return usage();
    if (algo_host_open(&h, "vertexing") < 0)
        return 1;
    r = figures_open(&b);
    if (r == 0)
        r = run_devices(part, only, &b, &h);
    if (r < 0)
        fprintf(stderr, "bench_vertexing: %s\n", strerror(-r));
    algo_host_close(&h);
    return figures_close() < 0 || r < 0;
}
