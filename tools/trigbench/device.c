/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench device: throughput of lanes against batch size, slots and lanes, and the timeline. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algohost.h"
#include "args.h"
#include "base/beside.h"
#include "bench.h"
#include "inputs.h"
#include "lanes.h"
#include "result.h"
#include "timeline.h"

#define PATH_BYTES   4096
#define MARKS_A_SLOT 32u /* spans of one batch, more than any plugin makes */

static const char *const copies_name[] = {"gather", "pinned", "device", "pull"};

struct arguments {
    const char *device, *plugin, *sample, *copies_text, *timeline, *backends, *plugins;
    struct arg_texts with, after;
    uint32_t rois, runs, batches;
    uint64_t seed;
    double seconds;
    enum lanes_copies copies;
    struct arg_numbers batch, slots, lanes;
    struct results out;
};

struct bench { /* what is open */
    struct algo_host algo;
    struct trg_device *device;
    struct trg_device_info info;
    void *params;
    struct inputs *inputs;
    char name[sizeof(((struct trg_device_info *)0)->name) + 24];
};

/* ---------------------------------------------------------------- opening */

static int open_plugin(struct bench *b, const struct arguments *a)
{
    char plugins[PATH_BYTES], backends[PATH_BYTES], why[512] = "";
    int r;

    if (a->timeline && setenv("TRIGD_DEVICE_TIMES", "1", 1)) /* before there is a queue */
        return -errno;
    beside_program("plugins", plugins, sizeof plugins);
    beside_program("backends", backends, sizeof backends);
    r = algo_host_open_in(&b->algo, a->plugins ? a->plugins : plugins,
                          a->backends ? a->backends : backends, a->plugin);
    if (r < 0)
        return r;
    b->params = calloc(1, b->algo.plugin->d.config_size + 4);
    if (!b->params)
        return -ENOMEM;
    r = algo_configure_lines(b->algo.plugin, NULL, a->with.text, a->with.n, b->params, why,
                             sizeof why);
    if (r < 0)
        fprintf(stderr, "trigbench: %s\n", why);
    return r;
}

static int open_device(struct bench *b, const struct arguments *a)
{
    char name[16];
    uint32_t index;
    int r = algo_device_parse(a->device, name, &index);

    if (r < 0)
        return r;
    r = backends_device(b->algo.backends, name, index, &b->device);
    if (r < 0) {
        fprintf(stderr, "trigbench: there is no device %s:%u; there are", name, index);
        for (uint32_t i = 0, n; i < backends_count(b->algo.backends); i++) {
            const char *backend = backends_name(b->algo.backends, i, &n);

            for (uint32_t k = 0; k < n; k++)
                fprintf(stderr, " %s:%u", backend, k);
        }
        fputc('\n', stderr);
        return r;
    }
    trg_device_info(b->device, &b->info);
    snprintf(b->name, sizeof b->name, "%s, %s", b->info.backend, b->info.name);
    return 0;
}

static int make_sample(struct bench *b, const struct arguments *a)
{
    const struct inputs_setup setup = {.host = &b->algo.host,
                                       .plugins = b->algo.plugins,
                                       .device = b->device,
                                       .plugin = b->algo.plugin,
                                       .preset = a->sample,
                                       .seed = a->seed,
                                       .n_rois = a->rois,
                                       .after = a->after.text,
                                       .n_after = a->after.n};
    char why[256];
    int r = inputs_open(&setup, &b->inputs, why, sizeof why);

    if (r < 0)
        fprintf(stderr, "trigbench: %s\n", why);
    return r;
}

static void close_bench(struct bench *b)
{
    inputs_close(b->inputs);
    free(b->params);
    algo_host_close(&b->algo);
}

/* ---------------------------------------------------------------- measuring */

static struct lanes_setup setup_of(const struct bench *b, const struct arguments *a, uint64_t lanes,
                                   uint64_t slots, uint64_t batch)
{
    return (struct lanes_setup){.host = &b->algo.host,
                                .device = b->device,
                                .plugin = b->algo.plugin,
                                .params = b->params,
                                .rois = inputs_rois(b->inputs),
                                .n_rois = a->rois,
                                .lanes = (uint32_t)lanes,
                                .slots = (uint32_t)slots,
                                .batch = (uint32_t)batch,
                                .copies = a->copies};
}

