/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the simulated detectors share. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "simulated.h"

static uint64_t fnv(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

/* Over the collection and all of the truth. */
uint64_t digest(const struct generated *g)
{
    const struct trg_collection *kind = kind_info(g->kind);
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
        h = fnv(h, generated_column(g, c), g->n * trg_column_bytes(&kind->column[c]));
    if (generated_has_particles(g))
        h = fnv(h, g->particle, g->n * sizeof *g->particle);
    for (size_t i = 0; i < sizeof truth / sizeof *truth; i++)
        h = fnv(h, truth[i], (i < 6 ? g->n_vertices : g->n_particles) * sizeof(uint32_t));
    return h;
}

const struct generator_preset *preset_of(const char *name)
{
    const struct generator_preset *p = generator_find(name);

    assert_non_null(p);
    return p;
}

void assert_near(double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance))
        fail_msg("%g is not %g within %g", value, want, tolerance);
}

static void check_vertices(const struct generated *g)
{
    assert_true(g->n_vertices >= 1);
    assert_int_equal(g->vertex_kind[0], GENERATOR_PRIMARY);
    for (uint32_t i = 0; i < g->n_vertices; i++) {
        uint32_t parent = g->vertex_parent[i], kind = g->vertex_kind[i];

        assert_true(kind <= GENERATOR_OTHER);
        assert_true((kind == GENERATOR_PRIMARY || kind == GENERATOR_OTHER) ==
                    (parent == GENERATOR_NONE));
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
                                        GENERATOR_FROM_STRANGE, 0};

    for (uint32_t i = 0; i < g->n_particles; i++) {
        uint32_t v = g->particle_vertex[i];
        int kind = g->pdg[i] * g->charge[i];

        assert_true(v < g->n_vertices);
        assert_int_equal(g->particle_flags[i], flags_of[g->vertex_kind[v]]);
        assert_int_equal(abs(g->charge[i]), 1);
        assert_true(kind == 211 || kind == 321 || kind == 2212 ||
                    (kind == -11 && g->vertex_kind[v] == GENERATOR_OTHER));
        assert_true(g->pt[i] > 0 && fabsf(g->eta[i]) < 20 && fabsf(g->phi0[i]) <= 3.1416f);
    }
}

/* Hits of each particle; and the vertices' numbers of them. */
uint32_t *count_items(const struct generated *g, uint32_t visible)
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
    for (uint32_t i = 0; i < g->n_shared; i++) {
        assert_true(g->shared_item[i] < g->n && g->shared_particle[i] < g->n_particles);
        items[g->shared_particle[i]]++;
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

void check_truth(const struct generated *g, uint32_t visible)
{
    check_vertices(g);
    check_particles(g);
    free(count_items(g, visible));
}

void add_residual(struct spread *s, double pull)
{
    s->n++;
    s->sum += pull;
    s->square += pull * pull;
}
