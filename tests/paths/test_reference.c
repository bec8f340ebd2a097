/* SPDX-License-Identifier: Apache-2.0 */
/* Against brute force: the same paths in the same order, from nothing to 100,000 doublets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "reference.h"
#include "samples.h"
#include "sanitized.h"
#include "testing.h"

/* The first `n` paths of the reference are those of the answer. */
static void compare(const struct reference *want, const struct answer *a, uint32_t n)
{
    assert_int_equal(a->n, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct reference_path *p = &want->path[i];

        if (a->path[0][i] != p->n_hits)
            fail_msg("path %u has %u hits and not %u", i, a->path[0][i], p->n_hits);
        for (uint32_t k = 0; k < PA_HITS_MAX; k++)
            if (answer_hit(a, k, i) != (k < p->n_hits ? p->hit[k] : TRG_NO_HIT))
                fail_msg("hit %u of path %u is %u", k, i, answer_hit(a, k, i));
    }
}

struct task {
    const struct roi *roi;
    const struct reference *want;
    struct pa_config config;
};

static void on_device(struct trg_device *device, void *ctx)
{
    struct task *t = ctx;

    for (uint32_t growth = PA_GROW_BREADTH; growth <= PA_GROW_DEPTH; growth++) {
        struct answer a;

        t->config.growth = growth;
        assert_int_equal(paths_run(&host, device, &t->config, t->roi, 1, 1, &a), 0);
        assert_int_equal(a.result.status, TRG_OK);
        assert_true(a.result.value[6] == (float)t->want->n_used);
        assert_true(a.result.value[7] == (float)t->want->n_links);
        assert_true(a.result.value[8] == (float)t->want->n_paths);
        compare(t->want, &a, t->want->n_paths);
        answers_free(&a, 1);
    }
}

static void check_roi(struct pa_config *c, const struct roi *r)
{
    struct reference want;
    struct task t = {.roi = r, .want = &want};

    reference_find(c, r, &want);
    print_message("%u doublets, %u links, %u paths\n", r->n_doublets, want.n_links, want.n_paths);
    t.config = *c;
    each_device(on_device, &t);
    reference_fini(&want);
}

static void graphs(void **state)
{
    static const uint32_t sizes[] = {0, 1, 2, 17, 1000, 10000, 100000};
    uint64_t random = fresh_seed();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct pa_config c;
        struct roi r;

        configure(&c, "open",
                  SETTINGS("last_barrel", "9", "layers_skipped", "9", "links_per_doublet", "64",
                           "paths_per_doublet", "64", "max_candidates", "16777216", "max_paths",
                           "16777216"));
        c.min_doublets = 2 + below(&random, 3);
        c.max_doublets = c.min_doublets + below(&random, 9 - c.min_doublets);
        c.keep = below(&random, 2);
        roi_init(&r);
        sample_graph(&random, sizes[i] < 100000 ? sizes[i] : sanitized_share(sizes[i]), 10,
                     uniform(&random, 1.5, 2.5), &r);
        check_roi(&c, &r);
        roi_fini(&r);
    }
}

/* Paths of n doublets for each n that there can be, with layers left out or not. */
static void lengths(void **state)
{
    static const char *const skipped[] = {"0", "1", "4"};
    uint64_t random = fresh_seed();

    (void)state;
    for (uint32_t n = 2; n <= PA_STEPS_MAX; n++) {
        struct pa_config c;
        struct roi r;

        configure(&c, "open",
                  SETTINGS("last_barrel", "9", "layers_skipped", skipped[n % 3],
                           "links_per_doublet", "64", "paths_per_doublet", "64", "max_candidates",
                           "1000000"));
        c.min_doublets = c.max_doublets = n;
        roi_init(&r);
        sample_graph(&random, n % 3 ? 600 : 3000, 10, 3.0 + 0.5 * n, &r);
        check_roi(&c, &r);
        roi_fini(&r);
    }
}

/* More doublets at a hit than are put in order by counting: two hubs, and as many hits on the next
 * layer, of which each leads on. */
