/* SPDX-License-Identifier: Apache-2.0 */
#include "generator.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "random.h"

#define PI            3.14159265358979323846
#define FIELD_T       2.0
#define BEAM_SIGMA_Z  50.0  /* mm, along the beam line */
#define BEAM_SIGMA_XY 0.012 /* mm */
#define EFFICIENCY    0.98  /* of a layer */
#define PT_MIN        0.4   /* GeV */
#define BEND_MAX      0.45  /* rad, of a track of PT_MIN at the outermost radius */
#define BOW_MAX       0.035 /* arc over chord - 1, of such a track */
#define TRACK_ETA_MAX 2.7
#define SIGMAS        8   /* no normal number of ours is larger */
#define HARD_IN_ROI   0.7 /* fraction of the hard scatter's tracks aimed at the RoI */

/* Layers: nominal values of the ATLAS inner detector, mm. */
struct barrel {
    double radius, half_length, sigma_rphi, sigma_z;
};
static const struct barrel barrels[] = {{33.25, 332, 0.010, 0.060},  {50.5, 400.5, 0.010, 0.100},
                                        {88.5, 400.5, 0.010, 0.100}, {122.5, 400.5, 0.010, 0.100},
                                        {299, 749, 0.017, 0.580},    {371, 749, 0.017, 0.580},
                                        {443, 749, 0.017, 0.580},    {514, 749, 0.017, 0.580}};
struct disc {
    double z, r_min, r_max, sigma_rphi, sigma_r;
};
static const struct disc discs[] = {
    {495, 88.8, 149.6, 0.010, 0.100}, {580, 88.8, 149.6, 0.010, 0.100},
    {650, 88.8, 149.6, 0.010, 0.100}, {853.8, 275, 560, 0.017, 0.580},
    {934, 275, 560, 0.017, 0.580},    {1091.5, 275, 560, 0.017, 0.580},
    {1299.9, 275, 560, 0.017, 0.580}, {1399.7, 275, 560, 0.017, 0.580},
    {1771.4, 275, 560, 0.017, 0.580}, {2115.2, 275, 560, 0.017, 0.580},
    {2505, 275, 560, 0.017, 0.580},   {2720.2, 439, 560, 0.017, 0.580}};
#define N_BARRELS (sizeof barrels / sizeof *barrels)
#define N_DISCS   (sizeof discs / sizeof *discs)

const struct generator_preset generator_presets[] = {
    {"lowlum", "low luminosity: mean 333 spacepoints, 517 phi slices of 0.2 degrees", 12.9, 22.0,
     30.0, 12.0, 1.6, 0.8, 0.902},
    {"highlum", "high luminosity: mean 8104 spacepoints, 542 phi slices of 0.2 degrees", 251.0,
     30.0, 30.0, 300.0, 1.2, 1.2, 0.945},
    {"phase2", "pile-up 200, full scan in phi", 200.0, 22.0, 60.0, 1500.0, 0.0, 2.5, PI},
    {0},
};