static void report(const struct bench *b, const struct arguments *a, const struct lanes_setup *s,
                   const struct result *rates, const struct lanes_rate *last)
{
    char what[256];
    size_t n;
    const double median = result_median(rates);

    n = (size_t)snprintf(what, sizeof what, "%s %s", a->plugin, a->sample);
    for (uint32_t i = 0; i < a->with.n && n < sizeof what; i++)
        n += (size_t)snprintf(what + n, sizeof what - n, " %s", a->with.text[i]);
    printf("%-44s %-7s %5u %5u %6u %12.0f %6.1f%% %8.2f %9.1f\n", what, copies_name[a->copies],
           s->lanes, s->slots, s->batch, median, 100 * result_spread(rates) / median,
           last->bytes_per_s * 1e-9, last->batch_us);
    fflush(stdout);
    result_report(
        &a->out,
        &(struct result_figure){.unit = "RoIs/s", .higher_is_better = true, .device = b->name},
        rates, "%s, copies %s, %u lanes, %u slots, batch %u", what, copies_name[a->copies],
        s->lanes, s->slots, s->batch);
}

static int measure(const struct bench *b, const struct arguments *a, const struct lanes_setup *s)
{
    struct lanes *l = NULL;
    struct lanes_rate rate = {0};
    struct result rates = {.n = 0};
    int r = lanes_open(s, &l);

    if (r < 0) {
        fprintf(stderr, "trigbench: cannot open the lanes: %s\n", strerror(-r));
        return r;
    }
    for (uint32_t i = 0; r == 0 && i < a->runs; i++) {
        r = lanes_run(l, a->seconds, &rate);
        result_add(&rates, rate.rois_per_s);
    }
    lanes_close(l);
    if (r == 0)
        report(b, a, s, &rates, &rate);
    return r;
}

static int measure_all(const struct bench *b, const struct arguments *a)
{
    int r = 0;

    printf("%s (%s)\n%-44s %-7s %5s %5s %6s %12s %7s %8s %9s\n", b->name, b->info.driver, "what",
           "copies", "lanes", "slots", "batch", "RoIs/s", "spread", "GB/s in", "us/batch");
    for (uint32_t i = 0; i < a->lanes.n; i++)
        for (uint32_t k = 0; k < a->slots.n; k++)
            for (uint32_t m = 0; r == 0 && m < a->batch.n; m++) {
                struct lanes_setup s =
                    setup_of(b, a, a->lanes.value[i], a->slots.value[k], a->batch.value[m]);

                r = measure(b, a, &s);
            }
    return r;
}

/* ---------------------------------------------------------------- timeline */

static int write_timeline(const struct arguments *a, const struct timeline *t)
{
    const char *dot = strrchr(a->timeline, '.');
    FILE *f = fopen(a->timeline, "w");
    int r;

    if (!f) {
        fprintf(stderr, "trigbench: cannot write %s: %s\n", a->timeline, strerror(errno));
        return -EIO;
    }
    r = dot && !strcmp(dot, ".json") ? timeline_json(t, f) : timeline_svg(t, f);
    return fclose(f) || r < 0 ? -EIO : 0;
}

static int trace_batches(struct bench *b, const struct arguments *a, struct trace *trace)
{
    struct lanes_setup s = setup_of(b, a, a->lanes.value[0], a->slots.value[0], a->batch.value[0]);
    char title[512];
    struct timeline t = {.title = title, .queues_a_lane = s.slots};
    struct lanes *l = NULL;
    uint32_t left_out = 0;
    int r;

    s.trace = trace;
    snprintf(title, sizeof title, "%s: %s %s, %u lanes, %u slots, batches of %u, copies %s",
             b->name, a->plugin, a->sample, s.lanes, s.slots, s.batch, copies_name[a->copies]);
    r = lanes_open(&s, &l);
    if (r == 0)
        r = lanes_run_batches(l, 4 * s.slots);
    if (r == 0)
        r = trace_begin(trace, MARKS_A_SLOT * s.lanes * a->batches);
    if (r == 0)
        r = lanes_run_batches(l, a->batches);
    if (r == 0)
        r = trace_end(trace, &t.spans, &t.n, &left_out);
    if (r == 0)
        r = write_timeline(a, &t);
    lanes_close(l);
    if (r < 0)
        fprintf(stderr, "trigbench: no timeline: %s\n", strerror(-r));
    else
        printf("%s: %u spans%s\n", a->timeline, t.n, left_out ? ", some left out" : "");
    return r;
}

