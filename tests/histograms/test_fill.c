/* SPDX-License-Identifier: Apache-2.0 */
/* What histograms count of random RoIs, against edges that are looked at one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/yamlfile.h"
#include "flow/histograms.h"
#include "log.h"
#include "memfile.h"
#include "menu/chains.h"
#include "seed.h"

#define N_ROIS 3000u
#define POINTS 20u

static const char text[] =
    "streams: [physics]\n"
    "steps: [{name: c, plugin: copying}]\n"
    "chains:\n"
    "  - {name: many, id: 1, steps: [{step: c, cuts: [{value: n, min: 10}]}], streams: [physics]}\n"
    "histograms:\n"
    "  - {name: n, step: c, value: n, bins: 64, min: -32, max: 32}\n"
    "  - {name: n_many, step: c, value: n, chain: many, bins: 16, min: 0, max: 32}\n"
    "  - {name: n_cut, step: c, value: n, bins: 16, min: 0, max: 32,\n"
    "     cuts: [{value: n, absolute: true, min: 3, max: 7}]}\n"
    "  - {name: z, step: c, collection: spacepoints, column: z, bins: 128, min: -256, max: 256}\n"
    "  - {name: layer, step: c, collection: spacepoints, column: layer, bins: 8, min: 0, max: 8}\n"
    "  - {name: z_layer, step: c, collection: spacepoints, column: z, bins: 16, min: -256, max: "
    "256,\n"
    "     y: {column: layer, bins: 4, min: 0, max: 8}}\n"
    "  - {name: n_n, step: c, value: n, bins: 4, min: -32, max: 32,\n"
    "     y: {value: n, bins: 2, min: 0, max: 16}}\n";

struct naive {
    const char *name;
    double min, max;
    uint32_t bins;
    uint64_t under, over, nan, count[128];
};
static struct naive naive[] = {{.name = "n", .min = -32, .max = 32, .bins = 64},
                               {.name = "n_many", .min = 0, .max = 32, .bins = 16},
                               {.name = "n_cut", .min = 0, .max = 32, .bins = 16},
                               {.name = "z", .min = -256, .max = 256, .bins = 128},
                               {.name = "layer", .min = 0, .max = 8, .bins = 8}};

static struct flat { /* of two axes, each bin looked at */
    const char *name;
    double min[2], max[2];
    uint32_t bins[2];
    uint64_t nan, count[6 * 18];
} flat[] = {{.name = "z_layer", .min = {-256, 0}, .max = {256, 8}, .bins = {16, 4}},
            {.name = "n_n", .min = {-32, 0}, .max = {32, 16}, .bins = {4, 2}}};

/* Whether x is in a bin of an axis, which is -1 below and `bins` above. */
static bool is_in(const struct flat *f, uint32_t axis, int32_t bin, double x)
{
    const double width = (f->max[axis] - f->min[axis]) / f->bins[axis];

    return (bin < 0 || x >= f->min[axis] + bin * width) &&
           (bin == (int32_t)f->bins[axis] || x < f->min[axis] + (bin + 1) * width);
}

static void count_pair_slowly(struct flat *f, double x, double y)
{
    f->nan += isnan(x) || isnan(y);
    for (int32_t b = -1; b <= (int32_t)f->bins[1] && !isnan(x) && !isnan(y); b++)
        for (int32_t a = -1; a <= (int32_t)f->bins[0]; a++)
            f->count[(uint32_t)(b + 1) * (f->bins[0] + 2) + (uint32_t)(a + 1)] +=
                is_in(f, 0, a, x) && is_in(f, 1, b, y);
}

static void count_slowly(struct naive *n, double x)
{
    if (isnan(x))
        n->nan++;
    else if (x < n->min)
        n->under++;
    else if (x >= n->max)
        n->over++;
    else
        for (uint32_t k = 0; k < n->bins; k++)
            n->count[k] += x >= n->min + k * (n->max - n->min) / n->bins &&
                           x < n->min + (k + 1) * (n->max - n->min) / n->bins;
}

