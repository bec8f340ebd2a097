/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors of barrels and discs around the beam in a field along it: one like the pixel detector
 * that CMS has had since 2017, and the barrels of the TrackML challenge's.  A particle goes from
 * surface to surface on arcs of a helix, and is scattered at each; it is followed until it has
 * made half a turn.  Pixels with charge come of flat modules at these surfaces, while the particle
 * goes on as if they were not flat: the events are the same.  Dimensions are public facts of those
 * detectors, in mm. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "gen.h"
#include "gen_pixels.h"
#include "gen_store.h"

#define EFFICIENCY   0.99
#define ETA_MAX      3.0
#define Z_LUMINOUS   150.0 /* no collision is further out */
#define HARD_PT      2.0   /* GeV: what the hard scatter's particles have more, mean */
#define NO_LAYER     0xffffu
#define FAR          1e30
#define MODULE_FAR   30.0 /* mm: no way from a layer to a module of it is longer */
#define MODULE_STEPS 3
#define METRE        1000.0
#define GEV_PER_T_M  0.299792458 /* pT of a particle that bends with 1 m in 1 T */

struct barrel {
    double radius, half_length, sigma_rphi, sigma_z, x0;
    uint32_t layer;
};
struct disc { /* one on each side: layers `front` (z > 0) and `back` */
    double z, r_min, r_max, sigma_rphi, sigma_r, x0;
    uint32_t front, back;
};
struct detector {
    double field_t, sigma_xy, sigma_z; /* of the luminous region */
    uint32_t n_barrels, n_discs;
    const struct barrel *barrel;
    const struct disc *disc;
};

#define COUNT(all) (sizeof(all) / sizeof *(all))

/* The first surface is the beam pipe, which sees nothing. */
static const struct barrel pixel_barrels[] = {{22.5, 1000, 0, 0, 0.003, NO_LAYER},
                                              {29, 274.4, 0.010, 0.024, 0.018, 0},
                                              {68, 274.4, 0.010, 0.024, 0.018, 1},
                                              {109, 274.4, 0.010, 0.024, 0.018, 2},
                                              {160, 274.4, 0.010, 0.024, 0.018, 3}};
static const struct disc pixel_discs[] = {{291, 45, 161, 0.012, 0.022, 0.02, 4, 7},
                                          {396, 45, 161, 0.012, 0.022, 0.02, 5, 8},
                                          {516, 45, 161, 0.012, 0.022, 0.02, 6, 9}};
static const struct detector pixel = {
    3.8, 0.012, 35.0, COUNT(pixel_barrels), COUNT(pixel_discs), pixel_barrels, pixel_discs};

static const struct barrel trackml_barrels[] = {
    {32, 491, 0.014, 0.016, 0.02, 0},   {72, 491, 0.014, 0.016, 0.02, 1},
    {116, 491, 0.014, 0.016, 0.02, 2},  {172, 491, 0.014, 0.016, 0.02, 3},
    {260, 1084, 0.023, 0.35, 0.025, 4}, {360, 1084, 0.023, 0.35, 0.025, 5},
    {500, 1084, 0.023, 0.35, 0.025, 6}, {660, 1084, 0.023, 0.35, 0.025, 7},
    {820, 1084, 0.035, 3.1, 0.03, 8},   {1020, 1084, 0.035, 3.1, 0.03, 9}};
static const struct detector trackml = {2.0, 0.010,           50.0, COUNT(trackml_barrels),
                                        0,   trackml_barrels, NULL};

struct maker { /* one RoI being made */
    struct random random;
    const struct generator_preset *p;
    const struct detector *d;
    struct generated *g;
    bool has_charge; /* pixels are made instead of hits */
    struct charge_maker pixels;
};

/* ---------------------------------------------------------------- one particle */

struct helix { /* a particle on its way; (ux, uy) is its transverse direction, of length 1 */
    double x, y, z, ux, uy, cot;
    double radius, turned; /* how far it has turned already, rad */
    double scatter;        /* its angle in one radiation length */
    int charge;            /* a positive one turns clockwise */
};

