/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the 6-connected components of a volume whose labels come plane by plane: memory for
 * two planes, however many there are.  For volumes that were labelled in bricks or out of core. */
#ifndef VOXELS_STREAM_H
#define VOXELS_STREAM_H
#include <stdint.h>

struct vox_stream;
struct vox_stream_sums {
    uint64_t count, components, largest; /* voxels; components; voxels of the largest one */
};

/* For planes of nx x ny voxels.  -ENOMEM. */
int vox_stream_open(uint32_t nx, uint32_t ny, struct vox_stream **ret_stream);
void vox_stream_close(struct vox_stream *s); /* NULL is fine */
/* The next plane: rows of bits of `row_bytes` bytes, bit k of byte b is voxel 8 b + k, 0 behind the
 * end.  -ENOMEM. */
int vox_stream_plane(struct vox_stream *s, const unsigned char *bits, uint32_t row_bytes);
/* What all planes so far hold. */
void vox_stream_sums(const struct vox_stream *s, struct vox_stream_sums *ret_sums);
#endif
