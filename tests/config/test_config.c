/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations: the defaults, the examples of configs/, and what is said of wrong ones. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "config/config.h"
#include "config/config_table.h"
#include "exec/guests.h"
#include "menu/menu.h"

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    if (!value)
        fail_msg("%s is not set: run this through ctest", name);
    return value;
}

static struct config *load(const char *text)
{
    struct config *c = NULL;
    const char *log, *path = capture_file("trigd.yaml", text);
    int r;

    capture_start(2);
    r = config_load(path, &c);
    log = capture_end();
    if (r < 0)
        fail_msg("refused: %s", log);
    return c;
}

static void defaults_are_complete(void **state)
{
    struct config *c = load("menu: m.yaml\n");
    const char *path = capture_file("m.yaml", "");

    (void)state;
    assert_string_equal(c->menu, path); /* relative to the file's folder */
    assert_int_equal(c->n_endpoints, 1);
    assert_string_equal(c->endpoints[0], "tcp://127.0.0.1:5700");
    assert_int_equal(c->pool.rois, 16384);
    assert_int_equal(c->pool.mbytes, 256);
    assert_int_equal(c->limits.soft_ms, 500);
    assert_int_equal(c->limits.hard_ms, 2000);
    assert_int_equal(c->clients.credits, 512);
    assert_int_equal(c->batching.max_rois, 64);
    assert_true(c->batching.eager);
    assert_int_equal(c->n_devices, 1);
    assert_string_equal(c->devices[0].backend, "cpu");
    assert_int_equal(c->devices[0].slots, 2);
    assert_false(c->devices[0].required);
    assert_string_equal(c->log.level, "info");
    assert_non_null(strstr(c->debug_stream.folder, "/state/debug"));
    assert_int_equal(c->plugin_path[0][0], '/');
    assert_int_equal(c->backend_path[0], '/');
    config_free(c);
    config_free(NULL);
}

static void folders_of_plugins_replace_or_add(void **state)
{
    struct config *c = load("menu: m.yaml\nplugin_path: [/mine]\n");
    char *own = strdup(capture_file("mine", ""));

    (void)state;
    assert_int_equal(c->n_plugin_path, 1);
    assert_string_equal(c->plugin_path[0], "/mine");
    config_free(c);
    c = load("menu: m.yaml\nplugin_path: [+mine, /other]\n");
    assert_int_equal(c->n_plugin_path, 3);
    assert_string_equal(c->plugin_path[0], own); /* relative to the file's folder, as others */
    assert_string_equal(c->plugin_path[1], "/other");
    assert_non_null(strstr(c->plugin_path[2], "/../"));
    config_free(c);
    free(own);
}

static void a_step_inherits_what_it_does_not_say(void **state)
{
    struct config *c = load("menu: /m.yaml\n"
                            "steps: [{step: a, batching: {max_rois: 7}}, {step: b}]\n"
                            "batching: {max_rois: 9, max_age_us: 123, eager: false}\n");

    (void)state;
    assert_string_equal(c->menu, "/m.yaml");
    assert_int_equal(c->steps[0].batching->max_rois, 7);
    assert_int_equal(c->steps[0].batching->max_age_us, 123);
    assert_false(c->steps[0].batching->eager);
    assert_null(c->steps[1].batching);
    config_free(c);
}

struct broken {
    const char *text;
    unsigned line;
    const char *says;
};

