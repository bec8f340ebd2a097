/* SPDX-License-Identifier: Apache-2.0 */
/* Trees on every device, by every builder: node for node what sorting every subtree gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../plugins/kdtree/blocks.h"
#include "../../plugins/kdtree/layout.h"
#include "seed.h"
#include "trees.h"

static const char *const names[] = {"auto", "groups", "sort", "select", "hand"};

/* Every node, and its coordinates bit by bit. */
static void check_tree(struct kd_forest *f, struct trg_queue *q, uint32_t first, uint32_t n,
                       const float *points, const uint32_t *want)
{
    uint32_t *ids = malloc((n + 1) * sizeof *ids);
    float *x = malloc((n + 1) * sizeof *x);

    assert_true(ids && x);
    assert_int_equal(kd_get(f, q, f->ids, first * sizeof *ids, ids, n * sizeof *ids), 0);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(ids[i], first + want[i]);
    for (uint32_t d = 0; d < f->k; d++) {
        const size_t at = ((size_t)d * f->room + first) * sizeof *x;

        assert_int_equal(kd_get(f, q, f->nodes, at, x, n * sizeof *x), 0);
        for (uint32_t i = 0; i < n; i++)
            assert_memory_equal(&x[i], &points[(size_t)d * n + want[i]], sizeof *x);
    }
    free(ids);
    free(x);
}

static void put_points(struct kd_forest *f, struct trg_queue *q, uint32_t first, uint32_t n,
                       const float *points)
{
    for (uint32_t d = 0; d < f->k; d++)
        assert_int_equal(kd_put(f, q, f->points, ((size_t)d * f->room + first) * sizeof(float),
                                points + (size_t)d * n, n * sizeof(float)),
                         0);
}

/* All nodes are in the blocks of the last levels, with their numbers. */
static void check_blocks(const struct kd_forest *f, uint32_t n)
{
    const float *block = trg_buffer_host(f->blocks), *nodes = trg_buffer_host(f->nodes);
    const uint32_t *ids = trg_buffer_host(f->ids);

    for (uint32_t b = 0; b < kd_blocks(n); b++, block += (f->k + 1) * KD_BLOCK)
        for (uint32_t i = 0; i < KD_BLOCK; i++) {
            const uint32_t node = kd_block_node(n, b, i);

            for (uint32_t d = 0; d < f->k && node < n; d++)
                assert_memory_equal(&block[d * KD_BLOCK + i], &nodes[(size_t)d * f->room + node],
                                    sizeof *nodes);
            if (node < n)
                assert_memory_equal(&block[f->k * KD_BLOCK + i], &ids[node], sizeof *ids);
            else
                assert_true(isnan(block[i]));
        }
}

/* One tree by all builders that the device has. */
static void check_size(const struct device *device, struct trg_queue *q, enum kind kind, uint32_t k,
                       uint32_t n, uint64_t *seed)
{
    const struct kd_forest_setup setup = {
        .device = device->d, .k = k, .max_points = n + 1, .max_trees = 1, .large = 1};
    const uint32_t tree[2] = {0, n}, poison = 0xdeadbeef;
    float *points = make_points(kind, k, n, seed);
    uint32_t *want = slow_tree(points, k, n);
    struct kd_forest *f;

    assert_int_equal(kd_forest_new(&setup, &f), 0);
    put_points(f, q, 0, n, points);
    assert_int_equal(kd_put(f, q, f->trees, 0, tree, sizeof tree), 0);
    for (enum kd_build how = KD_BUILD_AUTO; how <= KD_BUILD_HAND; how++) {
        if (how == KD_BUILD_HAND && !device->info.is_host) {
            assert_int_equal(kd_build(f, q, how, 1, n), -EINVAL);
            continue;
        }
        assert_int_equal(trg_fill(q, f->ids, 0, f->room * sizeof(uint32_t), poison), 0);
        assert_int_equal(trg_fill(q, f->nodes, 0, k * f->room * sizeof(uint32_t), poison), 0);
        if (kd_build(f, q, how, 1, n) < 0)
            fail_msg("%s, %u points", names[how], n);
        assert_int_equal(trg_finish(q), 0);
        check_tree(f, q, 0, n, points, want);
    }
    for (uint32_t cores = 1; cores <= 5; cores += 2) {
        if (!device->info.is_host) {
            assert_int_equal(kd_build_by_cores(f, cores, n), -EINVAL);
            break;
        }
        assert_int_equal(trg_fill(q, f->ids, 0, f->room * sizeof(uint32_t), poison), 0);
        assert_int_equal(trg_finish(q), 0);
        assert_int_equal(kd_build_by_cores(f, cores, n), 0);
        check_tree(f, q, 0, n, points, want);
        check_blocks(f, n);
    }
    kd_forest_free(f);
    free(points);
    free(want);
}

