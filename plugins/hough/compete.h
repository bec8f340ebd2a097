/* SPDX-License-Identifier: Apache-2.0 */
/* compete.h - what a candidate does in a round of the competition for hits.  n is 0 once it has
 * ended, and then nothing happens. */
#ifndef HOUGH_COMPETE_H
#define HOUGH_COMPETE_H
#include "hough.h"

/* Leaves its key on its hits: the largest of all stays. */
TRG_FN void hg_claim(TRG_GLOBAL const struct hg_cand *c, TRG_GLOBAL trg_u32 *best)
{
    for (trg_u32 k = 0; k < c->n; k++)
        TRG_ATOMIC_MAX_GLOBAL(&best[c->hit[k]], c->key);
}

/* Whether its key stayed on all of its hits. */
TRG_FN trg_u32 hg_wins(TRG_GLOBAL const struct hg_cand *c, TRG_GLOBAL const trg_u32 *best)
{
    trg_u32 wins = c->n;

    for (trg_u32 k = 0; k < c->n; k++)
        wins = wins && best[c->hit[k]] == c->key;
    return wins;
}

/* It has become a track: its hits are gone for the others. */
TRG_FN void hg_take(TRG_GLOBAL struct hg_cand *c, TRG_GLOBAL trg_u32 *used)
{
    for (trg_u32 k = 0; k < c->n; k++)
        used[c->hit[k]] = 1u;
    c->n = 0u;
}

/* Makes its hits ready for the next round. */
TRG_FN void hg_unclaim(TRG_GLOBAL const struct hg_cand *c, TRG_GLOBAL trg_u32 *best)
{
    for (trg_u32 k = 0; k < c->n; k++)
        best[c->hit[k]] = 0u;
}

/* Takes off the hits that others have by now; ends when too few are left. */
TRG_FN void hg_give_up_hits(TRG_GLOBAL struct hg_cand *c, TRG_GLOBAL const trg_u32 *used,
                            const struct hg_par par)
{
    trg_u32 n = 0u;

    for (trg_u32 k = 0; k < c->n; k++)
        if (!used[c->hit[k]])
            c->hit[n++] = c->hit[k];
    if (n < par.min_hits || (float)(c->n_first - n) > par.shared_max * (float)c->n_first)
        n = 0u;
    c->n = n;
    c->key = (c->key & 0x3ffffffu) | n << 26;
}
#endif
