/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated detectors of hits and tracks: where hits lie, what tracks are worth, and that the
 * truth belongs to them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "generator.h"
#include "wire.h"

#define PI      3.14159265358979323846
#define MODULES 52

static uint64_t seed;

static uint64_t fnv(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

/* Over the collection and all of the truth. */
static uint64_t digest(const struct generated *g)
{
    const struct trg_kind_info *kind = trg_kind_info(g->kind);
    const void *truth[] = {g->vertex_x,
                           g->vertex_y,
                           g->vertex_z,
                           g->vertex_tracks,
                           g->vertex_kind,
                           g->vertex_parent,
                           g->pt,
                           g->eta,
                           g->phi0,
                           g->d0,
                           g->z0,
                           g->charge,
                           g->pdg,
                           g->particle_vertex,
                           g->particle_flags};
    uint64_t h = fnv(0xcbf29ce484222325u, &g->info, sizeof g->info);

    for (uint32_t c = 0; c < kind->n_columns; c++)
        h = fnv(h, generated_column(g, c), g->n * trg_type_size(kind->column[c].type));
    h = fnv(h, g->particle, g->n * sizeof *g->particle);
    for (size_t i = 0; i < sizeof truth / sizeof *truth; i++)
        h = fnv(h, truth[i], (i < 6 ? g->n_vertices : g->n_particles) * sizeof(uint32_t));
    return h;
}

static const struct generator_preset *preset(const char *name)
{
    const struct generator_preset *p = generator_find(name);

    assert_non_null(p);
    return p;
}

/* The same numbers on every machine, compiler and C library: a change here changes all files. */
static void the_answer_is_always_the_same(void **state)
{
    static const struct {
        const char *preset;
        uint64_t digest;
    } golden[] = {{"velo", 0xfa30bd719f3ed2adu}, {"velo-tracks", 0x18645178c9468003u}};
    struct generated g;
    int wrong = 0;

    (void)state;
    generated_init(&g);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        assert_int_equal(generator_make(preset(golden[i].preset), 1, 5, &g), 0);
        if (digest(&g) == golden[i].digest)
            continue;
        print_error("%s: digest 0x%016llx, not 0x%016llx\n", golden[i].preset,
                    (unsigned long long)digest(&g), (unsigned long long)golden[i].digest);
        wrong++;
    }
    generated_fini(&g);
    assert_int_equal(wrong, 0);
}

static void an_roi_is_a_function_of_its_number(void **state)
{
    struct generated g;
    uint64_t first;

    (void)state;
    generated_init(&g);
    for (const struct generator_preset *p = generator_presets; p->name; p++) {
        if (p->detector == GENERATOR_TOY)
            continue; /* test_generator.c */
        assert_int_equal(generator_make(p, seed, 3, &g), 0);
        first = digest(&g);
        assert_int_equal(generator_make(p, seed, 4, &g), 0);
        assert_true(digest(&g) != first);
        assert_int_equal(generator_make(p, seed, 3, &g), 0);
        assert_true(digest(&g) == first);
        assert_int_equal(generator_make(p, seed + 1, 3, &g), 0);
        assert_true(digest(&g) != first);
    }
    generated_fini(&g);
}

static void assert_near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance))
        fail_msg("%g is not %g within %g", value, want, tolerance);
}

/* ---------------------------------------------------------------- truth, of any detector */

static void check_vertices(const struct generated *g)
{
    assert_true(g->n_vertices >= 1);
    assert_int_equal(g->vertex_kind[0], GENERATOR_PRIMARY);
    for (uint32_t i = 0; i < g->n_vertices; i++) {
        uint32_t parent = g->vertex_parent[i], kind = g->vertex_kind[i];

        assert_true(kind <= GENERATOR_STRANGE);
        assert_true((kind == GENERATOR_PRIMARY) == (parent == GENERATOR_NONE));
        if (parent == GENERATOR_NONE)
            continue;
        assert_true(parent < i); /* made before */
        assert_int_equal(g->vertex_kind[parent],
                         kind == GENERATOR_CHARM ? GENERATOR_BEAUTY : GENERATOR_PRIMARY);
    }
}

