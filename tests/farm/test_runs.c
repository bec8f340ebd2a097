/* SPDX-License-Identifier: Apache-2.0 */
/* Run control of one daemon, and of a farm of two: states, numbers, documents, accounts; a node
 * that is killed within a run, a supervisor that is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "fakenode.h"

#define NODES   2u
#define WAIT_NS (30 * NS_PER_S)

static const char config[] = "devices: [{backend: cpu, lanes: 1}]\n"
                             "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n"
                             "batching: {max_rois: 8, max_age_us: 500}\n"
                             "debug_stream: {folder: \"\"}\n";
static const char controlled[] =
    "runs: {control: true, numbers: true, lumi_block_s: 0, dir: runs}\n";
static const char menu[] = "name: farm\n"
                           "streams: [physics]\n"
                           "steps: [{name: f, plugin: fault}]\n"
                           "chains:\n"
                           "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
                           "     prescale: 1, streams: [physics]}\n";

static struct server one, sup, node[NODES];
static uint64_t token;

/* ---------------------------------------------------------------- helpers */

/* A command whose answer is to begin with that. */
static void command(struct server *s, const char *line, const char *wanted)
{
    char *answer = server_ask(s, line);
    const char *text = answer;

    while (*text == '#') /* progress */
        text = strchr(text, '\n') + 1;
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        fail_msg("%s: \"%s\", wanted \"%s\"", line, text, wanted);
    free(answer);
}

static char *read_document(const struct server *s, const char *name)
{
    char path[160], *text = calloc(1, 65536);
    FILE *f;

    assert_non_null(text);
    snprintf(path, sizeof path, "%s/runs/%s", s->folder, name);
    f = fopen(path, "r");
    if (!f)
        fail_msg("there is no %s", path);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

static bool has_document(const struct server *s, const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/runs/%s", s->folder, name);
    return access(path, F_OK) == 0;
}

/* The sum of all numbers that follow a text, from a place on. */
static uint64_t sum_of(const char *text, const char *from, const char *name)
{
    uint64_t sum = 0;

    text = strstr(text, from);
    assert_non_null(text);
    while ((text = strstr(text, name)) != NULL) {
        text += strlen(name);
        sum += strtoull(text, NULL, 10);
    }
    return sum;
}

static uint64_t received_of(const char *document)
{
    return sum_of(document, "\"accounts\"", "\"rois\": {\"received\": ");
}

static void expect(const char *document, const char *part)
{
    if (!strstr(document, part))
        fail_msg("\"%s\" is not in %s", part, document);
}

/* Sends RoIs with a run and lumi block of the client's own; those that are not taken are sent again
 * until all are decided.  With `run` all decisions are of that run. */
static void decide(struct server *s, uint32_t n, uint32_t run)
{
    const uint64_t limit = clock_ns() + WAIT_NS;
    uint32_t decided = 0, left = n;
    struct link l;

    link_open(&l, s);
    link_hello(&l, "client", 0);
    while (decided < n) {
        const Trigd__V1__FromDaemon *m;

        assert_true(clock_ns() < limit);
        for (; left; left--) {
            const struct roi_spec spec = {
                .token = token, .l1id = (uint32_t)token, .roi_id = 1, .n = 50};

            token++;
            link_send_rois(&l, &spec, 1);
        }
        m = link_receive(&l, 100);
        if (!m)
            continue;
        if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_BUSY) {
            left += (uint32_t)m->busy->n_tokens;
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        } else if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            for (size_t i = 0; i < m->decisions->n_decisions; i++)
                assert_int_equal(m->decisions->decisions[i]->run, run);
            decided += (uint32_t)m->decisions->n_decisions;
        }
    }
    link_close(&l);
}

