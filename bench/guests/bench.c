/* SPDX-License-Identifier: Apache-2.0 */
/* bench_guests - a guest beside the trigger at half of its load: what it costs RoIs, and how much
 * it works in the time in which the lane is idle.
 *
 * Each daemon has one lane and a guest.  Short rounds with the guest and rounds in which it is
 * paused follow each other, so that what changes on the machine meets both.  The difference of
 * their p99 is the median over the pairs; its spread is half of the 95 % interval of that median.
 *
 * A slice that a batch meets takes longer, because the device works for both.  So work counts as
 * steps, each with the time that it takes in slices of the guest alone, before the rounds in the
 * same daemon.  Idle time is what the lane's own counter leaves of the
 * wall.  Part of that work is done while a batch runs, so the share is an upper limit; the time of
 * slices until a batch met them, over the idle time, is a lower one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "clock.h"
#include "daemon.h"
#include "result.h"
#include "stream.h"

#define ROIS     (1u << 24)
#define DISTINCT 200u
#define SEED     1u
#define FULL_NS  NS_PER_S
#define WARM_NS  (100 * NS_PER_MS)
#define ALONE_NS (500 * NS_PER_MS)
#define MORE_US  20.0 /* goal: p99 later by no more than this, or */
#define MORE     1.05 /* by this factor */
#define SHARE    0.8
#define WINDOW   4096u

struct options {
    struct results out;
    const char *preset, *params, *backend, *guest, *modes;
    uint32_t rounds, ms, slice_us, percent;
};

struct bench {
    struct options o;
    struct bench_daemon daemon;
    struct source source;
    struct stream stream;
    double max_hz;
    double *us; /* of the RoIs of a round */
};

struct counts {
    double busy_ns, guest_us, unmet_us, slices, steps, cpu_ns;
    uint64_t at_ns;
};

enum { PAUSED, RUNNING, KINDS };

struct figures {
    struct result p50[KINDS], p99[KINDS];
    struct result more_us, ratio, busy[KINDS], cores[KINDS], slice_us, slices_hz;
    struct result least, share; /* idle: of the lane's idle time */
    struct result kept;         /* partition: of its speed alone */
    struct counts alone;        /* what it did then */
};

static int start_daemon(struct bench *b, const char *when)
{
    char config[1400];

    snprintf(config, sizeof config,
             BENCH_DAEMON_ALONE
             "devices: [{backend: %s, lanes: 1, slots: 1}]\n" /* busy for one batch at a time */
             "guests:\n  - {guest: g, plugin: lattice, backend: %s, when: %s, slice_us: %u,"
             " percent: %u, memory_mbytes: 8192, checkpoint_s: 0, folder: guests, params: {%s}}\n",
             b->o.backend, b->o.backend, when, b->o.slice_us, b->o.percent, b->o.guest);
    return bench_daemon_start(
        &b->daemon,
        &(struct bench_daemon_setup){.plugin = "zfinder", .params = b->o.params, .config = config});
}

/* ---------------------------------------------------------------- rounds */

