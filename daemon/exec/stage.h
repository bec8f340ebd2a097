/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - lays a batch's collection out in one block, the plugin's struct trg_input.
 *
 *     [struct trg_roi_info per RoI] [offsets] [column 0] [column 1] ...    each 64-byte aligned
 */
#ifndef TRIGD_STAGE_H
#define TRIGD_STAGE_H
#include <stddef.h>
#include <stdint.h>

#include "check_fault.h"
#include "encoding.h"
#include "trigd/plugin.h"

/* For a collection in memory that somebody else can write to: its values are checked on the copy.
 */
struct stage_guard {
    uint32_t max_layer;
    bool is_suspect; /* of stage_fill */
    struct check_fault
        fault; /* what stage_fill found, or zero: then the values are all made zero */
};

struct stage_source { /* one RoI's collection; columns may be unaligned */
    uint32_t n;
    const void *column[TRG_COLUMNS_MAX];
    bool is_encoded;                 /* the columns are as encoding.h says */
    const struct trg_encoding *sent; /* what came with it then */
    struct stage_guard *guard;       /* NULL: the values have been checked */
};

/* The most bytes that stage_fill can need. */
size_t stage_bytes(uint32_t kind, uint32_t n_rois, uint32_t n_items);

/* Bytes of a block before its columns. */
size_t stage_head_bytes(uint32_t n_rois);
/* Begins a block with its RoIs.  Returns the bytes used with the offsets, which the caller fills,
 * *ret_span.n_items too. */
size_t stage_head(uint32_t n_rois, const struct trg_roi_info *rois, unsigned char *dst,
                  struct trg_span *ret_span);

/* Gathers the RoIs' collections into `dst` (64-byte aligned, stage_bytes() long), makes floats of
 * those that are encoded, checks those that are guarded, and says where everything lies.  Returns
 * the bytes used, a multiple of 4. */
size_t stage_fill(uint32_t kind, uint32_t n_rois, const struct trg_roi_info *rois,
                  const struct stage_source *sources, unsigned char *dst,
                  struct trg_span *ret_span);
#endif
