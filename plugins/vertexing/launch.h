/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - how the host launches the algorithms that have more than one version; for the plugin
 * and for what measures it. */
#ifndef VX_LAUNCH_H
#define VX_LAUNCH_H
#include "histogram.h"
#include "trigd/device.h"

/* Kernels of the histogram, by enum vx_histogram; [VX_HIST_AUTO] is not used. */
struct vx_histogram_kernels {
    struct trg_kernel *kernel[VX_HIST_COUNT];
    struct trg_kernel *replicated_few; /* VX_HIST_REPLICATED with less shared memory */
};

/* Looks the kernels up; -ENOENT. */
int vx_histogram_kernels(struct trg_module *module, struct vx_histogram_kernels *ret_kernels);

/* What is launched, and on what. */
struct vx_histogram_job {
    const struct vx_histogram_kernels *kernels;
    const struct trg_device_info *device;
    struct trg_buffer *data; /* holds the offsets */
    struct trg_buffer *z, *weights, *grids, *bins;
    struct vx_hist_par par; /* parts is set by the launch */
    enum vx_histogram algorithm;
    uint32_t n_entries; /* of all RoIs, at most */
    uint32_t n_bins;    /* of an RoI, at most */
};

/* The algorithm that `auto` stands for, on this device and for these sizes. */
enum vx_histogram vx_histogram_choose(const struct vx_histogram_job *job);
/* Enqueues the histograms of all RoIs, and the zeroing that the algorithm needs. */
int vx_histogram_launch(struct trg_queue *q, const struct vx_histogram_job *job);
#endif
