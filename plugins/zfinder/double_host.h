/* SPDX-License-Identifier: Apache-2.0 */
/* double_host.h - the CPU's own way to count as the original: the points of an RoI in columns,
 * layer by layer, and its pairs.  Part of double.kernel.c; the same bits as zf_pairs gives.
 *
 * Within a layer points lie sorted by slice, so the partners of a point on another layer are one
 * stretch.  Vectors work out ZF_WIDTH of them at a time.  What is made of a pair is a code: its
 * bin, its place in the bin, which charges it can have, and from which of the layers it begins. */
#ifndef ZFINDER_DOUBLE_HOST_H
#define ZFINDER_DOUBLE_HOST_H
#include <stdbool.h>

#include "desk.h"
#include "peaks.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed within this file alone */

typedef double zf_doubles __attribute__((vector_size(8 * ZF_WIDTH)));
typedef int64_t zf_masks __attribute__((vector_size(8 * ZF_WIDTH)));
typedef int32_t zf_ints __attribute__((vector_size(4 * ZF_WIDTH)));
typedef float zf_floats __attribute__((vector_size(4 * ZF_WIDTH)));

/* A code: place (12 bits), bin (13), class (2), rank of the layer (5).  The histograms that the
 * bending allows, by the slices of the inner and the outer point: */
enum zf_class { ZF_FIRST, ZF_BOTH, ZF_SECOND };
#define ZF_CODE_PLACE(code) ((code) & (ZF_QUANTA - 1u))
#define ZF_CODE_BIN(code)   ((code) >> 12 & 8191u)
#define ZF_CODE_WHOLE(code) ((code) >> 12 & 0x7fffu) /* class and bin */
#define ZF_CODE_STEP(code)  ((code) >> 25)           /* class and rank */
#define ZF_NO_BIN           ZF_ENTRIES_ROOM

struct zf_walk { /* one RoI */
    struct zf_desk *desk;
    const struct zf_roi *roi;
    const struct zf_par *par;
    double *rho, *z, *from_start; /* columns, as struct zf_point tells */
    trg_u32 *slice;
    trg_u32 *start;                        /* [rank][slice] */
    trg_u32 n_layers, layer[ZF_RANKS];     /* filled ones: of each rank */
    trg_u32 n_begin;                       /* of them, those where pairs begin */
    trg_u32 reach[ZF_RANKS][ZF_RANKS];     /* from one to one further out */
    trg_u32 spread[ZF_RANKS], most_spread; /* of a pair, in slices' histograms */
    zf_doubles z_low, z_high;
    zf_doubles inv_quantum, origin; /* in quanta */
    trg_u32 n_made, failed;         /* failed: this RoI has to be counted in the general way */
    /* histograms of slices: slices_host.h */
    trg_u64 filled; /* blocks of bins that are not empty */
    trg_u32 done;   /* slices before this one are finished */
    trg_u32 load[ZF_RING];
    struct zf_peak *list;
    trg_u32 n_list;
    struct zf_summary sum;
    trg_u64 lacking; /* what the outermost bins do not have three times */
    trg_u32 n_triples;
    trg_u32 n_kept; /* of desk->triples */
};

TRG_FN zf_doubles zf_all(double x)
{
    return (zf_doubles){0} + x;
}

/* The points of one layer in the slices from..to. */
struct zf_stretch {
    trg_u32 from, to, near, past; /* near..past: in the slice itself and those beside it */
};

TRG_FN struct zf_stretch zf_stretch(const struct zf_walk *w, trg_u32 rank, trg_u32 slice,
                                    trg_u32 reach)
{
    const trg_u32 *start = w->start + rank * (w->par->slices_room + 1u), n = w->roi->n_slices;
    struct zf_stretch x;

    x.from = start[slice > reach ? slice - reach : 0u];
    x.to = start[slice + reach + 1u < n ? slice + reach + 1u : n];
    x.near = start[slice ? slice - 1u : 0u];
    x.past = start[slice + 2u < n ? slice + 2u : n];
    return x;
}

/* ---------------------------------------------------------------- setting out */

