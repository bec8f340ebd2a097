/* SPDX-License-Identifier: Apache-2.0 */
/* study_par.h - what study.kernel.c and its host side share. */
#ifndef LATTICE_STUDY_PAR_H
#define LATTICE_STUDY_PAR_H
#include "trigd/kernel.h"

#define STUDY_GROUP_MAX 512u

struct study_par {
    trg_u32 nx, ny, cells;
    trg_u32 cell_step, speed_step; /* from one cell, one direction to the next */
    trg_u32 group;
    float omega, accel_1, accel_2;
};
#endif