const struct generator_preset *generator_find(const char *name)
{
    for (const struct generator_preset *p = generator_presets; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

/* ---------------------------------------------------------------- memory of one RoI */

void generated_init(struct generated *g)
{
    memset(g, 0, sizeof *g);
}

void generated_fini(struct generated *g)
{
    void *all[] = {g->phi,      g->rho,      g->z,        g->layer,         g->particle,
                   g->vertex_x, g->vertex_y, g->vertex_z, g->vertex_tracks, g->particle_vertex,
                   g->pt,       g->eta,      g->phi0,     g->charge};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    generated_init(g);
}

static bool grow(void *array, uint32_t room, size_t size)
{
    void **p = array, *more = realloc(*p, room * size);

    if (more)
        *p = more;
    return more != NULL;
}

static int room_for_point(struct generated *g)
{
    uint32_t room = g->room ? 2 * g->room : 1024;

    if (g->n < g->room)
        return 0;
    if (!grow(&g->phi, room, sizeof *g->phi) || !grow(&g->rho, room, sizeof *g->rho) ||
        !grow(&g->z, room, sizeof *g->z) || !grow(&g->layer, room, 1) ||
        !grow(&g->particle, room, sizeof *g->particle))
        return -ENOMEM;
    g->room = room;
    return 0;
}

static int room_for_vertex(struct generated *g)
{
    uint32_t room = g->vertex_room ? 2 * g->vertex_room : 64;

    if (g->n_vertices < g->vertex_room)
        return 0;
    if (!grow(&g->vertex_x, room, sizeof(float)) || !grow(&g->vertex_y, room, sizeof(float)) ||
        !grow(&g->vertex_z, room, sizeof(float)) ||
        !grow(&g->vertex_tracks, room, sizeof(uint32_t)))
        return -ENOMEM;
    g->vertex_room = room;
    return 0;
}

static int room_for_particle(struct generated *g)
{
    uint32_t room = g->particle_room ? 2 * g->particle_room : 512;

    if (g->n_particles < g->particle_room)
        return 0;
    if (!grow(&g->particle_vertex, room, sizeof(uint32_t)) || !grow(&g->pt, room, sizeof(float)) ||
        !grow(&g->eta, room, sizeof(float)) || !grow(&g->phi0, room, sizeof(float)) ||
        !grow(&g->charge, room, sizeof(int32_t)))
        return -ENOMEM;
    g->particle_room = room;
    return 0;
}

/* ---------------------------------------------------------------- simulation */

struct maker { /* one RoI being made */
    struct random random;
    const struct generator_preset *p;
    struct generated *g;
    double slope_min, slope_max; /* z / rho at the borders of the window */
};

static double wrap(double phi)
{
    while (phi > PI)
        phi -= 2 * PI;
    while (phi < -PI)
        phi += 2 * PI;
    return phi;
}

static bool is_inside(const struct maker *m, double phi, double rho, double z)
{
    return z > m->slope_min * rho && z < m->slope_max * rho &&
           (m->p->phi_half_rad >= PI ||
            fabs(wrap(phi - (double)m->g->info.phi_rad)) < m->p->phi_half_rad);
}

/* Whether a point within `slack` of z can be in the window; most are not, and cost no more. */
static bool is_near(const struct maker *m, double rho, double z, double slack)
{
    return z > m->slope_min * rho - slack && z < m->slope_max * rho + slack;
}

static int add_point(struct maker *m, double phi, double rho, double z, uint32_t layer,
                     uint32_t particle)
{
    struct generated *g = m->g;
    int r;

    if (!is_inside(m, phi, rho, z))
        return 0;
    r = room_for_point(g);
    if (r < 0)
        return r;
    g->phi[g->n] = (float)wrap(phi);
    g->rho[g->n] = (float)rho;
    g->z[g->n] = (float)z;
    g->layer[g->n] = (uint8_t)layer;
    g->particle[g->n++] = particle;
    return 0;
}

struct track {
    double z0, pt, eta, sinh_eta, phi, radius; /* radius of the helix, mm */
    int charge;
};

static int cross_barrel(struct maker *m, const struct track *t, uint32_t layer, uint32_t particle)
{
    const struct barrel *b = &barrels[layer];
    double straight = b->radius * t->sinh_eta, turn, z, phi;

    if (!is_near(m, b->radius, t->z0 + straight, BOW_MAX * fabs(straight) + SIGMAS * b->sigma_z))
        return 0;
    turn = exact_asin(b->radius / (2 * t->radius));
    z = t->z0 + 2 * t->radius * turn * t->sinh_eta;
    if (fabs(z) > b->half_length || random_unit(&m->random) > EFFICIENCY)
        return 0;
    phi = t->phi - t->charge * turn + random_normal(&m->random) * b->sigma_rphi / b->radius;
    return add_point(m, phi, b->radius, z + random_normal(&m->random) * b->sigma_z, layer,
                     particle);
}

static int cross_disc(struct maker *m, const struct track *t, uint32_t disc, uint32_t particle)
{
    const struct disc *d = &discs[disc];
    double z = t->eta > 0 ? d->z : -d->z, turn, rho, phi;
    double arc = (z - t->z0) / t->sinh_eta; /* in the transverse plane */

    if (arc < d->r_min || arc > d->r_max * (1 + BOW_MAX) ||
        !is_near(m, arc, z, (BOW_MAX + SIGMAS * d->sigma_r / arc) * fabs(z)))
        return 0;
    turn = arc / (2 * t->radius);
    rho = 2 * t->radius * exact_sin(turn);
    if (rho < d->r_min || rho > d->r_max || random_unit(&m->random) > EFFICIENCY)
        return 0;
    phi = t->phi - t->charge * turn + random_normal(&m->random) * d->sigma_rphi / rho;
    return add_point(m, phi, rho + random_normal(&m->random) * d->sigma_r, z, N_BARRELS + disc,
                     particle);
}

static int add_track(struct maker *m, const struct track *t, uint32_t vertex)
{
    struct generated *g = m->g;
    uint32_t particle = g->n_particles, before = g->n;
    int r = room_for_particle(g);

    for (uint32_t i = 0; r == 0 && i < N_BARRELS; i++)
        r = cross_barrel(m, t, i, particle);
    for (uint32_t i = 0; r == 0 && i < N_DISCS; i++)
        r = cross_disc(m, t, i, particle);
    if (r < 0 || g->n == before)
        return r;
    g->particle_vertex[particle] = vertex;
    g->pt[particle] = (float)t->pt;
    g->eta[particle] = (float)t->eta;
    g->phi0[particle] = (float)t->phi;
    g->charge[particle] = t->charge;
    g->n_particles++;
    g->vertex_tracks[vertex]++;
    return 0;
}

/* pT falls as pT^-4 above PT_MIN; the hard scatter's tracks are harder. */
static double draw_pt(struct maker *m, bool hard)
{
    double pt = PT_MIN * exact_exp(random_exponential(&m->random, 1.0 / 3.0));

    return hard ? pt + random_exponential(&m->random, 2.0) : pt;
}

/* Whether a track can have points in the RoI at all: it bends by less than BEND_MAX. */
static bool may_cross(const struct maker *m, const struct track *t)
{
    return m->p->phi_half_rad >= PI ||
           fabs(wrap(t->phi - (double)m->g->info.phi_rad)) < m->p->phi_half_rad + BEND_MAX;
}

static int add_vertex(struct maker *m, double mean_tracks, bool hard)
{
    struct generated *g = m->g;
    uint32_t vertex = g->n_vertices, n = random_poisson(&m->random, mean_tracks);
    double z = random_normal(&m->random) * BEAM_SIGMA_Z;
    int r = room_for_vertex(g);

    if (r < 0)
        return r;
    g->vertex_x[vertex] = (float)(random_normal(&m->random) * BEAM_SIGMA_XY);
    g->vertex_y[vertex] = (float)(random_normal(&m->random) * BEAM_SIGMA_XY);
    g->vertex_z[vertex] = (float)z;
    g->vertex_tracks[vertex] = 0;
    g->n_vertices++;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct track t = {.z0 = z, .pt = draw_pt(m, hard)};
        bool aimed = hard && random_unit(&m->random) < HARD_IN_ROI;

        t.radius = t.pt / (0.3 * FIELD_T) * 1e3;
        t.charge = random_u64(&m->random) & 1 ? 1 : -1;
        t.eta = random_range(&m->random, -TRACK_ETA_MAX, TRACK_ETA_MAX);
        t.phi = random_range(&m->random, -PI, PI);
        if (aimed) {
            t.eta = (double)g->info.eta + random_range(&m->random, -1, 1) * m->p->eta_half;
            t.phi = wrap((double)g->info.phi_rad +
                         random_range(&m->random, -1, 1) * m->p->phi_half_rad);
        }
        if (!may_cross(m, &t))
            continue;
        if (fabs(t.eta) < 1e-6)
            t.eta = 1e-6;
        t.sinh_eta = exact_sinh(t.eta);
        r = add_track(m, &t, vertex);
    }
    return r;
}

static int add_noise(struct maker *m)
{
    const struct trg_roi_info *info = &m->g->info;
    uint32_t n = random_poisson(&m->random, m->p->noise);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        uint32_t n_barrels = N_BARRELS, layer = (uint32_t)(random_unit(&m->random) * n_barrels);
        double half = m->p->phi_half_rad > PI ? PI : m->p->phi_half_rad;
        double phi = (double)info->phi_rad + random_range(&m->random, -half, half);
        double length = barrels[layer].half_length;

        r = add_point(m, phi, barrels[layer].radius, random_range(&m->random, -length, length),
                      layer, GENERATOR_NOISE);
    }
    return r;
}

