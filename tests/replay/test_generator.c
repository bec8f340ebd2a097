/* SPDX-License-Identifier: Apache-2.0 */
/* The toy detector: what its presets promise, and that an RoI depends on nothing but its number. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "generator.h"
#include "packed.h"
#include "random.h"
#include "seed.h"
#include "source.h"
#include "wire.h"

#define PI        3.14159265358979323846
#define SLICE_RAD (0.2 * PI / 180)
#define N_LAYERS  20

static uint64_t seed;

static uint64_t fnv(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

static uint64_t digest(const struct generated *g)
{
    uint64_t h = fnv(0xcbf29ce484222325u, &g->info, sizeof g->info);

    h = fnv(h, g->phi, g->n * sizeof *g->phi);
    h = fnv(h, g->rho, g->n * sizeof *g->rho);
    h = fnv(h, g->z, g->n * sizeof *g->z);
    h = fnv(h, g->layer, g->n);
    h = fnv(h, g->particle, g->n * sizeof *g->particle);
    h = fnv(h, g->vertex_z, g->n_vertices * sizeof *g->vertex_z);
    h = fnv(h, g->pt, g->n_particles * sizeof *g->pt);
    return fnv(h, g->phi0, g->n_particles * sizeof *g->phi0);
}

static uint64_t digest_of(const char *preset, uint64_t s, uint64_t i)
{
    struct generated g;
    uint64_t h;

    generated_init(&g);
    assert_int_equal(generator_make(generator_find(preset), s, i, &g), 0);
    h = digest(&g);
    generated_fini(&g);
    return h;
}

/* The same numbers on every machine, compiler and C library: a change here changes all files. */
static void the_answer_is_always_the_same(void **state)
{
    static const struct {
        const char *preset;
        uint64_t digest;
    } golden[] = {{"lowlum", 0x13af9eb2598219f9u},
                  {"highlum", 0xae510704fff999e7u},
                  {"phase2", 0xbd54aecf2ddce5c1u}};

    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        uint64_t h = digest_of(golden[i].preset, 1, 5);

        if (h != golden[i].digest)
            fail_msg("%s: digest 0x%016llx, not 0x%016llx", golden[i].preset, (unsigned long long)h,
                     (unsigned long long)golden[i].digest);
    }
}

static void an_roi_is_a_function_of_its_number(void **state)
{
    const struct generator_preset *p = generator_find("lowlum");
    uint64_t forward[20];
    struct generated g;

    (void)state;
    generated_init(&g);
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(generator_make(p, seed, i, &g), 0);
        forward[i] = digest(&g);
        for (uint64_t k = 0; k < i; k++)
            assert_true(forward[k] != forward[i]);
    }
    for (uint64_t i = 20; i-- > 0;) {
        assert_int_equal(generator_make(p, seed, i, &g), 0);
        assert_true(digest(&g) == forward[i]);
        assert_true(digest_of("lowlum", seed + 1, i) != forward[i]);
    }
    generated_fini(&g);
}

struct sums { /* over many RoIs of a preset */
    double n, spacepoints, slices, noise, z, z2, tracks;
};

static void add_roi(struct sums *s, const struct generated *g)
{
    static char filled[1801];

    memset(filled, 0, sizeof filled);
    s->n++;
    s->spacepoints += g->n;
    s->z += (double)g->vertex_z[0];
    s->z2 += (double)g->vertex_z[0] * (double)g->vertex_z[0];
    s->tracks += g->vertex_tracks[0];
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t slice = (uint32_t)(((double)g->phi[i] + PI) / SLICE_RAD);

        assert_true(slice <= 1800);
        s->slices += !filled[slice];
        filled[slice] = 1;
        s->noise += g->particle[i] == GENERATOR_NOISE;
    }
}

static void sum_up(const char *preset, uint32_t n, struct sums *ret)
{
    struct sums s = {0};
    struct generated g;

    generated_init(&g);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(generator_make(generator_find(preset), seed, i, &g), 0);
        add_roi(&s, &g);
    }
    generated_fini(&g);
    printf("%s: %.1f spacepoints, %.1f filled slices, %.1f noise, %.1f tracks of the hard scatter, "
           "its z %.1f +- %.1f mm\n",
           preset, s.spacepoints / n, s.slices / n, s.noise / n, s.tracks / n, s.z / n,
           sqrt(s.z2 / n - s.z * s.z / n / n));
    *ret = s;
}

