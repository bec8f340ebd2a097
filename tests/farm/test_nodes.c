/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be a node: those that may not are refused with a sentence, which is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakenode.h"

#define KEYS "name: sup, heartbeat_ms: 100, lost_beats: 10"

static struct server server;

/* `show nodes` tells of the node with that sentence. */
static void expect_shown(const char *name, const char *sentence)
{
    char *nodes = server_ask(&server, "show nodes"), *row = strstr(nodes, name);

    if (!row || !strstr(row, sentence))
        fail_msg("show nodes does not tell of %s \"%s\": %s", name, sentence, nodes);
    free(nodes);
}

static void expect_refused(struct fake *n, Trigd__Farm__V1__Enlist *e, const char *sentence)
{
    fake_expect_refused(n, e, sentence);
    expect_shown(e->name, sentence);
}

static void other_versions_and_menus(void **state)
{
    Trigd__Farm__V1__Enlist e;
    struct fake n;
    char sentence[256];

    (void)state;
    fake_supervisor(&server, "", KEYS, NULL);
    fake_open(&n, &server, "odd");
    fake_enlist(&n, &e);
    e.protocol = 0;
    expect_refused(&n, &e,
                   "it speaks protocol 0 of farms; this supervisor speaks 1 and those beside it");
    e.protocol = 3;
    expect_refused(&n, &e,
                   "it speaks protocol 3 of farms; this supervisor speaks 1 and those beside it");
    fake_enlist(&n, &e);
    e.version = (char *)(uintptr_t) "7.1.0";
    snprintf(sentence, sizeof sentence,
             "it runs trigd 7.1.0; this is trigsup %s: releases one minor number apart work "
             "together",
             TRIGD_VERSION);
    expect_refused(&n, &e, sentence);
    fake_enlist(&n, &e);
    e.endpoint = (char *)(uintptr_t) "shm:///x";
    expect_refused(&n, &e,
                   "its endpoint is shm:///x; tcp://ADDRESS:PORT and ipc://FILE are allowed");
    fake_enlist(&n, &e);
    e.shards = 17;
    expect_refused(&n, &e, "it has 17 shards; 16 are allowed");
    fake_enlist(&n, &e);
    e.endpoint = (char *)(uintptr_t) "tcp://127.0.0.1:65535";
    e.shards = 2;
    expect_refused(&n, &e, "its endpoint tcp://127.0.0.1:65535 has no place for shard 1");
    fake_enlist(&n, &e);
    e.menu_key = 5;
    snprintf(sentence, sizeof sentence,
             "its menu has the key 0000000000000005; the farm's, %s/menu.yaml, has %016llx",
             server.folder, (unsigned long long)fake_menu_key());
    expect_refused(&n, &e, sentence);
    fake_enlist(&n, &e);
    e.name = (char *)(uintptr_t) "a\"b";
    fake_expect_refused(&n, &e,
                        "its name is not 1 to 63 printable ASCII characters without quotes and "
                        "backslashes");
    assert_int_equal(fake_count(&server, NULL, "nodes"), 0);
    fake_close(&n);
    server_stop(&server);
}

/* One name, one plugin. */
static void other_plugins_and_twins(void **state)
{
    struct fake first = {.plugin = "1.2"}, n, *both[] = {&first, &n};
    Trigd__Farm__V1__Enlist e;
    char sentence[256], *nodes;

    (void)state;
    fake_supervisor(&server, "", KEYS, NULL);
    fake_join(&first, &server, "n1", 8);
    server_wait_ready(&server);
    fake_open(&n, &server, "n2");
    n.plugin = "1.3";
    fake_enlist(&n, &e);
    expect_refused(&n, &e, "step finder runs plugin finder 1.3 there; the farm's is finder 1.2");
    n.plugin = NULL;
    fake_enlist(&n, &e);
    expect_refused(&n, &e, "its menu has 0 steps; the farm's has 1");
    fake_beat(&first);
    snprintf(sentence, sizeof sentence,
             "a node is called n1 already, at %s; names of nodes are unique", first.endpoint);
    n.plugin = "1.2";
    fake_enlist(&n, &e);
    e.name = (char *)(uintptr_t) "n1";
    fake_expect_refused(&n, &e, sentence);
    fake_enlist(&n, &e);
    e.endpoint = first.endpoint;
    snprintf(sentence, sizeof sentence, "its endpoint %s is that of node n1 already",
             first.endpoint);
    expect_refused(&n, &e, sentence);
    fake_close(&n);
    fake_join(&n, &server, "n2", 8); /* as it should be: it is refused no more */
    fake_wait(&server, NULL, "nodes_serving", 2, both, 2);
    nodes = server_ask(&server, "show nodes");
    assert_null(strstr(nodes, "refused"));
    free(nodes);
    fake_close(&first);
    fake_close(&n);
    server_stop(&server);
}

static void those_on_the_list(void **state)
{
    Trigd__Farm__V1__Enlist e;
    struct fake n, listed = {.plugin = NULL};
    char keys[256], path[96], sentence[256];
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "/tmp/trigd-farm-nodes-%d", (int)getpid());
    snprintf(keys, sizeof keys, KEYS ", nodes_file: %s", path);
    fake_supervisor(&server, "", keys, NULL);
    fake_open(&n, &server, "n2");
    fake_enlist(&n, &e);
    snprintf(sentence, sizeof sentence,
             "the list of nodes cannot be read: %s: No such file or directory", path);
    expect_refused(&n, &e, sentence);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("# nodes of the farm\n#n2\n  n1 rack 7\n", f);
    fclose(f);
    fake_enlist(&n, &e);
    snprintf(sentence, sizeof sentence, "node n2 is not on the list of nodes, %s", path);
    expect_refused(&n, &e, sentence);
    fake_join(&listed, &server, "n1", 8);
    fake_wait(&server, NULL, "nodes_serving", 1, (struct fake *[]){&listed}, 1);
    fake_close(&n);
    fake_close(&listed);
    remove(path);
    server_stop(&server);
}

/* A node whose menu changes by itself gets no more RoIs; one whose clock is off does. */
static void changes_afterwards(void **state)
{
    Trigd__Farm__V1__FromNode m = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Beat b = TRIGD__FARM__V1__BEAT__INIT;
    struct fake n = {.plugin = NULL}, *all[] = {&n};
    uint64_t clock_ms;

    (void)state;
    fake_supervisor(&server, "", KEYS, NULL);
    fake_join(&n, &server, "n1", 8);
    fake_wait(&server, NULL, "nodes_serving", 1, all, 1);
    b.instance = n.instance;
    b.is_taking = true;
    b.menu_key = fake_menu_key() + 1;
    m.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_BEAT;
    m.beat = &b;
    fake_send(&n, &m);
    fake_wait(&server, NULL, "nodes_serving", 0, NULL, 0);
    expect_shown("n1", "its menu has the key");
    b.menu_key = fake_menu_key();
    b.unix_ns = 3600ull * 1000000000; /* an hour of 1970 */
    fake_send(&n, &m);
    fake_wait(&server, NULL, "nodes_serving", 1, NULL, 0);
    clock_ms = fake_count(&server, "n1", "clock_ms"); /* negative: far behind */
    assert_true((int64_t)clock_ms < -1000000);
    fake_close(&n);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_versions_and_menus),
        cmocka_unit_test(other_plugins_and_twins),
        cmocka_unit_test(those_on_the_list),
        cmocka_unit_test(changes_afterwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
