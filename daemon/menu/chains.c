/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/chains.h"

#include <string.h>

size_t chains_bytes(const struct plan *p)
{
    return (3 + CHAINS_SETS * p->n_words) * sizeof(uint64_t) + p->n_chains;
}

static uint64_t *waits_of(void *state) /* steps that chains wait for */
{
    return state;
}

static uint64_t *shorts_of(void *state) /* steps that met a limit */
{
    return (uint64_t *)state + 1;
}

static uint64_t *skipped_of(void *state) /* steps that were left out */
{
    return (uint64_t *)state + 2;
}

static uint8_t *places_of(const struct plan *p, void *state) /* by chain: the leg that it is at */
{
    return (uint8_t *)chains_of(p, state, CHAINS_SETS);
}

static bool is_any(const struct plan *p, const uint64_t *bits)
{
    uint64_t any = 0;

    for (uint32_t w = 0; w < p->n_words; w++)
        any |= bits[w];
    return any != 0;
}

/* ---------------------------------------------------------------- seeds */

void chains_fired(const struct plan *p, uint32_t l1_bits, struct plan_bits *ret_fired)
{
    *ret_fired = p->always;
    for (; l1_bits; l1_bits &= l1_bits - 1)
        for (uint32_t w = 0; w < p->n_words; w++)
            ret_fired->w[w] |= p->seeded_by[__builtin_ctz(l1_bits)].w[w];
}

void chains_needed(const struct plan *p, const struct prescales *prescales,
                   const struct trg_roi_info *info, const struct plan_bits *seeded,
                   struct plan_bits *ret_needed)
{
    *ret_needed = (struct plan_bits){{0}};
    for (uint32_t i = 0; i < p->n_combinations; i++) {
        const struct plan_combination *c = &p->combination[i];
        const uint32_t word = c->chain / 64;

        if (!prescales_take(prescales, word, seeded->w[word] & 1ull << (c->chain % 64), info))
            continue;
        for (uint32_t w = 0; w < p->n_words; w++)
            ret_needed->w[w] |= c->operands.w[w] & seeded->w[w];
    }
}

/* The chains that are seeded, and those of them that run although the prescale does not take them.
 */
static void seed(const struct plan *p, const struct prescales *prescales,
                 const struct chains_event *ev, struct plan_bits *ret_seeded,
                 struct plan_bits *ret_needed)
{
    *ret_needed = (struct plan_bits){{0}};
    chains_fired(p, ev->info->l1_bits, ret_seeded);
    for (uint32_t w = 0; w < p->n_words; w++)
        ret_seeded->w[w] &= p->looks[ev->type].w[w];
    if (p->is_plain)
        return;
    for (uint32_t w = 0; w < p->n_words; w++)
        ret_seeded->w[w] &= plan_enough(p, ev->n_rois)->w[w];
    chains_needed(p, prescales, ev->info, ret_seeded, ret_needed);
    for (uint32_t w = 0; w < p->n_words && ev->n_rois > 1; w++)
        ret_seeded->w[w] &= ~p->combined.w[w];
}

/* Chains that need what the RoI lacks. */
static void lacking(const struct plan *p, uint32_t kinds, struct plan_bits *ret_lacking)
{
    *ret_lacking = (struct plan_bits){{0}};
    for (uint32_t left = p->reads & ~kinds; left; left &= left - 1)
        for (uint32_t w = 0; w < p->n_words; w++)
            ret_lacking->w[w] |= p->needs[__builtin_ctz(left)].w[w];
}

uint64_t chains_seed(const struct plan *p, const struct prescales *prescales,
                     const struct chains_event *ev, void *state)
{
    uint64_t *const running = chains_of(p, state, CHAINS_RUNNING), waits = 0;
    struct plan_bits seeded, needed, lack;

    seed(p, prescales, ev, &seeded, &needed);
    lacking(p, ev->kinds, &lack);
    for (uint32_t w = 0; w < p->n_words; w++) {
        const uint64_t takes = prescales_take(prescales, w, seeded.w[w], ev->info);
        const uint64_t wanted = takes | needed.w[w], lacks = wanted & lack.w[w];

        chains_of(p, state, CHAINS_PRESCALED)[w] = seeded.w[w] & ~(takes | lacks);
        chains_of(p, state, CHAINS_LACKING)[w] = lacks;
        chains_of(p, state, CHAINS_RAN)[w] = takes & ~lacks;
        running[w] = wanted & ~(lacks | p->combined.w[w]);
        chains_of(p, state, CHAINS_RAW)[w] = running[w] & p->stepless.w[w];
        running[w] &= ~p->stepless.w[w];
    }
    for (uint32_t i = 0; i < p->n_first; i++) {
        uint64_t any = 0;

        for (uint32_t w = 0; w < p->n_words; w++)
            any |= running[w] & p->first[i].chains.w[w];
        waits |= (uint64_t)(any != 0) << p->first[i].step;
    }
    *waits_of(state) = waits;
    return waits;
}