static void assert_near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance))
        fail_msg("%g is not %g within %g", value, want, tolerance);
}

static void lowlum_is_as_promised(void **state)
{
    const struct generator_preset *p = generator_find("lowlum");
    struct sums s;

    (void)state;
    sum_up("lowlum", 4000, &s);
    assert_near(s.spacepoints / s.n, 333, 0.02 * 333);
    assert_near(2 * p->phi_half_rad / SLICE_RAD, 517, 1); /* slices that the window covers */
    assert_true(s.noise > 0 && s.noise / s.n < p->noise); /* part of it is out of the window */
    assert_near(s.z / s.n, 0, 5 * 50 / sqrt(s.n));
    assert_near(sqrt(s.z2 / s.n), 50, 5 * 50 / sqrt(2 * s.n));
    assert_true(s.tracks / s.n > 15);
}

static void highlum_is_as_promised(void **state)
{
    struct sums s;

    (void)state;
    sum_up("highlum", 400, &s); /* one RoI has a spread of 7 % */
    assert_near(s.spacepoints / s.n, 8104, 0.02 * 8104);
    assert_near(s.slices / s.n, 542, 2);
}

static void phase2_is_as_promised(void **state)
{
    struct sums s;

    (void)state;
    sum_up("phase2", 20, &s);
    assert_near(s.slices / s.n, 1800, 2); /* the full circle */
    assert_true(s.spacepoints / s.n > 20000);
}

static void check_window(const struct generated *g)
{
    static const double radius[] = {33.25, 50.5, 88.5, 122.5, 299, 371, 443, 514};
    const struct trg_roi_info *info = &g->info;

    for (uint32_t i = 0; i < g->n; i++) {
        double eta = asinh((double)g->z[i] / (double)g->rho[i]);
        double dphi = remainder((double)g->phi[i] - (double)info->phi_rad, 2 * PI);

        assert_true(fabs(eta - (double)info->eta) < (double)info->eta_half + 1e-5);
        assert_true(fabs(dphi) < (double)info->phi_half_rad + 1e-5);
        assert_true(fabs((double)g->phi[i]) <= PI + 1e-6);
        assert_true(g->layer[i] < N_LAYERS);
        if (g->layer[i] < 8)
            assert_near((double)g->rho[i], radius[g->layer[i]], 1e-4);
        else
            assert_true(fabs((double)g->z[i]) > 490);
    }
}

static void check_truth(const struct generated *g)
{
    uint32_t hard = 0;

    assert_true(g->n_vertices >= 1);
    for (uint32_t i = 0; i < g->n; i++)
        assert_true(g->particle[i] < g->n_particles || g->particle[i] == GENERATOR_NOISE);
    for (uint32_t i = 0; i < g->n_particles; i++) {
        assert_true(g->particle_vertex[i] < g->n_vertices);
        assert_true(g->pt[i] >= 0.4f);
        assert_true(abs(g->charge[i]) == 1);
        hard += g->particle_vertex[i] == 0;
    }
    assert_int_equal(hard, g->vertex_tracks[0]);
}

/* Two points of a stiff track lie on a line that meets the beam at its vertex. */
static uint32_t check_lines(const struct generated *g)
{
    uint32_t lines = 0;

    for (uint32_t i = 0; i + 1 < g->n; i++) {
        uint32_t p = g->particle[i];
        double r1 = (double)g->rho[i], r2 = (double)g->rho[i + 1], z0, sigma;

        if (p == GENERATOR_NOISE || g->particle[i + 1] != p || g->pt[p] < 2.0f || g->layer[i] > 2 ||
            g->layer[i + 1] > 3)
            continue; /* pixels of the barrel only: resolution 0.1 mm in z */
        z0 = ((double)g->z[i + 1] * r1 - (double)g->z[i] * r2) / (r1 - r2);
        sigma = 0.1 * hypot(r1, r2) / (r2 - r1);
        assert_near(z0, (double)g->vertex_z[g->particle_vertex[p]], 6 * sigma);
        lines++;
    }
    return lines;
}

