/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes searched on every device, by every way: the points that all points tested one by one give,
 * in the order of the tree's nodes. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "seed.h"
#include "trees.h"

#define QUERIES 150u

struct scene { /* some trees and boxes, and what is in them */
    uint32_t k, n_trees, period_dim;
    float period;
    uint32_t trees[4][2], largest;
    float *points[4];
    uint32_t *slow[4]; /* the trees */
    struct slow_box box[QUERIES];
    uint32_t tree_of[QUERIES];
    uint32_t offsets[QUERIES + 1];
    uint32_t *want;
};

static void make_box(struct scene *s, uint32_t q, uint64_t *seed)
{
    const uint32_t t = s->tree_of[q], n = s->trees[t][1];

    for (uint32_t d = 0; d < s->k; d++) {
        const float half = random_float(seed, 0, q % 3 ? 2 : 0.7);
        const float at = random_float(seed, -3.3, 3.3);
        float low = at - half, high = at + half;

        if (q % 11 == 0) /* everything, or nothing */
            high = d || q % 2 ? 4 : -4, low = -4;
        if (q % 13 == 0 && n) /* one point's very place */
            low = high = s->points[t][(size_t)d * n + q % n];
        if (q % 17 == 0) { /* to the ends */
            low = -INFINITY;
            high = q % 2 ? INFINITY : at;
        }
        if (d == s->period_dim && q % 5 == 0) { /* about the seam, where few values are one place */
            low = (q % 2 ? 0.5f : -0.5f) * s->period - half;
            high = low + 2 * half;
        }
        if (d == s->period_dim && !(fabsf(low) < 9 && fabsf(high) < 9)) {
            low = -s->period / 2;
            high = s->period / 2;
        }
        s->box[q].low[d] = low;
        s->box[q].high[d] = high;
    }
}

static void find_slowly(struct scene *s)
{
    uint32_t n = 0, room = 0;

    for (uint32_t q = 0; q < QUERIES; q++) {
        const uint32_t t = s->tree_of[q];

        s->offsets[q] = n;
        if (n + s->trees[t][1] > room) {
            room = 2 * (n + s->trees[t][1]);
            s->want = realloc(s->want, (room + 1) * sizeof *s->want);
            assert_non_null(s->want);
        }
        for (uint32_t i = 0; i < s->trees[t][1]; i++)
            if (slow_inside(s->points[t], s->k, s->trees[t][1], s->slow[t][i], &s->box[q],
                            s->period_dim, s->period))
                s->want[n++] = s->trees[t][0] + s->slow[t][i];
    }
    s->offsets[QUERIES] = n;
}

static struct scene *make_scene(uint32_t k, uint32_t n_trees, uint32_t n, enum kind kind,
                                uint32_t period_dim, uint64_t *seed)
{
    struct scene *s = calloc(1, sizeof *s);
    uint32_t at = 0;

    assert_non_null(s);
    s->k = k;
    s->n_trees = n_trees;
    s->period_dim = period_dim;
    s->period = 6;
    for (uint32_t t = 0; t < n_trees; t++) {
        const uint32_t here = t == 1 ? 0 : t ? devices_random(seed) % (n + 1) : n;

        s->trees[t][0] = at;
        s->trees[t][1] = here;
        s->points[t] = make_points(kind, k, here, seed);
        s->slow[t] = slow_tree(s->points[t], k, here);
        s->largest = here > s->largest ? here : s->largest;
        at += here;
    }
    for (uint32_t q = 0; q < QUERIES; q++) {
        s->tree_of[q] = devices_random(seed) % n_trees;
        make_box(s, q, seed);
    }
    find_slowly(s);
    return s;
}

static void free_scene(struct scene *s)
{
    for (uint32_t t = 0; t < s->n_trees; t++) {
        free(s->points[t]);
        free(s->slow[t]);
    }
    free(s->want);
    free(s);
}

static struct kd_forest *plant(const struct scene *s, const struct device *device,
                               struct trg_queue *q)
{
    const uint32_t n = s->trees[s->n_trees - 1][0] + s->trees[s->n_trees - 1][1];
    const struct kd_forest_setup setup = {
        .device = device->d, .k = s->k, .max_points = n + 1, .max_trees = s->n_trees};
    struct kd_forest *f;

