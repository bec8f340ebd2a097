/* SPDX-License-Identifier: Apache-2.0 */
/* The chains of random menus on random events against the slow model of random_menu.c.  With
 * numbers of menus, chains, steps and events it tests those instead: test_menus_chains 4 500 60
 * 100000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "menu/votes.h"
#include "random_menu.h"
#include "seed.h"

static uint32_t n_menus = 6, most_chains = 500, most_steps = 60, n_events = 2000;
static bool is_given; /* then menus have that size */

static struct menu *load(const struct random_menu *random)
{
    char folder[4096], *paths[] = {folder}, *text = random_menu_text(random);
    static struct plugin_host *host;
    struct menu *m = NULL;
    int r = 0;

    assert_non_null(text);
    snprintf(folder, sizeof folder, "%s/config-plugins", getenv("TRIGD_BUILD"));
    if (!host)
        r = plugin_host_new(paths, 1, &host);
    if (r == 0)
        r = menu_load(capture_file("menu.yaml", text), host, &m);
    free(text);
    if (r < 0)
        fail_msg("the menu is refused");
    return m;
}

struct roi_of { /* one RoI on its way */
    struct random_event e;
    bool may_pass_short;
    uint64_t waits, done;
    void *chains;
    bool fails;                   /* a chain needs what no lane serves */
    bool accepts_early, is_early; /* its decision could go out, as the menu may say */
    uint64_t early_streams;       /* what it would have said */
};

/* What a decision says that goes out now. */
static uint64_t streams_now(const struct menu *m, const struct roi_of *r, uint64_t done)
{
    void *copy = malloc(chains_bytes(m->plan));
    uint64_t streams;

    assert_non_null(copy);
    memcpy(copy, r->chains, chains_bytes(m->plan));
    if (!r->may_pass_short && chains_passed_short(m->plan, r->e.step, copy))
        chains_fail_short(m->plan, r->e.step, copy);
    streams = chains_conclude(m->plan, r->e.step, done, copy);
    free(copy);
    return streams;
}

/* Notes the first moments at which the decision could go out. */
static void look_early(const struct menu *m, struct roi_of *r, uint64_t done)
{
    if (!m->plan->is_plain)
        return;
    r->accepts_early |= chains_are_settled(m->plan, r->e.step, MENU_ACCEPT, r->chains);
    if (r->is_early || !chains_are_settled(m->plan, r->e.step, MENU_STREAMS, r->chains))
        return;
    r->is_early = true;
    r->early_streams = streams_now(m, r, done);
}

/* One of the heads in a set, any. */
static uint32_t any_head(uint64_t *state, const struct menu *m, uint64_t heads)
{
    uint32_t head;

    do
        head = (uint32_t)seed_uniform(state, 0, m->n_steps) % m->n_steps;
    while (!(heads >> head & 1));
    return head;
}

/* Takes the steps that wait in any order, as lanes return them, or do not.  Returns those that ran.
 */
static uint64_t run_steps(uint64_t *state, const struct menu *m, struct roi_of *r)
{
    uint64_t asked = 0, done = 0, queued = 0, waits = r->waits;

    for (;;) {
        uint64_t fresh, left;
        uint32_t head;

        look_early(m, r, done);
        for (; waits; waits &= waits - 1)
            queued |= plan_to_run(m->plan, (uint32_t)__builtin_ctzll(waits), done);
        queued &= ~asked;
        asked |= queued;
        left = asked & ~(done | chains_skipped(r->chains));
        if (!left || !chains_run(r->chains))
            break;
        head = any_head(state, m, left);
        fresh = plan_whole(m->plan, m->steps[head].members, r->e.kinds);
        assert_true(fresh != 0); /* nothing was asked for that the RoI has no data for */
        if (r->e.gone >> head & 1) {
            waits =
                chains_skip(m->plan, r->e.step, done, m->steps[head].members, r->chains, &r->fails);
        } else {
            done |= fresh;
            waits = chains_advance(m->plan, r->e.step, done, fresh, r->chains);
        }
        r->fails |= (waits & chains_skipped(r->chains)) != 0;
        if (r->fails)
            return done;
        queued = 0;
    }
    assert_false(chains_run(r->chains)); /* none waits for ever */
    return done;
}

static void same(const char *what, const struct plan *p, const uint64_t *bits, const bool *wanted,
                 uint32_t event)
{
    for (uint32_t i = 0; i < p->n_chains; i++)
        if (plan_has(bits, i) != wanted[i])
            fail_msg("event %u, chain %u: %s is %d, the model says %d", event, i, what,
                     plan_has(bits, i), wanted[i]);
}

