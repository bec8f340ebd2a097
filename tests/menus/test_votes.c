/* SPDX-License-Identifier: Apache-2.0 */
/* Chains that combine others or ask for several RoIs, by hand: what they mean, and when an event is
 * decided.  test_chains.c has random ones. */
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

#define ROIS   4u
#define POINTS (1u << TRG_SPACEPOINTS)
#define HITS   (1u << TRG_HITS)

/* ---------------------------------------------------------------- expressions */

static int32_t find_letter(const void *ctx, const char *name)
{
    (void)ctx;
    return strlen(name) == 1 && *name >= 'a' && *name <= 'd' ? *name - 'a' : -1;
}

/* Of a, b, c, d with bit 0, 1, 2, 3 of `which` set; the same in all planes. */
static bool holds(const struct combination *c, uint32_t which)
{
    combination_value value[4], v;

    for (uint32_t i = 0; i < 4; i++)
        value[i] = which >> i & 1 ? 0x0f : COMBINATION_NEVER;
    v = combination_of(c, value);
    assert_true(v == 0x0f || v == COMBINATION_NEVER);
    return v == 0x0f;
}

#define A (w & 1)
#define B (w >> 1 & 1)
#define C (w >> 2 & 1)
#define D (w >> 3 & 1)
#define EXPRESSIONS(X)                                        \
    X("a", A)                                                 \
    X("not a", !A)                                            \
    X("a and b or c and d", (A && B) || (C && D))             \
    X("a or b and c or d", A || (B && C) || D)                \
    X("not a and b", !A && B)                                 \
    X("not (a and b)", !(A && B))                             \
    X("(a or b) and not(c or not d)", (A || B) && !(C || !D)) \
    X("  not not a   and(b)", A &&B)                          \
    X("a and (b or (c and (d or not a)))", A && (B || (C && (D || !A))))

static void operators_bind_as_documented(void **state)
{
    const struct combination_names names = {.find = find_letter};
    struct combination c;
    char why[128];

    (void)state;
#define CHECK(text, expected)                                                  \
    assert_int_equal(combination_parse(text, &names, &c, why, sizeof why), 0); \
    for (uint32_t w = 0; w < 16; w++)                                          \
        assert_int_equal(holds(&c, w), (expected) != 0);
    EXPRESSIONS(CHECK)
#undef CHECK
}

static void a_value_may_be_both_or_neither(void **state)
{
    enum { NEITHER = 0x00, PASSED = 0x0f, FAILED = 0xf0, BOTH = 0xff };
    static const struct {
        const char *text;
        combination_value a, b, result;
    } table[] = {{"not a", NEITHER, FAILED, NEITHER},      {"not a", BOTH, FAILED, BOTH},
                 {"a and b", NEITHER, FAILED, FAILED},     {"a and b", NEITHER, PASSED, NEITHER},
                 {"a or b", NEITHER, PASSED, PASSED},      {"a or b", NEITHER, FAILED, NEITHER},
                 {"a and b", BOTH, PASSED, BOTH},          {"a and not b", PASSED, BOTH, BOTH},
                 {"a and not b", PASSED, NEITHER, NEITHER}};
    const struct combination_names names = {.find = find_letter};
    struct combination c;
    char why[128];

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const combination_value value[] = {table[i].a, table[i].b};

        assert_int_equal(combination_parse(table[i].text, &names, &c, why, sizeof why), 0);
        assert_int_equal(combination_of(&c, value), table[i].result);
    }
}

static void one_that_is_too_long_is_refused(void **state)
{
    const struct combination_names names = {.find = find_letter};
    struct combination c;
    char why[128], text[5 * 33 + 1] = "";

    (void)state;
    for (size_t i = 0; i < 33; i++) /* 33 chains, 32 operators */
        snprintf(text + 5 * i, 6, i < 32 ? "a or " : "a");
    assert_true(combination_parse(text, &names, &c, why, sizeof why) < 0);
    assert_string_equal(why, "it has more than 64 chains and operators");
    text[5 * 32 - 4] = '\0';
    assert_int_equal(combination_parse(text, &names, &c, why, sizeof why), 0);
    assert_int_equal(c.n, 63);
}

/* ---------------------------------------------------------------- events */