/* One RoI is not taken. */
static void is_refused(struct server *s)
{
    const struct roi_spec spec = {.token = token, .l1id = (uint32_t)token, .roi_id = 1, .n = 50};
    const Trigd__V1__FromDaemon *m;
    struct link l;

    token++;
    link_open(&l, s);
    link_hello(&l, "client", 0);
    link_send_rois(&l, &spec, 1);
    m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_BUSY);
    assert_int_equal(m->busy->reason, TRIGD__V1__BUSY__REASON__DRAINING);
    link_close(&l);
}

/* ---------------------------------------------------------------- one daemon */

static void run_of_daemon(void **state)
{
    char text[1024], *document;

    (void)state;
    snprintf(text, sizeof text, "%s%s", config, controlled);
    server_start(&one, text, menu);
    is_refused(&one);
    command(&one, "run pause", "error: pause is not possible while the state is configured; ");
    command(&one, "run start 0", "error: \"0\" is no number of a run; 1 to 4294967295 are allowed");
    command(&one, "run start x", "error: \"x\" is no number of a run");
    command(&one, "run start 7", "running, run 7, lumi block 1");
    decide(&one, 20, 7);
    command(&one, "run block", "running, run 7, lumi block 2");
    decide(&one, 5, 7);
    command(&one, "run pause", "paused, run 7, lumi block 2");
    is_refused(&one);
    command(&one, "run resume", "running, run 7");
    decide(&one, 5, 7);
    command(&one, "run stop", "configured; run 7 is over");
    is_refused(&one);
    document = read_document(&one, "7.start.json");
    expect(document, "\"document\": \"start\",\n \"run\": 7, \"numbers\": \"run control\"");
    free(document);
    document = read_document(&one, "7.end.json");
    expect(document, "\"ledger\": {\"received\": 30, \"accepted\": 30, \"rejected\": 0, "
                     "\"failed\": 0, \"in_flight\": 0}");
    expect(document, "\"plugin\": \"fault\"");
    expect(document, "\"busy\": 1,"); /* while it was paused */
    expect(document, "{\"run\": 7, \"lumi_block\": 1,");
    expect(document, "{\"run\": 7, \"lumi_block\": 2,");
    expect(document, "\"c\": {\"prescale\": 1, \"seeded\": 20,");
    assert_int_equal(received_of(document), 30);
    free(document);
}

/* Numbers are used once; a configuration that fails ends in error. */
static void errors_of_daemon(void **state)
{
    char *audit, path[160];
    FILE *f;

    (void)state;
    command(&one, "run start 7", "error: run 7 has been already: there are documents of it in ");
    command(&one, "run stop", "error: stop is not possible while the state is configured");
    server_menu(&one, "name: [wrong");
    command(&one, "run configure", "error: reload failed");
    command(&one, "run start",
            "error: start is not possible while the state is error; "
            "allowed now: reset");
    command(&one, "run reset", "initial");
    command(&one, "run start",
            "error: start is not possible while the state is initial; "
            "allowed now: configure");
    server_menu(&one, menu);
    command(&one, "run configure", "configured");
    command(&one, "run start", "running, run 8, lumi block 1");
    decide(&one, 3, 8);
    snprintf(path, sizeof path, "%s/state/audit.jsonl", one.folder);
    audit = calloc(1, 65536);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(audit && fread(audit, 1, 65535, f) > 0);
    fclose(f);
    expect(audit, "\"action\": \"run start 7\"");
    expect(audit, "\"by\": \"run control\", \"action\": \"running -> paused\"");
    expect(audit, "\"result\": \"error: pause is not possible while");
    free(audit);
}

static void daemon_ends_in_run(void **state)
{
    char *document;

    (void)state;
    assert_int_equal(server_end(&one, SIGTERM, 20), 0);
    document = read_document(&one, "8.end.json");
    expect(document, "\"why\": \"the daemon ends\"");
    assert_int_equal(received_of(document), 3);
    free(document);
    server_clean(&one);
}

/* ---------------------------------------------------------------- a farm */