    assert_int_equal(kd_forest_new(&setup, &f), 0);
    for (uint32_t t = 0; t < s->n_trees; t++)
        for (uint32_t d = 0; d < s->k; d++)
            assert_int_equal(
                kd_put(f, q, f->points, ((size_t)d * f->room + s->trees[t][0]) * sizeof(float),
                       s->points[t] + (size_t)d * s->trees[t][1], s->trees[t][1] * sizeof(float)),
                0);
    assert_int_equal(kd_put(f, q, f->trees, 0, s->trees, s->n_trees * sizeof s->trees[0]), 0);
    assert_int_equal(kd_build(f, q, KD_BUILD_AUTO, s->n_trees, n), 0);
    assert_int_equal(trg_finish(q), 0);
    return f;
}

static void put_boxes(const struct scene *s, struct kd_forest *f, struct trg_queue *q,
                      struct kd_queries *queries)
{
    for (uint32_t d = 0; d < s->k; d++) {
        float low[QUERIES], high[QUERIES];

        for (uint32_t i = 0; i < QUERIES; i++) {
            low[i] = s->box[i].low[d];
            high[i] = s->box[i].high[d];
        }
        assert_int_equal(
            kd_put(f, q, queries->boxes, d * queries->room * sizeof(float), low, sizeof low), 0);
        assert_int_equal(kd_put(f, q, queries->boxes, (s->k + d) * queries->room * sizeof(float),
                                high, sizeof high),
                         0);
    }
    assert_int_equal(kd_put(f, q, queries->tree_of, 0, s->tree_of, sizeof s->tree_of), 0);
}

static void check_search(const struct scene *s, struct kd_forest *f, struct trg_queue *q,
                         enum kd_search how, uint32_t gang, uint32_t front_room)
{
    const struct kd_queries_setup setup = {.max_queries = QUERIES,
                                           .gang = gang,
                                           .front_room = front_room,
                                           .period_dim = s->period_dim,
                                           .period = s->period};
    uint32_t offsets[QUERIES + 1], *got = malloc((s->offsets[QUERIES] + 1u) * sizeof *got);
    struct kd_queries *queries;

    assert_non_null(got);
    assert_int_equal(kd_queries_new(f, &setup, &queries), 0);
    put_boxes(s, f, q, queries);
    for (uint32_t again = 0; again < 2; again++) { /* the second time there is room at once */
        assert_int_equal(kd_search(queries, q, how, QUERIES, s->largest), 0);
        assert_int_equal(queries->n_results, s->offsets[QUERIES]);
        assert_int_equal(kd_offsets(queries, q, offsets), 0);
        assert_memory_equal(offsets, s->offsets, sizeof offsets);
        assert_int_equal(kd_get(f, q, queries->results, 0, got, queries->n_results * sizeof *got),
                         0);
        assert_memory_equal(got, s->want, queries->n_results * sizeof *got);
    }
    assert_int_equal(kd_search(queries, q, how, 0, s->largest), 0);
    assert_int_equal(queries->n_results, 0);
    kd_queries_free(queries);
    free(got);
}

/* How many points of the tree are in a ball, in the arithmetic that the header states. */
static uint32_t count_ball(const struct scene *s, uint32_t t, const float *centre, float radius)
{
    const uint32_t n = s->trees[t][1];
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        float sum = 0;

        for (uint32_t d = 0; d < s->k; d++) {
            const float away = s->points[t][(size_t)d * n + i] - centre[d];

            sum += away * away;
        }
        found += sum <= radius * radius;
    }
    return found;
}

/* Balls about the middle of the boxes, about points, and with a point on the surface; returns how
 * many points they hold. */
static uint32_t put_balls(const struct scene *s, struct kd_forest *f, struct trg_queue *q,
                          struct kd_queries *queries, uint32_t *ret_counts)
{
    float ball[KD_DIMS_MAX + 1][QUERIES];
    uint32_t sum = 0;

    for (uint32_t i = 0; i < QUERIES; i++) {
        const uint32_t t = s->tree_of[i], n = s->trees[t][1];
        float centre[KD_DIMS_MAX], radius = i % 17 ? 0.02f * (float)i : INFINITY;

        for (uint32_t d = 0; d < s->k; d++) {
            centre[d] = 0.5f * (s->box[i].low[d] + s->box[i].high[d]);
            if (i % 5 == 0 && n)
                centre[d] = s->points[t][(size_t)d * n + i % n];
            if (!(fabsf(centre[d]) < 9))
                centre[d] = 0;
            ball[d][i] = centre[d];
        }
        if (i % 5 == 1 && n)
            radius = fabsf(centre[0] - s->points[t][i % n]);
        ball[s->k][i] = radius;
        ret_counts[i] = count_ball(s, t, centre, radius);
        sum += ret_counts[i];
    }
    for (uint32_t d = 0; d <= s->k; d++)
        assert_int_equal(kd_put(f, q, queries->boxes, d * queries->room * sizeof(float), ball[d],
                                sizeof ball[d]),
                         0);
    return sum;
}

