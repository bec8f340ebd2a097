/* SPDX-License-Identifier: Apache-2.0 */
/* vertexing.h - what the kernels and the host side of the vertexing plugin share.  4-byte members
 * only, so that host, CUDA and OpenCL agree on every layout. */
#ifndef VERTEXING_H
#define VERTEXING_H
#include "trigd/kernel.h"

#define VX_BINS_MAX     8192u /* most bins of the histogram of one RoI */
#define VX_BINS_FEW     5120u /* bins that need less shared memory */
#define VX_CELLS        512u  /* cells of z by which tracks are sorted */
#define VX_PV_MAX       512u  /* most primary vertices of an RoI */
#define VX_SV_MAX       512u  /* most secondary-vertex candidates of an RoI */
#define VX_ROOM_LEAST   16u   /* places for vertices that every RoI has, see vx_room */
#define VX_ROOM_TRACKS  8u    /* tracks for each one more */
#define VX_READ_ROWS    24u   /* of the answer, for each RoI, that every batch copies to the host */
#define VX_READ_LEAST   64u   /* and for the batch; more are copied where there are more */
#define VX_SELECTED_MAX 4096u /* most tracks of an RoI in the adjacency graph */
#define VX_PAIRS_MAX    1024u /* most tracks of an RoI that seed pairwise */
#define VX_GROUP_MAX    256u  /* largest work-group that the kernels are launched with */
#define VX_FIT_GROUP    32u   /* work-items that fit one vertex */
#define VX_TUKEY_MAX    30    /* so that sums of a fit need not be cut off */
#define VX_PV_SIGMAS    3.0f  /* errors: of a vertex off the beam, of tracks beside a sharp one */
#define VX_AGAIN        2u
#define VX_NOWHERE      3e38f /* z of a track that is not in the histogram */
#define VX_NONE         0xffffffffu
#define VX_NO_ORIGIN    0x80000000u /* of a primary vertex that a track only comes closest to */
#define VX_PV_OF(place) ((place) & ~VX_NO_ORIGIN)

/* One track at its point closest to the beam line, as columns of `items_room` floats. */
enum {
    VX_X,  /* mm */
    VX_Y,  /* mm */
    VX_Z,  /* mm */
    VX_UX, /* unit direction, uz > 0 */
    VX_UY,
    VX_UZ,
    VX_V,  /* mm^2: variance across the track, at the point */
    VX_C,  /* mm: half its slope in z */
    VX_VT, /* its curvature in z */
    VX_P,  /* GeV, signed by charge; 0: not known */
    VX_COLUMNS
};

enum { VX_TYPE_PRIMARY, VX_TYPE_SECONDARY }; /* enum trg_vertex_type */
enum { VX_METHOD_PEAKS, VX_METHOD_PAIRS };
enum { VX_LAYOUT_FULL, VX_LAYOUT_COMPUTE, VX_LAYOUT_MEMORY };
enum { VX_WIDTH_FIXED, VX_WIDTH_FREEDMAN_DIACONIS, VX_WIDTH_OPTIMUM };

struct vx_grid {     /* the histogram of one RoI, and the beam line */
    float first;     /* mm: where bin 0 begins */
    float inv_width; /* 1/mm */
    float width;     /* mm */
    trg_u32 n_bins;  /* 3 .. VX_BINS_MAX */
    float beam_x;    /* mm */
    float beam_y;    /* mm */
};

struct vx_vertex {
    float x, y, z;      /* mm */
    float weight;       /* sum of the Tukey weights of its tracks */
    float cov[6];       /* mm^2: xx yy zz xy xz yz */
    float chi2;         /* of the tracks used, 2 n_tracks - 3 degrees of freedom */
    float flight;       /* mm; secondary vertices only, as all below */
    float significance; /* flight over its error */
    float mass;         /* GeV */
    trg_u32 n_tracks;   /* tracks with a weight */
    trg_u32 own[2];     /* of these, tracks that do not fit the next vertex below, above */
    trg_u32 pv;         /* primary vertex it belongs to */
    trg_u32 root;       /* smallest member of its component: a track of the RoI */
    trg_u32 alive;      /* 1: it passed */
    trg_u32 todo;       /* 1: a primary vertex that is to be fitted, again */
};

/* One vertex of the answer: the columns of TRG_VERTICES, floats as they are. */
enum {
    VX_OUT_X,
    VX_OUT_Y,
    VX_OUT_Z,
    VX_OUT_WEIGHT,
    VX_OUT_COV, /* six */
    VX_OUT_CHI2 = VX_OUT_COV + 6,
    VX_OUT_TRACKS,
    VX_OUT_TYPE,
    VX_OUT_FLIGHT,
    VX_OUT_SIGNIFICANCE,
    VX_OUT_MASS,
    VX_OUT_WORDS
};