static void make_roi(uint64_t *state, const struct random_menu *random, struct roi_of *r)
{
    random_event_make(state, random, 4, 0.2, &r->e);
    r->may_pass_short = seed_uniform(state, 0, 1) < 0.5;
}

static void begin_roi(const struct menu *m, const struct prescales *prescales, uint32_t n_rois,
                      struct roi_of *r)
{
    const struct chains_event ev = {
        .info = &r->e.info, .type = r->e.type, .kinds = r->e.kinds, .n_rois = n_rois};

    memset(r->chains, 0, chains_bytes(m->plan));
    r->waits = chains_seed(m->plan, prescales, &ev, r->chains);
}

static void run_roi(uint64_t *state, const struct menu *m, struct roi_of *r)
{
    r->fails = r->accepts_early = r->is_early = false;
    r->done = run_steps(state, m, r);
    if (!r->may_pass_short && chains_passed_short(m->plan, r->e.step, r->chains))
        chains_fail_short(m->plan, r->e.step, r->chains);
}

static void check_roi(const struct random_menu *random, const struct menu *m, uint32_t n_rois,
                      uint32_t number, struct roi_of *r)
{
    static struct random_answer wanted;
    const struct plan *p = m->plan;
    void *const chains = r->chains;
    const uint64_t streams = chains_conclude(p, r->e.step, r->done, chains);

    random_menu_decide(random, &r->e, n_rois, r->may_pass_short, &wanted);
    same("prescaled", p, chains_of(p, chains, CHAINS_PRESCALED), wanted.prescaled, number);
    same("lacking", p, chains_of(p, chains, CHAINS_LACKING), wanted.lacking, number);
    same("ran", p, chains_of(p, chains, CHAINS_RAN), wanted.ran, number);
    same("raw", p, chains_of(p, chains, CHAINS_RAW), wanted.raw, number);
    same("accepted", p, chains_of(p, chains, CHAINS_ACCEPTED), wanted.accepted, number);
    if (r->done != wanted.done)
        fail_msg("event %u: steps %llx ran, the model says %llx", number,
                 (unsigned long long)r->done, (unsigned long long)wanted.done);
    assert_int_equal(streams, wanted.streams);
    if (r->is_early)
        assert_int_equal(r->early_streams, wanted.streams);
    if (r->accepts_early) /* each chain has a stream */
        assert_true(wanted.streams != 0);
}

/* An RoI for which no lane serves some steps: its chains skip them, or it fails.  Which steps of
 * chains that skip them run before depends on the order. */
static uint32_t check_gone(uint64_t *state, const struct random_menu *random, const struct menu *m,
                           const struct prescales *prescales, uint32_t number, void **chains)
{
    static struct random_answer wanted;
    static struct roi_of r;

    r.chains = chains[0];
    make_roi(state, random, &r);
    for (uint32_t i = 0; i < m->n_steps; i++)
        r.e.gone |= (uint64_t)(m->steps[i].head == i && seed_uniform(state, 0, 1) < 0.1) << i;
    begin_roi(m, prescales, 1, &r);
    run_roi(state, m, &r);
    random_menu_decide(random, &r.e, 1, r.may_pass_short, &wanted);
    assert_int_equal(r.fails, wanted.fails);
    if (r.fails)
        return 0;
    assert_int_equal(chains_conclude(m->plan, r.e.step, r.done, r.chains), wanted.streams);
    same("accepted", m->plan, chains_of(m->plan, r.chains, CHAINS_ACCEPTED), wanted.accepted,
         number);
    assert_int_equal(r.done & ~wanted.done, 0);
    if (r.is_early)
        assert_int_equal(r.early_streams, wanted.streams);
    return chains_skipped(r.chains) != 0;
}

/* An RoI that is alone. */
static void check_single(uint64_t *state, const struct random_menu *random, const struct menu *m,
                         const struct prescales *prescales, uint32_t number, void **chains)
{
    static struct roi_of r;

    r.chains = chains[0];
    make_roi(state, random, &r);
    begin_roi(m, prescales, seed_uniform(state, 0, 1) < 0.5, &r); /* 0 is 1 */
    run_roi(state, m, &r);
    check_roi(random, m, 1, number, &r);
}

/* RoIs of an event come and end in any order.  Once nothing can change any more the chains are
 * those that the model finds when it has seen all RoIs.  Returns how many ended later. */
