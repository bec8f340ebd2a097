/* SPDX-License-Identifier: Apache-2.0 */
/* Every device gives the same bits: paths, fits, duplicates, values; one RoI or many in a batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "samples.h"
#include "testing.h"

#define ROIS 40u

struct task {
    struct roi roi[ROIS];
    struct answer want[ROIS];
    struct pa_config config;
};

static void on_device(struct trg_device *device, void *ctx)
{
    static const uint32_t batches[] = {1, 7, ROIS};
    struct task *t = ctx;
    struct answer got[ROIS];

    for (uint32_t growth = PA_GROW_AUTO; growth <= PA_GROW_DEPTH; growth++) {
        uint32_t batch = batches[growth % 3];

        t->config.growth = growth;
        t->config.choice = growth % 3; /* auto, group, device */
        assert_int_equal(paths_run(&host, device, &t->config, t->roi, ROIS, batch, got), 0);
        for (uint32_t i = 0; i < ROIS; i++)
            if (!answers_equal(&got[i], &t->want[i]))
                fail_msg("RoI %u of %u differs with growth %u, batch %u", i, ROIS, growth, batch);
        answers_free(got, ROIS);
    }
}

static void compare(struct task *t, uint32_t *ret_candidates, uint32_t *ret_truncated)
{
    *ret_candidates = *ret_truncated = 0;
    t->config.growth = PA_GROW_AUTO;
    t->config.choice = PA_CHOOSE_AUTO;
    assert_int_equal(paths_run(&host, cpu(), &t->config, t->roi, ROIS, ROIS, t->want), 0);
    for (uint32_t i = 0; i < ROIS; i++) {
        *ret_candidates += t->want[i].n;
        *ret_truncated += t->want[i].result.status == TRG_TRUNCATED;
    }
    each_device(on_device, t);
    answers_free(t->want, ROIS);
}

static void make(struct task *t, uint64_t *random, bool dense)
{
    for (uint32_t i = 0; i < ROIS; i++) {
        roi_init(&t->roi[i]);
        if (i % 5 == 0)
            continue; /* empty ones among the others */
        if (dense)
            sample_graph(random, 200 + below(random, 400), 7, uniform(random, 1.5, 5), &t->roi[i]);
        else
            sample_tracks(random, 1 + below(random, 100), 6, 3.8, &t->roi[i]);
    }
}

static void fini(struct task *t)
{
    for (uint32_t i = 0; i < ROIS; i++)
        roi_fini(&t->roi[i]);
}

static void tracks(void **state)
{
    uint64_t random = fresh_seed();
    static struct task t;
    uint32_t n, truncated;

    (void)state;
    make(&t, &random, false);
    for (uint32_t shared = 0; shared < 3; shared++) {
        configure(&t.config, "quadruplets",
                  SETTINGS("theta_cut", "0.2", "origin_tolerance_mm", "30",
                           "origin_tolerance_outer_mm", "60", "last_barrel", "9", "layers_skipped",
                           "9", "min_doublets", "2", "max_doublets", "5", "links_per_doublet", "64",
                           "paths_per_doublet", "64"));
        t.config.max_shared = shared;
        for (uint32_t i = 0; shared == 1 && i < ROIS; i++)
            sample_sort(&t.roi[i]); /* all used and in order: none is sorted */
        if (shared == 2)
            t.roi[ROIS - 1].inner[0] = UINT32_MAX; /* one of all in the batch is not used */
        compare(&t, &n, &truncated);
        assert_true(n > 1000 && !truncated);
    }
    fini(&t);
}

/* Tangled doublets, many duplicates, and limits in the way. */
static void tangles(void **state)
{
    uint64_t random = fresh_seed();
    static struct task t;
    uint32_t n, truncated;

    (void)state;
    make(&t, &random, true);
    for (uint32_t shared = 0; shared < 4; shared++) {
        configure(&t.config, "open",
                  SETTINGS("last_barrel", "9", "layers_skipped", "9", "duplicates", "remove",
                           "max_paths", "1500", "max_candidates", "60", "links_per_doublet", "2"));
        t.config.min_doublets = 2;
        t.config.max_doublets = 3 + shared;
        t.config.max_shared = shared;
        t.config.keep = shared % 2;
        compare(&t, &n, &truncated);
        assert_true(n > 100);
        if (shared == 2)
            assert_true(truncated);
    }
    fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tracks), cmocka_unit_test(tangles)};

    return cmocka_run_group_tests(tests, open_host, close_host);
}
