/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - the algorithms that fill the histograms of z.
 *
 * All have one interface: the same buffers, the same parameters, the same integers as a result.
 * Names and ideas: Heit, Groningen 2017, chapter 9 and appendix A, where a warp is 32 threads; here
 * it is 32 neighbouring work-items of a group, and nothing relies on their going in step. */
#ifndef VX_HISTOGRAM_H
#define VX_HISTOGRAM_H
#include "vertexing.h"

#define VX_WARP        32u
#define VX_HYBRID_BINS 1024u /* bins that one group of hybrid owns */
#define VX_HIST_LOCAL  8192u /* words of shared memory for bins */
#define VX_HIST_FEW    2048u /* of replicated, where bins are fewer */

enum vx_histogram {
    VX_HIST_AUTO,
    VX_HIST_DATA_GLOBAL,
    VX_HIST_DATA_SHARED,
    VX_HIST_BIN_THREAD,
    VX_HIST_BIN_BLOCK,
    VX_HIST_BIN_WARP,
    VX_HIST_BIN_WARP_BLOCK,
    VX_HIST_HYBRID,
    VX_HIST_REPLICATED,
    VX_HIST_HYBRID_SCAN,
    VX_HIST_COUNT
};

struct vx_hist_par {
    struct trg_span in; /* offsets of the RoIs' entries */
    trg_u32 n_rois;
    trg_u32 bins_room; /* places in the histogram of one RoI */
    trg_u32 parts;     /* groups for one RoI */
    trg_u32 weighted;  /* 0: every entry counts 1, the weights are not read */
};
#endif
