/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - finds the RoIs of a message where they lie, without unpacking it.
 *
 * Only the usual way to write a RoiBatch is understood: known fields, none twice, numbers packed,
 * no QuantizedSpacepoints of older clients.
 * What is written in any other way that protobuf allows, or is wrong, is left to protobuf-c; what
 * is understood here means the same there.
 */
#ifndef TRIGD_SCAN_H
#define TRIGD_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"

#define SCAN_KINDS    3u /* kinds with messages of their own: spacepoints, hits, tracks */
#define SCAN_DECLARED 4u /* collections in Columns of one RoI */

struct scan_column { /* as it stands in a message, unaligned */
    size_t n;
    const void *data;
};

struct scan_roi {
    uint64_t token;
    struct trg_roi_info info;
    uint32_t type, event_rois;
    uint32_t deadline_us; /* its own or that of the batch; 0: none */
    bool is_repeat;
    uint32_t kinds; /* 1 << kind for each collection that is there */
    struct scan_column column[SCAN_KINDS][TRG_COLUMNS_MAX]; /* by kind - 1; those there */
    uint32_t n_declared;
    struct scan_declared {
        uint64_t hash;
        uint32_t n_columns;
        bool is_encoded;
        struct scan_column offset, step;            /* floats, when it is encoded */
        struct scan_column column[TRG_COLUMNS_MAX]; /* n: bytes */
    } declared[SCAN_DECLARED];
};

/* The tighter one of two deadlines; 0: there is none. */
static inline uint32_t deadline_tighter(uint32_t a_us, uint32_t b_us)
{
    return a_us && (!b_us || a_us < b_us) ? a_us : b_us;
}

/* The RoIs of a ToDaemon message with a batch of 1 to `room` RoIs: how many; 0 when it is anything
 * else or not written in the usual way. */
uint32_t scan_batch(const void *bytes, size_t n, struct scan_roi *rois, uint32_t room);

struct scan_head { /* what an RoI is called; nothing of it is checked */
    uint64_t token;
    uint32_t run, l1id, roi_id;
};
/* Those of the RoIs of such a message, whose data are not looked at: how many; 0 as above. */
uint32_t scan_heads(const void *bytes, size_t n, struct scan_head *heads, uint32_t room);
#endif
