/* SPDX-License-Identifier: Apache-2.0 */
/* triplet.h - what the kernels and the host side of the search by triplet share.  4-byte members
 * only.
 *
 * Words: a `station` is one layer or two neighbours.  The hits of a station are sorted into
 * `buckets` of their angle about the beam line, about one a hit.  A `road` is a track that is being
 * followed from station to station, towards lower z. */
#ifndef HOUGH_TRIPLET_H
#define HOUGH_TRIPLET_H
#include "hough.h"

/* Whether this build of the kernels is for a core with AVX-512. */
#if defined(__AVX512F__) && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define HT_VECTORS 1
#else
#define HT_VECTORS 0
#endif

#if defined(__CUDACC__)
#define HT_ALIGNED __align__(16)
#else
#define HT_ALIGNED
#endif

/* Where the scratch memory of an RoI is that begins with hit `first` of the batch.  A core works on
 * one RoI after the other, each in launches of its own, in the same memory, which stays in its
 * cache; only HT_HEAD is needed later. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define HT_AT(first) (first)
#else
#define HT_AT(first) (0u * (first))
#endif

#define HT_PASSES      2u
#define HT_STATIONS    128u                        /* most; hits behind them are left out */
#define HT_ITEM_BITS   21u                         /* of the number of a hit in its RoI */
#define HT_ITEM        ((1u << HT_ITEM_BITS) - 1u) /* most hits of an RoI; those behind are left out */
#define HT_NONE        0xffffffffu
#define HT_USED        1e30f             /* mm: x of a hit that a track has */
#define HT_BUCKETS     8u                /* least of a station */
#define HT_WORK_UNIT   16u               /* hits of a bucket that make one unit of work for a hit */
#define HT_WORK_MOST   ((1u << 22) - 1u) /* a thousand sums of so much fit into 32 bits */
#define HT_FOLLOW_FEW  128u              /* work-items of a group that follows roads */
#define HT_FOLLOW_MAX  256u              /* where few RoIs leave the device free */
#define HT_SIZES       256u /* classes of RoIs by their hits, to begin with the largest */
#define HT_LENGTH_BITS 6u   /* of a number of hits, HG_TRACK_HITS at most */
#define HT_LENGTH      ((1u << HT_LENGTH_BITS) - 1u)
#define HT_STRETCH     4u /* words that a work-item scans at a time */
#define HT_SIZE_STEP   64u
#define HT_TABLE       (HT_STATIONS * HT_BUCKETS + 2u) /* words of an RoI's table, and two for a hit */

struct ht_par { /* of all launches of a batch */
    struct hg_par common;
    trg_u32 first; /* place in `order` of the first RoI of this launch */
    trg_u32 pass;
    trg_u32 station_shift; /* layer >> station_shift is the station */
    trg_u32 is_wide;       /* tracks need not point to the beam line, nor have all hits */
    float window_mm;       /* from a first hit to a second, across the line to the beam */
    float narrow_mm; /* the same where they are not on neighbouring stations, or the third is not */
    float crowd_pi;  /* most hits of a window for second ones, on the average; times pi */
    float third_mm, third_rad;
    trg_u32 max_work; /* of an RoI, as ht_work counts it */
};

enum ht_column {       /* of `hits`: items_room words each */
                 HT_X, /* sorted, from the beam line */
                 HT_Y,
                 HT_Z,
                 HT_ID,    /* layer << HT_ITEM_BITS | number in the RoI */
                 HT_CLAIM, /* the best key of the roads that want it */
                 HT_LINK,  /* the hit before on its road; before that: the bucket, by number in the
                              RoI */
                 HT_NOW,  /* roads that are followed; in the end: tracks in the order of their first
                             hits */
                 HT_NEXT, /* the same behind the station; in the end: where their doublets begin */
                 HT_TAKEN,  /* by number in the RoI, or see ht_taken_at: whether a track has it */
                 HT_HEAD,   /* by number in the RoI: of the track that begins with it the number <<
                               HT_LENGTH_BITS | hits; 0: none does */
                 HT_SECOND, /* in CUDA, the best triplet when the wide pass began: its second hit,
                               or HT_NONE */
                 HT_THIRD,
                 HT_SHARE,
                 HT_COLUMNS
};

struct ht_stations { /* of an RoI */
    trg_u32 n, buckets;
    trg_u32 low[HT_STATIONS], high[HT_STATIONS]; /* z of its hits, as ht_order_of_float gives it */
};

/* Hits by their places in the sorted columns.  Sixteen words, in fours that are read together. */
struct HT_ALIGNED ht_road {
    float x, y, z, tx; /* its last hit, and the slopes there */
    float ty;
    float share;      /* of the tolerance that its third hit is off, squared */
    trg_u32 n;        /* hits; 0: it has ended without a track */
    trg_u32 layer;    /* of its last hit */
    trg_u32 first[3]; /* hits */
    trg_u32 item;     /* number of its first hit: no two roads of a pass have the same */
    trg_u32 near[2];  /* hits of the station that it wants, one on each layer; then those that it
                         did not get, if it did not get all */
    trg_u32 key;      /* with which it claims them: the lowest wins */
    trg_u32 last;     /* hit */
};
#endif
