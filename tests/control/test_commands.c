/* SPDX-License-Identifier: Apache-2.0 */
/* control_command: every command's answer for people, as CSV and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "log.h"

static const char *const lists[] = {"show info",   "show stat",    "show chains",    "show plugins",
                                    "show lanes",  "show devices", "show clients",   "show latency",
                                    "show ledger", "show rates",   "show rates 10s", "show slow"};
#define N_LISTS (sizeof lists / sizeof *lists)

static int set_up(void **state)
{
    static struct fixture f;

    *state = &f;
    return fixture_init(&f);
}

static int tear_down(void **state)
{
    fixture_fini(*state);
    return 0;
}

static char *ask(void **state, const char *format, ...) __attribute__((format(printf, 2, 3)));

static char *ask(void **state, const char *format, ...)
{
    const struct fixture *f = *state;
    char line[4096], *answer;
    struct control_wait wait;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    answer = control_command(&f->view, &f->who, line, &wait);
    assert_non_null(answer);
    assert_true(
        wait.look ==
        (strncmp(line, "reload", 6) == 0 && f->who.may_act ? f->view.hooks.look_reload : NULL));
    assert_true(!wait.look || wait.number == f->n_reload);
    return answer;
}

#define assert_has(text, part)                             \
    do {                                                   \
        if (!strstr((text), (part)))                       \
            fail_msg("no \"%s\" in:\n%s", (part), (text)); \
    } while (0)

static void expect(void **state, const char *line, const char *part)
{
    char *answer = ask(state, "%s", line);

    assert_has(answer, part);
    free(answer);
}

static void test_help_names_all(void **state)
{
    char *help = ask(state, "help");

    for (size_t i = 0; i < N_LISTS; i++)
        assert_has(help, lists[i]);
    assert_has(help, "prescale CHAIN N [now, or at RUN:BLOCK]");
    assert_has(help, "show plugin NAME [csv|json]");
    free(help);
}

static void test_json(void **state)
{
    assert_true(fixture_is_json("{\"a\": [1, -2.5e3, \"\\u0041\", null], \"b\": {}}"));
    assert_false(fixture_is_json("{\"a\": 1,}")); /* the checker can say no */
    assert_false(fixture_is_json("[1 2]"));
    assert_false(fixture_is_json("{} {}"));
    assert_false(fixture_is_json("[nan]"));
    for (size_t i = 0; i < N_LISTS; i++) {
        char *answer = ask(state, "%s json", lists[i]);

        if (!fixture_is_json(answer))
            fail_msg("%s json is no JSON:\n%s", lists[i], answer);
        free(answer);
    }
}

/* Fields of a CSV line, quotes respected. */
static uint32_t fields(const char *line, size_t n)
{
    uint32_t count = 1;
    bool quoted = false;

    for (size_t i = 0; i < n; i++) {
        if (line[i] == '"')
            quoted = !quoted;
        count += line[i] == ',' && !quoted;
    }
    return count;
}

static void test_csv_columns(void **state)
{
    for (size_t i = 0; i < N_LISTS; i++) {
        char *answer = ask(state, "%s csv", lists[i]);
        uint32_t columns = 0;

        for (const char *line = answer; *line; line += strcspn(line, "\n") + 1) {
            uint32_t n = fields(line, strcspn(line, "\n"));

            if (*line == '#')
                columns = 0; /* the next table of the answer */
            else if (!columns)
                columns = n;
            else if (n != columns)
                fail_msg("%s csv: %u fields below %u columns:\n%s", lists[i], n, columns, answer);
        }
        assert_true(columns > 0);
        free(answer);
    }
}

