/* SPDX-License-Identifier: Apache-2.0 */
/* random_model.c - the slow model of a random menu. */
#include <math.h>
#include <string.h>

#include "random_menu.h"

static uint64_t mix(uint64_t x) /* as docs/menus.md has it */
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static bool takes(const struct random_chain *c, const struct trg_roi_info *i)
{
    const uint64_t h =
        mix(mix((uint64_t)c->id << 32 | i->run) ^ ((uint64_t)i->bcid << 32 | i->l1id));

    return c->prescale == 1 || (c->prescale > 1 && h < (uint64_t)(0x1p64 / c->prescale));
}

/* A step, and what feeds it. */
static bool any_of(const struct random_menu *m, int32_t step,
                   bool (*is)(const struct random_menu *, uint32_t, const struct random_event *),
                   const struct random_event *e)
{
    for (; step >= 0; step = m->step[step].from)
        if (is(m, (uint32_t)step, e))
            return true;
    return false;
}

static bool lacks(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    return (m->step[step].reads & ~e->kinds) != 0;
}

static bool is_short(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    (void)m;
    return e->step[step].result.status == TRG_TRUNCATED;
}

static bool is_gone(const struct random_menu *m, uint32_t step, const struct random_event *e)
{
    return e->gone >> m->step[step].head & 1;
}

static bool holds(const struct random_leg *leg, const struct random_event *e)
{
    for (uint32_t i = 0; i < leg->n_cuts; i++) {
        const struct random_cut *c = &leg->cut[i];
        float v = e->step[leg->step].result.value[c->value];

        if (c->absolute)
            v = fabsf(v);
        if (isnan(v) || (c->has_min && v < c->min) || (c->has_max && v > c->max))
            return false;
    }
    return true;
}

static bool leg_passes(const struct random_menu *m, const struct random_chain *c, uint32_t k,
                       const struct random_event *e)
{
    return holds(&c->leg[k], e) ||
           (!c->cuts_truncated && any_of(m, (int32_t)c->leg[k].step, is_short, e));
}

/* Runs the steps of a chain as far as they pass; whether all do. */
static bool run_chain(const struct random_menu *m, const struct random_chain *c,
                      const struct random_event *e, uint64_t *done, bool *fails)
{
    for (uint32_t k = 0; k < c->n_legs; k++) {
        for (int32_t s = (int32_t)c->leg[k].step; s >= 0; s = m->step[s].from)
            *done |= any_of(m, s, is_gone, e) ? 0 : 1ull << s;
        if (any_of(m, (int32_t)c->leg[k].step, is_gone, e)) {
            if (c->skips)
                continue;
            *fails = true;
            return false;
        }
        if (!leg_passes(m, c, k, e))
            return false;
    }
    return true;
}

static bool passes_without_limits(const struct random_menu *m, const struct random_chain *c,
                                  const struct random_event *e)
{
    for (uint32_t k = 0; k < c->n_legs; k++)
        if (!any_of(m, (int32_t)c->leg[k].step, is_gone, e) && !holds(&c->leg[k], e))
            return false;
    return true;
}

static bool would_pass(const struct random_menu *m, const struct random_chain *c,
                       const struct random_event *e, uint64_t done)
{
    for (uint32_t k = 0; k < c->n_legs; k++)
        if (any_of(m, (int32_t)c->leg[k].step, lacks, e) || !(done >> c->leg[k].step & 1) ||
            !leg_passes(m, c, k, e))
            return false;
    return true;
}

/* Whether the chain looks at an RoI there: phi and one turn more may be between the limits. */
static bool looks_at(const struct random_chain *c, const struct random_event *e)
{
    bool does = !c->n_regions;

    for (uint32_t i = 0; i < c->n_regions; i++) {
        const struct random_region *r = &c->region[i];
        const double eta = (double)e->info.eta, phi = (double)e->info.phi_rad,
                     end = r->phi_max + (r->phi_max < r->phi_min ? 6.283185307179586 : 0);
        const bool in_phi = (phi >= r->phi_min && phi < end) || phi + 6.283185307179586 < end;

        does |= (!r->has_eta || (eta >= r->eta_min && eta < r->eta_max)) && (!r->has_phi || in_phi);
    }
    return (!c->types || c->types >> e->type & 1) && does;
}