/* Arc to a point of the circle; FAR if that is more than half a turn ahead. */
static double arc_to(const struct helix *h, double x, double y)
{
    double dx = x - h->x, dy = y - h->y, half = sqrt(dx * dx + dy * dy) / (2 * h->radius);

    if (dx * h->ux + dy * h->uy <= 0)
        return FAR;
    return 2 * h->radius * exact_asin_wide(half < 1 ? half : 1);
}

/* Transverse arc to a cylinder around the beam line, from inside of it; FAR: it turns back
 * before. */
static double arc_to_barrel(const struct helix *h, double r)
{
    double cx = h->x + h->charge * h->radius * h->uy, cy = h->y - h->charge * h->radius * h->ux;
    double far = sqrt(cx * cx + cy * cy);
    double along = (r * r - h->radius * h->radius + far * far) / (2 * far);
    double square = r * r - along * along, aside, one, other;

    if (square < 0)
        return FAR;
    aside = sqrt(square);
    cx /= far;
    cy /= far;
    one = arc_to(h, along * cx - aside * cy, along * cy + aside * cx);
    other = arc_to(h, along * cx + aside * cy, along * cy - aside * cx);
    return one < other ? one : other;
}

static double arc_to_disc(const struct helix *h, double z)
{
    double arc = (z - h->z) / h->cot;

    return arc > 0 ? arc : FAR;
}

static void go(struct helix *h, double arc)
{
    double turn = arc / h->radius, s = h->charge * exact_sin_wide(turn), c = exact_cos(turn);
    double cx = h->x + h->charge * h->radius * h->uy, cy = h->y - h->charge * h->radius * h->ux;
    double dx = h->x - cx, dy = h->y - cy, ux = h->ux;

    h->x = cx + c * dx + s * dy;
    h->y = cy + c * dy - s * dx;
    h->ux = c * ux + s * h->uy;
    h->uy = c * h->uy - s * ux;
    h->z += arc * h->cot;
    h->turned += turn;
}

/* Scattered by x0 radiation lengths: in azimuth and in the polar angle. */
static void kink(struct maker *m, struct helix *h, double x0)
{
    double square = 1 + h->cot * h->cot, angle = h->scatter * sqrt(x0);
    double aside = angle * sqrt(square) * random_normal(&m->random), ux = h->ux, scale;

    h->ux -= aside * h->uy;
    h->uy += aside * ux;
    scale = 1 / sqrt(h->ux * h->ux + h->uy * h->uy);
    h->ux *= scale;
    h->uy *= scale;
    h->cot += angle * square * random_normal(&m->random);
}

/* Goes to the plane of a module nearby, there or back; false: it does not come there. */
static bool go_to_module(struct helix *h, const struct geometry_sensor *s)
{
    const double n[3] = {(double)(s->column[1] * s->row[2] - s->column[2] * s->row[1]),
                         (double)(s->column[2] * s->row[0] - s->column[0] * s->row[2]),
                         (double)(s->column[0] * s->row[1] - s->column[1] * s->row[0])};

    for (int i = 0; i < MODULE_STEPS; i++) {
        const double speed = h->ux * n[0] + h->uy * n[1] + h->cot * n[2];
        const double away = (h->x - (double)s->corner[0]) * n[0] +
                            (h->y - (double)s->corner[1]) * n[1] +
                            (h->z - (double)s->corner[2]) * n[2];

        if (fabs(away) > MODULE_FAR * fabs(speed))
            return false;
        go(h, -away / speed);
    }
    return true;
}

/* Leaves charge in the module of the layer that is nearest to where it is. */
static int leave_charge(struct maker *m, const struct helix *at, uint32_t layer)
{
    struct helix h = *at;
    const struct geometry_sensor *s = pixels_module(layer, (const double[]){h.x, h.y, h.z});
    int r;

    if (!s || !go_to_module(&h, s))
        return s ? 0 : -ENOMEM;
    r = pixels_cross(&m->pixels, s, (const double[]){h.x, h.y, h.z},
                     (const double[]){h.ux, h.uy, h.cot}, m->g->n_particles);
    return r == 1 ? store_crossing(m->g, h.x, h.y, h.z, layer, m->g->n_particles) : r;
}

/* Measures where it is: `r` is the distance from the beam line, measured too, and rphi around
 * it. */