static void check_particles(const struct generated *g)
{
    static const uint32_t flags_of[] = {0, GENERATOR_FROM_BEAUTY,
                                        GENERATOR_FROM_BEAUTY | GENERATOR_FROM_CHARM,
                                        GENERATOR_FROM_STRANGE};

    for (uint32_t i = 0; i < g->n_particles; i++) {
        uint32_t v = g->particle_vertex[i];

        assert_true(v < g->n_vertices);
        assert_int_equal(g->particle_flags[i], flags_of[g->vertex_kind[v]]);
        assert_int_equal(abs(g->charge[i]), 1);
        assert_true(g->pdg[i] * g->charge[i] == 211 || g->pdg[i] * g->charge[i] == 321);
        assert_true(g->pt[i] > 0 && fabsf(g->eta[i]) < 20 && fabsf(g->phi0[i]) <= 3.1416f);
    }
}

/* Hits of each particle; and the vertices' numbers of them. */
static uint32_t *count_items(const struct generated *g, uint32_t visible)
{
    uint32_t *items = calloc(g->n_particles + 1, sizeof *items);
    uint32_t *tracks = calloc(g->n_vertices, sizeof *tracks);

    assert_non_null(items);
    assert_non_null(tracks);
    for (uint32_t i = 0; i < g->n; i++) {
        assert_true(g->particle[i] < g->n_particles || g->particle[i] == GENERATOR_NOISE);
        if (g->particle[i] != GENERATOR_NOISE)
            items[g->particle[i]]++;
    }
    for (uint32_t i = 0; i < g->n_particles; i++) {
        assert_true(items[i] >= 1);
        tracks[g->particle_vertex[i]] += items[i] >= visible;
    }
    for (uint32_t i = 0; i < g->n_vertices; i++)
        assert_int_equal(tracks[i], g->vertex_tracks[i]);
    free(tracks);
    return items;
}

static void check_truth(const struct generated *g, uint32_t visible)
{
    check_vertices(g);
    check_particles(g);
    free(count_items(g, visible));
}

/* ---------------------------------------------------------------- velo */

/* A hit lies on one of the sensors, and they come in order. */
static void check_velo_hits(const struct generated *g)
{
    const struct generated_hits *h = &g->hits;

    for (uint32_t i = 0; i < g->n; i++) {
        double u = ((double)h->x[i] + (double)h->y[i]) / sqrt(2);
        double v = ((double)h->y[i] - (double)h->x[i]) / sqrt(2);
        double side = h->layer[i] % 2 ? 1 : -1, slack = 0.1;

        assert_int_equal(h->id[i], i);
        assert_true(h->layer[i] < MODULES);
        assert_true(i == 0 || h->layer[i] >= h->layer[i - 1]);
        assert_true(fabs(u) < 38.5 + slack && fabs(v) < 38.5 + slack);
        assert_true(side * u > 5.13 - slack || side * v < -5.13 + slack); /* not in the beam */
        assert_true(hypot((double)h->x[i], (double)h->y[i]) > 5);
        assert_true(fabs((double)h->z[i]) < 751);
    }
}

struct spread { /* of residuals over their expected size */
    double n, sum, square;
};

static void add_residual(struct spread *s, double pull)
{
    s->n++;
    s->sum += pull;
    s->square += pull * pull;
}

/* Hits of stiff particles on the straight line that the truth tells. */
static void check_velo_lines(const struct generated *g, struct spread *near)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t p = g->particle[i];
        double phi, tx, far;

        if (p == GENERATOR_NOISE || (double)g->pt[p] * cosh((double)g->eta[p]) < 20)
            continue;
        phi = (double)g->phi0[p];
        tx = cos(phi) / sinh((double)g->eta[p]);
        far = (double)g->hits.z[i] - (double)g->z0[p];
        if (fabs(far) < 100) /* further out the kinks count */
            add_residual(near,
                         ((double)g->hits.x[i] - (double)g->d0[p] * sin(phi) - tx * far) / 0.0125);
    }
}

static void velo_hits_lie_on_sensors_and_lines(void **state)
{
    struct spread near = {0};
    struct generated g;

    (void)state;
    generated_init(&g);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(generator_make(preset("velo"), seed, i, &g), 0);
        assert_int_equal(g.kind, TRG_HITS);
        check_truth(&g, 3);
        check_velo_hits(&g);
        check_velo_lines(&g, &near);
    }
    generated_fini(&g);
    printf("hits within 100 mm of the beam's point: %.0f, pull %.3f +- %.3f\n", near.n,
           near.sum / near.n, sqrt(near.square / near.n));
    assert_true(near.n > 200);
    assert_near(near.sum / near.n, 0, 6 * 1.3 / sqrt(near.n));
    assert_true(sqrt(near.square / near.n) > 0.9 && sqrt(near.square / near.n) < 2);
}

