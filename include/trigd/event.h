/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/event.h - the data of an RoI as algorithms see it: its identity and its collections.
 *
 * The collections of trigd itself are declared in collections/NAME.yaml, from which
 * trigd/collections.h is made.  Columns are only appended, numbers of kinds never reused.
 */
#ifndef TRG_EVENT_H
#define TRG_EVENT_H
#include <stddef.h>
#include <stdint.h>

#include "trigd/collections.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In column "type" of vertices.  A column that a plugin does not fill is 0. */
enum trg_vertex_type { TRG_PRIMARY = 0, TRG_SECONDARY = 1 };

#define TRG_NO_HIT 0xffffffffu /* in the hit columns of paths */

/* Identity of an RoI and its window of the detector.  Plain 4-byte members, so that the host,
 * CUDA and OpenCL agree on the layout (kernel.h repeats it for the device). */
struct trg_roi_info {
    uint32_t run, l1id, roi_id, bcid, lumi_block;
    uint32_t l1_bits;   /* level-1 trigger items that fired */
    float eta, phi_rad; /* centre of the window */
    float eta_half;     /* half width in eta */
    float phi_half_rad; /* half width in phi; >= pi means the full circle */
    float z_min_mm, z_max_mm;
};

/* The declaration of a kind; NULL for TRG_KIND_NONE and unknown numbers. */
static inline const struct trg_collection *trg_kind_info(enum trg_kind kind)
{
    static const struct trg_collection *const table[TRG_KIND_COUNT] = {
        NULL,          &trg_spacepoints, &trg_hits,  &trg_tracks,
        &trg_doublets, &trg_vertices,    &trg_paths, &trg_voxels,
    };
    if (kind <= TRG_KIND_NONE || kind >= TRG_KIND_COUNT)
        return NULL;
    return table[kind];
}

/* Bytes of one item, all columns together; 0 for an unknown kind. */
static inline size_t trg_item_size(enum trg_kind kind)
{
    const struct trg_collection *info = trg_kind_info(kind);
    size_t bytes = 0;

    for (uint32_t c = 0; info && c < info->n_columns; c++)
        bytes += trg_column_bytes(&info->column[c]);
    return bytes;
}

#ifdef __cplusplus
}
#endif
#endif