static bool is_seeded(const struct random_chain *c, const struct random_event *e, uint32_t n_rois)
{
    return c->multiplicity <= (n_rois ? n_rois : 1) &&
           (!c->l1_mask || c->l1_mask & e->info.l1_bits);
}

/* Notes the chains that a chain is made of, and what those are made of. */
static void need(const struct random_menu *m, uint32_t chain, uint32_t node, bool *needed)
{
    const struct random_node *n = &m->chain[chain].node[node];

    if (n->op == 'c') {
        needed[n->a] = true;
        if (m->chain[n->a].n_nodes)
            need(m, n->a, m->chain[n->a].n_nodes - 1, needed);
        return;
    }
    need(m, chain, n->a, needed);
    if (n->op != '!')
        need(m, chain, n->b, needed);
}

/* Chains that run because a combination wants to know. */
static void find_needed(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool *needed)
{
    memset(needed, 0, MENU_CHAINS_MAX * sizeof *needed);
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (m->chain[i].n_nodes && is_seeded(&m->chain[i], e, n_rois) &&
            takes(&m->chain[i], &e->info))
            need(m, i, m->chain[i].n_nodes - 1, needed);
}

static void begin_chain(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool is_needed, uint32_t i, struct random_answer *a)
{
    const struct random_chain *c = &m->chain[i];
    bool is_lacking = false, does_take = takes(c, &e->info);

    a->seeded[i] = looks_at(c, e) && is_seeded(c, e, n_rois) && (!c->n_nodes || n_rois < 2);
    if (!a->seeded[i])
        return;
    for (uint32_t k = 0; k < c->n_legs; k++)
        is_lacking |= any_of(m, (int32_t)c->leg[k].step, lacks, e);
    a->lacking[i] = (does_take || is_needed) && is_lacking;
    a->prescaled[i] = !does_take && !a->lacking[i];
    a->ran[i] = does_take && !is_lacking;
}

/* What a chain counts as: passed, failed, both or neither. */
struct counts_as {
    bool passed, failed;
};

/* A chain of one RoI or several; `answers` are of the RoIs, with may_pass_short as it was. */
static struct counts_as of_legs(const struct random_menu *m, uint32_t chain,
                                const struct random_event *rois,
                                const struct random_answer *answers, uint32_t n_rois,
                                bool cuts_truncated)
{
    const struct random_chain *c = &m->chain[chain];
    uint32_t surely = 0, by_limit = 0, lacking = 0;

    if (!is_seeded(c, &rois[0], n_rois))
        return (struct counts_as){.failed = true};
    for (uint32_t i = 0; i < n_rois; i++) {
        const bool raw = answers[i].passed[chain],
                   holds_all = passes_without_limits(m, c, &rois[i]);

        lacking += answers[i].lacking[chain];
        surely += raw && holds_all;
        by_limit += raw && !holds_all;
    }
    return (struct counts_as){.passed = surely + (cuts_truncated ? 0 : by_limit) >= c->multiplicity,
                              .failed = surely + lacking < c->multiplicity};
}

static struct counts_as of_chain(const struct random_menu *m, uint32_t chain,
                                 const struct random_event *rois,
                                 const struct random_answer *answers, uint32_t n_rois,
                                 bool cuts_truncated);