/* Returns how many points lie in balls: in a tree of few points there may be none. */
static uint32_t check_counts(const struct scene *s, struct kd_forest *f, struct trg_queue *q)
{
    const struct kd_queries_setup setup = {
        .max_queries = QUERIES, .gang = 1, .period_dim = s->period_dim, .period = s->period};
    uint32_t got[QUERIES], want[QUERIES];
    struct kd_queries *queries;
    uint32_t sum = 0;

    assert_int_equal(kd_queries_new(f, &setup, &queries), 0);
    put_boxes(s, f, q, queries);
    assert_int_equal(kd_count(queries, q, KD_BOXES, QUERIES), 0);
    assert_int_equal(kd_get(f, q, queries->counts, 0, got, sizeof got), 0);
    for (uint32_t i = 0; i < QUERIES; i++)
        assert_int_equal(got[i], s->offsets[i + 1] - s->offsets[i]);
    if (s->period_dim == KD_NO_PERIOD) {
        sum = put_balls(s, f, q, queries, want);
        assert_int_equal(kd_count(queries, q, KD_BALLS, QUERIES), 0);
        assert_int_equal(kd_get(f, q, queries->counts, 0, got, sizeof got), 0);
        assert_memory_equal(got, want, sizeof got);
    } else {
        assert_int_equal(kd_count(queries, q, KD_BALLS, QUERIES), -EINVAL);
    }
    assert_int_equal(kd_count(queries, q, KD_BOXES, 0), 0);
    kd_queries_free(queries);
    return sum;
}

/* All ways on all devices; gangs of 1, step, step^2 .. 32.  Returns how many points lie in balls.
 */
static uint32_t check_scene(const struct scene *s, uint32_t step)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < devices_count(); i++) {
        struct device *device = devices_get(i);
        struct kd_forest *f;
        struct trg_queue *q;

        assert_int_equal(trg_queue_new(device->d, &q), 0);
        f = plant(s, device, q);
        sum += check_counts(s, f, q);
        if (device->info.is_host)
            check_search(s, f, q, KD_SEARCH_HAND, 1, 0);
        check_search(s, f, q, KD_SEARCH_DEPTH_FIRST, 1, 0);
        check_search(s, f, q, KD_SEARCH_BREADTH_FIRST, 1u << s->k % 6, 2);
        for (uint32_t gang = 1; gang <= (device->info.is_host ? 1u : 32u); gang *= step)
            check_search(s, f, q, KD_SEARCH_BREADTH_FIRST, gang, gang % 3 == 1 ? 64 : 0);
        check_search(s, f, q, KD_SEARCH_BREADTH_FIRST, 32, 20000);
        check_search(s, f, q, KD_SEARCH_AUTO, 4u << s->k % 4, 0);
        kd_forest_free(f);
        trg_queue_free(q);
    }
    return sum;
}

static void one_tree(void **state)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 15, 31, 32, 64, 1000, 4097};
    uint64_t seed = fresh_seed();
    uint32_t sum = 0;

    (void)state;
    for (uint32_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct scene *s =
            make_scene(2 + n % 7, 1, sizes[n], (enum kind)(n % KINDS), KD_NO_PERIOD, &seed);

        sum += check_scene(s, 2);
        free_scene(s);
    }
    assert_true(sum > 0);
}

static void forest(void **state)
{
    uint64_t seed = fresh_seed();
    uint32_t sum = 0;

    (void)state;
    for (uint32_t k = 2; k <= KD_DIMS_MAX; k++) {
        struct scene *s = make_scene(k, 4, 900, k == 4 ? WITH_NAN : UNIFORM, KD_NO_PERIOD, &seed);

        sum += check_scene(s, 8);
        free_scene(s);
    }
    assert_true(sum > 0);
}