/* Processor time of the process where the guest is: on a GPU the lane is there too. */
static double read_cpu_ns(const struct bench *b)
{
    char worker[32];
    struct timespec t;
    clockid_t clock;
    double pid;

    snprintf(worker, sizeof worker, "%s%s:", !strcmp(b->o.backend, "cpu") ? "guest " : "",
             b->o.backend);
    pid = bench_daemon_number(&b->daemon, "show workers", worker, "pid");
    if (pid <= 0 || clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        return -1;
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int read_counts(const struct bench *b, struct counts *ret)
{
    ret->cpu_ns = read_cpu_ns(b);
    ret->busy_ns = bench_daemon_number(&b->daemon, "show lanes", "step@", "busy_ns");
    ret->guest_us = bench_daemon_number(&b->daemon, "show guests", "g,", "us");
    ret->slices = bench_daemon_number(&b->daemon, "show guests", "g,", "slices");
    ret->unmet_us = bench_daemon_number(&b->daemon, "show guests", "g,", "unmet_us");
    ret->steps = bench_daemon_behind(&b->daemon, "show guests csv", "step ");
    ret->at_ns = clock_ns();
    return ret->busy_ns < 0 || ret->guest_us < 0 || ret->slices < 0 || ret->unmet_us < 0 ||
                   ret->steps < 0 || ret->cpu_ns < 0
               ? -EIO
               : 0;
}

static void add_since(const struct counts *before, const struct counts *after, struct counts *sum)
{
    sum->busy_ns += after->busy_ns - before->busy_ns;
    sum->guest_us += after->guest_us - before->guest_us;
    sum->slices += after->slices - before->slices;
    sum->unmet_us += after->unmet_us - before->unmet_us;
    sum->steps += after->steps - before->steps;
    sum->cpu_ns += after->cpu_ns - before->cpu_ns;
    sum->at_ns += after->at_ns - before->at_ns;
}

/* The guest without any load. */
static int run_alone(struct bench *b, struct figures *f)
{
    const struct timespec warm = {.tv_nsec = WARM_NS}, alone = {.tv_nsec = ALONE_NS};
    struct counts before = {0}, after = {0};
    int r = bench_daemon_order(&b->daemon, "guest start g");

    nanosleep(&warm, NULL);
    if (r == 0)
        r = read_counts(b, &before);
    nanosleep(&alone, NULL);
    if (r == 0)
        r = read_counts(b, &after);
    add_since(&before, &after, &f->alone);
    if (r == 0 && f->alone.steps <= 0)
        r = -ENODATA;
    return r;
}

static void add_work(const struct counts *c, struct figures *f)
{
    const double wall_us = (double)c->at_ns * 1e-3, idle_us = wall_us - c->busy_ns * 1e-3;
    const double work_us = c->steps * (f->alone.guest_us / f->alone.steps);

    result_add(&f->share, work_us / idle_us);
    result_add(&f->least, c->unmet_us / idle_us);
    result_add(&f->kept, c->steps / wall_us / (f->alone.steps / ((double)f->alone.at_ns * 1e-3)));
    result_add(&f->slice_us, c->guest_us / c->slices);
    result_add(&f->slices_hz, c->slices / wall_us * 1e6);
}

/* Half load for a round, and what the counters of the daemon counted meanwhile. */
static int load_half(struct bench *b, const char *order, struct counts *ret_counted)
{
    const double hz = b->max_hz / 2;
    struct counts before = {0}, after = {0};
    uint32_t first, n = 0;
    int r = bench_daemon_order(&b->daemon, order);

    if (r == 0)
        r = stream_run(&b->stream, hz, WINDOW, clock_ns() + WARM_NS);
    if (r == 0)
        r = stream_settle(&b->stream);
    if (r == 0)
        r = read_counts(b, &before);
    first = b->stream.n;
    if (r == 0)
        r = stream_run(&b->stream, hz, WINDOW, clock_ns() + b->o.ms * NS_PER_MS);
    if (r == 0)
        r = stream_settle(&b->stream);
    if (r == 0)
        r = read_counts(b, &after);
    if (r < 0)
        return r;
    add_since(&before, &after, ret_counted);
    for (uint32_t i = first; i < b->stream.n; i++)
        b->us[n++] = (double)(b->stream.roi[i].ended_ns - b->stream.roi[i].sent_ns) * 1e-3;
    return n ? (int)n : -ENODATA;
}

static int run_round(struct bench *b, int kind, struct figures *f)
{
    struct counts counted = {0};
    const int n = load_half(b, kind == RUNNING ? "guest start g" : "guest pause g", &counted);

    if (n < 0)
        return n;
    result_add(&f->p50[kind], result_quantile(b->us, (size_t)n, 0.5));
    result_add(&f->p99[kind], result_quantile(b->us, (size_t)n, 0.99));
    result_add(&f->busy[kind], counted.busy_ns / (double)counted.at_ns);
    result_add(&f->cores[kind], counted.cpu_ns / (double)counted.at_ns);
    if (kind == RUNNING)
        add_work(&counted, f);
    return 0;
}

/* Pairs of rounds: with the guest first in every other pair. */
static int run_pairs(struct bench *b, struct figures *f)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < b->o.rounds; i++) {
        r = run_round(b, i % 2 ? RUNNING : PAUSED, f);
        if (r == 0)
            r = run_round(b, i % 2 ? PAUSED : RUNNING, f);
        if (r < 0)
            break;
        result_add(&f->more_us, f->p99[RUNNING].run[i] - f->p99[PAUSED].run[i]);
        result_add(&f->ratio, f->p99[RUNNING].run[i] / f->p99[PAUSED].run[i]);
    }
    return r;
}

/* ---------------------------------------------------------------- figures */

/* A median over the rounds, with its own error. */
static void show_one(const struct bench *b, const char *when, const char *what, const char *unit,
                     bool higher, double goal, const struct result *r)
{
    result_report_value(
        &b->o.out, &(struct result_figure){.unit = unit, .higher_is_better = higher, .goal = goal},
        result_median(r), result_median_error(r), r->n, "%s at half load, guest %s: %s",
        b->o.preset, when, what);
}

static void show_delay(const struct bench *b, const char *when, const struct figures *f)
{
    const double paused = result_median(&f->p99[PAUSED]), more = result_median(&f->more_us);
    const double most = MORE * paused > paused + MORE_US ? MORE * paused : paused + MORE_US;
    const double error = result_median_error(&f->more_us), limit = most - paused;

    show_one(b, when, "p50 while it is paused", "us", false, 0, &f->p50[PAUSED]);
    show_one(b, when, "p50", "us", false, 0, &f->p50[RUNNING]);
    show_one(b, when, "p99 while it is paused", "us", false, 0, &f->p99[PAUSED]);
    show_one(b, when, "p99", "us", false, most, &f->p99[RUNNING]);
    show_one(b, when, "p99 later by, median of the pairs", "us", false, limit, &f->more_us);
    show_one(b, when, "p99, ratio, median of the pairs", "", false, most / paused, &f->ratio);
    printf("p99 later by %.1f +- %.1f us (95 %%), allowed %.1f: %s\n", more, error, limit,
           more + error <= limit  ? "met"
           : more - error > limit ? "not met"
                                  : "cannot be told from this many pairs");
}

