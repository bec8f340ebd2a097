/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 3: all paths of linked doublets.
 *
 * First how many paths begin with each doublet, exactly, before one of them is made: pa_tally,
 * pa_roots, scan, pa_paths_sum, pa_totals.  Then one of these puts the same path into the same
 * place:
 *
 * pa_unrank                        path number i is made by whoever has number i
 * study/breadth.kernel.c           breadth-first, one reservation in the queue for each work-item
 * pa_depth_count, pa_depth_walk    both steps, one work-item an RoI
 *
 * Paths are ordered by their first doublet, then by their second, and so on; doublets by inner hit,
 * then by their number in the input.
 */
#include "follow.h"
#include "scan.h"
#include "trigd/common/group.h"
#include "trigd/common/portions.h"

/* Paths below doublet d at a level, from the level below. */
TRG_FN trg_u32 pa_sum_links(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 level,
                            trg_u32 d)
{
    const trg_u32 n = PA_U32(work, par->at.n_links)[d], first = PA_U32(work, par->at.link_first)[d];
    TRG_GLOBAL const trg_u32 *link = PA_U32(work, par->at.links) + first;
    trg_u32 paths = pa_may_end(par, level, n);

    if (first == PA_NONE) {
        struct pa_follow f = pa_follow_links(work, par, d);

        for (trg_u32 k = 0; k < n; k++)
            paths = pa_add(paths, pa_below(work, par, level - 1u, pa_next_link(work, par, &f)));
        return paths;
    }
    for (trg_u32 k = 0; k < n; k++)
        paths = pa_add(paths, pa_below(work, par, level - 1u, link[k]));
    return paths;
}

/* The same sum over the links that are among one portion of the candidates. */
TRG_FN trg_u64 pa_sum_portion(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                              trg_u32 level, trg_u32 d, trg_u32 portion)
{
    const struct pa_next next = pa_candidates(work, par, d);
    const struct pa_side s = pa_side_of(work, par, d);
    const trg_u32 first = next.first + portion * par->portion;
    const trg_u32 end = next.end - first < par->portion ? next.end : first + par->portion;
    trg_u64 paths = 0;

    for (trg_u32 e = first; e < end; e++)
        if (pa_is_in_line(work, par, s.line, e) && pa_links_to(work, par, s, e))
            paths += pa_below(work, par, level - 1u, e);
    return paths;
}

/* Whether a doublet has links that have to be found again. */
TRG_FN trg_u32 pa_is_unkept(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par, trg_u32 d)
{
    return (trg_u32)(PA_U32(work, par->at.n_links)[d] &&
                     PA_U32(work, par->at.link_first)[d] == PA_NONE);
}

/* A level of the table, for listed doublets with links; with portions those that kept them. */
TRG_KERNEL1(pa_tally, (trg_u32, work), (struct pa_par, par))
{
    PA_EACH (k, work[par.at.totals + PA_TOTAL_LISTED]) {
        const trg_u32 d = PA_U32(work, par.at.order)[k];

        if (PA_U32(work, par.at.n_links)[d] && !(par.portion && pa_is_unkept(work, &par, d)))
            PA_U32(work, par.at.tally)
        [par.level * par.d_room + d] = pa_sum_links(work, &par, par.level, d);
    }
}

/* With portions: the others.  Their candidates are dealt out as in pa_links_count; sums of 64 bits
 * in two words, whose carry is seen by whoever adds. */
TRG_KERNEL1(pa_tally_unkept, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 begin[PA_GROUP_MAX], low[PA_GROUP_MAX], high[PA_GROUP_MAX];
    const trg_u32 n =
        work[par.at.totals + PA_TOTAL_UNKEPT] ? work[par.at.totals + PA_TOTAL_DOUBLETS] : 0u;

    for (trg_u32 tile = TRG_GID * TRG_LSIZE; tile < n; tile += TRG_GROUPS * TRG_LSIZE) {
        const trg_u32 own = tile + TRG_LID;
        const trg_u32 is_mine = (trg_u32)(own < n && pa_is_unkept(work, &par, own));
        trg_u32 portions = 0u, total = 0u;

        if (is_mine) {
            const struct pa_next next = pa_candidates(work, &par, own);

            portions = (next.end - next.first + par.portion - 1u) / par.portion;
        }
        portions = trg_group_scan(scratch, portions, &total);
        begin[TRG_LID] = portions;
        low[TRG_LID] = high[TRG_LID] = 0u;
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < total; i += TRG_LSIZE) {
            const trg_u32 k = trg_portion_owner(begin, TRG_LSIZE, i);
            const trg_u64 sum = pa_sum_portion(work, &par, par.level, tile + k, i - begin[k]);
            const trg_u32 add = (trg_u32)sum, was = TRG_ATOMIC_ADD_LOCAL(&low[k], add);

            TRG_ATOMIC_ADD_LOCAL(&high[k], (trg_u32)(sum >> 32) + (trg_u32)(was + add < was));
        }
        TRG_BARRIER();
        if (is_mine)
            PA_U32(work, par.at.tally)
        [par.level * par.d_room + own] =
            high[TRG_LID] ? 0xffffffffu
                          : pa_add(low[TRG_LID],
                                   pa_may_end(&par, par.level, PA_U32(work, par.at.n_links)[own]));
        TRG_BARRIER();
    }
}

