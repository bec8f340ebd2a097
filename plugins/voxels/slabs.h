/* SPDX-License-Identifier: Apache-2.0 */
/* slabs.h - a volume larger than the device, and than the memory where its file is mapped: slabs of
 * whole planes with a halo, a byte (or two) a voxel to the device and a bit back. */
#ifndef VOXELS_SLABS_H
#define VOXELS_SLABS_H
#include "lane.h"
#include "volume.h"

#define VOX_THREADS_MAX 64u

struct vox_slabs {
    struct trg_device *device;
    const struct vox_tables *tables;
    const struct vox_volume *volume;
    uint32_t planes;   /* of a slab, at most */
    uint32_t threads;  /* each reads slabs and has a lane of its own with two slots */
    size_t part_bytes; /* that a thread sends to the device at once, even; 0: 4 MiB */
    int32_t low;       /* 16 bits: the window, see struct vox_setup */
    uint32_t width;
    unsigned char
        *labels; /* [z][y][vox_row_bytes] bits, the caller's, perhaps mapped; NULL: none */
};

struct vox_slabs_sums {
    uint64_t count;
    uint32_t low[3], high[3]; /* count > 0 */
};

/* Bytes of a row of labels. */
static inline size_t vox_row_bytes(const struct vox_volume *v)
{
    return (v->n[0] + 7u) / 8u;
}

struct vox_slabs_lanes; /* all that is allocated, for any number of runs */
/* Opens a lane for each thread.  `job` outlives it.  -EINVAL: no planes or threads, or a slab
 * beyond what a lane takes. */
int vox_slabs_open(const struct vox_slabs *job, struct vox_slabs_lanes **ret_lanes);
void vox_slabs_close(struct vox_slabs_lanes *l); /* NULL is fine */
/* Labels the whole volume. */
int vox_slabs_run(struct vox_slabs_lanes *l, struct vox_slabs_sums *ret_sums);
#endif
