/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <errno.h>
#include <string.h>

#include "args.h"
#include "process.h"

static struct {
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
    const uint64_t cpu = process_cpu_ns(d->trigd.pid);
    struct replay_result result;
    int r = measure_send(d, way, load, layout, rois, &result);

    if (r == 0) {
        result_add(&f->rate, (double)rois / result.seconds);
        result_add(&f->cpu, (double)(process_cpu_ns(d->trigd.pid) - cpu) * 1e-3 / (double)rois);
        result_add(&f->bytes, (double)result.sum.bytes_out / (double)rois);
        result_add(&f->p50, latency_quantile_ns(&result.sum.latency, 0.5) * 1e-3);
        result_add(&f->p99, latency_quantile_ns(&result.sum.latency, 0.99) * 1e-3);
    }
    replay_result_fini(&result);
    return r;
}

uint32_t measure_rounds(void)
{
    return options.rounds;
}

int measure_main(int argc, char **argv, const char *name, uint32_t rounds,
                 int (*run)(const struct results *out))
{
    struct results out = {.bench = name, .has_table = true};
    const struct arg table[] = {
        {"rounds", ARG_U32, &options.rounds, 1, RESULT_RUNS_MAX, "N", "of which the median counts"},
        {"quick", ARG_FLAG, &options.quick, 0, 0, NULL, "a tenth of the RoIs"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    options.rounds = options.rounds ? options.rounds : rounds;
    return result_end(&out, run(&out));
}
