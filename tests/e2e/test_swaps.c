/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that are replaced while the daemon runs: a reload brings the new version, a bad one harms
 * nobody. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "copyfile.h"
#include "workers.h"

/* Writes one version of the plugin `swap` over the file in the server's folder, in place. */
static void install(const struct server *s, uint32_t version)
{
    char from[512], to[512];
    const char *build = getenv("TRIGD_BUILD");

    assert_non_null(build);
    snprintf(from, sizeof from, "%s/test-plugins/swaps/swap_%u.so", build, version);
    snprintf(to, sizeof to, "%s/swap.so", s->folder);
    copy_file(from, to);
}

/* The folder of the server comes before the folders of the build. */
static void prepare_swap(struct server *s)
{
    static const char swap_menu[] =
        "name: swap\nstreams: [physics]\nsteps: [{name: f, plugin: swap}]\n"
        "chains:\n"
        "  - {name: one, id: 1, steps: [{step: f, cuts: [{value: version, max: 1}]}],\n"
        "     prescale: 1, streams: [physics]}\n";
    char path[512], text[4096], *at;
    FILE *f;
    size_t n;

    server_prepare(s, workers_one_lane, swap_menu);
    snprintf(path, sizeof path, "%s/trigd.yaml", s->folder);
    f = fopen(path, "r+");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    at = strstr(text, "plugin_path: [");
    assert_non_null(at);
    rewind(f);
    at += strlen("plugin_path: [");
    fprintf(f, "%.*s\"%s\", %s", (int)(at - text), text, s->folder, at);
    assert_int_equal(fclose(f), 0);
    install(s, 1);
}

/* The daemon itself has no code of a plugin. */
static void expect_no_plugin_code(const struct server *s)
{
    char path[64], line[512];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)s->pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        assert_null(strstr(line, "trigd-plugin"));
    fclose(f);
}

/* Overwriting the file in place disturbs nobody; a reload brings the new version into service, one
 * that crashes when it is loaded is refused, and no RoI is lost. */
static void a_plugin_is_replaced(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    prepare_swap(&s);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    workers_send(&l, 100, WORKERS_BATCH, 0);
    workers_expect(&l, 100, WORKERS_BATCH, 0); /* version 1 is accepted */
    install(&s, 2);
    assert_int_equal(kill(workers_pid(&s, "cpu:0/1"), SIGKILL), 0);
    workers_wait(&s, "cpu:0/1", "restarts", 1); /* from the private copy */
    workers_send(&l, 200, WORKERS_BATCH, 0);
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    server_expect(&s, "reload", "reloaded");
    install(&s, 3);
    server_expect(&s, "reload", "reload failed, the running menu stays");
    expect_no_plugin_code(&s);
    for (uint64_t i = 0; i < WORKERS_BATCH; i++) { /* version 2 is not */
        const struct roi_spec one = {.token = 300 + i, .n = 50};

        link_send_rois(&l, &one, 1);
    }
    for (uint32_t i = 0; i < WORKERS_BATCH; i++) {
        Trigd__V1__FromDaemon *m = link_expect(&l, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);

        for (size_t k = 0; k < m->decisions->n_decisions; k++) {
            assert_false(m->decisions->decisions[k]->accept);
            assert_int_equal(m->decisions->decisions[k]->menu_generation, 2);
        }
        i += (uint32_t)m->decisions->n_decisions - 1;
    }
    assert_int_equal(server_counter(&s, "failed"), 0);
    link_end_well(&s, &l);
}

/* A create that never ends holds up the reload and nothing else: RoIs are decided, the operator is
 * served, SIGTERM ends the daemon. */
static void a_create_that_hangs(void **state)
{
    struct server s;
    struct link l;
    bool is_reloading = false;

    (void)state;
    prepare_swap(&s);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    install(&s, 4);
    assert_int_equal(kill(s.pid, SIGHUP), 0);
    while (!is_reloading) {
        char *answer = server_ask(&s, "show info json");

        is_reloading = strstr(answer, "\"reloading\":\"yes\"") != NULL;
        free(answer);
    }
    for (uint64_t token = 0; token < 20 * WORKERS_BATCH; token += WORKERS_BATCH) {
        workers_send(&l, token, WORKERS_BATCH, 0);
        workers_expect(&l, token, WORKERS_BATCH, 0);
    }
    server_check_ledger(&s);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 5), 0);
    server_clean(&s);
}