static int draw_timeline(struct bench *b, const struct arguments *a)
{
    struct trace *trace = NULL;
    int r = trace_open(b->device, &trace);

    if (r == 0)
        r = trace_batches(b, a, trace);
    trace_close(trace);
    return r;
}

static int run(const struct arguments *a)
{
    struct bench b = {.inputs = NULL};
    int r = open_plugin(&b, a);

    if (r == 0)
        r = open_device(&b, a);
    if (r == 0)
        r = make_sample(&b, a);
    if (r == 0)
        r = a->timeline ? draw_timeline(&b, a) : measure_all(&b, a);
    close_bench(&b);
    return r;
}

static bool find_copies(struct arguments *a)
{
    for (uint32_t i = 0; i < sizeof copies_name / sizeof *copies_name; i++)
        if (!strcmp(a->copies_text, copies_name[i])) {
            a->copies = (enum lanes_copies)i;
            return true;
        }
    fprintf(stderr, "trigbench: --copies \"%s\": gather, pinned, device or pull is wanted\n",
            a->copies_text);
    return false;
}

int device_main(int argc, char **argv)
{
    struct arguments a = {
        .device = "cpu",
        .plugin = "zfinder",
        .sample = "lowlum",
        .out = {.bench = "trigbench", .command = bench_command(), .has_table = true},
        .copies_text = "gather",
        .rois = 256,
        .seed = 1,
        .seconds = 0.5,
        .runs = 3,
        .batches = 8,
        .batch = {{64}, 1},
        .slots = {{2}, 1},
        .lanes = {{1}, 1}};
    const struct arg table[] = {
        {"device", ARG_TEXT, &a.device, 0, 0, "B[:N]", "cpu, opencl or cuda (default cpu:0)"},
        {"plugin", ARG_TEXT, &a.plugin, 0, 0, "NAME", "default zfinder"},
        {"with", ARG_TEXTS, &a.with, 0, 0, "KEY=VALUE", "its parameter, or preset; repeatable"},
        {"after", ARG_TEXTS, &a.after, 0, 0, "NAME", "a plugin that makes inputs; repeatable"},
        {"sample", ARG_TEXT, &a.sample, 0, 0, "PRESET", "of trigreplay (default lowlum)"},
        {"rois", ARG_U32, &a.rois, 1, 1000000, "N", "different ones (default 256)"},
        {"seed", ARG_U64, &a.seed, 0, 0, "S", "of the sample (default 1)"},
        {"copies", ARG_TEXT, &a.copies_text, 0, 0, "MODE",
         "gather: from RoIs (default); pinned: from pinned memory; device: none; pull: the "
         "device gathers"},
        {"batch", ARG_NUMBERS, &a.batch, 1, 65536, "N,...", "RoIs (default 64)"},
        {"slots", ARG_NUMBERS, &a.slots, 1, TRG_SLOTS_MAX, "N,...", "of a lane (default 2)"},
        {"lanes", ARG_NUMBERS, &a.lanes, 1, LANES_MAX, "N,...", "all combinations (default 1)"},
        {"seconds", ARG_REAL, &a.seconds, 0.001, 3600, "S", "of a run (default 0.5)"},
        {"runs", ARG_U32, &a.runs, 1, RESULT_RUNS_MAX, "N", "the median counts (default 3)"},
        {"timeline", ARG_TEXT, &a.timeline, 0, 0, "FILE", "instead: spans, as .svg or .json"},
        {"batches", ARG_U32, &a.batches, 1, 10000, "N", "of the timeline (default 8)"},
        {"backends", ARG_TEXT, &a.backends, 0, 0, "DIR", "default: as built or installed"},
        {"plugins", ARG_TEXT, &a.plugins, 0, 0, "DIR", "default: as built or installed"},
        {"json", ARG_APPEND, &a.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, "trigbench device", table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : EXIT_USAGE;
    if (!find_copies(&a))
        return EXIT_USAGE;
    r = run(&a);
    return result_end(&a.out, 0) || r < 0 ? EXIT_FAILED : 0;
}
