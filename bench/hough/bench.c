/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hough - RoIs per second of every method on every device, beside a serial double-precision
 * brute force, and the filling of cells alone for many grids and numbers of hits (the thesis's
 * figures 6.5 and 6.6).  Times include the copies in and out and the host's share, as a lane runs
 * them; for one core they are CPU time, for OpenCL that is threads on the CPU that of all together.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_hough --help
 *
 * The RoIs of each file are a sample of their own, repeated, which the default method is measured
 * on. */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "measure.h"
#include "process.h"
#include "serial.h"

#define SEED    20260101u
#define SECONDS 0.1 /* of a run */

static const struct {
    const char *preset;
    uint32_t batch_max;
} methods[] = {{"velo", 2048}, {"hashed", 1024}, {"analytic", 256}, {"paint", 256}, {"brute", 256}};
#define METHODS (sizeof methods / sizeof *methods)

struct task { /* for each device */
    const struct sample *s;
    uint32_t method;
    double base;
};

static void one_way(const struct bench *b, const struct algo_place *p, const struct task *t,
                    const struct hough_config *c, uint32_t batch, uint32_t lanes)
{
    char figure[64], name[WAY_NAME_BYTES];
    struct way w = way_on(p, batch, lanes, name);

    snprintf(figure, sizeof figure, "%s %s, batch %u", t->s->name, methods[t->method].preset,
             batch);
    w.figure = figure;
    w.seconds = SECONDS;
    w.base = t->base;
    measure(b, &w, c, t->s);
}

static void method_on(const struct bench *b, const struct algo_place *p, void *arg)
{
    static const uint32_t batches[] = {1, 16, 64, 256, 1024, 2048};
    const struct task *t = arg;
    const bool is_cuda = !strcmp(p->backend, "cuda");
    struct hough_config c;

    if (algo_configure(b->host.plugin, methods[t->method].preset, NULL, &c) < 0)
        exit(1);
    for (uint32_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const uint32_t batch = batches[i];

        if ((!is_cuda && batch != 64) || batch > methods[t->method].batch_max || batch > t->s->n)
            continue;
        one_way(b, p, t, &c, batch, 1);
        if (p->info.is_host) {
            one_way(b, p, t, &c, batch, process_cores(LANES_MAX));
        } else if (batch >= 256 && batch <= 1024) {
            one_way(b, p, t, &c, batch, 2);
            one_way(b, p, t, &c, batch, 4);
        }
    }
}

static double serial_rate(const struct bench *b, const struct sample *s)
{
    const uint32_t n = s->n < 8 ? s->n : 8;
    struct way w = {.device_name = "serial, double precision, 1 core"};
    struct result rates = {.n = 0};
    struct hough_config c;
    char figure[64];

    if (algo_configure(b->host.plugin, "brute", NULL, &c) < 0)
        exit(1);
    for (uint32_t r = 0; r < b->runs; r++) {
        uint64_t start = clock_thread_ns();

        for (uint32_t i = 0; i < n; i++) {
            struct serial_tracks t;

            if (serial_find(&c, &s->events[i], &t) < 0)
                exit(1);
            serial_free(&t);
        }
        result_add(&rates, n * 1e9 / (double)(clock_thread_ns() - start));
    }
    snprintf(figure, sizeof figure, "%s brute", s->name);
    w.figure = figure;
    w.base = result_median(&rates);
    report(b, &w, &rates);
    return w.base;
}

static struct sample make(const char *preset, uint32_t n)
{
    struct sample s = {.name = preset, .n = n, .events = calloc(n, sizeof *s.events)};

    for (uint32_t i = 0; s.events && i < n; i++) {
        if (event_generate(preset, SEED, i, &s.events[i]) < 0)
            exit(1);
        s.most_hits = s.events[i].n > s.most_hits ? s.events[i].n : s.most_hits;
    }
    if (!s.events)
        exit(1);
    return s;
}

/* Events of 13,000 and of 50,000 hits, by the default method. */
static void measure_dense(const struct bench *b)
{
    static const char *const presets[] = {"velo-upgrade2", "velo-lead"};

    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        struct sample s = make(presets[i], 64);
        struct task t = {.s = &s};

        for_all_devices(b, method_on, &t);
        events_free(s.events, s.n);
    }
}

/* The RoIs of a file over and over, n in all. */
static void measure_file(const struct bench *b, const char *path, uint32_t n)
{
    const char *slash = strrchr(path, '/');
    struct sample s = {.name = slash ? slash + 1 : path, .n = n};
    struct event *events = NULL;
    struct task t = {.s = &s};
    uint32_t n_read = 0;

    if (events_read(path, &events, &n_read) < 0 || !n_read) {
        fprintf(stderr, "bench_hough: %s: no RoIs with hits\n", path);
        exit(1);
    }
    s.events = calloc(n, sizeof *s.events);
    if (!s.events)
        exit(1);
    for (uint32_t i = 0; i < n; i++) {
        s.events[i] = events[i % n_read];
        s.most_hits = s.events[i].n > s.most_hits ? s.events[i].n : s.most_hits;
    }
    for_all_devices(b, method_on, &t);
    free(s.events);
    events_free(events, n_read);
}

int main(int argc, char **argv)
{
    struct bench b = {.runs = 5, .out = {.bench = "hough"}};
    struct arg_texts files = {.n = 0};
    bool is_quick = false;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &is_quick, 0, 0, NULL, "fewer RoIs and runs"},
        {"only", ARG_TEXT, &b.only, 0, 0, "TEXT", "figures with this in their name"},
        {"file", ARG_TEXTS, &files, 0, 0, "FILE.roi", "RoIs of a file too; may be repeated"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int args = args_parse(argc, argv, NULL, table);
    uint32_t n;
    struct sample s;
    struct task t;

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    if (is_quick)
        b.runs = 3;
    n = is_quick ? 64 : 2048;
    if (algo_host_open(&b.host, "hough") < 0)
        return 1;
    s = make("velo", n);
    t = (struct task){.s = &s};
    t.base = serial_rate(&b, &s);
    for (; t.method < METHODS; t.method++)
        for_all_devices(&b, method_on, &t);
    for (uint32_t i = 0; i < files.n; i++)
        measure_file(&b, files.text[i], n);
    b.runs = 3;
    measure_dense(&b);
    sizes_of_rois(&b);
    grids(&b);
    events_free(s.events, s.n);
    algo_host_close(&b.host);
    return result_end(&b.out, 0);
}
