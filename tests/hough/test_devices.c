/* SPDX-License-Identifier: Apache-2.0 */
/* Every device gives the same bits: all cells (through their checksum), all values, all columns of
 * all tracks, for every method and batch size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

static uint32_t devices_seen;

struct answers {
    uint32_t n;
    struct trg_result *results;
    struct found *found;
};

static struct answers answers_new(uint32_t n)
{
    struct answers a = {n, calloc(n, sizeof *a.results), calloc(n, sizeof *a.found)};

    assert_true(a.results && a.found);
    return a;
}

static void answers_free(struct answers *a)
{
    free(a->results);
    found_free(a->found, a->n);
}

static void assert_same(const struct answers *a, const struct answers *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const struct found *f = &a->found[i], *g = &b->found[i];

        assert_memory_equal(&a->results[i], &b->results[i], sizeof *a->results);
        assert_int_equal(f->n, g->n);
        assert_int_equal(f->n_doublets, g->n_doublets);
        for (uint32_t c = 0; c < 10; c++)
            assert_memory_equal(f->column[c], g->column[c], f->n * sizeof(float));
        assert_memory_equal(f->n_hits, g->n_hits, f->n * sizeof(uint32_t));
        assert_memory_equal(f->inner, g->inner, f->n_doublets * sizeof(uint32_t));
        assert_memory_equal(f->outer, g->outer, f->n_doublets * sizeof(uint32_t));
    }
}

/* On every device of the machine, in batches of different sizes. */
static void compare_all(const char *preset, const char *const *settings, uint32_t n, uint64_t seed)
{
    struct event *events = make_events("velo", seed, n);
    struct answers want = answers_new(n), got = answers_new(n);
    struct hough_config c;

    assert_int_equal(driver_configure(&host, &c, preset, settings), 0);
    run_on(cpu(), &c, events, n, 4, want.results, want.found);
    for (uint32_t i = 0; i < backends_count(host.backends); i++) {
        uint32_t devices;
        const char *name = backends_name(host.backends, i, &devices);

        for (uint32_t k = 0; k < devices; k++) {
            struct trg_device *device;

            assert_int_equal(backends_device(host.backends, name, k, &device), 0);
            run_on(device, &c, events, n, 1, got.results, got.found);
            assert_same(&want, &got);
            run_on(device, &c, events, n, 5, got.results, got.found);
            assert_same(&want, &got);
            print_message("%s:%u, %s: %u RoIs\n", name, k, preset, n);
            devices_seen += strcmp(name, "cpu") != 0;
        }
    }
    answers_free(&want);
    answers_free(&got);
    events_free(events, n);
}

static uint32_t rois(uint32_t usual)
{
    const char *given = getenv("TRIGD_ROIS");

    return given ? (uint32_t)strtoul(given, NULL, 10) : usual;
}

static void voting_in_four_parameters(void **state)
{
    (void)state;
    compare_all("velo", NULL, rois(8), fresh_seed());
}

static void painting(void **state)
{
    (void)state;
    compare_all("paint", NULL, rois(3), fresh_seed() + 1);
}

static void painting_in_strips(void **state)
{
    (void)state;
    compare_all("paint", (const char *const[]){"n_theta", "150", "n_r", "201", "passes", "1", NULL},
                rois(1), fresh_seed() + 2);
}

static void brute_force(void **state)
{
    (void)state;
    compare_all("brute", NULL, rois(2), fresh_seed() + 3);
}

static void pairs(void **state)
{
    (void)state;
    compare_all("analytic", NULL, rois(3), fresh_seed() + 4);
}

/* What is left out when there is no room does not depend on the device either. */
static void without_room(void **state)
{
    (void)state;
    compare_all("velo", (const char *const[]){"max_bin_hits", "20", "max_peaks", "5", NULL},
                rois(4), fresh_seed() + 5);
    compare_all("paint",
                (const char *const[]){"max_bin_hits", "30", "max_peaks", "7", "threshold", "1",
                                      "n_theta", "100", "n_r", "64", NULL},
                rois(1), fresh_seed() + 6);
}

static int finish(void **state)
{
    print_message("%u runs on devices other than the CPU\n", devices_seen);
    return close_host(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(voting_in_four_parameters),
        cmocka_unit_test(painting),
        cmocka_unit_test(painting_in_strips),
        cmocka_unit_test(brute_force),
        cmocka_unit_test(pairs),
        cmocka_unit_test(without_room),
    };

    return cmocka_run_group_tests(tests, open_host, finish);
}
