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
#include "menu/chains.h"
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

/* Takes the steps that wait in any order, as lanes return them.  Returns those that ran. */
static uint64_t run_steps(uint64_t *state, const struct menu *m, const struct random_event *e,
                          uint64_t waits, void *chains)
{
    uint64_t asked = 0, done = 0, queued = 0;

    for (;;) {
        uint64_t fresh;
        uint32_t head;

        for (; waits; waits &= waits - 1)
            queued |= plan_to_run(m->plan, (uint32_t)__builtin_ctzll(waits), done);
        queued &= ~asked;
        asked |= queued;
        if (!(asked & ~done) || !chains_run(m->plan, chains))
            break;
        do
            head = (uint32_t)seed_uniform(state, 0, m->n_steps) % m->n_steps;
        while (!((asked & ~done) >> head & 1));
        fresh = plan_whole(m->plan, m->steps[head].members, e->kinds);
        assert_true(fresh != 0); /* nothing was asked for that the RoI has no data for */
        done |= fresh;
        waits = chains_advance(m->plan, e->step, done, fresh, chains);
        queued = 0;
    }
    assert_false(chains_run(m->plan, chains)); /* none waits for ever */
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

static void check_event(uint64_t *state, const struct random_menu *random, const struct menu *m,
                        const struct prescales *prescales, uint32_t number, void *chains)
{
    struct random_event e;
    struct random_answer wanted;
    const struct plan *p = m->plan;
    const bool may_pass_short = seed_uniform(state, 0, 1) < 0.5;
    uint64_t done, streams;

    random_event_make(state, random, 4, 0.2, &e);
    random_menu_decide(random, &e, may_pass_short, &wanted);
    const struct chains_event ev = {.info = &e.info, .type = e.type, .kinds = e.kinds};
    memset(chains, 0, chains_bytes(p));
    done = run_steps(state, m, &e, chains_seed(p, prescales, &ev, chains), chains);
    if (!may_pass_short && chains_passed_short(p, e.step, chains))
        chains_fail_short(p, e.step, chains);
    streams = chains_conclude(p, e.step, done, chains);
    same("prescaled", p, chains_of(p, chains, CHAINS_PRESCALED), wanted.prescaled, number);
    same("lacking", p, chains_of(p, chains, CHAINS_LACKING), wanted.lacking, number);
    same("ran", p, chains_of(p, chains, CHAINS_RAN), wanted.ran, number);
    same("raw", p, chains_of(p, chains, CHAINS_RAW), wanted.raw, number);
    same("accepted", p, chains_of(p, chains, CHAINS_ACCEPTED), wanted.accepted, number);
    if (done != wanted.done)
        fail_msg("event %u: steps %llx ran, the model says %llx", number, (unsigned long long)done,
                 (unsigned long long)wanted.done);
    assert_int_equal(streams, wanted.streams);
}

static void decisions_are_those_of_the_model(void **unused)
{
    uint64_t state = fresh_seed();
    struct random_menu *random = malloc(sizeof *random);

    (void)unused;
    assert_non_null(random);
    for (uint32_t i = 0; i < n_menus; i++) {
        const uint32_t chains =
            is_given || !i ? most_chains : 1 + (uint32_t)seed_uniform(&state, 0, most_chains);
        const uint32_t steps =
            is_given || !i ? most_steps : 1 + (uint32_t)seed_uniform(&state, 0, most_steps);
        struct prescales prescales;
        struct menu *m;
        void *block;

        random_menu_make(&state, chains, steps < chains ? steps : chains, i % 2 ? 0 : 3, random);
        m = load(random);
        prescales_init(m, NULL, &prescales);
        block = malloc(chains_bytes(m->plan));
        assert_non_null(block);
        for (uint32_t k = 0; k < n_events; k++)
            check_event(&state, random, m, &prescales, k, block);
        free(block);
        menu_free(m);
    }
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
