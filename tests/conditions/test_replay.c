/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that was written under two sets of prescales and conditions and two menus: each part is
 * decided again, bit for bit, with the menu, prescales and conditions that the daemon dumped, and
 * all of it with those that it kept. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "harness.h"
#include "sanitized.h"

#ifdef IS_SANITIZED /* each is decided the same way */
#define N_FIRST 15u
#else
#define N_FIRST 60u
#endif
#define N_SECOND (N_FIRST * 5 / 3) /* the first have the numbers of those: left out as repeats */
#define N_THIRD  (N_FIRST * 2)     /* likewise */

static const char config[] = "clients: {max_layer: 63}\n"
                             "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n"
                             "limits: {soft_ms: 0, hard_ms: 120000}\n" /* on any machine */
                             "streams: [{stream: physics, flush_ms: 5}]\n";

struct subject {
    const char *preset; /* of the RoIs */
    const char *menu, *first, *second;
};

static struct subject vertices = {
    "velo-tracks",
    "streams: [physics]\n"
    "steps: [{name: v, plugin: vertexing}]\n"
    "chains:\n"
    "  - {name: some, id: 1, steps: [{step: v, cuts: [{value: n_pv, min: 3}]}], pass_through: "
    "true,\n"
    "     streams: [physics]}\n"
    "  - {name: few, id: 2, steps: [{step: v}], prescale: 3, streams: [physics]}\n",
    "conditions: {beam_line: {x: [0], y: [0], sigma: [0.03]}}\n",
    "conditions: {beam_line: {x: [0.05], y: [-0.02], sigma: [0.05]}}\n"};

#ifndef IS_SANITIZED /* the next one makes the same tracks, of clusters */
static struct subject lines = {
    "velo",
    "streams: [physics]\n"
    "steps: [{name: t, plugin: hough}]\n"
    "chains:\n"
    "  - {name: some, id: 1, steps: [{step: t, cuts: [{value: n_tracks, min: 100}]}], "
    "pass_through: true,\n"
    "     streams: [physics]}\n"
    "  - {name: few, id: 2, steps: [{step: t}], prescale: 3, streams: [physics]}\n",
    "conditions: {beam_line: {x: [0.4], y: [0.2], sigma: [0.03]}}\n",
    "conditions: {layer_alignment: {layer: [20, 21], z: [0, 0], dx: [0.1, -0.1], dy: [0, 0.1],\n"
    "    dz: [0, 0], rx: [0, 0], ry: [0, 0], rz: [0.001, 0]}}\n"};
#endif

static struct subject dead = {
    "velo-banks",
    "streams: [physics]\n"
    "steps: [{name: h, plugin: clusters}, {name: t, plugin: hough, inputs: [h], on_device: true}]\n"
    "chains:\n"
    "  - {name: some, id: 1, steps: [{step: h}, {step: t, cuts: [{value: n_tracks, min: 100}]}],\n"
    "     pass_through: true, streams: [physics]}\n"
    "  - {name: few, id: 2, steps: [{step: t}], prescale: 3, streams: [physics]}\n",
    "conditions: {dead_channels: {sensor: [20, 21, 22, 23], column: [0, 0, 0, 0], row: [0, 0, 0, "
    "0],\n"
    "    n_columns: [768, 768, 768, 768], n_rows: [256, 256, 256, 256]}}\n",
    "conditions: {dead_channels: {sensor: [40, 41], column: [256, 0], row: [0, 10],\n"
    "    n_columns: [256, 768], n_rows: [256, 100]}}\n"};

static void send_rois(const struct server *s, const char *preset, unsigned n, unsigned seed)
{
    char arguments[512], line[256];

    snprintf(arguments, sizeof arguments,
             "trigreplay run --connect %s --preset %s --rois %u --seed %u --truth none --quiet",
             s->endpoint, preset, n, seed);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
}

static void dump(const struct server *s, const char *what, const char *name)
{
    char arguments[512], line[256];

    snprintf(arguments, sizeof arguments, "trigctl --socket %s dump %s > %s/%s", s->control, what,
             s->folder, name);
    assert_int_equal(program_run(arguments, line, sizeof line), 0);
}

