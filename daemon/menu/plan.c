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
    p->makers |= (uint64_t)(step->plugin->n_outputs > 0) << s;
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

uint64_t plan_to_feed(const struct plan *p, uint64_t missing, uint64_t done)
{
    uint64_t heads = 0;

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

static void plan_needs(const struct menu_chain *c, struct plan *p, uint32_t chain)
{
    uint32_t reads = 0;

    for (uint32_t k = 0; k < c->n_steps; k++) {
        const uint32_t step = c->steps[k].step;

        p->steps[chain] |= 1ull << step;
        plan_add(p->users[step].w, chain);
        for (uint64_t left = p->sources[step]; left; left &= left - 1)
            p->priorities[p->head[__builtin_ctzll(left)]] |= (uint8_t)(1u << c->priority);
        reads |= p->step_reads[step];
    }
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

/* ---------------------------------------------------------------- legs and their cuts */

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

/* Gives each step the blocks that its legs need. */
static int plan_blocks(const struct menu *m, struct plan *p)
{
    uint32_t n[MENU_STEPS_MAX] = {0}, n_blocks = 0, n_more = 0;

    for (uint32_t i = 0; i < m->n_chains; i++)
        for (uint32_t k = 0; k < m->chains[i].n_steps; k++) {
            n[m->chains[i].steps[k].step]++;
            n_more += more_cuts(m->chains[i].steps[k].n_cuts);
        }
    for (uint32_t s = 0; s < MENU_STEPS_MAX; s++) {
        p->first_block[s] = n_blocks;
        n_blocks += (n[s] + PLAN_LEGS - 1) / PLAN_LEGS;
    }
    p->first_block[PLAN_PASSED] = n_blocks++;
    p->first_block[PLAN_PASSED + 1] = n_blocks;
    p->leg = aligned_alloc(PLAN_LINE, (size_t)n_blocks * PLAN_LEGS * sizeof *p->leg);
    p->more = calloc(n_more + 1, sizeof *p->more);
    return p->leg && p->more ? 0 : -ENOMEM;
}

/* From the last leg to the first, so that each knows the next one. */
static void plan_legs(const struct menu_chain *c, struct plan *p, uint32_t chain, uint32_t *n,
                      uint32_t *n_more)
{
    uint32_t step = PLAN_PASSED, at = PLAN_LEGS * p->first_block[PLAN_PASSED];

    for (uint32_t k = c->n_steps; k-- > 0;) {
        const struct menu_cut *cuts = c->steps[k].cuts;
        const uint32_t n_cuts = c->steps[k].n_cuts;
        struct plan_leg leg = {.chain = (uint16_t)chain,
                               .next = (uint16_t)at,
                               .next_step = (uint8_t)step,
                               .cuts_truncated = c->cuts_truncated,
                               .n_more = (uint16_t)more_cuts(n_cuts),
                               .more = *n_more};

        plan_cuts_of(cuts, n_cuts, &leg.cuts);
        for (uint32_t i = PLAN_CUTS; i < n_cuts; i += PLAN_CUTS)
            plan_cuts_of(cuts + i, n_cuts - i, &p->more[(*n_more)++]);
        step = c->steps[k].step;
        at = PLAN_LEGS * p->first_block[step] + n[step]++;
        p->leg[at] = leg;
    }
    p->first[chain].leg = (uint16_t)at;
    p->first[chain].step = (uint8_t)step;
}

static int plan_all_legs(const struct menu *m, struct plan *p)
{
    uint32_t n[MENU_STEPS_MAX] = {0}, n_more = 0;
    int r = plan_blocks(m, p);

    for (uint32_t i = 0; r == 0 && i < m->n_chains; i++)
        plan_legs(&m->chains[i], p, i, n, &n_more);
    return r;
}

int plan_new(const struct menu *m, struct plan **ret_plan)
{
    struct plan *p = calloc(1, sizeof *p);
    uint32_t n_regions = 0;
    int r;

    if (!p)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->n_chains; i++)
        n_regions += m->chains[i].n_regions;
    p->region = calloc(n_regions + 1, sizeof *p->region);
    p->combination = calloc(m->n_chains, sizeof *p->combination);
    r = p->region && p->combination ? plan_all_legs(m, p) : -ENOMEM;
    if (r < 0) {
        plan_free(p);
        return r;
    }
    p->n_chains = m->n_chains;
    p->n_words = (m->n_chains + 63) / 64;
    for (uint32_t s = 0; s < m->n_steps; s++)
        plan_step(m, p, s);
    p->is_plain = true;
    for (uint32_t i = 0; i < m->n_chains; i++) {
        plan_event(&m->chains[i], p, i);
        plan_chain(&m->chains[i], p, i);
        plan_regions(&m->chains[i], p, i);
        plan_needs(&m->chains[i], p, i);
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

uint32_t plan_rank(const struct plan *p, uint32_t head)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++)
        all |= p->priorities[i];
    return p->priorities[head] ? (uint32_t)(__builtin_ctz(p->priorities[head]) - __builtin_ctz(all))
                               : 0;
}
