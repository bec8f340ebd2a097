/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of one menu that need different data, and RoIs of different types. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"
#include "harness.h"

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n";

static const char menu[] = "name: mixed\n"
                           "streams: [physics, express]\n"
                           "roi_types: [{name: pixel, number: 1}, {name: silicon, number: 2}]\n"
                           "steps:\n"
                           "  - {name: points, plugin: fault}\n"
                           "  - {name: hits, plugin: faulthits}\n"
                           "chains:\n"
                           "  - {name: by_points, id: 1, types: [pixel, silicon], steps: [{step: "
                           "points, cuts: [{value: n, "
                           "min: 10}]}],\n"
                           "     streams: [physics]}\n"
                           "  - {name: by_hits, id: 2, seeds: [1], types: [silicon], steps: "
                           "[{step: hits, cuts: [{value: n, "
                           "min: 3}]}],\n"
                           "     streams: [express]}\n"
                           "  - {name: by_both, id: 3, seeds: [2], types: [silicon], steps: "
                           "[{step: points}, {step: hits}],\n"
                           "     streams: [express]}\n"
                           "  - {name: rare, id: 4, seeds: [3], types: [silicon], prescale: 0,\n"
                           "     steps: [{step: hits}], streams: [express]}\n";

struct spec {
    uint64_t token;
    uint32_t type, l1_bits, l1id, roi_id, lumi_block;
    int points, hits; /* -1: not there */
};

static void send_one(struct link *l, const struct spec *spec)
{
    static float zero[64];
    static uint32_t ids[64];
    static uint8_t layers[128];
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Spacepoints points;
    Trigd__V1__Hits hits = TRIGD__V1__HITS__INIT;
    Trigd__V1__Roi roi, *list[1] = {&roi};
    const struct roi_spec as_points = {.token = spec->token,
                                       .l1id = spec->l1id,
                                       .roi_id = spec->roi_id,
                                       .l1_bits = spec->l1_bits,
                                       .n = spec->points < 0 ? 0 : (uint32_t)spec->points};

    roi_fill(&roi, &points, &as_points);
    roi.type = spec->type;
    roi.lumi_block = spec->lumi_block;
    if (spec->points < 0)
        roi.spacepoints = NULL;
    if (spec->hits >= 0) {
        roi.hits = &hits;
        hits.n_x_mm = hits.n_y_mm = hits.n_z_mm = hits.n_id = (size_t)spec->hits;
        hits.x_mm = hits.y_mm = hits.z_mm = zero;
        hits.id = ids;
        hits.layer = (ProtobufCBinaryData){.len = 2 * (size_t)spec->hits, .data = layers};
    }
    batch.n_rois = 1;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
}

static const Trigd__V1__Decision *decide_one(struct link *l, const struct spec *spec)
{
    Trigd__V1__FromDaemon *m;

    send_one(l, spec);
    m = link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
    assert_int_equal(m->decisions->n_decisions, 1);
    assert_int_equal(m->decisions->decisions[0]->token, spec->token);
    assert_true(m->decisions->decisions[0]->menu_key != 0);
    return m->decisions->decisions[0];
}

static void expect_chains(const Trigd__V1__Decision *d, const char *raw, const char *accepted)
{
    char text[2][64] = {"", ""};

    for (size_t i = 0; i < d->n_chains_raw; i++)
        snprintf(text[0] + strlen(text[0]), 8, "%u ", d->chains_raw[i]);
    for (size_t i = 0; i < d->n_chains; i++)
        snprintf(text[1] + strlen(text[1]), 8, "%u ", d->chains[i]);
    assert_string_equal(text[0], raw);
    assert_string_equal(text[1], accepted);
    assert_int_equal(d->accept, d->n_chains > 0);
}

/* `chains` lack that collection, and no others lack one; NULL: none does. */
static void expect_missing(const Trigd__V1__Decision *d, const char *collection, const char *chains)
{
    char text[64] = "";

    assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
    assert_int_equal(d->n_missing, collection != NULL);
    if (!collection)
        return;
    for (size_t i = 0; i < d->missing[0]->n_chains; i++)
        snprintf(text + strlen(text), 8, "%u ", d->missing[0]->chains[i]);
    assert_string_equal(d->missing[0]->collection, collection);
    assert_string_equal(text, chains);
}

