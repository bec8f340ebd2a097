/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hough - RoIs per second of every method on every device, beside a serial double-precision
 * brute force, and the filling of cells alone for many grids and numbers of hits (the thesis's
 * figures 6.5 and 6.6).  Times include the copies in and out and the host's share, as a lane runs
 * them; for one core they are CPU time.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_hough [--quick] [--json FILE] */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "driver.h"
#include "process.h"
#include "result.h"
#include "serial.h"

#define LANES_MAX 64u
#define SEED      20260101u

static struct algo_host host;
static FILE *json;
static const char *only; /* figures with this in their name */
static uint32_t n_runs = 5;

static const struct {
    const char *preset;
    uint32_t batch_max;
} methods[] = {{"velo", 1024}, {"analytic", 256}, {"paint", 256}, {"brute", 256}};
#define SIDES   4u /* grids that are measured */
#define METHODS (sizeof methods / sizeof *methods)

struct sample {
    const char *name;
    struct event *events;
    uint32_t n, most_hits;
};

/* ---------------------------------------------------------------- telling it */

/* One figure; `base` is RoIs/s of the serial version, or 0. */
static void tell(const char *figure, const char *device, const struct result *rates, double base)
{
    const double value = result_median(rates);
    char text[160];

    printf("%-34s %-40s %12.1f", figure, device, value);
    if (base > 0)
        printf(" %8.1f", value / base);
    printf("   +- %.1f %%\n", value > 0 ? 100 * result_spread(rates) / value : 0);
    fflush(stdout);
    snprintf(text, sizeof text, "%s, %s", figure, device);
    result_write(json,
                 &(struct result_figure){
                     .bench = "hough",
                     .figure = text,
                     .unit = "RoIs/s",
                     .command = "bench_hough",
                     .higher_is_better = true,
                     .baseline = base > 0 ? "serial brute force, double precision, one core" : NULL,
                     .baseline_value = base,
                     .device = device},
                 rates);
}

/* ---------------------------------------------------------------- what is measured */

struct job { /* one thread's share on a device */
    struct batches *batches;
    const struct sample *s;
    struct trg_result *results;
    uint32_t rounds;
    pthread_barrier_t *barrier;
    double cpu_s; /* that the thread itself has used */
    int result;
};

static void *run_job(void *arg)
{
    struct job *j = arg;
    uint64_t start;

    pthread_barrier_wait(j->barrier);
    start = clock_thread_ns();
    for (uint32_t i = 0; i < j->rounds && j->result == 0; i++)
        j->result = hough_run(j->batches, j->s->events, j->s->n, j->results, NULL);
    j->cpu_s = (double)(clock_thread_ns() - start) * 1e-9;
    pthread_barrier_wait(j->barrier);
    return NULL;
}

/* RoIs/s of threads with a job each; 0 when one failed. */
static double rate_of(struct job *jobs, uint32_t n, const struct sample *s, uint32_t rounds,
                      bool is_one_core)
{
    pthread_t thread[LANES_MAX];
    pthread_barrier_t barrier;
    uint64_t start, end;
    bool good = true;

    pthread_barrier_init(&barrier, NULL, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        jobs[i].barrier = &barrier;
        jobs[i].rounds = rounds;
        if (pthread_create(&thread[i], NULL, run_job, &jobs[i])) {
            fprintf(stderr, "bench_hough: cannot make a thread\n");
            exit(1);
        }
    }
    pthread_barrier_wait(&barrier);
    start = clock_ns();
    pthread_barrier_wait(&barrier);
    end = clock_ns();
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        good &= jobs[i].result == 0;
    }
    pthread_barrier_destroy(&barrier);
    if (!good)
        return 0;
    return (double)n * rounds * s->n / (is_one_core ? jobs[0].cpu_s : (double)(end - start) * 1e-9);
}

struct way { /* to measure */
    const char *figure, *device_name;
    struct trg_device *device;
    uint32_t lanes, batch;
    bool is_one_core; /* the CPU, one lane: told per second of CPU time */
};