static const struct broken broken[] = {
    {"", 1, "the file is empty"},
    {"# nothing\n", 1, "the file is empty"},
    {"- menu\n", 1, "the file is not a mapping"},
    {"menu\n", 1, "the file is not a mapping"},
    {"log: {level: info}\n", 1, "the key \\\"menu\\\" is missing in the file"},
    {"menu:\n", 1, "menu has no value"},
    {"menu: ~\n", 1, "menu has no value"},
    {"menu: \"\"\n", 1, "menu is empty"},
    {"menu: [a]\n", 1, "menu is not one value"},
    {"menu: m\n\tpool: 1\n", 2, "this is not YAML"},
    {"menu: m\npool: {rois: 100\n", 3, "this is not YAML"},
    {"menu: \"m\n", 2, "this is not YAML"},
    {"menu: m\n...\nmenu: n\n", 2, "second document"},
    {"menu: m\n\nmenu: n\n", 3, "the key \\\"menu\\\" stands twice"},
    {"menu: m\n[a]: b\n", 2, "a key of the file is not text"},
    {"menu: m\nmneu: n\n", 2, "no key \\\"mneu\\\" in the file (did you mean \\\"menu\\\"?)"},
    {"menu: m\nxyzzyx: n\n", 2, "no key \\\"xyzzyx\\\" in the file; allowed are endpoints menu"},
    {"menu: m\npool: {rois: 64}\nlimits:\n  rois: 5\n", 4,
     "no key \\\"rois\\\" in limits; allowed are soft_ms hard_ms drain_ms"},
    {"menu: m\npool:\n  roi: 1\n", 3, "did you mean \\\"rois\\\"?"},
    {"menu: m\npool: 5\n", 2, "pool is not a mapping"},
    {"menu: m\npool: {rois: 15}\n", 2, "pool.rois is 15; 16 to 1048576 are allowed"},
    {"menu: m\npool: {rois: 1048577}\n", 2, "pool.rois is 1048577"},
    {"menu: m\npool: {rois: many}\n", 2, "pool.rois is \\\"many\\\"; a whole number"},
    {"menu: m\npool: {rois: -1}\n", 2, "pool.rois is \\\"-1\\\"; a whole number"},
    {"menu: m\npool: {rois: 0x40}\n", 2, "pool.rois is \\\"0x40\\\"; a whole number"},
    {"menu: m\npool: {rois: 0100}\n", 2, "pool.rois is \\\"0100\\\"; a whole number"},
    {"menu: m\npool: {rois: 1e3}\n", 2, "pool.rois is \\\"1e3\\\"; a whole number"},
    {"menu: m\npool: {rois: 4294967296}\n", 2, "a whole number from 0 to 4294967295"},
    {"menu: m\npool: {rois: 99999999999999999999}\n", 2, "a whole number"},
    {"menu: m\npool: {rois: 64 ms}\n", 2, "a whole number"},
    {"menu: m\npool: {rois: }\n", 2, "a whole number"},
    {"menu: m\npool: {rois: [1]}\n", 2, "pool.rois is not one value"},
    {"menu: m\npool: {mbytes: 100}\n", 2, "pool.mbytes is 100; a power of two"},
    {"menu: m\npool:\n  rois: 64\n  mbytes: 8\n", 4, "pool.mbytes is 8; 16 to 65536"},
    {"menu: m\nlimits:\n  soft_ms: 3000\n  hard_ms: 100\n", 3, "limits.soft_ms is 3000"},
    {"menu: m\nlimits: {hard_ms: 600001}\n", 2, "limits.hard_ms is 600001; 0 to 600000"},
    {"menu: m\nlimits: {drain_ms: 600001}\n", 2, "limits.drain_ms is 600001"},
    {"menu: m\nclients: {max: 0}\n", 2, "clients.max is 0; 1 to 1024"},
    {"menu: m\nclients: {credits: 0}\n", 2, "clients.credits is 0"},
    {"menu: m\nclients: {heartbeat_ms: 99}\n", 2, "clients.heartbeat_ms is 99; 100 to 60000"},
    {"menu: m\nclients: {max_message_kbytes: 65537}\n", 2, "clients.max_message_kbytes is 65537"},
    {"menu: m\nclients: {max_rois: 4097}\n", 2, "clients.max_rois is 4097"},
    {"menu: m\nclients: {max_layer: 256}\n", 2, "clients.max_layer is 256; 0 to 255"},
    {"menu: m\npool: {mbytes: 16}\n\nclients: {max_items: 1000000}\n", 4,
     "clients.max_items is 1000000: one such RoI needs more than half of pool.mbytes (16)"},
    {"menu: m\nbatching: {max_rois: 0}\n", 2, "batching.max_rois is 0; 1 to 65536"},
    {"menu: m\nbatching: {max_kbytes: 0}\n", 2, "batching.max_kbytes is 0"},
    {"menu: m\nbatching: {max_age_us: 10000001}\n", 2, "batching.max_age_us is 10000001"},
    {"menu: m\nbatching: {eager: yes}\n", 2, "batching.eager is \\\"yes\\\"; true or false"},
    {"menu: m\nbatching: {eager: 1}\n", 2, "batching.eager is \\\"1\\\"; true or false"},
    {"menu: m\nendpoints: []\n", 2, "endpoints has 0 entries; at least 1"},
    {"menu: m\nendpoints: tcp://*:1\n", 2, "endpoints is not a list"},
    {"menu: m\nendpoints:\n  - tcp://*:5700\n  - http://x\n", 4,
     "endpoints[1] is \\\"http://x\\\"; tcp://ADDRESS:PORT, ipc://FILE and shm://FILE are allowed"},
    {"menu: m\nendpoints: [\"tcp://\"]\n", 2, "endpoints[0] is \\\"tcp://\\\""},
    {"menu: m\nendpoints:\n  - ipc:///a\n  - ipc:///a\n", 4, "listed twice"},
    {"menu: m\ndevices: []\n", 2, "devices has 0 entries"},
    {"menu: m\ndevices: {backend: cpu}\n", 2, "devices is not a list"},
    {"menu: m\ndevices:\n  - {lanes: 1}\n", 3, "\\\"backend\\\" is missing in devices[0]"},
    {"menu: m\ndevices:\n  - {backend: gpu, lanes: 1}\n", 3,
     "devices[0].backend is \\\"gpu\\\"; cpu, opencl and cuda are allowed"},
    {"menu: m\ndevices:\n  - {backend: cuda, lanes: 0}\n", 3, "cuda wants 1 to 512"},
    {"menu: m\ndevices:\n  - {backend: cpu, lanes: 513}\n", 3, "devices[0].lanes is 513; 0 to 512"},
    {"menu: m\ndevices:\n  - {backend: cpu, slots: 0}\n", 3, "devices[0].slots is 0; 1 to 8"},
    {"menu: m\ndevices:\n  - {backend: cpu, index: 64}\n", 3, "devices[0].index is 64"},
    {"menu: m\ndevices:\n  - {backend: cpu}\n  - {backend: cpu, lanes: 2}\n", 4,
     "device cpu:0 is listed twice"},
    {"menu: m\ndevices:\n  - {backend: cpu, slot: 2}\n", 3,
     "no key \\\"slot\\\" in devices[0] (did you mean \\\"slots\\\"?)"},
    {"menu: m\nsteps:\n  - {batching: {}}\n", 3, "\\\"step\\\" is missing in steps[0]"},
    {"menu: m\nsteps:\n  - {step: a}\n  - {step: a}\n", 4, "step \\\"a\\\" is listed twice"},
    {"menu: m\nsteps:\n  - {step: a, backends: [cuda]}\n", 3,
     "step \\\"a\\\" wants the backend \\\"cuda\\\", which none of `devices` has"},
    {"menu: m\nsteps:\n  - step: a\n    batching:\n      max_rois: 0\n", 5,
     "steps[0].batching.max_rois is 0"},
    {"menu: m\nlog: {level: loud}\n", 2, "log.level is \\\"loud\\\"; error, warn, info and debug"},
    {"menu: m\nhttp: {port: 65536}\n", 2,
     "http.port is \\\"65536\\\"; a whole number from 0 to 65535"},
    {"menu: m\nhttp: {adress: x}\n", 2, "did you mean \\\"address\\\"?"},
    {"menu: m\ncontrol: {socket: [x]}\n", 2, "control.socket is not one value"},
    {"menu: m\ndebug_stream: {max_mbytes: 2000000}\n", 2, "debug_stream.max_mbytes is 2000000"},
    {"menu: m\nstreams:\n  - {level: 3}\n", 3, "\\\"stream\\\" is missing in streams[0]"},
    {"menu: m\nstreams:\n  - {stream: a}\n  - {stream: a}\n", 4,
     "stream \\\"a\\\" is listed twice"},
    {"menu: m\nstreams:\n  - {stream: debug}\n", 3, "are those of debug_stream"},
    {"menu: m\nstreams:\n  - {stream: a, level: 20}\n", 3, "streams[0].level is 20; 0 to 19"},
    {"menu: m\nstreams:\n  - {stream: a, when_full: wait}\n", 3,
     "streams[0].when_full is \\\"wait\\\"; drop and stop are allowed"},
    {"menu: m\nstreams:\n  - {stream: a, folder: \"\"}\n", 3,
     "streams[0].folder is empty; a folder is wanted"},
    {"menu: m\nguests:\n  - {guest: ../a, plugin: p, backend: cpu}\n", 3,
     "guests[0].guest is \\\"../a\\\"; letters, digits, _ and - are allowed"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: gpu}\n", 3,
     "guests[0].backend is \\\"gpu\\\"; cpu, opencl and cuda are allowed"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: cpu}\n"
     "  - {guest: a, plugin: p, backend: cuda}\n",
     4, "guest \\\"a\\\" is listed twice"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: cpu}\n"
     "  - {guest: b, plugin: p, backend: cpu}\n",
     4, "device cpu:0 has a guest already, \\\"a\\\"; one is allowed"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: cpu, when: always}\n", 3,
     "guests[0].when is \\\"always\\\"; idle and partition are allowed"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: opencl, when: partition}\n", 3,
     "an OpenCL device cannot be divided; with opencl, idle is allowed"},
    {"menu: m\nguests:\n  - {guest: a, plugin: p, backend: cpu, slice_us: 0}\n", 3,
     "guests[0].slice_us is 0; 1 to 10000 are allowed"},
    {"menu: m\nisolation: thread\nguests:\n  - {guest: a, plugin: p, backend: cpu}\n", 3,
     "guests run in worker processes; isolation: process is wanted"},
};

