/* SPDX-License-Identifier: Apache-2.0 */
/* paths.h - what the kernels and the host side of the path finder share.  4-byte members only. */
#ifndef PATHS_H
#define PATHS_H
#include "trigd/kernel.h"

#define PA_STEPS_MAX  8u     /* doublets of a path */
#define PA_HITS_MAX   9u     /* its hits */
#define PA_FIT_COLUMN 9u     /* of the collection of paths: where the fit's columns begin */
#define PA_RANK_MOST  256u   /* doublets of a hit that are put in order by counting */
#define PA_PORTION    8u     /* candidates of a doublet that a work-item of a GPU takes */
#define PA_GROUP_MAX  256u   /* largest work-group that the kernels are launched with */
#define PA_PARTS_MAX  256u   /* groups that share a scan */
#define PA_FREE       1024u  /* links and paths that every RoI may have, however few doublets */
#define PA_ROUNDS     4u     /* of the choice among duplicates that the whole device does */
#define PA_WIDE_FROM  20000u /* hits of an RoI from which on it does */
#define PA_BINS       2048u  /* of the histogram of z0 */
#define PA_FIT_VALUES 11u    /* columns of pa_at.fit, see PA_FIT_* */
#define PA_NONE       0xffffffffu /* no doublet, no hit, no path */

enum pa_keep { PA_KEEP_ALL, PA_KEEP_LONGEST };
enum pa_growth { PA_GROW_AUTO, PA_GROW_BREADTH, PA_GROW_SCAN, PA_GROW_DEPTH };
enum pa_choice { PA_CHOOSE_AUTO, PA_CHOOSE_GROUP, PA_CHOOSE_DEVICE };
enum pa_align { PA_ALIGN_OFF, PA_ALIGN_CMS, PA_ALIGN_SLOPE };
enum pa_curvature { PA_CURVE_OFF, PA_CURVE_PT, PA_CURVE_SIMILAR };

/* Columns of the fit, one float each. */
enum pa_fit_value {
    PA_FIT_PT,   /* GeV, signed by charge */
    PA_FIT_PHI,  /* rad, direction at the point closest to the beam spot */
    PA_FIT_COT,  /* cot theta */
    PA_FIT_D0,   /* mm: that point is (-d0 sin phi, d0 cos phi) from the beam spot */
    PA_FIT_Z0,   /* mm */
    PA_FIT_CHI2, /* of circle and line together */
    PA_FIT_COS,  /* of phi */
    PA_FIT_SIN,
    PA_FIT_VAR_X,
    PA_FIT_VAR_TX,
    PA_FIT_COV
};

/* Places of the working arrays of a slot, in 4-byte words from the beginning of its buffer.  Hits
 * and doublets are numbered through the whole batch; `sorted` doublets are numbered by inner hit,
 * those of one hit in the order of the input, and doublets that are not used have no number. */
struct pa_at {
    trg_u32 totals;           /* see PA_TOTAL_* */
    trg_u32 part;             /* 64 bits [PA_PARTS_MAX]: sums of a scan's parts */
    trg_u32 summary;          /* struct pa_summary [n_rois] */
    trg_u32 path_first;       /* [n_rois + 1] first path of each RoI */
    trg_u32 h_first, d_first; /* [n_rois + 1] first hit, first doublet of the input of each RoI */
    trg_u32 out_first;        /* [n_rois + 1] first candidate of each RoI */
    trg_u32 n_open;           /* [n_rois] paths of each RoI that the rounds left undecided */
    /* hits */
    trg_u32 hit_x, hit_y, hit_z, hit_r; /* float: from the beam spot; distance from the beam line */
    trg_u32 hit_layer;
    trg_u32 start;   /* [hits + 1] first sorted doublet that begins at the hit */
    trg_u32 count;   /* [hits + 1] doublets of it, where they have to be sorted */
    trg_u32 best[2]; /* the best path of the hit among those that are undecided; see pa_contest */
    trg_u32 owner;   /* and among those that were accepted */
    /* doublets, in the order of the input */
    trg_u32 from, to; /* hits; from is PA_NONE when the doublet is not used; then, of each doublet
                       * that is listed, how many links it has, and how many paths begin with it */
    /* sorted doublets */
    trg_u32 order;                     /* number in the input; then those that are listed */
    trg_u32 inner, outer;              /* hits */
    trg_u32 outer_x, outer_y, outer_z; /* float: coordinates of the outer hit from the beam spot; x
                                        * and y on the CPU alone, see pa_outer_x */
    trg_u32 outer_r;                   /* float */
    trg_u32 slope, bend;               /* float: dz/dr, and curvature with the beam spot */
    trg_u32 link_first, n_links, has_in; /* links of a doublet, PA_NONE: not kept, see follow.h;
                                          * whether one leads to it */
    trg_u32 link_low, link_high;         /* the first and the last candidate that is a link */
    trg_u32 mask;                        /* a bit for each: it is listed, see pa_list */
    trg_u32 words;                       /* [of mask + 1]: how many are listed before each word */
    trg_u32 tally;                       /* [PA_STEPS_MAX][d_room], see pa_tally */
    trg_u32 rank;                        /* 64 bits [listed + 1]: sum of what came before */
    trg_u32 links;                       /* [links_room] sorted doublets */
    /* paths */
    trg_u32 path_hit; /* [PA_HITS_MAX][p_room] */
    trg_u32 n_hits;   /* of the path */
    trg_u32 tip;      /* its last doublet, while it grows */
    trg_u32 queue;    /* [2][p_room] paths that grow, or that are undecided */
    trg_u32 key;      /* what is better comes first; PA_NONE: it failed the cuts */
    trg_u32 is_kept;
    trg_u32 fit; /* float [PA_FIT_VALUES][p_room] */
};

