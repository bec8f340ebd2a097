/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms by all algorithms, over entries and bins: figures 9.1 and 9.2 of the thesis, alone and
 * many in a launch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "histogram.program.h"
#include "kit.h"
#include "parts.h"

static const char *const names[VX_HIST_COUNT] = {
    "auto",     "data_global",    "data_shared", "bin_thread", "bin_block",
    "bin_warp", "bin_warp_block", "hybrid",      "replicated", "hybrid_scan"};

struct sizes {
    uint32_t entries, bins, n_rois;
};

/* Entries, made once: the same for all sizes. */
static float *entries_new(size_t n)
{
    static float some[1u << 18];
    float *z = calloc(n, sizeof *z);
    uint64_t random = 5;

    for (size_t i = 0; some[0] == 0 && i < sizeof some / sizeof *some; i++)
        some[i] = 40 * (float)toy_gauss(&random);
    for (size_t i = 0; z && i < n; i++)
        z[i] = some[i % (sizeof some / sizeof *some)];
    return z;
}

/* ---------------------------------------------------------------- serial */

struct serial {
    const double *z;
    uint32_t n, n_bins, *bins;
};

static int run_serial(void *arg, uint32_t times)
{
    const struct serial *s = arg;
    const double scale = s->n_bins / 200.0;

    while (times--) {
        memset(s->bins, 0, s->n_bins * sizeof *s->bins);
        for (uint32_t i = 0; i < s->n; i++) {
            const double b = (s->z[i] + 100) * scale;

            if (b >= 0 && b < s->n_bins)
                s->bins[(uint32_t)b]++;
        }
    }
    return 0;
}

static int measure_serial(const struct bench *b, struct sizes s, struct timing *ret_timing)
{
    double *z = calloc(s.entries, sizeof *z);
    uint32_t *bins = calloc(s.bins, sizeof *bins);
    float *entries = entries_new(s.entries);
    int r = z && bins && entries ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < s.entries; i++)
        z[i] = (double)entries[i];
    if (r == 0) {
        struct serial work = {.z = z, .n = s.entries, .n_bins = s.bins, .bins = bins};

        r = measure(b, &(struct work){run_serial, &work, true}, ret_timing);
    }
    free(entries);
    free(z);
    free(bins);
    return r;
}

/* ---------------------------------------------------------------- on a device */

struct job {
    struct kit kit;
    struct vx_histogram_kernels kernels;
    struct vx_histogram_job job;
};

static int run_job(void *arg, uint32_t times)
{
    struct job *j = arg;
    struct launcher l = launcher_on(j->kit.queue, &j->kit.info);

    while (l.result == 0 && times--)
        vx_histogram_launch(&l, &j->job);
    return l.result ? l.result : trg_finish(j->kit.queue);
}

static void close_job(struct job *j)
{
    trg_buffer_free(j->job.data);
    trg_buffer_free(j->job.z);
    trg_buffer_free(j->job.weights);
    trg_buffer_free(j->job.grids);
    trg_buffer_free(j->job.bins);
    vx_histogram_close(&j->kernels);
    kit_close(&j->kit);
}

static int open_job(struct trg_device *device, struct sizes s, struct job *j)
{
    const size_t n = (size_t)s.entries * s.n_rois;
    float *z = entries_new(n);
    uint32_t *offsets = calloc(s.n_rois + 1u, sizeof *offsets);
    struct vx_grid *grids = calloc(s.n_rois, sizeof *grids);
    int r = z && offsets && grids ? kit_open(device, &histogram_program, &j->kit) : -ENOMEM;

    j->job = (struct vx_histogram_job){.kernels = &j->kernels,
                                       .device = &j->kit.info,
                                       .n_entries = (uint32_t)n,
                                       .n_bins = s.bins,
                                       .par = {.in = {.n_rois = s.n_rois, .n_items = (uint32_t)n},
                                               .n_rois = s.n_rois,
                                               .bins_room = s.bins}};
    for (uint32_t i = 0; r == 0 && i < s.n_rois; i++) {
        offsets[i + 1] = (i + 1) * s.entries;
        grids[i] = (struct vx_grid){.first = -100,
                                    .inv_width = (float)s.bins / 200,
                                    .width = 200 / (float)s.bins,
                                    .n_bins = s.bins};
    }
    if (r == 0)
        r = vx_histogram_open(device, VX_HIST_COUNT, &j->kernels);
    if (r == 0)
        r = kit_upload(&j->kit, offsets, (s.n_rois + 1u) * sizeof *offsets, &j->job.data);
    if (r == 0)
        r = kit_upload(&j->kit, z, n * sizeof *z, &j->job.z);
    if (r == 0)
        r = kit_upload(&j->kit, NULL, n * sizeof *z, &j->job.weights);
    if (r == 0)
        r = kit_upload(&j->kit, grids, s.n_rois * sizeof *grids, &j->job.grids);
    if (r == 0)
        r = kit_upload(&j->kit, NULL, (size_t)s.n_rois * s.bins * 4, &j->job.bins);
    free(z);
    free(offsets);
    free(grids);
    return r;
}