static void points_and_truth_fit_together(void **state)
{
    struct generated g;
    uint32_t lines = 0;

    (void)state;
    generated_init(&g);
    for (const struct generator_preset *p = generator_presets; p->name; p++) {
        if (p->detector != GENERATOR_TOY)
            continue; /* test_detectors.c */
        for (uint32_t i = 0; i < (p->pileup < 50 ? 200 : 5); i++) {
            assert_int_equal(generator_make(p, seed, i, &g), 0);
            check_window(&g);
            check_truth(&g);
            lines += check_lines(&g);
        }
    }
    assert_true(lines > 1000);
    generated_fini(&g);
}

static void elementary_functions_are_right(void **state)
{
    (void)state;
    for (double u = 1e-3; u < 1; u += 1e-3) {
        assert_near(exact_log(u), log(u), 1e-13);
        assert_near(exact_log(u * 1e6), log(u * 1e6), 1e-13);
        assert_near(exact_exp(20 * u - 10) / exp(20 * u - 10), 1, 1e-13);
        assert_near(exact_sinh(6 * u - 3), sinh(6 * u - 3), 1e-13);
        assert_near(exact_sin(PI * (u - 0.5)), sin(PI * (u - 0.5)), 1e-13);
        assert_near(exact_asin(0.8 * u - 0.4), asin(0.8 * u - 0.4), 1e-12);
        assert_near(exact_asin_wide(2 * u - 1), asin(2 * u - 1), 1e-11);
        assert_near(exact_sin_wide(2 * PI * u - PI), sin(2 * PI * u - PI), 1e-13);
        assert_near(exact_cos(2 * PI * u - PI), cos(2 * PI * u - PI), 1e-13);
        assert_near(exact_atan2(sin(2 * PI * u - PI), cos(2 * PI * u - PI)), 2 * PI * u - PI,
                    1e-11);
    }
    assert_near(exact_asin_wide(1), PI / 2, 1e-11);
    assert_near(exact_asin_wide(-1), -PI / 2, 1e-11);
    assert_near(exact_atan2(0, -3), PI, 1e-15);
    assert_near(exact_atan2(0, 0), 0, 0);
    assert_near(exact_exp(-500) / exp(-500), 1, 1e-12);
}

static void random_numbers_have_their_moments(void **state)
{
    const double n = 200000, means[] = {0.3, 12.9, 251, 1500};
    struct random r;
    double sum = 0, sum2 = 0, sum4 = 0, e = 0;

    (void)state;
    random_seed(&r, seed, 0);
    for (double i = 0; i < n; i++) {
        double x = random_normal(&r);

        sum += x;
        sum2 += x * x;
        sum4 += x * x * x * x;
        e += random_exponential(&r, 2);
    }
    assert_near(sum / n, 0, 5 / sqrt(n));
    assert_near(sum2 / n, 1, 5 * sqrt(2 / n));
    assert_near(sum4 / n, 3, 5 * sqrt(96 / n));
    assert_near(e / n, 2, 5 * 2 / sqrt(n));
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
        double m = means[k], p = 0, p2 = 0;

        for (uint32_t i = 0; i < 4000; i++) {
            double x = random_poisson(&r, m);

            p += x / 4000;
            p2 += (x - m) * (x - m) / 4000;
        }
        assert_near(p, m, 5 * sqrt(m / 4000));
        assert_near(p2, m, 5 * sqrt((m + 2 * m * m) / 4000));
    }
    assert_int_equal(random_poisson(&r, 0), 0);
}

