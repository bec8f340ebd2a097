/* SPDX-License-Identifier: Apache-2.0 */
/* Growth breadth-first, kept for study: in the place of pa_unrank of ../paths.kernel.c, and with
 * the same paths in the same places.
 *
 * pa_seed -> pa_grow for each doublet more: one reservation in the queue for each work-item */
#include "../follow.h"
#include "../scan.h"

/* Breadth-first: the first doublet of all paths. */
TRG_KERNEL1(pa_seed, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *h_first = PA_U32(work, par.at.h_first);
    TRG_GLOBAL const trg_u32 *start = PA_U32(work, par.at.start);
    TRG_GLOBAL const trg_u32 *first = PA_U32(work, par.at.path_first);
    TRG_GLOBAL const trg_u64 *rank = PA_U64(work, par.at.rank);

    PA_EACH (k, work[par.at.totals + PA_TOTAL_LISTED]) {
        const trg_u32 d = PA_U32(work, par.at.order)[k];
        const trg_u32 r = pa_roi_of(h_first, par.n_rois, 0u, PA_U32(work, par.at.inner)[d]);
        const trg_u64 at = rank[k] - rank[pa_listed_before(work, &par, start[h_first[r]])];

        if (rank[k + 1u] > rank[k] && at < first[r + 1u] - first[r]) {
            const trg_u32 p = first[r] + (trg_u32)at;

            pa_store_step(work, &par, p, 0u, d);
            PA_U32(work, par.at.tip)[p] = d;
            PA_U32(work, par.at.queue)
            [PA_COUNT(&work[par.at.totals + PA_TOTAL_QUEUE + par.max_doublets - 1u])] = p;
        }
    }
}

/* A path that goes on from `path` at place `to` of the table, by doublet e. */
TRG_FN void pa_branch(TRG_GLOBAL trg_u32 *work, const struct pa_par *par, trg_u32 path, trg_u32 to,
                      trg_u32 step, trg_u32 e)
{
    TRG_GLOBAL trg_u32 *hit = PA_U32(work, par->at.path_hit);

    for (trg_u32 k = 0; k <= step && to != path; k++)
        hit[k * par->p_room + to] = hit[k * par->p_room + path];
    pa_store_step(work, par, to, step, e);
    PA_U32(work, par->at.tip)[to] = e;
    PA_U32(work, par->at.n_hits)[to] = step + 2u;
}

/* Breadth-first: one more doublet.  `level` more may follow after those that paths in the queue
 * have; their places in the table are known, so the order in the queue does not matter. */
TRG_KERNEL1(pa_grow, (trg_u32, work), (struct pa_par, par))
{
    TRG_GLOBAL const trg_u32 *first = PA_U32(work, par.at.path_first);
    TRG_GLOBAL trg_u32 *queue = PA_U32(work, par.at.queue);
    TRG_GLOBAL trg_u32 *size = PA_U32(work, par.at.totals + PA_TOTAL_QUEUE);
    const trg_u32 odd = (par.max_doublets - 1u - par.level) & 1u;
    TRG_GLOBAL const trg_u32 *in = queue + (odd ? par.p_room : 0u);
    TRG_GLOBAL trg_u32 *out = queue + (odd ? 0u : par.p_room);
    const trg_u32 step = par.max_doublets - par.level;

    PA_EACH (q, size[par.level]) {
        const trg_u32 p = in[q], d = PA_U32(work, par.at.tip)[p];
        const trg_u32 end = first[pa_roi_of(first, par.n_rois, 0u, p) + 1u];
        const trg_u32 n = PA_U32(work, par.at.n_links)[d];
        const trg_u32 ends = pa_may_end(&par, par.level, n);
        struct pa_follow f = pa_follow_links(work, &par, d);
        trg_u32 to = p + ends, branches = 0u, at = 0u;

        if (ends)
            PA_U32(work, par.at.n_hits)[p] = step + 1u;
        for (trg_u32 k = 0; k < n && to < end; k++) {
            const trg_u32 e = pa_next_link(work, &par, &f);
            const trg_u32 below = pa_below(work, &par, par.level - 1u, e);

            branches += (trg_u32)(below != 0u);
            to = pa_add(to, below);
        }
        if (par.level > 1u && branches)
            at = TRG_ATOMIC_ADD_GLOBAL(&size[par.level - 1u], branches);
        to = p + ends;
        f = pa_follow_links(work, &par, d);
        for (trg_u32 k = 0; k < n && to < end; k++) {
            const trg_u32 e = pa_next_link(work, &par, &f);
            const trg_u32 below = pa_below(work, &par, par.level - 1u, e);

            if (below == 0u)
                continue;
            pa_branch(work, &par, p, to, step, e);
            if (par.level > 1u)
                out[at++] = to;
            to = pa_add(to, below);
        }
    }
}
