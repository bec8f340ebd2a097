/* SPDX-License-Identifier: Apache-2.0 */
/* The program trigctl: good plugins pass, each broken one fails with the line that names its
 * defect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

/* Runs trigctl with arguments and returns its exit code; the caller frees *ret_text. */
static int trigctl(char **ret_text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int trigctl(char **ret_text, const char *format, ...)
{
    const char *build = getenv("TRIGD_BUILD");
    /* some broken plugins leak, which is what trigctl itself must find */
    const char *leaks =
        strstr(format, "broken") ? "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\"" : "";
    char command[8192];
    size_t n, got, room = 1u << 18;
    va_list args;
    FILE *out;
    int status;

    assert_non_null(build);
    n = (size_t)snprintf(command, sizeof command, "exec 2>&1; cd '%s' && %s exec bin/trigctl ",
                         build, leaks);
    va_start(args, format);
    n += (size_t)vsnprintf(command + n, sizeof command - n, format, args);
    va_end(args);
    assert_true(n < sizeof command);
    out = popen(command, "r");
    assert_non_null(out);
    *ret_text = malloc(room);
    assert_non_null(*ret_text);
    for (n = 0; (got = fread(*ret_text + n, 1, room - n - 1, out)) > 0; n += got)
        ;
    (*ret_text)[n] = '\0';
    status = pclose(out);
    if (!WIFEXITED(status))
        fail_msg("trigctl died of signal %d:\n%s", WTERMSIG(status), *ret_text);
    return WEXITSTATUS(status);
}

static void test_good_plugins(void **state)
{
    static const char *const good[] = {"plugins/example.so", "tests/broken/broken_nothing.so"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *text;
        int code = trigctl(&text, "check-plugin --backend cpu %s", good[i]);

        if (code || !strstr(text, " 0 failed,") || strstr(text, "FAIL"))
            fail_msg("%s: exit code %d\n%s", good[i], code, text);
        free(text);
    }
}

/* Each defect and the line that must tell of it. */
static const struct defect {
    const char *name, *line;
} defects[] = {
    {"order", "FAIL  cpu:0     full batches, 1 in flight: RoI "},
    {"repeat", "FAIL  cpu:0     two runs give the same bits: RoI "},
    {"status", "FAIL  cpu:0     an empty RoI: status 7 does not exist"},
    {"empty", "FAIL  cpu:0     an empty RoI: status FAILED for an RoI that is allowed"},
    {"nan", "FAIL  cpu:0     an empty RoI: value n_items is "},
    {"truncated", "FAIL  cpu:0     the largest RoI: TRUNCATED with kept 0 and wanted 0"},
    {"beyond",
     "FAIL  cpu:0     every RoI alone in a batch: results are written past the batch's last RoI"},
    {"capacity", "FAIL  cpu:0     an empty RoI: 1 vertices, but there is room for 0"},
    {"overrun", "FAIL  cpu:0     an empty RoI: column weight of vertices is written past its "
                "capacity of 0 items"},
    {"input", "FAIL  cpu:0     every RoI alone in a batch: the input of the batch was written to"},
    {"unwritten", "FAIL  cpu:0     two runs give the same bits: RoI 1 of the sample (an RoI of one "
                  "item): item 0 "
                  "of column x is "},
    {"leak",
     "FAIL  cpu:0     create undoes everything when it fails: making 2 (a pinned buffer) failed: 1 "
     "device objects were not freed"},
    {"ignore", "FAIL  cpu:0     create undoes everything when it fails: making 1 (a device buffer) "
               "failed, and "
               "create returned 0"},
    {"destroy", "FAIL  cpu:0     destroy frees everything: 2 device objects were not freed"},
    {"allocate", "FAIL  cpu:0     submit and collect allocate nothing on the device: they made "},
    {"cost", "FAIL  cpu:0     no batch takes longer than the plugin states: a batch of "},
    {"submit",
     "FAIL  cpu:0     full batches, 1 in flight: submit returned -5 (Input/output error)"},
};

static void test_broken_plugins(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        char *text;
        int code =
            trigctl(&text, "check-plugin --backend cpu tests/broken/broken_%s.so", defects[i].name);

        if (code != 1 || !strstr(text, defects[i].line))
            fail_msg("broken_%s: exit code %d, no line \"%s\"\n%s", defects[i].name, code,
                     defects[i].line, text);
        free(text);
    }
}

