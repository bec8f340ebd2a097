/* SPDX-License-Identifier: Apache-2.0 */
/* pull_layout.h - the layout shared by the kernel that reads columns over the bus and the host.
 *
 *     [struct trg_roi_info per RoI] [offsets] [verdicts] [entries] [encodings] [column 0] ...
 *
 * is the block of a batch: staged as stage.h has it, with three tables before the columns.  The
 * host has one in pinned memory, the device another.  The host writes its own up to the encodings,
 * with verdicts of 0; the kernel copies RoIs, offsets, entries and encodings from there, writes the
 * columns to the device's, and the verdicts that are not 0 to the host's.  4-byte members only. */
#ifndef TRIGD_PULL_LAYOUT_H
#define TRIGD_PULL_LAYOUT_H
#include "trigd/kernel.h"

#define PULL_AHEAD 2u          /* pieces of 16 bytes that a work-item reads at once */
#define PULL_PLAIN 0xffffffffu /* instead of a number of an encoding */

struct pull_entry {          /* where the columns of one RoI lie */
    trg_u32 at_low, at_high; /* from the beginning of the window */
    trg_u32 capacity;        /* items between the starts of columns */
    trg_u32 encodings; /* the number of its first encoding; PULL_PLAIN: no column is encoded */
};

struct pull_encoding {
    float offset, step;
};

struct pull_verdict { /* on one RoI */
    trg_u32 column;   /* the first with a value that is not allowed, from 1; 0: there is none */
    trg_u32 at, bits; /* the first such value among those of the column, as 32 bits */
};

struct pull_column {
    trg_u32 type, length; /* enum trg_type; values of an item */
    trg_u32 least, most;  /* bits of two floats, or of two integers */
    trg_u32 encoding;     /* of its kind's encoded columns, which one it is; or PULL_PLAIN */
};

struct pull_par {
    struct trg_span span;                 /* of the block */
    trg_u32 verdicts, entries, encodings; /* in it */
    trg_u32 n_columns;
    trg_u32 n_encodings; /* of each RoI; 0: no RoI has encoded columns */
    struct pull_column column[TRG_COLUMNS_MAX_DEV];
};
#endif