static void crowded(void **state)
{
    uint64_t random = fresh_seed();
    struct pa_config c;
    struct roi r;

    (void)state;
    configure(&c, "open",
              SETTINGS("last_barrel", "9", "min_doublets", "2", "max_doublets", "2",
                       "links_per_doublet", "64", "paths_per_doublet", "64"));
    for (uint32_t round = 0; round < 2; round++) {
        roi_init(&r);
        for (uint32_t hub = 0; hub < 2; hub++)
            roi_hit(&r, 30, hub, 0, 0);
        for (uint32_t i = 0; i < 2 * 700; i++)
            roi_hit(&r, i % 2 ? 70 : 110, below(&random, 50), below(&random, 50), i % 2 ? 1 : 2);
        for (uint32_t i = 0; i < 2000; i++) {
            uint32_t middle = 3 + 2 * below(&random, 700);

            roi_doublet(&r, below(&random, 2), middle);
            roi_doublet(&r, middle, middle - 1);
        }
        if (round)
            sample_sort(&r);
        check_roi(&c, &r);
        roi_fini(&r);
    }
}

static void criteria(void **state)
{
    static const char *const settings[][7] = {
        {"align", "cms", "curvature", "pt", "beam_spot", "true", NULL},
        {"align", "slope", "curvature", "similar", "beam_spot", "false", NULL},
        {"align", "cms", "curvature", "off", "beam_spot", "true", NULL},
        {"align", "off", "curvature", "pt", "beam_spot", "false", NULL},
        {"align", "slope", "curvature", "off", "beam_spot", "true", NULL},
    };
    uint64_t random = fresh_seed();

    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct pa_config c;
        struct roi r;

        configure(&c, "quadruplets", settings[i]);
        c.duplicates = 0;
        c.theta_cut = 0.05f;
        c.theta_cut_forward = 0.1f;
        c.max_dslope = 0.2f;
        c.max_dcurvature_per_m = 3.0f;
        c.origin_tolerance_mm = 5.0f;
        c.origin_tolerance_outer_mm = 20.0f;
        c.beam_x_mm = 0.7f;
        c.beam_y_mm = -0.4f;
        c.last_barrel = below(&random, 10);
        c.discs = 10;
        c.links_per_doublet = c.paths_per_doublet = 64;
        c.max_doublets = 3 + below(&random, 3);
        roi_init(&r);
        sample_tracks(&random, 400, 6, 3.8, &r);
        reference_clarify(&c, &r);
        check_roi(&c, &r);
        roi_fini(&r);
    }
}

/* Nearly straight and nearly parallel: hits of each layer joined to all of the next. */
static void sample_bundle(uint64_t *random, uint32_t n, uint32_t layers, struct roi *r)
{
    for (uint32_t i = 0; i < n * layers; i++)
        roi_hit(r, 30 + 40.0 * (i / n), uniform(random, -0.5, 0.5), uniform(random, -0.3, 0.3),
                i / n);
    for (uint32_t i = 0; i < n * (layers - 1); i++)
        for (uint32_t k = 0; k < n; k++)
            roi_doublet(r, i, (i / n + 1) * n + k);
}

/* With room for a part of the links: the same paths, of all links. */
static void room_for_few_links(void **state)
{
    uint64_t random = fresh_seed();

    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        struct pa_config c;
        struct reference want;
        struct roi r;

        configure(&c, round % 2 ? "quadruplets" : "open",
                  SETTINGS("duplicates", "keep", "last_barrel", "9", "links_per_doublet", "1",
                           "paths_per_doublet", "1024", "max_candidates", "16777216"));
        c.max_doublets = round < 2 ? 3 : 4;
        c.keep = round / 2;
        roi_init(&r);
        sample_bundle(&random, round % 2 ? 18 : 10, 5, &r);
        reference_clarify(&c, &r);
        reference_find(&c, &r, &want);
        assert_true(want.n_links > r.n_doublets + PA_FREE); /* more than there is room for */
        reference_fini(&want);
        check_roi(&c, &r);
        roi_fini(&r);
    }
}

/* Limits stop at the paths that come first in the order, and say how many there were. */
static void truncated(void **state)
{
    uint64_t random = fresh_seed();
    struct pa_config c;
    struct reference want;
    struct roi r;

    (void)state;
    configure(&c, "open",
              SETTINGS("last_barrel", "9", "layers_skipped", "9", "links_per_doublet", "64",
                       "paths_per_doublet", "64", "max_doublets", "5"));
    roi_init(&r);
    sample_graph(&random, 3000, 8, 2.5, &r);
    reference_find(&c, &r, &want);
    assert_true(want.n_paths > 2000);
    for (uint32_t growth = PA_GROW_BREADTH; growth <= PA_GROW_DEPTH; growth++) {
        struct answer a;

        c.growth = growth;
        c.max_paths = 1 + below(&random, 2000);
        a = answer_of(&c, &r);
        assert_int_equal(a.result.status, TRG_TRUNCATED);
        assert_int_equal(a.result.wanted, want.n_paths);
        assert_int_equal(a.result.kept, c.max_paths);
        compare(&want, &a, c.max_paths);
        answers_free(&a, 1);
    }
    reference_fini(&want);
    roi_fini(&r);
}