/* Guests have checks of their own. */
static void test_guests(void **state)
{
    static const struct {
        const char *options;
        int code;
        const char *line;
    } table[] = {
        {"", 0, " 0 failed,"},
        {"--param until=5", 0, "slices: 5 of 50 us took "},
        {"--param fault=fail_open", 1, "FAIL  cpu:0     open: it returned -5 (Input/output error)"},
        {"--param fault=fail --param at=3", 1,
         "FAIL  cpu:0     slices: slice 4 returned -5 (Input/output error)"},
        {"--param fault=fail_save", 1,
         "saved again is the same, to the byte: No space left on device"},
        {"--worst", 2, "a guest has no RoIs: --worst and --races are for other plugins"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *text;
        int code = trigctl(&text, "check-plugin --backend cpu %s test-plugins/visitor.so",
                           table[i].options);

        if (code != table[i].code || !strstr(text, table[i].line))
            fail_msg("%s: exit code %d, no line \"%s\"\n%s", table[i].options, code, table[i].line,
                     text);
        free(text);
    }
}

/* Right on each backend, and not the same on both. */
static void test_backends_differ(void **state)
{
    char *text;
    int code = trigctl(&text, "check-plugin tests/broken/broken_backend.so");

    (void)state;
    if (strstr(text, "SKIP  opencl")) {
        free(text);
        skip(); /* there is nothing to compare with */
    }
    if (code != 1 ||
        !strstr(text, "FAIL  opencl:0  same answers as cpu:0, to the bit: RoI 0 of the "
                      "sample: value n_items is 0 and 0.5"))
        fail_msg("exit code %d\n%s", code, text);
    free(text);
    code = trigctl(&text, "check-plugin --tolerance 0.5 tests/broken/broken_backend.so");
    if (code || !strstr(text, "same answers as cpu:0 (floats within 0.5)"))
        fail_msg("exit code %d\n%s", code, text);
    free(text);
}

static void test_seed_repeats(void **state)
{
    char *first, *second;

    (void)state;
    assert_int_equal(
        trigctl(&first, "check-plugin --backend cpu --seed 12 tests/broken/broken_order.so"), 1);
    assert_int_equal(
        trigctl(&second, "check-plugin --backend cpu --seed 12 tests/broken/broken_order.so"), 1);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "(seed 12)"));
    free(first);
    free(second);
}

/* A plugin that states less than it takes is found by the search as well. */
static void test_worst(void **state)
{
    char *text;
    int code = trigctl(&text, "check-plugin --backend cpu --worst --items 64 --seconds 1 --seed 3 "
                              "tests/broken/broken_cost.so");

    (void)state;
    if (code != 1 || !strstr(text, "no RoI takes longer than stated: the slowest takes") ||
        !strstr(text, "seed 3"))
        fail_msg("exit code %d\n%s", code, text);
    free(text);
}

struct wrong {
    const char *arguments, *part;
    int code;
};