static const char text[] =
    "streams: [physics]\n"
    "roi_types: [{name: jet, number: 0}, {name: mu, number: 1}]\n"
    "steps:\n"
    "  - {name: points, plugin: good}\n"
    "  - {name: hits, plugin: maker}\n"
    "chains:\n"
    "  - {name: 2jets, id: 1, types: [jet], multiplicity: 2, streams: [physics],\n"
    "     steps: [{step: points, cuts: [{value: n_points, min: 10}]}]}\n"
    "  - {name: mu, id: 2, types: [mu], prescale: 0, streams: [physics],\n"
    "     steps: [{step: hits, cuts: [{value: n_points, min: 10}]}]}\n"
    "  - {name: 2jets_no_mu, id: 3, seeds: [1], combine: 2jets and not mu, streams: [physics]}\n"
    "  - {name: no_mu_cut, id: 4, seeds: [2], combine: not mu, truncated: cut,\n"
    "     streams: [physics]}\n";
enum { TWO_JETS, MU, TWO_JETS_NO_MU, NO_MU_CUT };

struct fixture {
    struct menu *m;
    struct prescales prescales;
    struct votes v;
    uint8_t count[VOTES_KINDS * MENU_CHAINS_MAX];
    struct trg_roi_info info;
    uint32_t n_rois;
    uint64_t done;
    void *chains[ROIS];
    struct roi_step steps[ROIS][MENU_STEPS_MAX];
};

static int setup(void **state)
{
    static struct plugin_host *host;
    struct fixture *f = calloc(1, sizeof *f);
    char folder[4096], *paths[] = {folder};

    assert_non_null(f);
    snprintf(folder, sizeof folder, "%s/config-plugins", getenv("TRIGD_BUILD"));
    if (!host)
        assert_int_equal(plugin_host_new(paths, 1, &host), 0);
    assert_int_equal(menu_load(capture_file("menu.yaml", text), host, &f->m), 0);
    prescales_init(f->m, NULL, &f->prescales);
    for (uint32_t i = 0; i < ROIS; i++)
        f->chains[i] = malloc(chains_bytes(f->m->plan));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < ROIS; i++)
        free(f->chains[i]);
    menu_free(f->m);
    free(f);
    return 0;
}

static void begin(struct fixture *f, uint32_t l1_bits, uint32_t n_rois)
{
    f->info = (struct trg_roi_info){.run = 1, .l1id = 2, .l1_bits = l1_bits};
    f->n_rois = n_rois;
    votes_begin(&f->v, f->m->plan, &f->prescales, &f->info, n_rois, f->count);
}

/* An RoI comes; returns whether the event is settled. */
static bool come(struct fixture *f, uint32_t i, uint32_t type, uint32_t kinds)
{
    const struct chains_event ev = {
        .info = &f->info, .type = type, .kinds = kinds, .n_rois = f->n_rois};

    memset(f->chains[i], 0, chains_bytes(f->m->plan));
    chains_seed(f->m->plan, &f->prescales, &ev, f->chains[i]);
    votes_come(&f->v, f->m->plan, f->chains[i]);
    return votes_settle(&f->v, f->m->plan);
}

/* All its steps return n points; so too. */
static bool end(struct fixture *f, uint32_t i, uint32_t n, uint32_t status)
{
    for (uint32_t s = 0; s < 2; s++)
        f->steps[i][s] = (struct roi_step){.result = {.status = status, .value = {(float)n}}};
    chains_advance(f->m->plan, f->steps[i], 3, 3, f->chains[i]);
    assert_false(chains_run(f->chains[i]));
    votes_end(&f->v, f->m->plan, f->steps[i], f->chains[i]);
    return votes_settle(&f->v, f->m->plan);
}

static bool accepts(const struct fixture *f, uint32_t chain)
{
    struct plan_bits accepted;

    votes_accepted(&f->v, f->m->plan, &accepted);
    return plan_has(accepted.w, chain);
}

static void two_jets_in_different_rois(void **state)
{
    struct fixture *f = *state;

    begin(f, 0, 3);
    assert_false(come(f, 0, 0, POINTS));
    assert_false(come(f, 1, 0, POINTS));
    assert_false(end(f, 0, 20, TRG_OK));
    assert_true(end(f, 1, 10, TRG_OK)); /* the third cannot take that back */
    assert_true(accepts(f, TWO_JETS) && !accepts(f, MU));

    begin(f, 0, 3);
    assert_false(come(f, 0, 0, POINTS));
    assert_false(end(f, 0, 9, TRG_OK));
    assert_false(come(f, 1, 0, POINTS));
    assert_true(end(f, 1, 9, TRG_OK)); /* one that is left is too few */
    assert_false(accepts(f, TWO_JETS));

    begin(f, 0, 3);
    assert_false(come(f, 0, 0, POINTS));
    assert_true(come(f, 1, 1, HITS) == false && come(f, 2, 1, HITS)); /* muons are no jets */
    assert_false(accepts(f, TWO_JETS));
}