struct velo_sums {
    double n, hits, noise, collisions, tracks, z, z2, b_events, decays, flight, from_b, strange;
};

static double distance(const struct generated *g, uint32_t a, uint32_t b)
{
    double x = (double)(g->vertex_x[a] - g->vertex_x[b]);
    double y = (double)(g->vertex_y[a] - g->vertex_y[b]);
    double z = (double)(g->vertex_z[a] - g->vertex_z[b]);

    return sqrt(x * x + y * y + z * z);
}

static void add_velo(struct velo_sums *s, const struct generated *g)
{
    bool has_beauty = false;

    s->n++;
    s->hits += g->n;
    for (uint32_t i = 0; i < g->n; i++)
        s->noise += g->particle[i] == GENERATOR_NOISE;
    for (uint32_t i = 0; i < g->n_vertices; i++) {
        double z = (double)g->vertex_z[i];

        s->strange += g->vertex_kind[i] == GENERATOR_STRANGE;
        if (g->vertex_kind[i] == GENERATOR_PRIMARY) {
            s->collisions++;
            s->tracks += g->vertex_tracks[i];
            s->z += z;
            s->z2 += z * z;
        } else if (g->vertex_kind[i] == GENERATOR_BEAUTY) {
            has_beauty = true;
            s->decays++;
            s->flight += distance(g, i, g->vertex_parent[i]);
        }
    }
    for (uint32_t i = 0; i < g->n_particles; i++)
        s->from_b += (g->particle_flags[i] & GENERATOR_FROM_BEAUTY) != 0;
    s->b_events += has_beauty;
}

static void velo_is_as_promised(void **state)
{
    struct velo_sums s = {0};
    struct generated g;

    (void)state;
    generated_init(&g);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(generator_make(preset("velo"), seed, i, &g), 0);
        add_velo(&s, &g);
        for (uint32_t k = 0; k < g.n_vertices; k++)
            assert_true(g.vertex_kind[k] != GENERATOR_PRIMARY || k < 20);
    }
    generated_fini(&g);
    printf("velo: %.0f hits, %.1f noise, %.2f collisions of %.1f tracks, %.2f with b, flight %.2f "
           "mm, %.2f tracks from b an event, %.2f kaons\n",
           s.hits / s.n, s.noise / s.n, s.collisions / s.n, s.tracks / s.collisions,
           s.b_events / s.n, s.flight / s.decays, s.from_b / s.b_events, s.strange / s.n);
    assert_near(s.noise / s.n, 40, 5 * sqrt(40 / s.n));
    assert_near(s.collisions / s.n, 6.015, 5 * sqrt(6 / s.n)); /* a Poisson number that is not 0 */
    assert_near(s.tracks / s.collisions, 49.5, 3);
    assert_near(s.z / s.collisions, 0, 5 * 63 / sqrt(s.collisions));
    assert_near(sqrt(s.z2 / s.collisions), 63, 5 * 63 / sqrt(2 * s.collisions));
    assert_near(s.b_events / s.n, 0.5, 5 * 0.5 / sqrt(s.n));
    assert_near(s.decays, 2 * s.b_events, 0);
    assert_true(s.flight / s.decays > 7 && s.flight / s.decays < 18);
    assert_true(s.from_b / s.b_events > 6 && s.from_b / s.b_events < 13);
}

/* ---------------------------------------------------------------- velo-tracks */

struct pulls {
    struct spread x, tx, y, ty, chi2;
    double cross; /* mean of the product of the pulls of x and tx, over their correlation */
};

