/* SPDX-License-Identifier: Apache-2.0 */
/* triplets_host.h - triplets on the CPU.  Part of double.kernel.c; the same bits as zf_triplets of
 * double.h gives.  Around each middle point, pairs with the points further in are held against
 * those with the points further out: see double.h. */
#ifndef ZFINDER_TRIPLETS_HOST_H
#define ZFINDER_TRIPLETS_HOST_H
#include "slices_host.h"

#define ZF_ABREAST 16u /* outer points that are looked at together */

struct zf_middle { /* a middle point and what it asks of the others */
    double rho, z, from_start;
    trg_u32 rank, slice;
};

/* Adds the points of a stretch to one side of a middle point; `rank` is that of inner ones. */
TRG_FN void zf_add_side(const struct zf_walk *w, const struct zf_middle *m,
                        const struct zf_stretch x, trg_u32 rank, bool inner, struct zf_side *side)
{
    const zf_ints layer = (zf_ints){0} + (trg_i32)(rank << 27);
    zf_ints near = zf_count_from(x.near - x.from), past = zf_count_from(x.past - x.from);
    trg_u32 to = side->n;

    for (trg_u32 at = x.from; at < x.to; at += ZF_WIDTH, to += ZF_WIDTH) {
        const zf_ints order = -((near >= 0) + (past >= 0)); /* slices before, near, behind */
        zf_doubles rho, zed, phi, inv, z;
        zf_floats f;
        zf_ints code = order;

        memcpy(&rho, w->rho + at, sizeof rho);
        memcpy(&zed, w->z + at, sizeof zed);
        memcpy(&phi, w->from_start + at, sizeof phi);
        inv = 1.0 / (rho - m->rho);
        z = (m->z * rho - zed * m->rho) * inv;
        f = __builtin_convertvector(2.0 * (m->from_start - phi) * inv, zf_floats);
        memcpy(side->k + to, &f, sizeof f);
        f = __builtin_convertvector(z, zf_floats);
        memcpy(side->z + to, &f, sizeof f);
        if (inner) /* seen from an inner point behind, the middle one lies before it */
            code = zf_z_codes(w, z) | (ZF_SECOND - order) << 25 | layer;
        memcpy(side->code + to, &code, sizeof code);
        near += ZF_WIDTH;
        past += ZF_WIDTH;
    }
    side->n += x.to - x.from;
}

/* Outer points on the sides to which the bending may go on: from a middle point behind the inner
 * one, from one before it, and from one in the same slice. */
enum { ZF_ON_UP, ZF_ON_DOWN, ZF_ON_NEAR };
TRG_FN void zf_sort_out(struct zf_desk *d)
{
    const struct zf_side *o = &d->outer;

    for (trg_u32 k = 0; k < o->n; k++) {
        const trg_u32 order = o->code[k];

        d->outer_z[ZF_ON_UP][k] = order == 0u ? NAN : o->z[k];
        d->outer_z[ZF_ON_DOWN][k] = order == 2u ? NAN : o->z[k];
        d->outer_z[ZF_ON_NEAR][k] = order == 1u ? o->z[k] : NAN;
    }
    for (trg_u32 way = 0; way < 3u; way++)
        for (trg_u32 k = o->n; k < o->n + ZF_ABREAST; k++)
            d->outer_z[way][k] = NAN;
}

/* Outer points that agree with an inner one in z and curvature; 1 at most when that is enough. */
TRG_FN trg_u32 zf_agreeing(const struct zf_par *par, const float *restrict z,
                           const float *restrict k, trg_u32 n, float z0, float k0, float dk)
{
    const float dz = par->triplet_dz;
    trg_u32 sum = 0u;

    for (trg_u32 at = 0; at < n; at += ZF_ABREAST) {
        for (trg_u32 j = at; j < at + ZF_ABREAST; j++)
            sum += (trg_u32)(trg_fabs(z[j] - z0) <= dz) & (trg_u32)(trg_fabs(k[j] - k0) <= dk);
        if (sum && par->triplet_mode == 1u)
            return 1u;
    }
    return sum;
}

TRG_FN void zf_keep_triple(struct zf_walk *w, trg_u32 code, trg_u32 slice, trg_u32 n)
{
    if (!w->par->per_slice) {
        zf_add_whole(w, code, n);
    } else if (w->n_kept == ZF_TRIPLES) {
        w->failed = 1u;
    } else {
        w->desk->triples[w->n_kept++] = (trg_u64)n << 48 | (trg_u64)slice << 32 | code;
    }
}

/* The points on both sides; false when there are none on one of them, or too many. */
TRG_FN bool zf_look_around(struct zf_walk *w, const struct zf_middle *m)
{
    struct zf_side *inner = &w->desk->inner, *outer = &w->desk->outer;

    inner->n = outer->n = 0u;
    for (trg_u32 b = 0; b < w->n_layers && !w->failed; b++) {
        const bool in = b < m->rank;
        struct zf_stretch x;

        if (b == m->rank && !inner->n)
            return false;
        if (b == m->rank || (in && b >= w->n_begin))
            continue;
        x = zf_stretch(w, b, m->slice, in ? w->reach[b][m->rank] : w->reach[m->rank][b]);
        if ((in ? inner : outer)->n + (x.to - x.from) > ZF_SIDE)
            w->failed = 1u;
        else
            zf_add_side(w, m, x, b, in, in ? inner : outer);
    }
    return inner->n && outer->n && !w->failed;
}

