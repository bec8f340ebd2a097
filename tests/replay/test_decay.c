/* SPDX-License-Identifier: Apache-2.0 */
/* Decays of the generator: what flies how far, what comes of it, and that momentum is kept. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gen.h"
#include "gen_store.h"
#include "seed.h"
#include "simulated.h"

#define DECAYS    20000
#define CTAU_B    0.455
#define CTAU_KAON 26.84

static uint64_t seed;

struct products { /* of one decay */
    uint32_t n, from_charm;
    double p[3], energy;
    int charge;
};

static int collect(void *ctx, const struct gen_particle *p)
{
    struct products *all = ctx;

    all->n++;
    all->from_charm += (p->flags & GENERATOR_FROM_CHARM) != 0;
    all->p[0] += p->px;
    all->p[1] += p->py;
    all->p[2] += p->pz;
    all->energy += sqrt(p->mass * p->mass + p->px * p->px + p->py * p->py + p->pz * p->pz);
    all->charge += p->charge;
    return 0;
}

static double flight(const struct generated *g, uint32_t v, const struct gen_particle *from)
{
    double x = (double)g->vertex_x[v] - from->x, y = (double)g->vertex_y[v] - from->y;

    return sqrt(x * x + y * y + pow((double)g->vertex_z[v] - from->z, 2));
}

/* A hadron at the origin, which is a collision, in an empty event. */
static struct gen_particle hadron(struct generated *g, double mass, double px, double py, double pz)
{
    struct gen_particle h = {.px = px, .py = py, .pz = pz, .mass = mass};

    store_begin(g, TRG_HITS);
    assert_int_equal(store_vertex(g, 0, 0, 0, GENERATOR_PRIMARY, GENERATOR_NONE, &h.vertex), 0);
    return h;
}

static double length(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

/* A kaon's pions have its momentum and its mass; it flies as its lifetime says. */
static void kaons_decay_into_two_pions(void **state)
{
    double sum = 0, square = 0, want = length(1, -2, 3) / MASS_STRANGE * CTAU_KAON;
    struct generated g;
    struct random r;

    (void)state;
    generated_init(&g);
    random_seed(&r, seed, 1);
    for (uint32_t i = 0; i < DECAYS; i++) {
        struct gen_particle k = hadron(&g, MASS_STRANGE, 1, -2, 3);
        struct products all = {0};
        double far;

        assert_int_equal(gen_decay_strange(&r, &g, &k, collect, &all), 0);
        assert_int_equal(all.n, 2);
        assert_int_equal(all.charge, 0);
        assert_near(all.p[0], 1, 1e-9);
        assert_near(all.p[1], -2, 1e-9);
        assert_near(all.p[2], 3, 1e-9);
        assert_near(all.energy, length(length(1, 2, 3), MASS_STRANGE, 0), 1e-9);
        assert_int_equal(g.n_vertices, 2);
        assert_int_equal(g.vertex_kind[1], GENERATOR_STRANGE);
        far = flight(&g, 1, &k);
        sum += far;
        square += far * far;
    }
    generated_fini(&g);
    assert_near(sum / DECAYS, want, 5 * want / sqrt(DECAYS));
    assert_near(square / DECAYS, 2 * want * want, 5 * want * want * sqrt(20.0 / DECAYS));
}

/* A b hadron makes a vertex, its charmed hadron another further on; five charged particles in the
 * mean, and never more momentum or energy than there was. */
static void b_hadrons_decay_in_two_steps(void **state)
{
    double sum = 0, n = 0, charm = 0, want = length(2, 3, 40) / MASS_BEAUTY * CTAU_B;
    struct generated g;
    struct random r;

    (void)state;
    generated_init(&g);
    random_seed(&r, seed, 2);
    for (uint32_t i = 0; i < DECAYS; i++) {
        struct gen_particle b = hadron(&g, MASS_BEAUTY, 2, 3, 40);
        struct products all = {0};

        assert_int_equal(gen_decay_beauty(&r, &g, &b, collect, &all), 0);
        assert_int_equal(g.n_vertices, 3);
        assert_int_equal(g.vertex_kind[1], GENERATOR_BEAUTY);
        assert_int_equal(g.vertex_parent[1], 0);
        assert_int_equal(g.vertex_kind[2], GENERATOR_CHARM);
        assert_int_equal(g.vertex_parent[2], 1);
        assert_true(all.energy < length(length(2, 3, 40), MASS_BEAUTY, 0));
        sum += flight(&g, 1, &b);
        n += all.n;
        charm += all.from_charm;
    }
    generated_fini(&g);
    printf("b decays: %.2f charged, %.2f of them from charm\n", n / DECAYS, charm / DECAYS);
    assert_near(sum / DECAYS, want, 5 * want / sqrt(DECAYS));
    assert_near(n / DECAYS, 5.5, 0.3);
    assert_near(charm / DECAYS, 2.8, 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kaons_decay_into_two_pions),
        cmocka_unit_test(b_hadrons_decay_in_two_steps),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
