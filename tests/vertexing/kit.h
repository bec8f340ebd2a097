/* SPDX-License-Identifier: Apache-2.0 */
/* kit.h - runs single kernels of the vertexing plugin on a device, for tests and measurements. */
#ifndef VX_KIT_H
#define VX_KIT_H
#include <stddef.h>

#include "histogram_launch.h"
#include "trigd/device.h"
#include "vertexing.h"

struct kit {
    struct trg_device *device;
    struct trg_device_info info;
    struct trg_queue *queue;
    struct trg_module *module;
};

/* Loads a program on a device; negative errno, nothing is left then. */
int kit_open(struct trg_device *device, const struct trg_program *program, struct kit *ret_kit);
void kit_close(struct kit *k);
/* A device buffer with a copy of `data` (NULL: filled with 0xa5, as memory that nobody cleared). */
int kit_upload(struct kit *k, const void *data, size_t bytes, struct trg_buffer **ret_buffer);
/* Waits for the queue and brings a buffer back. */
int kit_download(struct kit *k, struct trg_buffer *b, void *ret_data, size_t bytes);
int kit_launch(struct kit *k, const char *kernel, uint32_t groups, uint32_t size,
               const struct trg_arg *args, uint32_t n_args);

/* Graphs of n_rois RoIs with n tracks each, as the kernels of graph.kernel.c want them: all tracks
 * are selected. */
struct kit_graph {
    uint32_t n_rois, n, words_room;
    struct vx_par par;
    struct trg_buffer *data, *tracks, *selected, *pv_of, *pvs, *grids, *counts, *matrix, *labels,
        *svs;
};
/* `tracks` holds VX_COLUMNS columns of n floats, `pv_of` n numbers of the `n_pv` vertices; the
 * parts of `par` that say sizes and places are set. */
int kit_graph_open(struct kit *k, uint32_t n_rois, uint32_t n, const float *tracks,
                   const uint32_t *pv_of, const struct vx_vertex *pvs, uint32_t n_pv,
                   const struct vx_par *par, struct kit_graph *ret_graph);
void kit_graph_close(struct kit_graph *g);
int kit_adjacency(struct kit *k, struct kit_graph *g);
int kit_cuts(struct kit *k, struct kit_graph *g);
int kit_components(struct kit *k, struct kit_graph *g);
/* Whether tracks i < j are adjacent in the matrix that was brought back. */
int kit_is_edge(const uint32_t *matrix, uint32_t layout, uint32_t n, uint32_t i, uint32_t j);
#endif
