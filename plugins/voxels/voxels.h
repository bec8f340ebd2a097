/* SPDX-License-Identifier: Apache-2.0 */
/* voxels.h - what the kernels and the host share: constants, and plain structs of 4-byte members.
 *
 * Features of a voxel, all of them integers: its position x, y, z in the volume, its value v
 * (0 to 255), the differences of its neighbours dx, dy, dz (-255 to 255; twice the gradient) and
 * s = dx^2 + dy^2 + dz^2 (four times the square of the gradient's magnitude).  The differences have
 * the sign of Amoros (2010), section 3.3: dx = left - right, dy = up - down, dz = behind - in
 * front, where left, up and behind are the neighbours with the smaller coordinate. */
#ifndef VOXELS_H
#define VOXELS_H
#include "trigd/kernel.h"

#define VOX_GROUP_SIZE 256u

/* Tables of a model on the device, in words.  A difference d has the entry d + VOX_D_ZERO. */
#define VOX_V_ENTRIES 256u
#define VOX_D_ENTRIES 512u
#define VOX_D_ZERO    255
#define VOX_TABLE_V   0u
#define VOX_TABLE_DX  VOX_V_ENTRIES
#define VOX_TABLE_DY  (VOX_TABLE_DX + VOX_D_ENTRIES)
#define VOX_TABLE_DZ  (VOX_TABLE_DY + VOX_D_ENTRIES)
#define VOX_S_MAX     195075u /* the largest s */
#define VOX_S_STEPS   128u    /* distinct thresholds of s, at most */

/* The range of s + 1 in parts, eight for each power of two.  A part has one threshold at most, the
 * sum up to it, and the sum above it.  Thresholds that share a part with a smaller one are crowded:
 * they and their steps stand apart. */
#define VOX_S_PARTS       144u
#define VOX_TABLE_S_AT    (VOX_TABLE_DZ + VOX_D_ENTRIES) /* of vox_whole(threshold) */
#define VOX_TABLE_S_SUM   (VOX_TABLE_S_AT + VOX_S_PARTS) /* below, then above */
#define VOX_TABLE_CROWDED (VOX_TABLE_S_SUM + 2u * VOX_S_PARTS)
#define VOX_TABLE_REST \
    (VOX_TABLE_CROWDED + 2u * VOX_S_STEPS) /* what the group does not keep in shared memory */

/* Which features a model uses: what it does not use is not looked up. */
#define VOX_USES_V  1u
#define VOX_USES_DX 2u
#define VOX_USES_DY 4u
#define VOX_USES_DZ 8u
#define VOX_USES_S  16u

/* For the CPU: the step functions of v, dx, dy, dz and s as thresholds and 16-bit steps. */
#define VOX_STEPS_MAX 192u  /* above this, tables are quicker */
#define VOX_S_SHORT   65535 /* thresholds of s that 16 bits hold are smaller */

/* Placed: a brick on the device with a border of one voxel on each side, in rows whose first voxel
 * of the brick lies VOX_MARGIN bytes from the row's begin. */
#define VOX_MARGIN 16u
#define VOX_CHUNK  8u  /* voxels of a row that one work-item labels: one byte of bits */
#define VOX_SLACK  64u /* bytes behind a buffer that may be read, and count nowhere */

/* Sides on which the input holds one more plane of voxels; on the others the edge value is
 * repeated. */
#define VOX_HALO_X_LOW  1u
#define VOX_HALO_X_HIGH 2u
#define VOX_HALO_Y_LOW  4u
#define VOX_HALO_Y_HIGH 8u
#define VOX_HALO_Z_LOW  16u
#define VOX_HALO_Z_HIGH 32u

struct vox_sums { /* of one brick, as kernels write it: maxima, so that it begins with zeros */
    trg_u32 count;
    trg_u32 not_low[3]; /* bits of the smallest position of a label in the volume, inverted */
    trg_u32 high[3];    /* its largest position */
    trg_u32 largest, components; /* voxels of the largest component; components */
};
struct vox_brick {     /* one brick of a batch */
    trg_u32 n[3];      /* voxels along x, y, z, without halo */
    trg_u32 origin[3]; /* its first voxel in the volume */
    trg_u32 halo;      /* sides that have one */
    trg_u32 in;        /* where it begins in the input, bytes */
    trg_u32 placed;    /* where it begins among the placed bricks, in units of VOX_MARGIN bytes */
    trg_u32 labels;    /* where its labels begin, bytes from the begin of the table of bricks */
    trg_u32 runs;      /* where the parents of its runs begin, words */
    trg_u32 bytes;     /* of a voxel in the input: 1 or 2 */
    trg_u32 is_signed; /* 2 bytes: int16 instead of uint16 */
    trg_i32 low;       /* 2 bytes: values from here on ... */
    trg_u32 width;     /* ... are spread over 0 to 255 */

    /* Of bricks that came with RoIs; n is 0 where there is a problem. */
    trg_u32 problem; /* enum vox_problem */
    trg_u32 given;   /* rows of VOX_ROWS, bytes of others */
    trg_u32 size[3], volume[3];

    struct vox_sums sums;
};

enum vox_problem { /* why a brick cannot be labelled */
                   VOX_FINE,
                   VOX_ROWS,    /* there is not one row of bricks */
                   VOX_EDGE,    /* it is larger than max_edge */
                   VOX_OUTSIDE, /* it does not lie within its volume */
                   VOX_VALUES   /* its bytes are not those of the voxels and the halo */
};

struct vox_take_par {
    struct trg_span rows, values; /* bricks and brick_values of a batch */
    trg_u32 max_edge;
    trg_u32 first_labels;         /* where those of the first brick begin, in these units: */
    trg_u32 placed, labels, runs; /* from one brick to the next, in the units of struct vox_brick */
    trg_u32 groups_each;          /* groups for one brick */
};

struct vox_place_par {
    trg_u32 groups_each; /* groups for one brick */
};

struct vox_label_par {
    trg_u32 groups_each; /* groups for one brick */
    trg_u32 tile;        /* columns of chunks that a group works on */
    trg_u32 depth;       /* planes that a group works on */
    trg_u32 as_bytes;    /* labels as bytes instead of bits */
    trg_u32 uses;        /* features of the model */
    trg_u32 s_steps;     /* thresholds of s that are crowded */
    trg_u32 extent[3];   /* entries of the tables of x, y, z; the last one is for all beyond */
    trg_u32 steps;       /* for the CPU; 0: it uses the tables */
};

/* A small brick, whose components one group finds in shared memory; its labels are so many words of
 * 32, and it has that many runs at most. */
#define VOX_BRICK_GROUP 1024u /* work-items, at most */
#define VOX_BRICK_WORDS 8192u
#define VOX_BRICK_RUNS  6144u

struct vox_runs_par {
    trg_u32 groups_each; /* groups for one brick */
    trg_u32 most_runs;   /* of vox_runs_brick: bricks with more are done in global memory */
};

/* s is handled as the bits of the float 2^23 + s + 1, of which the float s + 1 is one subtraction
 * away. */
#define VOX_WHOLE 0x4b000001u
TRG_FN trg_u32 vox_whole(trg_u32 s)
{
    return VOX_WHOLE + s;
}

/* The part in which s lies. */
TRG_FN trg_u32 vox_part_of(trg_u32 whole)
{
    return (trg_as_u32(trg_as_f32(whole) - 8388608.0f) >> 20) - 1016u;
}
#endif