/* What is packed once and sent with a new token is what the daemon's own decoder reads. */
static void packed_rois_pass_the_decoder(void **state)
{
    const struct wire_limits limits = {16u << 20, 256, 65536, 31};
    const struct pick picks[3] = {{.which = 70, .l1id = 1u << 31, .token = UINT64_MAX},
                                  {.is_repeat = true},
                                  {.which = 70, .l1id = 7, .token = 300}};
    const Trigd__V1__ToDaemon *m;
    struct wire_decoder *decoder;
    struct wire_error error;
    struct generated g;
    struct source s;
    unsigned char *bytes;
    size_t n;

    (void)state;
    assert_int_equal(source_generate("nonesuch", seed, 1, LAYOUT_AS_MADE, &s), -EINVAL);
    assert_int_equal(source_generate("lowlum", seed, 80, LAYOUT_AS_MADE, &s),
                     0); /* enough for threads */
    n = packed(&s, picks, 3, &bytes);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    assert_int_equal(wire_decode(decoder, bytes, n, &m, &error), 0);
    assert_int_equal(m->body_case, TRIGD__V1__TO_DAEMON__BODY_BATCH);
    assert_int_equal(m->batch->n_rois, 3);
    generated_init(&g);
    for (uint32_t i = 0; i < 3; i++) {
        struct wire_roi roi;

        assert_int_equal(wire_roi(decoder, m->batch->rois[i], &roi, &error), 0);
        assert_int_equal(generator_make(generator_find("lowlum"), seed, picks[i].which, &g), 0);
        assert_true(roi.token == picks[i].token);
        assert_int_equal(roi.info.l1id, picks[i].l1id);
        assert_int_equal(roi.is_repeat, picks[i].is_repeat);
        assert_int_equal(roi.collection[TRG_SPACEPOINTS].n, g.n);
        assert_memory_equal(roi.collection[TRG_SPACEPOINTS].column[2], g.z, g.n * sizeof *g.z);
        assert_null(m->batch->rois[i]->truth); /* no trigger may see it */
        assert_true(s.roi[picks[i].which].truth_z_mm == g.vertex_z[0]);
    }
    generated_fini(&g);
    wire_decoder_free(decoder);
    source_free(&s);
    free(bytes);
}

/* Numbers over each RoI's own range give back its values to half a step. */
static void encoded_rois_pass_the_decoder(void **state)
{
    const struct wire_limits limits = {16u << 20, 256, 65536, 31};
    const struct pick picks[3] = {{.which = 1, .l1id = 1, .token = 1},
                                  {.which = 0, .l1id = 2, .token = 2, .is_repeat = true},
                                  {.which = 7, .l1id = 3, .token = 3}};
    struct wire_decoder *decoder;
    struct wire_error error;
    struct generated g;
    struct source s, floats;
    unsigned char *bytes;
    size_t n;

    (void)state;
    assert_int_equal(source_generate("lowlum", seed, 8, LAYOUT_ENCODED, &s), 0);
    assert_int_equal(source_generate("lowlum", seed, 8, LAYOUT_PLAIN, &floats), 0);
    assert_true(s.items == floats.items);
    assert_true(s.roi[0].n * 10 < floats.roi[0].n * 6);
    n = packed(&s, picks, 3, &bytes);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    assert_int_equal(wire_scan(decoder, bytes, n), 3);
    generated_init(&g);
    for (uint32_t i = 0; i < 3; i++) {
        struct wire_roi roi;
        float *values;

        assert_int_equal(wire_scanned(decoder, i, &roi, &error), 0);
        assert_int_equal(generator_make(generator_find("lowlum"), seed, picks[i].which, &g), 0);
        assert_true(roi.collection[TRG_SPACEPOINTS].is_encoded);
        assert_int_equal(roi.collection[TRG_SPACEPOINTS].n, g.n);
        values = malloc((g.n + 1) * sizeof *values);
        assert_non_null(values);
        for (uint32_t c = 0; c < 3; c++) {
            const struct trg_encoding e = wire_sent(&roi, &roi.collection[TRG_SPACEPOINTS])[c];
            const float *want = generated_column(&g, c);
            const double step = (double)e.step,
                         rounding = 2e-7 * (fabs((double)e.offset) + 65535 * step);

            encoding_values(e, roi.collection[TRG_SPACEPOINTS].column[c], g.n, values);
            for (uint32_t k = 0; k < g.n; k++)
                assert_near(values[k], want[k], 0.5 * step + rounding);
        }
        assert_memory_equal(roi.collection[TRG_SPACEPOINTS].column[3], g.layer, g.n);
        free(values);
    }
    generated_fini(&g);
    wire_decoder_free(decoder);
    source_free(&s);
    source_free(&floats);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_always_the_same),
        cmocka_unit_test(an_roi_is_a_function_of_its_number),
        cmocka_unit_test(lowlum_is_as_promised),
        cmocka_unit_test(highlum_is_as_promised),
        cmocka_unit_test(phase2_is_as_promised),
        cmocka_unit_test(points_and_truth_fit_together),
        cmocka_unit_test(elementary_functions_are_right),
        cmocka_unit_test(random_numbers_have_their_moments),
        cmocka_unit_test(packed_rois_pass_the_decoder),
        cmocka_unit_test(encoded_rois_pass_the_decoder),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