static void add_pulls(struct pulls *s, const struct generated *g, uint32_t i)
{
    const struct generated_tracks *t = &g->tracks;
    uint32_t p = g->particle[i];
    double phi = (double)g->phi0[p], slope = 1 / sinh((double)g->eta[p]);
    double sigma_x = sqrt((double)t->var_x[i]), sigma_tx = sqrt((double)t->var_tx[i]);
    double x = ((double)t->x[i] - (double)g->d0[p] * sin(phi)) / sigma_x;
    double y = ((double)t->y[i] + (double)g->d0[p] * cos(phi)) / sigma_x;

    assert_near((double)t->z[i], (double)g->z0[p], 1e-3);
    assert_true(t->n_hits[i] >= 3 && sigma_x > 0.003);
    assert_near((double)t->qop[i] * g->charge[p] * (double)g->pt[p] * cosh((double)g->eta[p]), 1,
                0.05);
    add_residual(&s->x, x);
    add_residual(&s->y, y);
    add_residual(&s->tx, ((double)t->tx[i] - cos(phi) * slope) / sigma_tx);
    add_residual(&s->ty, ((double)t->ty[i] - sin(phi) * slope) / sigma_tx);
    add_residual(&s->chi2, (double)t->chi2[i] - 2.0 * t->n_hits[i] + 4);
    s->cross += x * ((double)t->tx[i] - cos(phi) * slope) / sigma_tx -
                (double)t->cov_x_tx[i] / (sigma_x * sigma_tx);
}

static void assert_pull(const char *name, const struct spread *s)
{
    double mean = s->sum / s->n, rms = sqrt(s->square / s->n);

    printf("pull of %s: %.4f +- %.4f\n", name, mean, rms);
    assert_near(mean, 0, 5 / sqrt(s->n));
    assert_near(rms, 1, 5 / sqrt(2 * s->n));
}

static void tracks_are_worth_what_they_say(void **state)
{
    struct pulls s = {.cross = 0};
    struct generated g, hits;

    (void)state;
    generated_init(&g);
    generated_init(&hits);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(generator_make(preset("velo-tracks"), seed, i, &g), 0);
        assert_int_equal(generator_make(preset("velo"), seed, i, &hits), 0);
        assert_int_equal(g.kind, TRG_TRACKS);
        check_truth(&g, 1);
        /* the same collisions as that of the hits */
        assert_int_equal(g.n_vertices, hits.n_vertices);
        assert_memory_equal(g.vertex_z, hits.vertex_z, g.n_vertices * sizeof *g.vertex_z);
        assert_memory_equal(g.vertex_tracks, hits.vertex_tracks,
                            g.n_vertices * sizeof *g.vertex_tracks);
        for (uint32_t k = 0; k < g.n; k++)
            add_pulls(&s, &g, k);
    }
    generated_fini(&g);
    generated_fini(&hits);
    assert_pull("x", &s.x);
    assert_pull("y", &s.y);
    assert_pull("tx", &s.tx);
    assert_pull("ty", &s.ty);
    assert_near(s.cross / s.x.n, 0, 5 * sqrt(2 / s.x.n));
    assert_near(s.chi2.sum / s.chi2.n, 0, 5 * sqrt(s.chi2.square) / s.chi2.n);
}

/* ---------------------------------------------------------------- as messages */

/* What is packed is what the daemon's own decoder reads. */
static void messages_hold_the_collections(void **state)
{
    const struct wire_limits limits = {64u << 20, 256, 262144, 63};
    struct wire_decoder *decoder;
    struct generated g;

    (void)state;
    generated_init(&g);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    for (const struct generator_preset *p = generator_presets; p->name; p++) {
        struct generated_message m;
        struct wire_roi roi;
        struct wire_error error;

        assert_int_equal(generator_make(p, seed, 1, &g), 0);
        generated_message(&g, &m);
        assert_int_equal(wire_roi(decoder, &m.roi, &roi, &error), 0);
        assert_int_equal(roi.collection[g.kind].n, g.n);
        for (uint32_t c = 0; c < trg_kind_info(g.kind)->n_columns; c++)
            assert_memory_equal(roi.collection[g.kind].column[c], generated_column(&g, c),
                                g.n * trg_type_size(trg_kind_info(g.kind)->column[c].type));
        assert_null(generated_column(&g, trg_kind_info(g.kind)->n_columns));
        assert_int_equal(m.truth.n_item_particle, g.n);
        assert_int_equal(m.truth.n_vertex_kind, g.n_vertices);
        assert_int_equal(m.truth.n_particle_d0_mm, g.n_particles);
    }
    wire_decoder_free(decoder);
    generated_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_always_the_same),
        cmocka_unit_test(an_roi_is_a_function_of_its_number),
        cmocka_unit_test(velo_hits_lie_on_sensors_and_lines),
        cmocka_unit_test(velo_is_as_promised),
        cmocka_unit_test(tracks_are_worth_what_they_say),
        cmocka_unit_test(messages_hold_the_collections),
    };
    const char *text = getenv("TRIGD_SEED");

    seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