/* How far pairs reach between the filled layers. */
TRG_FN void zf_set_layers(struct zf_walk *w, const struct zf_view v, trg_u32 layers)
{
    const trg_u32 last = w->par->last_barrel;

    for (trg_u32 l = 0; l < ZF_LAYERS; l++)
        if (layers >> l & 1u)
            w->layer[w->n_layers++] = l;
    for (trg_u32 a = 0; a + 1u < w->n_layers; a++)
        w->n_begin += zf_may_begin(layers, w->layer[a], w->par->first_layers);
    for (trg_u32 a = 0; a < w->n_layers; a++)
        for (trg_u32 b = a + 1u; b < w->n_layers; b++)
            w->reach[a][b] = zf_reach(v, *w->roi, last, w->layer[a], w->layer[b]);
    for (trg_u32 a = 0; a < w->n_begin; a++) {
        w->spread[a] = zf_spread(v, *w->roi, last, w->layer[a]);
        w->most_spread = w->spread[a] > w->most_spread ? w->spread[a] : w->most_spread;
    }
}

/* The sorted points, one layer after the other. */
TRG_FN void zf_set_columns(struct zf_walk *w, const struct zf_view v)
{
    const trg_u32 n_slices = w->roi->n_slices, stride = w->par->slices_room + 1u;
    trg_u32 at[ZF_LAYERS], to[ZF_LAYERS] = {0}, sum = 0u;

    for (trg_u32 i = v.start[0]; i < v.start[n_slices]; i++)
        to[v.tag[i] & 255u]++;
    for (trg_u32 l = 0; l < ZF_LAYERS; l++) {
        at[l] = sum;
        sum += to[l];
    }
    for (trg_u32 s = 0; s <= n_slices; s++) {
        for (trg_u32 a = 0; a < w->n_layers; a++)
            w->start[a * stride + s] = at[w->layer[a]];
        for (trg_u32 i = v.start[s]; s < n_slices && i < v.start[s + 1u]; i++) {
            const trg_u32 k = at[v.tag[i] & 255u]++;

            w->rho[k] = (double)v.rho[i];
            w->z[k] = (double)v.z[i];
            w->from_start[k] = zf_from_start(*w->roi, v.phi[i]);
            w->slice[k] = s;
        }
    }
    for (trg_u32 k = sum; k < sum + ZF_OVER; k++)
        w->rho[k] = w->z[k] = w->from_start[k] = 0.0;
}

/* Makes a walk through an RoI, on a desk. */
TRG_FN void zf_set_out(struct zf_walk *w, void *memory, const struct zf_view v,
                       const struct zf_roi *roi, const struct zf_par *par, trg_u32 layers)
{
    const size_t column = zf_desk_column(par);
    unsigned char *desk = (unsigned char *)(((uintptr_t)memory + 63u) & ~(uintptr_t)63u);
    unsigned char *columns = desk + sizeof(struct zf_desk);

    *w = (struct zf_walk){.desk = (struct zf_desk *)(void *)desk, .roi = roi, .par = par};
    w->rho = (double *)(void *)columns;
    w->z = (double *)(void *)(columns + column);
    w->from_start = (double *)(void *)(columns + 2u * column);
    w->slice = (trg_u32 *)(void *)(columns + 3u * column);
    w->start = (trg_u32 *)(void *)(columns + 4u * column);
    w->z_low = zf_all((double)roi->z_low);
    w->z_high = zf_all((double)roi->z_high);
    w->inv_quantum = zf_all(zf_inv_bin(*roi) * (double)ZF_QUANTA);
    w->origin = zf_all((double)roi->origin * (double)ZF_QUANTA);
    zf_set_layers(w, v, layers);
    zf_set_columns(w, v);
}

/* ---------------------------------------------------------------- codes */

/* Counts from 0 in a vector, less `from`. */
TRG_FN zf_ints zf_count_from(trg_u32 from)
{
#if ZF_WIDTH == 8
    return (zf_ints){0, 1, 2, 3, 4, 5, 6, 7} - (trg_i32)from;
#else
    return (zf_ints){0, 1, 2, 3} - (trg_i32)from;
#endif
}

TRG_FN zf_doubles zf_choose(zf_masks condition, zf_doubles a, zf_doubles b)
{
    return (zf_doubles)(((zf_masks)a & condition) | ((zf_masks)b & ~condition));
}

/* Where vertices are sought. */
TRG_FN zf_masks zf_in_range(const struct zf_walk *w, zf_doubles z)
{
    return (zf_masks)(z > w->z_low) & (zf_masks)(z < w->z_high);
}

/* Bin and place of z, the part of the code that is z's.  One conversion gives both: factors of two
 * are exact. */
TRG_FN zf_ints zf_z_codes(const struct zf_walk *w, zf_doubles z)
{
    const zf_doubles none = zf_all((double)(ZF_NO_BIN * ZF_QUANTA));

    return __builtin_convertvector(
        zf_choose(zf_in_range(w, z), z * w->inv_quantum + w->origin, none), zf_ints);
}

