/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/decide.h"

#include <math.h>

static bool cut_holds(const struct menu_cut *cut, float value)
{
    if (cut->absolute)
        value = fabsf(value);
    return value >= cut->min && value <= cut->max; /* a NaN holds no cut */
}

static bool holds(const struct engine *e, const struct roi_step *steps, uint32_t chain, uint32_t k)
{
    const struct menu_chain *c = &e->menu->chains[chain];
    const struct trg_result *result = &steps[c->steps[k].step].result;

    for (uint32_t i = 0; i < c->steps[k].n_cuts; i++)
        if (!cut_holds(&c->steps[k].cuts[i], result->value[c->steps[k].cuts[i].value]))
            return false;
    return true;
}

/* Whether a step met a limit, or has its input from one that did. */
static bool is_cut_short(const struct menu *m, const struct roi_step *steps, uint32_t step)
{
    bool is = steps[step].result.status == TRG_TRUNCATED;

    for (uint32_t k = 0; k < m->steps[step].plugin->n_inputs && !is; k++)
        is = m->steps[step].input[k] >= 0 &&
             is_cut_short(m, steps, (uint32_t)m->steps[step].input[k]);
    return is;
}

bool decide_goes_on(const struct engine *e, const struct roi_step *steps, uint32_t chain,
                    uint32_t k)
{
    const struct menu_chain *c = &e->menu->chains[chain];

    return holds(e, steps, chain, k) ||
           (!c->cuts_truncated && is_cut_short(e->menu, steps, c->steps[k].step));
}

/* Whether a chain that passed did so only because a limit cut its data short. */
static bool passed_by_limit(const struct engine *e, const struct roi_step *steps, uint32_t chain,
                            uint8_t state)
{
    for (uint32_t k = 0; state == CHAIN_PASSED && k < e->menu->chains[chain].n_steps; k++)
        if (!holds(e, steps, chain, k))
            return true;
    return false;
}

/* Chains that passed only by a limit fail when their client has had its share of that. */
static void check_truncated(struct egress *out, const struct engine *e, const struct roi *r,
                            const struct roi_step *steps, uint8_t *chains)
{
    bool is_by_limit = false;

    for (uint32_t i = 0; i < e->menu->n_chains && !is_by_limit; i++)
        is_by_limit = passed_by_limit(e, steps, i, chains[i]);
    if (!is_by_limit || egress_may_pass_truncated(out, r))
        return;
    for (uint32_t i = 0; i < e->menu->n_chains; i++)
        if (passed_by_limit(e, steps, i, chains[i]))
            chains[i] = CHAIN_FAILED;
}

/* Whether a chain that did not run would have passed; false where a step of it was not run
 * for another chain either. */
static bool would_pass(const struct engine *e, const struct roi *r, const struct roi_step *steps,
                       uint32_t chain)
{
    const struct menu_chain *c = &e->menu->chains[chain];

    for (uint32_t k = 0; k < c->n_steps; k++)
        if (!(r->done >> c->steps[k].step & 1) || !decide_goes_on(e, steps, chain, k))
            return false;
    return true;
}

static void set_bit(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= 1ull << (i % 64);
}

static void decide_chain(struct engine *e, struct roi *r, const struct roi_step *steps,
                         uint32_t chain, uint8_t state)
{
    const struct menu_chain *c = &e->menu->chains[chain];
    bool raw =
        state == CHAIN_PASSED || (state == CHAIN_PRESCALED && would_pass(e, r, steps, chain));
    bool ran = state == CHAIN_PASSED || state == CHAIN_FAILED;

    if (raw) {
        set_bit(r->raw, chain);
        stats_add(&e->chain[chain]->raw_pass, 1);
    }
    if (ran && (raw || c->pass_through)) {
        set_bit(r->pass, chain);
        stats_add(&e->chain[chain]->pass, 1);
        r->streams |= c->streams;
        r->accept = true;
    }
}

/* Counts the chains that the RoI's failure stopped. */
static void fail_chains(struct engine *e, const uint8_t *chains)
{
    for (uint32_t i = 0; i < e->menu->n_chains; i++)
        if (chains[i] >= CHAIN_RUNNING)
            stats_add(&e->chain[i]->failed, 1);
}

void decide_roi(struct egress *out, struct engine *e, uint32_t roi)
{
    struct pool *pool = egress_pool(out);
    struct roi *r = &pool->rois[roi];
    uint8_t *chains = pool_at(pool, r->chains);

    r->is_decided = true;
    if (r->status == TRIGD__V1__STATUS__TRUNCATED)
        check_truncated(out, e, r, pool_steps(pool, r), chains);
    if (r->status == TRIGD__V1__STATUS__OK || r->status == TRIGD__V1__STATUS__TRUNCATED) {
        for (uint32_t i = 0; i < e->menu->n_chains; i++)
            decide_chain(e, r, pool_steps(pool, r), i, chains[i]);
    } else {
        r->accept = true;
        r->streams = 1ull << e->menu->debug_stream;
        fail_chains(e, chains);
    }
    egress_roi(out, e, roi);
}

void decide_refused(struct egress *out, struct engine *e, uint32_t roi,
                    const struct wire_error *error)
{
    struct pool *pool = egress_pool(out);
    struct roi *r = &pool->rois[roi];

    r->is_decided = true;
    r->status = TRIGD__V1__STATUS__ALGO_FAILED; /* nobody is told: it is for the books */
    fail_chains(e, pool_at(pool, r->chains));
    egress_refused(out, e, roi, error);
}
