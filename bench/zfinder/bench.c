/* SPDX-License-Identifier: Apache-2.0 */
/* bench_zfinder - RoIs per second of the z-finder plugin on every device, beside two programs of
 * one core, in one run: a serial one in double precision as one would write it down, and the plugin
 * itself on the CPU, which is the lean one.  Medians and ratios to both.  Times include the copies
 * in and out and the host's share, as a lane runs them (two or more batches in flight).
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_zfinder [--quick] [--only BACKEND]
 *         [--json FILE] */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "crew.h"
#include "driver.h"
#include "process.h"
#include "result.h"
#include "serial.h"

#define LANES_MAX 64

static struct algo_host host;
static struct results out = {.bench = "zfinder"};
static uint32_t n_runs;
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

/* ---------------------------------------------------------------- what is measured */

struct job { /* one lane's share on a device */
    const struct sample *s;
    struct batches *batches;
    struct trg_result *results;
    uint32_t rounds;
};

static int run_job(void *arg)
{
    const struct job *j = arg;
    int r = 0;

    for (uint32_t i = 0; i < j->rounds && r == 0; i++)
        r = zfinder_run(j->batches, j->s->rois, j->s->n, j->results, NULL);
    return r;
}

/* RoIs/s of `lanes` threads with an instance each, after a round that warms them up; 0 when
 * something failed.  Of one lane on the CPU processor time counts, as for the serial program. */
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
    struct crew_time time = {0};
    struct trg_device_info info;
    uint64_t items = 0;
    int r = 0;

    for (uint32_t i = 0; i < s->n; i++)
        items += s->rois[i].n;
    setup.max_items = (uint32_t)(2 * (uint64_t)batch * (items / (s->n + !s->n)) + 400000);
    for (uint32_t i = 0; i < lanes && r == 0; i++) {
        job[i] = (struct job){.s = s, .rounds = 1, .results = calloc(s->n, sizeof *job[i].results)};
        r = job[i].results ? batches_open(&setup, &job[i].batches) : -ENOMEM;
    }
    if (r == 0)
        r = crew_run(lanes, run_job, job, sizeof *job, &time);
    for (uint32_t i = 0; i < lanes; i++)
        job[i].rounds = rounds;
    if (r == 0)
        r = crew_run(lanes, run_job, job, sizeof *job, &time);
    if (r == 0)
        memcpy(ret_results, job[0].results, s->n * sizeof *ret_results);
    else
        fprintf(stderr, "bench_zfinder: %u lanes: %s\n", lanes, strerror(-r));
    for (uint32_t i = 0; i < lanes; i++) {
        free(job[i].results);
        batches_close(job[i].batches);
    }
    trg_device_info(device, &info);
    if (info.is_host && lanes == 1)
        time.wall_s = time.process_s;
    return r == 0 ? (double)lanes * rounds * s->n / time.wall_s : 0;
}

static double rate_serial(const struct zf_config *c, const struct sample *s, struct serial *serial,
                          double *ret_z)
{
    const uint64_t start = clock_thread_ns(); /* what else runs on the machine does not count */

    for (uint32_t i = 0; i < s->n; i++)
        ret_z[i] = serial_find(serial, c, &s->rois[i]);
    return s->n * 1e9 / (double)(clock_thread_ns() - start);
}

/* ---------------------------------------------------------------- telling it */

struct bases { /* RoIs/s of one core */
    double serial, lean;
};

static void report(const struct sample *s, const struct mode *m, const char *device, uint32_t batch,
                   const struct result *rates, const struct bases *base, double goal)
{
    result_report(&out,
                  &(struct result_figure){.unit = "RoIs/s",
                                          .higher_is_better = true,
                                          .goal = goal * base->serial,
                                          .baseline = "serial double precision, one core",
                                          .baseline_value = base->serial,
                                          .device = device},
                  rates, "%s %s, %s, batch %u", s->name, m->name, device, batch);
    if (base->lean > 0)
        result_report_value(
            &out, &(struct result_figure){.unit = "x", .higher_is_better = true, .device = device},
            result_median(rates) / base->lean, result_spread(rates) / base->lean, rates->n,
            "%s %s, %s, batch %u, over the plugin on one core", s->name, m->name, device, batch);
}

/* The results of a device are those of the CPU to the bit. */
static void compare(const struct trg_result *a, const struct trg_result *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
            printf("  RoI %u DIFFERS from the CPU\n", i);
            return;
        }
}

