/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder.h - what the kernels and the host side of the z-finder share.  4-byte members only. */
#ifndef ZFINDER_H
#define ZFINDER_H
#include "trigd/kernel.h"

#define ZF_LAYERS 32u   /* layer numbers are below this */
#define ZF_SLICES 4096u /* most phi slices of an RoI */
#if defined(ZF_DOUBLE)  /* most histogram bins, both charges together */
#define ZF_ENTRIES 5120u
#else
#define ZF_ENTRIES 4096u
#endif
#define ZF_ENTRIES_ROOM 5120u /* the larger of the two */
#define ZF_DIGEST_STEP  4096u /* between histograms, in the digest */
#define ZF_NEAR_BINS    2048u /* most bins of one charge in zf_near_pairs and zf_near_triplets */
#define ZF_LISTS        768u  /* points around one that the CPU lists for triplets */
#define ZF_FEW          16u   /* up to here a work-item does without lists */
#define ZF_QUANTA       4096u /* steps in which the place within a bin is counted */
#define ZF_PLACES_MOST  (1u << 20)  /* entries whose places can be added up in 32 bits */
#define ZF_GAP          4u          /* places between the sorted points of two RoIs */
#define ZF_NOWHERE      0x40000000u /* the tag of the points there */
#define ZF_WORK_UNIT    64u         /* points near by that make one unit of work for a point */
#define ZF_WORK_MOST    ((1u << 22) - 1u) /* a thousand sums of so much fit into 32 bits */
#define ZF_SLACK        16u /* places behind the sorted points that may be read, and count nowhere */
#define ZF_GROUP_MAX    256u  /* largest work-group of all kernels but zf_sort */
#define ZF_SORT_GROUP   1024u /* and of that one, with CUDA */

struct zf_roi {      /* one RoI, as the host prepares it */
    float phi_min;   /* rad: where slice 0 begins */
    float phi_width; /* rad: points with phi - phi_min outside [0, width) are not used */
    float inv_slice; /* 1/rad */
    float inv_bin;   /* 1/mm */
    trg_u32 n_slices;
    trg_u32 n_bins;       /* of one charge */
    trg_i32 fewer_slices; /* taken off the neighbours of end-cap pairs, for the RoI's eta */
    /* counting as the original does */
    float phi_min_rest, inv_slice_rest, inv_bin_rest; /* what those above lack of a double */
    trg_u32 from_points; /* 1: the points tell the range in phi; zf_sort fills it in */
    float origin;        /* z = 0 in bins */
    float z_low, z_high; /* mm: vertices are sought between them */
};

struct zf_peak {   /* three bins around `bin` of one histogram */
    trg_u32 total; /* entries; 0: there is no peak */
    trg_u32 charge, slice, bin;
    trg_u32 count[3]; /* of bin - 1, bin, bin + 1 */
    trg_u32 places;   /* sum of the places within the bins, in quanta */
};

#define ZF_MORE 1u             /* there were more peaks than places */
#define ZF_WILD 2u             /* coordinates of absurd size, see zf_is_wild */
#define ZF_FULL 4u             /* over max_work: nothing was sought */
struct zf_summary {            /* one RoI, all histograms together */
    trg_u32 layers;            /* bit l: layer l has points */
    trg_u32 n_used;            /* points inside the RoI, on layers that are used */
    trg_u32 n_entries;         /* pairs, or triplets */
    trg_u32 n_triples;         /* groups of three bins in filled histograms */
    trg_u32 sum_low, sum_high; /* sum of their contents: 64 bits */
    trg_u32 flags;             /* ZF_MORE, ZF_WILD, ZF_FULL */
    trg_u32 digest;            /* checksum of all bins: the same on every device */
};

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
_Static_assert(sizeof(struct zf_summary) == sizeof(struct zf_peak), "peaks follow summaries");
#endif

struct zf_par { /* of all launches */
    struct trg_span in;
    trg_u32 n_rois;
    trg_u32 slices_room; /* places for slices in the tables of one RoI */
    trg_u32 items_room;  /* places in the sorted columns */
    trg_u32 parts;       /* groups that share an RoI in zf_pairs */
    trg_u32 peaks_room;  /* places for peaks of one histogram list */
    float z_max;         /* mm */
    trg_u32 layers_used; /* bit l: layer l is */
    trg_u32 last_barrel;
    trg_u32 first_layers; /* the inner point comes from this many filled layers */
    trg_u32 charges;      /* 1 or 2 */
    trg_u32 triplet_mode; /* 0 none, 1 first match is enough, 2 all count */
    float triplet_dz, triplet_dk, triplet_dphi; /* mm, rad/mm, rad */
    trg_u32 prefer_central;
    trg_u32 min_total;     /* entries that make a peak */
    trg_u32 look_for_more; /* 1: tell whether peaks were left when the list was full */
    trg_u32 per_slice;     /* 1: a histogram for each slice */
    trg_u32 max_work;      /* of an RoI, as zf_work counts it */
    trg_u32 reach;         /* slices that pairs of a point lie in, thirds */
    trg_u32 in_place;      /* 1: results go to the host's memory */
};
/* What a bin adds to the digest. */
TRG_FN trg_u32 zf_digest(trg_u32 slice, trg_u32 charge, trg_u32 bin, trg_u32 count, trg_u32 place)
{
    trg_u32 where = (slice * 2u + charge) * ZF_DIGEST_STEP + bin + 1u;

    return where * 2654435761u * (count * 40503u + place);
}
#endif
