/* SPDX-License-Identifier: Apache-2.0 */
/* bench_layouts - RoIs through the whole daemon over ipc and tcp with their spacepoints as floats
 * and as 16-bit numbers, side by side. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "replay.h"
#include "result.h"

static const char usage[] = "usage: bench_layouts [--json FILE] [--rounds N] [--quick]\n";

static struct {
    const char *json;
    uint32_t rounds;
    bool quick; /* a tenth of the RoIs: to see that it works */
} options = {.rounds = 7};

#define LAYOUTS 2u
static const struct {
    const char *name;
    enum layout layout;
} layouts[LAYOUTS] = {{"floats", LAYOUT_FLOATS}, {"quantized", LAYOUT_QUANTIZED}};

static const struct load { /* what is sent and who looks at it */
    const char *plugin, *params, *preset;
    uint32_t credits;
    uint64_t rois;
} loads[] = {{"nothing", "", "lowlum", 4096, 100000},
             {"nothing", "", "highlum", 256, 8000},
             {"zfinder", "preset: pure", "highlum", 256, 1000}};

struct figures {
    struct result rate, cpu, bytes, p50, p99;
};

static int complain(const char *what, int r)
{
    fprintf(stderr, "bench_layouts: %s: %s\n", what, strerror(-r));
    return r;
}

/* One run; its figures are added to *f. */
static int run(const struct daemon *d, enum way way, uint32_t layout, const struct load *load,
               struct figures *f)
{
    const uint64_t rois = options.quick ? load->rois / 10 : load->rois;
    const struct replay_options o = {.endpoint = d->endpoint[way],
                                     .preset = load->preset,
                                     .pace = "max",
                                     .name = "bench",
                                     .rois = rois,
                                     .seed = 1,
                                     .distinct = 200,
                                     .connections = 1,
                                     .threads = 1,
                                     .batch = 1,
                                     .credits = load->credits,
                                     .timeout_ms = 20000,
                                     .z_value = -1,
                                     .quiet = true,
                                     .layout = layouts[layout].layout};
    const uint64_t cpu = daemon_cpu_ns(d);
    struct replay_result result;
    int r = replay_run(&o, &result);

    if (r == 0 && (!replay_is_whole(&result) || result.sum.decided != rois))
        r = -EPROTO;
    if (r == 0) {
        result_add(&f->rate, (double)rois / result.seconds);
        result_add(&f->cpu, (double)(daemon_cpu_ns(d) - cpu) * 1e-3 / (double)rois);
        result_add(&f->bytes, (double)result.sum.bytes_out / (double)rois);
        result_add(&f->p50, latency_quantile_ns(&result.sum.latency, 0.5) * 1e-3);
        result_add(&f->p99, latency_quantile_ns(&result.sum.latency, 0.99) * 1e-3);
    }
    replay_result_fini(&result);
    return r;
}

static void write_figure(FILE *json, const char *what, const char *figure, const char *unit,
                         bool higher, const struct result *mine, const struct result *floats)
{
    char text[160];
    struct result_figure f = {.bench = "layouts",
                              .figure = text,
                              .unit = unit,
                              .command = "bench_layouts",
                              .higher_is_better = higher,
                              .baseline = mine == floats ? NULL : "floats",
                              .baseline_value = result_median(floats)};

    snprintf(text, sizeof text, "%s: %s", what, figure);
    result_write(json, &f, mine);
}

static void tell(FILE *json, const struct load *load, enum way way, const struct figures f[LAYOUTS])
{
    for (uint32_t l = 0; l < LAYOUTS; l++) {
        char what[100];

        printf("| %s | %s | %s | %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.0f |\n", load->plugin,
               load->preset, way_name[way], layouts[l].name, result_median(&f[l].bytes),
               result_median(&f[l].rate), result_median(&f[l].rate) / result_median(&f[0].rate),
               result_median(&f[l].cpu), result_median(&f[l].p50), result_median(&f[l].p99));
        snprintf(what, sizeof what, "%s, %s, %s, %s", load->plugin, load->preset, way_name[way],
                 layouts[l].name);
        write_figure(json, what, "RoIs/s", "1/s", true, &f[l].rate, &f[0].rate);
        write_figure(json, what, "processor time of an RoI in the daemon", "us", false, &f[l].cpu,
                     &f[0].cpu);
        write_figure(json, what, "bytes of an RoI", "B", false, &f[l].bytes, &f[0].bytes);
    }
    fflush(stdout);
}

static int measure_load(FILE *json, const struct load *load)
{
    static struct figures figures[WAYS][LAYOUTS], warm;
    struct daemon d;
    int r = daemon_start(&d, load->plugin, load->params, false);

    memset(figures, 0, sizeof figures);
    /* in turns, so that a busy moment of the machine hits all alike; the first round warms up */
    for (uint32_t round = 0; r == 0 && round <= options.rounds; round++)
        for (enum way w = WAY_IPC; r == 0 && w <= WAY_TCP; w++)
            for (uint32_t l = 0; r == 0 && l < LAYOUTS; l++) {
                memset(&warm, 0, sizeof warm);
                r = run(&d, w, l, load, round ? &figures[w][l] : &warm);
            }
    daemon_stop(&d);
    if (r < 0)
        return complain(load->preset, r);
    for (enum way w = WAY_IPC; w <= WAY_TCP; w++)
        tell(json, load, w, figures[w]);
    return 0;
}

static bool parse(int argc, char **argv)
{
    static const struct option table[] = {{"json", required_argument, NULL, 'j'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == 'j')
            options.json = optarg;
        else if (c == 'r')
            options.rounds = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'q')
            options.quick = true;
        else
            return false;
    }
    return optind == argc && options.rounds >= 1 && options.rounds <= RESULT_RUNS_MAX;
}

int main(int argc, char **argv)
{
    FILE *json = NULL;
    int r = 0;

    if (!parse(argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (options.json && !(json = fopen(options.json, "w")))
        return complain(options.json, -errno) ? 1 : 0;
    printf(
        "| plugin | RoIs | way in | layout | bytes an RoI | RoIs/s | times floats | daemon's CPU "
        "us an RoI | p50 us | p99 us |\n"
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; r == 0 && i < sizeof loads / sizeof *loads; i++)
        r = measure_load(json, &loads[i]);
    if (json && fclose(json) != 0 && r == 0)
        r = complain(options.json, -EIO);
    return r < 0 ? 1 : 0;
}
