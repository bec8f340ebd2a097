/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- steps */

static void plan_step(const struct menu *m, struct plan *p, uint32_t s)
{
    const struct menu_step *step = &m->steps[s];

    p->head[s] = step->head;
    p->sources[s] = 1ull << s;
    for (uint32_t k = 0; k < step->plugin->n_inputs; k++) {
        if (step->input[k] < 0) {
            p->step_reads[s] |= 1u << step->plugin->consumes[k];
            continue;
        }
        p->sources[s] |= p->sources[step->input[k]]; /* a step above */
        p->step_reads[s] |= p->step_reads[step->input[k]];
        if (step->head == s)
            p->feeds[s] |= 1ull << step->input[k];
    }
    for (uint64_t left = p->sources[s] & ~(1ull << s); left; left &= left - 1)
        p->dependents[__builtin_ctzll(left)] |= 1ull << s;
}

uint64_t plan_to_run(const struct plan *p, uint32_t step, uint64_t done)
{
    const uint32_t head = p->head[step];
    uint64_t heads = 0, missing = p->feeds[head] & ~done;

    if (!missing)
        return 1ull << head;
    for (; missing; missing &= missing - 1)
        heads |= plan_to_run(p, (uint32_t)__builtin_ctzll(missing), done);
    return heads;
}

uint64_t plan_whole(const struct plan *p, uint64_t steps, uint32_t kinds)
{
    uint64_t whole = steps;

    if (!(p->reads & ~kinds))
        return steps;
    for (uint64_t left = steps; left; left &= left - 1)
        if (p->step_reads[__builtin_ctzll(left)] & ~kinds)
            whole &= ~(left & -left);
    return whole;
}

/* ---------------------------------------------------------------- chains */