static void wrong_ones_are_refused_with_line_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const char *path = capture_file("trigd.yaml", broken[i].text), *log;
        struct config *c = NULL;
        char place[200];
        int r;

        snprintf(place, sizeof place, "file=\"%s\" line=%u\n", path, broken[i].line);
        capture_start(2);
        r = config_load(path, &c);
        log = capture_end();
        assert_null(c);
        if (r != -EINVAL || !strstr(log, broken[i].says) || !strstr(log, place))
            fail_msg("%s\ngave %d, %s\nwithout: %s, line %u", broken[i].text, r, log,
                     broken[i].says, broken[i].line);
    }
}

static void all_problems_are_told(void **state)
{
    const char *path =
        capture_file("trigd.yaml", "menu: m\n"
                                   "pool: {rois: 1, mbytes: 17}\n"
                                   "limits: {soft_ms: 700000, hard_ms: 1, drain_ms: 700000}\n"
                                   "clients: {max: 0, credits: 0, heartbeat_ms: 1, max_rois: 0}\n"
                                   "log: {level: x}\n");
    struct config *c = NULL;
    unsigned n = 0;

    (void)state;
    capture_start(2);
    assert_int_equal(config_load(path, &c), -EINVAL);
    for (const char *at = capture_end(); (at = strstr(at, "level=error")) != NULL; at++)
        n++;
    assert_int_equal(n, 11);
}