static void set_info(struct maker *m, uint64_t i)
{
    struct trg_roi_info *info = &m->g->info;
    uint64_t bcid = random_u64(&m->random) % 3564, item = random_u64(&m->random) % 4;

    *info = (struct trg_roi_info){.run = 1,
                                  .l1id = (uint32_t)i,
                                  .bcid = (uint32_t)bcid,
                                  .lumi_block = (uint32_t)(i / 100000) + 1,
                                  .l1_bits = 1u << item,
                                  .eta_half = (float)m->p->eta_half,
                                  .phi_half_rad = (float)m->p->phi_half_rad,
                                  .z_min_mm = -225,
                                  .z_max_mm = 225};
    info->eta = (float)random_range(&m->random, -m->p->eta_max, m->p->eta_max);
    info->phi_rad = m->p->phi_half_rad >= PI ? 0.0f : (float)random_range(&m->random, -PI, PI);
    m->slope_min = exact_sinh((double)info->eta - m->p->eta_half);
    m->slope_max = exact_sinh((double)info->eta + m->p->eta_half);
}

int generator_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi)
{
    struct maker m = {.p = preset, .g = ret_roi};
    uint32_t n;
    int r;

    random_seed(&m.random, seed, i);
    ret_roi->n = ret_roi->n_vertices = ret_roi->n_particles = 0;
    set_info(&m, i);
    r = add_vertex(&m, preset->hard_tracks, true);
    n = random_poisson(&m.random, preset->pileup);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_vertex(&m, preset->tracks, false);
    return r == 0 ? add_noise(&m) : r;
}

