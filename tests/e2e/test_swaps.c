/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that are replaced while the daemon runs: a reload brings the new version, a bad one harms
 * nobody. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    char *answer;

    (void)state;
    prepare_swap(&s);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "swap", 0);
    workers_send(&l, 100, WORKERS_BATCH, 0);
    workers_expect(&l, 100, WORKERS_BATCH, 0); /* version 1 is accepted */
    install(&s, 2);
    assert_int_equal(kill((pid_t)workers_number(&s, "cpu:0/1", "pid"), SIGKILL), 0);
    workers_wait(&s, "cpu:0/1", "restarts", 1); /* from the private copy */
    workers_send(&l, 200, WORKERS_BATCH, 0);
    workers_expect(&l, 200, WORKERS_BATCH, 0);
    answer = server_ask(&s, "reload");
    assert_non_null(strstr(answer, "reloaded"));
    free(answer);
    install(&s, 3);
    answer = server_ask(&s, "reload");
    assert_non_null(strstr(answer, "reload failed, the running menu stays"));
    free(answer);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_replaced),
        cmocka_unit_test(a_create_that_hangs),
        cmocka_unit_test(a_plugin_that_others_can_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