enum {
    PA_TOTAL_HITS,                       /* of the batch */
    PA_TOTAL_DOUBLETS,                   /* those that are used */
    PA_TOTAL_PATHS,                      /* those that are kept */
    PA_TOTAL_UNSORTED,                   /* doublets of the input that are still to be sorted */
    PA_TOTAL_UNSORTED_HITS,              /* hits for which to do it */
    PA_TOTAL_LISTED,                     /* doublets with which paths can begin */
    PA_TOTAL_UNKEPT,                     /* 1: doublets have links that are not kept */
    PA_TOTAL_QUEUE,                      /* [PA_STEPS_MAX + 1] paths that grow, by their length */
    PA_TOTALS = PA_TOTAL_QUEUE + 9u + 4u /* with some room */
};

struct pa_summary { /* one RoI; counts that do not fit are 0xffffffff */
    trg_u32 n_doublets;
    trg_u32 n_links;
    trg_u32 n_linked; /* doublets with links; only where pa_links_once ran */
    trg_u32 n_paths, n_paths_kept;
    trg_u32 n_candidates, n_candidates_kept;
    trg_u32 n_above_pt, n_long; /* of the candidates that were kept */
    trg_u32 leading_pt;         /* bits of a float, GeV */
    trg_u32 n_same_vertex;      /* candidates within a window of z0 */
    trg_u32 vertex_bin;         /* where: the lower of its two bins */
};

struct pa_par { /* of all launches */
    struct trg_span hits, doublets, paths, tracks;
    struct pa_at at;
    trg_u32 n_rois;
    trg_u32 d_room, p_room; /* distance of columns in the tables */
    /* the scan: sums `scan_n` words from `scan_src` on into `scan_dst`, of 32 or 64 bits each */
    trg_u32 scan_src, scan_dst, scan_n, scan_wide;
    trg_u32 scan_bits; /* 1: the bits of scan_n items instead, a word for each 32 */
    trg_u32 level;     /* of pa_tally and pa_grow */
    trg_u32 lists;     /* 1: doublets with which paths can begin are listed; see pa_list */
    trg_u32 portion;   /* candidates of a doublet that a work-item takes; 0 on the CPU */
    trg_u32 rounds;    /* of the choice among duplicates that the whole device does */
    trg_u32 goes_on;   /* candidates come behind those of the RoIs before; see pa_place */
    /* limits */
    trg_u32 links_per_doublet, paths_per_doublet, max_paths, max_candidates;
    /* graph */
    trg_u32 min_doublets, max_doublets, longest;
    trg_u32 layers_skipped, last_barrel, discs;
    trg_u32 align, curvature, beam_spot;
    float origin_x, origin_y; /* mm */
    float theta_cut, theta_cut_forward, max_dslope;
    float min_radius;                 /* mm */
    float max_dbend;                  /* 1/mm */
    float tolerance, tolerance_outer; /* mm */
    float mm_per_gev;                 /* radius of a track of 1 GeV; negative field: negative */
    float var_rphi, var_z, var_r, scatter;  /* mm^2; rad GeV */
    float chi2_max, pt_cut, d0_max, z0_max; /* of candidates */
    trg_u32 remove_duplicates, max_shared;
    /* values */
    float count_pt;
    trg_u32 count_hits;
    float z_bin, z_low; /* mm */
};

/* The column of the collection of paths that has hit k: the last one came later. */
TRG_FN trg_u32 pa_hit_column(trg_u32 k)
{
    return k < 8u ? 1u + k : 15u;
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define PA_IS_HOST 0
#else
#define PA_IS_HOST 1
#endif

/* Arrays of a slot. */
#define PA_U32(work, at)  ((work) + (at))
#define PA_F32(work, at)  ((TRG_GLOBAL float *)((work) + (at)))
#define PA_CF32(work, at) ((TRG_GLOBAL const float *)((work) + (at)))
#define PA_U64(work, at)  ((TRG_GLOBAL trg_u64 *)((work) + (at)))

/* a * b + c, at most 0xffffffff, or cap. */
TRG_FN trg_u32 pa_limit(trg_u32 a, trg_u32 b, trg_u32 c, trg_u32 cap)
{
    trg_u64 n = (trg_u64)a * b + c;

    return n < cap ? (trg_u32)n : cap;
}

TRG_FN trg_u32 pa_add(trg_u32 a, trg_u32 b)
{
    trg_u32 s = a + b;

    return s < a ? 0xffffffffu : s;
}

/* The RoI that item i belongs to, from `r` on: offsets[r] <= i < offsets[r + 1]. */
TRG_FN trg_u32 pa_roi_of(TRG_GLOBAL const trg_u32 *offsets, trg_u32 n_rois, trg_u32 r, trg_u32 i)
{
    trg_u32 last = n_rois - 1u;

    if (i < offsets[r + 1u])
        return r;
    while (r < last) { /* the last RoI that begins at or before i */
        const trg_u32 middle = r + (last - r + 1u) / 2u;

        if (offsets[middle] <= i)
            r = middle;
        else
            last = middle - 1u;
    }
    return r;
}
#endif
