/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench offer: latency of a running daemon against the rate that it is offered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "replay.h"
#include "result.h"
#include "talk.h"

#define TALK_TIMEOUT_S 5

struct arguments {
    struct replay_options o;
    const char *control;
    struct arg_numbers rates;
    uint64_t seconds;
    struct results out;
};

struct work { /* of all lanes together, since the daemon started */
    double rois, batches;
};

struct point { /* of the curve */
    uint64_t offered;
    double seconds, rate, batch;
    double us[4]; /* p50, p99, p99.9, largest */
    uint64_t busy;
};
static const char *const point_name[] = {"p50", "p99", "p99.9", "largest"};

/* The column called `name` of a line of comma-separated values, or -1. */
static int find_column(const char *header, const char *name)
{
    size_t n = strlen(name);
    int column = 0;

    for (const char *c = header; *c && *c != '\n'; c++) {
        if ((c == header || c[-1] == ',') && !strncmp(c, name, n) &&
            (c[n] == ',' || c[n] == '\n' || c[n] == '\r'))
            return column;
        column += *c == ',';
    }
    return -1;
}

static double column_value(const char *line, int column)
{
    for (; column > 0 && *line && *line != '\n'; line++)
        column -= *line == ',';
    return strtod(line, NULL);
}

/* What the lanes have done so far, from the control socket. */
static int ask_work(const char *control, struct work *ret_work)
{
    struct work w = {0, 0};
    char *answer = NULL;
    int rois, batches, r = talk(control, "show lanes csv", TALK_TIMEOUT_S, &answer);
    const char *line;

    if (r < 0)
        return r;
    line = answer + strspn(answer, "# ");
    rois = find_column(line, "rois");
    batches = find_column(line, "batches");
    while ((line = strchr(line, '\n')) != NULL && *++line && rois >= 0 && batches >= 0) {
        w.rois += column_value(line, rois);
        w.batches += column_value(line, batches);
    }
    free(answer);
    if (rois < 0 || batches < 0)
        return -EPROTO;
    *ret_work = w;
    return 0;
}

static double quantile_us(const struct replay_result *r, double q)
{
    double ns = latency_quantile_ns(&r->sum.latency, q), most = (double)r->sum.latency.max_ns;

    return (ns < most ? ns : most) * 1e-3;
}

static int offer(const struct arguments *a, uint64_t rate, struct point *ret_point)
{
    struct replay_options o = a->o;
    struct replay_result result = {.seconds = 0};
    struct work before = {0, 0}, after = {0, 0};
    char pace[64];
    int r = a->control ? ask_work(a->control, &before) : 0;

    snprintf(pace, sizeof pace, "poisson:%llu", (unsigned long long)rate);
    o.pace = pace;
    o.rois = rate * a->seconds;
    if (r == 0)
        r = replay_run(&o, &result);
    if (r < 0)
        return r;
    if (a->control)
        r = ask_work(a->control, &after);
    if (r == 0 && !replay_is_whole(&result)) {
        fprintf(stderr, "trigbench: at %llu RoIs/s not every RoI had exactly one answer\n",
                (unsigned long long)rate);
        r = -EIO;
    }
    *ret_point = (struct point){
        .offered = rate,
        .seconds = result.seconds,
        .rate = result.seconds > 0 ? (double)result.sum.decided / result.seconds : 0,
        .batch = after.batches > before.batches
                     ? (after.rois - before.rois) / (after.batches - before.batches)
                     : 0,
        .us = {quantile_us(&result, 0.5), quantile_us(&result, 0.99), quantile_us(&result, 0.999),
               (double)result.sum.latency.max_ns * 1e-3},
        .busy = result.sum.busy};
    replay_result_fini(&result);
    return r;
}

static void report(const struct arguments *a, const struct point *p)
{
    const unsigned long long offered = p->offered;
    struct result_figure f = {.unit = "us"};

    printf("%10llu %12.0f %9.1f %10.1f %10.1f %10.1f %10.1f %8llu\n", offered, p->rate, p->batch,
           p->us[0], p->us[1], p->us[2], p->us[3], (unsigned long long)p->busy);
    fflush(stdout);
    for (uint32_t i = 0; i < 4; i++)
        result_report_value(&a->out, &f, p->us[i], 0, 1, "%s at %llu RoIs/s offered, %s",
                            a->o.preset, offered, point_name[i]);
    f = (struct result_figure){.unit = "RoIs/s", .higher_is_better = true};
    result_report_value(&a->out, &f, p->rate, 0, 1, "%s at %llu RoIs/s offered, decided",
                        a->o.preset, offered);
    f.unit = "RoIs";
    if (a->control)
        result_report_value(&a->out, &f, p->batch, 0, 1, "%s at %llu RoIs/s offered, batch",
                            a->o.preset, offered);
}

int offer_main(int argc, char **argv)
{
    struct arguments a = {.o = {.preset = "lowlum",
                                .name = "bench",
                                .seed = 1,
                                .distinct = 500,
                                .connections = 1,
                                .threads = 1,
                                .batch = 1,
                                .timeout_ms = 10000,
                                .z_step = 0,
                                .z_value = -1,
                                .quiet = true},
                          .out = {.bench = "latency",
                                  .command = bench_command(),
                                  .device = "daemon",
                                  .has_table = true},
                          .seconds = 3};
    const struct arg table[] = {
        {"connect", ARG_TEXT, &a.o.endpoint, 0, 0, "ENDPOINT", "of the daemon"},
        {"control", ARG_TEXT, &a.control, 0, 0, "SOCKET", "of its operator, for batch sizes"},
        {"rates", ARG_NUMBERS, &a.rates, 1, 100000000, "HZ,...", "offered, Poisson"},
        {"seconds", ARG_U64, &a.seconds, 1, 3600, "S", "at each rate (default 3)"},
        {"sample", ARG_TEXT, &a.o.preset, 0, 0, "PRESET", "of trigreplay (default lowlum)"},
        {"distinct", ARG_U32, &a.o.distinct, 1, 1000000, "N", "different RoIs (default 500)"},
        {"connections", ARG_U32, &a.o.connections, 1, 1000, "N", "default 1"},
        {"threads", ARG_U32, &a.o.threads, 1, 64, "N", "default 1"},
        {"seed", ARG_U64, &a.o.seed, 0, 0, "S", "of the sample (default 1)"},
        {"device-name", ARG_TEXT, &a.out.device, 0, 0, "TEXT", "device of the daemon, for figures"},
        {"json", ARG_APPEND, &a.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, "trigbench offer", table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : EXIT_USAGE;
    if (!a.o.endpoint || !a.rates.n) {
        fprintf(stderr, "trigbench: offer needs --connect and --rates\n");
        return EXIT_USAGE;
    }
    printf("%10s %12s %9s %10s %10s %10s %10s %8s\n", "offered/s", "decided/s", "batch", "p50 us",
           "p99 us", "p99.9 us", "largest us", "busy");
    for (uint32_t i = 0; r == 0 && i < a.rates.n; i++) {
        struct point p;

        r = offer(&a, a.rates.value[i], &p);
        if (r == 0)
            report(&a, &p);
    }
    return result_end(&a.out, r) ? EXIT_FAILED : 0;
}
