/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and checkpoints: a flow goes on with the same bits, and a file that is not whole is
 * refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "flows.h"

static char path[256];

static struct lattice *resume(const struct device *device, struct trg_queue *q,
                              struct lattice_why *why)
{
    struct lattice *l = NULL;
    const int r = lattice_resume(device->d, q, path, NULL, &l, why);

    assert_true(r == 0 ? l != NULL : l == NULL);
    return l;
}

static void goes_on(void **state)
{
    uint64_t seed = fresh_seed();
    struct lattice_setup s = grid_setup(45, 31);
    unsigned char *kind = grid_random(s.nx, s.ny, 0.2, &seed);

    (void)state;
    for (s.storage = 0; s.storage < 2; s.storage++) {
        const struct lattice_tuning in_place = {.way = LATTICE_WAY_INPLACE};
        struct flow whole = flow_open(devices_get(0), &s, kind, &in_place), part;
        double want[20], mean[20];
        struct lattice_why why = {"the device failed"};
        struct lattice_cost cost;
        struct stat file;
        size_t bytes;
        void *g, *h;

        flow_run(&whole, 13, NULL); /* in state 1 */
        flow_run(&whole, 20, want);
        g = flow_get(&whole, &bytes);
        part = flow_open(devices_get(0), &s, kind, &in_place);
        flow_run(&part, 13, NULL);
        assert_int_equal(lattice_save(part.l, part.q, path, &why), 0);
        lattice_cost(part.l, &cost);
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal((uint64_t)file.st_size, cost.checkpoint_bytes);
        flow_close(&part);
        assert_int_equal(trg_queue_new(devices_get(devices_count() - 1)->d, &part.q), 0);
        assert_int_equal(lattice_resume(devices_get(devices_count() - 1)->d, part.q, path,
                                        &in_place, &part.l, &why),
                         0);
        flow_run(&part, 20, mean);
        lattice_cost(part.l, &cost);
        assert_int_equal(cost.steps, 33);
        h = flow_get(&part, &bytes);
        assert_memory_equal(mean, want, sizeof want);
        assert_memory_equal(g, h, bytes);
        assert_memory_equal(lattice_kind(part.l), kind, (size_t)s.nx * s.ny);
        free(g);
        free(h);
        flow_close(&part);
        flow_close(&whole);
    }
    free(kind);
}

/* A slice takes as many steps as its time allows by what the ones before took. */
static void slices(void **state)
{
    const struct lattice_setup s = grid_setup(64, 64);
    unsigned char *kind = grid_box(s.nx, s.ny);
    struct flow f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);
    struct lattice_cost cost;
    uint64_t steps = 0;
    uint32_t n;

    (void)state;
    lattice_cost(f.l, &cost);
    assert_int_equal(cost.steps, 0);
    assert_true(cost.step_us == 0 && cost.device_bytes > 64 * 64 * 9 * 4);
    assert_int_equal(lattice_steps_in(f.l, 1e9), cost.least_steps); /* nothing is known yet */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lattice_slice(f.l, f.q, 500, 100, NULL, &n), 0);
        assert_in_range(n, 1, 100);
        steps += n;
    }
    lattice_cost(f.l, &cost);
    assert_int_equal(cost.steps, steps);
    assert_true(cost.step_us > 0);
    assert_in_range(lattice_steps_in(f.l, 100 * cost.step_us), cost.least_steps, 100);
    assert_int_equal(lattice_steps_in(f.l, 1e12), LT_SLICE_MAX);
    assert_int_equal(lattice_slice(f.l, f.q, 500, 0, NULL, &n), -EINVAL);
    assert_int_equal(lattice_submit(f.l, f.q, LT_SLICE_MAX + 1), -EINVAL);
    assert_int_equal(lattice_collect(f.l, NULL), -EINVAL); /* nothing was submitted */
    free(kind);
    flow_close(&f);
}

/* One part of a launch of four steps; returns those that it completes. */
static uint32_t take_part(struct flow *f, double *ret_mean)
{
    double g[4];
    uint32_t n;

    assert_int_equal(lattice_submit_in(f->l, f->q, 1000, 4, &n), 0);
    assert_int_equal(trg_finish(f->q), 0);
    lattice_took(f->l, n, 900);
    if (n)
        assert_int_equal(lattice_collect(f->l, ret_mean), 0);
    else { /* the flow is between two steps */
        assert_int_equal(lattice_collect(f->l, NULL), -EINVAL);
        assert_int_equal(lattice_submit(f->l, f->q, 4), -EINVAL);
        assert_int_equal(lattice_get(f->l, f->q, g), -EINVAL);
    }
    return n;
}

/* A launch that takes longer than a slice is done in parts, with the same bits. */
static void parts_on(const struct device *device, const struct lattice_setup *s,
                     const unsigned char *kind)
{
    const struct lattice_tuning blocks = {
        .way = LATTICE_WAY_BLOCKS, .block_steps = 4, .tile_rows = 32};
    struct flow whole = flow_open(device, s, kind, &blocks);
    struct flow f = flow_open(device, s, kind, &blocks);
    double want[8], mean[8];
    uint32_t n_parts = 1, n;
    size_t bytes;
    void *g, *h;

    assert_int_equal(lattice_run(whole.l, whole.q, 8, want), 0);
    lattice_took(f.l, 4, 4000); /* for 9 tiles */
    while (!take_part(&f, mean))
        n_parts++;
    assert_in_range(n_parts, 3, 9);
    assert_int_equal(take_part(&f, NULL), 0);
    assert_int_equal(lattice_end_launch(f.l, f.q, mean + 4, &n), 0);
    assert_int_equal(n, 4);
    assert_int_equal(lattice_end_launch(f.l, f.q, NULL, &n), 0);
    assert_int_equal(n, 0);
    assert_memory_equal(mean, want, sizeof want);
    g = flow_get(&whole, &bytes);
    h = flow_get(&f, &bytes);
    assert_memory_equal(g, h, bytes);
    free(g);
    free(h);
    flow_close(&f);
    flow_close(&whole);
}

