/* SPDX-License-Identifier: Apache-2.0 */
/* slices_host.h - a histogram for each slice, on the CPU.  Part of double.kernel.c; the same bits
 * as zf_slices and zf_merge give.
 *
 * A pair counts in the histograms of a few slices and of one or both charges.  For each bin a
 * vector holds the contents of ZF_RING slices and two charges, so that a pair is one addition;
 * slices are finished several at a time.  Only entries are counted; the places of the peaks'
 * entries are added up at the end, from pairs that are made once more.  RoIs with more than 16 bits
 * of entries near a slice, or whose pairs reach further than the ring, are left to the general way.
 */
#ifndef ZFINDER_SLICES_HOST_H
#define ZFINDER_SLICES_HOST_H
#include "double_host.h"

#define ZF_BLOCK_BINS 128u /* of a bit in `filled` */

/* What pairs that begin in a slice add, by class and rank. */
TRG_FN void zf_set_steps(struct zf_walk *w, trg_u32 slice)
{
    const trg_u32 charges = w->par->charges, n = w->roi->n_slices;

    for (trg_u32 a = 0; a < w->n_begin; a++) {
        const trg_u32 far = w->spread[a], near = charges == 2u && w->layer[a] ? 1u : far;

        for (trg_u32 c = ZF_FIRST; c <= ZF_SECOND; c++) {
            const trg_u32 at = a * ZF_CLASSES + c;
            uint16_t lanes[ZF_LANES] = {0};
            trg_u32 targets = 0u, base = 0u;

            for (trg_u32 s = slice > far ? slice - far : 0u; s <= slice + far && s < n; s++) {
                const trg_u32 lane = 2u * (s % ZF_RING);
                const trg_u32 first =
                    (trg_u32)((charges == 1u || c != ZF_SECOND) && s + near >= slice);
                const trg_u32 second =
                    (trg_u32)(charges == 2u && c != ZF_FIRST && s <= slice + near);

                lanes[lane] = (uint16_t)first;
                lanes[lane + 1u] = (uint16_t)second;
                targets += first + second;
                base += (first * 2u * s + second * (2u * s + 1u)) * ZF_DIGEST_STEP;
            }
            memcpy(&w->desk->step[at], lanes, sizeof lanes);
            w->desk->targets[at] = targets;
            w->desk->bases[at] = base;
        }
    }
}

/* ---------------------------------------------------------------- peaks */

/* Whether a peak comes before another one in the list of the RoI. */
TRG_FN bool zf_is_before(const struct zf_walk *w, const struct zf_peak *a, const struct zf_peak *b)
{
    const trg_u32 central = w->par->prefer_central, n = w->roi->n_bins;
    const trg_u32 of_a = zf_order(central, n, a->charge, central ? a->bin : 0u) & ~8191u;
    const trg_u32 of_b = zf_order(central, n, b->charge, central ? b->bin : 0u) & ~8191u;

    if (a->total != b->total)
        return a->total > b->total;
    return of_a != of_b ? of_a < of_b : a->slice < b->slice;
}

/* Puts a peak into the list, behind its equals; the last one falls out of a full list. */
TRG_FN void zf_keep_peak(struct zf_walk *w, const struct zf_peak *p)
{
    trg_u32 at = w->n_list;

    while (at && zf_is_before(w, p, &w->list[at - 1u]))
        at--;
    if (at == w->par->peaks_room)
        return;
    if (w->n_list < w->par->peaks_room)
        w->n_list++;
    for (trg_u32 k = w->n_list - 1u; k > at; k--)
        w->list[k] = w->list[k - 1u];
    w->list[at] = *p;
}

/* The peaks of one slice, in the way of zf_slices. */
TRG_FN void zf_peaks_of(struct zf_walk *w, trg_u32 slice, struct zf_peak *room)
{
    const struct zf_histogram h = {w->desk->count, w->desk->place};
    const trg_u32 n = w->roi->n_bins, lane = 2u * (slice % ZF_RING);
    struct zf_sums sums;

    zf_clear_sums(&sums);
    for (trg_u32 c = 0; c < w->par->charges; c++)
        for (trg_u32 b = 0; b < n; b++)
            h.count[c * n + b] = w->desk->cell[b][lane + c];
    zf_find_peaks(h, *w->roi, w->par, slice, room, &sums);
    w->sum.flags |= sums.more;
    for (trg_u32 k = 0; k < w->par->peaks_room && room[k].total; k++)
        zf_keep_peak(w, &room[k]);
}

/* ---------------------------------------------------------------- finishing slices */

/* The most in three bins of each lane. */
TRG_FN zf_cell zf_tops(const struct zf_walk *w)
{
    const zf_cell *cell = w->desk->cell;
    const trg_u32 last = w->roi->n_bins - 1u;
    zf_cell top = {0};

    for (trg_u64 left = w->filled; left; left &= left - 1u) {
        const trg_u32 at = ZF_BLOCK_BINS * (trg_u32)__builtin_ctzll(left);
        const trg_u32 from = at > 1u ? at - 1u : 1u;
        const trg_u32 to = at + ZF_BLOCK_BINS + 1u < last ? at + ZF_BLOCK_BINS + 1u : last;
        zf_cell before = cell[from - 1u], here = cell[from];

        for (trg_u32 b = from; b < to; b++) {
            const zf_cell next = cell[b + 1u], three = before + here + next;
            const zf_cell more = (zf_cell)(three > top);

            top = (three & more) | (top & ~more);
            before = here;
            here = next;
        }
    }
    return top;
}

