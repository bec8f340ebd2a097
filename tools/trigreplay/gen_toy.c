/* SPDX-License-Identifier: Apache-2.0 */
/* The toy ATLAS-like inner detector: eight barrel layers (0-7: four of pixels, four of strips) and
 * twelve discs a side (8-10 pixels, 11-19 strips), helical tracks in 2 T that start on the beam
 * line, one hard-scatter vertex and Poisson pile-up, resolution, inefficiency, noise. */
#include <math.h>
#include <stdbool.h>

#include "gen.h"
#include "gen_store.h"
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
    if (!is_inside(m, phi, rho, z))
        return 0;
    return store_spacepoint(m->g, wrap(phi), rho, z, layer, particle);
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
    const struct store_particle truth = {.vertex = vertex,
                                         .pt = t->pt,
                                         .eta = t->eta,
                                         .phi = t->phi,
                                         .z0 = t->z0,
                                         .charge = t->charge,
                                         .pdg = t->charge * PDG_PION};
    int r = store_particle(g, &truth);

    for (uint32_t i = 0; r == 0 && i < N_BARRELS; i++)
        r = cross_barrel(m, t, i, particle);
    for (uint32_t i = 0; r == 0 && i < N_DISCS; i++)
        r = cross_disc(m, t, i, particle);
    if (r == 0 && g->n > before)
        store_keep_particle(g, true);
    return r;
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
    uint32_t vertex, n = random_poisson(&m->random, mean_tracks);
    double z = random_normal(&m->random) * BEAM_SIGMA_Z;
    double x = random_normal(&m->random) * BEAM_SIGMA_XY;
    double y = random_normal(&m->random) * BEAM_SIGMA_XY;
    int r = store_vertex(g, x, y, z, GENERATOR_PRIMARY, GENERATOR_NONE, &vertex);

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

int gen_toy_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                 struct generated *ret_roi)
{
    struct maker m = {.p = preset, .g = ret_roi};
    uint32_t n;
    int r;

    random_seed(&m.random, seed, i);
    store_begin(ret_roi, TRG_SPACEPOINTS);
    set_info(&m, i);
    r = add_vertex(&m, preset->hard_tracks, true);
    n = random_poisson(&m.random, preset->pileup);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_vertex(&m, preset->tracks, false);
    return r == 0 ? add_noise(&m) : r;
}
