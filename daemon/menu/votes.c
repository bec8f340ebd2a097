/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/votes.h"

#include <string.h>

static uint8_t *count_of(struct votes *v, const struct plan *p, enum votes_kind kind)
{
    return v->count + (size_t)kind * p->n_chains;
}

/* Counts one RoI for each of the chains. */
static void add(struct votes *v, const struct plan *p, enum votes_kind kind, uint32_t word,
                uint64_t chains)
{
    uint8_t *count = count_of(v, p, kind) + 64 * (size_t)word;

    for (; chains; chains &= chains - 1)
        count[__builtin_ctzll(chains)]++;
}

void votes_begin(struct votes *v, const struct plan *p, const struct prescales *prescales,
                 const struct trg_roi_info *info, uint32_t n_rois, uint8_t *count)
{
    *v = (struct votes){.n_rois = n_rois, .count = count};
    memset(count, 0, votes_bytes(p));
    chains_fired(p, info->l1_bits, &v->seeded);
    for (uint32_t w = 0; w < p->n_words; w++) {
        v->seeded.w[w] &= plan_enough(p, n_rois)->w[w];
        v->candidate.w[w] = prescales_take(prescales, w, v->seeded.w[w], info);
        v->open.w[w] = v->candidate.w[w];
        v->ran.w[w] = v->candidate.w[w] & p->combined.w[w];
    }
    chains_needed(p, prescales, info, &v->seeded, &v->needed);
}

/* Chains that run on an RoI, for themselves or for combinations. */
static uint64_t running(const struct votes *v, const struct plan *p, void *state, uint32_t word)
{
    return chains_of(p, state, CHAINS_RAN)[word] |
           (chains_of(p, state, CHAINS_PRESCALED)[word] & v->needed.w[word]);
}

/* Chains whose RoIs are counted. */
static uint64_t counted(const struct votes *v, const struct plan *p, uint32_t word)
{
    return (v->candidate.w[word] | v->needed.w[word]) & ~p->combined.w[word];
}

void votes_come(struct votes *v, const struct plan *p, void *state)
{
    for (uint32_t w = 0; w < p->n_words; w++) {
        add(v, p, VOTES_ANSWERED, w, counted(v, p, w) & ~running(v, p, state, w));
        add(v, p, VOTES_LACKING, w, chains_of(p, state, CHAINS_LACKING)[w]);
        v->ran.w[w] |= chains_of(p, state, CHAINS_RAN)[w];
    }
}

void votes_end(struct votes *v, const struct plan *p, const struct roi_step *steps, void *state)
{
    const uint64_t *raw = chains_of(p, state, CHAINS_RAW);
    struct plan_bits by_limit;

    chains_short(p, steps, state, &by_limit);
    for (uint32_t w = 0; w < p->n_words; w++) {
        const uint64_t ran = running(v, p, state, w);

        add(v, p, VOTES_ANSWERED, w, ran);
        add(v, p, VOTES_PASSED, w, ran & raw[w] & ~by_limit.w[w]);
        add(v, p, VOTES_SHORT, w, ran & raw[w] & by_limit.w[w]);
    }
}

/* ---------------------------------------------------------------- settling */

/* The value of a chain with steps, as it stands and as it can still become. */
static combination_value value_of(struct votes *v, const struct plan *p, uint32_t chain)
{
    const uint32_t wanted = p->multiplicity[chain];
    const uint32_t still = v->n_rois - count_of(v, p, VOTES_ANSWERED)[chain];
    const uint32_t passed = count_of(v, p, VOTES_PASSED)[chain];
    const uint32_t by_limit = count_of(v, p, VOTES_SHORT)[chain];
    const uint32_t lacking = count_of(v, p, VOTES_LACKING)[chain];
    uint32_t value = 0;

    if (passed + by_limit >= wanted)
        value |= COMBINATION_PASSED(COMBINATION_NOW);
    if (passed + by_limit + still >= wanted)
        value |= COMBINATION_PASSED(COMBINATION_MAY);
    if (passed >= wanted)
        value |= COMBINATION_PASSED(COMBINATION_NOW_CUT);
    if (passed + still >= wanted)
        value |= COMBINATION_PASSED(COMBINATION_MAY_CUT);
    if (passed + lacking + still < wanted)
        value |= COMBINATION_FAILED(COMBINATION_NOW) | COMBINATION_FAILED(COMBINATION_NOW_CUT);
    if (passed + lacking < wanted)
        value |= COMBINATION_FAILED(COMBINATION_MAY) | COMBINATION_FAILED(COMBINATION_MAY_CUT);
    return (combination_value)value;
}

/* Notes the value of an open chain when it cannot change any more. */
static void settle(struct votes *v, const struct plan *p, uint32_t chain, combination_value value,
                   enum combination_plane now)
{
    const bool passed = value & COMBINATION_PASSED(now);

    if (passed != ((value & COMBINATION_PASSED(now + 1)) != 0))
        return;
    if (plan_has(p->pass_through.w, chain) && !plan_has(v->ran.w, chain) &&
        count_of(v, p, VOTES_ANSWERED)[chain] < v->n_rois)
        return; /* it would accept what it runs on */
    v->open.w[chain / 64] &= ~(1ull << (chain % 64));
    if (passed)
        plan_add(v->raw.w, chain);
}

static void settle_combinations(struct votes *v, const struct plan *p)
{
    combination_value value[MENU_CHAINS_MAX];

    for (uint32_t i = 0; i < p->n_combinations; i++)
        for (uint32_t w = 0; w < p->n_words; w++)
            for (uint64_t b = p->combination[i].operands.w[w]; b; b &= b - 1) {
                const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);

                value[chain] = v->seeded.w[w] & b & -b ? value_of(v, p, chain) : COMBINATION_NEVER;
            }
    for (uint32_t i = 0; i < p->n_combinations; i++) {
        const struct plan_combination *c = &p->combination[i];

        value[c->chain] =
            plan_has(v->seeded.w, c->chain) ? combination_of(c->of, value) : COMBINATION_NEVER;
        if (plan_has(v->open.w, c->chain))
            settle(v, p, c->chain, value[c->chain],
                   c->cuts_truncated ? COMBINATION_NOW_CUT : COMBINATION_NOW);
    }
}

bool votes_settle(struct votes *v, const struct plan *p)
{
    uint64_t any = 0;

    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = v->open.w[w] & ~p->combined.w[w]; b; b &= b - 1) {
            const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);

            settle(v, p, chain, value_of(v, p, chain), COMBINATION_NOW);
        }
    if (p->n_combinations)
        settle_combinations(v, p);
    for (uint32_t w = 0; w < p->n_words; w++)
        any |= v->open.w[w];
    return !any;
}

uint64_t votes_accepted(const struct votes *v, const struct plan *p, struct plan_bits *ret_accepted)
{
    uint64_t streams = 0;

    *ret_accepted = (struct plan_bits){{0}};
    for (uint32_t w = 0; w < p->n_words; w++) {
        ret_accepted->w[w] =
            v->candidate.w[w] & (v->raw.w[w] | (p->pass_through.w[w] & v->ran.w[w]));
        for (uint64_t b = ret_accepted->w[w]; b; b &= b - 1)
            streams |= p->streams[64 * w + (uint32_t)__builtin_ctzll(b)];
    }
    return streams;
}
