/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kdtree - k-d trees on every device: building them, and searching boxes, beside
 * std::nth_element and nanoflann on the same host.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_kdtree [--quick] [--device BACKEND]
 *         [--json FILE] [--only PART]
 *
 * Points are uniform in the unit cube.  Building is from points on the device to a tree there;
 * searching is from boxes on the device to results there, counting, adding up and filling included.
 * "Copies included": from pinned memory of the host, and back to it.
 */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "baseline.h"
#include "bench.h"
#include "events.h"

/* ---------------------------------------------------------------- doublets of events */

/* Events per second of one lane with one batch in flight, copies in included. */
static void events_on(const struct device *device, const char *preset,
                      const struct generated *events, uint32_t n, bool to_host)
{
    struct doublets_config c;
    struct lane *l;
    struct result r = {0};

    events_config(&c);
    l = lane_open(device, &c, events, n);
    if (!l)
        die("no lane");
    for (uint32_t i = 0; i <= bench.runs; i++) {
        const uint32_t rounds = i ? 3 : 1;
        const double start = devices_seconds(device);

        for (uint32_t k = 0; k < rounds; k++)
            if (lane_run(l, to_host) < 0)
                die("the plugin failed");
        if (i > 0)
            result_add(&r, 1e-3 * n * rounds / (devices_seconds(device) - start));
    }
    result_report(
        &bench.out,
        &(struct result_figure){.unit = "k/s", .higher_is_better = true, .device = name_of(device)},
        &r, "doublets of %s, batches of %u, %s", preset, n,
        to_host ? "to the host" : "on the device");
    lane_close(l);
}

static void bench_events(void)
{
    static const char *const presets[] = {"pixel", "pixel50", "pixel140", "pixel200"};

    for (uint32_t p = 0; p < 4; p++) {
        const uint32_t n = p ? 16 : 256;
        struct generated *events = generated_new(presets[p], 1, 0, n);

        if (!events)
            die("no events");
        for (uint32_t i = 0; i < devices_count(); i++)
            for (int to_host = 0; to_host < 2; to_host++)
                events_on(devices_get(i), presets[p], events, n, to_host);
        generated_free(events, n);
    }
}

int main(int argc, char **argv)
{
    const char *only = NULL, *part = NULL;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &bench.is_quick, 0, 0, NULL, "fewer runs, smaller trees"},
        {"device", ARG_TEXT, &only, 0, 0, "BACKEND", "only devices of this backend"},
        {"only", ARG_TEXT, &part, 0, 0, "PART",
         "doublets, build, search, count, gangs, cores, enqueue, energy or hits"},
        {"json", ARG_APPEND, &bench.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    bench.runs = bench.is_quick ? 3 : 5;
    bench.out.command = bench.is_quick ? "bench_kdtree --quick" : NULL;
    if (!devices_open(only))
        die("there is no device; TRIGD_BUILD must name the build folder");
    if (!nanoflann_is_here())
        printf("nanoflann was not there when this was built: its rows are left out\n");
    if (!part || !strcmp(part, "doublets"))
        bench_events();
    if (!part || !strcmp(part, "build"))
        bench_build();
    if (!part || !strcmp(part, "search")) {
        bench_search(3, 500000, 478, 0.15);
        bench_search(5, 500000, 5.6, 0.3);
    }
    if (!part || !strcmp(part, "count"))
        bench_count();
    if (!part || !strcmp(part, "gangs"))
        bench_gangs();
    if (!part || !strcmp(part, "cores"))
        bench_cores();
    if (!part || !strcmp(part, "enqueue"))
        bench_enqueue();
    if (!part || !strcmp(part, "energy"))
        bench_energy();
    if (!part || !strcmp(part, "hits"))
        bench_hits();
    devices_close();
    return result_end(&bench.out, 0);
}
