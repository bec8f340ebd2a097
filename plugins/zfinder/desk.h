/* SPDX-License-Identifier: Apache-2.0 */
/* desk.h - the memory with which the CPU counts as the original, one RoI at a time: double_host.h.
 */
#ifndef ZFINDER_DESK_H
#define ZFINDER_DESK_H
#include <stddef.h>
#include <stdint.h>

#include "zfinder.h"

#if defined(__AVX512F__)
#define ZF_WIDTH   8  /* points that are looked at together */
#define ZF_ABREAST 16 /* inner points that are tested against outer ones together */
#elif defined(__AVX2__)
#define ZF_WIDTH   4
#define ZF_ABREAST 8
#else
#define ZF_WIDTH   4
#define ZF_ABREAST 4
#endif
#define ZF_OVER 16u /* places behind arrays that vectors may touch */

#define ZF_RING       8u             /* slices whose histograms are held at a time */
#define ZF_LANES      (2u * ZF_RING) /* of a bin: two charges of each */
#define ZF_RANKS      32u            /* of filled layers */
#define ZF_CLASSES    4u       /* which charges a pair can have: enum zf_class; 4: a power of 2 */
#define ZF_CLASS_STEP 8192u    /* bins, from one class to the next */
#define ZF_MADE       4096u    /* pairs that are counted together */
#define ZF_SIDE       4096u    /* points on one side of a middle one */
#define ZF_TRIPLES    1000000u /* pairs with third points of an RoI, histogram per slice */

typedef uint16_t zf_cell __attribute__((vector_size(2 * ZF_LANES)));

struct zf_inner { /* what a triplet's middle point makes of the points further in */
    float z[ZF_SIDE + ZF_OVER], k[ZF_SIDE + ZF_OVER];
    uint32_t code[ZF_SIDE + ZF_OVER], slice[ZF_SIDE + ZF_OVER];
    uint32_t n, n_not_behind; /* the first are in slices up to that of the middle point */
};

struct zf_outer { /* and of one group of those further out */
    float room[ZF_WIDTH], z[ZF_SIDE + ZF_OVER], k[ZF_SIDE + ZF_OVER];
    uint32_t n;
};

struct zf_desk {
    zf_cell cell[ZF_ENTRIES_ROOM + 1u];      /* of each bin; the last for what is none */
    zf_cell step[ZF_RANKS * ZF_CLASSES];     /* what a pair adds to its bin */
    uint64_t whole[3 * ZF_CLASS_STEP];       /* entries, places << 32, of each class and bin */
    uint32_t targets[ZF_RANKS * ZF_CLASSES]; /* histograms that a pair counts in */
    uint32_t bases[ZF_RANKS * ZF_CLASSES];   /* what they add to the digest's places */
    uint32_t made[ZF_MADE + ZF_OVER];        /* codes of pairs */
    uint32_t count[ZF_ENTRIES_ROOM], place[ZF_ENTRIES_ROOM]; /* of one slice */
    struct zf_inner inner;
    struct zf_outer outer[3];
    uint64_t
        triples[ZF_TRIPLES + ZF_OVER]; /* code, slice of the inner point << 32, entries << 48 */
    uint64_t by_slice[ZF_TRIPLES];
    uint32_t first_triple[ZF_SLICES + 2u];
};

/* Behind the desk: columns of the points in the order of layers, and where slices begin there. */
static inline size_t zf_desk_column(const struct zf_par *par)
{
    return (par->items_room + ZF_OVER) * sizeof(double);
}

static inline size_t zf_desk_bytes(const struct zf_par *par)
{
    return 64u + sizeof(struct zf_desk) + 4u * zf_desk_column(par) +
           (size_t)ZF_LAYERS * (par->slices_room + 1u) * sizeof(uint32_t);
}
#endif
