/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/decide.h"

#include "menu/chains.h"

void decide_truncated(struct egress *out, const struct engine *e, struct roi *r)
{
    const struct roi_step *steps = pool_steps(egress_pool(out), r);
    void *chains = pool_at(egress_pool(out), r->chains);

    if (chains_passed_short(e->menu->plan, steps, chains) && !egress_may_pass_truncated(out, r))
        chains_fail_short(e->menu->plan, steps, chains);
}

static void conclude(struct engine *e, struct roi *r, const struct roi_step *steps, void *chains)
{
    const struct plan *p = e->menu->plan;
    const uint64_t *accepted = chains_of(p, chains, CHAINS_ACCEPTED);

    r->streams = chains_conclude(p, steps, r->done, chains);
    for (uint32_t w = 0; w < p->n_words; w++)
        r->accept |= accepted[w] != 0;
}

void decide_roi(struct egress *out, struct accounts *accounts, struct histograms *histograms,
                struct engine *e, uint32_t roi)
{
    struct pool *pool = egress_pool(out);
    struct roi *r = &pool->rois[roi];
    void *chains = pool_at(pool, r->chains);

    r->is_decided = true;
    egress_time(out, r);
    if (r->status == TRIGD__V1__STATUS__TRUNCATED)
        decide_truncated(out, e, r);
    if (r->status == TRIGD__V1__STATUS__OK || r->status == TRIGD__V1__STATUS__TRUNCATED) {
        conclude(e, r, pool_steps(pool, r), chains);
        histograms_fill(histograms, e, pool, r, chains);
    } else {
        r->accept = true;
        r->streams = 1ull << e->menu->debug_stream;
    }
    accounts_decided(accounts, r, chains, false);
    egress_roi(out, e, roi);
}

/* What an RoI has in the event: chains that accept it and pass this RoI; those of a skipped one are
 * not known. */
static void limit_to_event(const struct engine *e, struct roi *r, void *chains,
                           const struct event_decision *event)
{
    const struct plan *p = e->menu->plan;
    const bool is_skipped = r->status == TRIGD__V1__STATUS__SKIPPED;
    uint64_t *accepted = chains_of(p, chains, CHAINS_ACCEPTED),
             *raw = chains_of(p, chains, CHAINS_RAW);

    for (uint32_t w = 0; w < p->n_words; w++) {
        accepted[w] = is_skipped ? 0 : accepted[w] & event->accepted.w[w];
        raw[w] = is_skipped ? 0 : raw[w];
    }
}

void decide_roi_of_event(struct egress *out, struct accounts *accounts,
                         struct histograms *histograms, struct engine *e, uint32_t roi,
                         const struct event_decision *event)
{
    struct pool *pool = egress_pool(out);
    struct roi *r = &pool->rois[roi];
    void *chains = pool_at(pool, r->chains);

    r->is_decided = true;
    egress_time(out, r);
    chains_conclude(e->menu->plan, pool_steps(pool, r), r->done, chains);
    limit_to_event(e, r, chains, event);
    if (r->status == TRIGD__V1__STATUS__OK || r->status == TRIGD__V1__STATUS__TRUNCATED)
        histograms_fill(histograms, e, pool, r, chains);
    r->accept = event->accept;
    r->streams = event->streams;
    accounts_decided(accounts, r, chains, false);
    egress_roi(out, e, roi);
}

void decide_refused(struct egress *out, struct accounts *accounts, struct engine *e, uint32_t roi,
                    const struct wire_error *error)
{
    struct pool *pool = egress_pool(out);
    struct roi *r = &pool->rois[roi];

    r->is_decided = true;
    egress_time(out, r);
    r->status = TRIGD__V1__STATUS__ALGO_FAILED; /* for the books: it has no decision */
    accounts_decided(accounts, r, pool_at(pool, r->chains), true);
    egress_refused(out, e, roi, error);
}
