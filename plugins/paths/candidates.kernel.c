/* SPDX-License-Identifier: Apache-2.0 */
/* From paths to candidates: fit, cuts, duplicates, and the two products.
 *
 * pa_fit_paths    every path by itself
 * pa_contest      every path by itself, and pa_decide: a round of what follows
 * pa_duplicates   one group an RoI; what sequential choice in order of quality would keep
 * pa_select       one group an RoI; candidates in the order of the paths
 * pa_place        one group; where the candidates of each RoI go
 * pa_write        the columns of both products
 * pa_values       one group an RoI; what hypotheses ask for
 */
#include "fit.h"
#include "scan.h"
#include "trigd/common/group.h"

/* What is_kept says while duplicates are removed; 0 and 1 in the end. */
#define PA_UNDECIDED 2u
#define PA_ACCEPTED  3u /* kept, but its hits do not know yet */

/* More hits are better, then less chi2 for each degree of freedom; no chi2 has all bits set. */
TRG_FN trg_u32 pa_key(trg_u32 n_hits, float chi2)
{
    return (PA_HITS_MAX - n_hits) << 28 | trg_as_u32(chi2 / (float)(2u * n_hits - 5u)) >> 3;
}

TRG_FN trg_u32 pa_passes(const struct pa_par *par, const struct pa_track *t, trg_u32 n_hits)
{
    const float chi2 = t->chi2 / (float)(2u * n_hits - 5u);

    return (trg_u32)(par->chi2_max == 0.0f || chi2 <= par->chi2_max) &
           (trg_u32)(trg_fabs(t->pt) >= par->pt_cut) &
           (trg_u32)(par->d0_max == 0.0f || trg_fabs(t->d0) <= par->d0_max) &
           (trg_u32)(par->z0_max == 0.0f || trg_fabs(t->z0) <= par->z0_max);
}

TRG_FN void pa_store_fit(TRG_GLOBAL float *fit, trg_u32 room, const struct pa_track *t)
{
    fit[PA_FIT_PT * room] = t->pt;
    fit[PA_FIT_PHI * room] = t->phi;
    fit[PA_FIT_COT * room] = t->cot;
    fit[PA_FIT_D0 * room] = t->d0;
    fit[PA_FIT_Z0 * room] = t->z0;
    fit[PA_FIT_CHI2 * room] = t->chi2;
    fit[PA_FIT_COS * room] = t->cos_phi;
    fit[PA_FIT_SIN * room] = t->sin_phi;
    fit[PA_FIT_VAR_X * room] = t->var_x;
    fit[PA_FIT_VAR_TX * room] = t->var_tx;
    fit[PA_FIT_COV * room] = t->cov;
}

TRG_KERNEL1(pa_fit_paths, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *layer = PA_U32(work, par.at.hit_layer);
    TRG_GLOBAL const trg_u32 *path_hit = PA_U32(work, par.at.path_hit);

    PA_EACH (p, work[par.at.totals + PA_TOTAL_PATHS]) {
        struct pa_points points;
        struct pa_track t;
        trg_u32 passes;

        points.n = PA_U32(work, par.at.n_hits)[p];
        for (trg_u32 k = 0; k < points.n; k++) {
            const trg_u32 h = path_hit[k * par.p_room + p];

            points.x[k] = PA_CF32(work, par.at.hit_x)[h];
            points.y[k] = PA_CF32(work, par.at.hit_y)[h];
            points.z[k] = PA_CF32(work, par.at.hit_z)[h];
            points.is_disc[k] = (trg_u32)(layer[h] > par.last_barrel);
        }
        t = pa_fit(&par, &points);
        pa_store_fit(PA_F32(work, par.at.fit) + p, par.p_room, &t);
        passes = pa_passes(&par, &t, points.n);
        PA_U32(work, par.at.key)[p] = passes ? pa_key(points.n, t.chi2) : PA_NONE;
        PA_U32(work, par.at.is_kept)[p] = passes && par.remove_duplicates ? PA_UNDECIDED : passes;
    }
}