/* ---------------------------------------------------------------- steps */

/* Without branches: whether a cut holds cannot be foreseen. */
static bool leg_holds(const struct plan *p, const struct roi_step *steps,
                      const struct plan_leg *leg)
{
    const float *value = steps[leg->step].result.value;
    const struct plan_cut *cut = &p->cut[leg->cut];
    uint32_t holds = 1;

    for (uint32_t i = 0; i < leg->n_cuts; i++) {
        uint32_t bits;
        float v;

        memcpy(&bits, &value[cut[i].value], sizeof bits);
        bits &= cut[i].mask;
        memcpy(&v, &bits, sizeof v);
        holds &= (uint32_t)(v >= cut[i].min) & (uint32_t)(v <= cut[i].max); /* a NaN holds none */
    }
    return holds;
}

/* Whether a chain goes on after a leg: all hypotheses hold, or a limit cut short what they look at
 * (the step met one, or has its input from one that did) and the chain passes that. */
static bool goes_on(const struct plan *p, const struct roi_step *steps, const struct plan_leg *leg,
                    uint64_t shorts)
{
    return leg_holds(p, steps, leg) || (!leg->cuts_truncated && p->sources[leg->step] & shorts);
}

/* `skipped`: the steps that were left out, for chains that go on without them.  Inlined where that
 * is none, which is nearly always. */
static inline __attribute__((always_inline)) void advance_over(const struct plan *p,
                                                               const struct roi_step *steps,
                                                               uint64_t done, uint64_t skipped,
                                                               uint32_t chain, void *state)
{
    const struct plan_leg *const end = &p->leg[p->first_leg[chain + 1]];
    uint8_t *place = &places_of(p, state)[chain];
    const struct plan_leg *leg = &p->leg[p->first_leg[chain] + *place];
    const uint64_t behind = done | skipped;

    for (; leg < end && behind >> leg->step & 1; leg++, ++*place)
        if (skipped >> leg->step & 1)
            plan_add(chains_of(p, state, CHAINS_SKIPPED), chain);
        else if (!goes_on(p, steps, leg, *shorts_of(state)))
            break;
    if (leg < end && !(behind >> leg->step & 1)) {
        *waits_of(state) |= 1ull << leg->step;
        return;
    }
    chains_of(p, state, CHAINS_RUNNING)[chain / 64] &= ~(1ull << (chain % 64));
    if (leg == end)
        plan_add(chains_of(p, state, CHAINS_RAW), chain);
}

static void advance_chain(const struct plan *p, const struct roi_step *steps, uint64_t done,
                          uint32_t chain, void *state)
{
    const uint64_t skipped = plan_has(p->skips.w, chain) ? chains_skipped(state) : 0;

    advance_over(p, steps, done, skipped, chain, state);
}

uint64_t chains_advance(const struct plan *p, const struct roi_step *steps, uint64_t done,
                        uint64_t fresh, void *state)
{
    const uint64_t *running = chains_of(p, state, CHAINS_RUNNING);
    const uint64_t before = *waits_of(state);
    const bool any_skipped = chains_skipped(state) != 0;
    uint64_t fed = 0;

    *waits_of(state) &= ~fresh;
    for (uint64_t left = fresh; left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);

        fed |= p->dependents[step];
        *shorts_of(state) |= (uint64_t)(steps[step].result.status == TRG_TRUNCATED) << step;
    }
    for (uint64_t left = fresh & before; left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);

        for (uint32_t w = 0; w < p->n_words; w++)
            for (uint64_t b = running[w] & p->users[step].w[w]; b; b &= b - 1) {
                const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);

                if (any_skipped)
                    advance_chain(p, steps, done, chain, state);
                else
                    advance_over(p, steps, done, 0, chain, state);
            }
    }
    return *waits_of(state) & (~before | fed);
}

/* ---------------------------------------------------------------- steps that do not come */

/* The steps that a chain cannot have without those. */
static uint64_t with_dependents(const struct plan *p, uint64_t gone, uint64_t done)
{
    uint64_t all = gone;

    for (uint64_t left = gone; left; left &= left - 1)
        all |= p->dependents[__builtin_ctzll(left)];
    return all & ~done;
}