struct fixture {
    struct plugin_host *host;
    struct engine engine;
    struct pool *pool;
    struct histograms *histograms;
    struct roi roi;
};

static struct menu *load(struct fixture *f, const char *menu)
{
    char folder[1024], *paths[] = {folder};
    struct memfile file = memfile_new(menu, strlen(menu));
    struct menu *m = NULL;
    int r;

    snprintf(folder, sizeof folder, "%s/test-plugins", getenv("TRIGD_BUILD"));
    if (!f->host)
        assert_int_equal(plugin_host_new(paths, 1, &f->host), 0);
    r = menu_load(file.path, f->host, &m);
    memfile_close(&file);
    return r < 0 ? NULL : m;
}

static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof f);
    f.engine.menu = load(&f, text);
    assert_non_null(f.engine.menu);
    assert_int_equal(pool_open(16, 1 << 20, &f.pool), 0);
    f.roi.steps = pool_alloc(f.pool, sizeof(struct roi_step));
    f.roi.chains = pool_alloc(f.pool, chains_bytes(f.engine.menu->plan));
    f.roi.block = pool_alloc(f.pool, pool_collection_bytes(TRG_SPACEPOINTS, POINTS));
    *state = &f;
    return histograms_new(&f.histograms);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    histograms_leave(f->histograms, &f->engine);
    histograms_free(f->histograms);
    pool_close(f->pool);
    menu_free((struct menu *)(uintptr_t)f->engine.menu);
    plugin_host_free(f->host);
    return 0;
}

/* A value in the range, at an end or an edge, or none. */
static float odd(uint64_t *seed, float most)
{
    static const float odds[] = {0,   -32, 32,       31.999998f, -256,
                                 256, NAN, INFINITY, -INFINITY,  1e30f};
    const uint32_t which = (uint32_t)seed_uniform(seed, 0, 20);

    return which < 10 ? odds[which] : (float)seed_uniform(seed, -1.2, 1.2) * most;
}

static void make_roi(struct fixture *f, uint64_t *seed)
{
    struct roi_step *step = pool_steps(f->pool, &f->roi);
    struct roi_collection *c = &step->product[0];
    void *chains = pool_at(f->pool, f->roi.chains);

    memset(step, 0, sizeof *step);
    memset(chains, 0, chains_bytes(f->engine.menu->plan));
    step->result.value[0] = odd(seed, 32);
    *c = (struct roi_collection){.at = f->roi.block,
                                 .capacity = POINTS,
                                 .n = (uint32_t)seed_uniform(seed, 0, POINTS + 1),
                                 .is_there = true};
    for (uint32_t i = 0; i < c->n; i++) {
        ((float *)pool_column(f->pool, TRG_SPACEPOINTS, c, TRG_SPACEPOINTS_Z_COLUMN))[i] =
            odd(seed, 256);
        ((uint8_t *)pool_column(f->pool, TRG_SPACEPOINTS, c, TRG_SPACEPOINTS_LAYER_COLUMN))[i] =
            (uint8_t)seed_uniform(seed, 0, 12);
    }
    if (seed_uniform(seed, 0, 1) < 0.5)
        plan_add(chains_of(f->engine.menu->plan, chains, CHAINS_ACCEPTED), 0);
    f->roi.done = seed_uniform(seed, 0, 1) < 0.9; /* else its step did not run */
}

