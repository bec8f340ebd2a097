/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/chains.h"

#include <string.h>

size_t chains_bytes(const struct plan *p)
{
    return (3 + CHAINS_SETS * p->n_words) * sizeof(uint64_t) +
           p->first_block[PLAN_PASSED + 1] * sizeof(uint32_t);
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

static uint32_t *waiting_of(const struct plan *p, void *state) /* by block: legs of chains there */
{
    return (uint32_t *)(void *)chains_of(p, state, CHAINS_SETS);
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

/* Leaves the chains that look where the RoI is. */
static void look_there(const struct plan *p, const struct trg_roi_info *info,
                       struct plan_bits *seeded)
{
    struct plan_bits look = p->everywhere;

    for (uint32_t i = 0; i < p->n_regions; i++)
        if (menu_region_has(&p->region[i].at, info->eta, info->phi_rad))
            for (uint32_t w = 0; w < p->n_words; w++)
                look.w[w] |= p->region[i].chains.w[w];
    for (uint32_t w = 0; w < p->n_words; w++)
        seeded->w[w] &= look.w[w];
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
    if (p->n_regions)
        look_there(p, ev->info, ret_seeded);
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

/* Has those that run wait for their first step. */
static uint64_t begin(const struct plan *p, void *state)
{
    const uint64_t *running = chains_of(p, state, CHAINS_RUNNING);
    uint32_t *waiting = waiting_of(p, state);
    uint64_t waits = 0;

    for (uint32_t w = 0; w < p->n_words; w++)
        for (uint64_t b = running[w]; b; b &= b - 1) {
            const uint32_t chain = 64 * w + (uint32_t)__builtin_ctzll(b), at = p->first[chain].leg;

            waiting[at / PLAN_LEGS] |= 1u << at % PLAN_LEGS;
            waits |= 1ull << p->first[chain].step;
        }
    *waits_of(state) = waits;
    return waits;
}

void chains_select(const struct plan *p, const struct prescales *prescales,
                   const struct chains_event *ev, void *state)
{
    uint64_t *const running = chains_of(p, state, CHAINS_RUNNING);
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
}

uint64_t chains_seed(const struct plan *p, const struct prescales *prescales,
                     const struct chains_event *ev, void *state)
{
    chains_select(p, prescales, ev, state);
    return begin(p, state);
}

/* ---------------------------------------------------------------- steps */

typedef float cuts_float __attribute__((vector_size(PLAN_CUTS * sizeof(float))));
typedef uint32_t cuts_bits __attribute__((vector_size(PLAN_CUTS * sizeof(uint32_t))));
typedef uint64_t cuts_halves __attribute__((vector_size(PLAN_CUTS * sizeof(uint32_t))));

/* Without branches: whether a cut holds cannot be foreseen.  A NaN holds none. */
static inline bool cuts_hold(const struct plan_cuts *c, const float *value)
{
    const cuts_float given = {value[c->value[0]], value[c->value[1]], value[c->value[2]],
                              value[c->value[3]]};
    cuts_float min, max, v;
    cuts_halves holds;
    cuts_bits mask;

    memcpy(&min, c->min, sizeof min);
    memcpy(&max, c->max, sizeof max);
    memcpy(&mask, c->mask, sizeof mask);
    v = (cuts_float)((cuts_bits)given & mask);
    holds = (cuts_halves)((v >= min) & (v <= max));
    return (holds[0] & holds[1]) == UINT64_MAX;
}

static inline bool leg_holds(const struct plan *p, const struct plan_leg *leg, const float *value)
{
    bool holds = cuts_hold(&leg->cuts, value);

    for (uint32_t i = 0; i < leg->n_more; i++)
        holds &= cuts_hold(&p->more[leg->more + i], value);
    return holds;
}

/* Whether a limit cut short what a step finds: it met one, or has its input from one that did. */
static inline bool is_short(const struct plan *p, uint32_t step, uint64_t shorts)
{
    return (p->sources[step] & shorts) != 0;
}

/* Whether a chain goes on after a leg: all hypotheses hold, or what they look at was cut short and
 * the chain passes that. */
static inline bool goes_on(const struct plan *p, const struct plan_leg *leg, const float *value,
                           bool was_short)
{
    return leg_holds(p, leg, value) | (was_short & !leg->cuts_truncated);
}

/* Has the chain of a leg go on to its next one.  Returns that one's step, as a bit. */
static inline uint64_t go_to_next(const struct plan *p, const struct plan_leg *leg, bool goes,
                                  void *state)
{
    const uint64_t passes = goes & (leg->next_step == PLAN_PASSED), ends = passes | !goes,
                   bit = 1ull << leg->chain % 64;

    waiting_of(p, state)[leg->next / PLAN_LEGS] |= (uint32_t)goes << leg->next % PLAN_LEGS;
    chains_of(p, state, CHAINS_RUNNING)[leg->chain / 64] &= ~(bit & -ends);
    chains_of(p, state, CHAINS_RAW)[leg->chain / 64] |= bit & -passes;
    return (ends ^ 1) << leg->next_step % 64;
}

/* The steps that the chains go to which waited for this one. */
static uint64_t leave(const struct plan *p, const struct roi_step *steps, uint32_t step,
                      void *state)
{
    const float *const value = steps[step].result.value;
    const bool was_short = is_short(p, step, *shorts_of(state));
    uint64_t to = 0;

    for (uint32_t i = p->first_block[step]; i < p->first_block[step + 1]; i++) {
        uint32_t left = waiting_of(p, state)[i];

        for (waiting_of(p, state)[i] = 0; left; left &= left - 1) {
            const struct plan_leg *leg = &p->leg[i * PLAN_LEGS + (uint32_t)__builtin_ctz(left)];

            to |= go_to_next(p, leg, goes_on(p, leg, value, was_short), state);
        }
    }
    return to;
}

/* The same of a step that was left out: chains that cannot go on without it wait for ever. */
static uint64_t leave_out(const struct plan *p, uint32_t step, void *state)
{
    uint64_t to = 0;

    for (uint32_t i = p->first_block[step]; i < p->first_block[step + 1]; i++) {
        uint32_t left = waiting_of(p, state)[i];

        for (waiting_of(p, state)[i] = 0; left; left &= left - 1) {
            const struct plan_leg *leg = &p->leg[i * PLAN_LEGS + (uint32_t)__builtin_ctz(left)];

            if (plan_has(p->skips.w, leg->chain)) {
                plan_add(chains_of(p, state, CHAINS_SKIPPED), leg->chain);
                to |= go_to_next(p, leg, true, state);
            } else {
                waiting_of(p, state)[i] |= left & -left;
                *waits_of(state) |= 1ull << step;
            }
        }
    }
    return to;
}

/* Moves the chains on that wait for steps which are behind them by now. */
static void move_on(const struct plan *p, const struct roi_step *steps, uint64_t done,
                    uint64_t ready, void *state)
{
    const uint64_t skipped = chains_skipped(state), behind = done | skipped;

    while (ready) {
        const uint32_t step = (uint32_t)__builtin_ctzll(ready);
        const uint64_t to =
            skipped >> step & 1 ? leave_out(p, step, state) : leave(p, steps, step, state);

        ready = (ready & (ready - 1)) | (to & behind);
        *waits_of(state) |= to & ~behind;
    }
}

uint64_t chains_advance(const struct plan *p, const struct roi_step *steps, uint64_t done,
                        uint64_t fresh, void *state)
{
    const uint64_t before = *waits_of(state);
    uint64_t fed = 0;

    *waits_of(state) &= ~fresh;
    for (uint64_t left = fresh; left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);

        fed |= p->dependents[step];
        *shorts_of(state) |= (uint64_t)(steps[step].result.status == TRG_TRUNCATED) << step;
    }
    move_on(p, steps, done, fresh & before, state);
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

/* Whether all chains that wait for the steps go on without them. */
static bool all_skip(const struct plan *p, uint64_t steps, void *state)
{
    for (; steps; steps &= steps - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(steps);

        for (uint32_t i = p->first_block[step]; i < p->first_block[step + 1]; i++)
            for (uint32_t w = waiting_of(p, state)[i]; w; w &= w - 1)
                if (!plan_has(p->skips.w, p->leg[i * PLAN_LEGS + (uint32_t)__builtin_ctz(w)].chain))
                    return false;
    }
    return true;
}

uint64_t chains_skip(const struct plan *p, const struct roi_step *steps, uint64_t done,
                     uint64_t gone, void *state, bool *ret_fails)
{
    const uint64_t before = *waits_of(state), all = with_dependents(p, gone, done);

    *ret_fails = !all_skip(p, all & before, state);
    if (*ret_fails)
        return 0;
    *skipped_of(state) |= all;
    *waits_of(state) &= ~all;
    move_on(p, steps, done, all & before, state);
    return *waits_of(state) & ~before;
}

/* ---------------------------------------------------------------- those that run */

bool chains_run(void *state)
{
    return *waits_of(state) != 0; /* whatever runs waits for a step */
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
    uint32_t step = p->first[chain].step, at = p->first[chain].leg;

    for (; step != PLAN_PASSED; step = p->leg[at].next_step, at = p->leg[at].next)
        if (!(skipped >> step & 1) && !leg_holds(p, &p->leg[at], steps[step].result.value))
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

/* Of chains that did not run those which would have passed; not those with a step that was not run
 * for another chain either. */
static uint64_t would_pass(const struct plan *p, const struct roi_step *steps, uint64_t done,
                           uint32_t word, uint64_t chains, void *state)
{
    uint64_t passed = 0;

    for (uint64_t b = chains; b; b &= b - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(b), chain = 64 * word + bit;
        uint32_t step = p->first[chain].step, at = p->first[chain].leg;

        if (p->steps[chain] & ~done)
            continue;
        while (step != PLAN_PASSED && goes_on(p, &p->leg[at], steps[step].result.value,
                                              is_short(p, step, *shorts_of(state)))) {
            step = p->leg[at].next_step;
            at = p->leg[at].next;
        }
        passed |= (uint64_t)(step == PLAN_PASSED) << bit;
    }
    return passed;
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
        raw[w] |= would_pass(p, steps, done, w,
                             chains_of(p, state, CHAINS_PRESCALED)[w] & ~p->combined.w[w], state);
    }
    return streams;
}
