/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters against the naive reference on every device: random events of all densities, in any
 * order, with copies and words that cannot be, and LHCb's events under TRIGD_DATA, whose hits are
 * also known from elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"
#include "testing.h"

static uint32_t other_devices;

/* ---------------------------------------------------------------- events */

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    return (uint32_t)seed_uniform(seed, 0, n);
}

static void add(struct banks *b, uint32_t sensor, uint32_t word)
{
    assert_int_equal(banks_add(b, sensor, word), 0);
}

/* Super-pixels about some places of a sensor; `spread` of them in columns and rows. */
static void add_blobs(struct banks *b, uint64_t *seed, uint32_t sensor, uint32_t n, uint32_t spread)
{
    const uint32_t column = draw(seed, 384), row = draw(seed, 64);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t c = column + draw(seed, spread), r = row + draw(seed, spread);
        uint32_t pixels = draw(seed, 256) & draw(seed, 256);

        if (draw(seed, 8) == 0)
            pixels = 255;
        if (c < 384 && r < 64 && pixels)
            add(b, sensor, BANK_WORD(c, r, pixels) | (draw(seed, 16) ? 0 : BANK_ALONE));
    }
}

static void shuffle(struct banks *b, uint64_t *seed)
{
    for (uint32_t k = b->n; k > 1; k--) {
        const uint32_t at = draw(seed, k), word = b->word[at];
        const uint16_t sensor = b->sensor[at];

        b->word[at] = b->word[k - 1];
        b->sensor[at] = b->sensor[k - 1];
        b->word[k - 1] = word;
        b->sensor[k - 1] = sensor;
    }
}

/* Each super-pixel of some sensors fires with a probability; in the order of a readout. */
static void add_uniform(struct banks *b, uint64_t *seed, uint32_t sensor, double rate)
{
    for (uint32_t c = 0; c < 384; c++)
        for (uint32_t r = 0; r < 64; r++)
            if (seed_uniform(seed, 0, 1) < rate)
                add(b, sensor, BANK_WORD(c, r, 1 + draw(seed, 255)));
}

static struct banks make_event(uint64_t *seed, uint32_t kind)
{
    struct banks b = {0};

    switch (kind % 5) {
    case 0: /* ordered */
        for (uint32_t s = 0; s < 208; s += 1 + draw(seed, 40))
            add_uniform(&b, seed, s, 0.002);
        add_uniform(&b, seed, 207, 0.3);
        break;
    case 1: /* crowded places in any order; copies are certain */
        for (uint32_t i = 0; i < 60; i++)
            add_blobs(&b, seed, draw(seed, 208), 1 + draw(seed, 12), 1 + draw(seed, 6));
        shuffle(&b, seed);
        break;
    case 2: /* a sensor of which nearly all fires */
        add_uniform(&b, seed, draw(seed, 208), 0.95);
        break;
    case 3: /* words that are anything */
        for (uint32_t i = 0; i < 200; i++)
            add(&b, draw(seed, 220),
                draw(seed, 3) ? BANK_WORD(draw(seed, 400), draw(seed, 64), draw(seed, 256))
                              : draw(seed, UINT32_MAX));
        break;
    default: /* nothing at all */
        break;
    }
    return b;
}

/* ---------------------------------------------------------------- on all devices */

struct task {
    const struct banks *banks;
    const struct reference *reference;
    const struct clusters_config *config;
    struct products *first; /* of the first device */
    uint32_t n;
};

static void assert_same_bits(const struct products *a, const struct products *b)
{
    for (uint32_t k = 0; k < 2; k++) {
        const struct trg_collection *c = kind_info(host.plugin->produces[k]);

        for (uint32_t i = 0; i < c->n_columns; i++)
            assert_memory_equal(a->of[k].column[i], b->of[k].column[i],
                                a->of[k].n * trg_column_bytes(&c->column[i]));
    }
}