static int measure(struct maker *m, const struct helix *h, double r, double rphi, double z,
                   uint32_t layer)
{
    double x = h->x - rphi * h->y / r, y = h->y + rphi * h->x / r;
    double scale = r / sqrt(x * x + y * y);

    if (m->has_charge)
        return leave_charge(m, h, layer);
    return store_hit(m->g, x * scale, y * scale, z, layer, m->g->n_particles);
}

static int cross_barrel(struct maker *m, struct helix *h, const struct barrel *b)
{
    int r = 0;

    if (fabs(h->z) > b->half_length)
        return 0;
    if (b->layer != NO_LAYER && random_unit(&m->random) < EFFICIENCY) {
        double rphi = b->sigma_rphi * random_normal(&m->random);

        r = measure(m, h, b->radius, rphi, h->z + b->sigma_z * random_normal(&m->random), b->layer);
    }
    kink(m, h, b->x0 * sqrt(1 + h->cot * h->cot));
    return r;
}

static int cross_disc(struct maker *m, struct helix *h, const struct disc *d)
{
    double distance = sqrt(h->x * h->x + h->y * h->y);
    int r = 0;

    if (distance < d->r_min || distance > d->r_max)
        return 0;
    if (random_unit(&m->random) < EFFICIENCY) {
        double rphi = d->sigma_rphi * random_normal(&m->random);

        distance += d->sigma_r * random_normal(&m->random);
        r = measure(m, h, distance, rphi, h->z, h->z > 0 ? d->front : d->back);
    }
    kink(m, h, d->x0 * sqrt(1 + 1 / (h->cot * h->cot)));
    return r;
}

/* All surfaces in the order in which it comes to them. */
static int cross_all(struct maker *m, struct helix *h)
{
    const struct detector *d = m->d;
    double distance = sqrt(h->x * h->x + h->y * h->y);
    uint32_t barrel = 0, disc = 0;
    int r = 0;

    while (barrel < d->n_barrels && d->barrel[barrel].radius <= distance)
        barrel++; /* made further out */
    while (disc < d->n_discs && (h->cot > 0 ? h->z : -h->z) >= d->disc[disc].z)
        disc++;
    while (r == 0 && (barrel < d->n_barrels || disc < d->n_discs) && h->turned < EXACT_PI) {
        double to_barrel = barrel < d->n_barrels ? arc_to_barrel(h, d->barrel[barrel].radius) : FAR;
        double to_disc = disc < d->n_discs
                             ? arc_to_disc(h, h->cot > 0 ? d->disc[disc].z : -d->disc[disc].z)
                             : FAR;
        bool is_barrel = to_barrel < to_disc;
        double arc = is_barrel ? to_barrel : to_disc;

        if (arc >= EXACT_PI * h->radius)
            return 0; /* turns back before it meets anything more */
        go(h, arc);
        r = is_barrel ? cross_barrel(m, h, &d->barrel[barrel]) : cross_disc(m, h, &d->disc[disc]);
        barrel += is_barrel;
        disc += !is_barrel;
    }
    return r;
}

static int add_particle(struct maker *m, const struct gen_particle *p)
{
    double pt = sqrt(p->px * p->px + p->py * p->py);
    double radius = pt * METRE / (GEV_PER_T_M * m->d->field_t);
    uint32_t before = m->g->n + m->g->n_crossings;
    struct store_particle truth;
    struct helix h = {.x = p->x,
                      .y = p->y,
                      .z = p->z,
                      .ux = p->px / pt,
                      .uy = p->py / pt,
                      .cot = p->pz / pt,
                      .radius = radius,
                      .scatter = gen_scatter(p, 1),
                      .charge = p->charge};
    int r;

    gen_truth(p, radius, &truth);
    r = store_particle(m->g, &truth);
    if (r == 0)
        r = cross_all(m, &h);
    if (r == 0 && m->g->n + m->g->n_crossings > before)
        store_keep_particle(m->g, true);
    return r;
}

/* ---------------------------------------------------------------- one collision */

