/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_steps - the steps of the thesis (Jones 2010, chapters 5 and 6) on this machine's devices,
 * beside what the thesis found: filling histograms by locks, by write-and-check and by atomics,
 * labelling pairs, and adding up the histograms of all slices.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_steps [--device BACKEND] [--json FILE]
 *
 * us for one RoI of ROIS in a launch; of the sums one RoI after the other, and GB/s as the thesis
 * counts them: bytes read and written over the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "devices.h"
#include "result.h"
#include "steps.program.h"
#include "steps_slices.h"

#define RUNS      7u
#define GROUP     128u
#define GROUP_SUM 256u /* as in the thesis, for one group */
#define GROUP_BIN 192u /* its best for the grid */

static const struct {
    const char *kernel, *what, *thesis;
} fills[] = {
    {"zs_serial", "one work-item a slice", "its first port"},
    {"zs_mutex_global", "lock a bin (compare-and-swap), global memory", "cannot end on a Tesla"},
    {"zs_write_lock_global", "lock a bin (write and check), global",
     "3 x low, 8 x high luminosity"},
    {"zs_write_sum_global", "write and check the sum, global", "a little slower than the lock"},
    {"zs_atomic_global", "atomic integers, global", "no atomics for floats then"},
    {"zs_mutex", "lock (compare-and-swap), shared memory", ""},
    {"zs_write_lock", "lock (write and check), shared", ""},
    {"zs_write_sum", "write and check the sum, shared", "much faster than global at high"},
    {"zs_atomic", "atomic integers, shared", "on Fermi"},
    {"zs_layer_divide", "pairs of a layer labelled, division", "faster, most at high luminosity"},
    {"zs_layer_step", "pairs of a layer labelled, steps", "slightly faster again"},
    {"zs_slice_pairs", "pairs of the slice labelled", "faster in all cases, most at high"},
};
#define N_FILLS (sizeof fills / sizeof *fills)

enum { SUM_HOST, SUM_GLOBAL, SUM_SHARED, SUM_STAGES, SUM_GRID, N_SUMS };
static const struct {
    const char *kernel, *what, *thesis;
} sums[N_SUMS] = {
    [SUM_HOST] = {NULL, "copied out and added on the host", "25 x the last row"},
    [SUM_GLOBAL] = {"zs_sum_global", "one group, global memory", "4 GB/s (Fermi)"},
    [SUM_SHARED] = {"zs_sum_shared", "one group, shared memory", "fewer GB/s, faster"},
    [SUM_STAGES] = {"zs_sum_shared", "two stages", "20 GB/s, 10 x"},
    [SUM_GRID] = {"zs_sum_grid", "two stages, grid, registers", "35 to 50 GB/s"},
};

static struct results out = {
    .bench = "zfinder-steps", .command = "zfinder_steps", .has_table = true};

static struct {
    const struct device *device;
    struct trg_queue *q;
    struct trg_module *module;
    struct slices *s;
    struct trg_buffer *table, *rho, *z, *n, *sum, *lock, *host;
} lab;

static void die(const char *what)
{
    fprintf(stderr, "zfinder_steps: %s\n", what);
    exit(1);
}

static void check(int r, const char *what)
{
    if (r < 0)
        die(what);
}

static void write_row(const char *what, const char *unit, bool higher, const struct result *r)
{
    char name[80];

    snprintf(name, sizeof name, "%s %.40s", lab.device->info.backend, lab.device->info.name);
    result_report(&out,
                  &(struct result_figure){.unit = unit, .higher_is_better = higher, .device = name},
                  r, "steps of the thesis, %s: %s", lab.s->preset, what);
}

static void launch(const char *kernel, uint32_t groups, uint32_t group, const struct zs_par *par,
                   bool is_sum)
{
    struct trg_kernel *k;
    struct trg_arg args[] = {TRG_BUF(lab.table), TRG_BUF(lab.rho),  TRG_BUF(lab.z), TRG_BUF(lab.n),
                             TRG_BUF(lab.sum),   TRG_BUF(lab.lock), TRG_VAL(*par)};
    struct trg_arg of_sum[] = {TRG_BUF(lab.n), TRG_BUF(lab.sum), TRG_VAL(*par)};
    const uint32_t most = lab.device->info.group_max;

    check(trg_kernel_get(lab.module, kernel, &k), "no such kernel");
    check(trg_launch(lab.q, k, (struct trg_range){groups, group < most ? group : most},
                     is_sum ? of_sum : args, is_sum ? 3 : 7),
          "a launch failed");
}

static double now_us(void)
{
    return (double)clock_ns() * 1e-3;
}

/* ---------------------------------------------------------------- histograms of slices */

static void zero(void)
{
    const size_t bytes = (size_t)lab.s->par.slices * lab.s->par.bins * 4;

    check(trg_fill(lab.q, lab.n, 0, bytes, 0), "cannot fill");
    check(trg_fill(lab.q, lab.sum, 0, bytes, 0), "cannot fill");
    check(trg_fill(lab.q, lab.lock, 0, bytes, 0), "cannot fill");
    check(trg_finish(lab.q), "cannot fill");
}