static void parts(void **state)
{
    const struct lattice_setup s = grid_setup(70, 64);
    unsigned char *kind = grid_box(s.nx, s.ny);

    (void)state;
    for (uint32_t d = 0; d < devices_count(); d++)
        parts_on(devices_get(d), &s, kind);
    free(kind);
}

/* Changes `n` bytes at `at`, or cuts the file there. */
static void damage(long at, size_t n)
{
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    if (n) {
        int byte;

        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        byte = fgetc(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fputc(byte ^ 0x55, file), byte ^ 0x55);
    }
    assert_int_equal(fclose(file), 0);
    if (!n)
        assert_int_equal(truncate(path, at), 0);
}

static void refused(void **state)
{
    static const struct {
        long at;
        size_t n;
        const char *sentence;
    } bad[] = {{0, 1, "is not a checkpoint"},  {16, 1, "is of version"},
               {10, 0, "is not a checkpoint"}, {300, 0, "10 x 8 cells need"},
               {400, 1, "checksum"},           {3000, 1, "checksum"}};
    const struct lattice_setup s = grid_setup(10, 8);
    unsigned char *kind = grid_box(s.nx, s.ny);
    struct flow f = flow_open(devices_get(0), &s, kind, NULL);
    struct lattice_why why;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lattice_save(f.l, f.q, path, &why), 0);
        damage(bad[i].at, bad[i].n);
        assert_null(resume(devices_get(0), f.q, &why));
        if (!strstr(why.text, bad[i].sentence) || !strstr(why.text, path))
            fail_msg("damage %zu: \"%s\"", i, why.text);
    }
    assert_int_equal(unlink(path), 0);
    assert_null(resume(devices_get(0), f.q, &why));
    assert_non_null(strstr(why.text, "No such file"));
    assert_true(lattice_save(f.l, f.q, "nowhere/at/all", &why) < 0);
    assert_non_null(strstr(why.text, "nowhere/at/all cannot be written"));
    free(kind);
    flow_close(&f);
}

/* A VTK file: its head, and the values of a cell, big-endian. */
static void vtk(void **state)
{
    const struct lattice_setup s = grid_setup(12, 7);
    static const char head[] = "# vtk DataFile Version 3.0\nlattice after 5 steps\nBINARY\n"
                               "DATASET STRUCTURED_POINTS\nDIMENSIONS 12 7 1\n";
    unsigned char *kind = grid_box(s.nx, s.ny), file[4096], *values;
    struct flow f = flow_open(devices_get(0), &s, kind, NULL);
    double flow[3][12 * 7];
    struct lattice_why why;
    uint32_t bits = 0;
    float density;
    size_t bytes;
    FILE *in;

    (void)state;
    flow_run(&f, 5, NULL);
    assert_int_equal(lattice_write_vtk(f.l, f.q, path, &why), 0);
    assert_int_equal(lattice_get_flow(f.l, f.q, flow[0], flow[1], flow[2]), 0);
    in = fopen(path, "rb");
    assert_non_null(in);
    bytes = fread(file, 1, sizeof file, in);
    assert_int_equal(fclose(in), 0);
    assert_memory_equal(file, head, sizeof head - 1);
    values = memmem(file, bytes, "default\n", 8);
    assert_non_null(values);
    for (size_t i = 0; i < 4; i++)
        bits = bits << 8 | values[8 + 4 * (3 * 12 + 5) + i];
    memcpy(&density, &bits, sizeof density);
    assert_true(density == (float)flow[0][3 * 12 + 5]);
    assert_memory_equal(file + bytes - 84, kind, 84);
    assert_true(lattice_write_vtk(f.l, f.q, "nowhere/at/all", &why) < 0);
    assert_non_null(strstr(why.text, "nowhere/at/all cannot be written"));
    free(kind);
    flow_close(&f);
}

/* A flow that runs away is noticed. */
static void too_fast(void **state)
{
    struct lattice_setup s = grid_setup(32, 32);
    unsigned char *kind = calloc(32, 32);
    struct flow f;

    (void)state;
    assert_non_null(kind);
    s.force_x = 0.01; /* a tenth of the density, every step */
    f = flow_open(devices_get(devices_count() - 1), &s, kind, NULL);
    assert_int_equal(lattice_run(f.l, f.q, 2000, NULL), -ERANGE);
    free(kind);
    flow_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on), cmocka_unit_test(slices), cmocka_unit_test(parts),
        cmocka_unit_test(refused), cmocka_unit_test(vtk),    cmocka_unit_test(too_fast),
    };
    const char *folder = getenv("TMPDIR");
    int r;

    snprintf(path, sizeof path, "%s/lattice-XXXXXX", folder ? folder : "/tmp");
    r = mkstemp(path);
    if (r < 0)
        return 1;
    close(r);
    r = flows_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
    unlink(path);
    return r;
}