/* Paths that begin with each doublet that is listed; `from` is not needed any more and takes
 * them. */
TRG_KERNEL1(pa_roots, (trg_u32, work), (struct pa_par, par))
{
    PA_EACH (k, work[par.at.totals + PA_TOTAL_LISTED])
        PA_U32(work, par.at.from)[k] = pa_from(work, &par, PA_U32(work, par.at.order)[k]);
}

/* What an RoI with n paths may keep. */
TRG_FN void pa_note_paths(TRG_GLOBAL struct pa_summary *sum, TRG_GLOBAL const trg_u32 *d_first,
                          const struct pa_par *par, trg_u32 r, trg_u64 n)
{
    const trg_u32 most =
        pa_limit(par->paths_per_doublet, d_first[r + 1u] - d_first[r], PA_FREE, par->max_paths);

    sum[r].n_paths = n < 0xffffffffu ? (trg_u32)n : 0xffffffffu;
    sum[r].n_paths_kept = n < most ? (trg_u32)n : most;
}

TRG_KERNEL1(pa_paths_sum, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH (r, par.n_rois)
        pa_note_paths((TRG_GLOBAL struct pa_summary *)(work + par.at.summary),
                      PA_U32(work, par.at.d_first), &par, r,
                      rank[pa_listed_before(work, &par, start[h_first[r + 1u]])] -
                          rank[pa_listed_before(work, &par, start[h_first[r]])]);
}