/* Chains that run and wait for one of the steps. */
static void waiting_for(const struct plan *p, uint64_t gone, void *state, struct plan_bits *ret)
{
    const uint64_t *running = chains_of(p, state, CHAINS_RUNNING);

    *ret = (struct plan_bits){{0}};
    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = running[w]; b; b &= b - 1) {
            const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);
            const uint32_t at = p->first_leg[chain] + places_of(p, state)[chain];

            if (gone >> p->leg[at].step & 1)
                ret->w[w] |= b & -b;
        }
}

uint64_t chains_skip(const struct plan *p, const struct roi_step *steps, uint64_t done,
                     uint64_t gone, void *state, bool *ret_fails)
{
    const uint64_t before = *waits_of(state), all = with_dependents(p, gone, done);
    struct plan_bits waiting;
    uint64_t others = 0;

    waiting_for(p, all, state, &waiting);
    for (uint32_t w = 0; w < p->n_words; w++)
        others |= waiting.w[w] & ~p->skips.w[w];
    *ret_fails = others != 0;
    if (others)
        return 0;
    *skipped_of(state) |= all;
    *waits_of(state) &= ~all;
    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = waiting.w[w]; b; b &= b - 1)
            advance_chain(p, steps, done, 64 * w + (uint32_t)__builtin_ctzll(b), state);
    return *waits_of(state) & ~before;
}

/* ---------------------------------------------------------------- those that run */

bool chains_run(const struct plan *p, void *state)
{
    return is_any(p, chains_of(p, state, CHAINS_RUNNING));
}

enum menu_priority chains_priority(const struct plan *p, uint32_t step, void *state)
{
    const uint64_t *running = chains_of(p, state, CHAINS_RUNNING);
    enum menu_priority c = MENU_HIGH;

    for (; c < MENU_LOW; c++)
        for (uint32_t w = 0; w < p->n_words; w++)
            if (running[w] & p->users[step].w[w] & p->priority[c].w[w])
                return c;
    return c;
}

/* ---------------------------------------------------------------- the end */

/* Whether a chain that passed did so only because a limit cut its data short. */
static bool passed_short(const struct plan *p, const struct roi_step *steps, uint64_t skipped,
                         uint32_t chain)
{
    for (uint32_t i = p->first_leg[chain]; i < p->first_leg[chain + 1]; i++)
        if (!(skipped >> p->leg[i].step & 1) && !leg_holds(p, steps, &p->leg[i]))
            return true;
    return false;
}

void chains_short(const struct plan *p, const struct roi_step *steps, void *state,
                  struct plan_bits *ret_short)
{
    const uint64_t *raw = chains_of(p, state, CHAINS_RAW);

    *ret_short = (struct plan_bits){{0}};
    for (uint32_t w = 0; w < p->n_words && *shorts_of(state); w++)
        for (uint64_t b = raw[w]; b; b &= b - 1)
            if (passed_short(p, steps, chains_skipped(state),
                             64 * w + (uint32_t)__builtin_ctzll(b)))
                ret_short->w[w] |= b & -b;
}

bool chains_passed_short(const struct plan *p, const struct roi_step *steps, void *state)
{
    const uint64_t *raw = chains_of(p, state, CHAINS_RAW);

    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = raw[w]; b; b &= b - 1)
            if (passed_short(p, steps, chains_skipped(state),
                             64 * w + (uint32_t)__builtin_ctzll(b)))
                return true;
    return false;
}

bool chains_are_settled(const struct plan *p, const struct roi_step *steps,
                        enum menu_decision decision, void *state)
{
    const uint64_t *raw = chains_of(p, state, CHAINS_RAW);
    uint64_t sure = 0, open = 0;
    bool accepts = false;

    for (uint32_t w = 0; w < p->n_words; w++) {
        const uint64_t running = chains_of(p, state, CHAINS_RUNNING)[w];
        const uint64_t passes = p->pass_through.w[w];

        for (uint64_t b = running; b; b &= b - 1)
            *(passes & b & -b ? &sure : &open) |= p->streams[64 * w + (uint32_t)__builtin_ctzll(b)];
        for (uint64_t b = chains_of(p, state, CHAINS_RAN)[w] & ~running & (raw[w] | passes); b;
             b &= b - 1) {
            const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);

            if (*shorts_of(state) && !(passes & b & -b) &&
                passed_short(p, steps, chains_skipped(state), chain))
                continue; /* its client's limit of such accepts may decide otherwise */
            accepts = true;
            sure |= p->streams[chain];
        }
    }
    return accepts && (decision == MENU_ACCEPT || !(open & ~sure));
}