/* ---------------------------------------------------------------- duplicates
 *
 * The rule: paths are looked at from the best on (key, then number), and one is kept when at most
 * max_shared of its hits belong to paths that were kept before.  All paths are decided at the same
 * time, in rounds: a path knows its fate when too many of its hits are owned by better paths that
 * were kept, or when even with all that better undecided paths could take there are not too many.
 * The best undecided path always knows, so it ends.
 *
 * pa_duplicates does all rounds, with a group for each RoI.  Before it the whole device may do
 * some, pa_contest and pa_decide for each, which pays where an RoI has many paths: what is left is
 * little then. */

/* Whether a path is better than another one, or than none. */
TRG_FN trg_u32 pa_is_better(TRG_GLOBAL const trg_u32 *key, trg_u32 path, trg_u32 other)
{
    return (trg_u32)(other == PA_NONE || key[path] < key[other] ||
                     (key[path] == key[other] && path < other));
}

/* Path p takes its hits from worse ones; `best` has a path for each hit.  `alone`: nobody else does
 * so meanwhile. */
TRG_FN void pa_take(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, TRG_GLOBAL trg_u32 *best,
                    trg_u32 p, trg_u32 alone)
{
    TRG_GLOBAL const trg_u32 *hit = PA_U32(work, par->at.path_hit) + p;
    TRG_GLOBAL const trg_u32 *key = PA_U32(work, par->at.key);
    const trg_u32 n = PA_U32(work, par->at.n_hits)[p];

    for (trg_u32 k = 0; k < n; k++) {
        TRG_GLOBAL trg_u32 *place = best + hit[k * par->p_room];
        trg_u32 there = *place;

        while (pa_is_better(key, p, there)) {
            const trg_u32 seen = there;

            if (alone)
                *place = p;
            else
                there = TRG_ATOMIC_CAS_GLOBAL(place, seen, p);
            if (there == seen)
                break;
        }
    }
}

/* Nobody has the hits of path p. */
TRG_FN void pa_free_hits(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                         TRG_GLOBAL trg_u32 *best, trg_u32 p)
{
    TRG_GLOBAL const trg_u32 *hit = PA_U32(work, par->at.path_hit) + p;
    const trg_u32 n = PA_U32(work, par->at.n_hits)[p];

    for (trg_u32 k = 0; k < n; k++)
        best[hit[k * par->p_room]] = PA_NONE;
}

/* The fate of path p, when `best` has the best undecided path of each hit. */
TRG_FN trg_u32 pa_fate(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                       TRG_GLOBAL const trg_u32 *best, trg_u32 p)
{
    TRG_GLOBAL const trg_u32 *hit = PA_U32(work, par->at.path_hit) + p;
    TRG_GLOBAL const trg_u32 *owner = PA_U32(work, par->at.owner);
    const trg_u32 n = PA_U32(work, par->at.n_hits)[p];
    trg_u32 owned = 0u, ahead = 0u;

    for (trg_u32 k = 0; k < n; k++) {
        const trg_u32 h = hit[k * par->p_room];

        if (!pa_is_better(PA_U32(work, par->at.key), p, owner[h]))
            owned++;
        else if (best[h] != p)
            ahead++;
    }
    if (owned > par->max_shared)
        return 0u;
    return owned + ahead <= par->max_shared ? PA_ACCEPTED : PA_UNDECIDED;
}

#define PA_ALONE (trg_u32)(TRG_GROUPS * TRG_LSIZE == 1u)

/* The paths of which each hit has the best one, in an even or an odd round. */
#define PA_BEST(work, par, round) PA_U32(work, (par)->at.best[(round)&1u])

/* All paths of the batch, round par.level: what was accepted takes its hits for good, and what is
 * undecided contests them.  Once more after the last round, for pa_duplicates. */
