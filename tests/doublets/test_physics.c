/* SPDX-License-Identifier: Apache-2.0 */
/* Doublets of generated pixel events against the truth: hits of one particle that follow each other
 * on neighbouring layers are a doublet, and doublets are not too many. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver.h"
#include "generator.h"
#include "seed.h"

#define ROIS    4u
#define BEAM_MM 110.0f /* vertices further out are outside of the default beam window */

static void copy_hits(struct hits *h, const struct generated *g)
{
    assert_true(g->n <= HITS_MAX);
    h->n = g->n;
    memcpy(h->x, g->hits.x, g->n * sizeof *h->x);
    memcpy(h->y, g->hits.y, g->n * sizeof *h->y);
    memcpy(h->z, g->hits.z, g->n * sizeof *h->z);
    memcpy(h->layer, g->hits.layer, g->n * sizeof *h->layer);
    memcpy(h->id, g->hits.id, g->n * sizeof *h->id);
}

static bool has(const struct doublets *d, uint32_t inner, uint32_t outer)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->inner[i] == inner && d->outer[i] == outer)
            return true;
    return false;
}

/* The pairs of barrel layers 0-1, 1-2, 2-3 and of discs 4-5, 5-6, 7-8, 8-9. */
static bool neighbours(uint16_t inner, uint16_t outer)
{
    return outer == inner + 1 && outer != 4 && outer != 7;
}

struct count {
    uint32_t found, all, doublets, hits;
};

static void check_event(const struct generated *g, const struct doublets *d, double pt_min,
                        struct count *c)
{
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t o = 0; o < g->n; o++) {
            const uint32_t p = g->particle[i];

            if (p == GENERATOR_NOISE || p != g->particle[o] || (double)g->pt[p] < pt_min ||
                !neighbours(g->hits.layer[i], g->hits.layer[o]) ||
                fabsf(g->vertex_z[g->particle_vertex[p]]) > BEAM_MM)
                continue;
            c->all++;
            c->found += has(d, i, o);
        }
    c->doublets += d->n;
    c->hits += g->n;
}

static struct count run_preset(const struct device *device, const char *preset, double pt_min,
                               uint64_t seed)
{
    struct hits *h = calloc(ROIS, sizeof *h);
    struct generated g[ROIS] = {0};
    struct doublets d[ROIS];
    struct trg_result results[ROIS];
    struct doublets_config config;
    const struct run run = {.device = device, .config = &config, .batch = 2, .to_host = 1};
    struct count c = {0};

    assert_non_null(h);
    configure(&config, (const char *const[]){NULL});
    for (uint32_t i = 0; i < ROIS; i++) {
        assert_int_equal(generator_make(generator_find(preset), seed, i, &g[i]), 0);
        copy_hits(&h[i], &g[i]);
    }
    run_plugin(&run, h, ROIS, results, d);
    for (uint32_t i = 0; i < ROIS; i++) {
        assert_int_equal(results[i].status, TRG_OK);
        check_event(&g[i], &d[i], pt_min, &c);
        doublets_free(&d[i]);
        generated_fini(&g[i]);
    }
    free(h);
    return c;
}

static void pile_up_50(void **state)
{
    const uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        const struct count c = run_preset(devices_get(i), "pixel50", 0.9, seed);

        print_message("above 0.9 GeV: %u of %u; %.1f doublets for each hit\n", c.found, c.all,
                      (double)c.doublets / c.hits);
        assert_true(c.all > 500 && c.found >= 0.98 * c.all);
        assert_true(c.doublets < 12 * c.hits);
    }
}

static void one_collision(void **state)
{
    const uint64_t seed = fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < devices_count(); i++) {
        const struct count c = run_preset(devices_get(i), "pixel", 0.7, seed);

        assert_true(c.all > 50 && c.found >= 0.93 * c.all);
        assert_true(c.doublets < 2 * c.hits);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_collision),
                                       cmocka_unit_test(pile_up_50)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