/* Bin-parallel algorithms look at every entry for every bin: not where that takes minutes. */
static bool is_too_long(enum vx_histogram a, struct sizes s, bool is_slow)
{
    const double work = (double)s.entries * s.bins * s.n_rois;
    const bool every_bin =
        (a >= VX_HIST_BIN_THREAD && a <= VX_HIST_BIN_WARP_BLOCK) || a == VX_HIST_HYBRID_SCAN;

    return every_bin && work > (is_slow ? 3e8 : 3e10);
}

static int all_algorithms(const struct bench *b, struct trg_device *device, struct sizes s,
                          double serial_us)
{
    struct trg_device_info info;
    struct job j = {0};
    struct timing t;
    char what[96], name[64];
    int r = 0;

    trg_device_info(device, &info);
    device_name(device, name, sizeof name);
    for (uint32_t a = VX_HIST_AUTO; r == 0 && a < VX_HIST_COUNT; a++) {
        snprintf(what, sizeof what, "histogram %s, %u entries, %u bins, %u RoIs", names[a],
                 s.entries, s.bins, s.n_rois);
        if (!is_wanted(b, what) ||
            is_too_long((enum vx_histogram)a, s, strcmp(info.backend, "cuda") != 0))
            continue;
        if (!j.kit.queue)
            r = open_job(device, s, &j);
        if (r < 0)
            break;
        j.job.algorithm = (enum vx_histogram)a;
        r = measure(b, &(struct work){run_job, &j, j.kit.info.is_host != 0}, &t);
        if (r == 0)
            report(b, &(struct figure){.what = what,
                                       .device = name,
                                       .unit = "entries/s",
                                       .per_s = (double)s.entries * s.n_rois / t.us * 1e6,
                                       .t = t,
                                       .serial_per_s = s.entries / serial_us * 1e6});
    }
    close_job(&j);
    return r;
}

/* `auto` on all cores of the host, each with a batch of its own. */
static int on_all_cores(const struct bench *b, struct trg_device *device, struct sizes s,
                        double serial_us)
{
    struct job *jobs = calloc(b->cores, sizeof *jobs);
    struct work *work = calloc(b->cores, sizeof *work);
    struct timing t;
    char what[96], name[64];
    int r = jobs && work ? 0 : -ENOMEM;

    device_name(device, name, sizeof name);
    snprintf(what, sizeof what, "histogram auto, %u entries, %u bins, %u RoIs, %u threads",
             s.entries, s.bins, s.n_rois, b->cores);
    if (r == 0 && is_wanted(b, what)) {
        for (uint32_t i = 0; r == 0 && i < b->cores; i++) {
            r = open_job(device, s, &jobs[i]);
            work[i] = (struct work){run_job, &jobs[i], true};
        }
        if (r == 0)
            r = measure_all(b, work, b->cores, &t);
        if (r == 0)
            report(b,
                   &(struct figure){.what = what,
                                    .device = name,
                                    .unit = "entries/s",
                                    .per_s = (double)b->cores * s.entries * s.n_rois / t.us * 1e6,
                                    .t = t,
                                    .serial_per_s = s.entries / serial_us * 1e6});
        for (uint32_t i = 0; i < b->cores; i++)
            close_job(&jobs[i]);
    }
    free(jobs);
    free(work);
    return r;
}

int bench_histogram(const struct bench *b, struct trg_device *device)
{
    static const uint32_t entries[] = {100, 1000, 10000, 100000, 1000000};
    static const uint32_t bins[] = {100, 1000, 8000};
    struct trg_device_info info;
    int r = 0;

    trg_device_info(device, &info);

    for (uint32_t e = 0; e < (b->quick ? 3u : 5u); e++)
        for (uint32_t k = 0; r == 0 && k < 3; k++) {
            struct sizes s = {entries[e], bins[k], 1};
            struct timing serial;

            r = measure_serial(b, s, &serial);
            if (r == 0)
                r = all_algorithms(b, device, s, serial.us);
            s.n_rois = (b->quick ? 100000 : info.is_host ? 1000000 : 4000000) / s.entries;
            s.n_rois = s.n_rois > 2048 ? 2048 : s.n_rois;
            if (r == 0 && s.n_rois > 1)
                r = all_algorithms(b, device, s, serial.us);
            if (r == 0 && info.is_host && b->cores > 1)
                r = on_all_cores(b, device, s, serial.us);
        }
    return r;
}
