/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions in a running daemon: in force from a lumi block on, in workers and in decisions. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000}\n" /* sanitizers are slow */
                             "conditions: conditions.yaml\n";
static const char menu[] =
    "name: conditional\n"
    "streams: [physics]\n"
    "steps: [{name: c, plugin: conditional}]\n"
    "chains:\n"
    "  - {name: all, id: 1, steps: [{step: c, cuts: [{value: scale, min: -99}]}],"
    " streams: [physics]}\n";
static const char first[] = "conditions:\n  scale: {scale: [1.5], counts: [[1, 2, 3]]}\n";

static void put_file(const struct server *s, const char *name, const char *text, char *ret_path)
{
    FILE *f;

    snprintf(ret_path, 128, "%s/%s", s->folder, name);
    f = fopen(ret_path, "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void start(struct server *s)
{
    char path[128];

    server_prepare(s, config, menu);
    put_file(s, "conditions.yaml", first, path);
    server_spawn(s);
}

struct seen { /* in one decision */
    uint64_t key, prescale_key;
    float scale, count, n_dead, short_key;
};

static struct seen of_decision(const Trigd__V1__Decision *d)
{
    const float *v = d->results[0]->values;

    assert_int_equal(d->status, TRIGD__V1__STATUS__OK);
    assert_int_equal(d->n_results, 1);
    return (struct seen){d->conditions_key, d->prescale_key, v[0], v[1], v[2], v[3]};
}

static void send_in(struct link *l, uint32_t lumi_block, uint32_t l1id)
{
    static uint64_t token;
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    const struct roi_spec spec = {.token = ++token, .l1id = l1id, .l1_bits = 1, .n = 4};
    Trigd__V1__Spacepoints points;
    Trigd__V1__Roi roi, *list[1] = {&roi};

    roi_fill(&roi, &points, &spec);
    roi.lumi_block = lumi_block;
    batch.n_rois = 1;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(l, &m);
}

static struct seen see_in(struct link *l, uint32_t lumi_block)
{
    send_in(l, lumi_block, 1);
    return of_decision(
        link_expect(l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions->decisions[0]);
}

static void load(struct server *s, const char *text, const char *when, const char *answer)
{
    char path[128], command[256];

    put_file(s, "loaded.yaml", text, path);
    snprintf(command, sizeof command, "conditions-file %s%s", path, when);
    server_expect(s, command, answer);
}

#define SECOND                                                                               \
    "conditions: {scale: {scale: [-2, 7], counts: [[1, 1, 1], [4, 5, 6]]}, dead: {channel: " \
    "[3]}}\n"

static void they_hold_from_the_next_lumi_block_on(void **state)
{
    struct seen before, seen;
    struct server s;
    struct link l, other;

    (void)state;
    start(&s);
    link_open(&l, &s);
    link_open(&other, &s); /* of another shard, where there are several */
    link_hello(&l, "conditions", 0);
    link_hello(&other, "others", 0);
    before = see_in(&l, 4);
    assert_true(before.key && before.scale == 1.5f && before.count == 3 && before.n_dead == -1);
    load(&s, SECOND, "", "conditions ");
    seen = see_in(&other, 4);
    assert_true(seen.key == before.key && seen.scale == 1.5f);
    seen = see_in(&other, 5);
    assert_true(seen.key != before.key && seen.scale == -2 && seen.count == 6 && seen.n_dead == 1);
    assert_true(seen.short_key != before.short_key);
    assert_true(see_in(&l, 5).key == seen.key);
    before = see_in(&l, 3); /* a late one of before */
    assert_true(before.key != seen.key && before.scale == 1.5f && before.n_dead == -1);
    server_expect(&s, "reload", "menu reloaded");
    assert_true(see_in(&l, 5).key == seen.key); /* they survive */
    load(&s, "conditions: {dead: {channel: []}}\n", " now", "from now on");
    before = see_in(&l, 5);
    assert_true(before.n_dead == 0 && before.scale == -2 && before.key != seen.key);
    server_expect(&s, "conditions-reset now", "from now on");
    before = see_in(&other, 5);
    assert_true(before.n_dead == -1 && before.scale == 1.5f);
    load(&s, SECOND, " at 1:3", "error: RoIs of run 1, lumi block 5 have come already");
    load(&s, SECOND, " at 1:9", "from run 1, lumi block 9 on");
    server_expect(&s, "show conditions csv", ",1:9,1\n");
    assert_true(see_in(&l, 8).scale == 1.5f);
    assert_true(see_in(&l, 9).key == seen.key);
    link_close(&l);
    link_close(&other);
    server_stop(&s);
}

/* RoIs of two lumi blocks in turn, in flight together: each has its own conditions. */
static void batches_are_of_one_set(void **state)
{
    enum { N = 400 };
    struct server s;
    struct link l;
    float scale[2] = {0, 0};
    uint64_t key[2] = {0, 0};
    uint32_t n = 0, n_of[2] = {0, 0};

    (void)state;
    start(&s);
    link_open(&l, &s);
    assert_true(link_hello(&l, "conditions", N) >= 64);
    key[0] = see_in(&l, 1).key;
    load(&s, SECOND, "", "conditions ");
    key[1] = see_in(&l, 2).key;
    scale[0] = 1.5f;
    scale[1] = -2;
    for (uint32_t sent = 0; n < N;) {
        for (; sent < N && sent < n + 48; sent++)
            send_in(&l, 1 + sent % 2, sent);
        const Trigd__V1__FromDaemon *m = link_receive(&l, 10000);

        assert_non_null(m);
        if (m->body_case != TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
            continue;
        for (size_t i = 0; i < m->decisions->n_decisions; i++, n++) {
            const struct seen seen = of_decision(m->decisions->decisions[i]);
            const uint32_t which = m->decisions->decisions[i]->l1id % 2;

            assert_true(seen.key == key[which] && seen.scale == scale[which]);
            n_of[which]++;
        }
    }
    assert_int_equal(n_of[0], N / 2);
    assert_int_equal(n_of[1], N / 2);
    server_check_ledger(&s);
    link_close(&l);
    server_stop(&s);
}

static void wrong_files_change_nothing(void **state)
{
    struct server s;
    struct link l;
    uint64_t key;

    (void)state;
    start(&s);
    link_open(&l, &s);
    link_hello(&l, "conditions", 0);
    key = see_in(&l, 1).key;
    load(
        &s, "conditions: {scale: {scale: [1000], counts: [[1, 2, 3]]}}\n", "",
        "loaded.yaml:1: conditions.scale.scale[0] is \"1000\"; a number of -100 to 100 is allowed");
    load(&s, "conditions: {beam: {x: [0]}}\n", "", "error: ");
    server_expect(&s, "conditions-file /nonesuch", "error: /nonesuch: No such file or directory");
    server_expect(&s, "conditions-file /nonesuch at 3",
                  "error: usage: conditions-file FILE [now, or at RUN:BLOCK]");
    assert_true(see_in(&l, 2).key == key);
    link_close(&l);
    server_stop(&s);
}

/* A plugin that needs a condition does not come into a menu without. */
static void what_is_needed_is_asked_for(void **state)
{
    struct server s;
    char path[128];

    (void)state;
    server_prepare(&s, config, menu);
    put_file(&s, "conditions.yaml", "conditions: {dead: {channel: [1]}}\n", path);
    server_launch(&s);
    assert_int_equal(server_wait_end(&s, 20), 64); /* wrong configuration */
    server_clean(&s);
}

/* A worker that is started again has them, and so has the RoI that ran again. */
static void a_new_worker_has_them(void **state)
{
    struct server s;
    struct link l;
    uint64_t key;

    (void)state;
    start(&s);
    link_open(&l, &s);
    link_hello(&l, "conditions", 0);
    see_in(&l, 1);
    load(&s, SECOND, "", "conditions ");
    key = see_in(&l, 2).key;
    send_in(&l, 2, 666);
    assert_int_equal(
        link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)->decisions->decisions[0]->status,
        TRIGD__V1__STATUS__ALGO_FAILED);
    for (uint32_t i = 0; i < 4; i++) {
        const struct seen seen = see_in(&l, 2);

        assert_true(seen.key == key && seen.scale == -2 && seen.n_dead == 1);
    }
    assert_true(see_in(&l, 1).scale == 1.5f);
    link_close(&l);
    server_stop(&s);
}

/* What the daemon dumps, as a file of its folder. */
static void dump_to(struct server *s, const char *what, const char *name)
{
    char command[64], path[128], text[4096] = "", *dump;

    snprintf(command, sizeof command, "dump %s", what);
    dump = server_ask(s, command);
    for (const char *line = dump; *line; line += strcspn(line, "\n") + 1) /* a space before each */
        if (*line == ' ')
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s\n",
                     (int)strcspn(line, "\n") - 1, line + 1);
    free(dump);
    put_file(s, name, text, path);
}

/* What is dumped gives the same keys and values to a daemon that is started with it. */
static void what_is_dumped_is_the_same(void **state)
{
    struct seen before, after;
    char path[128];
    struct server s;
    struct link l;
    FILE *f;

    (void)state;
    start(&s);
    link_open(&l, &s);
    link_hello(&l, "conditions", 0);
    load(&s, "conditions: {scale: {scale: [0.1], counts: [[9, 8, 7]]}}\n", "", "from now on");
    server_expect(&s, "prescale all 1.001", "from now on");
    before = see_in(&l, 1);
    dump_to(&s, "conditions", "conditions.yaml");
    dump_to(&s, "prescales", "prescales.yaml");
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 20), 0);
    snprintf(path, sizeof path, "%s/trigd.yaml", s.folder);
    f = fopen(path, "a");
    assert_true(f && fputs("prescales: prescales.yaml\n", f) >= 0 && fclose(f) == 0);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "conditions", 0);
    after = see_in(&l, 1);
    assert_memory_equal(&before, &after, sizeof before);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 20), 0);
    put_file(&s, "prescales.yaml", "prescales: {none: 2}\n", path); /* no such chain */
    server_launch(&s);
    assert_int_equal(server_wait_end(&s, 20), 64); /* wrong configuration */
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_hold_from_the_next_lumi_block_on),
        cmocka_unit_test(batches_are_of_one_set),
        cmocka_unit_test(wrong_files_change_nothing),
        cmocka_unit_test(what_is_needed_is_asked_for),
        cmocka_unit_test(a_new_worker_has_them),
        cmocka_unit_test(what_is_dumped_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
