/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram_launch.h"

#include <stdbool.h>

#include "histogram.program.h"
#include "histograms.program.h"

static const struct {
    const char *name;
    bool is_study; /* in study/histograms.kernel.c */
} kernels[VX_HIST_COUNT] = {
    [VX_HIST_DATA_GLOBAL] = {"vx_hist_data_global", true},
    [VX_HIST_DATA_SHARED] = {"vx_hist_data_shared", false},
    [VX_HIST_BIN_THREAD] = {"vx_hist_bin_thread", true},
    [VX_HIST_BIN_BLOCK] = {"vx_hist_bin_block", true},
    [VX_HIST_BIN_WARP] = {"vx_hist_bin_warp", true},
    [VX_HIST_BIN_WARP_BLOCK] = {"vx_hist_bin_warp_block", true},
    [VX_HIST_HYBRID] = {"vx_hist_hybrid", false},
    [VX_HIST_REPLICATED] = {"vx_hist_replicated", false},
    [VX_HIST_HYBRID_SCAN] = {"vx_hist_hybrid_scan", true},
};

int vx_histogram_open(struct trg_device *device, enum vx_histogram algorithm,
                      struct vx_histogram_kernels *k)
{
    const bool with_study = algorithm == VX_HIST_COUNT || kernels[algorithm].is_study;
    int r = trg_module_new(device, &histogram_program, NULL, &k->module);

    if (r == 0 && with_study)
        r = trg_module_new(device, &histograms_program, NULL, &k->study);
    if (r == 0)
        r = trg_kernel_get(k->module, "vx_hist_replicated_few", &k->replicated_few);
    for (uint32_t i = VX_HIST_AUTO + 1; r == 0 && i < VX_HIST_COUNT; i++)
        if (with_study || !kernels[i].is_study)
            r = trg_kernel_get(kernels[i].is_study ? k->study : k->module, kernels[i].name,
                               &k->kernel[i]);
    return r;
}

void vx_histogram_close(struct vx_histogram_kernels *k)
{
    trg_module_free(k->module);
    trg_module_free(k->study);
    *k = (struct vx_histogram_kernels){0};
}

/* Entries of one RoI, about. */
static uint32_t entries_of(const struct vx_histogram_job *job)
{
    return job->par.n_rois ? job->n_entries / job->par.n_rois : 0;
}

/* The algorithm that `auto` stands for, on this device and for these sizes. */
static enum vx_histogram choose(const struct vx_histogram_job *job)
{
    if (job->algorithm != VX_HIST_AUTO)
        return job->algorithm;
    /* on one core nothing has to be kept apart; where bins are many and entries few, branches cost
     * more than bins */
    if (job->device->is_host)
        return 4 * entries_of(job) > job->n_bins ? VX_HIST_DATA_SHARED : VX_HIST_REPLICATED;
    /* few entries do not pay for copies: measured on an H200, docs/vertexing.md */
    if (entries_of(job) < 2048 && (job->n_bins <= VX_HYBRID_BINS || job->par.n_rois == 1))
        return VX_HIST_HYBRID;
    return VX_HIST_REPLICATED;
}

/* Groups for one RoI. */
static uint32_t parts_for(const struct vx_histogram_job *job, enum vx_histogram a, uint32_t group)
{
    uint32_t most, parts = 4 * job->device->units / (job->par.n_rois ? job->par.n_rois : 1);
    /* entries that pay for bringing a group's bins together: one round of loads where bins are few
     */
    uint32_t per_part = job->n_bins < 8 * group ? 2 * job->n_bins : 16 * group;

    per_part = per_part < 4 * group ? 4 * group : per_part;
    if (job->device->is_host)
        return 1;
    switch (a) {
    case VX_HIST_BIN_THREAD:
        most = (job->n_bins + group - 1) / group;
        break;
    case VX_HIST_BIN_BLOCK:
    case VX_HIST_BIN_WARP_BLOCK:
    case VX_HIST_HYBRID_SCAN:
        most = job->n_bins;
        break;
    case VX_HIST_BIN_WARP:
        most = (job->n_bins * VX_WARP + group - 1) / group;
        break;
    case VX_HIST_HYBRID:
        most = (job->n_bins + VX_HYBRID_BINS - 1) / VX_HYBRID_BINS;
        break;
    case VX_HIST_DATA_GLOBAL:
        per_part = group;
        /* fall through */
    default:
        most = (entries_of(job) + per_part - 1) / per_part;
        break;
    }
    parts = parts < most ? parts : most;
    return parts ? parts : 1;
}

static struct trg_kernel *kernel_of(const struct vx_histogram_job *job, enum vx_histogram a)
{
    if (a == VX_HIST_REPLICATED && job->n_bins < VX_HIST_FEW && !job->device->is_host)
        return job->kernels->replicated_few;
    return job->kernels->kernel[a];
}

void vx_histogram_launch(struct launcher *l, const struct vx_histogram_job *job)
{
    const enum vx_histogram a = choose(job);
    const uint32_t group =
        job->device->group_max < VX_GROUP_MAX ? job->device->group_max : VX_GROUP_MAX;
    struct vx_hist_par par = job->par;

    par.parts = parts_for(job, a, group);
    if (a == VX_HIST_DATA_GLOBAL ||
        (par.parts > 1 && (a == VX_HIST_DATA_SHARED || a == VX_HIST_REPLICATED)))
        launcher_clear(l, job->bins, (size_t)par.n_rois * par.bins_room * sizeof(uint32_t));
    LAUNCH(l, kernel_of(job, a), par.n_rois * par.parts, group, par, job->data, job->z,
           job->weights, job->grids, job->bins);
}
