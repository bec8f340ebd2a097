/* SPDX-License-Identifier: Apache-2.0 */
#include "generator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "gen_bricks.h"
#include "gen_store.h"

#define FULL_CIRCLE EXACT_PI

const struct generator_preset generator_presets[] = {
    {"lowlum", "low luminosity: mean 333 spacepoints, 517 phi slices of 0.2 degrees", 12.9, 22.0,
     30.0, 12.0, 1.6, 0.8, 0.902, GENERATOR_TOY, 0, false},
    {"highlum", "high luminosity: mean 8104 spacepoints, 542 phi slices of 0.2 degrees", 251.0,
     30.0, 30.0, 300.0, 1.2, 1.2, 0.945, GENERATOR_TOY, 0, false},
    {"phase2", "pile-up 200, full scan in phi", 200.0, 22.0, 60.0, 1500.0, 0.0, 2.5, FULL_CIRCLE,
     GENERATOR_TOY, 0, false},
    {"velo", "events like LHCb's in its vertex detector, hits: b hadrons in every second one", 5.3,
     62.2, 0, 3.0, 0, 6.0, FULL_CIRCLE, GENERATOR_VELO, 0.5, true},
    {"velo-upgrade2", "the same with the collisions of LHCb's second upgrade: 13,000 hits", 39.4,
     62.2, 0, 25.0, 0, 6.0, FULL_CIRCLE, GENERATOR_VELO, 0.5, true},
    {"velo-lead", "the same, a central collision of two lead nuclei: 50,000 hits", 0, 0, 9300.0,
     3.0, 0, 6.0, FULL_CIRCLE, GENERATOR_VELO, 0, true},
    {"velo-banks", "the events of velo as raw banks: super-pixels", 5.3, 62.2, 0, 3.0, 0, 6.0,
     FULL_CIRCLE, GENERATOR_VELO_BANKS, 0.5, true},
    {"velo-upgrade2-banks", "the events of velo-upgrade2 as raw banks", 39.4, 62.2, 0, 25.0, 0, 6.0,
     FULL_CIRCLE, GENERATOR_VELO_BANKS, 0.5, true},
    {"velo-tracks",
     "tracks of that detector: 6 collisions without material, the true ones, smeared", 6.0, 65.0, 0,
     0, 0, 6.0, FULL_CIRCLE, GENERATOR_VELO_TRACKS, 0.5, false},
    {"pixel", "CMS-like pixel detector, the whole event: one collision", 0.0, 40.0, 50.0, 20.0, 0,
     3.5, FULL_CIRCLE, GENERATOR_PIXEL, 0, false},
    {"pixel50", "the same with pile-up 50", 50.0, 40.0, 50.0, 200.0, 0, 3.5, FULL_CIRCLE,
     GENERATOR_PIXEL, 0, false},
    {"pixel140", "the same with pile-up 140", 140.0, 40.0, 50.0, 500.0, 0, 3.5, FULL_CIRCLE,
     GENERATOR_PIXEL, 0, false},
    {"pixel200", "the same with pile-up 200", 200.0, 40.0, 50.0, 700.0, 0, 3.5, FULL_CIRCLE,
     GENERATOR_PIXEL, 0, false},
    {"pixel50-charge", "the events of pixel50 as pixels with charge", 50.0, 40.0, 50.0, 200.0, 0,
     3.5, FULL_CIRCLE, GENERATOR_PIXEL_CHARGE, 0, false},
    {"pixel140-charge", "the events of pixel140 as pixels with charge", 140.0, 40.0, 50.0, 500.0, 0,
     3.5, FULL_CIRCLE, GENERATOR_PIXEL_CHARGE, 0, false},
    {"trackml", "barrels of the TrackML detector, the whole event: pile-up 200", 200.0, 40.0, 50.0,
     6000.0, 0, 3.5, FULL_CIRCLE, GENERATOR_TRACKML, 0, false},
    {"phantom", "volumes of 128 x 128 x 96 voxels, a head with white matter, in 8 bricks each", 0,
     0, 0, 0, 0, 0, FULL_CIRCLE, GENERATOR_PHANTOM, 0, false},
    {"phantom-truth", "the same volumes: 255 where there is white matter, else 0", 0, 0, 0, 0, 0, 0,
     FULL_CIRCLE, GENERATOR_PHANTOM_TRUTH, 0, false},
    {0},
};

