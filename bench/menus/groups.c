/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANES (GROUP_ROIS / 8)

#if defined(__x86_64__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

struct cut {
    float min, max;
    uint32_t mask; /* of the value's bits: without the sign where it is absolute */
    uint32_t value;
};

struct leg { /* a step of a chain, as in the plan */
    uint32_t cut;
    uint16_t chain, next;
    uint8_t n_cuts, next_step;
    bool cuts_truncated;
};

/* Words of RoIs: bit k is RoI k of the group. */
struct groups {
    /* of RoI 8 lane + k at [k][lane]: bits that are made in lanes are in order then */
    _Alignas(64) float value[MENU_STEPS_MAX][TRG_VALUES_MAX][8][LANES];
    const struct menu *m;
    const struct plan *p;
    uint32_t n_legs, n_values[MENU_STEPS_MAX]; /* of a step: those that cuts look at */
    struct leg *leg;                           /* the plan's, by step */
    struct cut *cut;                           /* of one leg after the other */
    uint64_t *waits;                           /* by leg: whose chain waits there */
    uint64_t wants[MENU_STEPS_MAX];            /* chains of theirs wait for the step */
    uint64_t asked[MENU_STEPS_MAX];            /* of heads: they wait for its lanes, or did */
    uint64_t done[MENU_STEPS_MAX], met_limit[MENU_STEPS_MAX];
    uint64_t raw[MENU_CHAINS_MAX], running[MENU_CHAINS_MAX], prescaled[MENU_CHAINS_MAX];
};

/* ---------------------------------------------------------------- the plan */

static uint32_t add_cuts(struct groups *g, uint32_t step, uint32_t n, const struct plan_cuts *c)
{
    for (uint32_t i = 0; i < PLAN_CUTS; i++)
        if (c->mask[i]) { /* it is not absent */
            g->cut[n++] = (struct cut){c->min[i], c->max[i], c->mask[i], c->value[i]};
            if (g->n_values[step] <= c->value[i])
                g->n_values[step] = c->value[i] + 1u;
        }
    return n;
}

/* Marks the legs that chains have: not all of a block are used.  Returns the most cuts of these. */
static uint32_t find_legs(const struct plan *p, uint64_t *ret_used)
{
    uint32_t n_cuts = 0;

    for (uint32_t c = 0; c < p->n_chains; c++) {
        uint32_t step = p->first[c].step, at = p->first[c].leg;

        for (; step != PLAN_PASSED; step = p->leg[at].next_step, at = p->leg[at].next) {
            ret_used[at] = 1;
            n_cuts += (1u + p->leg[at].n_more) * PLAN_CUTS;
        }
    }
    return n_cuts;
}

/* `waits` has the marks of find_legs. */
static void copy_legs(struct groups *g)
{
    const struct plan *p = g->p;
    uint32_t n = 0, step = 0;

    for (uint32_t i = 0; i < g->n_legs; i++) {
        const struct plan_leg *l = &p->leg[i];

        while (i >= p->first_block[step + 1] * PLAN_LEGS)
            step++;
        if (!g->waits[i])
            continue;
        g->leg[i] = (struct leg){.cut = n,
                                 .chain = l->chain,
                                 .next = l->next,
                                 .next_step = l->next_step,
                                 .cuts_truncated = l->cuts_truncated};
        n = add_cuts(g, step, n, &l->cuts);
        for (uint32_t k = 0; k < l->n_more; k++)
            n = add_cuts(g, step, n, &p->more[l->more + k]);
        g->leg[i].n_cuts = (uint8_t)(n - g->leg[i].cut);
    }
}

int groups_new(const struct menu *m, struct groups **ret_groups)
{
    struct groups *g = aligned_alloc(64, (sizeof *g + 63) / 64 * 64);

    if (!g)
        return -ENOMEM;
    memset(g, 0, sizeof *g);
    g->m = m;
    g->p = m->plan;
    g->n_legs = g->p->first_block[PLAN_PASSED] * PLAN_LEGS;
    g->leg = calloc(g->n_legs, sizeof *g->leg);
    g->waits = calloc(g->n_legs, sizeof *g->waits);
    if (g->leg && g->waits)
        g->cut = calloc(find_legs(g->p, g->waits) + 1, sizeof *g->cut);
    if (!g->leg || !g->waits || !g->cut) {
        groups_free(g);
        return -ENOMEM;
    }
    copy_legs(g);
    *ret_groups = g;
    return 0;
}

void groups_free(struct groups *g)
{
    if (!g)
        return;
    free(g->leg);
    free(g->cut);
    free(g->waits);
    free(g);
}

/* ---------------------------------------------------------------- cuts */

typedef float lane_floats __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t lane_words __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef uint8_t lane_bytes __attribute__((vector_size(LANES)));

