/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - batches of bricks through a device.  Bricks come from the host (slabs of a volume), or
 * with the RoIs of a batch that lies on the device: then the lane is fed.
 *
 * Threads: a lane belongs to one thread at a time.  Errors: 0 or a negative errno. */
#ifndef VOXELS_LANE_H
#define VOXELS_LANE_H
#include <stdbool.h>

#include "tables.h"
#include "trigd/plugin.h"

enum vox_labels { VOX_LABELS_NONE, VOX_LABELS_BITS, VOX_LABELS_BYTES };

struct vox_setup { /* what it points to is copied, but for the device */
    struct trg_device *device;
    const struct vox_tables
        *tables;            /* NULL: vox_lane_tables gives each slot its own; is fed then */
    uint32_t slots;         /* batches in flight */
    uint32_t max_bricks;    /* of a batch */
    uint32_t max_n[3];      /* voxels of a brick along x, y, z, without halo */
    enum vox_labels labels; /* what comes back beside counts and boxes */
    bool components;        /* those of each brick as well; not with VOX_LABELS_BYTES */
    uint32_t value_bytes;   /* of a voxel in the input: 1, or 2 for 16 bits through a window */
    uint32_t is_signed;     /* 2 bytes: int16 instead of uint16 */
    int32_t low;            /* 2 bytes: [low, low + width) becomes 0 .. 255 */
    uint32_t width;
    bool is_filled_by_parts; /* the caller writes the input to the device: see vox_lane_buffer */
};

struct vox_piece {                  /* a brick on its way in */
    uint32_t n[3], origin[3], halo; /* as in struct vox_brick */
};

struct vox_answer { /* of a brick */
    const struct vox_brick *brick;
    uint32_t count;           /* labelled voxels */
    uint32_t low[3], high[3]; /* their bounding box in the volume, both ends included; count > 0 */
    uint32_t components, largest; /* 6-connected ones, voxels of the largest; 0 if not asked for */
    /* [z][y][row_bytes], valid until the slot's next submit; NULL with VOX_LABELS_NONE.  Bit k of
     * byte b of a row is voxel 8 b + k; bytes are 0 or 1.  What is behind the row's end is 0. */
    const unsigned char *labels;
    uint32_t row_bytes;
};

struct vox_lane;
/* Allocates all for bricks of up to max_n.  -EINVAL: a zero, bricks beyond 4 GiB, components of
 * bytes. */
int vox_lane_open(const struct vox_setup *setup, struct vox_lane **ret_lane);
void vox_lane_close(struct vox_lane *l); /* NULL is fine; nothing is in flight */

/* Bytes of a piece in the input, with its halo: x fastest, then y, then z, nothing between. */
size_t vox_piece_bytes(const struct vox_piece *p, uint32_t value_bytes);
/* Where the input of a slot is written, pieces one behind the other; pinned.  `ret_bytes`: room.
 * NULL where the caller writes parts of it to the device itself, before the submit and in the same
 * queue; on the host there is always a place. */
unsigned char *vox_lane_input(struct vox_lane *l, uint32_t slot, size_t *ret_bytes);
/* The same on the device. */
struct trg_buffer *vox_lane_buffer(struct vox_lane *l, uint32_t slot);
/* Enqueues copies and kernels for n pieces whose voxels are in the slot's input.  -E2BIG: a piece,
 * or their number, is beyond what the lane was opened for. */
int vox_lane_submit(struct vox_lane *l, uint32_t slot, const struct vox_piece *pieces, uint32_t n,
                    struct trg_queue *q);
/* A fed lane: the step functions of the batches that follow in this slot. */
int vox_lane_tables(struct vox_lane *l, uint32_t slot, const struct vox_tables *tables,
                    struct trg_queue *q);
/* A fed lane: the bricks of a batch of RoIs, which the kernels check (struct vox_brick has what
 * they find).  `with_labels`: bits come back as well. */
int vox_lane_feed(struct vox_lane *l, uint32_t slot, const struct trg_input *rows,
                  const struct trg_input *values, bool with_labels, struct trg_queue *q);
/* The kernels of the slot's last batch again, without copies: for measurements of resident data. */
int vox_lane_again(struct vox_lane *l, uint32_t slot, struct trg_queue *q);
/* Piece i of the slot's batch, once the queue has passed it. */
void vox_lane_answer(struct vox_lane *l, uint32_t slot, uint32_t i, struct vox_answer *ret_answer);
#endif