/* Measures with that many threads; a run takes about `seconds`. */
static void measure(const struct way *w, const struct hough_config *c, const struct sample *s,
                    double seconds, double base)
{
    const uint32_t lanes = w->lanes;
    struct batches_setup setup = {.device = w->device,
                                  .host = &host.host,
                                  .plugin = &host.plugin->d,
                                  .config = c,
                                  .slots = 3,
                                  .max_rois = w->batch,
                                  .max_items = w->batch * s->most_hits};
    struct job jobs[LANES_MAX];
    struct result rates = {.n = 0};
    double once = 0;
    bool good = true;

    if (only && !strstr(w->figure, only))
        return;
    memset(jobs, 0, sizeof jobs);
    for (uint32_t i = 0; i < lanes; i++) {
        jobs[i].s = s;
        jobs[i].results = calloc(s->n, sizeof *jobs[i].results);
        good &= jobs[i].results && batches_open(&setup, &jobs[i].batches) == 0;
    }
    if (good)
        once = rate_of(jobs, lanes, s, 1, w->is_one_core); /* warms up, too */
    for (uint32_t i = 0; once > 0 && i < n_runs; i++)
        result_add(&rates, rate_of(jobs, lanes, s, (uint32_t)(seconds * once / s->n / lanes) + 1,
                                   w->is_one_core));
    if (once > 0)
        tell(w->figure, w->device_name, &rates, base);
    else
        fprintf(stderr, "bench_hough: %s, %s: no room or no answer\n", w->figure, w->device_name);
    for (uint32_t i = 0; i < lanes; i++) {
        batches_close(jobs[i].batches);
        free(jobs[i].results);
    }
}

/* ---------------------------------------------------------------- methods */

static void methods_on(struct trg_device *device, const char *backend, const struct sample *s,
                       uint32_t m, double base)
{
    static const uint32_t batches[] = {1, 16, 64, 256, 1024};
    struct trg_device_info info;
    struct hough_config c;
    char figure[64], name[80];

    trg_device_info(device, &info);
    if (algo_configure(host.plugin, methods[m].preset, NULL, &c) < 0)
        exit(1);
    for (uint32_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        bool is_host = info.is_host, is_cuda = !strcmp(backend, "cuda");

        if ((!is_cuda && batches[b] != 64) || batches[b] > methods[m].batch_max ||
            batches[b] > s->n)
            continue;
        snprintf(figure, sizeof figure, "%s %s, batch %u", s->name, methods[m].preset, batches[b]);
        snprintf(name, sizeof name, "%s, %.20s, 1 lane", backend, info.name);
        measure(&(struct way){figure, name, device, 1, batches[b], is_host}, &c, s, 0.15, base);
        if (!is_host && batches[b] < 256)
            continue;
        for (uint32_t lanes = is_host ? process_cores(LANES_MAX) : 2;
             lanes <= (is_host ? process_cores(LANES_MAX) : 4); lanes *= 2) {
            snprintf(name, sizeof name, "%s, %.20s, %u lanes", backend, info.name, lanes);
            measure(&(struct way){figure, name, device, lanes, batches[b], false}, &c, s, 0.15,
                    base);
        }
    }
}

static double serial_rate(const struct sample *s)
{
    const uint32_t n = s->n < 8 ? s->n : 8;
    struct result rates = {.n = 0};
    struct hough_config c;
    char figure[64];

    if (algo_configure(host.plugin, "brute", NULL, &c) < 0)
        exit(1);
    for (uint32_t r = 0; r < n_runs; r++) {
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
    tell(figure, "serial, double precision, 1 core", &rates, result_median(&rates));
    return result_median(&rates);
}

static void for_all_devices(const struct sample *s, uint32_t m, double base,
                            void (*measure_on)(struct trg_device *, const char *,
                                               const struct sample *, uint32_t, double))
{
    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t n;
        const char *backend = backends_name(host.backends, i, &n);
        struct trg_device *device;

        if (n && backends_device(host.backends, backend, 0, &device) == 0)
            measure_on(device, backend, s, m, base);
    }
}