static void a_veto_waits_for_all_rois(void **state)
{
    struct fixture *f = *state;

    begin(f, 1u << 1, 3);
    for (uint32_t i = 0; i < 2; i++) {
        assert_false(come(f, i, 0, POINTS));
        assert_false(end(f, i, 20, TRG_OK));
    }
    assert_false(come(f, 2, 1, HITS)); /* it runs: a combination needs it, whatever its prescale */
    assert_true(end(f, 2, 3, TRG_OK));
    assert_true(accepts(f, TWO_JETS) && accepts(f, TWO_JETS_NO_MU) && !accepts(f, MU));

    begin(f, 1u << 1, 3);
    assert_false(come(f, 0, 1, HITS));
    assert_false(end(f, 0, 30, TRG_OK)); /* 2jets itself is open */
    assert_false(come(f, 1, 0, POINTS));
    assert_false(end(f, 1, 20, TRG_OK));
    assert_false(come(f, 2, 0, POINTS));
    assert_true(end(f, 2, 20, TRG_OK));
    assert_true(accepts(f, TWO_JETS) && !accepts(f, TWO_JETS_NO_MU));
}

/* What cannot be known rejects, what a limit cut short does not. */
static void missing_and_truncated_data(void **state)
{
    struct fixture *f = *state;

    begin(f, 1u << 2, 2);
    come(f, 0, 0, POINTS);
    assert_false(end(f, 0, 1, TRG_OK));
    assert_true(come(f, 1, 1, POINTS)); /* a muon without its hits */
    assert_false(accepts(f, NO_MU_CUT));

    begin(f, 1u << 1, 3); /* the muon passes by truncation: the veto does not */
    for (uint32_t i = 0; i < 2; i++) {
        come(f, i, 0, POINTS);
        end(f, i, 20, TRG_OK);
    }
    come(f, 2, 1, HITS);
    assert_true(end(f, 2, 3, TRG_TRUNCATED));
    assert_true(accepts(f, TWO_JETS_NO_MU));

    begin(f, 1u << 2, 2); /* so does one whose cuts decide */
    come(f, 0, 0, POINTS);
    end(f, 0, 1, TRG_OK);
    come(f, 1, 1, HITS);
    assert_true(end(f, 1, 3, TRG_TRUNCATED));
    assert_true(accepts(f, NO_MU_CUT));

    begin(f, 1u << 2, 2);
    come(f, 0, 0, POINTS);
    end(f, 0, 1, TRG_OK);
    come(f, 1, 1, HITS);
    assert_true(end(f, 1, 30, TRG_TRUNCATED)); /* surely a muon */
    assert_false(accepts(f, NO_MU_CUT));
}

/* An RoI that is an event of its own: combinations are decided with it. */
static void an_roi_that_is_alone(void **state)
{
    struct fixture *f = *state;
    const struct plan *p = f->m->plan;
    const struct trg_roi_info info = {.run = 1, .l1id = 2, .l1_bits = 1u << 2};
    const struct chains_event ev = {.info = &info, .type = 1, .kinds = HITS};
    void *const c = f->chains[0];

    for (uint32_t n = 5; n <= 15; n += 10) {
        memset(c, 0, chains_bytes(p));
        assert_int_equal(chains_seed(p, &f->prescales, &ev, c), 1u << 1);
        assert_false(plan_has(chains_of(p, c, CHAINS_RAN), TWO_JETS)); /* it cannot be two */
        assert_true(plan_has(chains_of(p, c, CHAINS_PRESCALED), MU));
        f->steps[0][1].result = (struct trg_result){.status = TRG_OK, .value = {(float)n}};
        chains_advance(p, f->steps[0], 2, 2, c);
        chains_conclude(p, f->steps[0], 2, c);
        assert_int_equal(plan_has(chains_of(p, c, CHAINS_ACCEPTED), NO_MU_CUT), n < 10);
        assert_false(plan_has(chains_of(p, c, CHAINS_ACCEPTED), MU));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_documented),
        cmocka_unit_test(a_value_may_be_both_or_neither),
        cmocka_unit_test(one_that_is_too_long_is_refused),
        cmocka_unit_test_setup_teardown(two_jets_in_different_rois, setup, teardown),
        cmocka_unit_test_setup_teardown(a_veto_waits_for_all_rois, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_and_truncated_data, setup, teardown),
        cmocka_unit_test_setup_teardown(an_roi_that_is_alone, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