static const struct plan_cuts no_cuts = {.min = {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                         .max = {INFINITY, INFINITY, INFINITY, INFINITY}};

static void plan_cuts_of(const struct menu_cut *cut, uint32_t n, struct plan_cuts *ret_cuts)
{
    *ret_cuts = no_cuts;
    for (uint32_t i = 0; i < n && i < PLAN_CUTS; i++) {
        ret_cuts->value[i] = (uint8_t)cut[i].value;
        ret_cuts->mask[i] = cut[i].absolute ? INT32_MAX : UINT32_MAX;
        ret_cuts->min[i] = cut[i].min;
        ret_cuts->max[i] = cut[i].max;
    }
}

static uint32_t more_cuts(uint32_t n_cuts)
{
    return n_cuts > PLAN_CUTS ? (n_cuts - 1) / PLAN_CUTS : 0;
}

static void plan_leg(const struct menu_chain *c, struct plan *p, uint32_t chain, uint32_t k,
                     uint32_t *n_more)
{
    const struct menu_cut *cuts = c->steps[k].cuts;
    const uint32_t n = c->steps[k].n_cuts;
    struct plan_leg *leg = &p->leg[p->first_leg[chain] + k];

    *leg =
        (struct plan_leg){.step = (uint8_t)c->steps[k].step,
                          .next = k + 1 < c->n_steps ? (uint8_t)c->steps[k + 1].step : PLAN_PASSED,
                          .n_more = (uint8_t)more_cuts(n),
                          .cuts_truncated = c->cuts_truncated,
                          .more = *n_more};
    plan_cuts_of(cuts, n, &leg->cuts);
    for (uint32_t i = PLAN_CUTS; i < n; i += PLAN_CUTS)
        plan_cuts_of(cuts + i, n - i, &p->more[(*n_more)++]);
}

static void plan_legs(const struct menu_chain *c, struct plan *p, uint32_t chain, uint32_t *n_more)
{
    uint32_t reads = 0;

    for (uint32_t k = 0; k < c->n_steps; k++) {
        const uint32_t step = c->steps[k].step;

        plan_leg(c, p, chain, k, n_more);
        p->steps[chain] |= 1ull << step;
        plan_add(p->users[step].w, chain);
        for (uint64_t left = p->sources[step]; left; left &= left - 1)
            p->priorities[p->head[__builtin_ctzll(left)]] |= (uint8_t)(1u << c->priority);
        reads |= p->step_reads[step];
    }
    p->first_leg[chain + 1] = p->first_leg[chain] + c->n_steps;
    p->reads |= reads;
    for (; reads; reads &= reads - 1)
        plan_add(p->needs[__builtin_ctz(reads)].w, chain);
    if (!c->n_steps && !c->combination)
        plan_add(p->stepless.w, chain);
}

static void plan_regions(const struct menu_chain *c, struct plan *p, uint32_t chain)
{
    if (!c->n_regions)
        plan_add(p->everywhere.w, chain);
    for (uint32_t i = 0; i < c->n_regions; i++) {
        uint32_t k = 0;

        while (k < p->n_regions && memcmp(&p->region[k].at, &c->region[i], sizeof *c->region) != 0)
            k++;
        if (k == p->n_regions)
            p->region[p->n_regions++].at = c->region[i];
        plan_add(p->region[k].chains.w, chain);
    }
}

static void plan_chain(const struct menu_chain *c, struct plan *p, uint32_t chain)
{
    const uint64_t types = c->types ? c->types : UINT64_MAX;

    if (!c->l1_mask)
        plan_add(p->always.w, chain);
    for (uint32_t left = c->l1_mask; left; left &= left - 1)
        plan_add(p->seeded_by[__builtin_ctz(left)].w, chain);
    for (uint32_t t = 0; t < ROI_TYPES; t++)
        if (types >> t & 1)
            plan_add(p->looks[t].w, chain);
    if (!c->combination)
        p->types |= types;
    if (c->pass_through)
        plan_add(p->pass_through.w, chain);
    if (c->skips)
        plan_add(p->skips.w, chain);
    plan_add(p->priority[c->priority].w, chain);
    p->streams[chain] = c->streams;
}

static void plan_combination(const struct menu_chain *c, struct plan *p, uint32_t chain)
{
    struct plan_combination *combination = &p->combination[p->n_combinations++];

    *combination = (struct plan_combination){
        .chain = chain, .cuts_truncated = c->cuts_truncated, .of = c->combination};
    plan_add(p->combined.w, chain);
    for (uint32_t i = 0; i < c->combination->n; i++) {
        const uint16_t op = c->combination->op[i];
        const struct plan_combination *other = p->combination;

        if (op >= COMBINATION_AND)
            continue;
        if (!plan_has(p->combined.w, op)) {
            plan_add(combination->operands.w, op);
            continue;
        }
        while (other->chain != op)
            other++;
        for (uint32_t w = 0; w < p->n_words; w++)
            combination->operands.w[w] |= other->operands.w[w];
    }
}

static void plan_event(const struct menu_chain *c, struct plan *p, uint32_t chain)
{
    p->multiplicity[chain] = (uint8_t)c->multiplicity;
    p->is_plain &= c->multiplicity == 1 && !c->combination;
    for (uint32_t n = c->multiplicity; n <= MENU_MULTIPLICITY_MAX; n++)
        plan_add(p->enough[n].w, chain);
    if (c->combination)
        plan_combination(c, p, chain);
}

int plan_new(const struct menu *m, struct plan **ret_plan)
{
    struct plan *p = calloc(1, sizeof *p);
    uint32_t n_legs = 1, n_more = 0, n_regions = 0;

    if (!p)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->n_chains; i++) {
        n_legs += m->chains[i].n_steps;
        n_regions += m->chains[i].n_regions;
        for (uint32_t k = 0; k < m->chains[i].n_steps; k++)
            n_more += more_cuts(m->chains[i].steps[k].n_cuts);
    }
    p->leg = aligned_alloc(PLAN_LINE, n_legs * sizeof *p->leg);
    p->more = calloc(n_more + 1, sizeof *p->more);
    p->region = calloc(n_regions + 1, sizeof *p->region);
    p->combination = calloc(m->n_chains, sizeof *p->combination);
    if (!p->leg || !p->more || !p->region || !p->combination) {
        plan_free(p);
        return -ENOMEM;
    }
    p->n_chains = m->n_chains;
    p->n_words = (m->n_chains + 63) / 64;
    for (uint32_t s = 0; s < m->n_steps; s++)
        plan_step(m, p, s);
    n_more = 0;
    p->first_leg[0] = 1;
    p->is_plain = true;
    for (uint32_t i = 0; i < m->n_chains; i++) {
        plan_event(&m->chains[i], p, i);
        plan_chain(&m->chains[i], p, i);
        plan_regions(&m->chains[i], p, i);
        plan_legs(&m->chains[i], p, i, &n_more);
        p->is_ranked |= m->chains[i].priority != m->chains[0].priority;
    }
    *ret_plan = p;
    return 0;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    free(p->leg);
    free(p->more);
    free(p->region);
    free(p->combination);
    free(p);
}
