/* SPDX-License-Identifier: Apache-2.0 */
/* compete.h - what a candidate does in a round of the competition for hits.  n is 0 once it has
 * ended, and then nothing happens. */
#ifndef HOUGH_COMPETE_H
#define HOUGH_COMPETE_H
#include "chance.h"

TRG_FN struct hg_cands hg_cands_of(TRG_GLOBAL trg_u32 *cands, const struct hg_par par, trg_u32 roi)
{
    struct hg_cands c;

    c.at = cands + (trg_u64)roi * par.cands_room * HG_CAND_WORDS;
    c.step = par.cand_step;
    c.stride = par.cand_stride;
    return c;
}

TRG_FN trg_u32 hg_get(const struct hg_cands c, trg_u32 i, trg_u32 word)
{
    return c.at[i * c.step + word * c.stride];
}

TRG_FN void hg_set(const struct hg_cands c, trg_u32 i, trg_u32 word, trg_u32 value)
{
    c.at[i * c.step + word * c.stride] = value;
}

/* The i-th of those that compete. */
TRG_FN trg_u32 hg_nth(const struct hg_cands c, trg_u32 i)
{
    return hg_get(c, i, HG_ALIVE);
}

/* Four hits of a candidate from number k on, those that it lacks its first: work-items read them,
 * and what lies behind them, at once instead of one after the other. */
struct hg_four {
    trg_u32 a, b, c, d;
};
TRG_FN struct hg_four hg_hits_from(const struct hg_cands c, trg_u32 i, trg_u32 k, trg_u32 n)
{
    struct hg_four h;

    h.a = hg_get(c, i, HG_HIT + k);
    h.b = hg_get(c, i, HG_HIT + (k + 1u < n ? k + 1u : k));
    h.c = hg_get(c, i, HG_HIT + (k + 2u < n ? k + 2u : k));
    h.d = hg_get(c, i, HG_HIT + (k + 3u < n ? k + 3u : k));
    return h;
}

/* Leaves its key on its hits: the largest of all stays. */
TRG_FN void hg_claim(const struct hg_cands c, trg_u32 i, TRG_GLOBAL trg_u32 *best)
{
    const trg_u32 n = hg_get(c, i, HG_NOW), key = hg_get(c, i, HG_KEY);

    for (trg_u32 k = 0; k < n; k += 4u) {
        const struct hg_four h = hg_hits_from(c, i, k, n);

        TRG_ATOMIC_MAX_GLOBAL(&best[h.a], key);
        TRG_ATOMIC_MAX_GLOBAL(&best[h.b], key);
        TRG_ATOMIC_MAX_GLOBAL(&best[h.c], key);
        TRG_ATOMIC_MAX_GLOBAL(&best[h.d], key);
    }
}

/* Whether its key stayed on all of its hits. */
TRG_FN trg_u32 hg_wins(const struct hg_cands c, trg_u32 i, TRG_GLOBAL const trg_u32 *best)
{
    const trg_u32 n = hg_get(c, i, HG_NOW), key = hg_get(c, i, HG_KEY);
    trg_u32 wins = n;

    for (trg_u32 k = 0; wins && k < n; k += 4u) {
        const struct hg_four h = hg_hits_from(c, i, k, n);

        wins = (best[h.a] == key) & (best[h.b] == key) & (best[h.c] == key) & (best[h.d] == key);
    }
    return wins;
}

/* It has become a track: its hits are gone for the others. */
TRG_FN void hg_take(const struct hg_cands c, trg_u32 i, TRG_GLOBAL trg_u32 *used,
                    TRG_GLOBAL struct hg_cand *track)
{
    const trg_u32 n = hg_get(c, i, HG_NOW);

    for (trg_u32 k = 0; k < n; k++) {
        track->hit[k] = hg_get(c, i, HG_HIT + k);
        used[track->hit[k]] = 1u;
    }
    track->n = n;
    hg_set(c, i, HG_NOW, 0u);
}

/* Makes its hits ready for the next round. */
TRG_FN void hg_unclaim(const struct hg_cands c, trg_u32 i, TRG_GLOBAL trg_u32 *best)
{
    const trg_u32 n = hg_get(c, i, HG_NOW);

    for (trg_u32 k = 0; k < n; k += 4u) {
        const struct hg_four h = hg_hits_from(c, i, k, n);

        best[h.a] = best[h.b] = best[h.c] = best[h.d] = 0u;
    }
}

/* The key of one that has lost hits. */
TRG_FN trg_u32 hg_less(trg_u32 key, trg_u32 lost)
{
    return key >> HG_HIT_BITS >= lost ? key - (lost << HG_HIT_BITS) : key & (HG_CANDS - 1u);
}

