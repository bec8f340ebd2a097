/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the buffers of one batch in flight. */
#ifndef VX_MEMORY_H
#define VX_MEMORY_H
#include "trigd/common/lane.h"
#include "vertexing.h"

struct vx_slot {
    struct trg_buffer *tracks;  /* columns, by number */
    struct trg_buffer *sorted;  /* columns, by cell of z */
    struct trg_buffer *entry_z; /* z of the histogram's entries, then its variance */
    struct trg_buffer *entry_weight;
    struct trg_buffer *cells; /* where each cell begins in `sorted` */
    struct trg_buffer *grids, *bins, *counts;
    struct trg_buffer *seeds, *fits; /* of primary vertices; `seeds` holds what is kept */
    struct trg_buffer *pv_of, *selected, *labels;
    struct trg_buffer *matrix;
    struct trg_buffer *svs;
    struct trg_buffer *answer;                    /* rows of VX_OUT_WORDS: what is kept of both */
    struct trg_buffer *n_rows;                    /* of the answer */
    struct trg_buffer *counts_host, *answer_host; /* pinned */
    uint32_t rows_read;                           /* of the answer, of this batch */
};

/* Allocates all buffers for `par` among those of the algo; negative errno. */
int vx_slot_open(struct buffers *buffers, struct trg_device *device, const struct vx_par *par,
                 uint32_t max_rois, struct vx_slot *ret_slot);
#endif