/* Entries of all histograms, and the sum of their sums, which are integers in the place of the
 * locks or floats. */
static void totals(bool are_integers, double *ret_n, double *ret_sum)
{
    const size_t each = (size_t)lab.s->histograms * lab.s->par.bins; /* of the largest RoI */
    const uint32_t *n = trg_buffer_host(lab.host);
    const float *sum = trg_buffer_host(lab.host);

    *ret_n = *ret_sum = 0;
    for (size_t at = 0; at < (size_t)lab.s->par.slices * lab.s->par.bins; at += each) {
        const size_t rest = (size_t)lab.s->par.slices * lab.s->par.bins - at;
        const size_t here = rest < each ? rest : each;

        check(trg_read(lab.q, lab.host, 0, lab.n, at * 4, here * 4), "cannot read");
        check(trg_finish(lab.q), "cannot read");
        for (size_t i = 0; i < here; i++)
            *ret_n += n[i];
        check(trg_read(lab.q, lab.host, 0, are_integers ? lab.lock : lab.sum, at * 4, here * 4),
              "cannot read");
        check(trg_finish(lab.q), "cannot read");
        for (size_t i = 0; i < here; i++)
            *ret_sum += are_integers ? n[i] / (double)ZS_PLACES : (double)sum[i];
    }
}

static void fill_steps(void)
{
    double first = 0, n, sum;

    printf("%s: %u slices, %.0f points and %.0f pairs an RoI\n", lab.s->preset,
           lab.s->par.slices / ZS_ROIS, lab.s->points, lab.s->pairs);
    printf("  %-46s %10s %8s %12s  %s\n", "filling a histogram a slice", "us an RoI", "times",
           "of z lost", "the thesis");
    for (size_t k = 0; k < N_FILLS; k++) {
        struct result r = {0};
        double lost;

        for (uint32_t i = 0; i <= RUNS; i++) {
            double start;

            zero();
            start = now_us();
            launch(fills[k].kernel, lab.s->par.slices, GROUP, &lab.s->par, false);
            check(trg_finish(lab.q), "a kernel failed");
            if (i > 0)
                result_add(&r, (now_us() - start) / ZS_ROIS);
        }
        totals(!strcmp(fills[k].kernel, "zs_atomic_global"), &n, &sum);
        if (n != lab.s->entries)
            die("a histogram does not hold all pairs");
        lost = 1 - sum / lab.s->sum;
        first = k ? first : result_median(&r);
        printf("  %-46s %10.1f %8.1f %11.4f%%  %s\n", fills[k].what, result_median(&r),
               first / result_median(&r), 100 * fmax(lost, 0), fills[k].thesis);
        write_row(fills[k].what, "us", false, &r);
    }
}

/* ---------------------------------------------------------------- their sum */

/* One RoI's histograms; returns the bytes that were read and written. */
static double add_up(uint32_t how, uint32_t first, uint32_t of)
{
    struct zs_par par = lab.s->par;
    const double one = 8.0 * par.bins;
    const uint32_t stages = (uint32_t)sqrt(of), wide = (par.bins + GROUP_BIN - 1) / GROUP_BIN;

    par.first = first;
    par.of = of;
    par.groups_x = stages;
    switch (how) {
    case SUM_GLOBAL:
        launch(sums[how].kernel, 1, GROUP_SUM, &par, true);
        return 3 * one * (of - 1);
    case SUM_SHARED:
        launch(sums[how].kernel, 1, GROUP_SUM, &par, true);
        return one * (of + 1);
    case SUM_STAGES:
        launch(sums[how].kernel, stages, GROUP_SUM, &par, true);
        par.of = stages;
        launch(sums[how].kernel, 1, GROUP_SUM, &par, true);
        return one * (of + 2 * stages + 1);
    default:
        launch(sums[how].kernel, stages * wide, GROUP_BIN, &par, true);
        par.of = stages;
        par.groups_x = 1;
        launch(sums[how].kernel, wide, GROUP_BIN, &par, true);
        return one * (of + 2 * stages + 1);
    }
}

static double add_on_the_host(uint32_t first, uint32_t of)
{
    const uint32_t bins = lab.s->par.bins;
    const size_t words = (size_t)of * bins;
    uint32_t *n = trg_buffer_host(lab.host);
    float *sum = (float *)(void *)(n + words);

    check(trg_read(lab.q, lab.host, 0, lab.n, (size_t)first * bins * 4, words * 4), "cannot read");
    check(trg_read(lab.q, lab.host, words * 4, lab.sum, (size_t)first * bins * 4, words * 4),
          "cannot read");
    check(trg_finish(lab.q), "cannot read");
    for (size_t k = bins; k < words; k += bins)
        for (uint32_t i = 0; i < bins; i++) {
            n[i] += n[k + i];
            sum[i] += sum[k + i];
        }
    return 8.0 * (double)words;
}