static void on_device(struct trg_device *device, void *ctx)
{
    static const uint32_t sizes[] = {1, 70};
    struct task *t = ctx;

    for (uint32_t s = 0; s < 2; s++) {
        struct trg_result *results = calloc(t->n, sizeof *results);
        struct products *found = calloc(t->n, sizeof *found);

        assert_true(results && found);
        run_on(device, t->config, t->banks, t->n, sizes[s], results, found);
        for (uint32_t i = 0; i < t->n; i++) {
            assert_clusters(&t->reference[i], &results[i], &found[i]);
            if (t->first)
                assert_same_bits(&t->first[i], &found[i]);
        }
        free(results);
        if (t->first)
            products_free(found, t->n);
        else
            t->first = found;
    }
}

static void compare(struct banks *banks, uint32_t n, const char *const *settings)
{
    struct reference *r = calloc(n, sizeof *r);
    struct clusters_config c;
    struct task t = {banks, r, &c, NULL, n};

    assert_non_null(r);
    configure(&c, NULL, settings);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(reference_make(&geometry, &banks[i], c.hint, &r[i]), 0);
    other_devices += each_device(on_device, &t);
    products_free(t.first, n);
    for (uint32_t i = 0; i < n; i++)
        reference_free(&r[i]);
    free(r);
}

static void random_events(void **state)
{
    const uint32_t n = sanitized_share(rois_or(75));
    struct banks *banks = calloc(n, sizeof *banks);
    uint64_t seed = fresh_seed();

    (void)state;
    assert_non_null(banks);
    for (uint32_t i = 0; i < n; i++)
        banks[i] = make_event(&seed, i);
    compare(banks, n, NULL);
    compare(banks, n < 20 ? n : 20, SETTINGS("hint", "false"));
    for (uint32_t i = 0; i < n; i++)
        banks_free(&banks[i]);
    free(banks);
}

/* ---------------------------------------------------------------- LHCb's events */

#define EVENTS 6

/* Each hit of the table is the next cluster with its number, size and place. */
static void assert_table(const char *path, const struct products *p)
{
    unsigned char *taken = calloc(p->of[0].n + 1u, 1);
    FILE *f = fopen(path, "r");
    char line[256];
    uint32_t n = 0;

    assert_true(f && taken && fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        unsigned hit, module, sensor, id, size, k = 0;
        double at[3];

        assert_int_equal(sscanf(line, "%u,%u,%u,%u,%u,%lf,%lf,%lf", &hit, &module, &sensor, &id,
                                &size, &at[0], &at[1], &at[2]),
                         8);
        while (k < p->of[0].n && (taken[k] || hit_id(p)[k] != id || cluster_size(p)[k] != size))
            k++;
        assert_true(k < p->of[0].n);
        taken[k] = 1;
        assert_int_equal(hit_layer(p)[k], module);
        for (uint32_t a = 0; a < 3; a++)
            assert_true(fabs((double)hit_place(p, a)[k] - at[a]) < PLACE_ERROR);
        n++;
    }
    assert_int_equal(n, p->of[0].n);
    fclose(f);
    free(taken);
}

static void lhcb_events(void **state)
{
    const char *data = getenv("TRIGD_DATA");
    struct trg_result results[EVENTS];
    struct products *found = calloc(EVENTS, sizeof *found);
    struct banks banks[EVENTS];
    struct clusters_config c;
    uint32_t hits = 0;
    char path[512];

    (void)state;
    if (!data || !found) {
        free(found);
        print_message("skipped: TRIGD_DATA is not set\n");
        skip();
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        snprintf(path, sizeof path, "%s/lhcb-minbias/raw/6718861_600%u.bin", data, i + 1);
        banks_read(path, &banks[i]);
    }
    compare(banks, EVENTS, NULL);
    compare(banks, EVENTS, SETTINGS("hint", "false"));
    configure(&c, NULL, NULL);
    run_on(cpu(), &c, banks, EVENTS, EVENTS, results, found);
    for (uint32_t i = 0; i < EVENTS; i++) {
        snprintf(path, sizeof path, "%s/lhcb-minbias/6718861_600%u-hits.csv", data, i + 1);
        assert_table(path, &found[i]);
        hits += found[i].of[0].n;
        banks_free(&banks[i]);
    }
    assert_int_equal(hits, 10697);
    products_free(found, EVENTS);
}

static int finish(void **state)
{
    print_message("%u runs on devices other than the CPU\n", other_devices);
    return close_all(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events),
        cmocka_unit_test(lhcb_events),
    };

    return cmocka_run_group_tests(tests, open_host, finish);
}