TRG_KERNEL1(pa_contest, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL trg_u32 *state = PA_U32(work, par.at.is_kept);

    PA_EACH (p, work[par.at.totals + PA_TOTAL_PATHS]) {
        if (state[p] == PA_ACCEPTED) {
            pa_take(work, &par, PA_U32(work, par.at.owner), p, PA_ALONE);
            state[p] = 1u;
        } else if (state[p] == PA_UNDECIDED) {
            pa_take(work, &par, PA_BEST(work, &par, par.level), p, PA_ALONE);
        }
    }
}

/* All paths of the batch: decides those that know, and clears what the next round needs.  The last
 * round lists what is left of each RoI. */
TRG_KERNEL1(pa_decide, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL trg_u32 *state = PA_U32(work, par.at.is_kept);
    TRG_GLOBAL const trg_u32 *first = PA_U32(work, par.at.path_first);

    PA_EACH (p, work[par.at.totals + PA_TOTAL_PATHS]) {
        if (state[p] != PA_UNDECIDED)
            continue;
        state[p] = pa_fate(work, &par, PA_BEST(work, &par, par.level), p);
        if (state[p] != PA_UNDECIDED)
            continue;
        pa_free_hits(work, &par, PA_BEST(work, &par, par.level + 1u), p);
        if (par.level + 1u == par.rounds) {
            const trg_u32 r = pa_roi_of(first, par.n_rois, 0u, p);

            PA_U32(work, par.at.queue)
            [first[r] + PA_COUNT(&PA_U32(work, par.at.n_open)[r])] = p;
        }
    }
}

/* One group an RoI: all rounds, or those that are left, where `best` is known for the first one. */
TRG_KERNEL1(pa_duplicates, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 n_next;
    const trg_u32 first = PA_U32(work, par.at.path_first)[TRG_GID];
    const trg_u32 end = PA_U32(work, par.at.path_first)[TRG_GID + 1u];
    TRG_GLOBAL trg_u32 *state = PA_U32(work, par.at.is_kept);
    TRG_GLOBAL trg_u32 *owner = PA_U32(work, par.at.owner);
    TRG_GLOBAL trg_u32 *best = PA_BEST(work, &par, par.rounds);
    TRG_GLOBAL trg_u32 *now = PA_U32(work, par.at.queue) + first, *next = now + par.p_room;
    trg_u32 n;

    if (TRG_LID == 0u)
        n_next = 0u;
    TRG_BARRIER();
    for (trg_u32 p = first + TRG_LID; p < end && !par.rounds; p += TRG_LSIZE)
        if (state[p] == PA_UNDECIDED)
            now[TRG_ATOMIC_ADD_LOCAL(&n_next, 1u)] = p;
    TRG_BARRIER();
    n = par.rounds ? PA_U32(work, par.at.n_open)[TRG_GID] : n_next;
    while (n) {
        TRG_GLOBAL trg_u32 *swap = now;

        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
            pa_take(work, &par, best, now[i], PA_ALONE);
        TRG_BARRIER();
        if (TRG_LID == 0u)
            n_next = 0u;
        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
            state[now[i]] = pa_fate(work, &par, best, now[i]);
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
            const trg_u32 p = now[i];

            if (state[p] == PA_UNDECIDED) {
                next[TRG_ATOMIC_ADD_LOCAL(&n_next, 1u)] = p;
                pa_free_hits(work, &par, best, p);
            } else if (state[p] == PA_ACCEPTED) {
                pa_take(work, &par, owner, p, PA_ALONE);
                state[p] = 1u;
            }
        }
        TRG_BARRIER();
        n = n_next;
        now = next;
        next = swap;
        TRG_BARRIER();
    }
}

/* ---------------------------------------------------------------- products */