/* The RoIs whose value a cut lets pass; a NaN does not. */
static inline __attribute__((always_inline)) uint64_t cut_holds(const float value[8][LANES],
                                                                const struct cut *c)
{
    lane_words bits = {0};
    lane_bytes bytes;
    uint64_t holds;

    for (uint32_t k = 0; k < 8; k++) {
        lane_floats v;

        memcpy(&v, value[k], sizeof v);
        v = (lane_floats)((lane_words)v & c->mask);
        bits |= (lane_words)((v >= c->min) & (v <= c->max)) & 1u << k;
    }
    bytes = __builtin_convertvector(bits, lane_bytes);
    memcpy(&holds, &bytes, sizeof holds);
    return holds;
}

/* Those of the RoIs whose chain goes on after a leg. */
static inline __attribute__((always_inline)) uint64_t goes_on(const struct groups *g, uint32_t step,
                                                              const struct leg *l, uint64_t rois,
                                                              uint64_t was_short)
{
    uint64_t holds = rois;

    for (uint32_t i = 0; i < l->n_cuts; i++) {
        const struct cut *c = &g->cut[l->cut + i];

        holds &= cut_holds(g->value[step][c->value], c);
    }
    return holds | (l->cuts_truncated ? 0 : rois & was_short);
}

/* Those for which a limit cut short what a step finds. */
static uint64_t was_short(const struct groups *g, uint32_t step)
{
    uint64_t rois = 0;

    for (uint64_t from = g->p->sources[step]; from; from &= from - 1)
        rois |= g->met_limit[__builtin_ctzll(from)];
    return rois;
}

/* ---------------------------------------------------------------- steps */

/* Asks for a step for some RoIs: for the head of its group, or for the heads that feed it.  Steps
 * stand behind those that feed them. */
static void ask(struct groups *g, uint32_t step, uint64_t rois)
{
    const uint32_t first = g->p->head[step];
    uint64_t heads = 1ull << first, wanted[MENU_STEPS_MAX];

    wanted[first] = rois;
    while (heads) {
        const uint32_t head = 63 - (uint32_t)__builtin_clzll(heads);
        uint64_t fed = wanted[head];

        heads ^= 1ull << head;
        for (uint64_t from = g->p->feeds[head]; from; from &= from - 1) {
            const uint32_t feed = (uint32_t)__builtin_ctzll(from), of = g->p->head[feed];
            const uint64_t missing = wanted[head] & ~g->done[feed];

            if (!missing)
                continue;
            fed &= ~missing;
            wanted[of] = (heads >> of & 1 ? wanted[of] : 0) | missing;
            heads |= 1ull << of;
        }
        g->asked[head] |= fed;
    }
}

/* Lets the chains of some RoIs go on that wait for a step.  Returns the steps that they go to. */
static WIDE uint64_t leave(struct groups *g, uint32_t step, uint64_t rois)
{
    const uint32_t *const first = &g->p->first_block[step];
    const uint64_t limited = was_short(g, step);
    uint64_t to = 0;

    g->wants[step] &= ~rois;
    for (uint32_t i = first[0] * PLAN_LEGS; i < first[1] * PLAN_LEGS; i++) {
        const struct leg *l = &g->leg[i];
        const uint64_t here = g->waits[i] & rois;
        uint64_t goes;

        if (!here)
            continue;
        g->waits[i] ^= here;
        goes = goes_on(g, step, l, here, limited);
        if (l->next_step == PLAN_PASSED) {
            g->raw[l->chain] |= goes;
        } else {
            g->waits[l->next] |= goes;
            g->wants[l->next_step] |= goes;
            to |= 1ull << l->next_step;
        }
    }
    return to;
}

/* Lets all go on that wait for these steps and have them. */
static void move_on(struct groups *g, uint64_t steps)
{
    uint64_t to_ask = 0;

    while (steps) {
        const uint32_t step = (uint32_t)__builtin_ctzll(steps);
        const uint64_t ready = g->wants[step] & g->done[step];

        steps &= steps - 1;
        to_ask |= 1ull << step;
        if (ready)
            steps |= leave(g, step, ready);
    }
    for (; to_ask; to_ask &= to_ask - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(to_ask);
        const uint64_t wanted = g->wants[step] & ~g->done[step];

        if (wanted)
            ask(g, step, wanted);
    }
}

static void take_results(struct groups *g, uint32_t step, uint64_t rois,
                         const struct roi_step *const steps[])
{
    g->done[step] |= rois;
    for (; rois; rois &= rois - 1) {
        const uint32_t k = (uint32_t)__builtin_ctzll(rois);
        const struct trg_result *r = &steps[k][step].result;

        for (uint32_t i = 0; i < g->n_values[step]; i++)
            g->value[step][i][k % 8][k / 8] = r->value[i];
        g->met_limit[step] |= (uint64_t)(r->status == TRG_TRUNCATED) << k;
    }
}