/* ---------------------------------------------------------------- as a message */

static void fill_truth(const struct generated *g, Trigd__V1__Truth *t)
{
    trigd__v1__truth__init(t);
    t->n_vertex_x_mm = t->n_vertex_y_mm = t->n_vertex_z_mm = t->n_vertex_tracks = g->n_vertices;
    t->vertex_x_mm = g->vertex_x;
    t->vertex_y_mm = g->vertex_y;
    t->vertex_z_mm = g->vertex_z;
    t->vertex_tracks = g->vertex_tracks;
    t->n_particle_vertex = t->n_particle_pt_gev = t->n_particle_eta = g->n_particles;
    t->n_particle_phi_rad = t->n_particle_charge = g->n_particles;
    t->particle_vertex = g->particle_vertex;
    t->particle_pt_gev = g->pt;
    t->particle_eta = g->eta;
    t->particle_phi_rad = g->phi0;
    t->particle_charge = g->charge;
    t->n_item_particle = g->n;
    t->item_particle = g->particle;
}

void generated_message(const struct generated *g, struct generated_message *ret)
{
    Trigd__V1__Roi *r = &ret->roi;
    Trigd__V1__Spacepoints *s = &ret->spacepoints;

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
    trigd__v1__spacepoints__init(s);
    s->n_phi_rad = s->n_rho_mm = s->n_z_mm = s->layer.len = g->n;
    s->phi_rad = g->phi;
    s->rho_mm = g->rho;
    s->z_mm = g->z;
    s->layer.data = g->layer;
    fill_truth(g, &ret->truth);
    r->spacepoints = s;
    r->truth = &ret->truth;
}