/* What the outermost bins lack: they are in fewer groups of three. */
TRG_FN trg_u64 zf_lacking(const struct zf_walk *w, trg_u32 lane)
{
    const trg_u32 n = w->roi->n_bins;
    trg_u64 sum = 0u;

    for (trg_u32 b = 0; b < n; b = b == 1u && n > 4u ? n - 2u : b + 1u) {
        const trg_u32 lacks = (b < 2u ? 2u - b : 0u) + (b + 2u >= n ? b + 3u - n : 0u);

        sum += (trg_u64)lacks * ((trg_u32)w->desk->cell[b][lane] + w->desk->cell[b][lane + 1u]);
    }
    return sum;
}

TRG_FN void zf_empty(struct zf_walk *w, zf_cell keep)
{
    zf_cell *cell = w->desk->cell;
    const trg_u32 n = w->roi->n_bins;

    for (trg_u64 left = w->filled; left; left &= left - 1u) {
        const trg_u32 block = (trg_u32)__builtin_ctzll(left), at = ZF_BLOCK_BINS * block;
        const trg_u32 to = at + ZF_BLOCK_BINS < n ? at + ZF_BLOCK_BINS : n;
        zf_cell any = {0};
        trg_u32 some = 0u;

        for (trg_u32 b = at; b < to; b++) {
            cell[b] &= keep;
            any |= cell[b];
        }
        for (trg_u32 lane = 0; lane < ZF_LANES; lane++)
            some |= any[lane];
        if (!some)
            w->filled &= ~((trg_u64)1u << block);
    }
}

/* Finishes the slices before `end`, at most ZF_RING of them. */
TRG_FN void zf_finish(struct zf_walk *w, trg_u32 end, struct zf_peak *room)
{
    const struct zf_par *par = w->par;
    const zf_cell top = zf_tops(w);
    zf_cell keep = ~(zf_cell){0};

    for (trg_u32 s = w->done; s < end; s++) {
        const trg_u32 lane = 2u * (s % ZF_RING);
        const trg_u32 most = top[lane] > top[lane + 1u] ? top[lane] : top[lane + 1u];
        const bool full = w->n_list == par->peaks_room;

        keep[lane] = keep[lane + 1u] = 0u;
        if (!most)
            continue;
        w->n_triples += par->charges * (w->roi->n_bins - 2u);
        w->lacking += zf_lacking(w, lane);
        if (most >= par->min_total &&
            (!full || par->look_for_more || most >= w->list[w->n_list - 1u].total))
            zf_peaks_of(w, s, room);
    }
    zf_empty(w, keep);
    w->done = end;
}

/* ---------------------------------------------------------------- counting */

/* Counts what n pairs of a slice are about to add; 16 bits may not be enough for more. */
TRG_FN bool zf_has_room(struct zf_walk *w, trg_u32 slice, trg_u32 n)
{
    trg_u32 sum = 0u;

    w->load[slice % ZF_RING] += n;
    for (trg_u32 k = 0; k < ZF_RING; k++)
        sum += w->load[k];
    w->failed |= (trg_u32)(sum > 0xffffu);
    return !w->failed;
}

/* Counts a code n times; returns what it adds to the digest. */
TRG_FN trg_u32 zf_count_code(struct zf_walk *w, trg_u32 code, trg_u32 n)
{
    struct zf_desk *d = w->desk;
    const trg_u32 bin = ZF_CODE_BIN(code), step = ZF_CODE_STEP(code);
    const trg_u32 times = bin == ZF_NO_BIN ? 0u : n, targets = d->targets[step] * times;

    d->cell[bin] += d->step[step] * (uint16_t)n;
    w->filled |= (trg_u64)(bin != ZF_NO_BIN) << bin / ZF_BLOCK_BINS;
    w->sum.n_entries += targets;
    return targets * (bin + 1u) + d->bases[step] * times;
}

TRG_FN void zf_take_slices(struct zf_walk *w, trg_u32 slice, void *context)
{
    trg_u32 digest = 0u;

    (void)context;
    if (zf_has_room(w, slice, w->n_made))
        for (trg_u32 k = 0; k < w->n_made; k++)
            digest += zf_count_code(w, w->desk->made[k], 1u);
    w->n_made = 0u;
    w->sum.digest += digest;
}

/* ---------------------------------------------------------------- places */

/* Adds to a peak the place of a code, if it is in one of its bins, n times. */
TRG_FN void zf_add_place(const struct zf_walk *w, struct zf_peak *p, trg_u32 code, trg_u32 n)
{
    const trg_u32 j = ZF_CODE_BIN(code) + 1u - p->bin;
    const trg_u32 lane = 2u * (p->slice % ZF_RING) + p->charge;

    if (j < 3u && p->count[j] && w->desk->step[ZF_CODE_STEP(code)][lane])
        p->places += ZF_CODE_PLACE(code) * n;
}

TRG_FN void zf_take_places(struct zf_walk *w, trg_u32 slice, void *context)
{
    (void)slice;
    for (trg_u32 k = 0; k < w->n_made; k++)
        zf_add_place(w, context, w->desk->made[k], 1u);
    w->n_made = 0u;
}
#endif