static void change(struct server *s, const char *text)
{
    char path[128], command[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/change.yaml", s->folder);
    f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
    snprintf(command, sizeof command, "conditions-file %s now", path);
    server_expect(s, command, "from now on");
}

static int reproduce(const struct server *s, const char *with, char *line, size_t bytes)
{
    char arguments[1024];

    snprintf(arguments, sizeof arguments,
             "trigreplay reproduce %s/state/streams --config %s/trigd.yaml %s", s->folder,
             s->folder, with);
    return program_run(arguments, line, bytes);
}

/* With the files of that number; the two sets decided as many RoIs. */
static void reproduce_set(const struct server *s, unsigned set)
{
    char with[512], line[256], expected[256];

    snprintf(with, sizeof with,
             "--menu %s/menu%u.yaml --prescales %s/prescales%u.yaml --conditions "
             "%s/conditions%u.yaml",
             s->folder, set, s->folder, set, s->folder, set);
    assert_int_equal(reproduce(s, with, line, sizeof line), 0);
    snprintf(expected, sizeof expected,
             "%u RoIs decided as before, 0 otherwise, %u were decided by other prescales or "
             "conditions\n",
             N_FIRST, N_THIRD - N_FIRST);
    assert_string_equal(line, expected);
}

/* The same chains in a menu with another key. */
static void load_again(struct server *s, const struct subject *subject)
{
    char menu[2048];

    snprintf(menu, sizeof menu, "%s# again\n", subject->menu);
    server_menu(s, menu);
    free(server_ask(s, "reload"));
    server_wait_counter(s, "reloads", 1);
}

/* The daemon has kept all under their keys: one command decides each RoI with its own. */
static void all_sets(const struct server *s)
{
    char with[512], line[256], expected[256];

    snprintf(with, sizeof with, "--sets %s/state/sets", s->folder);
    assert_int_equal(reproduce(s, with, line, sizeof line), 0);
    snprintf(expected, sizeof expected,
             "3 sets of menu, prescales and conditions: %u RoIs decided as before, 0 otherwise\n",
             N_THIRD);
    assert_string_equal(line, expected);
    snprintf(with, sizeof with, "--sets %s", s->folder);
    assert_int_not_equal(reproduce(s, with, line, sizeof line), 0);
}

static void each_set_gives_its_decisions_again(void **state)
{
    const struct subject *subject = *state;
    struct server s;
    char line[256];

    server_start(&s, config, subject->menu);
    change(&s, subject->first);
    send_rois(&s, subject->preset, N_FIRST, 5);
    dump(&s, "menu", "menu1.yaml");
    dump(&s, "prescales", "prescales1.yaml");
    dump(&s, "conditions", "conditions1.yaml");
    change(&s, subject->second);
    free(server_ask(&s, "prescale few 2 now"));
    send_rois(&s, subject->preset, N_SECOND, 6);
    dump(&s, "menu", "menu2.yaml");
    dump(&s, "prescales", "prescales2.yaml");
    dump(&s, "conditions", "conditions2.yaml");
    load_again(&s, subject);
    send_rois(&s, subject->preset, N_THIRD, 7);
    assert_int_equal(server_stream(&s, "physics", "rois"), N_FIRST + N_SECOND + N_THIRD);
    assert_int_equal(server_end(&s, SIGTERM, 20), 0);
    server_menu(&s, "streams: []\n"); /* what the configuration names is not what decides */
    reproduce_set(&s, 1);
    reproduce_set(&s, 2);
    all_sets(&s);
    server_menu(&s, subject->menu); /* without the conditions decisions differ: the test can fail */
    assert_int_equal(reproduce(&s, "", line, sizeof line), 1);
    assert_null(strstr(line, " 0 otherwise"));
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"vertices", each_set_gives_its_decisions_again, NULL, NULL, &vertices},
#ifndef IS_SANITIZED
        {"tracks", each_set_gives_its_decisions_again, NULL, NULL, &lines},
#endif
        {"dead channels", each_set_gives_its_decisions_again, NULL, NULL, &dead},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