static void show_share(const struct bench *b, const char *when, const struct figures *f)
{
    struct result alone = {0};

    result_add(&alone, f->alone.guest_us / ((double)f->alone.at_ns * 1e-3));
    show_one(b, when, "share of the time that the lane is busy while it is paused", "", false, 0,
             &f->busy[PAUSED]);
    show_one(b, when, "share of the time that the lane is busy", "", false, 0, &f->busy[RUNNING]);
    show_one(b, when, "cores of its process while it is paused", "", false, 0, &f->cores[PAUSED]);
    show_one(b, when, "cores of its process", "", false, 0, &f->cores[RUNNING]);
    show_one(b, when, "a slice", "us", false, 0, &f->slice_us);
    show_one(b, when, "slices a second", "Hz", true, 0, &f->slices_hz);
    show_one(b, when, "share of the time that it is in slices, alone", "", true, 0, &alone);
    if (!strcmp(when, "partition")) {
        show_one(b, when, "its speed over that alone", "", true, SHARE, &f->kept);
        return;
    }
    show_one(b, when, "its work, as time alone, over the lane's idle time", "", true, SHARE,
             &f->share);
    show_one(b, when, "time of its slices until a batch met them, over the lane's idle time", "",
             true, 0, &f->least);
}

static int measure(struct bench *b, const char *when)
{
    struct figures f = {0};
    int r = start_daemon(b, when);

    if (r == 0)
        r = stream_open(&b->stream, b->daemon.endpoint, &b->source, ROIS);
    if (r == 0)
        r = bench_daemon_order(&b->daemon, "guest pause g");
    if (r == 0)
        r = stream_measure(&b->stream, WINDOW, FULL_NS, &b->max_hz);
    if (r == 0)
        r = run_alone(b, &f);
    if (r == 0)
        r = run_pairs(b, &f);
    if (r == 0) {
        printf("%s, one lane on %s: %.0f RoIs/s at most, %u pairs of rounds of %u ms at half of "
               "that, guest %s (%s)\n",
               b->o.preset, b->o.backend, b->max_hz, b->o.rounds, b->o.ms, when, b->o.guest);
        show_delay(b, when, &f);
        show_share(b, when, &f);
    }
    stream_close(&b->stream);
    bench_daemon_stop(&b->daemon);
    return r;
}

static int measure_modes(struct bench *b)
{
    char modes[64], *next = NULL;
    int r = source_generate(b->o.preset, SEED, DISTINCT, LAYOUT_AS_MADE, &b->source);

    snprintf(modes, sizeof modes, "%s", b->o.modes);
    for (char *when = strtok_r(modes, ",", &next); r == 0 && when;
         when = strtok_r(NULL, ",", &next))
        r = measure(b, when);
    return r;
}

static void parse(int argc, char **argv, struct options *o)
{
    const struct arg table[] = {
        {"json", ARG_APPEND, &o->out.json, 0, 0, "FILE", "append figures, one a line"},
        {"preset", ARG_TEXT, &o->preset, 0, 0, "P", "of trigreplay (default lowlum)"},
        {"params", ARG_TEXT, &o->params, 0, 0, "YAML", "of zfinder (default preset: pure)"},
        {"backend", ARG_TEXT, &o->backend, 0, 0, "B", "of lane and guest (default cpu)"},
        {"device", ARG_TEXT, &o->out.device, 0, 0, "NAME", "what it is called in results"},
        {"guest", ARG_TEXT, &o->guest, 0, 0, "YAML", "parameters of lattice"},
        {"modes", ARG_TEXT, &o->modes, 0, 0, "LIST", "default idle,partition"},
        {"rounds", ARG_U32, &o->rounds, 1, RESULT_RUNS_MAX, "N", "pairs of rounds (default 48)"},
        {"ms", ARG_U32, &o->ms, 100, 60000, "MS", "of a round (default 250)"},
        {"slice-us", ARG_U32, &o->slice_us, 1, 10000, "US", "default 50"},
        {"percent", ARG_U32, &o->percent, 1, 100, "N", "of a GPU, with partition (default 10)"},
        {0}};

    *o = (struct options){.out = {.bench = "guests"},
                          .preset = "lowlum",
                          .params = "preset: pure",
                          .backend = "cpu",
                          .guest =
                              "scene: cavity, nx: 64, ny: 64, steps: 0, mean_every: 0, vtk: false",
                          .modes = "idle,partition",
                          .rounds = 48,
                          .ms = 250,
                          .slice_us = 50,
                          .percent = 10};
    if (args_parse(argc, argv, NULL, table) != ARGS_OK)
        exit(2);
}

int main(int argc, char **argv)
{
    struct bench b = {.max_hz = 0};
    int r = -ENOMEM;

    parse(argc, argv, &b.o);
    b.us = calloc(ROIS, sizeof *b.us);
    if (b.us)
        r = measure_modes(&b);
    source_free(&b.source);
    free(b.us);
    return result_end(&b.o.out, r);
}