/* Entries of the first RoI's sum. */
static double entries_of_first(void)
{
    const uint32_t *n = trg_buffer_host(lab.host);
    double sum = 0;

    check(trg_read(lab.q, lab.host, 0, lab.n, 0, 4 * (size_t)lab.s->par.bins), "cannot read");
    check(trg_finish(lab.q), "cannot read");
    for (uint32_t i = 0; i < lab.s->par.bins; i++)
        sum += n[i];
    return sum;
}

static void sum_steps(void)
{
    double first = 0;

    printf("  %-46s %10s %8s %12s  %s\n", "adding up the histograms of an RoI", "us an RoI",
           "times", "GB/s", "the thesis");
    for (uint32_t how = 0; how < N_SUMS; how++) {
        struct result us = {0}, gbs = {0};

        for (uint32_t i = 0; i <= RUNS; i++) {
            double start, took, bytes = 0;

            zero();
            launch("zs_atomic", lab.s->par.slices, GROUP, &lab.s->par, false);
            check(trg_finish(lab.q), "a kernel failed");
            start = now_us();
            for (uint32_t r = 0; r < ZS_ROIS; r++)
                bytes += how == SUM_HOST ? add_on_the_host(lab.s->first[r], lab.s->of[r])
                                         : add_up(how, lab.s->first[r], lab.s->of[r]);
            check(trg_finish(lab.q), "a kernel failed");
            took = now_us() - start;
            if (i > 0) {
                result_add(&us, took / ZS_ROIS);
                result_add(&gbs, 1e-3 * bytes / took);
            }
        }
        if (how != SUM_HOST && entries_of_first() != lab.s->entries_first)
            die("a sum is wrong");
        first = how ? first : result_median(&us);
        printf("  %-46s %10.1f %8.1f %12.1f  %s\n", sums[how].what, result_median(&us),
               first / result_median(&us), result_median(&gbs), sums[how].thesis);
        write_row(sums[how].what, "us", false, &us);
        write_row(sums[how].what, "GB/s", true, &gbs);
    }
}

/* ---------------------------------------------------------------- */

static void put(struct trg_buffer **buffer, const void *data, size_t bytes)
{
    struct trg_buffer *pinned;

    check(trg_buffer_new(lab.device->d, TRG_MEM_DEVICE, bytes, buffer), "no memory");
    check(trg_buffer_new(lab.device->d, TRG_MEM_PINNED, bytes, &pinned), "no memory");
    memcpy(trg_buffer_host(pinned), data, bytes);
    check(trg_write(lab.q, *buffer, 0, pinned, 0, bytes), "cannot copy");
    check(trg_finish(lab.q), "cannot copy");
    trg_buffer_free(pinned);
}

static void on_device(const struct device *device, struct slices *s)
{
    const size_t words = (size_t)s->par.slices * s->par.bins;
    struct trg_buffer **const all[] = {&lab.table, &lab.rho,  &lab.z,   &lab.n,
                                       &lab.sum,   &lab.lock, &lab.host};

    lab.device = device;
    lab.s = s;
    check(trg_queue_new(device->d, &lab.q), "no queue");
    check(trg_module_new(device->d, &steps_program, NULL, &lab.module), "no kernels");
    put(&lab.table, s->slice, s->par.slices * sizeof *s->slice);
    put(&lab.rho, s->rho, s->n_points * sizeof *s->rho);
    put(&lab.z, s->z, s->n_points * sizeof *s->z);
    check(trg_buffer_new(device->d, TRG_MEM_DEVICE, words * 4, &lab.n), "no memory");
    check(trg_buffer_new(device->d, TRG_MEM_DEVICE, words * 4, &lab.sum), "no memory");
    check(trg_buffer_new(device->d, TRG_MEM_DEVICE, words * 4, &lab.lock), "no memory");
    check(trg_buffer_new(device->d, TRG_MEM_PINNED, (size_t)s->histograms * s->par.bins * 8,
                         &lab.host),
          "no memory");
    fill_steps();
    sum_steps();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        trg_buffer_free(*all[i]);
    trg_module_free(lab.module);
    trg_queue_free(lab.q);
}

int main(int argc, char **argv)
{
    static const char *const presets[] = {"lowlum", "highlum"};
    const char *only = NULL;
    const struct arg table[] = {
        {"device", ARG_TEXT, &only, 0, 0, "BACKEND", "only devices of this backend"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (!devices_open(only))
        die("there is no device; TRIGD_BUILD must name the build folder");
    for (uint32_t p = 0; p < 2; p++) {
        struct slices s;

        check(slices_make(presets[p], &s), "cannot make RoIs");
        for (uint32_t i = 0; i < devices_count(); i++)
            on_device(devices_get(i), &s);
        slices_free(&s);
    }
    devices_close();
    return result_end(&out, 0);
}