/* A batch comes back. */
static void advance(struct groups *g, uint32_t head, uint64_t rois,
                    const struct roi_step *const steps[])
{
    const uint64_t members = g->m->steps[head].members;
    uint64_t fed = members;

    for (uint64_t left = members; left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);

        take_results(g, step, rois, steps);
        fed |= g->p->dependents[step];
    }
    move_on(g, fed);
}

/* ---------------------------------------------------------------- from and to sets of chains */

/* Rows become columns (Warren, Hacker's Delight, 7-3). */
static void transpose(uint64_t a[64])
{
    uint64_t mask = 0x00000000ffffffff;

    for (uint32_t j = 32; j; j >>= 1, mask ^= mask << j)
        for (uint32_t k = 0; k < 64; k = (k + j + 1) & ~j) {
            const uint64_t t = (a[k] >> j ^ a[k + j]) & mask;

            a[k] ^= t << j;
            a[k + j] ^= t;
        }
}

static void read_sets(const struct groups *g, void *const state[], enum chains_set set,
                      uint64_t *by_chain)
{
    for (uint32_t w = 0; w < g->p->n_words; w++) {
        for (uint32_t k = 0; k < GROUP_ROIS; k++)
            by_chain[64 * w + k] = chains_of(g->p, state[k], set)[w];
        transpose(&by_chain[(size_t)64 * w]);
    }
}

/* Adds to the sets. */
static void write_sets(const struct groups *g, uint64_t *by_chain, void *const state[],
                       enum chains_set set)
{
    for (uint32_t w = 0; w < g->p->n_words; w++) {
        transpose(&by_chain[(size_t)64 * w]);
        for (uint32_t k = 0; k < GROUP_ROIS; k++)
            chains_of(g->p, state[k], set)[w] |= by_chain[64 * w + k];
    }
}

static void begin(struct groups *g, void *const state[])
{
    uint64_t steps = 0;

    memset(g->waits, 0, g->n_legs * sizeof *g->waits);
    memset(g->wants, 0, sizeof g->wants);
    memset(g->asked, 0, sizeof g->asked);
    memset(g->done, 0, sizeof g->done);
    memset(g->met_limit, 0, sizeof g->met_limit);
    memset(g->raw, 0, sizeof g->raw);
    read_sets(g, state, CHAINS_RUNNING, g->running);
    read_sets(g, state, CHAINS_PRESCALED, g->prescaled);
    for (uint32_t c = 0; c < g->p->n_chains; c++)
        if (g->running[c]) {
            g->waits[g->p->first[c].leg] |= g->running[c];
            g->wants[g->p->first[c].step] |= g->running[c];
            steps |= 1ull << g->p->first[c].step;
        }
    move_on(g, steps);
}

/* Leaves those of the prescaled chains that would have passed, as far as their steps ran. */
static WIDE void would_pass(struct groups *g)
{
    for (uint32_t c = 0; c < g->p->n_chains; c++) {
        uint64_t rois = g->prescaled[c];
        uint32_t step = g->p->first[c].step, at = g->p->first[c].leg;

        for (uint64_t left = rois ? g->p->steps[c] : 0; left; left &= left - 1)
            rois &= g->done[__builtin_ctzll(left)];
        for (; rois && step != PLAN_PASSED; step = g->leg[at].next_step, at = g->leg[at].next)
            rois = goes_on(g, step, &g->leg[at], rois, was_short(g, step));
        g->prescaled[c] = rois;
    }
}

static uint64_t accept(const struct plan *p, void *state)
{
    uint64_t streams = 0;

    for (uint32_t w = 0; w < p->n_words; w++) {
        const uint64_t raw = chains_of(p, state, CHAINS_RAW)[w],
                       accepted = chains_of(p, state, CHAINS_RAN)[w] & (raw | p->pass_through.w[w]);

        chains_of(p, state, CHAINS_RUNNING)[w] = 0;
        chains_of(p, state, CHAINS_ACCEPTED)[w] = accepted;
        for (uint64_t b = accepted; b; b &= b - 1)
            streams |= p->streams[64 * w + (uint32_t)__builtin_ctzll(b)];
    }
    return streams;
}

void groups_decide(struct groups *g, const struct roi_step *const steps[GROUP_ROIS],
                   void *const state[GROUP_ROIS], uint64_t ret_streams[GROUP_ROIS])
{
    begin(g, state);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t head = 0; head < g->m->n_steps; head++) {
            const uint64_t rois = g->asked[head] & ~g->done[head];

            if (rois)
                advance(g, head, rois, steps);
            is_new |= rois != 0;
        }
    }
    would_pass(g);
    write_sets(g, g->raw, state, CHAINS_RAW);
    for (uint32_t k = 0; k < GROUP_ROIS; k++)
        ret_streams[k] = accept(g->p, state[k]);
    write_sets(g, g->prescaled, state, CHAINS_RAW);
}