struct vx_counts {      /* of one RoI; adjacency and cuts add to the last six */
    trg_u32 n_used;     /* tracks in the histogram */
    trg_u32 n_seeds;    /* in the list, now */
    trg_u32 seeds_kept; /* at first, of all */
    trg_u32 seeds_all;  /* there were */
    trg_u32 n_pv;
    trg_u32 settled;     /* 1: the last pass dropped nothing */
    trg_u32 n_displaced; /* tracks with an impact parameter above the hypothesis's */
    trg_u32 n_selected;  /* tracks in the graph */
    trg_u32 selected_all;
    trg_u32 n_components; /* of two tracks and more, kept in the list */
    trg_u32 components_all;
    trg_u32 pairs_left_out; /* tracks for which pairwise seeding had no place */
    float ip_significance;  /* the largest of the RoI */
    trg_u32 n_crossings;    /* pairs of tracks that are adjacent */
    trg_u32 removed_origin, removed_radial, removed_cylinder, removed_angle;
    trg_u32 n_edges;      /* that are left */
    trg_u32 score, sure;  /* of these: sums of what their scores are above 0, above 1; pairs.h */
    trg_u32 best_score;   /* the largest, VX_SCORE_ZERO added; 0: none is left */
    float beam_x, beam_y; /* mm: where the tracks say that the beam line is */
    trg_u32 place;        /* of its first vertex in the answer; RoIs come in any order there */
    trg_u32 n_out;        /* vertices of the answer, primary ones first */
    trg_u32 out_all;      /* there were */
};

/* What the score of a pair of tracks sees (pairs.h). */
enum {
    VX_PAIR_DOCA,     /* distance of the two, in their errors, squared */
    VX_PAIR_SIN2,     /* sine of their angle, squared */
    VX_PAIR_RADIUS,   /* mm^2: of the crossing about the beam line, squared */
    VX_PAIR_Z,        /* mm: from the primary vertex to the crossing */
    VX_PAIR_ACROSS,   /* mm^2: across the beam, squared */
    VX_PAIR_SLOPE,    /* of the flight, squared */
    VX_PAIR_IP_LEAST, /* chi2 with which one, and the other, misses the primary vertex */
    VX_PAIR_IP_MOST,
    VX_PAIR_FEATURES
};

#define VX_SCORE_ONE  65536   /* a logarithm of odds of 1 */
#define VX_SCORE_ZERO 262144u /* added to scores, so that none is below 0 */
#define VX_SCORE_SUM  8u      /* bits that sums of scores are coarser by: all pairs fit */

struct vx_par { /* of all launches */
    struct trg_span in;
    trg_u32 n_rois;
    trg_u32 items_room; /* places in each column of tracks */
    trg_u32 bins_room;  /* places in the histogram of one RoI */
    trg_u32 words_room; /* words of a row of the adjacency matrix: max_selected / 32 */
    trg_u32 max_pv, max_sv;
    trg_u32 fit_parts; /* groups that share the fits of an RoI */
    trg_u32 max_selected;
    trg_u32 parts;                  /* groups that share an RoI, where a kernel allows it */
    float beam_x, beam_y, beam_var; /* mm, mm, mm^2 */
    trg_u32 find_beam;              /* 1: from the tracks, beginning there */
    float chi2_prior;               /* degrees of freedom; 0: errors are taken as they are */
    float z_range;                  /* mm */
    float bin_width;                /* mm */
    trg_u32 width_rule;
    trg_u32 weighted;        /* 1: precise tracks weigh more in the histogram */
    float sigma_z_max;       /* mm */
    trg_u32 smooth;          /* bins on each side */
    trg_u32 min_height;      /* of a peak */
    float prominence;        /* of a peak, as a part of its height */
    float pair_distance;     /* sigmas */
    trg_u32 seed_min_tracks; /* of a cluster, with pairs */
    float window;            /* mm */
    float tukey_start, tukey_end, tolerance;
    trg_u32 rounds;
    trg_u32 fresh; /* 1: vertices are seeds that were not fitted yet; VX_AGAIN: and they are fitted
                      again, so that only the worst go */
    trg_u32 pv_min_tracks;
    float pv_max_radius, pv_merge; /* mm, sigmas */
    trg_u32 pv_own_tracks;
    float pv_own_sigmas;
    float pv_sharp;       /* mm */
    float pv_decay;       /* sigmas; 0: no vertex is taken for a decay */
    float ip_min, ip_max; /* sigmas: tracks in the graph */
    float displaced_ip;   /* mm */
    float displaced_significance;
    float doca_max;      /* mm */
    float doca_sigmas;   /* 0: the limit is doca_max alone */
    float parallel_sin2; /* below it a pair is near-parallel */
    trg_u32 origin_cut;
    float origin_sigmas; /* a track has an origin when it misses one by less */
    float radial_sigmas, cylinder, cylinder_max, min_sin2; /* sigmas, mm, mm, sine squared */
    float max_cos;                                         /* of the largest angle */
    float ip_limit;                                        /* mm: tracks in the graph */
    float mass;                                            /* GeV */
    trg_u32 layout;
};

/* Places for vertices that an RoI of n tracks has, in each list: memory follows the tracks. */
TRG_FN trg_u32 vx_room(trg_u32 n, trg_u32 most)
{
    const trg_u32 room = n / VX_ROOM_TRACKS + VX_ROOM_LEAST;

    return room < most ? room : most;
}

/* The first of them, of an RoI whose first track is `first`. */
TRG_FN trg_u32 vx_place(trg_u32 first, trg_u32 roi)
{
    return first / VX_ROOM_TRACKS + VX_ROOM_LEAST * roi;
}
#endif