/* ---------------------------------------------------------------- duplicates */

struct rank {
    uint32_t key, path;
};

static int by_quality(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->path < y->path ? -1 : 1;
}

/* Most hits first, then chi2 for each degree of freedom to 21 bits, then the order of the paths. */
static struct rank *ranks_of(const struct answer *a)
{
    struct rank *rank = calloc(a->n + 1u, sizeof *rank);

    assert_non_null(rank);
    for (uint32_t i = 0; i < a->n; i++) {
        float quality = answer_path(a, 14, i) / (float)(2 * a->path[0][i] - 5);
        uint32_t bits;

        memcpy(&bits, &quality, sizeof bits);
        rank[i] = (struct rank){(9 - a->path[0][i]) << 28 | bits >> 3, i};
    }
    qsort(rank, a->n, sizeof *rank, by_quality);
    return rank;
}

/* One after the other, best first: kept when at most max_shared of its hits are taken. */
static bool *choose(const struct answer *a, uint32_t n_hits, uint32_t max_shared)
{
    struct rank *rank = ranks_of(a);
    bool *is_taken = calloc(n_hits + 1u, 1), *is_kept = calloc(a->n + 1u, 1);

    assert_true(is_taken && is_kept);
    for (uint32_t k = 0; k < a->n; k++) {
        uint32_t i = rank[k].path, shared = 0;

        for (uint32_t h = 0; h < a->path[0][i]; h++)
            shared += is_taken[answer_hit(a, h, i)];
        is_kept[i] = shared <= max_shared;
        for (uint32_t h = 0; is_kept[i] && h < a->path[0][i]; h++)
            is_taken[answer_hit(a, h, i)] = true;
    }
    free(rank);
    free(is_taken);
    return is_kept;
}

static void compare_choice(const struct answer *all, const bool *is_kept, const struct answer *got)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < all->n; i++) {
        if (!is_kept[i])
            continue;
        assert_true(n < got->n);
        for (uint32_t c = 0; c < PATH_COLUMNS; c++)
            assert_int_equal(got->path[c][n], all->path[c][i]);
        n++;
    }
    assert_int_equal(got->n, n);
}

static void duplicates(void **state)
{
    uint64_t random = fresh_seed();
    uint32_t n_kept = 0, n_removed = 0;

    (void)state;
    for (uint32_t round = 0; round < 12; round++) {
        struct pa_config c;
        struct answer all, got;
        struct roi r;
        bool *is_kept;

        configure(&c, "open",
                  SETTINGS("last_barrel", "9", "layers_skipped", "9", "links_per_doublet", "64",
                           "paths_per_doublet", "64", "max_candidates", "1000000"));
        c.min_doublets = 2 + below(&random, 2);
        c.max_doublets = c.min_doublets + below(&random, 3);
        c.max_shared = round % 4 % (c.min_doublets + 1);
        c.choice = round % 3;
        roi_init(&r);
        if (round % 2)
            sample_graph(&random, 600, 6, uniform(&random, 1.5, 4), &r);
        else
            sample_tracks(&random, 80, 6, 3.8, &r);
        all = answer_of(&c, &r);
        c.duplicates = 1;
        got = answer_of(&c, &r);
        is_kept = choose(&all, r.n_hits, c.max_shared);
        compare_choice(&all, is_kept, &got);
        n_kept += got.n;
        n_removed += all.n - got.n;
        free(is_kept);
        answers_free(&all, 1);
        answers_free(&got, 1);
        roi_fini(&r);
    }
    assert_true(n_kept > 200 && n_removed > 200); /* the samples had something to choose */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs),
                                       cmocka_unit_test(lengths),
                                       cmocka_unit_test(crowded),
                                       cmocka_unit_test(criteria),
                                       cmocka_unit_test(truncated),
                                       cmocka_unit_test(duplicates),
                                       cmocka_unit_test(room_for_few_links)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
