/* SPDX-License-Identifier: Apache-2.0 */
/* metaimage.h - headers of MetaImage files (ITK): .mha with the voxels behind, .mhd with a file of
 * its own for them. */
#ifndef VOXELS_METAIMAGE_H
#define VOXELS_METAIMAGE_H
#include "volume.h"

struct metaimage {
    struct vox_volume shape; /* n, value_bytes, is_signed, is_swapped */
    size_t offset;           /* where the voxels begin, in this file ... */
    char file[256];          /* ... or in this one of the same folder, if not empty */
};

/* Reads a header from the first `n` bytes of a file.  -EINVAL: `why` gets one sentence, for what is
 * not three dimensions of MET_UCHAR, MET_SHORT or MET_USHORT without compression, too. */
int metaimage_parse(const unsigned char *bytes, size_t n, struct metaimage *ret, char *why,
                    size_t why_bytes);
#endif
