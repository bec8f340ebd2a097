/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of one menu that need different data, and RoIs of different types. */
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    assert_int_equal(server_row_number(&s, "chains", "by_hits", "seeded"), 4);
    assert_int_equal(server_row_number(&s, "chains", "by_hits", "missing"), 2);
    assert_int_equal(server_row_number(&s, "chains", "by_hits", "run"), 2);
    assert_int_equal(server_row_number(&s, "chains", "rare", "prescaled"), 3);
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

/* ---------------------------------------------------------------- prescales */

/* Sends an RoI that chain 0 accepts; returns the key of the prescale set, and whether it was. */
static uint64_t key_in(struct link *l, uint32_t lumi_block, bool *ret_accept)
{
    static uint64_t token = 1000;
    const Trigd__V1__Decision *d = decide_one(
        l, &(struct spec){
               .token = ++token, .type = 2, .points = 20, .hits = -1, .lumi_block = lumi_block});

    *ret_accept = d->accept;
    return d->prescale_key;
}

static void a_set_holds_from_the_next_lumi_block_on(void **state)
{
    uint64_t first, second, third;
    struct server s;
    struct link l, other;
    bool accept;

    (void)state;
    server_start(&s, config, menu);
    server_expect(&s, "prescale by_points 0", "prescale set "); /* no RoI yet: at once */
    link_open(&l, &s);
    link_open(&other, &s); /* of another shard, where there are several */
    link_hello(&l, "menus", 0);
    link_hello(&other, "others", 0);
    first = key_in(&l, 4, &accept);
    assert_false(accept);
    server_expect(&s, "prescale by_points 1", "prescale set ");
    assert_int_equal(key_in(&other, 4, &accept), first);
    assert_false(accept);
    second = key_in(&other, 5, &accept);
    assert_true(accept && second != first);
    assert_int_equal(key_in(&l, 3, &accept), first); /* a late one of before */
    assert_false(accept);
    assert_int_equal(key_in(&l, 5, &accept), second);
    assert_true(accept);
    server_expect(&s, "prescale by_points 2.5 now", "prescale set ");
    third = key_in(&l, 5, &accept);
    assert_true(third != second && third != first);
    assert_int_equal(key_in(&other, 4, &accept), third);
    server_menu(&s, menu);
    server_expect(&s, "reload", "menu reloaded");
    assert_int_equal(key_in(&l, 5, &accept), third); /* survives */
    server_expect(&s, "prescale-reset", "prescale set ");
    assert_int_equal(key_in(&other, 5, &accept), third);
    assert_int_equal(key_in(&l, 6, &accept), second); /* of the same prescales */
    assert_true(accept);
    assert_int_equal(key_in(&other, 6, &accept), second);
    server_expect(&s, "prescale nochain 1", "error: there is no chain \"nochain\"");
    link_close(&l);
    link_close(&other);
    server_stop(&s);
}

