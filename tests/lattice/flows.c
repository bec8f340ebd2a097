/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "flows.h"

int flows_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n_tests)
{
    const char *backend = argc > 1 ? argv[1] : "cpu";
    int r;

    if (!devices_open("cpu") || (strcmp(backend, "cpu") != 0 && devices_open(backend) < 2)) {
        printf("skipped: there is no %s device\n", backend);
        devices_close();
        return 77;
    }
    r = _cmocka_run_group_tests(backend, tests, n_tests, NULL, NULL);
    devices_close();
    return r;
}

struct flow flow_open(const struct device *device, const struct lattice_setup *setup,
                      const unsigned char *kind, const struct lattice_tuning *tuning)
{
    struct lattice_why why = {"the device failed"};
    struct flow f;

    if (lattice_open(device->d, setup, kind, tuning, &f.l, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(trg_queue_new(device->d, &f.q), 0);
    return f;
}

void flow_close(struct flow *f)
{
    trg_queue_free(f->q);
    lattice_close(f->l);
}

void flow_run(struct flow *f, uint32_t steps, double *ret_mean)
{
    assert_int_equal(lattice_run(f->l, f->q, steps, ret_mean), 0);
}

void *flow_get(struct flow *f, size_t *ret_bytes)
{
    struct lattice_setup s;
    void *g;

    lattice_setup_of(f->l, &s);
    *ret_bytes = (size_t)9 * s.nx * s.ny * (s.storage == LATTICE_STORE_HALF ? 2 : 4);
    g = malloc(*ret_bytes);
    assert_non_null(g);
    assert_int_equal(lattice_get(f->l, f->q, g), 0);
    return g;
}

unsigned char *grid_box(uint32_t nx, uint32_t ny)
{
    unsigned char *kind = calloc(nx, ny);

    assert_non_null(kind);
    for (uint32_t x = 0; x < nx; x++)
        kind[x] = kind[(size_t)(ny - 1) * nx + x] = LATTICE_SOLID;
    for (uint32_t y = 0; y < ny; y++)
        kind[(size_t)y * nx] = kind[(size_t)y * nx + nx - 1] = LATTICE_SOLID;
    return kind;
}

unsigned char *grid_random(uint32_t nx, uint32_t ny, double part, uint64_t *seed)
{
    unsigned char *kind = calloc(nx, ny);

    assert_non_null(kind);
    for (size_t i = 1; i < (size_t)nx * ny; i++)
        kind[i] = seed_uniform(seed, 0, 1) < part ? LATTICE_SOLID : LATTICE_FREE;
    return kind;
}

struct lattice_setup grid_setup(uint32_t nx, uint32_t ny)
{
    return (struct lattice_setup){
        .nx = nx, .ny = ny, .density = 0.1, .accel = 0.005, .omega = 1.85};
}
