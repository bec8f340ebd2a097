/* SPDX-License-Identifier: Apache-2.0 */
/* pull_layout.h - what the kernel that reads columns over the bus and its host side share.
 *
 *     [struct trg_roi_info per RoI] [offsets] [entries] [verdicts] [column 0] [column 1] ...
 *
 * is the block of a batch: staged as stage.h has it, with two tables before the columns.  The host
 * writes it up to the entries, the device the rest.  4-byte members only. */
#ifndef TRIGD_PULL_LAYOUT_H
#define TRIGD_PULL_LAYOUT_H
#include "trigd/kernel.h"

#define PULL_AHEAD   2u /* pieces of 16 bytes that a work-item reads at once */
#define PULL_ENCODED 3u /* columns of a quantized collection that are 16-bit numbers: the first */

struct pull_entry {          /* where the columns of one RoI lie */
    trg_u32 at_low, at_high; /* from the beginning of the window */
    trg_u32 capacity;        /* items between the starts of columns */
    trg_u32 is_quantized;    /* by the numbers below */
    float offset[PULL_ENCODED], step[PULL_ENCODED];
};

struct pull_verdict { /* on one RoI */
    trg_u32 column;   /* the first with a value that is not allowed, from 1; 0: there is none */
    trg_u32 at, bits; /* the first such value among those of the column, as 32 bits */
};

struct pull_column {
    trg_u32 type, length; /* enum trg_type; values of an item */
    trg_u32 least, most;  /* bits of two floats, or of two integers */
};

struct pull_par {
    struct trg_span span;      /* of the block */
    trg_u32 entries, verdicts; /* in it */
    trg_u32 n_columns;
    struct pull_column column[TRG_COLUMNS_MAX_DEV];
};
#endif