static void start_farm(void **state)
{
    char text[1024];

    (void)state;
    snprintf(text, sizeof text, "limits: {soft_ms: 0, hard_ms: 60000, drain_ms: 5000}\n%s",
             controlled);
    fake_supervisor(&sup, text, "name: s, heartbeat_ms: 20, lost_beats: 100", menu);
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(text, sizeof text,
                 "%sruns: {dir: runs}\nsupervisor: {name: n%u, endpoints: \"ipc://%s/nodes\"}\n",
                 config, i, sup.folder);
        server_prepare(&node[i], text, menu);
        node[i].shards = 1;
        server_launch(&node[i]);
    }
    server_wait_ready(&sup);
    fake_wait(&sup, NULL, "nodes_serving", NODES, NULL, 0);
    is_refused(&sup);
    command(&sup, "run start 3", "running, run 3, lumi block 1, 2 of 2 nodes");
    decide(&sup, 40, 3);
    command(&node[0], "run stop", "error: runs.control is off in the configuration");
}

/* What it counted up to the last lumi block is not lost with a node. */
static void node_is_killed(void **state)
{
    uint64_t lost, received = 0;

    (void)state;
    command(&sup, "run block", "running, run 3, lumi block 2");
    for (uint32_t i = 0; i < NODES; i++)
        received += server_counter(&node[i], "received");
    assert_int_equal(received, 40);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* its accounts are on their way */
    lost = fake_count(&sup, NULL, "nodes_lost"); /* on a busy host: while they started */
    assert_int_equal(server_end(&node[0], SIGKILL, 10), 128 + SIGKILL);
    fake_wait(&sup, NULL, "nodes_lost", lost + 1, NULL, 0);
    server_launch(&node[0]);
    fake_wait(&sup, NULL, "nodes_serving", NODES, NULL, 0);
    decide(&sup, 40, 3);
    assert_int_equal(fake_count(&sup, NULL, "nodes_lost"), lost + 1);
}

static void farm_ends_run(void **state)
{
    char *document;

    (void)state;
    command(&sup, "run stop", "configured; run 3 is over");
    document = read_document(&sup, "3.end.json");
    expect(document, "\"farm\": {\"asked\": 0, \"given\": ");
    assert_int_equal(received_of(document), 80);
    expect(document, "\"ledger\": {\"received\": 80, \"accepted\": 80,");
    expect(document, "{\"run\": 3, \"lumi_block\": 1,");
    expect(document, "{\"run\": 3, \"lumi_block\": 2,");
    expect(document, "\"nodes_lost\": [\n  {\"node\": \"n0\"");
    free(document);
    assert_true(has_document(&node[0], "3.start.2.json")); /* it began the run twice */
    assert_true(has_document(&node[1], "3.end.json"));
}

/* Nodes stay in the run; the next supervisor takes it over and ends it. */
static void supervisor_is_killed(void **state)
{
    char *document;

    (void)state;
    command(&sup, "run start", "running, run 4, lumi block 1, 2 of 2 nodes");
    decide(&sup, 10, 4);
    assert_int_equal(server_end(&sup, SIGKILL, 10), 128 + SIGKILL);
    server_launch(&sup);
    server_wait_ready(&sup);
    fake_wait(&sup, NULL, "nodes_serving", NODES, NULL, 0);
    fake_wait_text(&sup, "show run", "taken over from node");
    decide(&sup, 10, 4);
    command(&sup, "run stop", "configured; run 4 is over");
    document = read_document(&sup, "4.end.json");
    assert_int_equal(received_of(document), 20); /* nodes had the accounts of all */
    free(document);
}

static void end(void **state)
{
    (void)state;
    fake_end_daemons(node, NODES);
    server_stop(&sup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_of_daemon),        cmocka_unit_test(errors_of_daemon),
        cmocka_unit_test(daemon_ends_in_run),   cmocka_unit_test(start_farm),
        cmocka_unit_test(node_is_killed),       cmocka_unit_test(farm_ends_run),
        cmocka_unit_test(supervisor_is_killed), cmocka_unit_test(end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