/* Codes of the pairs of a point, of the layer of this rank, with those of a stretch. */
TRG_FN void zf_pair_codes(const struct zf_walk *w, double r, double z, const struct zf_stretch x,
                          trg_u32 rank, trg_u32 *code)
{
    const zf_ints layer = (zf_ints){0} + (trg_i32)(rank << 27);
    zf_ints near = zf_count_from(x.near - x.from), past = zf_count_from(x.past - x.from);

    for (trg_u32 at = x.from; at < x.to; at += ZF_WIDTH, code += ZF_WIDTH) {
        zf_doubles rho, zed;
        zf_ints codes;

        memcpy(&rho, w->rho + at, sizeof rho);
        memcpy(&zed, w->z + at, sizeof zed);
        codes = zf_z_codes(w, (zed * r - z * rho) * (1.0 / (r - rho)));
        codes |= layer | (-((near >= 0) + (past >= 0)) << 25);
        memcpy(code, &codes, sizeof codes);
        near += ZF_WIDTH;
        past += ZF_WIDTH;
    }
}

/* ---------------------------------------------------------------- pairs */

/* Takes what was made of one slice's inner points. */
typedef void (*zf_taker)(struct zf_walk *w, trg_u32 slice, void *context);

/* Makes all pairs that begin in a slice; `take` gets them in portions. */
TRG_FN void zf_pairs_of(struct zf_walk *w, trg_u32 slice, zf_taker take, void *context)
{
    for (trg_u32 a = 0; a < w->n_begin; a++) {
        const struct zf_stretch own = zf_stretch(w, a, slice, 0u);

        for (trg_u32 b = a + 1u; b < w->n_layers && own.from < own.to; b++) {
            struct zf_stretch x = zf_stretch(w, b, slice, w->reach[a][b]);
            const trg_u32 end = x.to;

            for (; x.from < end; x.from = x.to) {
                x.to = end - x.from < ZF_MADE ? end : x.from + ZF_MADE;
                for (trg_u32 i = own.from; i < own.to; i++) {
                    if (w->n_made + (x.to - x.from) > ZF_MADE)
                        take(w, slice, context);
                    zf_pair_codes(w, w->rho[i], w->z[i], x, a, w->desk->made + w->n_made);
                    w->n_made += x.to - x.from;
                }
            }
        }
    }
    take(w, slice, context);
}

/* ---------------------------------------------------------------- one histogram */

TRG_FN void zf_add_whole(struct zf_walk *w, trg_u32 code, trg_u32 n)
{
    w->desk->whole[ZF_CODE_WHOLE(code)] += (trg_u64)(ZF_CODE_PLACE(code) * n) << 32 | n;
}

TRG_FN void zf_take_whole(struct zf_walk *w, trg_u32 slice, void *context)
{
    (void)slice;
    (void)context;
    for (trg_u32 k = 0; k < w->n_made; k++)
        zf_add_whole(w, w->desk->made[k], 1u);
    w->n_made = 0u;
}

/* Leaves the histograms as zf_pairs does. */
TRG_FN void zf_put_whole(const struct zf_walk *w, trg_u32 *out)
{
    const trg_u32 n = w->roi->n_bins, both = w->par->charges;
    const trg_u64 *whole = w->desk->whole;

    for (trg_u32 b = 0; b < n; b++) {
        const trg_u64 first = whole[ZF_FIRST * ZF_CLASS_STEP + b];
        const trg_u64 second = whole[ZF_SECOND * ZF_CLASS_STEP + b];
        const trg_u64 middle = whole[ZF_BOTH * ZF_CLASS_STEP + b];
        /* halves are added apart: places may carry nothing into a neighbour */
        const trg_u32 extra = both == 1u ? (trg_u32)second : 0u;
        const trg_u32 extra_places = both == 1u ? (trg_u32)(second >> 32) : 0u;

        out[b] = (trg_u32)first + (trg_u32)middle + extra;
        out[ZF_ENTRIES + b] = (trg_u32)(first >> 32) + (trg_u32)(middle >> 32) + extra_places;
        if (both == 2u) {
            out[n + b] = (trg_u32)second + (trg_u32)middle;
            out[ZF_ENTRIES + n + b] = (trg_u32)(second >> 32) + (trg_u32)(middle >> 32);
        }
    }
}
#endif