/* Of an RoI whose step ran. */
static void count_roi(struct fixture *f)
{
    const struct roi_step *step = pool_steps(f->pool, &f->roi);
    const struct roi_collection *c = &step->product[0];
    const float n = step->result.value[0];
    void *chains = pool_at(f->pool, f->roi.chains);

    count_slowly(&naive[0], (double)n);
    if (plan_has(chains_of(f->engine.menu->plan, chains, CHAINS_ACCEPTED), 0))
        count_slowly(&naive[1], (double)n);
    if (fabsf(n) >= 3 && fabsf(n) <= 7)
        count_slowly(&naive[2], (double)n);
    count_pair_slowly(&flat[1], (double)n, (double)n);
    for (uint32_t i = 0; i < c->n; i++) {
        const float *z = pool_column(f->pool, TRG_SPACEPOINTS, c, TRG_SPACEPOINTS_Z_COLUMN);
        const uint8_t *layer =
            pool_column(f->pool, TRG_SPACEPOINTS, c, TRG_SPACEPOINTS_LAYER_COLUMN);

        count_slowly(&naive[3], (double)z[i]);
        count_slowly(&naive[4], layer[i]);
        count_pair_slowly(&flat[0], (double)z[i], layer[i]);
    }
}

static void expect_flat(const struct flat *wanted, const struct histogram *h)
{
    struct histogram_sums sums = histogram_sums(h);

    assert_string_equal(h->name, wanted->name);
    assert_int_equal(histogram_cells(h), (wanted->bins[0] + 2) * (wanted->bins[1] + 2));
    assert_memory_equal(wanted->count, h->count, histogram_cells(h) * sizeof *h->count);
    assert_int_equal(h->nan, wanted->nan);
    assert_int_equal(sums.underflow + sums.inside + sums.overflow + h->nan, histogram_entries(h));
    assert_true(histogram_entries(h) > 100);
}

static void counts_are_those_of_a_slow_count(void **state)
{
    uint64_t seed = fresh_seed();
    struct fixture *f = *state;
    struct histogram_list list;
    uint32_t i = 0;

    assert_int_equal(histograms_begin(f->histograms, &f->engine), 0);
    for (uint32_t k = 0; k < N_ROIS; k++) {
        make_roi(f, &seed);
        f->roi.info.run = 3 + k % 2;
        if (f->roi.done)
            count_roi(f);
        histograms_fill(f->histograms, &f->engine, f->pool, &f->roi,
                        pool_at(f->pool, f->roi.chains));
    }
    assert_int_equal(histograms_copy(f->histograms, true, &list), 0);
    assert_true(list.has_runs && list.first_run == 3 && list.last_run == 4);
    for (const struct histogram *h = list.first; h; h = h->next, i++) {
        if (i >= 5) {
            expect_flat(&flat[i - 5], h);
            continue;
        }
        assert_string_equal(h->name, naive[i].name);
        assert_true(naive[i].nan == h->nan && naive[i].under == h->underflow &&
                    naive[i].over == h->overflow);
        assert_memory_equal(naive[i].count, h->count, naive[i].bins * sizeof *h->count);
        assert_true(histogram_entries(h) > 100);
    }
    assert_int_equal(i, 7);
    histograms_drop(&list);
    assert_int_equal(histograms_copy(f->histograms, false, &list), 0); /* they begin anew */
    assert_false(list.has_runs);
    assert_int_equal(histogram_entries(list.first), 0);
    histograms_drop(&list);
}

/* Lists of several shards, one of which has a histogram more. */
static void lists_add_up(void **state)
{
    uint64_t seed = fresh_seed();
    struct fixture *f = *state;
    struct histogram_list one, two;
    uint64_t entries;

    assert_int_equal(histograms_begin(f->histograms, &f->engine), 0);
    for (uint32_t k = 0; k < 100; k++) {
        make_roi(f, &seed);
        histograms_fill(f->histograms, &f->engine, f->pool, &f->roi,
                        pool_at(f->pool, f->roi.chains));
    }
    assert_int_equal(histograms_copy(f->histograms, false, &one), 0);
    assert_int_equal(histograms_copy(f->histograms, false, &two), 0);
    entries = histogram_entries(one.first);
    assert_true(entries > 50);
    two.first->key++; /* of another menu */
    two.first->next->count[0] = 7;
    one.first->next->count[0] = 5;
    histograms_merge(&one, &two);
    assert_null(two.first);
    assert_int_equal(histogram_entries(one.first), entries);
    assert_int_equal(one.first->next->count[0], 12);
    histograms_drop(&one);
    memset(naive, 0, sizeof naive);
}

