/* SPDX-License-Identifier: Apache-2.0 */
/* Every device gives the same bits: all cells (through their checksum), all values, all columns of
 * all tracks, for every method and batch size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "testing.h"

static uint32_t other_devices;

struct answers {
    uint32_t n;
    struct trg_result *results;
    struct products *found;
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
    products_free(a->found, a->n);
}

static void assert_same(const struct answers *a, const struct answers *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        assert_memory_equal(&a->results[i], &b->results[i], sizeof *a->results);
        for (uint32_t k = 0; k < 2; k++) { /* tracks, doublets */
            const struct product *f = &a->found[i].of[k], *g = &b->found[i].of[k];

            assert_int_equal(f->n, g->n);
            for (uint32_t c = 0; c < (k ? 2 : 11); c++)
                assert_memory_equal(f->column[c], g->column[c], f->n * sizeof(uint32_t));
        }
    }
}

struct task {
    const struct hough_config *config;
    const struct event *events;
    struct answers want, got;
};

static void on_device(struct trg_device *device, void *ctx)
{
    static const uint32_t batches[] = {1, 5};
    struct task *t = ctx;

    for (uint32_t b = 0; b < 2; b++) {
        run_on(device, t->config, t->events, t->got.n, batches[b], t->got.results, t->got.found);
        assert_same(&t->want, &t->got);
    }
}

/* On every device of the machine, in batches of different sizes. */
static void compare(const char *preset, const char *const *settings, struct event *events,
                    uint32_t n)
{
    struct hough_config c;
    struct task t = {.config = &c, .events = events, .want = answers_new(n), .got = answers_new(n)};

    configure(&c, preset, settings);
    run_on(cpu(), &c, events, n, 4, t.want.results, t.want.found);
    other_devices += each_device(on_device, &t);
    answers_free(&t.want);
    answers_free(&t.got);
    events_free(events, n);
}

static void compare_all(const char *preset, const char *const *settings, uint32_t n, uint64_t seed)
{
    compare(preset, settings, make_events("velo", seed, n), n);
}

static void by_triplet(void **state)
{
    (void)state;
    compare_all("velo", NULL, rois_or(8), fresh_seed() + 8);
    compare_all("velo", SETTINGS("layers_per_station", "1", "window_wide_mm", "2"), rois_or(4),
                fresh_seed() + 9);
}

static void voting_in_four_parameters(void **state)
{
    (void)state;
    compare_all("hashed", NULL, rois_or(8), fresh_seed());
}

static void painting(void **state)
{
    (void)state;
    compare_all("paint", NULL, rois_or(3), fresh_seed() + 1);
}

static void painting_in_strips(void **state)
{
    (void)state;
    compare_all("paint", SETTINGS("n_theta", "150", "n_r", "201", "passes", "1"), rois_or(1),
                fresh_seed() + 2);
}

static void brute_force(void **state)
{
    (void)state;
    compare_all("brute", NULL, rois_or(2), fresh_seed() + 3);
}

static void pairs(void **state)
{
    (void)state;
    compare_all("analytic", NULL, rois_or(3), fresh_seed() + 4);
}

/* The thesis's weight by distance, one cell a pair, and Euclidean distance of peaks. */
static void other_choices(void **state)
{
    (void)state;
    compare_all("paint", SETTINGS("weight", "gauss", "distance_norm", "euclidean", "passes", "1"),
                rois_or(1), fresh_seed() + 10);
    compare_all("analytic", SETTINGS("pair_cells", "one", "passes", "1"), rois_or(1),
                fresh_seed() + 11);
}

/* Hits that do not come layer after layer: devices put them in order in their own ways. */
static void any_order(const char *preset)
{
    uint32_t n = rois_or(4);
    uint64_t random = fresh_seed() + 7;
    struct event *events = make_events("velo", random, n);

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = events[i].n; k > 1; k--) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            event_swap(&events[i], k - 1, (uint32_t)(random >> 33) % k);
        }
    compare(preset, NULL, events, n);
}

static void hits_in_any_order(void **state)
{
    (void)state;
    any_order("velo");
    any_order("hashed");
}

/* What is left out when there is no room does not depend on the device either. */
static void without_room(void **state)
{
    (void)state;
    compare_all("hashed", SETTINGS("max_bin_hits", "20", "max_peaks", "150"), rois_or(4),
                fresh_seed() + 5);
    compare_all("paint",
                SETTINGS("max_bin_hits", "30", "max_peaks", "70", "threshold", "1", "n_theta",
                         "100", "n_r", "64"),
                rois_or(1), fresh_seed() + 6);
}

/* Every other event has hits at one angle, more than its work allows. */
static void hits_at_one_angle(void **state)
{
    struct event *events = make_events("velo", fresh_seed() + 12, 4);

    (void)state;
    for (uint32_t i = 0; i < 4; i += 2)
        for (uint32_t k = 0; k < events[i].n; k++)
            events[i].y[k] = events[i].x[k];
    compare("velo", SETTINGS("max_work", "10"), events, 4);
}

static int finish(void **state)
{
    print_message("%u runs on devices other than the CPU\n", other_devices);
    return close_host(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_triplet),    cmocka_unit_test(voting_in_four_parameters),
        cmocka_unit_test(painting),      cmocka_unit_test(painting_in_strips),
        cmocka_unit_test(brute_force),   cmocka_unit_test(pairs),
        cmocka_unit_test(other_choices), cmocka_unit_test(hits_in_any_order),
        cmocka_unit_test(without_room),  cmocka_unit_test(hits_at_one_angle),
    };

    return cmocka_run_group_tests(tests, open_host, finish);
}
