/* SPDX-License-Identifier: Apache-2.0 */
/* docs/operations.md: each counter of stats.h and each command has its row, with the text of the
 * code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static char *page;

static int set_up(void **state)
{
    const char *source = getenv("TRIGD_SOURCE");
    char path[4096];
    size_t n, room = 1u << 20;
    FILE *f;

    (void)state;
    snprintf(path, sizeof path, "%s/docs/operations.md", source ? source : ".");
    f = fopen(path, "r");
    page = malloc(room);
    if (!f || !page)
        return -1;
    n = fread(page, 1, room - 1, f);
    page[n] = '\0';
    fclose(f);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(page);
    return 0;
}

/* The row stands in the section of that heading, and its last column, the alarm, is not empty. */
static void row(const char *heading, const char *name, const char *kind, const char *help)
{
    char wanted[512], *section = strstr(page, heading), *end, *at;

    if (!section)
        fail_msg("no section \"%s\"", heading);
    end = strstr(section + 1, "\n## ");
    snprintf(wanted, sizeof wanted, "\n| `%s` | %s | %s | ", name, kind, help);
    at = strstr(section, wanted);
    if (!at || (end && at > end))
        fail_msg("section \"%s\" has no row:%s", heading, wanted);
    at += strlen(wanted);
    if (!*at || *at == '|' || *at == '\n')
        fail_msg("the row of %s says nothing of alarms", name);
}

static void test_counters(void **state)
{
    (void)state;
#define ROW(name, kind, help) row(heading, #name, #kind, help);
    {
        const char *heading = "\n## Counters of the daemon";

        STATS_GLOBAL(ROW)
    }
    {
        const char *heading = "\n## Counters of a chain";

        STATS_CHAIN(ROW)
    }
    {
        const char *heading = "\n## Counters of a step";

        STATS_STEP(ROW)
    }
    {
        const char *heading = "\n## Counters of a lane";

        STATS_LANE(ROW)
    }
    {
        const char *heading = "\n## Counters of a worker";

        STATS_WORKER(ROW)
    }
    {
        const char *heading = "\n## Counters of a guest";

        STATS_GUEST(ROW)
    }
    {
        const char *heading = "\n## Counters of a client";

        STATS_CLIENT(ROW)
    }
#undef ROW
}

static void test_stages(void **state)
{
    char wanted[256];

    (void)state;
#define ROW(name, help)                                              \
    snprintf(wanted, sizeof wanted, "\n| `%s` | %s |", #name, help); \
    if (!strstr(page, wanted))                                       \
        fail_msg("no row:%s", wanted);
    STATS_STAGES(ROW)
#undef ROW
}

/* `help` prints a command's words, and its help indented on the next line. */
static void test_commands(void **state)
{
    struct fixture f;
    char *help, *line, *save = NULL, wanted[512];
    struct control_wait wait;
    uint32_t n = 0;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    help = control_command(&f.view, &f.who, "help", &wait);
    assert_non_null(help);
    for (line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
        const char *meaning = strtok_r(NULL, "\n", &save);
        char *list = strstr(line, " [csv|json]");

        if (list)
            *list = '\0';
        assert_non_null(meaning);
        snprintf(wanted, sizeof wanted, "\n| `%s` | %s |", line, meaning + strspn(meaning, " "));
        if (!strstr(page, wanted))
            fail_msg("no row:%s", wanted);
    }
    assert_true(n > 10);
    free(help);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counters),
                                       cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_commands)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