void chains_fail_short(const struct plan *p, const struct roi_step *steps, void *state)
{
    uint64_t *raw = chains_of(p, state, CHAINS_RAW);

    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = raw[w]; b; b &= b - 1)
            if (passed_short(p, steps, chains_skipped(state),
                             64 * w + (uint32_t)__builtin_ctzll(b)))
                raw[w] &= ~(b & -b);
}

/* Whether a chain that did not run would have passed; false where a step of it was not run
 * for another chain either. */
static bool would_pass(const struct plan *p, const struct roi_step *steps, uint64_t done,
                       uint64_t shorts, uint32_t chain)
{
    for (uint32_t i = p->first_leg[chain]; i < p->first_leg[chain + 1]; i++)
        if (!(done >> p->leg[i].step & 1) || !goes_on(p, steps, &p->leg[i], shorts))
            return false;
    return true;
}

/* A chain's value in an RoI that is alone. */
static combination_value value_of(bool is_there, bool is_lacking, bool is_raw, bool is_short)
{
    const uint32_t all = (1u << COMBINATION_PLANES) - 1,
                   cut = COMBINATION_PASSED(COMBINATION_NOW_CUT) |
                         COMBINATION_PASSED(COMBINATION_MAY_CUT);

    if (!is_there)
        return COMBINATION_NEVER;
    if (is_lacking)
        return 0;
    if (is_short)
        return (combination_value)((all & ~cut) | COMBINATION_NEVER);
    return is_raw ? (combination_value)all : COMBINATION_NEVER;
}

/* Lets the combinations of an RoI that is alone pass or fail. */
static void combine(const struct plan *p, const struct roi_step *steps, void *state)
{
    uint64_t *raw = chains_of(p, state, CHAINS_RAW);
    const uint64_t *ran = chains_of(p, state, CHAINS_RAN),
                   *lacking = chains_of(p, state, CHAINS_LACKING),
                   *prescaled = chains_of(p, state, CHAINS_PRESCALED);
    combination_value value[MENU_CHAINS_MAX];
    struct plan_bits by_limit;

    chains_short(p, steps, state, &by_limit);
    for (uint32_t i = 0; i < p->n_combinations; i++)
        for (uint32_t w = 0; w < p->n_words; w++)
            for (uint64_t b = p->combination[i].operands.w[w]; b; b &= b - 1) {
                const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b);

                value[chain] =
                    value_of(((ran[w] | lacking[w] | prescaled[w]) & b & -b) != 0,
                             lacking[w] & b & -b, raw[w] & b & -b, by_limit.w[w] & b & -b);
            }
    for (uint32_t i = 0; i < p->n_combinations; i++) {
        const struct plan_combination *c = &p->combination[i];
        const enum combination_plane plane =
            c->cuts_truncated ? COMBINATION_NOW_CUT : COMBINATION_NOW;

        value[c->chain] = plan_has(ran, c->chain) || plan_has(prescaled, c->chain)
                              ? combination_of(c->of, value)
                              : COMBINATION_NEVER;
        if (plan_has(ran, c->chain) && value[c->chain] & COMBINATION_PASSED(plane))
            plan_add(raw, c->chain);
    }
}

uint64_t chains_conclude(const struct plan *p, const struct roi_step *steps, uint64_t done,
                         void *state)
{
    uint64_t *raw = chains_of(p, state, CHAINS_RAW);
    uint64_t streams = 0;

    if (p->n_combinations)
        combine(p, steps, state);
    for (uint32_t w = 0; w < p->n_words; w++) {
        const uint64_t accepted =
            chains_of(p, state, CHAINS_RAN)[w] & (raw[w] | p->pass_through.w[w]);

        chains_of(p, state, CHAINS_ACCEPTED)[w] = accepted;
        for (uint64_t b = accepted; b; b &= b - 1)
            streams |= p->streams[64 * w + (uint32_t)__builtin_ctzll(b)];
        for (uint64_t b = chains_of(p, state, CHAINS_PRESCALED)[w] & ~p->combined.w[w]; b;
             b &= b - 1)
            if (would_pass(p, steps, done, *shorts_of(state),
                           64 * w + (uint32_t)__builtin_ctzll(b)))
                raw[w] |= b & -b;
    }
    return streams;
}
