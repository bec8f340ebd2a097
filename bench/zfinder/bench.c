/* SPDX-License-Identifier: Apache-2.0 */
/* bench_zfinder - RoIs per second of the z-finder plugin on every device, beside a serial
 * double-precision version, in one run: medians and ratios.  Times include the copies in and out
 * and the host's share, as a lane runs them (two or more batches in flight).
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_zfinder [--quick] [--only BACKEND]
 *         [--json FILE] */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "driver.h"
#include "process.h"
#include "result.h"
#include "serial.h"

#define LANES_MAX 64

static struct algo_host host;
static FILE *json;
static uint32_t n_runs = 5;
static const char *only; /* backend that is measured; NULL: all */

struct sample {
    const char *name;
    uint32_t n;
    struct generated *rois;
};

struct mode {
    const char *name;
    const char *triplet_mode;
};
static const struct mode modes[] = {{"pairs", "0"}, {"triplets", "2"}};

static double seconds(void)
{
    return (double)clock_ns() * 1e-9;
}

/* ---------------------------------------------------------------- what is measured */

struct job { /* one thread's share on a device */
    const struct sample *s;
    struct batches *batches;
    struct trg_result *results;
    uint32_t rounds;
    pthread_barrier_t *barrier;
    int result;
};

static void *run_job(void *arg)
{
    struct job *j = arg;

    j->result = zfinder_run(j->batches, j->s->rois, j->s->n, j->results, NULL); /* warm up */
    pthread_barrier_wait(j->barrier);
    for (uint32_t i = 0; i < j->rounds && j->result == 0; i++)
        j->result = zfinder_run(j->batches, j->s->rois, j->s->n, j->results, NULL);
    pthread_barrier_wait(j->barrier);
    return NULL;
}

/* RoIs/s of `lanes` threads with an instance each; 0 when something failed. */
static double rate_on(struct trg_device *device, const struct zf_config *c, const struct sample *s,
                      uint32_t lanes, uint32_t batch, uint32_t rounds,
                      struct trg_result *ret_results)
{
    struct batches_setup setup = {.device = device,
                                  .host = &host.host,
                                  .plugin = &host.plugin->d,
                                  .config = c,
                                  .slots = 3,
                                  .max_rois = batch};
    struct job job[LANES_MAX] = {{0}};
    pthread_t thread[LANES_MAX];
    pthread_barrier_t barrier;
    uint64_t items = 0;
    double start, end;
    bool good = true;

    for (uint32_t i = 0; i < s->n; i++)
        items += s->rois[i].n;
    setup.max_items = (uint32_t)(2 * (uint64_t)batch * (items / (s->n + !s->n)) + 400000);
    pthread_barrier_init(&barrier, NULL, lanes + 1);
    for (uint32_t i = 0; i < lanes; i++) {
        job[i] = (struct job){.s = s, .rounds = rounds, .barrier = &barrier};
        job[i].results = calloc(s->n, sizeof *job[i].results);
        if (!job[i].results || batches_open(&setup, &job[i].batches) < 0) {
            fprintf(stderr, "cannot open lane %u\n", i);
            return 0;
        }
    }
    for (uint32_t i = 0; i < lanes; i++)
        if (pthread_create(&thread[i], NULL, run_job, &job[i]))
            return 0;
    pthread_barrier_wait(&barrier);
    start = seconds();
    pthread_barrier_wait(&barrier);
    end = seconds();
    for (uint32_t i = 0; i < lanes; i++) {
        pthread_join(thread[i], NULL);
        good &= job[i].result == 0;
        if (i == 0)
            memcpy(ret_results, job[0].results, s->n * sizeof *ret_results);
        free(job[i].results);
        batches_close(job[i].batches);
    }
    pthread_barrier_destroy(&barrier);
    return good ? (double)lanes * rounds * s->n / (end - start) : 0;
}

static double rate_serial(const struct zf_config *c, const struct sample *s, struct serial *serial,
                          double *ret_z)
{
    double start = seconds();

    for (uint32_t i = 0; i < s->n; i++)
        ret_z[i] = serial_find(serial, c, &s->rois[i]);
    return s->n / (seconds() - start);
}

/* ---------------------------------------------------------------- telling it */

static void tell(const struct sample *s, const struct mode *m, const char *device, uint32_t batch,
                 const struct result *rates, double serial, double goal, const char *note)
{
    const double value = result_median(rates), spread = result_spread(rates);
    char text[160];

    printf("%-8s %-9s %-44s %6u %12.0f %9.1f +- %.1f %%  %s\n", s->name, m->name, device, batch,
           value, value / serial, 100 * spread / value, note);
    fflush(stdout);
    snprintf(text, sizeof text, "%s %s, %s, batch %u", s->name, m->name, device, batch);
    result_write(json,
                 &(struct result_figure){.bench = "zfinder",
                                         .figure = text,
                                         .unit = "RoIs/s",
                                         .command = "bench_zfinder",
                                         .higher_is_better = true,
                                         .goal = goal * serial,
                                         .baseline = "serial double precision, one core",
                                         .baseline_value = serial,
                                         .device = device},
                 rates);
}

