/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_launch.h - which kernel fills the histograms, and its launch; for the plugin and for
 * what measures it. */
#ifndef VX_HISTOGRAM_LAUNCH_H
#define VX_HISTOGRAM_LAUNCH_H
#include "histogram.h"
#include "trigd/common/launcher.h"

/* Kernels of the histogram, by enum vx_histogram; [VX_HIST_AUTO] is not used, and those of study/
 * are NULL unless they were asked for. */
struct vx_histogram_kernels {
    struct trg_module *module, *study;
    struct trg_kernel *kernel[VX_HIST_COUNT];
    struct trg_kernel *replicated_few; /* VX_HIST_REPLICATED with less shared memory */
};

/* Loads what an algorithm needs; VX_HIST_COUNT: all.  Negative errno; what was loaded by then is
 * for vx_histogram_close. */
int vx_histogram_open(struct trg_device *device, enum vx_histogram algorithm,
                      struct vx_histogram_kernels *k);
void vx_histogram_close(struct vx_histogram_kernels *k);

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

/* Enqueues the histograms of all RoIs, and the zeroing that the algorithm needs. */
void vx_histogram_launch(struct launcher *l, const struct vx_histogram_job *job);
#endif