/* Rates of runs of about 0.15 s. */
static struct result rates_on(struct trg_device *device, const struct zf_config *c,
                              const struct sample *s, uint32_t lanes, uint32_t batch,
                              struct trg_result *ret_results)
{
    const double once = rate_on(device, c, s, lanes, batch, 1, ret_results);
    const uint32_t rounds = once > 0 ? (uint32_t)(0.15 * once / s->n / lanes) + 1 : 1;
    struct result rates = {.n = 0};

    for (uint32_t i = 0; i < n_runs; i++)
        result_add(&rates, rate_on(device, c, s, lanes, batch, rounds, ret_results));
    return rates;
}

static void measure_device(struct trg_device *device, const char *name, uint32_t lanes,
                           const struct zf_config *c, const struct sample *s, const struct mode *m,
                           const struct bases *base, const struct trg_result *want)
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
        struct result rates;

        if ((info.is_host && batches[b] != 64) || batches[b] > s->n)
            continue;
        rates = rates_on(device, c, s, lanes, batches[b], r);
        report(s, m, name, batches[b], &rates, base, goal);
        compare(r, want, s->n);
    }
    free(r);
}

static void measure_all_devices(const struct zf_config *c, const struct sample *s,
                                const struct mode *m, const struct bases *base,
                                const struct trg_result *want)
{
    struct algo_place place[ALGO_PLACES_MAX];
    const uint32_t n = algo_host_places(&host, only, place);

    for (uint32_t i = 0; i < n; i++) {
        const struct algo_place *p = &place[i];
        const uint32_t more = p->info.is_host ? process_cores(LANES_MAX) : 2;
        char name[160];

        snprintf(name, sizeof name, "%s, %.20s, 1 lane", p->backend, p->info.name);
        if (!p->info.is_host) /* the CPU's is the lean program */
            measure_device(p->device, name, 1, c, s, m, base, want);
        snprintf(name, sizeof name, "%s, %.20s, %u lanes", p->backend, p->info.name, more);
        if (p->info.is_host || !strcmp(p->backend, "cuda"))
            measure_device(p->device, name, more, c, s, m, base, want);
    }
}

static void measure(const struct sample *s, const struct mode *m)
{
    struct zf_config c;
    struct serial *serial = serial_new(400000);
    struct trg_result *want = calloc(s->n, sizeof *want);
    struct trg_device *cpu;
    struct result rates = {.n = 0};
    struct bases base = {0};
    double *z = calloc(s->n, sizeof *z);
    uint32_t close = 0;

    if (algo_configure(host.plugin, "pure",
                       (const char *const[]){"triplet_mode", m->triplet_mode, NULL}, &c) < 0 ||
        !serial || !want || !z || backends_device(host.backends, "cpu", 0, &cpu) < 0)
        exit(1);
    for (uint32_t i = 0; i < n_runs; i++)
        result_add(&rates, rate_serial(&c, s, serial, z));
    base.serial = result_median(&rates);
    report(s, m, "serial, double precision, 1 core", 1, &rates, &base, 0);
    rates = rates_on(cpu, &c, s, 1, 64, want);
    report(s, m, "lean: the plugin on 1 core", 64, &rates, &base, 0);
    base.lean = result_median(&rates);
    for (uint32_t i = 0; i < s->n; i++)
        close += fabs((double)want[i].value[1] - z[i]) < 0.5;
    printf("%-8s %-9s the same vertex (0.5 mm) as serial: %u of %u\n", s->name, m->name, close,
           s->n);
    measure_all_devices(&c, s, m, &base, want);
    serial_free(serial);
    free(want);
    free(z);
}

static struct sample make(const char *preset, uint32_t n)
{
    const struct sample s = {preset, n, generated_new(preset, 1, 0, n)};

    if (!s.rois)
        exit(1);
    return s;
}

int main(int argc, char **argv)
{
    bool is_quick = false;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &is_quick, 0, 0, NULL, "fewer RoIs and runs"},
        {"only", ARG_TEXT, &only, 0, 0, "BACKEND", "devices of this backend"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int args = args_parse(argc, argv, NULL, table);

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    n_runs = is_quick ? 3 : 5;
    if (algo_host_open(&host, "zfinder") < 0)
        return 1;
    for (uint32_t k = 0; k < 2; k++) {
        struct sample s =
            k ? make("highlum", is_quick ? 64 : 256) : make("lowlum", is_quick ? 1024 : 2048);

        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            measure(&s, &modes[m]);
        generated_free(s.rois, s.n);
    }
    algo_host_close(&host);
    return result_end(&out, 0);
}