/* ---------------------------------------------------------------- grids */

static uint64_t random_state = 1;

static float uniform(float low, float high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

/* The whole plane as one window, no peaks looked at: what filling and searching the cells costs. */
static void grid_on(struct trg_device *device, const char *backend, const struct sample *s,
                    uint32_t m, double base)
{
    static const char *const sides[] = {"10", "32", "128", "512"};
    const uint32_t side = (uint32_t)base; /* which of them */
    const char *const settings[] = {
        "phi_bins",     "1",     "passes",    "1",     "n_theta", sides[side], "n_r", sides[side],
        "max_bin_hits", "32767", "threshold", "10000", NULL};
    const double n = strtod(sides[side], NULL), hits = s->events[0].n;
    const double work = hits * (m == 1 ? hits : m == 2 ? n : n * n);
    struct trg_device_info info;
    struct hough_config c;
    char figure[80], name[80];

    trg_device_info(device, &info);
    if (m == 0 || algo_configure(host.plugin, methods[m].preset, settings, &c) < 0)
        return;
    if (work > (strcmp(backend, "cuda") ? 3e7 : 3e9))
        return; /* minutes */
    n_runs = 3;
    snprintf(figure, sizeof figure, "cells %s x %s, %.0f hits, %s", sides[side], sides[side], hits,
             methods[m].preset);
    snprintf(name, sizeof name, "%s, %.20s, 1 lane", backend, info.name);
    measure(&(struct way){figure, name, device, 1, s->n, info.is_host != 0}, &c, s, 0.02, 0);
}

static void grids(void)
{
    static const uint32_t hits[] = {10, 100, 1000, 10000};

    for (uint32_t k = 0; k < 4; k++) {
        struct event events[16];
        struct sample s = {"plane", events, k < 3 ? 16 : 1, hits[k]};

        for (uint32_t i = 0; i < s.n; i++) {
            if (event_new(hits[k], 0, 0, &events[i]) < 0)
                exit(1);
            for (uint32_t h = 0; h < hits[k]; h++) {
                events[i].x[h] = uniform(-50, 50);
                events[i].z[h] = uniform(-300, 750);
                events[i].layer[h] = (uint16_t)h;
            }
        }
        for (uint32_t side = 0; side < SIDES; side++)
            for (uint32_t m = 1; m < METHODS; m++)
                for_all_devices(&s, m, side, grid_on);
        for (uint32_t i = 0; i < s.n; i++)
            event_free(&events[i]);
    }
}

/* ---------------------------------------------------------------- all */

static struct sample make(uint32_t n)
{
    struct sample s = {.name = "velo", .n = n, .events = calloc(n, sizeof *s.events)};

    for (uint32_t i = 0; s.events && i < n; i++) {
        if (event_generate("velo", SEED, i, &s.events[i]) < 0)
            exit(1);
        s.most_hits = s.events[i].n > s.most_hits ? s.events[i].n : s.most_hits;
    }
    if (!s.events)
        exit(1);
    return s;
}

int main(int argc, char **argv)
{
    struct sample s;
    uint32_t n = 1024;
    double base;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            n = 64;
            n_runs = 3;
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            only = argv[++i];
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            json = fopen(argv[++i], "a");
        } else {
            fprintf(stderr, "usage: bench_hough [--quick] [--json FILE]\n");
            return 2;
        }
    }
    if (algo_host_open(&host, "hough") < 0)
        return 1;
    s = make(n);
    printf("%-34s %-40s %12s %8s\n", "figure", "device", "RoIs/s", "x serial");
    base = serial_rate(&s);
    for (uint32_t m = 0; m < METHODS; m++)
        for_all_devices(&s, m, base, methods_on);
    grids();
    events_free(s.events, s.n);
    algo_host_close(&host);
    return json && fclose(json) ? 1 : 0;
}
