/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks against the truth, with floors; the committed figures are in docs/hough.md.  The last
 * test reads LHCb events under TRIGD_DATA and is skipped where that is not set. */
#include <glob.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "match.h"
#include "testing.h"

#define SEED            20260101u /* fixed: a floor is a statement about one sample */
#define UPGRADE2_GHOSTS 0.0085    /* of `velo` in events of 13,000 hits */

/* The tracks of a preset with these settings (NULL: none); none of the events may be TRUNCATED. */
static struct match look(const char *preset, const char *const *settings,
                         const struct event *events, uint32_t n)
{
    struct trg_result *results = calloc(n, sizeof *results);
    struct products *found = calloc(n, sizeof *found);
    struct match m;
    struct hough_config c;

    memset(&m, 0, sizeof m);
    assert_true(results && found);
    configure(&c, preset, settings);
    run_on(cpu(), &c, events, n, 8, results, found);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(results[i].status, TRG_OK);
        assert_int_equal(match_add(&m, &events[i], &found[i]), 0);
    }
    print_message("%s: efficiency %.4f, from b %.4f, ghosts %.4f, clones %.4f\n", preset,
                  match_efficiency(&m, MATCH_ETA25), match_efficiency(&m, MATCH_BEAUTY),
                  match_ghosts(&m), match_clones(&m));
    free(results);
    products_free(found, n);
    return m;
}

/* Floors and ceilings lie just outside what docs/hough.md tells. */
static const struct {
    const char *preset;
    uint32_t n;
    double efficiency, ghosts, clones;
} limits[] = {{"velo", 40, 0.985, 0.007, 0.010},
              {"hashed", 40, 0.985, 0.007, 0.010},
              {"paint", 20, 0.980, 0.010, 0.010},
              {"brute", 10, 0.980, 0.010, 0.010},
              {"analytic", 20, 0.980, 0.010, 0.010}};

static void generated_events(void **state)
{
    struct event *events = make_events("velo", SEED, 40);

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct match m = look(limits[i].preset, NULL, events, limits[i].n);

        assert_true(match_efficiency(&m, MATCH_ETA25) >= limits[i].efficiency);
        assert_true(match_ghosts(&m) <= limits[i].ghosts);
        assert_true(match_clones(&m) <= limits[i].clones);
    }
    events_free(events, 40);
}

/* The default in detectors that differ from the simulated one, and in events of 13,000 hits, which
 * are the business of `hashed_dense` as well. */
static void other_conditions(void **state)
{
    static const struct {
        const char *sample, *preset;
        uint32_t n;
        struct vary vary;
        double efficiency, ghosts;
    } rows[] = {{"velo", "velo", 40, {.occupancy = 0.5}, 0.985, 0.008},
                {"velo", "velo", 20, {.occupancy = 2}, 0.985, 0.009},
                {"velo", "velo", 40, {.occupancy = 1, .misaligned = 0.01}, 0.985, 0.007},
                {"velo", "velo", 40, {.occupancy = 1, .dead = 0.01}, 0.982, 0.007},
                {"velo", "velo", 40, {.occupancy = 1, .dead = 0.05}, 0.980, 0.007},
                {"velo-upgrade2", "velo", 4, {.occupancy = 1}, 0.985, UPGRADE2_GHOSTS},
                {"velo-upgrade2", "hashed_dense", 2, {.occupancy = 1}, 0.980, 0.012}};

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct event *events = calloc(rows[k].n, sizeof *events);
        struct match m;

        assert_non_null(events);
        for (uint32_t i = 0; i < rows[k].n; i++)
            assert_int_equal(
                event_generate_varied(rows[k].sample, &rows[k].vary, SEED, i, &events[i]), 0);
        m = look(rows[k].preset, NULL, events, rows[k].n);
        assert_true(match_efficiency(&m, MATCH_ETA25) >= rows[k].efficiency);
        assert_true(match_ghosts(&m) <= rows[k].ghosts);
        events_free(events, rows[k].n);
    }
}

/* Without the question whether hits of a busy RoI make a short track by chance there are more
 * ghosts than the test above allows. */
static void chance_is_noticed(void **state)
{
    struct event *events = make_events("velo-upgrade2", SEED, 2);
    struct match m = look("velo", SETTINGS("chance3_max", "1e30"), events, 2);

    (void)state;
    assert_true(match_ghosts(&m) > 1.3 * UPGRADE2_GHOSTS);
    events_free(events, 2);
}

/* Has trigreplay turn LHCb's events into an RoI file, and reads that. */
static uint32_t import(const char *data, const char *kind, const char *from, struct event **events)
{
    char program[512], pattern[512], out[] = "/tmp/hough-XXXXXX", file[64];
    char *argv[64] = {program, "import", (char *)kind, "--out", file};
    uint32_t n = 0;
    int status;
    glob_t g;
    pid_t pid;

    assert_non_null(mkdtemp(out));
    snprintf(file, sizeof file, "%s/events.roi", out);
    snprintf(program, sizeof program, "%s/bin/trigreplay", getenv("TRIGD_BUILD"));
    snprintf(pattern, sizeof pattern, "%s/%s", data, from);
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    assert_in_range(g.gl_pathc, 1, 58);
    memcpy(argv + 5, g.gl_pathv, g.gl_pathc * sizeof *argv);
    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    globfree(&g);
    assert_int_equal(events_read(file, events, &n), 0);
    unlink(file);
    rmdir(out);
    return n;
}

/* What LHCb's Allen publishes of its own simulated events, 98.3 % and 0.9 %, is reached by the
 * defaults on each sample, and nearly by the other methods. */
static void lhcb_events(void **state)
{
    static const struct {
        const char *kind, *from;
        uint32_t n;
    } samples[] = {{"lhcb-csv", "lhcb-minbias", 6},
                   {"velopix", "velopix/bsphiphi/*.json", 30},
                   {"velopix", "velopix/*.json", 10}};
    const char *data = getenv("TRIGD_DATA");

    (void)state;
    if (!data) {
        print_message("skipped: TRIGD_DATA is not set\n");
        skip();
    }
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        struct event *events = NULL;

        assert_int_equal(import(data, samples[k].kind, samples[k].from, &events), samples[k].n);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            const bool is_default = !strcmp(limits[i].preset, "velo");
            struct match m = look(limits[i].preset, NULL, events, samples[k].n);

            assert_true(match_efficiency(&m, MATCH_ETA25) >= (is_default ? 0.983 : 0.975));
            assert_true(match_ghosts(&m) <= (is_default ? 0.0075 : 0.010));
            assert_true(match_clones(&m) <= 0.02);
        }
        events_free(events, samples[k].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_events),
        cmocka_unit_test(other_conditions),
        cmocka_unit_test(chance_is_noticed),
        cmocka_unit_test(lhcb_events),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