/* The candidates of an RoI, in the order of the paths, into its part of the queue. */
TRG_KERNEL1(pa_select, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 first = PA_U32(work, par.at.path_first)[TRG_GID];
    const trg_u32 end = PA_U32(work, par.at.path_first)[TRG_GID + 1u];
    TRG_GLOBAL struct pa_summary *sum =
        (TRG_GLOBAL struct pa_summary *)(work + par.at.summary) + TRG_GID;
    trg_u32 n = 0u;

    for (trg_u32 tile = first; tile < end; tile += TRG_LSIZE) {
        const trg_u32 p = tile + TRG_LID;
        const trg_u32 keep = p < end ? PA_U32(work, par.at.is_kept)[p] : 0u;
        const trg_u32 place = trg_group_place(scratch, keep, &n);

        if (keep && place < par.max_candidates)
            PA_U32(work, par.at.queue)[first + place] = p;
    }
    if (TRG_LID == 0u) {
        sum->n_candidates = n;
        sum->n_candidates_kept = n < par.max_candidates ? n : par.max_candidates;
    }
}

/* One group: where each RoI's candidates go, for both products.  Where a batch is worked on RoI by
 * RoI, the offsets of this one begin where those of the one before ended. */
TRG_KERNEL3(pa_place, (trg_u8, paths), (trg_u8, tracks), (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL trg_u32 *path_first = (TRG_GLOBAL trg_u32 *)(paths + par.paths.offsets);
    TRG_GLOBAL trg_u32 *track_first = (TRG_GLOBAL trg_u32 *)(tracks + par.tracks.offsets);
    TRG_GLOBAL const struct pa_summary *sum =
        (TRG_GLOBAL const struct pa_summary *)(work + par.at.summary);
    trg_u32 before = par.goes_on ? path_first[0] : 0u, total = 0u;

    for (trg_u32 tile = 0u; tile <= par.n_rois; tile += TRG_LSIZE) {
        const trg_u32 r = tile + TRG_LID;
        const trg_u32 own = r < par.n_rois ? sum[r].n_candidates_kept : 0u;
        const trg_u32 at = before + trg_group_scan(scratch, own, &total);

        if (r <= par.n_rois)
            PA_U32(work, par.at.out_first)[r] = path_first[r] = track_first[r] = at;
        before += total;
    }
}

/* Row j of the tracks: the state on the straight line that touches the circle. */
TRG_FN void pa_write_track(TRG_GLOBAL trg_u8 *tracks, const struct pa_par *par,
                           TRG_GLOBAL const float *fit, trg_u32 n_hits, trg_u32 j)
{
    const trg_u32 room = par->p_room;
    const float cot = fit[PA_FIT_COT * room], steep = pa_steep(cot);
    const float c = fit[PA_FIT_COS * room], s = fit[PA_FIT_SIN * room];
    const float d0 = fit[PA_FIT_D0 * room], pt = fit[PA_FIT_PT * room];
    const float p = pt * trg_sqrt(1.0f + cot * cot);

    TRG_TRACKS_X_OUT(tracks, par->tracks)[j] = par->origin_x - d0 * s;
    TRG_TRACKS_Y_OUT(tracks, par->tracks)[j] = par->origin_y + d0 * c;
    TRG_TRACKS_Z_OUT(tracks, par->tracks)[j] = fit[PA_FIT_Z0 * room];
    TRG_TRACKS_TX_OUT(tracks, par->tracks)[j] = c / steep;
    TRG_TRACKS_TY_OUT(tracks, par->tracks)[j] = s / steep;
    TRG_TRACKS_VAR_X_OUT(tracks, par->tracks)[j] = fit[PA_FIT_VAR_X * room];
    TRG_TRACKS_VAR_TX_OUT(tracks, par->tracks)[j] = fit[PA_FIT_VAR_TX * room];
    TRG_TRACKS_COV_X_TX_OUT(tracks, par->tracks)[j] = fit[PA_FIT_COV * room];
    TRG_TRACKS_CHI2_OUT(tracks, par->tracks)[j] = fit[PA_FIT_CHI2 * room];
    TRG_TRACKS_QOP_OUT(tracks, par->tracks)[j] = trg_fabs(p) > 0.0f ? 1.0f / p : 0.0f;
    TRG_TRACKS_N_HITS_OUT(tracks, par->tracks)[j] = n_hits;
}

/* All candidates of the batch. */
TRG_KERNEL3(pa_write, (trg_u8, paths), (trg_u8, tracks), (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *first = PA_U32(work, par.at.out_first);
    trg_u32 r = 0u;

    PA_EACH (i, first[par.n_rois] - first[0]) {
        const trg_u32 j = first[0] + i;
        TRG_GLOBAL const float *fit;
        trg_u32 p, n, hit;

        r = pa_roi_of(first, par.n_rois, r, j);
        p = PA_U32(work, par.at.path_first)[r] + j - first[r];
        p = PA_U32(work, par.at.queue)[p];
        n = PA_U32(work, par.at.n_hits)[p];
        fit = PA_CF32(work, par.at.fit) + p;
        TRG_PATHS_N_HITS_OUT(paths, par.paths)[j] = n;
        for (trg_u32 k = 0; k < PA_HITS_MAX; k++) {
            hit = k < n ? PA_U32(work, par.at.path_hit)[k * par.p_room + p] -
                              PA_U32(work, par.at.h_first)[r]
                        : PA_NONE;
            TRG_COLUMN_OUT(trg_u32, paths, par.paths, pa_hit_column(k))[j] = hit;
        }
        for (trg_u32 k = PA_FIT_PT; k <= PA_FIT_CHI2; k++)
            TRG_COLUMN_OUT(float, paths, par.paths, PA_FIT_COLUMN + k)[j] = fit[k * par.p_room];
        pa_write_track(tracks, &par, fit, n, j);
    }
}

/* The bin of z0. */
TRG_FN trg_u32 pa_bin(const struct pa_par *par, float z0)
{
    const float at = (z0 - par->z_low) / par->z_bin;

    if (!(at > 0.0f))
        return 0u;
    return at < (float)(PA_BINS - 1u) ? (trg_u32)at : PA_BINS - 1u;
}

/* One group an RoI: what hypotheses ask for. */
TRG_KERNEL1(pa_values, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 bins[PA_BINS];
    TRG_SHARED trg_u32 n_above, n_long, leading, most, where;
    TRG_GLOBAL const trg_u32 *kept =
        PA_U32(work, par.at.queue) + PA_U32(work, par.at.path_first)[TRG_GID];
    TRG_GLOBAL struct pa_summary *sum =
        (TRG_GLOBAL struct pa_summary *)(work + par.at.summary) + TRG_GID;
    const trg_u32 n = sum->n_candidates_kept;

    if (TRG_LID == 0u) {
        n_above = n_long = leading = most = 0u;
        where = PA_BINS;
    }
    for (trg_u32 b = TRG_LID; b < PA_BINS; b += TRG_LSIZE)
        bins[b] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        TRG_GLOBAL const float *fit = PA_CF32(work, par.at.fit) + kept[i];
        const float pt = trg_fabs(fit[PA_FIT_PT * par.p_room]);

        if (pt >= par.count_pt)
            TRG_ATOMIC_ADD_LOCAL(&n_above, 1u);
        if (PA_U32(work, par.at.n_hits)[kept[i]] >= par.count_hits)
            TRG_ATOMIC_ADD_LOCAL(&n_long, 1u);
        TRG_ATOMIC_MAX_LOCAL(&leading, trg_as_u32(pt));
        TRG_ATOMIC_ADD_LOCAL(&bins[pa_bin(&par, fit[PA_FIT_Z0 * par.p_room])], 1u);
    }
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; n && b + 1u < PA_BINS; b += TRG_LSIZE)
        TRG_ATOMIC_MAX_LOCAL(&most, bins[b] + bins[b + 1u]);
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; n && b + 1u < PA_BINS; b += TRG_LSIZE)
        if (bins[b] + bins[b + 1u] == most)
            TRG_ATOMIC_MIN_LOCAL(&where, b);
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        sum->n_above_pt = n_above;
        sum->n_long = n_long;
        sum->leading_pt = leading;
        sum->n_same_vertex = most;
        sum->vertex_bin = where;
    }
}