static int add_collision(struct maker *m, bool is_hard)
{
    double mean = is_hard ? m->p->hard_tracks : m->p->tracks, z;
    double x = random_normal(&m->random) * m->d->sigma_xy;
    double y = random_normal(&m->random) * m->d->sigma_xy;
    uint32_t n = random_poisson(&m->random, mean), vertex;
    int r;

    do
        z = random_normal(&m->random) * m->d->sigma_z;
    while (fabs(z) > Z_LUMINOUS);
    r = store_vertex(m->g, x, y, z, GENERATOR_PRIMARY, GENERATOR_NONE, &vertex);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct gen_particle p = {.x = x, .y = y, .z = z, .mass = MASS_PION, .vertex = vertex};
        double pt = gen_pt(&m->random) + (is_hard ? random_exponential(&m->random, HARD_PT) : 0);
        double eta = random_range(&m->random, -ETA_MAX, ETA_MAX);
        double phi = random_range(&m->random, -EXACT_PI, EXACT_PI);

        if (fabs(eta) < 1e-6)
            eta = 1e-6; /* comes to the discs in the end */
        p.px = pt * exact_cos(phi);
        p.py = pt * exact_sin_wide(phi);
        p.pz = pt * exact_sinh(eta);
        p.charge = random_u64(&m->random) & 1 ? 1 : -1;
        p.pdg = p.charge * PDG_PION;
        r = add_particle(m, &p);
    }
    return r;
}

/* One noise hit, on any layer. */
static int add_noise_hit(struct maker *m)
{
    uint32_t first = m->d->barrel[0].layer == NO_LAYER, n = m->d->n_barrels - first;
    uint32_t surface = (uint32_t)(random_u64(&m->random) % (n + 2 * m->d->n_discs));
    double phi = random_range(&m->random, -EXACT_PI, EXACT_PI), c = exact_cos(phi);
    double s = exact_sin_wide(phi), where = random_range(&m->random, -1, 1), r;

    if (surface < n) {
        const struct barrel *b = &m->d->barrel[first + surface];

        return store_hit(m->g, b->radius * c, b->radius * s, where * b->half_length, b->layer,
                         GENERATOR_NOISE);
    }
    surface -= n;
    {
        const struct disc *d = &m->d->disc[surface / 2];
        bool is_front = surface % 2 == 0;

        r = (d->r_min + d->r_max + where * (d->r_max - d->r_min)) / 2;
        return store_hit(m->g, r * c, r * s, is_front ? d->z : -d->z, is_front ? d->front : d->back,
                         GENERATOR_NOISE);
    }
}

/* The noise, and the order of all; `r` is what came of the particles. */
static int finish(struct maker *m, int r)
{
    uint32_t n = random_poisson(&m->random, m->p->noise);

    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = m->has_charge ? pixels_noise(&m->pixels) : add_noise_hit(m);
    if (r == 0)
        r = m->has_charge ? pixels_store(&m->pixels, m->g) : store_sort(m->g);
    charge_maker_free(&m->pixels);
    return r;
}

static const struct detector *detector_of(const struct generator_preset *preset)
{
    return preset->detector == GENERATOR_TRACKML ? &trackml : &pixel;
}

static struct maker maker_of(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                             struct generated *g)
{
    struct maker m = {.p = preset,
                      .d = detector_of(preset),
                      .g = g,
                      .has_charge = preset->detector == GENERATOR_PIXEL_CHARGE};

    random_seed(&m.random, seed, i);
    random_seed(&m.pixels.random, ~seed, ~i);
    return m;
}

int gen_helix_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                     const struct gen_particle *list, uint32_t n, struct generated *g)
{
    struct maker m = maker_of(preset, seed, i, g);
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_particle(&m, &list[k]);
    return finish(&m, r);
}

int gen_helix_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                   struct generated *ret_roi)
{
    struct maker m = maker_of(preset, seed, i, ret_roi);
    uint32_t n;
    int r;

    store_begin(ret_roi, generator_kind(preset));
    store_info(m.g, m.p, i, (uint32_t)(random_u64(&m.random) % 3564), Z_LUMINOUS);
    r = add_collision(&m, true);
    n = random_poisson(&m.random, preset->pileup);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_collision(&m, false);
    return finish(&m, r);
}
