/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated pixel detectors: hits lie on layers and on the circles that the truth tells. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "seed.h"
#include "simulated.h"

#define PI 3.14159265358979323846

static uint64_t seed;

/* ---------------------------------------------------------------- pixel and trackml */

struct surface {
    double radius, half_length; /* of a barrel; 0: a disc */
    double z;
};

static const struct surface pixel_layers[] = {
    {29, 274.4, 0}, {68, 274.4, 0}, {109, 274.4, 0}, {160, 274.4, 0}, {0, 0, 291},
    {0, 0, 396},    {0, 0, 516},    {0, 0, -291},    {0, 0, -396},    {0, 0, -516}};
static const struct surface trackml_layers[] = {
    {32, 491, 0},   {72, 491, 0},   {116, 491, 0},  {172, 491, 0},  {260, 1084, 0},
    {360, 1084, 0}, {500, 1084, 0}, {660, 1084, 0}, {820, 1084, 0}, {1020, 1084, 0}};

static void check_surfaces(const struct generated *g, const struct surface *layers, uint32_t n)
{
    for (uint32_t i = 0; i < g->n; i++) {
        double r = hypot((double)g->hits.x[i], (double)g->hits.y[i]), z = (double)g->hits.z[i];
        const struct surface *s = &layers[g->hits.layer[i]];

        assert_int_equal(g->hits.id[i], i);
        assert_true(g->hits.layer[i] < n);
        assert_true(i == 0 || g->hits.layer[i] >= g->hits.layer[i - 1]);
        if (s->half_length > 0) {
            assert_near(r, s->radius, 1e-3);
            assert_true(fabs(z) < s->half_length + 20);
        } else {
            assert_near(z, s->z, 1e-4);
            assert_true(r > 44.8 && r < 161.2);
        }
    }
}

struct circle {
    double x, y, radius;
};

static struct circle circle_of(const struct generated *g, uint32_t particle, double field)
{
    uint32_t v = g->particle_vertex[particle];
    double radius = (double)g->pt[particle] / (0.299792458 * field) * 1e3, q = g->charge[particle];

    return (struct circle){(double)g->vertex_x[v] + q * radius * sin((double)g->phi0[particle]),
                           (double)g->vertex_y[v] - q * radius * cos((double)g->phi0[particle]),
                           radius};
}

/* d0 and z0 of the truth, from the circle and the vertex, in another way. */
static void check_perigee(const struct generated *g, uint32_t p, const struct circle *c)
{
    uint32_t v = g->particle_vertex[p];
    double d0 = g->charge[p] * (hypot(c->x, c->y) - c->radius);
    double from = atan2((double)g->vertex_y[v] - c->y, (double)g->vertex_x[v] - c->x);
    double turn = remainder(from - atan2(-c->y, -c->x), 2 * PI); /* perigee to vertex */
    double z0 = (double)g->vertex_z[v] + g->charge[p] * turn * c->radius * sinh((double)g->eta[p]);

    assert_near((double)g->d0[p], d0, 1e-3);
    assert_near((double)g->z0[p], z0, 1e-3 * (1 + fabs(sinh((double)g->eta[p]))));
}

/* Hits of stiff particles lie on the circle, to resolution and a few kinks. */
static void check_circles(const struct generated *g, double field, double sigma, double reach,
                          struct spread *near)
{
    for (uint32_t p = 0; p < g->n_particles; p++) {
        struct circle c = circle_of(g, p, field);

        check_perigee(g, p, &c);
    }
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t p = g->particle[i];
        double x = (double)g->hits.x[i], y = (double)g->hits.y[i];
        struct circle c;

        if (p == GENERATOR_NOISE || g->pt[p] < 5 || hypot(x, y) > reach)
            continue;
        c = circle_of(g, p, field);
        add_residual(near, (hypot(x - c.x, y - c.y) - c.radius) / sigma);
    }
}

static void check_helices(const char *name, double field, double sigma, double reach,
                          const struct surface *layers, uint32_t n_layers, uint64_t rois)
{
    struct spread near = {0};
    struct generated g;

    generated_init(&g);
    for (uint64_t i = 0; i < rois; i++) {
        assert_int_equal(generator_make(preset_of(name), seed, i, &g), 0);
        assert_int_equal(g.kind, TRG_HITS);
        check_truth(&g, 1);
        check_surfaces(&g, layers, n_layers);
        check_circles(&g, field, sigma, reach, &near);
    }
    generated_fini(&g);
    printf("%s: hits of stiff particles: %.0f, pull %.3f +- %.3f\n", name, near.n,
           near.sum / near.n, sqrt(near.square / near.n));
    assert_true(near.n > 20);
    assert_near(near.sum / near.n, 0, 6 * 1.6 / sqrt(near.n));
    assert_true(sqrt(near.square / near.n) > 0.9 && sqrt(near.square / near.n) < 2.5);
}

static void pixel_hits_lie_on_layers_and_circles(void **state)
{
    (void)state;
    check_helices("pixel", 3.8, 0.010, 70, pixel_layers, 10, 200);
    check_helices("pixel50", 3.8, 0.010, 70, pixel_layers, 10, 10);
}

static void trackml_hits_lie_on_layers_and_circles(void **state)
{
    (void)state;
    check_helices("trackml", 2.0, 0.014, 75, trackml_layers, 10, 3);
}

/* Collisions, hits, and the fraction of particles that a detector of this kind sees. */
static void pixel_is_as_promised(void **state)
{
    static const struct {
        const char *name;
        double pileup;
        uint64_t rois;
    } list[] = {{"pixel", 0, 100}, {"pixel50", 50, 20}, {"pixel140", 140, 5}, {"pixel200", 200, 5}};
    struct generated g;

    (void)state;
    generated_init(&g);
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        double n = (double)list[k].rois, collisions = 0, hits = 0, hard = 0, whole = 0;

        for (uint64_t i = 0; i < list[k].rois; i++) {
            uint32_t *items;

            assert_int_equal(generator_make(preset_of(list[k].name), seed, i, &g), 0);
            items = count_items(&g, 1);
            collisions += g.n_vertices;
            hits += g.n;
            for (uint32_t p = 0; p < g.n_particles; p++) {
                hard += g.pt[p] > 0.9f && fabsf(g.eta[p]) < 2;
                whole += g.pt[p] > 0.9f && fabsf(g.eta[p]) < 2 && items[p] >= 4;
            }
            free(items);
        }
        printf("%s: %.1f collisions, %.0f hits; 4 hits or more: %.3f above 0.9 GeV, |eta| < 2\n",
               list[k].name, collisions / n, hits / n, whole / hard);
        assert_near(collisions / n, list[k].pileup + 1, 5 * sqrt(list[k].pileup / n));
        assert_near(hits / n, 210 + 153 * list[k].pileup, 30 + 25 * list[k].pileup);
        assert_true(whole / hard > 0.88);
    }
    generated_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixel_hits_lie_on_layers_and_circles),
        cmocka_unit_test(trackml_hits_lie_on_layers_and_circles),
        cmocka_unit_test(pixel_is_as_promised),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