/* One group: where the paths of each RoI go. */
TRG_KERNEL1(pa_totals, (trg_u32, work), (struct pa_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL const struct pa_summary *sum =
        (TRG_GLOBAL const struct pa_summary *)(work + par.at.summary);
    trg_u32 before = 0u, total = 0u;

    for (trg_u32 tile = 0u; tile < par.n_rois; tile += TRG_LSIZE) {
        const trg_u32 r = tile + TRG_LID;
        const trg_u32 own = r < par.n_rois ? sum[r].n_paths_kept : 0u;
        const trg_u32 at = before + trg_group_scan(scratch, own, &total);

        if (r < par.n_rois)
            PA_U32(work, par.at.path_first)[r] = at;
        before += total;
    }
    if (TRG_LID == 0u) {
        PA_U32(work, par.at.path_first)[par.n_rois] = before;
        work[par.at.totals + PA_TOTAL_PATHS] = before;
    }
}

/* The place in the list, of first .. end - 1, in whose paths number `at` of the batch is. */
TRG_FN trg_u32 pa_root_of(TRG_GLOBAL const trg_u64 *rank, trg_u32 first, trg_u32 end, trg_u64 at)
{
    while (end - first > 1u) {
        const trg_u32 middle = first + (end - first) / 2u;

        if (rank[middle] <= at)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Path `path` is number `left` of those that begin with doublet d. */
TRG_FN void pa_make(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 path, trg_u32 d,
                    trg_u32 left)
{
    trg_u32 level = par->max_doublets - 1u, step = 0u;

    for (;;) {
        const trg_u32 end = pa_may_end(par, level, PA_U32(work, par->at.n_links)[d]);
        struct pa_follow f;

        pa_store_step(work, par, path, step, d);
        if (left < end)
            break;
        left -= end;
        level--;
        step++;
        f = pa_follow_links(work, par, d);
        if (level == 0u && f.of == PA_NONE) {
            f.at += left;
            left = 0u;
        }
        for (;;) {
            trg_u32 below;

            d = pa_next_link(work, par, &f);
            below = pa_below(work, par, level, d);
            if (left < below)
                break;
            left -= below;
        }
    }
    PA_U32(work, par->at.n_hits)[path] = step + 2u;
}

/* Without atomics: every path is made by itself, from its number. */
TRG_KERNEL1(pa_unrank, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u32 *first = PA_U32(work, par.at.path_first);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);
    trg_u32 r = 0u;

    PA_EACH (p, work[par.at.totals + PA_TOTAL_PATHS]) {
        trg_u32 begin, root;
        trg_u64 at;

        r = pa_roi_of(first, par.n_rois, r, p);
        begin = pa_listed_before(work, &par, start[h_first[r]]);
        at = rank[begin] + (p - first[r]);
        root = pa_root_of(rank, begin, pa_listed_before(work, &par, start[h_first[r + 1u]]), at);
        pa_make(work, &par, p, PA_U32(work, par.at.order)[root], (trg_u32)(at - rank[root]));
    }
}

/* ---------------------------------------------------------------- depth-first, serial
 *
 * After pa_links_once, which left in `order` the doublets of each RoI that have links: all paths
 * begin with one of these. */

/* Fills the table for these doublets, and counts the RoI's paths. */
TRG_KERNEL1(pa_depth_count, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL struct pa_summary *sum = (TRG_GLOBAL struct pa_summary *)(work + par.at.summary);

    PA_EACH (r, par.n_rois) {
        TRG_GLOBAL const trg_u32 *linked =
            PA_U32(work, par.at.order) + PA_U32(work, par.at.start)[h_first[r]];
        trg_u64 n = 0;

        for (trg_u32 level = 2u; level < par.max_doublets; level++)
            for (trg_u32 k = 0; k < sum[r].n_linked; k++)
                PA_U32(work, par.at.tally)
        [level * par.d_room + linked[k]] = pa_sum_links(work, &par, level, linked[k]);
        for (trg_u32 k = 0; k < sum[r].n_linked; k++)
            n += pa_from(work, &par, linked[k]);
        pa_note_paths(sum, PA_U32(work, par.at.d_first), &par, r, n);
    }
}

/* The next of `left` links below which there are paths; PA_NONE: there is none. */
TRG_FN trg_u32 pa_next_with_paths(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                  trg_u32 level, struct pa_follow *f, trg_u32 *left)
{
    while (*left) {
        const trg_u32 e = pa_next_link(work, par, f);

        --*left;
        if (pa_below(work, par, level, e))
            return e;
    }
    return PA_NONE;
}

/* Writes the paths that begin with doublet d to places p .. end - 1; returns the next free one. */
TRG_FN trg_u32 pa_walk_from(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 d,
                            trg_u32 p, trg_u32 end)
{
    struct pa_follow follow[PA_STEPS_MAX];
    trg_u32 left[PA_STEPS_MAX], hit[PA_HITS_MAX];
    trg_u32 step = 0u;

    hit[0] = PA_U32(work, par->at.inner)[d];
    while (p < end) { /* doublet d was added as number `step` */
        const trg_u32 level = par->max_doublets - 1u - step;
        const trg_u32 n = PA_U32(work, par->at.n_links)[d];

        hit[step + 1u] = PA_U32(work, par->at.outer)[d];
        if (pa_may_end(par, level, n)) {
            for (trg_u32 k = 0; k < step + 2u; k++)
                PA_U32(work, par->at.path_hit)[k * par->p_room + p] = hit[k];
            PA_U32(work, par->at.n_hits)[p++] = step + 2u;
        }
        left[step] = level ? n : 0u;
        if (left[step])
            follow[step] = pa_follow_links(work, par, d);
        for (d = PA_NONE; d == PA_NONE;) {
            d = pa_next_with_paths(work, par, par->max_doublets - 2u - step, &follow[step],
                                   &left[step]);
            if (d == PA_NONE && step-- == 0u)
                return p;
        }
        step++;
    }
    return p;
}

TRG_KERNEL1(pa_depth_walk, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const struct pa_summary *sum =
        (TRG_GLOBAL const struct pa_summary *)(work + par.at.summary);

    PA_EACH (r, par.n_rois) {
        TRG_GLOBAL const trg_u32 *linked =
            PA_U32(work, par.at.order) + PA_U32(work, par.at.start)[h_first[r]];
        const trg_u32 end = PA_U32(work, par.at.path_first)[r + 1u];
        trg_u32 p = PA_U32(work, par.at.path_first)[r];

        for (trg_u32 k = 0; k < sum[r].n_linked && p < end; k++)
            if (pa_from(work, &par, linked[k]))
                p = pa_walk_from(work, &par, linked[k], p, end);
    }
}