#define HEAD                                                    \
    "streams: [physics]\nsteps: [{name: c, plugin: copying}]\n" \
    "chains: [{name: many, id: 1, steps: [{step: c}], streams: [physics]}]\nhistograms:\n"
#define REST ", bins: 4, min: 0, max: 8}\n"

static const struct {
    const char *menu, *why;
} wrong[] = {
    {HEAD "  - {name: h, step: d, value: n" REST, "histogram \"h\": there is no step \"d\""},
    {HEAD "  - {name: h, step: c, value: m" REST, ":5: plugin copying reports no value \"m\""},
    {HEAD "  - {name: h, step: c" REST, "has a value, or a collection and a column of it"},
    {HEAD "  - {name: h, step: c, collection: spacepoints" REST, "a collection and a column of it"},
    {HEAD "  - {name: h, step: c, value: n, column: z" REST, "a collection and a column of it"},
    {HEAD "  - {name: h, step: c, collection: hits, column: z" REST,
     "plugin copying makes no collection \"hits\""},
    {HEAD "  - {name: h, step: c, collection: spacepoints, column: rhoo" REST,
     "collection spacepoints has no column \"rhoo\"; did you mean \"rho\"?"},
    {HEAD "  - {name: h, step: c, value: n, chain: some" REST, "there is no chain \"some\""},
    {HEAD "  - {name: h, step: c, value: n, bins: 0, min: 0, max: 1}\n", "has 0 bins; 1 or more"},
    {HEAD "  - {name: h, step: c, value: n, bins: 300000, min: 0, max: 1}\n",
     "with it there are 300000 bins; 262144 for all"},
    {HEAD "  - {name: h, step: c, value: n, y: {value: n, bins: 70000, min: 0, max: 1}" REST,
     "with it there are 420012 bins"},
    {HEAD "  - {name: h, step: c, value: n, y: {value: n, bins: 0, min: 0, max: 1}" REST,
     "has 0 bins in y"},
    {HEAD "  - {name: h, step: c, value: n, y: {value: n, bins: 1, min: 2, max: 1}" REST,
     "has min 2 and max 1 in y"},
    {HEAD "  - {name: h, step: c, value: n, y: {column: z, bins: 1, min: 0, max: 1}" REST,
     "histogram \"h\" is of a value, and so is y: it has a value alone"},
    {HEAD "  - {name: h, step: c, collection: spacepoints, column: z, "
          "y: {value: n, bins: 1, min: 0, max: 1}" REST,
     "is of a column, and so is y"},
    {HEAD "  - {name: h, step: c, collection: spacepoints, column: z, "
          "y: {column: rhoo, bins: 1, min: 0, max: 1}" REST,
     "has no column \"rhoo\"; did you mean"},
    {HEAD "  - {name: h, step: c, value: n, y: {value: n, bins: 1, min: 0}" REST, "max"},
    {HEAD "  - {name: h, step: c, value: n, bins: 4, min: 1, max: 1}\n",
     "has min 1 and max 1; min"},
    {HEAD "  - {name: h, step: c, value: n, bins: 4, min: .nan, max: 1}\n", "histograms[0].min"},
    {HEAD "  - {name: h, step: c, value: n" REST "  - {name: h, step: c, value: n" REST,
     ":6: histogram \"h\" is listed twice"},
    {HEAD "  - {name: h, step: c, value: n, cuts: [{value: n}]" REST, "neither min nor max"},
    {HEAD "  - {name: h, step: c, value: n, binz: 3" REST, "binz"},
};

static void what_is_wrong_is_a_sentence(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(load(f, wrong[i].menu));
        if (!strstr(yamlfile_why(), wrong[i].why))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, yamlfile_why(), wrong[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_those_of_a_slow_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_a_sentence, set_up, tear_down),
    };

    log_set_level(TRG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