static void a_missing_file_is_told(void **state)
{
    struct config *c = NULL;

    (void)state;
    capture_start(2);
    assert_int_equal(config_load("/nonexistent/trigd.yaml", &c), -ENOENT);
    assert_non_null(strstr(capture_end(), "file=\"/nonexistent/trigd.yaml\""));
    assert_null(c);
}

/* A test program does not lie beside the plugins, as trigd does: their folder is given. */
static void check_example(const char *path)
{
    char plugins[4096];
    char *paths[] = {plugins};
    struct plugin_host *host = NULL;
    struct config *c = NULL;
    struct menu *menu = NULL;
    const char *log;
    int r;

    snprintf(plugins, sizeof plugins, "%s/plugins", environment("TRIGD_BUILD"));
    assert_int_equal(plugin_host_new(paths, 1, &host), 0);
    capture_start(2);
    r = config_load(path, &c);
    if (r == 0)
        r = menu_load(c->menu, host, &menu);
    if (r == 0)
        r = guests_check(c, host);
    log = capture_end();
    if (r < 0)
        fail_msg("%s: %s", path, log);
    menu_free(menu);
    config_free(c);
    plugin_host_free(host);
}

/* Returns how many there are in the folder. */
static unsigned check_examples(const char *of)
{
    char folder[4096], path[4400];
    struct dirent *e;
    unsigned n = 0;
    DIR *d;

    snprintf(folder, sizeof folder, "%s/%s", environment("TRIGD_SOURCE"), of);
    d = opendir(folder);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        size_t length = strlen(e->d_name);

        if (length < 5 || strcmp(e->d_name + length - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        check_example(path);
        n++;
    }
    closedir(d);
    return n;
}

static void every_example_is_good(void **state)
{
    (void)state;
    assert_true(check_examples("configs") >= 4);
    assert_int_equal(check_examples("configs/farm"), 2);
}

/* docs/configuration.md has the printed table of keys word for word. */
static void the_documentation_lists_every_key(void **state)
{
    static char doc[65536];
    char path[4096], *line, *save = NULL, *table;
    unsigned rows = 0;
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/docs/configuration.md", environment("TRIGD_SOURCE"));
    f = fopen(path, "r");
    assert_non_null(f);
    doc[fread(doc, 1, sizeof doc - 1, f)] = '\0';
    fclose(f);
    capture_start(1);
    config_print_keys();
    table = strdup(capture_end());
    assert_non_null(table);
    for (line = strtok_r(table, "\n", &save); line; line = strtok_r(NULL, "\n", &save), rows++)
        if (!strstr(doc, line))
            fail_msg("docs/configuration.md lacks this line: %s", line);
    free(table);
    assert_true(rows > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_complete),
        cmocka_unit_test(folders_of_plugins_replace_or_add),
        cmocka_unit_test(a_step_inherits_what_it_does_not_say),
        cmocka_unit_test(wrong_ones_are_refused_with_line_and_reason),
        cmocka_unit_test(all_problems_are_told),
        cmocka_unit_test(a_missing_file_is_told),
        cmocka_unit_test(every_example_is_good),
        cmocka_unit_test(the_documentation_lists_every_key)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