TRG_FN void zf_triplets_around(struct zf_walk *w, const struct zf_middle *m)
{
    const struct zf_side *inner = &w->desk->inner, *outer = &w->desk->outer;
    const float dk = zf_bend_apart(w->par, m->rho);
    trg_u32 at = 0u;

    if (!zf_look_around(w, m))
        return;
    zf_sort_out(w->desk);
    for (trg_u32 a = 0; a < w->n_begin && a < m->rank; a++) {
        const struct zf_stretch x = zf_stretch(w, a, m->slice, w->reach[a][m->rank]);

        for (trg_u32 i = x.from; i < x.to; i++, at++) {
            const trg_u32 slice = w->slice[i];
            const trg_u32 way = slice < m->slice   ? ZF_ON_UP
                                : slice > m->slice ? ZF_ON_DOWN
                                                   : ZF_ON_NEAR;
            trg_u32 n;

            if (ZF_CODE_BIN(inner->code[at]) == ZF_NO_BIN)
                continue;
            n = zf_agreeing(w->par, w->desk->outer_z[way], outer->k, outer->n, inner->z[at],
                            inner->k[at], dk);
            if (n)
                zf_keep_triple(w, inner->code[at], slice, n);
        }
    }
}

TRG_FN void zf_all_triplets(struct zf_walk *w)
{
    for (trg_u32 b = 1; b + 1u < w->n_layers; b++) {
        const trg_u32 *start = w->start + b * (w->par->slices_room + 1u);

        for (trg_u32 i = start[0]; i < start[w->roi->n_slices] && !w->failed; i++) {
            const struct zf_middle m = {w->rho[i], w->z[i], w->from_start[i], b, w->slice[i]};

            zf_triplets_around(w, &m);
        }
    }
}

/* ---------------------------------------------------------------- a histogram for each slice */

/* Sorts the pairs that were kept by the slice of their inner point. */
TRG_FN void zf_sort_triples(struct zf_walk *w)
{
    trg_u32 *first = w->desk->first_triple;
    const trg_u32 n = w->roi->n_slices;

    memset(first, 0, (n + 2u) * sizeof *first);
    for (trg_u32 k = 0; k < w->n_kept; k++)
        first[(w->desk->triples[k] >> 32 & 0xffffu) + 2u]++;
    for (trg_u32 s = 2; s < n + 2u; s++)
        first[s] += first[s - 1u];
    for (trg_u32 k = 0; k < w->n_kept; k++)
        w->desk->by_slice[first[(w->desk->triples[k] >> 32 & 0xffffu) + 1u]++] =
            w->desk->triples[k];
}

TRG_FN void zf_count_triples(struct zf_walk *w, trg_u32 slice)
{
    const trg_u32 *first = w->desk->first_triple;
    trg_u32 digest = 0u, times = 0u;

    for (trg_u32 k = first[slice]; k < first[slice + 1u]; k++)
        times += (trg_u32)(w->desk->by_slice[k] >> 48);
    if (zf_has_room(w, slice, times))
        for (trg_u32 k = first[slice]; k < first[slice + 1u]; k++)
            digest += zf_count_code(w, (trg_u32)w->desk->by_slice[k],
                                    (trg_u32)(w->desk->by_slice[k] >> 48));
    w->sum.digest += digest;
}

/* The places of a peak's entries. */
TRG_FN void zf_places_of(struct zf_walk *w, struct zf_peak *p)
{
    const trg_u32 far = w->most_spread, *first = w->desk->first_triple;

    for (trg_u32 s = p->slice > far ? p->slice - far : 0u;
         s <= p->slice + far && s < w->roi->n_slices; s++) {
        zf_set_steps(w, s);
        if (!w->par->triplet_mode)
            zf_pairs_of(w, s, zf_take_places, p);
        for (trg_u32 k = first[s]; w->par->triplet_mode && k < first[s + 1u]; k++)
            zf_add_place(w, p, (trg_u32)w->desk->by_slice[k],
                         (trg_u32)(w->desk->by_slice[k] >> 48));
    }
}

/* Points in a slice at which pairs begin. */
TRG_FN trg_u32 zf_begins(const struct zf_walk *w, trg_u32 slice)
{
    trg_u32 n = 0u;

    for (trg_u32 a = 0; a < w->n_begin; a++) {
        const struct zf_stretch own = zf_stretch(w, a, slice, 0u);

        n += own.to - own.from;
    }
    return n;
}

/* Counts all slices and finds their peaks; `room` holds those of one slice. */
TRG_FN void zf_walk_slices(struct zf_walk *w, struct zf_peak *room)
{
    const trg_u32 n = w->roi->n_slices, far = w->most_spread, mode = w->par->triplet_mode;

    w->failed |= (trg_u32)(2u * far + 1u >= ZF_RING);
    if (mode && !w->failed) {
        zf_all_triplets(w);
        zf_sort_triples(w);
    }
    for (trg_u32 s = 0; s < n && !w->failed; s++) {
        if (s + far >= w->done + ZF_RING)
            zf_finish(w, s - far, room);
        w->load[s % ZF_RING] = 0u;
        if (!(mode ? w->desk->first_triple[s + 1u] - w->desk->first_triple[s] : zf_begins(w, s)))
            continue;
        zf_set_steps(w, s);
        if (mode)
            zf_count_triples(w, s);
        else
            zf_pairs_of(w, s, zf_take_slices, NULL);
    }
    while (!w->failed && w->done < n)
        zf_finish(w, w->done + ZF_RING < n ? w->done + ZF_RING : n, room);
    for (trg_u32 k = 0; !w->failed && k < w->n_list; k++)
        zf_places_of(w, &w->list[k]);
    for (trg_u32 k = w->n_list; k < w->par->peaks_room; k++)
        w->list[k].total = 0u;
}
#endif