static uint64_t of_chain(struct server *s, const char *chain, const char *counter)
{
    char *answer = server_ask(s, "show chains json"), wanted[64], *row, *at;
    uint64_t value;

    snprintf(wanted, sizeof wanted, "\"%s\"", chain);
    row = strstr(answer, wanted);
    assert_non_null(row);
    snprintf(wanted, sizeof wanted, "\"%s\":", counter);
    at = strstr(row, wanted);
    assert_non_null(at);
    value = strtoull(at + strlen(wanted), NULL, 10);
    free(answer);
    return value;
}

static void a_chain_asks_for_its_own_data(void **state)
{
    const Trigd__V1__Decision *d;
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "menus", 0);
    /* nobody who is seeded needs hits */
    d = decide_one(&l, &(struct spec){.token = 1, .type = 2, .points = 20, .hits = -1});
    expect_chains(d, "0 ", "0 ");
    expect_missing(d, NULL, NULL);
    /* one does: it fails, the other does not */
    d = decide_one(&l,
                   &(struct spec){.token = 2, .type = 2, .l1_bits = 2, .points = 20, .hits = -1});
    expect_chains(d, "0 ", "0 ");
    expect_missing(d, "hits", "1 ");
    /* a later step of a chain counts as well; a prescaled chain lacks nothing */
    d = decide_one(
        &l, &(struct spec){.token = 3, .type = 2, .l1_bits = 2 | 4 | 8, .points = 5, .hits = -1});
    expect_chains(d, "", "");
    expect_missing(d, "hits", "1 2 ");
    d = decide_one(
        &l, &(struct spec){.token = 4, .type = 2, .l1_bits = 2 | 4 | 8, .points = -1, .hits = 3});
    expect_chains(d, "1 3 ", "1 ");
    expect_missing(d, "spacepoints", "0 2 ");
    d = decide_one(
        &l, &(struct spec){.token = 5, .type = 2, .l1_bits = 2 | 4 | 8, .points = 0, .hits = 0});
    expect_chains(d, "2 3 ", "2 ");
    expect_missing(d, NULL, NULL);
    server_wait_counter(&s, "in_flight", 0);
    assert_int_equal(of_chain(&s, "by_hits", "seeded"), 4);
    assert_int_equal(of_chain(&s, "by_hits", "missing"), 2);
    assert_int_equal(of_chain(&s, "by_hits", "run"), 2);
    assert_int_equal(of_chain(&s, "rare", "prescaled"), 3);
    assert_int_equal(server_counter(&s, "errors"), 0);
    server_check_ledger(&s);
    link_close(&l);
    server_stop(&s);
}

static void a_chain_looks_at_its_types(void **state)
{
    const Trigd__V1__FromDaemon *m;
    const Trigd__V1__Decision *d;
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_hello(&l, "menus", 0);
    assert_int_equal(l.last->welcome->n_roi_types, 2);
    assert_string_equal(l.last->welcome->roi_types[1]->name, "silicon");
    assert_int_equal(l.last->welcome->roi_types[1]->number, 2);
    assert_int_equal(l.last->welcome->n_steps, 2);
    assert_string_equal(l.last->welcome->steps[1]->name, "hits");
    assert_string_equal(l.last->welcome->steps[1]->plugin, "faulthits");
    assert_int_equal(l.last->welcome->steps[1]->n_values, 1);
    assert_string_equal(l.last->welcome->steps[1]->values[0], "n");
    d = decide_one(
        &l, &(struct spec){.token = 1, .type = 1, .l1_bits = 2 | 4, .points = 20, .hits = -1});
    expect_chains(d, "0 ", "0 ");
    expect_missing(d, NULL, NULL); /* the others do not look at pixel RoIs */
    send_one(&l, &(struct spec){.token = 2, .type = 3, .points = 20, .hits = 3});
    m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__NO_CHAIN);
    assert_string_equal(m->error->text, "RoI 2: no chain of the menu looks at RoIs of type 3");
    assert_true(m->error->has_token && m->error->token == 2);
    send_one(&l, &(struct spec){.token = 3, .type = 99, .points = 20, .hits = 3});
    m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_ERROR);
    assert_int_equal(m->error->code, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE);
    assert_string_equal(m->error->text, "RoI 3: its type is 99; 0 to 63 are allowed");
    assert_int_equal(server_counter(&s, "no_chain"), 1);
    assert_int_equal(server_counter(&s, "errors"), 2);
    assert_int_equal(server_counter(&s, "received"), 1);
    link_close(&l);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_asks_for_its_own_data),
        cmocka_unit_test(a_chain_looks_at_its_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