const struct generator_preset *generator_find(const char *name)
{
    for (const struct generator_preset *p = generator_presets; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

int generator_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi)
{
    switch (preset->detector) {
    case GENERATOR_VELO:
    case GENERATOR_VELO_TRACKS:
    case GENERATOR_VELO_BANKS:
        return gen_velo_make(preset, seed, i, ret_roi);
    case GENERATOR_PIXEL:
    case GENERATOR_PIXEL_CHARGE:
    case GENERATOR_TRACKML:
        return gen_helix_make(preset, seed, i, ret_roi);
    case GENERATOR_PHANTOM:
    case GENERATOR_PHANTOM_TRUTH:
        return gen_phantom_make(preset, seed, i, ret_roi);
    case GENERATOR_TOY:
    default:
        return gen_toy_make(preset, seed, i, ret_roi);
    }
}

int gen_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
               const struct gen_particle *list, uint32_t n, struct generated *g)
{
    switch (preset->detector) {
    case GENERATOR_VELO:
    case GENERATOR_VELO_TRACKS:
    case GENERATOR_VELO_BANKS:
        return gen_velo_detect(preset, seed, i, list, n, g);
    case GENERATOR_PIXEL:
    case GENERATOR_PIXEL_CHARGE:
    case GENERATOR_TRACKML:
        return gen_helix_detect(preset, seed, i, list, n, g);
    case GENERATOR_TOY:
    case GENERATOR_PHANTOM:
    case GENERATOR_PHANTOM_TRUTH:
    default:
        return -EINVAL;
    }
}

/* ---------------------------------------------------------------- as a message */

/* Whether it holds the voxels of a brick. */
static bool is_brick(const struct generated *g)
{
    return kind_info(g->kind)->hash == generator_brick_values()->hash;
}

static bool is_pixels(const struct generated *g)
{
    return g->kind >= TRG_KIND_COUNT && g->kind == generator_pixels_kind();
}

const void *generated_column(const struct generated *g, uint32_t c)
{
    const struct generated_hits *h = &g->hits;
    const struct generated_tracks *t = &g->tracks;
    const void *spacepoints[] = {g->phi, g->rho, g->z, g->layer};
    const void *hits[] = {h->x, h->y, h->z, h->layer, h->id};
    const void *tracks[] = {t->x,      t->y,        t->z,    t->tx,  t->ty,    t->var_x,
                            t->var_tx, t->cov_x_tx, t->chi2, t->qop, t->n_hits};
    const struct generated_pixels *p = &g->pixels;
    const void *pixels[] = {p->module, p->column, p->row, p->charge};

    if (c >= kind_info(g->kind)->n_columns)
        return NULL;
    if (is_brick(g))
        return g->brick.bytes;
    if (is_pixels(g))
        return pixels[c];
    if (g->kind >= TRG_KIND_COUNT)
        return c ? (const void *)g->banks.word : g->banks.sensor;
    return g->kind == TRG_TRACKS ? tracks[c] : g->kind == TRG_HITS ? hits[c] : spacepoints[c];
}

bool generated_has_particles(const struct generated *g)
{
    return !is_brick(g);
}

static void fill_truth(const struct generated *g, Trigd__V1__Truth *t)
{
    trigd__v1__truth__init(t);
    t->n_vertex_x_mm = t->n_vertex_y_mm = t->n_vertex_z_mm = t->n_vertex_tracks = g->n_vertices;
    t->n_vertex_kind = t->n_vertex_parent = g->n_vertices;
    t->vertex_x_mm = g->vertex_x;
    t->vertex_y_mm = g->vertex_y;
    t->vertex_z_mm = g->vertex_z;
    t->vertex_tracks = g->vertex_tracks;
    t->vertex_kind = g->vertex_kind;
    t->vertex_parent = g->vertex_parent;
    t->n_particle_vertex = t->n_particle_pt_gev = t->n_particle_eta = g->n_particles;
    t->n_particle_phi_rad = t->n_particle_charge = t->n_particle_d0_mm = g->n_particles;
    t->n_particle_z0_mm = t->n_particle_pdg = t->n_particle_flags = g->n_particles;
    t->particle_vertex = g->particle_vertex;
    t->particle_pt_gev = g->pt;
    t->particle_eta = g->eta;
    t->particle_phi_rad = g->phi0;
    t->particle_charge = g->charge;
    t->particle_d0_mm = g->d0;
    t->particle_z0_mm = g->z0;
    t->particle_pdg = g->pdg;
    t->particle_flags = g->particle_flags;
    t->n_item_particle = generated_has_particles(g) ? g->n : 0;
    t->item_particle = g->particle;
    t->n_shared_item = t->n_shared_particle = g->n_shared;
    t->shared_item = g->shared_item;
    t->shared_particle = g->shared_particle;
}

static void fill_spacepoints(const struct generated *g, struct generated_message *m)
{
    Trigd__V1__Spacepoints *s = &m->spacepoints;

    trigd__v1__spacepoints__init(s);
    s->n_phi_rad = s->n_rho_mm = s->n_z_mm = s->layer.len = g->n;
    s->phi_rad = g->phi;
    s->rho_mm = g->rho;
    s->z_mm = g->z;
    s->layer.data = g->layer;
    m->roi.spacepoints = s;
}

