/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels with charge: tables in and out, and what the generator leaves in the modules. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "export.h"
#include "geometry.h"
#include "imports.h"
#include "seed.h"

/* ---------------------------------------------------------------- tables */

static const char three[] = "module,column,row,charge\n7,415,0,4095\n7,3,159,1\n1855,0,0,300\n";

static void assert_column(const Trigd__V1__Roi *r, uint32_t c, const uint16_t *want, size_t n)
{
    assert_int_equal(r->columns[0]->column[c].len, 2 * n);
    assert_memory_equal(r->columns[0]->column[c].data, want, 2 * n);
}

static void tables_become_items(void **state)
{
    struct place *p = *state;
    const Trigd__V1__Roi *r;

    put(p, "77_12-pixels.csv.gz", "charge, row,what,column,module\n4095,0,-1,415,7\n1,159,x,3,7\n");
    imports(p, "pixels", p->file[0]);
    assert_int_equal(p->n, 1);
    r = roi(p, 0);
    assert_int_equal(r->run, 77);
    assert_int_equal(r->l1id, 12);
    assert_null(r->truth);
    assert_int_equal(r->n_columns, 1);
    assert_int_equal(r->columns[0]->hash, kind_info(generator_pixels_kind())->hash);
    assert_int_equal(r->columns[0]->n_column, 4);
    assert_column(r, 0, (const uint16_t[]){7, 7}, 2);
    assert_column(r, 1, (const uint16_t[]){415, 3}, 2);
    assert_column(r, 2, (const uint16_t[]){0, 159}, 2);
    assert_column(r, 3, (const uint16_t[]){4095, 1}, 2);
}

static void bad_tables_get_a_sentence(void **state)
{
    static const char *const bad[][2] = {
        {"module,column,row\n1,2,3\n", "charge"},
        {"module,column,row,charge\n1,2,3,4096\n", ":2: "},
        {"module,column,row,charge\n1,2,3,4\n65536,2,3,4\n", ":3: "},
        {"module,column,row,charge\n1,2,-3,4\n", ":2: "},
        {"module,column,row,charge\n1,2,3\n", ":2: "}};
    struct place *p = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(p, "1_2-pixels.csv", bad[i][0]);
        refuses(p, "pixels", p->file[0], bad[i][1]);
        forget(p);
    }
}

/* A table that was imported and exported is the same to the byte. */
static void export_and_import_are_opposites(void **state)
{
    struct place *p = *state;
    char folder[] = "/tmp/pixels-XXXXXX", file[64], text[256] = "";
    FILE *f;

    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/77_12-pixels.csv", folder);
    put(p, "77_12-pixels.csv", three);
    imports(p, "pixels", p->file[0]);
    assert_int_equal(export_pixels(p->out, folder), 1);
    assert_int_equal(export_pixels(p->out, folder), -EEXIST);
    f = fopen(file, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), strlen(three));
    fclose(f);
    assert_string_equal(text, three);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(export_banks(p->out, folder), -ENODATA);
    assert_int_equal(rmdir(folder), 0); /* nothing is left */
}

/* ---------------------------------------------------------------- the generator */

static struct geometry geometry;

static void make(const char *preset, uint64_t seed, struct generated *g)
{
    generated_init(g);
    assert_int_equal(generator_make(generator_find(preset), seed, 0, g), 0);
}

/* The vertices are those of pixel50, and the particles in their order, but for a few that went
 * through gaps alone: particles without an item are left out. */
static void events_are_those_of_hits(void **state)
{
    const uint64_t seed = fresh_seed();
    struct generated g, hits;
    uint32_t k = 0;

    (void)state;
    make("pixel50-charge", seed, &g);
    make("pixel50", seed, &hits);
    for (uint32_t i = 0; i < g.n_particles; i++, k++) {
        while (k < hits.n_particles && memcmp(&hits.pt[k], &g.pt[i], sizeof *g.pt) != 0)
            k++;
        assert_true(k < hits.n_particles);
        assert_memory_equal(&hits.d0[k], &g.d0[i], sizeof *g.d0);
    }
    assert_true(g.n_particles > 0.98 * hits.n_particles);
    assert_int_equal(g.n_vertices, hits.n_vertices);
    assert_memory_equal(g.vertex_z, hits.vertex_z, g.n_vertices * sizeof *g.vertex_z);
    print_message("%u pixels, %u crossings, %u hits\n", g.n, g.n_crossings, hits.n);
    assert_true(g.n_crossings < hits.n && g.n_crossings > 0.9 * hits.n); /* gaps of modules */
    assert_true(g.n > 3 * hits.n && g.n < 8 * hits.n);
    generated_fini(&g);
    generated_fini(&hits);
}