static struct counts_as of_node(const struct random_menu *m, uint32_t chain, uint32_t node,
                                const struct random_event *rois,
                                const struct random_answer *answers, uint32_t n_rois,
                                bool cuts_truncated)
{
    const struct random_node *n = &m->chain[chain].node[node];
    struct counts_as a, b;

    if (n->op == 'c')
        return of_chain(m, n->a, rois, answers, n_rois, cuts_truncated);
    a = of_node(m, chain, n->a, rois, answers, n_rois, cuts_truncated);
    if (n->op == '!')
        return (struct counts_as){.passed = a.failed, .failed = a.passed};
    b = of_node(m, chain, n->b, rois, answers, n_rois, cuts_truncated);
    if (n->op == '&')
        return (struct counts_as){.passed = a.passed && b.passed, .failed = a.failed || b.failed};
    return (struct counts_as){.passed = a.passed || b.passed, .failed = a.failed && b.failed};
}

static struct counts_as of_chain(const struct random_menu *m, uint32_t chain,
                                 const struct random_event *rois,
                                 const struct random_answer *answers, uint32_t n_rois,
                                 bool cuts_truncated)
{
    const struct random_chain *c = &m->chain[chain];

    if (!c->n_nodes)
        return of_legs(m, chain, rois, answers, n_rois, cuts_truncated);
    if (!is_seeded(c, &rois[0], n_rois))
        return (struct counts_as){.failed = true};
    return of_node(m, chain, c->n_nodes - 1, rois, answers, n_rois, cuts_truncated);
}

static void accept(const struct random_menu *m, uint32_t i, struct random_answer *a)
{
    a->accepted[i] = a->ran[i] && (a->raw[i] || m->chain[i].pass_through);
    if (a->accepted[i])
        a->streams |= m->chain[i].streams;
}

void random_menu_decide(const struct random_menu *m, const struct random_event *e, uint32_t n_rois,
                        bool may_pass_short, struct random_answer *ret_answer)
{
    struct random_answer *a = ret_answer;
    static bool needed[MENU_CHAINS_MAX];

    memset(a, 0, sizeof *a);
    find_needed(m, e, n_rois, needed);
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct random_chain *c = &m->chain[i];

        begin_chain(m, e, n_rois, needed[i], i, a);
        if (!c->n_nodes && (a->ran[i] || (needed[i] && a->prescaled[i])))
            a->raw[i] = run_chain(m, c, e, &a->done, &a->fails);
        if (a->raw[i] && !may_pass_short)
            a->raw[i] = passes_without_limits(m, c, e);
        a->passed[i] = a->raw[i];
    }
    for (uint32_t i = 0; i < m->n_chains; i++) {
        if (m->chain[i].n_nodes && a->ran[i])
            a->raw[i] = of_chain(m, i, e, a, 1, m->chain[i].cuts_truncated).passed;
        accept(m, i, a);
    }
    for (uint32_t s = 0; s < m->n_steps; s++) /* what runs in the batches of a step */
        if (a->done >> m->step[s].head & 1)
            a->done |= 1ull << s;
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (a->prescaled[i] && !m->chain[i].n_nodes)
            a->raw[i] |= would_pass(m, &m->chain[i], e, a->done);
}

void random_menu_decide_event(const struct random_menu *m, const struct random_event *rois,
                              const bool *may_pass_short, uint32_t n_rois,
                              struct random_answer *ret_answer)
{
    static struct random_answer answers[RANDOM_ROIS];
    struct random_answer *a = ret_answer;

    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < n_rois; i++)
        random_menu_decide(m, &rois[i], n_rois, may_pass_short[i], &answers[i]);
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct random_chain *c = &m->chain[i];

        if (!is_seeded(c, &rois[0], n_rois) || !takes(c, &rois[0].info))
            continue;
        a->ran[i] = c->n_nodes != 0;
        for (uint32_t k = 0; k < n_rois; k++)
            a->ran[i] |= answers[k].ran[i];
        a->raw[i] = of_chain(m, i, rois, answers, n_rois, c->n_nodes && c->cuts_truncated).passed;
        accept(m, i, a);
    }
}