static uint32_t check_event(uint64_t *state, const struct random_menu *random, const struct menu *m,
                            const struct prescales *prescales, uint32_t number, void **chains)
{
    static struct roi_of roi[RANDOM_ROIS];
    static struct random_event list[RANDOM_ROIS];
    static struct random_answer wanted;
    static uint8_t count[VOTES_KINDS * MENU_CHAINS_MAX];
    const uint32_t n = 2 + (uint32_t)seed_uniform(state, 0, RANDOM_ROIS - 1);
    bool may_pass_short[RANDOM_ROIS], is_settled = false;
    uint32_t come = 0, ended = 0, order[RANDOM_ROIS], early = 0;
    struct plan_bits accepted;
    struct votes v;

    for (uint32_t i = 0; i < n; i++) {
        roi[i].chains = chains[i];
        make_roi(state, random, &roi[i]);
        roi[i].e.info = roi[0].e.info;
        list[i] = roi[i].e;
        may_pass_short[i] = roi[i].may_pass_short;
        order[i] = i;
    }
    votes_begin(&v, m->plan, prescales, &roi[0].e.info, n, count);
    while (ended < n) {
        if (come < n && (come == ended || seed_uniform(state, 0, 1) < 0.5)) {
            begin_roi(m, prescales, n, &roi[come]);
            votes_come(&v, m->plan, roi[come++].chains);
        } else { /* any of those that came */
            const uint32_t k = ended + (uint32_t)seed_uniform(state, 0, come - ended);
            const uint32_t which = order[k];

            order[k] = order[ended];
            order[ended++] = which;
            run_roi(state, m, &roi[which]);
            votes_end(&v, m->plan, roi[which].e.step, roi[which].chains);
        }
        is_settled = votes_settle(&v, m->plan);
        early += is_settled && ended < n;
    }
    assert_true(is_settled);
    random_menu_decide_event(random, list, may_pass_short, n, &wanted);
    same("raw", m->plan, v.raw.w, wanted.raw, number);
    assert_int_equal(votes_accepted(&v, m->plan, &accepted), wanted.streams);
    same("accepted", m->plan, accepted.w, wanted.accepted, number);
    for (uint32_t i = 0; i < n; i++)
        check_roi(random, m, n, number, &roi[i]);
    return early;
}

static bool is_plain(const struct random_menu *random)
{
    for (uint32_t i = 0; i < random->n_chains; i++)
        if (random->chain[i].multiplicity > 1 || random->chain[i].n_nodes)
            return false;
    return true;
}

static void decisions_are_those_of_the_model(void **unused)
{
    uint64_t state = fresh_seed();
    struct random_menu *random = malloc(sizeof *random);
    uint32_t early = 0, skipped = 0;

    (void)unused;
    assert_non_null(random);
    for (uint32_t i = 0; i < n_menus; i++) {
        const uint32_t chains =
            is_given || !i ? most_chains : 1 + (uint32_t)seed_uniform(&state, 0, most_chains);
        const uint32_t steps =
            is_given || !i ? most_steps : 1 + (uint32_t)seed_uniform(&state, 0, most_steps);
        struct prescales prescales;
        struct menu *m;
        void *blocks[RANDOM_ROIS];

        random_menu_make(&state, chains, steps < chains ? steps : chains, i % 2 ? 0 : 3, random);
        if (i % 2 == 0)
            random_menu_place(&state, random);
        if (i % 3 != 1)
            random_menu_combine(&state, random);
        m = load(random);
        assert_int_equal(m->plan->is_plain, is_plain(random));
        prescales_init(m, NULL, &prescales);
        for (uint32_t k = 0; k < RANDOM_ROIS; k++) {
            blocks[k] = malloc(chains_bytes(m->plan));
            assert_non_null(blocks[k]);
        }
        for (uint32_t k = 0; k < n_events; k++)
            check_single(&state, random, m, &prescales, k, blocks);
        for (uint32_t k = 0; k < n_events / 4; k++)
            early += check_event(&state, random, m, &prescales, k, blocks);
        for (uint32_t k = 0; k < n_events / 4 && m->plan->is_plain; k++)
            skipped += check_gone(&state, random, m, &prescales, k, blocks);
        for (uint32_t k = 0; k < RANDOM_ROIS; k++)
            free(blocks[k]);
        menu_free(m);
    }
    assert_true((early > 0 && skipped > 0) || is_given);
    free(random);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(decisions_are_those_of_the_model)};

    is_given = argc == 5;
    if (is_given) {
        n_menus = (uint32_t)strtoul(argv[1], NULL, 10);
        most_chains = (uint32_t)strtoul(argv[2], NULL, 10);
        most_steps = (uint32_t)strtoul(argv[3], NULL, 10);
        n_events = (uint32_t)strtoul(argv[4], NULL, 10);
    }
    if (!getenv("TRIGD_BUILD") || most_chains < 1 || most_chains > MENU_CHAINS_MAX ||
        most_steps < 1 || most_steps > MENU_STEPS_MAX) {
        fprintf(stderr,
                "usage: TRIGD_BUILD=FOLDER test_menus_chains [MENUS CHAINS STEPS EVENTS]\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
