/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - a track and its doublets in the output. */
#ifndef HOUGH_WRITE_H
#define HOUGH_WRITE_H
#include "compete.h"
#include "filter.h"

TRG_FN void hg_put(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 c, trg_u32 i,
                   trg_u32 bits)
{
    ((TRG_GLOBAL trg_u32 *)(out + span.column[c]))[i] = bits;
}

struct hg_products { /* where tracks and doublets go */
    TRG_GLOBAL trg_u8 *tracks, *doublets;
};

/* Writes a track: a word in each column. */
TRG_FN void hg_put_track(TRG_GLOBAL trg_u8 *out, const struct trg_span span, trg_u32 i,
                         const struct hg_state s, trg_u32 n_hits)
{
    hg_put(out, span, 0u, i, trg_as_u32(s.l.x));
    hg_put(out, span, 1u, i, trg_as_u32(s.l.y));
    hg_put(out, span, 2u, i, trg_as_u32(s.l.z));
    hg_put(out, span, 3u, i, trg_as_u32(s.l.tx));
    hg_put(out, span, 4u, i, trg_as_u32(s.l.ty));
    hg_put(out, span, 5u, i, trg_as_u32(s.xx));
    hg_put(out, span, 6u, i, trg_as_u32(s.tt));
    hg_put(out, span, 7u, i, trg_as_u32(s.xt));
    hg_put(out, span, 8u, i, trg_as_u32(s.chi2));
    hg_put(out, span, 9u, i, 0u); /* no field, no momentum */
    hg_put(out, span, 10u, i, n_hits);
}

/* Writes the doublets of a track from place `at` on, as hits' numbers in the RoI. */
TRG_FN void hg_put_doublets(const struct hg_products to, const struct hg_input in,
                            const struct hg_par par, TRG_GLOBAL const struct hg_cand *c, trg_u32 at)
{
    for (trg_u32 k = 0; k + 1u < c->n; k++) {
        hg_put(to.doublets, par.doublets, 0u, at + k, c->hit[k] - in.first);
        hg_put(to.doublets, par.doublets, 1u, at + k, c->hit[k + 1u] - in.first);
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