/* A plugin that others can write to ends the daemon, unless the configuration takes it. */
static void a_plugin_that_others_can_write(void **state)
{
    struct server s;
    struct link l;
    char path[512];
    FILE *f;

    (void)state;
    prepare_swap(&s);
    snprintf(path, sizeof path, "%s/swap.so", s.folder);
    assert_int_equal(chmod(path, 0666), 0);
    server_launch(&s);
    assert_int_not_equal(server_wait_end(&s, 60), 0);
    snprintf(path, sizeof path, "%s/trigd.yaml", s.folder);
    f = fopen(path, "a");
    assert_non_null(f);
    fputs("security: {allow_writable_plugins: true}\n", f);
    assert_int_equal(fclose(f), 0);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    workers_send(&l, 100, WORKERS_BATCH, 0);
    workers_expect(&l, 100, WORKERS_BATCH, 0);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- memory of both generations */

struct reload {
    struct server *server;
    char *answer;
    _Atomic bool has_ended;
};

static void *reload(void *arg)
{
    struct reload *r = arg;

    r->answer = server_ask(r->server, "reload");
    atomic_store(&r->has_ended, true);
    return NULL;
}

/* Reloads while the client has four batches in flight; the answer is the caller's. */
static char *reload_under_load(struct server *s, struct link *l, uint64_t *token)
{
    struct reload r = {.server = s};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, reload, &r), 0);
    do {
        uint8_t result[4 * WORKERS_BATCH];

        for (uint32_t i = 0; i < 4; i++)
            workers_send(l, *token + i * WORKERS_BATCH, WORKERS_BATCH, 0);
        link_collect(l, *token, 4 * WORKERS_BATCH, result);
        for (uint32_t i = 0; i < 4 * WORKERS_BATCH; i++)
            assert_int_equal(result[i] & NOT_LATE, 1);
        *token += 4 * WORKERS_BATCH;
    } while (!atomic_load(&r.has_ended));
    assert_int_equal(pthread_join(thread, NULL), 0);
    return r.answer;
}

/* A reload whose lanes do not all fit beside those that serve is refused with a sentence, whether
 * one lane of it opens or none does, and costs no RoI; with enough memory it passes. */
static void memory_for_both(void **state)
{
    static const char *const wanted =
        "the new generation does not fit beside the old one: step f on cuda:0 has no memory "
        "for its lanes; fewer lanes, slots or max_kbytes may fit, else drain and restart";
    struct server s;
    struct link l;
    struct fakegpu_memory *memory;
    uint64_t token = 0, used;
    char *answer;

    (void)state;
    workers_prepare_gpus(
        &s,
        "devices: [{backend: cuda, index: 0, lanes: 3, slots: 2}]\n"
        "batching: {max_rois: 8, max_kbytes: 64, max_age_us: 1000}\n" PATIENT_LIMITS
        "clients: {max_items: 1000, heartbeat_ms: 20000}\n",
        workers_menu);
    memory = workers_gpu_memory(&s, 0);
    workers_launch(&s);
    workers_join(&s, &l);
    used = fakegpu_used(memory);
    assert_true(used > 0);
    for (uint32_t tenths = 0; tenths < 10; tenths += 3) { /* of what it takes */
        memory->most = used + used * tenths / 10;
        answer = reload_under_load(&s, &l, &token);
        assert_non_null(strstr(answer, "reload failed, the running menu stays"));
        assert_non_null(strstr(answer, wanted));
        free(answer);
        server_check_ledger(&s);
        assert_int_equal(server_counter(&s, "menu_generation"), 1);
        assert_int_equal(fakegpu_used(memory), used);
        for (uint32_t i = 0; i < 3; i++) {
            char lane[32];

            snprintf(lane, sizeof lane, "f@cuda:0/%u", i);
            assert_int_equal(server_row_number(&s, "lanes", lane, "is_down"), 0);
        }
    }
    assert_int_equal(server_counter(&s, "reload_failures"), 4);
    memory->most = 2 * used;
    answer = reload_under_load(&s, &l, &token);
    assert_non_null(strstr(answer, "menu reloaded"));
    free(answer);
    assert_int_equal(server_counter(&s, "menu_generation"), 2);
    workers_send(&l, token, WORKERS_BATCH, 0);
    workers_expect(&l, token, WORKERS_BATCH, 0);
    assert_int_equal(server_counter(&s, "received"), token + WORKERS_BATCH);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(munmap(memory, sizeof *memory), 0);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_replaced),
        cmocka_unit_test(a_create_that_hangs),
        cmocka_unit_test(a_plugin_that_others_can_write),
        cmocka_unit_test(memory_for_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