static void test_wrong_use(void **state)
{
    static const struct wrong wrong[] = {
        {"", "usage: trigctl", 2},
        {"--nonsense", "there is no option \"--nonsense\"; --help lists them", 2},
        {"check-plugin", "check-plugin takes one plugin file", 2},
        {"check-plugin /nowhere/x.so", "there is no file /nowhere/x.so", 1},
        {"check-plugin bin/trigctl", "cannot be used", 1},
        {"check-plugin --backend vulkan plugins/example.so", "it runs on: cpu opencl cuda", 2},
        {"check-plugin --param rho_max=1 plugins/example.so", "did you mean 'rho_max_mm'?", 2},
        {"check-plugin --param rho_max_mm=-1 plugins/example.so", "a number from 0 to 2000", 2},
        {"check-plugin --param rho plugins/example.so",
         "\"rho\" is no parameter: KEY=VALUE is allowed", 2},
        {"check-plugin --seed x plugins/example.so", "--seed \"x\": a whole number", 2},
        {"check-plugin --backends /nowhere plugins/example.so", "nothing was checked", 1},
        {"--socket /nowhere/s show info", "no daemon answers on \"/nowhere/s\"", 69},
        {"''", "the command is empty", 2},
        {"check-plugin /etc/passwd", "/etc/passwd cannot be used: invalid ELF header", 1},
        {"'show\ninfo'", "a command is one line", 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text;
        int code = trigctl(&text, "%s", wrong[i].arguments);

        if (code != wrong[i].code || !strstr(text, wrong[i].part))
            fail_msg("trigctl %s: exit code %d, not %d with \"%s\"\n%s", wrong[i].arguments, code,
                     wrong[i].code, wrong[i].part, text);
        free(text);
    }
}

/* An event of a file as a picture: all of its points in both views, and a sentence for what is not
 * there. */
static void test_event(void **state)
{
    char folder[] = "/tmp/trigctl-event-XXXXXX", path[64], *text, *at;
    unsigned long points;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/e.roi", folder);
    assert_int_equal(trigctl(&text, "make-rois plugins/example.so %s --rois 3", path), 0);
    free(text);
    assert_int_equal(trigctl(&text, "event %s 3 | grep '<title>'", path), 0);
    at = strchr(text, ':');
    assert_non_null(at);
    points = strtoul(at + 1, NULL, 10);
    assert_int_not_equal(points, 0);
    free(text);
    assert_int_equal(trigctl(&text, "event %s 3 | grep -c '<circle'", path), 0);
    assert_int_equal(strtoul(text, NULL, 10), 2 * points);
    free(text);
    assert_int_equal(trigctl(&text, "event %s 4", path), 1);
    assert_non_null(strstr(text, "has 3 events, there is no event 4"));
    free(text);
    assert_int_equal(trigctl(&text, "event %s 0", path), 2);
    assert_non_null(strstr(text, "the number of the event, from 1"));
    free(text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(trigctl(&text, "event %s 1", path), 1);
    assert_non_null(strstr(text, "cannot read"));
    free(text);
    assert_int_equal(rmdir(folder), 0);
}

static void test_show_plugin(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(trigctl(&text, "show-plugin plugins/example.so"), 0);
    assert_non_null(strstr(text, "rho_max_mm"));
    free(text);
    assert_int_equal(trigctl(&text, "--json show-plugin plugins/example.so"), 0);
    assert_true(fixture_is_json(text));
    free(text);
}

static void test_with_daemon(void **state)
{
    struct fixture f;
    struct control *c = NULL;
    char folder[] = "/tmp/trigctl-XXXXXX", path[64], *text;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    f.config.control.socket = path;
    f.config.http.address = "";
    f.config.http.socket = "";
    assert_int_equal(control_start(&f.view, &c), 0);
    assert_int_equal(trigctl(&text, "--socket %s show ledger", path), 0);
    assert_non_null(strstr(text, "imbalance  0\n"));
    free(text);
    assert_int_equal(trigctl(&text, "--json -s %s show stat", path), 0);
    assert_true(fixture_is_json(text));
    free(text);
    assert_int_equal(trigctl(&text, "--socket %s shwo info", path), 1);
    assert_non_null(strstr(text, "error: unknown command; did you mean"));
    free(text);
    assert_int_equal(trigctl(&text, "--socket %s quit", path), 0);
    free(text);
    control_stop(c); /* its thread counted */
    assert_int_equal(f.n_quit, 1);
    fixture_fini(&f);
    assert_int_equal(remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_plugins), cmocka_unit_test(test_broken_plugins),
        cmocka_unit_test(test_guests),       cmocka_unit_test(test_backends_differ),
        cmocka_unit_test(test_worst),        cmocka_unit_test(test_seed_repeats),
        cmocka_unit_test(test_wrong_use),    cmocka_unit_test(test_event),
        cmocka_unit_test(test_show_plugin),  cmocka_unit_test(test_with_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