struct hg_input { /* columns of the hits, and the first hit of the RoI */
    TRG_GLOBAL const float *x, *y, *z;
    TRG_GLOBAL const trg_u16 *layer;
    trg_u32 first;
    float crowd; /* its hits in ten thousands, squared */
};

TRG_FN struct hg_input hg_input_of(TRG_GLOBAL const trg_u8 *data, const struct trg_span span,
                                   trg_u32 roi)
{
    struct hg_input in;

    in.x = TRG_HITS_X(data, span);
    in.y = TRG_HITS_Y(data, span);
    in.z = TRG_HITS_Z(data, span);
    in.layer = TRG_HITS_LAYER(data, span);
    in.first = TRG_BEGIN(data, span, roi);
    in.crowd = 1e-4f * (float)(TRG_END(data, span, roi) - in.first);
    in.crowd *= in.crowd;
    return in;
}

TRG_FN struct hg_point hg_point_at(const struct hg_input in, const struct hg_par par, trg_u32 h)
{
    struct hg_point p;

    p.x = in.x[h] - par.beam_x;
    p.y = in.y[h] - par.beam_y;
    p.z = in.z[h];
    p.layer = in.layer[h];
    return p;
}

TRG_FN struct hg_point hg_hit_of(const struct hg_input in, const struct hg_par par,
                                 const struct hg_cands c, trg_u32 i, trg_u32 k)
{
    return hg_point_at(in, par, hg_get(c, i, HG_HIT + k));
}

/* Whether three or four hits on a line, along z, are too likely among those of the RoI. */
TRG_FN trg_u32 hg_is_chance3(const struct hg_input in, const struct hg_par par,
                             const struct hg_point a, const struct hg_point b,
                             const struct hg_point c)
{
    return hg_chance3(par, in.crowd, a, b, c) > par.chance3_max;
}

TRG_FN trg_u32 hg_is_chance4(const struct hg_input in, const struct hg_par par,
                             const struct hg_point a, const struct hg_point b,
                             const struct hg_point c, const struct hg_point d)
{
    return hg_chance4(par, in.crowd, a, b, c, d) > par.chance4_max;
}

/* The same of candidate i with n hits. */
TRG_FN trg_u32 hg_is_chance(const struct hg_cands c, trg_u32 i, const struct hg_input in,
                            const struct hg_par par, trg_u32 n)
{
    if (n == 3u)
        return hg_is_chance3(in, par, hg_hit_of(in, par, c, i, 0u), hg_hit_of(in, par, c, i, 1u),
                             hg_hit_of(in, par, c, i, 2u));
    return n == 4u &&
           hg_is_chance4(in, par, hg_hit_of(in, par, c, i, 0u), hg_hit_of(in, par, c, i, 1u),
                         hg_hit_of(in, par, c, i, 2u), hg_hit_of(in, par, c, i, 3u));
}

/* Takes off the hits that others have by now; ends when what is left is no track. */
TRG_FN void hg_give_up_hits(const struct hg_cands c, trg_u32 i, TRG_GLOBAL const trg_u32 *used,
                            const struct hg_input in, const struct hg_par par)
{
    const trg_u32 now = hg_get(c, i, HG_NOW), first = hg_get(c, i, HG_FIRST);
    trg_u32 n = 0u;

    for (trg_u32 k = 0; k < now; k += 4u) {
        const struct hg_four h = hg_hits_from(c, i, k, now);
        const trg_u32 a = !used[h.a], b = k + 1u < now && !used[h.b],
                      e = k + 2u < now && !used[h.c], f = k + 3u < now && !used[h.d];

        if (a)
            hg_set(c, i, HG_HIT + n++, h.a);
        if (b)
            hg_set(c, i, HG_HIT + n++, h.b);
        if (e)
            hg_set(c, i, HG_HIT + n++, h.c);
        if (f)
            hg_set(c, i, HG_HIT + n++, h.d);
    }
    if (n < par.min_hits || (float)(first - n) > par.shared_max * (float)first)
        n = 0u;
    if (n == 3u && n < now &&
        !hg_are_track(par, hg_hit_of(in, par, c, i, 0u), hg_hit_of(in, par, c, i, 1u),
                      hg_hit_of(in, par, c, i, 2u)))
        n = 0u;
    if (n < now && hg_is_chance(c, i, in, par, n))
        n = 0u;
    hg_set(c, i, HG_NOW, n);
    hg_set(c, i, HG_KEY, hg_less(hg_get(c, i, HG_KEY), now - n));
}
#endif
