/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *name, *json;
    uint32_t rounds;
    bool quick; /* a tenth of the RoIs: to see that it works */
} options;

int measure_send(const struct daemon *d, enum way way, const struct load *load, enum layout layout,
                 uint64_t rois, struct replay_result *ret)
{
    const struct replay_options o = {.endpoint = d->endpoint[way],
                                     .preset = load->preset,
                                     .pace = "max",
                                     .name = "bench",
                                     .rois = rois,
                                     .seed = 1,
                                     .distinct = 200,
                                     .connections = 1,
                                     .threads = 1,
                                     .batch = load->batch,
                                     .credits = load->credits,
                                     .timeout_ms = 20000,
                                     .z_value = -1,
                                     .quiet = true,
                                     .layout = layout};
    int r = replay_run(&o, ret);

    return r == 0 && (!replay_is_whole(ret) || ret->sum.decided != rois) ? -EPROTO : r;
}

int measure_run(const struct daemon *d, enum way way, const struct load *load, enum layout layout,
                struct figures *f)
{
    const uint64_t rois = options.quick ? load->rois / 10 : load->rois;
    const uint64_t cpu = process_cpu_ns(d->pid);
    struct replay_result result;
    int r = measure_send(d, way, load, layout, rois, &result);

    if (r == 0) {
        result_add(&f->rate, (double)rois / result.seconds);
        result_add(&f->cpu, (double)(process_cpu_ns(d->pid) - cpu) * 1e-3 / (double)rois);
        result_add(&f->bytes, (double)result.sum.bytes_out / (double)rois);
        result_add(&f->p50, latency_quantile_ns(&result.sum.latency, 0.5) * 1e-3);
        result_add(&f->p99, latency_quantile_ns(&result.sum.latency, 0.99) * 1e-3);
    }
    replay_result_fini(&result);
    return r;
}

int measure_complain(const char *what, int r)
{
    fprintf(stderr, "%s: %s: %s\n", options.name, what, strerror(-r));
    return r;
}

uint32_t measure_rounds(void)
{
    return options.rounds;
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

int measure_main(int argc, char **argv, const char *name, uint32_t rounds, int (*run)(FILE *json))
{
    FILE *json = NULL;
    int r;

    options.name = name;
    options.rounds = rounds;
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: %s [--json FILE] [--rounds N] [--quick]\n", name);
        return 2;
    }
    if (options.json && !(json = fopen(options.json, "w")))
        return measure_complain(options.json, -errno) ? 1 : 0;
    r = run(json);
    if (json && fclose(json) != 0 && r == 0)
        r = measure_complain(options.json, -EIO);
    return r < 0 ? 1 : 0;
}