static void pixels_are_a_readout(void **state)
{
    struct generated g;
    uint64_t last = 0;

    (void)state;
    make("pixel50-charge", fresh_seed(), &g);
    assert_int_equal(g.kind, generator_pixels_kind());
    for (uint32_t i = 0; i < g.n; i++) {
        const struct generated_pixels *p = &g.pixels;
        const uint64_t key =
            (uint64_t)p->module[i] << 32 | (uint64_t)p->column[i] << 16 | p->row[i];

        assert_true(p->module[i] < geometry.n_sensors && p->column[i] < geometry.n_columns);
        assert_true(p->row[i] < geometry.n_rows && p->charge[i] >= 30 && p->charge[i] <= 4095);
        assert_true(i == 0 || key > last);
        assert_true(g.particle[i] == GENERATOR_NOISE || g.particle[i] < g.n_particles);
        last = key;
    }
    generated_fini(&g);
}

/* Where pixel i is, against a place: in the plane of its module, and off it; mm. */
static void offset(const struct generated *g, uint32_t i, uint32_t crossing, double ret[3])
{
    const struct geometry_sensor *s = &geometry.sensor[g->pixels.module[i]];
    const double at[3] = {(double)g->hits.x[crossing] - (double)s->corner[0],
                          (double)g->hits.y[crossing] - (double)s->corner[1],
                          (double)g->hits.z[crossing] - (double)s->corner[2]};
    double a = 0, b = 0, square = 0;

    for (int k = 0; k < 3; k++) {
        a += at[k] * (double)s->column[k];
        b += at[k] * (double)s->row[k];
    }
    for (int k = 0; k < 3; k++) {
        const double off = at[k] - a * (double)s->column[k] - b * (double)s->row[k];

        square += off * off;
    }
    ret[0] = a - (double)geometry.centre[g->pixels.column[i]];
    ret[1] = b - (g->pixels.row[i] + 0.5) * (double)geometry.row_pitch;
    ret[2] = sqrt(square);
}

/* Each crossing lies in the plane of a module, and pixels are there: but for those of particles
 * that leave less than the threshold in each, all are in reach of 1.5 mm and a pixel's side. */
static void pixels_are_where_particles_cross(void **state)
{
    struct generated g;
    uint32_t n_seen = 0;

    (void)state;
    make("pixel50-charge", fresh_seed(), &g);
    for (uint32_t c = 0; c < g.n_crossings; c++) {
        bool is_seen = false;

        for (uint32_t i = 0; i < g.n && !is_seen; i++) {
            double d[3];

            if (geometry.sensor[g.pixels.module[i]].layer != g.hits.layer[c])
                continue;
            offset(&g, i, c, d);
            is_seen = fabs(d[0]) < 1.5 && fabs(d[1]) < 0.3 && d[2] < 0.02;
        }
        n_seen += is_seen;
    }
    print_message("%u of %u crossings are seen\n", n_seen, g.n_crossings);
    assert_true(n_seen > 0.999 * g.n_crossings);
    generated_fini(&g);
}

static int open_geometry(void **state)
{
    char why[256];

    (void)state;
    return geometry_open("cms", &geometry, why, sizeof why);
}

static int close_geometry(void **state)
{
    (void)state;
    geometry_fini(&geometry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(tables_become_items),
        IN_PLACE(bad_tables_get_a_sentence),
        IN_PLACE(export_and_import_are_opposites),
        cmocka_unit_test(events_are_those_of_hits),
        cmocka_unit_test(pixels_are_a_readout),
        cmocka_unit_test(pixels_are_where_particles_cross),
    };

    return cmocka_run_group_tests(tests, open_geometry, close_geometry);
}