static void periodic(void **state)
{
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t k = 2; k <= KD_DIMS_MAX; k++) {
        struct scene *s =
            make_scene(k, 3, 1000, k % 2 ? UNIFORM : FEW_VALUES, devices_random(&seed) % k, &seed);

        check_scene(s, 8);
        free_scene(s);
    }
}

/* More on one level than a list by hand or a swap buffer has room for, and 10^5 points. */
static void large(void **state)
{
    uint64_t seed = fresh_seed();
    struct scene *s = make_scene(3, 1, 100000, UNIFORM, KD_NO_PERIOD, &seed);

    (void)state;
    assert_true(s->offsets[QUERIES] > 100000);
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct kd_forest *f;
        struct trg_queue *q;

        assert_int_equal(trg_queue_new(devices_get(i)->d, &q), 0);
        f = plant(s, devices_get(i), q);
        assert_true(check_counts(s, f, q) > 0);
        for (enum kd_search how = KD_SEARCH_AUTO; how <= KD_SEARCH_HAND; how++)
            if (how != KD_SEARCH_HAND || devices_get(i)->info.is_host)
                check_search(s, f, q, how, 32, 0);
        kd_forest_free(f);
        trg_queue_free(q);
    }
    free_scene(s);
}

#ifndef IS_SANITIZED
/* One value in all places of a buffer of words. */
static void put_same(struct kd_forest *f, struct trg_queue *q, struct trg_buffer *to, size_t at,
                     uint32_t n, float value)
{
    float *words = malloc(n * sizeof *words);

    assert_non_null(words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = value;
    assert_int_equal(kd_put(f, q, to, at * sizeof *words, words, n * sizeof *words), 0);
    free(words);
}

/* 2^32 - 1 results and more are an error, not a short answer: boxes that hold all of 2,047 points.
 * On the CPU, by hand, with the best instructions and without a sanitizer: else they would take
 * minutes. */
static void too_many_results(void **state)
{
    const uint32_t n = 2047, boxes = UINT32_MAX / n + 1;
    const struct kd_queries_setup setup = {
        .max_queries = boxes, .gang = 1, .period_dim = KD_NO_PERIOD};
    uint64_t seed = 1;
    struct scene *s = calloc(1, sizeof *s);
    struct kd_queries *queries;
    struct kd_forest *f;
    struct trg_queue *q;

    (void)state;
    assert_non_null(s);
    if (!devices_get(0)->info.is_host || getenv("TRIGD_CPU_ISA")) {
        free(s);
        skip();
    }
    *s = (struct scene){
        .k = 2, .n_trees = 1, .trees = {{0, n}}, .points = {make_points(UNIFORM, 2, n, &seed)}};
    assert_int_equal(trg_queue_new(devices_get(0)->d, &q), 0);
    f = plant(s, devices_get(0), q);
    assert_int_equal(kd_queries_new(f, &setup, &queries), 0);
    for (uint32_t d = 0; d < 4; d++) /* low ends, then high ends */
        put_same(f, q, queries->boxes, (size_t)d * queries->room, boxes, d < 2 ? -9 : 9);
    put_same(f, q, queries->tree_of, 0, boxes, 0);
    assert_int_equal(kd_search(queries, q, KD_SEARCH_HAND, boxes, n), -EOVERFLOW);
    kd_queries_free(queries);
    kd_forest_free(f);
    trg_queue_free(q);
    free_scene(s);
}
#endif

static void wrong_setup(void **state)
{
    const struct kd_forest_setup setup = {
        .device = devices_get(0)->d, .k = 3, .max_points = 10, .max_trees = 1};
    const struct kd_queries_setup wrong[] = {{.max_queries = 0, .gang = 1},
                                             {.max_queries = 1, .gang = 0},
                                             {.max_queries = 1, .gang = 3},
                                             {.max_queries = 1, .gang = 64},
                                             {.max_queries = 1, .gang = 1, .front_room = 1}};
    struct kd_queries *queries = NULL;
    struct kd_forest *f;

    (void)state;
    assert_int_equal(kd_forest_new(&setup, &f), 0);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(kd_queries_new(f, &wrong[i], &queries), -EINVAL);
    assert_null(queries);
    kd_queries_free(queries);
    kd_forest_free(f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_setup),      cmocka_unit_test(one_tree), cmocka_unit_test(forest),
        cmocka_unit_test(periodic),         cmocka_unit_test(large),
#ifndef IS_SANITIZED
        cmocka_unit_test(too_many_results),
#endif
    };

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