/* Whether two runs gave the same results to the bit. */
static const char *same(const struct trg_result *a, const struct trg_result *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            return "DIFFERS from the CPU";
    return "same as CPU";
}

static void measure_device(struct trg_device *device, const char *name, uint32_t lanes,
                           const struct zf_config *c, const struct sample *s, const struct mode *m,
                           double serial, const struct trg_result *want)
{
    static const uint32_t batches[] = {1, 16, 64, 256, 1024};
    struct trg_result *r = calloc(s->n, sizeof *r);
    struct trg_device_info info;
    double goal = 0;

    trg_device_info(device, &info);
    if (!r)
        return;
    if (!strcmp(info.backend, "cuda"))
        goal = !strcmp(s->name, "lowlum") ? 1 : m->triplet_mode[0] == '0' ? 35 : 20;
    for (uint32_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        struct result rates = {.n = 0};
        double once;
        uint32_t rounds;

        if ((info.is_host && batches[b] != 64) || batches[b] > s->n)
            continue;
        once = rate_on(device, c, s, lanes, batches[b], 1, r);
        rounds = once > 0 ? (uint32_t)(0.15 * once / s->n / lanes) + 1 : 1;
        for (uint32_t i = 0; i < n_runs; i++)
            result_add(&rates, rate_on(device, c, s, lanes, batches[b], rounds, r));
        tell(s, m, name, batches[b], &rates, serial, goal, want ? same(r, want, s->n) : "");
    }
    free(r);
}

static void measure_all_devices(const struct zf_config *c, const struct sample *s,
                                const struct mode *m, double serial, const struct trg_result *want)
{
    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t n;
        const char *backend = backends_name(host.backends, i, &n);

        for (uint32_t k = 0; k < n && (!only || !strcmp(only, backend)); k++) {
            struct trg_device *device;
            struct trg_device_info info;
            char name[160];

            if (backends_device(host.backends, backend, k, &device) < 0)
                continue;
            trg_device_info(device, &info);
            snprintf(name, sizeof name, "%s, %.20s, 1 lane", backend, info.name);
            measure_device(device, name, 1, c, s, m, serial, want);
            snprintf(name, sizeof name, "%s, %.20s, %u lanes", backend, info.name,
                     info.is_host ? process_cores(LANES_MAX) : 2);
            if (info.is_host || !strcmp(backend, "cuda"))
                measure_device(device, name, info.is_host ? process_cores(LANES_MAX) : 2, c, s, m,
                               serial, want);
        }
    }
}

static void measure(const struct sample *s, const struct mode *m)
{
    struct zf_config c;
    struct serial *serial = serial_new(400000);
    struct trg_result *want = calloc(s->n, sizeof *want);
    struct trg_device *cpu;
    struct result rates = {.n = 0};
    double base, *z = calloc(s->n, sizeof *z);
    uint32_t close = 0;

    if (algo_configure(host.plugin, "pure",
                       (const char *const[]){"triplet_mode", m->triplet_mode, NULL}, &c) < 0 ||
        !serial || !want || !z || backends_device(host.backends, "cpu", 0, &cpu) < 0)
        exit(1);
    for (uint32_t i = 0; i < n_runs; i++)
        result_add(&rates, rate_serial(&c, s, serial, z));
    base = result_median(&rates);
    rate_on(cpu, &c, s, 1, 64, 1, want);
    for (uint32_t i = 0; i < s->n; i++)
        close += fabs((double)want[i].value[1] - z[i]) < 0.5;
    tell(s, m, "serial, double precision, 1 core", 1, &rates, base, 0, "");
    printf("%-8s %-9s the same vertex (0.5 mm) as serial: %u of %u\n", s->name, m->name, close,
           s->n);
    measure_all_devices(&c, s, m, base, want);
    serial_free(serial);
    free(want);
    free(z);
}

static struct sample make(const char *preset, uint32_t n)
{
    struct sample s = {.name = preset, .n = n, .rois = calloc(n, sizeof *s.rois)};

    for (uint32_t i = 0; s.rois && i < n; i++)
        if (generator_make(generator_find(preset), 1, i, &s.rois[i]) < 0)
            exit(1);
    return s;
}

int main(int argc, char **argv)
{
    uint32_t low = 2048, high = 256;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            low = 1024;
            high = 64;
            n_runs = 3;
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            json = fopen(argv[++i], "a");
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            only = argv[++i];
        } else {
            fprintf(stderr, "usage: bench_zfinder [--quick] [--only BACKEND] [--json FILE]\n");
            return 2;
        }
    }
    if (algo_host_open(&host, "zfinder") < 0)
        return 1;
    printf("%-8s %-9s %-44s %6s %12s %9s %7s\n", "sample", "mode", "device", "batch", "RoIs/s",
           "x serial", "spread");
    for (uint32_t k = 0; k < 2; k++) {
        struct sample s = k ? make("highlum", high) : make("lowlum", low);

        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            measure(&s, &modes[m]);
        for (uint32_t i = 0; i < s.n; i++)
            generated_fini(&s.rois[i]);
        free(s.rois);
    }
    algo_host_close(&host);
    return json && fclose(json) ? 1 : 0;
}
