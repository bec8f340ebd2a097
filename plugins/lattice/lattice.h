/* SPDX-License-Identifier: Apache-2.0 */
/* lattice.h - what the kernels and the host side of lattice share.  4-byte members only.
 *
 * D2Q9: nine distributions a cell, numbered 0 rest, 1 E, 2 N, 3 W, 4 S, 5 NE, 6 NW, 7 SW, 8 SE; x
 * grows to the east, y to the north.  What is stored is g_k = f_k - w_k * density, so that a flow
 * that is a small disturbance of the rest keeps all digits of a float.
 *
 * One array holds the grid, g[k * stride + y * nx + x], in one of two states.
 * State 0: place (x, k) holds what left x in direction k at the last step.
 * State 1: place (x, opposite(k)) holds what has arrived at x in direction k.
 * A step reads nine places of a cell and writes the same nine places, so it runs in place and in
 * any order of cells: from state 0 to state 1 on the places (x - c_k, k), from state 1 to state 0
 * on the places (x, opposite(k)).  This is the AA pattern of P. Bailey et al., "Accelerating
 * lattice Boltzmann fluid flow simulations using graphics processors", ICPP 2009.  An obstacle
 * returns what it receives: in this scheme it leaves its nine places alone. */
#ifndef LATTICE_H
#define LATTICE_H
#include "trigd/kernel.h"

#define LT_CELLS_MAX  0x10000000u /* 2^28: nine times that is an index of 32 bits */
#define LT_SPREAD     64u         /* places over which the groups of a step spread their sums */
#define LT_GROUPS_MAX 0x400000u   /* of a step: 2^16 for each place */
#define LT_SLICE_MAX  4096u       /* steps of one submission */
#define LT_TILE_W     32u         /* cells of a tile with its halo, in a row */
#define LT_TILE_H_MAX 32u         /* and rows of it */
#define LT_TILE_CELLS (LT_TILE_W * LT_TILE_H_MAX)
#define LT_BLOCK_MAX  12u /* steps that a tile is taken through in one launch */
#define LT_SPEED_LIMIT                                                         \
    2147483520 /* what a speed of 1/2 or more counts; below the speed of sound \
                */

enum { LATTICE_FREE, LATTICE_SOLID, LATTICE_LID }; /* kinds of cells, a byte each */

struct lt_numbers {         /* of the collision, see cell.h */
    float density;          /* at rest */
    float keep;             /* 1 - omega */
    float rest;             /* 4/9 omega */
    float even;             /* (1 - omega) / 2 */
    float even_1;           /* omega / 9 */
    float even_2;           /* omega / 36 */
    float odd;              /* (1 - omega of the odd part) / 2: BGK has one omega */
    float odd_omega;        /* omega of the odd part */
    float force_x, force_y; /* momentum that every free cell gets in a step */
    float accel_1, accel_2; /* density * accel / 9 and / 36 */
    float shift_1, shift_2; /* density / 9 and / 36: what f has more than g */
    float lid;              /* density * speed of the lid / 6 */
};

struct lt_par {
    struct lt_numbers n;
    trg_u32 nx, ny, stride;
    trg_u32 parts;      /* groups that share a row */
    trg_u32 span;       /* cells of a row for one group */
    trg_u32 accel_row;  /* ny - 2; accelerated after the step where `accelerate` says so */
    trg_u32 accelerate; /* 1: the next step follows in the same submission */
    trg_u32 lid_row;    /* ny: there is none */
    trg_u32 step;       /* place of the (first) step in `sums` */
    trg_u32 steps;      /* of lt_block: even; of lt_total: all of the submission */
    trg_u32 tile_h;     /* of lt_block: rows of a tile with its halo */
    trg_u32 tiles_x;    /* of lt_block: tiles in a row */
    trg_u32 first_tile; /* of lt_block: of this launch */
    trg_u32 state;      /* of lt_accelerate: of the array */
    trg_u32 fast_at;    /* word of `sums` that becomes 1 where a cell reaches the limit of speeds */
};
#endif
