/* SPDX-License-Identifier: Apache-2.0 */
/* volume.h - volumes in files: NIfTI-1 (.nii, .nii.gz), MetaImage (.mha, .mhd with a file of its
 * own) and raw voxels.  Files that are not compressed are mapped, so a volume may be larger than
 * the memory. */
#ifndef VOXELS_VOLUME_H
#define VOXELS_VOLUME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vox_volume {
    uint32_t n[3];        /* voxels along x, y, z; x fastest */
    uint32_t value_bytes; /* 1 or 2 */
    bool is_signed;       /* 2 bytes: int16 */
    bool is_swapped;      /* 2 bytes: high byte first */
    const unsigned char *values;
    void *map; /* file or unpacked file, with its size */
    size_t map_bytes;
    bool is_mapped;
};

/* Opens a file: raw voxels of the size and type of `raw` where that is not NULL, else MetaImage or
 * NIfTI-1 by the ending of its name.  -EINVAL with a sentence, also where the file is too short for
 * what it says. */
int vox_volume_open(const char *path, const struct vox_volume *raw, struct vox_volume *ret_volume,
                    char *why, size_t why_bytes);
void vox_volume_close(struct vox_volume *v);

/* Bytes of a plane. */
size_t vox_plane_bytes(const struct vox_volume *v);
/* Copies `count` voxels of a row from (x, y, z) on, 16-bit values low byte first. */
void vox_volume_row(const struct vox_volume *v, uint32_t x, uint32_t y, uint32_t z, uint32_t count,
                    unsigned char *out);
/* Copies planes z .. z + planes - 1, 16-bit values low byte first. */
void vox_volume_planes(const struct vox_volume *v, uint32_t z, uint32_t planes, unsigned char *out);
/* Copies bytes of the values from `at` on, as above: whole values. */
void vox_volume_bytes(const struct vox_volume *v, size_t at, size_t bytes, unsigned char *out);
#endif
