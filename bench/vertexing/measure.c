/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "result.h"

#define RUNS_MAX    15u
#define THREADS_MAX 256u

struct thread {
    const struct work *w;
    pthread_barrier_t *barrier;
    uint32_t times;
    int result;
};

static void *run_thread(void *arg)
{
    struct thread *t = arg;

    pthread_barrier_wait(t->barrier);
    t->result = t->w->run(t->w->arg, t->times);
    pthread_barrier_wait(t->barrier);
    return NULL;
}

/* Wall time in us of `times` times on all threads. */
static int once(const struct work *w, uint32_t threads, uint32_t times, double *ret_us)
{
    struct thread t[THREADS_MAX];
    pthread_t id[THREADS_MAX];
    pthread_barrier_t barrier;
    uint64_t start;
    uint32_t n = 0;
    int r = 0;

    if (threads == 1) {
        start = w[0].on_host ? clock_thread_ns() : clock_ns();
        r = w[0].run(w[0].arg, times);
        *ret_us = (double)((w[0].on_host ? clock_thread_ns() : clock_ns()) - start) * 1e-3;
        return r;
    }
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (; n < threads; n++) {
        t[n] = (struct thread){&w[n], &barrier, times, 0};
        if (pthread_create(&id[n], NULL, run_thread, &t[n])) {
            fprintf(stderr, "no thread %u of %u\n", n, threads);
            exit(1); /* those that wait at the barrier cannot be called back */
        }
    }
    pthread_barrier_wait(&barrier);
    start = clock_ns();
    pthread_barrier_wait(&barrier);
    *ret_us = (double)(clock_ns() - start) * 1e-3;
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(id[i], NULL);
        r = r ? r : t[i].result;
    }
    pthread_barrier_destroy(&barrier);
    return r;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool is_wanted(const struct bench *b, const char *what)
{
    return !b->match || strstr(what, b->match);
}

int measure_all(const struct bench *b, const struct work *w, uint32_t threads,
                struct timing *ret_timing)
{
    const double end = (double)clock_ns() * 1e-3 + 1e3 * b->cell_ms;
    double us[RUNS_MAX], first;
    uint32_t times = 1, n = 0;
    int r;

    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (;;) { /* warms up, and finds out how often */
        r = once(w, threads, times, &first);
        if (r < 0)
            return r;
        if (first >= 1e3 * b->min_ms || times > 1u << 24 || (double)clock_ns() * 1e-3 > end)
            break;
        times *= first < 100 * b->min_ms ? 8 : 2;
    }
    do {
        r = once(w, threads, times, &us[n]);
        if (r < 0)
            return r;
        us[n++] /= times;
    } while (n < b->runs && n < RUNS_MAX && (double)clock_ns() * 1e-3 < end);
    qsort(us, n, sizeof *us, rising);
    *ret_timing = (struct timing){us[n / 2], (us[n - 1] - us[0]) / us[n / 2], n};
    return 0;
}

int measure(const struct bench *b, const struct work *w, struct timing *ret_timing)
{
    return measure_all(b, w, 1, ret_timing);
}

/* ---------------------------------------------------------------- telling it */

static FILE *json;

int tell_open(const struct bench *b)
{
    json = b->json ? fopen(b->json, "a") : NULL;
    printf("%-58s %-34s %12s %9s %7s\n", "figure", "device", "per second", "x serial", "spread");
    return b->json && !json ? -errno : 0;
}

int tell_close(void)
{
    return json && fclose(json) ? -errno : 0;
}

void tell(const struct figure *f)
{
    char text[160];

    printf("%-58s %-34s %12.4g %9.2f %6.1f%%\n", f->what, f->device, f->per_s,
           f->serial_per_s > 0 ? f->per_s / f->serial_per_s : 0, 100 * f->t.spread);
    fflush(stdout);
    snprintf(text, sizeof text, "%s, %s", f->what, f->device);
    result_write_value(json,
                       &(struct result_figure){.bench = "vertexing",
                                               .figure = text,
                                               .unit = f->unit,
                                               .command = "bench_vertexing",
                                               .higher_is_better = true,
                                               .baseline = "serial double precision, one core",
                                               .baseline_value = f->serial_per_s,
                                               .device = f->device},
                       f->per_s, 0.5 * f->t.spread * f->per_s, f->t.runs);
}

void device_name(struct trg_device *device, char *text, size_t bytes)
{
    struct trg_device_info info;

    trg_device_info(device, &info);
    snprintf(text, bytes, "%s, %.24s", info.backend, info.name);
}
