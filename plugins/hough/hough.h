/* SPDX-License-Identifier: Apache-2.0 */
/* hough.h - what the kernels and the host side of the Hough transform share.  4-byte members only.
 *
 * Words: hits are put into `bins` of phi about the beam line; a `window` is one bin or two
 * neighbours; in a window the coordinates are u (along its axis) and v (across it), and lines of
 * the (z, u) plane are sought in cells of (theta, r).  The search runs in up to three `passes`,
 * each on what the ones before have left. */
#ifndef HOUGH_H
#define HOUGH_H
#include "trigd/kernel.h"

#define HG_WORDS          8192u /* of local memory for the cells that are filled at once */
#define HG_WORDS_FEW      6144u /* the same for small grids: more groups fit on a device */
#define HG_WORDS_HASHED   3072u /* the same for the table of a window of few hits */
#define HG_PLACES_PER_HIT 16u   /* in the table of hashed cells, where it has room */
#define HG_HASHED_FEW     64u   /* hits of such a window: its table has 1,024 places at most */
#define HG_HASHED_BIN     256u  /* most hits of a bin with the method `hashed` */
#define HG_RAW            1024u /* pairs of hits that are listed before they are looked at */
#define HG_LIST           1024u /* most peaks of a window */
#define HG_CAND_BITS      16u
#define HG_CANDS          (1u << HG_CAND_BITS) /* most peaks of an RoI that are refined in one pass */
#define HG_HIT_BITS       27u                  /* of a key: one hit is 1 << HG_HIT_BITS */
#define HG_UNIT           64u  /* of the weight of a hit that counts by its distance */
#define HG_BINS           256u /* most bins of phi */
#define HG_SIDE           512u /* most cells along theta and along r */
#define HG_TRACK_HITS     32u  /* most hits of a track */
#define HG_PASSES         3u
#define HG_GROUP_MAX      256u

enum hg_method { HG_BRUTE, HG_PAINT, HG_ANALYTIC, HG_HASHED, HG_TRIPLET };

struct hg_grid { /* the cells of (theta, r) in one pass */
    float theta_min, d_theta, inv_d_theta;
    float r_min, dr, inv_dr;
    trg_u32 n_theta, n_r;
    trg_u32 stride;        /* cells from one theta to the next: n_r, rounded up to even */
    trg_u32 strip;         /* thetas in one strip */
    float z0, inv_z_scale; /* z' = (z - z0) inv_z_scale */
    float gauss, error; /* gauss: hits count by their distance, sigma in epsilons; 0: they do not */
    trg_u32 one_cell;   /* a pair votes for one cell, not four */
    trg_u32 euclidean;  /* the distance of peaks */
};

struct hg_par { /* of all launches of a batch */
    struct trg_span in, tracks, doublets;
    struct hg_grid grid;
    trg_u32 n_rois;
    trg_u32 items_room; /* places in the sorted columns */
    trg_u32 pass;
    trg_u32 parts;             /* groups that share an RoI in hg_refine */
    trg_u32 n_bins, bins_room; /* of this pass; of the larger */
    trg_u32 span;              /* bins in a window: 1, or 2, so that windows overlap by half */
    float phase;               /* part of a bin by which bins are turned */
    trg_u32 trig;              /* where this pass's axes begin in the table */
    trg_u32 method, threshold, distance;
    trg_u32 threshold_step; /* by which the threshold rises where there are too many peaks */
    trg_u32 bin_room;
    trg_u32 cands_room;             /* peaks of an RoI that are refined */
    trg_u32 cand_step, cand_stride; /* see struct hg_cands */
    float beam_x, beam_y;
    float ip_max2;    /* mm^2: of a pair's line to the beam line; squared */
    float z_beam_max; /* mm: |z - z0| of that line where it is closest to the beam line */
    float hash_inv_mm, hash_inv_slope; /* 1 / width of a hashed cell */
    float band; /* half width in which a peak's hits are taken, in epsilons */
    float tol_mm, tol_rad, tol_max_mm; /* of a hit to the line of a pair */
    float residual_max_mm, residual3_max_mm, chi2_3_max, inv_ip3, rare3;
    float chance3_max, chance4_max, z_made; /* see chance.h */
    float slope_max;
    trg_u32 min_hits, max_gap, max_gap3;
    trg_u32 station_layers;
    float shared_max; /* part of its hits that a candidate may lose to better ones */
    float sigma_mm, scatter, scatter_slope;
};

/* Candidates of an RoI in one pass: word `w` of number i is at[i * step + w * stride].  Next to
 * each other on a device whose work-items take one each, each in one piece on a CPU. */
enum hg_cand_word {
    HG_NOW,   /* hits; 0: there is no such candidate */
    HG_FIRST, /* hits that it began with */
    HG_KEY,   /* the higher, the better; no two of an RoI are equal */
    HG_ALIVE, /* the number of one that competes, in a list from candidate 0 on */
    HG_HIT,   /* HG_TRACK_HITS of them: items of the batch, along z */
    HG_CAND_WORDS = HG_HIT + 32
};
struct hg_cands {
    TRG_GLOBAL trg_u32 *at;
    trg_u32 step, stride;
};

struct hg_cand { /* a track */
    trg_u32 n;
    trg_u32 hit[HG_TRACK_HITS]; /* items of the batch, along z */
};

struct hg_summary { /* one RoI */
    trg_u32 n_hits, n_on_tracks, n_tracks, n_cands, n_peaks;
    trg_u32 wanted, kept; /* items that capacities cut off are wanted - kept */
    trg_u32 digest;       /* checksum of all cells: the same on every device */
};
#endif