static void one_tree(void **state)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 100, 1023, 1024, 2049, 5000, 9001};
    uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        struct trg_queue *q;

        assert_int_equal(trg_queue_new(devices_get(i)->d, &q), 0);
        for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (uint32_t kind = s % 2; kind < KINDS;
                 kind += devices_get(i)->info.is_host ? 1u : 2u)
                check_size(devices_get(i), q, kind, 2 + (s + 3 * kind) % 7, sizes[s], &seed);
        check_size(devices_get(i), q, UNIFORM, 3, 100000, &seed);
        check_size(devices_get(i), q, (enum kind)(devices_random(&seed) % KINDS),
                   2 + devices_random(&seed) % 7, 100000, &seed);
        trg_queue_free(q);
    }
}

/* Many trees in one launch, some without a point. */
static void forest(void **state)
{
    enum { TREES = 60, POINTS = 40000 };
    uint64_t seed = fresh_seed();
    uint32_t trees[TREES][2];

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        const struct kd_forest_setup setup = {
            .device = devices_get(i)->d, .k = 3, .max_points = POINTS, .max_trees = TREES};
        float *points[TREES];
        struct kd_forest *f;
        struct trg_queue *q;
        uint32_t at = 5; /* what is before belongs to no tree */

        assert_int_equal(trg_queue_new(devices_get(i)->d, &q), 0);
        assert_int_equal(kd_forest_new(&setup, &f), 0);
        for (uint32_t t = 0; t < TREES; t++) {
            const uint32_t n = t % 7 == 3 ? 0 : devices_random(&seed) % 600;

            trees[t][0] = at;
            trees[t][1] = n;
            points[t] = make_points(t % KINDS, 3, n, &seed);
            put_points(f, q, at, n, points[t]);
            at += n;
        }
        assert_int_equal(kd_put(f, q, f->trees, 0, trees, sizeof trees), 0);
        for (uint32_t how = 0; how < (devices_get(i)->info.is_host ? 2u : 1u); how++) {
            assert_int_equal(kd_build(f, q, how ? KD_BUILD_GROUPS : KD_BUILD_AUTO, TREES, 0), 0);
            for (uint32_t t = 0; t < TREES; t++) {
                uint32_t *want = slow_tree(points[t], 3, trees[t][1]);

                check_tree(f, q, trees[t][0], trees[t][1], points[t], want);
                free(want);
            }
        }
        for (uint32_t t = 0; t < TREES; t++)
            free(points[t]);
        kd_forest_free(f);
        trg_queue_free(q);
    }
}

/* What depends on n, level and position only, against walking down the array. */
static void places(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 600; n++)
        for (uint32_t l = 0; l < kd_levels(n); l++) {
            uint32_t lefts = 0;

            for (uint32_t j = 0; j < 1u << l; j++) {
                const struct kd_subtree s = kd_subtree(n, l, j);

                assert_int_equal(kd_lefts_before(n, l, j), lefts);
                lefts += s.left;
                for (uint32_t p = s.begin; s.size && p <= s.begin + s.size && p < n; p++)
                    assert_int_equal(kd_subtree_at(n, l, p), j);
                if (l > 0) { /* it begins where its parent does, or behind the parent's root */
                    const struct kd_subtree up = kd_subtree(n, l - 1, j / 2);

                    assert_int_equal(s.begin, j % 2 ? up.begin + up.left + 1 : up.begin);
                    assert_int_equal(s.size, j % 2 ? up.size - up.left - 1 : up.left);
                }
                assert_int_equal(s.node<n, s.size> 0);
            }
        }
}

static void wrong_setup(void **state)
{
    struct trg_device *d = devices_get(0)->d;
    const struct kd_forest_setup wrong[] = {
        {.device = d, .k = 1, .max_points = 10, .max_trees = 1},
        {.device = d, .k = 9, .max_points = 10, .max_trees = 1},
        {.device = d, .k = 3, .max_points = 0, .max_trees = 1},
        {.device = d, .k = 3, .max_points = KD_POINTS_MAX + 1, .max_trees = 1},
        {.device = d, .k = 3, .max_points = 10, .max_trees = 0}};
    struct kd_forest *f = NULL;

    (void)state;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(kd_forest_new(&wrong[i], &f), -EINVAL);
    assert_null(f);
    kd_forest_free(f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(wrong_setup),
                                       cmocka_unit_test(one_tree), cmocka_unit_test(forest)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
