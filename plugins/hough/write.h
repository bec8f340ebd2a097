/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - a track and its doublets in the output. */
#ifndef HOUGH_WRITE_H
#define HOUGH_WRITE_H
#include "compete.h"
#include "filter.h"

struct hg_products { /* where tracks and doublets go */
    TRG_GLOBAL trg_u8 *tracks, *doublets;
};

/* Writes a track. */
TRG_FN void hg_put_track(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 i,
                         const struct hg_state s, trg_u32 n_hits)
{
    TRG_TRACKS_X_OUT(out, span)[i] = s.l.x;
    TRG_TRACKS_Y_OUT(out, span)[i] = s.l.y;
    TRG_TRACKS_Z_OUT(out, span)[i] = s.l.z;
    TRG_TRACKS_TX_OUT(out, span)[i] = s.l.tx;
    TRG_TRACKS_TY_OUT(out, span)[i] = s.l.ty;
    TRG_TRACKS_VAR_X_OUT(out, span)[i] = s.xx;
    TRG_TRACKS_VAR_TX_OUT(out, span)[i] = s.tt;
    TRG_TRACKS_COV_X_TX_OUT(out, span)[i] = s.xt;
    TRG_TRACKS_CHI2_OUT(out, span)[i] = s.chi2;
    TRG_TRACKS_QOP_OUT(out, span)[i] = 0.0f; /* no field, no momentum */
    TRG_TRACKS_N_HITS_OUT(out, span)[i] = n_hits;
}

/* Writes the doublets of a track from place `at` on, as hits' numbers in the RoI. */
TRG_FN void hg_put_doublets(const struct hg_products to, const struct hg_input in,
                            const struct hg_par par, TRG_GLOBAL const struct hg_cand *c, trg_u32 at)
{
    for (trg_u32 k = 0; k + 1u < c->n; k++) {
        TRG_DOUBLETS_INNER_OUT(to.doublets, par.doublets)[at + k] = c->hit[k] - in.first;
        TRG_DOUBLETS_OUTER_OUT(to.doublets, par.doublets)[at + k] = c->hit[k + 1u] - in.first;
    }
}

/* Fits a track and writes it in place `at`, its doublets from place `at2` on. */
TRG_FN void hg_put_one(const struct hg_products to, const struct hg_input in,
                       const struct hg_par par, TRG_GLOBAL const struct hg_cand *c, trg_u32 at,
                       trg_u32 at2)
{
    hg_put_track(to.tracks, par.tracks, at, hg_filter(in.x, in.y, in.z, par, c), c->n);
    hg_put_doublets(to, in, par, c, at2);
}
#endif