/* Every counter of every table is in all three forms, with its own number. */
static void test_every_counter(void **state)
{
    char *json = ask(state, "show stat json"), *text = ask(state, "show stat");
    char *csv = ask(state, "show stat csv"), number[64];
    uint64_t n;

#define CHECK(name, kind, help)                                                     \
    snprintf(number, sizeof number, "\"" #name "\":%llu", (unsigned long long)n++); \
    assert_has(json, number);                                                       \
    assert_has(text, #name);                                                        \
    assert_has(csv, #name);
    n = 2000;
    STATS_CHAIN(CHECK)
    n = 3000;
    STATS_STEP(CHECK)
    n = 4000;
    STATS_LANE(CHECK)
    n = 5000;
    STATS_CLIENT(CHECK)
#undef CHECK
#define CHECK(name, kind, help)         \
    assert_has(json, "\"" #name "\":"); \
    assert_has(text, #name);
    STATS_GLOBAL(CHECK)
#undef CHECK
    free(json);
    free(text);
    free(csv);
}

static void test_golden(void **state)
{
    expect(state, "show chains csv",
           "chain,prescale,seeded,prescaled,missing,run,raw_pass,pass,reject,failed,"
           "unfinished,skipped,events\n"
           "HLT_a,2.5,2000,2001,2002,2003,2004,2005,2006,2007,2008,2009,2010\n");
    expect(state, "show lanes csv", "step_a@cpu:0/0,\"a, \"\"device\"\"\",2,4000,");
    expect(state, "show lanes json", "\"device\":\"a, \\\"device\\\"\",\"slots\":2,");
    expect(state, "show info", "state              ready\n");
    expect(state, "show info", "config             test.yaml\n");
    expect(state, "show clients", "client-a      5000      5001");
}

static void test_ledger(void **state)
{
    struct fixture *f = *state;

    expect(state, "show ledger csv",
           "received,accepted,rejected,failed,in_flight,imbalance\n100,30,60,3,7,0\n");
    stats_set(&f->stats->g.in_flight, 5); /* two RoIs are lost: it must show */
    expect(state, "show ledger csv", "\n100,30,60,3,5,2\n");
    stats_set(&f->stats->g.in_flight, 8);
    expect(state, "show ledger csv", "\n100,30,60,3,8,-1\n");
    stats_set(&f->stats->g.in_flight, 7);
}

static void test_latency(void **state)
{
    char *answer = ask(state, "show latency csv"), *row = strstr(answer, "\ntotal,1000,");
    double mean, p50, p90, p99, p999, most;

    assert_non_null(row);
    assert_int_equal(
        sscanf(row, "\ntotal,1000,%lf,%lf,%lf,%lf,%lf,%lf", &mean, &p50, &p90, &p99, &p999, &most),
        6);
    assert_true(mean > 500.4 && mean < 500.6);
    assert_true(p50 > 500 * 0.992 && p50 < 500 * 1.008); /* the middle of a bucket */
    assert_true(p90 > 900 * 0.992 && p90 < 900 * 1.008);
    assert_true(p99 > 990 * 0.992 && p99 < 990 * 1.008);
    assert_true(p999 > 999 * 0.992 && p999 < 999 * 1.008);
    assert_true(most > 999.9 && most < 1000.1);
    assert_has(answer, "\nstep_a@cpu:0/0,1,150.0,");
    free(answer);
}

static void test_hooks(void **state)
{
    struct fixture *f = *state;

    expect(state, "drain", "draining\n");
    expect(state, "resume", "ready\n");
    expect(state, "quit", "stopping\n");
    free(ask(state, "reload")); /* its answer comes later */
    expect(state, "reload; drain",
           "error: what has to be waited for ends its line; what follows was not done\n");
    expect(state, "prescale HLT_a 7", "prescale set\n");
    assert_true(f->prescale == 7);
    assert_false(f->is_now);
    expect(state, "prescale HLT_b 7 now", "error: there is no such chain\n");
    assert_true(f->is_now);
    assert_int_equal(f->n_prescale, 2);
    expect(state, "prescale-reset at 3:18", "prescale set\n");
    assert_true(f->from.run == 3 && f->from.block == 18);
    expect(state, "prescale-reset at 3", "error: usage: ");
    expect(state, "prescale-reset at 3:", "error: usage: ");
    expect(state, "prescale-reset at 0:0", "error: usage: ");
    expect(state, "prescale-reset at 3:4294967296", "error: usage: ");
    expect(state, "conditions-file /nonesuch", "error: /nonesuch: No such file or directory\n");
    expect(state, "prescale HLT_a seven", "error: \"seven\" is no prescale; 0 (off)");
    expect(state, "prescale HLT_a 7x", "error: \"7x\" is no prescale");
    expect(state, "prescale HLT_a 0.5", "error: \"0.5\" is no prescale");
    expect(state, "prescale-file /nonesuch", "error: /nonesuch: ");
    expect(state, "dump menu", " name: menu\n \n|steps:\n");
    expect(state, "dump prescales", " prescales:\n   HLT_a: 2\n");
    assert_int_equal(f->n_prescale, 3); /* not asked with no number */
    assert_int_equal(f->n_drain, 1);
    assert_int_equal(f->n_resume, 1);
    assert_int_equal(f->n_reload, 2);
    assert_int_equal(f->n_quit, 1);
}

static void test_log_level(void **state)
{
    enum trg_level before = log_level();

    expect(state, "set log error", "log level error\n");
    assert_int_equal(log_level(), TRG_ERROR);
    expect(state, "set log loud", "error: there is no level \"loud\"");
    assert_int_equal(log_level(), TRG_ERROR);
    log_set_level(before);
}

static void test_wrong_commands(void **state)
{
    char longest[2000];
    char *answer = ask(state, "  ");

    assert_string_equal(answer, "");
    free(answer);
    expect(state, "shwo info", "error: unknown command; did you mean \"show info\"?");
    expect(state, "xyzzy", "error: unknown command; `help` lists all\n");
    expect(state, "show", "error: unknown command");
    expect(state, "drain now", "error: usage: drain\n");
    expect(state, "drain json", "error: usage: drain\n");
    expect(state, "prescale HLT_a", "error: usage: prescale CHAIN N [now, or at RUN:BLOCK]\n");
    expect(state, "prescale-reset later", "error: usage: prescale-reset [now, or at RUN:BLOCK]\n");
    expect(state, "show info xml", "error: usage: show info [csv|json]\n");
    expect(state, "show plugin none", "error: no plugin \"none\" is loaded");
    expect(state, "a b c d e f g h i j k", "error: unknown command");
    expect(state, "set log a\n\nb", "error: the line holds control characters");
    expect(state, "set log \033[2J", "error: the line holds control characters");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    expect(state, longest, "error: the line is longer than 1023 bytes\n");
}

static void test_chained(void **state)
{
    struct fixture *f = *state;
    uint32_t before = f->n_drain;
    char *answer = ask(state, "drain;; show ledger csv ;nonsense; resume");
    const char *first = strstr(answer, "draining\n"), *second = strstr(answer, "received,"),
               *third = strstr(answer, "error: unknown"), *fourth = strstr(answer, "ready\n");

    assert_true(first && first < second && second < third && third < fourth);
    assert_null(strstr(answer, "\n\n")); /* an empty line would end the answer */
    assert_int_equal(f->n_drain, before + 1);
    free(answer);
}

static void test_no_empty_lines(void **state)
{
    for (size_t i = 0; i < N_LISTS; i++) {
        char *answer = ask(state, "%s", lists[i]);

        if (strstr(answer, "\n\n"))
            fail_msg("an empty line within the answer to %s:\n%s", lists[i], answer);
        assert_true(answer[strlen(answer) - 1] == '\n');
        free(answer);
    }
}

static void test_loaded_plugin(void **state)
{
    struct fixture *f = *state;
    const char *build = getenv("TRIGD_BUILD");
    const struct plugin *p;
    char path[4096], why[256] = "", *json;

    assert_non_null(build);
    assert_int_equal(plugin_host_new(NULL, 0, &f->view.plugins), 0);
    snprintf(path, sizeof path, "%s/plugins/example.so", build);
    if (plugin_host_open(f->view.plugins, path, &p, why, sizeof why) < 0)
        fail_msg("%s", why);
    expect(state, "show plugins csv", "\nexample,1.0.0,cpu opencl cuda,");
    expect(state, "show plugin example", "rho_max_mm  100      mm    0 .. 2000");
    expect(state, "show plugin example",
           "consumes   spacepoints  phi rad u16, rho mm u16, z mm u16, layer\n");
    json = ask(state, "show plugin example json");
    assert_true(fixture_is_json(json));
    free(json);
    plugin_host_free(f->view.plugins);
    f->view.plugins = NULL;
}

/* Whoever may only look gets every list and changes nothing. */
static void test_looking(void **state)
{
    struct fixture *f = *state;
    uint32_t before = f->n_drain + f->n_resume + f->n_reload + f->n_quit + f->n_prescale;
    static const char *const acts[] = {"drain", "resume",        "reload",
                                       "quit",  "set log debug", "prescale HLT_a 2"};

    f->who.may_act = false;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        expect(state, acts[i], "error: tester (uid 1, pid 2) may look and not act");
    expect(state, "show ledger", "received");
    expect(state, "help", "drain");
    f->who.may_act = true;
    assert_int_equal(f->n_drain + f->n_resume + f->n_reload + f->n_quit + f->n_prescale, before);
    assert_int_not_equal(log_level(), TRG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_names_all), cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv_columns),    cmocka_unit_test(test_every_counter),
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_latency),        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_log_level),      cmocka_unit_test(test_wrong_commands),
        cmocka_unit_test(test_chained),        cmocka_unit_test(test_no_empty_lines),
        cmocka_unit_test(test_loaded_plugin),  cmocka_unit_test(test_looking),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
