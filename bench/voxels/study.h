/* SPDX-License-Identifier: Apache-2.0 */
/* study.h - what the kernels of the thesis's techniques and their host share. */
#ifndef BENCH_VOXELS_STUDY_H
#define BENCH_VOXELS_STUDY_H
#include "trigd/kernel.h"

#define STUDY_TILE    1600u /* floats of a tile with its border, at most */
#define STUDY_ITEMS   256u  /* work-items of a group, at most */
#define STUDY_COLUMNS 240u  /* 8 features x 30 stumps */

enum study_load { STUDY_BYTE, STUDY_FLOAT };
enum study_read { STUDY_TILED, STUDY_CACHED };
enum study_write { STUDY_DIRECT, STUDY_STAGED, STUDY_PLANES };

struct study_par {
    trg_u32 n[3];
    trg_u32 wide, high; /* shape of a group */
    trg_u32 padding;    /* floats between two rows of the tile */
    trg_u32 load, read, write;
    trg_u32 depth; /* planes that a group marches through */
};
#endif
