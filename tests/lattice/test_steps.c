/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of lattice on every device: the oracle's within what floats can do, and on all devices and
 * in all ways the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flows.h"
#include "naive.h"

static uint64_t seed;

static const struct lattice_tuning in_place = {.way = LATTICE_WAY_INPLACE};
static const struct lattice_tuning ways[] = {
    {.way = LATTICE_WAY_INPLACE, .group_size = 64},
    {.way = LATTICE_WAY_BLOCKS, .block_steps = 2, .tile_rows = 16, .group_size = 64},
    {.way = LATTICE_WAY_BLOCKS, .block_steps = 8, .tile_rows = 24, .group_size = 128},
    {.way = LATTICE_WAY_BLOCKS, .block_steps = 12, .tile_rows = 32, .group_size = 128},
};

/* Sizes that are no multiple of anything, and smaller than a tile. */
static const uint32_t sizes[][2] = {{3, 3}, {5, 40}, {37, 21}, {96, 17}, {130, 35}};

static struct lattice_setup any_setup(uint32_t i)
{
    struct lattice_setup s = grid_setup(sizes[i][0], sizes[i][1]);

    s.accel = seed_uniform(&seed, 0.001, 0.01);
    s.omega = seed_uniform(&seed, 0.6, 1.9);
    if (i % 2) {
        s.accel = 0;
        s.force_x = seed_uniform(&seed, 1e-6, 1e-5);
        s.force_y = seed_uniform(&seed, -1e-5, 1e-5);
        s.lid = seed_uniform(&seed, -0.05, 0.05);
    }
    return s;
}

static unsigned char *any_grid(const struct lattice_setup *s)
{
    unsigned char *kind = grid_random(s->nx, s->ny, 0.1, &seed);

    for (uint32_t x = 0; s->lid != 0 && x < s->nx; x++) {
        kind[(size_t)(s->ny - 1) * s->nx + x] = x % 7 ? LATTICE_LID : LATTICE_SOLID;
        kind[x] = LATTICE_SOLID;
    }
    return kind;
}

static struct naive_double_grid *oracle(const struct lattice_setup *s, const unsigned char *kind)
{
    const struct naive_setup setup = {s->nx,      s->ny,      s->density, s->accel, s->omega,
                                      s->force_x, s->force_y, s->lid,     kind};
    struct naive_double_grid *g;

    assert_int_equal(naive_double_new(&setup, &g), 0);
    return g;
}

/* Every distribution of free cells, and the mean speed of each step. */
static void against_oracle(void **state)
{
    const uint32_t steps = 61; /* odd: the array is left in state 1 */

    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct lattice_setup s = any_setup(i);
        unsigned char *kind = any_grid(&s);
        struct naive_double_grid *want = oracle(&s, kind);
        struct flow f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);
        double mean[61];
        size_t bytes;
        float *g;

        flow_run(&f, steps, mean);
        for (uint32_t k = 0; k < steps; k++) {
            const double m = naive_double_step(want);

            if (!(fabs(mean[k] - m) < 1e-5 * m + 1e-10))
                fail_msg("%u x %u, step %u: mean speed %.9g, not %.9g", s.nx, s.ny, k, mean[k], m);
        }
        g = flow_get(&f, &bytes);
        for (size_t at = 0; at < (size_t)s.nx * s.ny; at++)
            for (uint32_t k = 0; kind[at] == LATTICE_FREE && k < 9; k++) {
                const double got = (double)g[k * s.nx * s.ny + at];
                const double exact = want->cells[at].f[k] - naive_weight[k] * s.density;

                if (!(fabs(got - exact) < 1e-8))
                    fail_msg("%u x %u, cell %zu, direction %u: %.9g, not %.9g", s.nx, s.ny, at, k,
                             got, exact);
            }
        free(g);
        free(kind);
        naive_double_free(want);
        flow_close(&f);
    }
}

static void same_as(const struct device *device, const struct lattice_setup *s,
                    const unsigned char *kind, const struct lattice_tuning *tuning,
                    const void *want, const double *want_mean)
{
    struct flow f = flow_open(device, s, kind, tuning);
    double mean[45];
    size_t bytes;
    void *g;

    flow_run(&f, 7, mean); /* in pieces that fit no block */
    flow_run(&f, 38, mean + 7);
    g = flow_get(&f, &bytes);
    if (memcmp(mean, want_mean, sizeof mean) != 0)
        fail_msg("%u x %u, storage %u, way %u on %s: mean speeds differ", s->nx, s->ny, s->storage,
                 tuning->way, device->info.name);
    if (memcmp(g, want, bytes) != 0)
        fail_msg("%u x %u, storage %u, way %u on %s: distributions differ", s->nx, s->ny,
                 s->storage, tuning->way, device->info.name);
    free(g);
    flow_close(&f);
}

/* All ways on all devices against one step at a time on the CPU, to the bit.  Halves are rounded at
 * every step in place, and once a launch in blocks: blocks of halves are compared with blocks on
 * the CPU. */
static void same_bits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct lattice_setup s = any_setup(i);
        unsigned char *kind = any_grid(&s);

        for (s.storage = 0; s.storage < 2; s.storage++)
            for (uint32_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
                const bool is_block = ways[w].way == LATTICE_WAY_BLOCKS;
                struct flow f = flow_open(devices_get(0), &s, kind,
                                          s.storage && is_block ? &ways[w] : &in_place);
                double mean[45];
                size_t bytes;
                void *g;

                flow_run(&f, 7, mean);
                flow_run(&f, 38, mean + 7);
                g = flow_get(&f, &bytes);
                for (uint32_t d = 0; d < devices_count(); d++)
                    same_as(devices_get(d), &s, kind, &ways[w], g, mean);
                free(g);
                flow_close(&f);
            }
        free(kind);
    }
}

/* A guest takes less at once, but where a group has a multiprocessor for itself. */
static void steps_of_guests(void **state)
{
    static const struct {
        uint32_t nx;
        bool is_guest;
        uint32_t steps;
    } rows[] = {{128, true, 8}, {256, true, 4}, {257, true, 2}, {257, false, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct lattice_tuning tuning = {.way = LATTICE_WAY_BLOCKS,
                                              .is_guest = rows[i].is_guest};
        const struct lattice_setup s = grid_setup(rows[i].nx, rows[i].nx);
        unsigned char *kind = grid_random(s.nx, s.ny, 0.1, &seed);
        struct flow f = flow_open(devices_get(0), &s, kind, &tuning);
        struct lattice_cost cost;

        lattice_cost(f.l, &cost);
        assert_int_equal(cost.least_steps, rows[i].steps);
        flow_close(&f);
        free(kind);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_oracle),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(steps_of_guests),
    };

    seed = fresh_seed();
    return flows_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