/* Runs trigctl with up to four words; its output goes to a file of the folder. */
static void trigctl(const struct server *s, const char *output, char *const *words)
{
    char program[256], path[256], *argv[8] = {program, (char *)"--socket", (char *)s->control};
    posix_spawn_file_actions_t actions;
    int status;
    pid_t pid;

    snprintf(program, sizeof program, "%s/bin/trigctl", getenv("TRIGD_BUILD"));
    snprintf(path, sizeof path, "%s/%s", s->folder, output);
    for (int i = 0; words[i]; i++)
        argv[3 + i] = words[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t n = 0;

    assert_non_null(f);
    assert_true(getdelim(&text, &n, '\0', f) > 0);
    fclose(f);
    return text;
}

static void what_is_dumped_is_read_back(void **state)
{
    char path[256], arguments[300], unended[sizeof menu + 64], *text;
    uint64_t key, menu_key;
    struct server s;
    struct link l;
    bool accept;
    FILE *f;

    (void)state;
    snprintf(unended, sizeof unended, "# a comment\n\n%s# the end", menu);
    server_start(&s, config, unended);
    link_open(&l, &s);
    link_hello(&l, "menus", 0);
    menu_key = l.last->welcome->menu_key;
    trigctl(&s, "answer", WORDS("--now", "prescale", "by_points", "3"));
    trigctl(&s, "answer", WORDS("--now", "prescale", "by_both", "0"));
    key = key_in(&l, 1, &accept);
    trigctl(&s, "set.yaml", WORDS("dump", "prescales"));
    trigctl(&s, "dumped.yaml", WORDS("dump", "menu"));
    snprintf(path, sizeof path, "%s/dumped.yaml", s.folder);
    text = read_file(path);
    assert_string_equal(text, unended); /* to the byte: so it has the same key */
    free(text);
    trigctl(&s, "answer", WORDS("--now", "prescale-reset"));
    assert_true(key_in(&l, 1, &accept) != key);
    snprintf(path, sizeof path, "%s/set.yaml", s.folder);
    trigctl(&s, "answer", WORDS("--now", "prescale-file", path));
    assert_int_equal(key_in(&l, 1, &accept), key);
    assert_int_equal(l.last->decisions->decisions[0]->menu_key, menu_key);
    snprintf(path, sizeof path, "%s/wrong.yaml", s.folder);
    f = fopen(path, "w");
    assert_true(f && fputs("prescales: {by_points: 0.5}\n", f) >= 0 && fclose(f) == 0);
    snprintf(arguments, sizeof arguments, "prescale-file %s", path);
    server_expect(&s, arguments, "error: ");
    assert_int_equal(key_in(&l, 2, &accept), key);
    link_close(&l);
    server_stop(&s);
}

/* ---------------------------------------------------------------- accounts */

/* The text of the only file that `pattern` names in the folder of accounts. */
static char *accounts_of(const struct server *s, unsigned n_files)
{
    char pattern[256];
    glob_t found;
    char *text;

    snprintf(pattern, sizeof pattern, "%s/state/accounts/accounts-*.json", s->folder);
    for (int i = 0; i < 100 && (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc < n_files);
         i++)
        usleep(50000);
    assert_int_equal(found.gl_pathc, n_files);
    text = read_file(found.gl_pathv[n_files - 1]);
    globfree(&found);
    return text;
}

static unsigned long long number(const char *text, const char *name)
{
    char wanted[64], *at;

    snprintf(wanted, sizeof wanted, "\"%s\": ", name);
    at = strstr(text, wanted);
    if (!at)
        fail_msg("no %s in %s", name, text);
    return strtoull(at + strlen(wanted), NULL, 10);
}

/* What comes in goes out, for RoIs and for each chain; returns the RoIs received. */
static unsigned long long check_block(char *block)
{
    char *state = NULL;

    assert_true(number(block, "received") ==
                number(block, "accepted") + number(block, "rejected") + number(block, "failed"));
    assert_true(number(block, "debug") == number(block, "failed") - number(block, "refused"));
    for (char *line = strtok_r(strdupa(block), "\n", &state); line;
         line = strtok_r(NULL, "\n", &state)) {
        if (!strstr(line, "\"seeded\""))
            continue;
        assert_true(number(line, "seeded") ==
                    number(line, "prescaled") + number(line, "missing") + number(line, "run"));
        assert_true(number(line, "run") ==
                    number(line, "pass") + number(line, "reject") + number(line, "failed"));
    }
    return number(block, "received");
}

#define BLOCKS 3u
#define EVENTS 240u

static void accounts_are_kept_by_lumi_block(void **state)
{
    unsigned long long sums[BLOCKS] = {0}, by_points = 0;
    char *text, *block;
    struct server s;
    struct link l[3];
    int code;

    (void)state;
    server_start(&s, config, menu);
    for (uint32_t i = 0; i < 3; i++) {
        link_open(&l[i], &s);
        link_hello(&l[i], "menus", 0);
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        const struct spec spec = {.token = i,
                                  .type = 1 + i % 2,
                                  .l1_bits = i,
                                  .l1id = i,
                                  .roi_id = i % 10 == 7 ? FAULT_ROI : 0,
                                  .lumi_block = i % BLOCKS,
                                  .points = i % 4 == 3 ? -1 : (int)(i % 25),
                                  .hits = i % 5 == 2 ? -1 : (int)(i % 7)};
        const Trigd__V1__Decision *d = decide_one(&l[i % 3], &spec);

        for (size_t k = 0; k < d->n_chains; k++)
            by_points += d->chains[k] == 0;
        sums[i % BLOCKS]++;
        if (i == EVENTS / 2)
            server_expect(&s, "prescale by_hits 2 now", "prescale set ");
    }
    server_expect(&s, "drain", "drain");
    text = accounts_of(&s, 1);
    assert_non_null(strstr(text, "{\"format\": \"trigd accounts\", \"version\": 1"));
    for (block = strstr(text, "{\"run\""); block;) {
        char *next = strstr(block + 1, "{\"run\""), *at;

        if (next)
            next[-1] = '\0';
        sums[number(block, "lumi_block")] -= check_block(block);
        at = strstr(block, "\"by_points\"");
        by_points -= at ? number(at, "pass") : 0;
        block = next;
    }
    free(text);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(sums[i], 0);
    assert_int_equal(by_points, 0); /* as the decisions said */
    server_expect(&s, "resume", "ready");
    decide_one(&l[0], &(struct spec){.token = 9, .type = 1, .points = 20, .lumi_block = 7});
    decide_one(
        &l[0],
        &(struct spec){
            .token = 10, .type = 1, .roi_id = FAULT_TRUNCATE, .points = 20, .lumi_block = 7});
    for (uint32_t i = 0; i < 3; i++)
        link_close(&l[i]);
    code = server_end(&s, SIGTERM, 10);
    assert_int_equal(code, 0);
    text = accounts_of(&s, 2); /* only what came since */
    assert_int_equal(check_block(strstr(text, "{\"run\"")), 2);
    assert_int_equal(number(text, "lumi_block"), 7);
    assert_int_equal(number(text, "truncated"), 1);
    free(text);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_asks_for_its_own_data),
        cmocka_unit_test(a_chain_looks_at_its_types),
        cmocka_unit_test(a_set_holds_from_the_next_lumi_block_on),
        cmocka_unit_test(what_is_dumped_is_read_back),
        cmocka_unit_test(accounts_are_kept_by_lumi_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