static void fill_hits(const struct generated *g, struct generated_message *m)
{
    Trigd__V1__Hits *h = &m->hits;

    trigd__v1__hits__init(h);
    h->n_x_mm = h->n_y_mm = h->n_z_mm = h->n_id = g->n;
    h->x_mm = g->hits.x;
    h->y_mm = g->hits.y;
    h->z_mm = g->hits.z;
    h->layer.len = g->n * sizeof *g->hits.layer;
    h->layer.data = (uint8_t *)g->hits.layer; /* little-endian, as the message wants it */
    h->id = g->hits.id;
    m->roi.hits = h;
}

static void fill_tracks(const struct generated *g, struct generated_message *m)
{
    const struct generated_tracks *c = &g->tracks;
    Trigd__V1__Tracks *t = &m->tracks;

    trigd__v1__tracks__init(t);
    t->n_x_mm = t->n_y_mm = t->n_z_mm = t->n_tx = t->n_ty = t->n_var_x_mm2 = g->n;
    t->n_var_tx = t->n_cov_x_tx_mm = t->n_chi2 = t->n_qop_per_gev = t->n_n_hits = g->n;
    t->x_mm = c->x;
    t->y_mm = c->y;
    t->z_mm = c->z;
    t->tx = c->tx;
    t->ty = c->ty;
    t->var_x_mm2 = c->var_x;
    t->var_tx = c->var_tx;
    t->cov_x_tx_mm = c->cov_x_tx;
    t->chi2 = c->chi2;
    t->qop_per_gev = c->qop;
    t->n_hits = c->n_hits;
    m->roi.tracks = t;
}

static void add_columns(struct generated_message *m, const struct trg_collection *info,
                        ProtobufCBinaryData *column)
{
    Trigd__V1__Columns *c = &m->columns[m->roi.n_columns];

    trigd__v1__columns__init(c);
    c->hash = info->hash;
    c->n_column = info->n_columns;
    c->column = column;
    m->columns_list[m->roi.n_columns++] = c;
    m->roi.columns = m->columns_list;
}

/* A declared collection; little-endian, as the message wants it. */
static void fill_declared(const struct generated *g, struct generated_message *m)
{
    const struct trg_collection *info = kind_info(g->kind);

    for (uint32_t c = 0; c < info->n_columns; c++)
        m->column[c] = (ProtobufCBinaryData){g->n * trg_column_bytes(&info->column[c]),
                                             (uint8_t *)(uintptr_t)generated_column(g, c)};
    add_columns(m, info, m->column);
}

static void fill_brick(const struct generated *g, struct generated_message *m)
{
    const struct generated_brick *k = &g->brick;
    const struct trg_collection *rows = generator_bricks();
    const void *const column[] = {k->n, k->origin, k->volume, &k->type, &k->low, &k->width};

    m->column[0] = (ProtobufCBinaryData){g->n, k->bytes};
    add_columns(m, kind_info(g->kind), m->column);
    for (uint32_t c = 0; c < rows->n_columns; c++) {
        const size_t bytes = trg_column_bytes(&rows->column[c]);

        m->row[c] = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)column[c]};
    }
    add_columns(m, rows, m->row);
}

void generated_message(const struct generated *g, struct generated_message *ret)
{
    Trigd__V1__Roi *r = &ret->roi;

    trigd__v1__roi__init(r);
    r->run = g->info.run;
    r->l1id = g->info.l1id;
    r->roi_id = g->info.roi_id;
    r->bcid = g->info.bcid;
    r->lumi_block = g->info.lumi_block;
    r->l1_bits = g->info.l1_bits;
    r->eta = g->info.eta;
    r->phi_rad = g->info.phi_rad;
    r->eta_half = g->info.eta_half;
    r->phi_half_rad = g->info.phi_half_rad;
    r->z_min_mm = g->info.z_min_mm;
    r->z_max_mm = g->info.z_max_mm;
    if (g->kind == TRG_TRACKS)
        fill_tracks(g, ret);
    else if (g->kind == TRG_HITS)
        fill_hits(g, ret);
    else if (is_brick(g))
        fill_brick(g, ret);
    else if (g->kind >= TRG_KIND_COUNT)
        fill_declared(g, ret);
    else
        fill_spacepoints(g, ret);
    fill_truth(g, &ret->truth);
    r->truth = generated_has_particles(g) ? &ret->truth : NULL;
}

struct generated *generated_new(const char *preset, uint64_t seed, uint64_t first, uint32_t n)
{
    const struct generator_preset *p = generator_find(preset);
    struct generated *g = p ? calloc(n, sizeof *g) : NULL;

    for (uint32_t i = 0; g && i < n; i++)
        if (generator_make(p, seed, first + i, &g[i]) < 0) {
            generated_free(g, n);
            return NULL;
        }
    return g;
}

void generated_free(struct generated *g, uint32_t n)
{
    for (uint32_t i = 0; g && i < n; i++)
        generated_fini(&g[i]);
    free(g);
}
