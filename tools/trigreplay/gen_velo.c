/* SPDX-License-Identifier: Apache-2.0 */
/* A detector like the vertex locator of LHCb's upgrade: 26 stations of two modules, one on either
 * side of the beam (modules 0, 2, ... and 1, 3, ...), each of four pixel sensors in two planes,
 * that nearly touch the beam.  There is no field: tracks are straight, but for the kinks that
 * material makes.  Dimensions are public facts of that detector, in mm.  Presets with material also
 * have what it makes of particles (gen_velo_material.c), photons and merged clusters, as LHCb's
 * simulated events do. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "gen_banks.h"
#include "gen_store.h"
#include "gen_velo.h"

#define MODULES          52
#define HALF_GAP         0.581 /* from the middle of a module to each of its planes */
#define REACH            56.0  /* no sensor is further from the beam in x or y */
#define SIGMA_HIT        0.0125
#define EFFICIENCY       0.99
#define SIGMA_CLUSTER    0.0115 /* with material, but of some clusters */
#define SIGMA_SPREAD     0.045
#define SPREAD_RATE      0.04
#define BEAM_SIGMA_XY    0.035
#define BEAM_SIGMA_Z     63.0
#define Z_MAX            250.0 /* of a collision; the others are drawn again */
#define COLLISIONS_MAX   20    /* or three times their mean */
#define COLLISIONS_ROOM  256
#define BUSY             2.1 /* times the mean activity of an event; with material none is busier */
#define ETA_MIN          1.2 /* nothing less forward has three hits */
#define ETA_MIN_ALL      0.2 /* but what has one or two is there with material */
#define ETA_MAX          5.3
#define FOIL_RADIUS      3.8
#define FOIL_X0          0.010 /* radiation lengths: the foil around the beam, on the average way */
#define SENSOR_X0        0.0094
#define VISIBLE_HITS     3
#define STRANGE_RATE     0.03 /* neutral kaons for each charged particle */
#define SIGMA_QOP        0.005
#define STRANGE_RATE_ALL 0.045 /* with material: hyperons among them */
#define PHOTON_RATE      1.2   /* photons of neutral pions for each charged particle */
#define KAONS            0.12  /* of the charged particles; protons likewise */
#define PROTONS          0.08
#define MASS_PROTON      0.93827
#define PDG_PROTON       2212
#define PDG_PHOTON       22
#define CLUSTER          0.08 /* clusters nearer than this in x and y are one */
#define ROOT_HALF        0.70710678118654752440

static const double module_z[MODULES] = {
    -287.5, -275,  -262.5, -250,  -237.5, -225,  -212.5, -200,  -137.5, -125,  -62.5, -50,   -37.5,
    -25,    -12.5, 0,      12.5,  25,     37.5,  50,     62.5,  75,     87.5,  100,   112.5, 125,
    137.5,  150,   162.5,  175,   187.5,  200,   212.5,  225,   237.5,  250,   262.5, 275,   312.5,
    325,    387.5, 400,    487.5, 500,    587.5, 600,    637.5, 650,    687.5, 700,   737.5, 750};

/* Sensors of an odd module in axes turned by 45 degrees, u = (x + y) / sqrt 2 and v = (y - x) /
 * sqrt 2; those of an even one are the same turned by 180 degrees. */
static const struct sensor {
    double u_min, u_max, v_min, v_max;
    int plane; /* -1, +1: before or behind the middle */
} sensors[] = {{5.13, 19.15, -5.07, 37.39, -1},
               {19.10, 33.12, -4.07, 38.39, 1},
               {-5.07, 37.39, -19.15, -5.13, 1},
               {-5.07, 37.39, -33.12, -19.10, -1}};
#define SENSORS (sizeof sensors / sizeof *sensors)

struct maker { /* one RoI being made */
    struct random random;
    struct random smearing; /* of tracks */
    const struct generator_preset *p;
    struct generated *g;
    struct velo_made made;
    struct charge_maker banks;
    uint32_t origin;                  /* the last vertex that material made */
    double activity[COLLISIONS_ROOM]; /* of each collision, mean 1 */
};

struct crossings { /* what one particle leaves: true places are measured to SIGMA_HIT */
    uint32_t n;
    struct crossing {
        double x, y, z;
        double true_x, true_y, tx, ty;
        uint32_t module, sensor;
    } list[MODULES * SENSORS];
};

/* ---------------------------------------------------------------- one particle */

/* Goes through material; false: it ends there. */
static bool meet(struct maker *m, struct velo_ray *ray, double x0)
{
    if (m->p->has_material)
        return velo_material(&m->random, ray, x0, &m->made);
    velo_kink(&m->random, ray, x0);
    return true;
}

static void go_to(struct velo_ray *ray, double z)
{
    ray->x += ray->tx * (z - ray->z);
    ray->y += ray->ty * (z - ray->z);
    ray->z = z;
}

static bool is_in(const struct sensor *s, double u, double v)
{
    return u > s->u_min && u < s->u_max && v > s->v_min && v < s->v_max;
}

/* With material some clusters are spread by what else is in them. */
static double draw_sigma(struct maker *m)
{
    if (!m->p->has_material)
        return SIGMA_HIT;
    return random_unit(&m->random) < SPREAD_RATE ? SIGMA_SPREAD : SIGMA_CLUSTER;
}

/* The two sensors of a plane of a module: measures, and goes through; false: it ends there. */
static bool cross_plane(struct maker *m, struct velo_ray *ray, uint32_t module, int plane,
                        struct crossings *c)
{
    double side = module % 2 ? 1 : -1;
    double u = side * (ray->x + ray->y) * ROOT_HALF, v = side * (ray->y - ray->x) * ROOT_HALF;

    for (uint32_t i = 0; i < SENSORS; i++) {
        struct crossing *at = &c->list[c->n];

        if (sensors[i].plane != plane || !is_in(&sensors[i], u, v))
            continue;
        if (ray->charge && random_unit(&m->random) < EFFICIENCY) {
            double sigma = draw_sigma(m);

            at->x = ray->x + random_normal(&m->random) * sigma;
            at->y = ray->y + random_normal(&m->random) * sigma;
            at->z = ray->z;
            at->module = module;
            at->true_x = ray->x;
            at->true_y = ray->y;
            at->tx = ray->tx;
            at->ty = ray->ty;
            at->sensor = module * (uint32_t)SENSORS + i;
            c->n++;
        }
        if (!meet(m, ray, SENSOR_X0))
            return false;
    }
    return true;
}

/* All planes ahead of a particle, in its direction. */
static void cross_all(struct maker *m, const struct gen_particle *p, struct crossings *c)
{
    int ahead = p->pz > 0 ? 1 : -1;
    struct velo_ray ray = {.x = p->x,
                           .y = p->y,
                           .z = p->z,
                           .tx = p->px / p->pz,
                           .ty = p->py / p->pz,
                           .scatter = gen_scatter(p, 1),
                           .momentum = sqrt(p->px * p->px + p->py * p->py + p->pz * p->pz),
                           .mass = p->mass,
                           .ahead = ahead,
                           .charge = p->charge,
                           .pdg = p->pdg};

    c->n = 0;
    ray.is_outside = m->p->has_material && p->x * p->x + p->y * p->y > FOIL_RADIUS * FOIL_RADIUS;
    for (uint32_t i = 0; i < 2 * MODULES; i++) {
        uint32_t module = ahead > 0 ? i / 2 : MODULES - 1 - i / 2;
        int plane = i % 2 ? ahead : -ahead;
        double z = module_z[module] + plane * HALF_GAP;

        if ((z - ray.z) * ahead <= 0)
            continue;
        go_to(&ray, z);
        if (fabs(ray.x) > REACH || fabs(ray.y) > REACH)
            return;
        if (!ray.is_outside && ray.x * ray.x + ray.y * ray.y > FOIL_RADIUS * FOIL_RADIUS) {
            double out = sqrt(ray.x * ray.x + ray.y * ray.y) - FOIL_RADIUS;
            double slope = sqrt(ray.tx * ray.tx + ray.ty * ray.ty);

            go_to(&ray, z - ahead * (out < slope * fabs(z - p->z) ? out / slope : 0));
            if (!meet(m, &ray, FOIL_X0))
                return;
            ray.is_outside = true;
            go_to(&ray, z);
        }
        if (!cross_plane(m, &ray, module, plane, c))
            return;
    }
}

/* ---------------------------------------------------------------- as a track */

struct fit { /* what a straight line through the crossings is worth in one projection */
    double z, var_x, var_tx, cov; /* at z */
};

/* Errors of a least-squares line at the first crossing, and the foil's kink there. */
static struct fit line_errors(const struct gen_particle *p, const struct crossings *c)
{
    double n = c->n, mean = 0, spread = 0, kink, first = c->list[0].z;
    double tx = p->px / p->pz, ty = p->py / p->pz, square = 1 + tx * tx + ty * ty;
    struct fit f = {.z = first};

    for (uint32_t i = 0; i < c->n; i++)
        mean += c->list[i].z / n;
    for (uint32_t i = 0; i < c->n; i++)
        spread += (c->list[i].z - mean) * (c->list[i].z - mean);
    kink = gen_scatter(p, FOIL_X0 * sqrt(square)) * sqrt(square);
    f.var_tx = SIGMA_HIT * SIGMA_HIT / spread;
    f.cov = f.var_tx * (first - mean);
    f.var_x = SIGMA_HIT * SIGMA_HIT / n + f.cov * (first - mean);
    f.var_tx += kink * kink;
    return f;
}

/* A measured number and its slope around the true ones. */
static void smear(struct maker *m, const struct store_track *t, double *x, double *tx)
{
    double slope = sqrt(t->var_tx) * random_normal(&m->smearing);
    double rest = t->var_x - t->cov_x_tx * t->cov_x_tx / t->var_tx;

    *tx += slope;
    *x += t->cov_x_tx / t->var_tx * slope + sqrt(rest > 0 ? rest : 0) * random_normal(&m->smearing);
}

/* The particle's true state at the point closest to the beam line, smeared with the errors that a
 * fit of its hits would have: what a perfect track finder gives. */
static int add_track(struct maker *m, const struct gen_particle *p, const struct crossings *c,
                     double z0)
{
    struct fit f = line_errors(p, c);
    double far = z0 - f.z, momentum = sqrt(p->px * p->px + p->py * p->py + p->pz * p->pz);
    struct store_track t = {.z = z0, .tx = p->px / p->pz, .ty = p->py / p->pz, .n_hits = c->n};

    t.x = p->x + t.tx * (z0 - p->z);
    t.y = p->y + t.ty * (z0 - p->z);
    t.var_tx = f.var_tx;
    t.cov_x_tx = f.cov + far * f.var_tx;
    t.var_x = f.var_x + far * (2 * f.cov + far * f.var_tx);
    smear(m, &t, &t.x, &t.tx);
    smear(m, &t, &t.y, &t.ty);
    t.qop = p->charge / momentum * (1 + SIGMA_QOP * random_normal(&m->smearing));
    for (uint32_t i = 0; i + 4 < 2 * c->n; i++) {
        double pull = random_normal(&m->smearing);

        t.chi2 += pull * pull;
    }
    return store_track(m->g, &t, m->g->n_particles);
}

static int add_hits(struct maker *m, const struct crossings *c)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < c->n; i++)
        r = store_hit(m->g, c->list[i].x, c->list[i].y, c->list[i].z, c->list[i].module,
                      m->g->n_particles);
    return r;
}

static int add_pixels(struct maker *m, const struct crossings *c)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < c->n; i++) {
        const struct crossing *at = &c->list[i];

        r = banks_cross(&m->banks, at->sensor, at->true_x, at->true_y, at->tx, at->ty,
                        m->g->n_particles);
        if (r == 0)
            r = store_crossing(m->g, at->true_x, at->true_y, at->z, at->module, m->g->n_particles);
    }
    return r;
}

/* What a particle leaves, in the form of the preset. */
static int add_items(struct maker *m, const struct gen_particle *p, const struct crossings *c,
                     double z0)
{
    if (m->p->detector == GENERATOR_VELO_BANKS)
        return add_pixels(m, c);
    return m->g->kind == TRG_TRACKS ? add_track(m, p, c, z0) : add_hits(m, c);
}

/* Where material made a particle, as a vertex: what it made at one place shares it. */
static int find_origin(struct maker *m, const struct gen_particle *p, uint32_t *ret_vertex)
{
    const struct generated *g = m->g;
    uint32_t v = m->origin;

    if (v != GENERATOR_NONE && g->vertex_x[v] == (float)p->x && g->vertex_y[v] == (float)p->y &&
        g->vertex_z[v] == (float)p->z) { /* lint: the same number or another */
        *ret_vertex = v;
        return 0;
    }
    return store_vertex(m->g, p->x, p->y, p->z, GENERATOR_OTHER, GENERATOR_NONE, ret_vertex);
}

/* A gen_sink: a particle, its hits or its track, and its truth. */
static int add_particle(void *ctx, const struct gen_particle *p)
{
    struct maker *m = ctx;
    struct store_particle truth;
    struct crossings c;
    bool is_visible;
    int r = 0;

    if (fabs(p->pz) < 0.1 * sqrt(p->px * p->px + p->py * p->py))
        return 0; /* leaves between the modules */
    cross_all(m, p, &c);
    is_visible = c.n >= VISIBLE_HITS;
    if (!c.n || (m->g->kind == TRG_TRACKS && !is_visible))
        return 0;
    gen_truth(p, 0, &truth);
    if (p->vertex == GENERATOR_NONE && m->p->has_material) {
        r = find_origin(m, p, &m->origin);
        truth.vertex = m->origin;
    }
    if (r == 0)
        r = store_particle(m->g, &truth);
    if (r == 0)
        r = add_items(m, p, &c, truth.z0);
    if (r == 0)
        store_keep_particle(m->g, is_visible);
    return r;
}

/* ---------------------------------------------------------------- one collision */

static void at_vertex(const struct maker *m, uint32_t vertex, struct gen_particle *p)
{
    p->x = (double)m->g->vertex_x[vertex];
    p->y = (double)m->g->vertex_y[vertex];
    p->z = (double)m->g->vertex_z[vertex];
    p->vertex = vertex;
}

static void set_momentum(struct gen_particle *p, double pt, double eta, double phi)
{
    p->px = pt * exact_cos(phi);
    p->py = pt * exact_sin_wide(phi);
    p->pz = pt * exact_sinh(eta);
}

static double draw_eta(struct maker *m)
{
    double eta = random_range(&m->random, m->p->has_material ? ETA_MIN_ALL : ETA_MIN, ETA_MAX);

    return random_u64(&m->random) & 1 ? eta : -eta;
}

/* A pair of b hadrons, mostly back to back and near each other in eta. */
static int add_beauty(struct maker *m, uint32_t vertex)
{
    double phi = random_range(&m->random, -EXACT_PI, EXACT_PI);
    double eta = random_range(&m->random, 2, 5);
    int r = 0;

    for (int i = 0; r == 0 && i < 2; i++) {
        struct gen_particle b = {.mass = MASS_BEAUTY};
        double pt = random_exponential(&m->random, 2.5);

        pt += random_exponential(&m->random, 2.5);
        at_vertex(m, vertex, &b);
        set_momentum(&b, pt, eta, phi);
        r = gen_decay_beauty(&m->random, m->g, &b, add_particle, m);
        phi += (phi > 0 ? -EXACT_PI : EXACT_PI) * random_range(&m->random, 0.7, 1.0);
        eta += random_normal(&m->random);
        eta = eta < -ETA_MAX ? -ETA_MAX : eta > ETA_MAX ? ETA_MAX : eta;
    }
    return r;
}

/* The transverse momentum of LHCb's simulated particles: a thermal spectrum of temperatures with a
 * tail; 0.09, 0.36 and 1.4 GeV at 5, 50 and 95 % of those with three hits. */
static double draw_pt(struct maker *m)
{
    double temperature;

    if (!m->p->has_material)
        return gen_pt(&m->random);
    temperature = 0.15 * exact_exp(random_exponential(&m->random, 0.35));
    return 0.02 + random_exponential(&m->random, temperature) +
           random_exponential(&m->random, temperature);
}

enum soft { CHARGED, STRANGE, PHOTON };

/* A pion, or with material also a kaon or a proton. */
static void draw_hadron(struct maker *m, struct gen_particle *p)
{
    double u = m->p->has_material ? random_unit(&m->random) : 1;

    p->mass = u < KAONS ? MASS_KAON : u < KAONS + PROTONS ? MASS_PROTON : MASS_PION;
    p->charge = random_u64(&m->random) & 1 ? 1 : -1;
    p->pdg = p->charge * (u < KAONS ? PDG_KAON : u < KAONS + PROTONS ? PDG_PROTON : PDG_PION);
}

static int add_one_soft(struct maker *m, uint32_t vertex, enum soft kind)
{
    struct gen_particle p = {.mass = MASS_STRANGE, .pdg = PDG_PHOTON};
    double phi, eta, pt;

    at_vertex(m, vertex, &p);
    pt = draw_pt(m);
    eta = draw_eta(m);
    phi = random_range(&m->random, -EXACT_PI, EXACT_PI);
    if (kind == PHOTON) { /* half of what its pion has */
        p.mass = 0;
        pt /= 2;
    }
    set_momentum(&p, pt, eta, phi);
    if (kind != PHOTON)
        draw_hadron(m, &p);
    if (kind == STRANGE)
        p.mass = MASS_STRANGE;
    return kind == STRANGE ? gen_decay_strange(&m->random, m->g, &p, add_particle, m)
                           : add_particle(m, &p);
}

/* What is soft: charged hadrons, neutral kaons, with material also photons.  `mean` charged ones:
 * their number spreads as that of real collisions does, by 70 % about its mean. */
static int add_soft(struct maker *m, uint32_t vertex, double mean)
{
    uint32_t n, n_strange, n_photons = 0;
    int r = 0;

    n = random_poisson(&m->random, mean);
    n_strange =
        random_poisson(&m->random, mean * (m->p->has_material ? STRANGE_RATE_ALL : STRANGE_RATE));
    if (m->p->has_material)
        n_photons = random_poisson(&m->random, mean * PHOTON_RATE);
    for (uint32_t i = 0; r == 0 && i < n + n_strange + n_photons; i++)
        r = add_one_soft(m, vertex, i < n ? CHARGED : i < n + n_strange ? STRANGE : PHOTON);
    return r;
}

static double draw_activity(struct maker *m)
{
    double activity = random_exponential(&m->random, 0.5);

    return activity + random_exponential(&m->random, 0.5);
}

/* Follows what material made, and what that makes. */
static int add_made(struct maker *m)
{
    int r = 0;

    m->origin = GENERATOR_NONE;
    for (uint32_t i = 0; r == 0 && i < m->made.n; i++) {
        struct gen_particle p = m->made.list[i]; /* the list moves as it grows */

        p.vertex = GENERATOR_NONE;
        r = add_particle(m, &p);
    }
    return r == 0 ? m->made.result : r;
}

static int add_collision(struct maker *m)
{
    double x = random_normal(&m->random) * BEAM_SIGMA_XY;
    double y = random_normal(&m->random) * BEAM_SIGMA_XY, z;
    uint32_t vertex;

    do
        z = random_normal(&m->random) * BEAM_SIGMA_Z;
    while (fabs(z) > Z_MAX);
    return store_vertex(m->g, x, y, z, GENERATOR_PRIMARY, GENERATOR_NONE, &vertex);
}

static int add_noise(struct maker *m)
{
    uint32_t n = random_poisson(&m->random, m->p->noise);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        uint32_t module = (uint32_t)(random_u64(&m->random) % MODULES);
        const struct sensor *s = &sensors[random_u64(&m->random) % SENSORS];
        double side = module % 2 ? 1 : -1;
        double u = side * random_range(&m->random, s->u_min, s->u_max);
        double v = side * random_range(&m->random, s->v_min, s->v_max);

        if (m->p->detector == GENERATOR_VELO_BANKS)
            r = banks_noise(&m->banks, (uint32_t)(module * SENSORS) + (uint32_t)(s - sensors));
        else
            r = store_hit(m->g, (u - v) * ROOT_HALF, (u + v) * ROOT_HALF,
                          module_z[module] + s->plane * HALF_GAP, module, GENERATOR_NOISE);
    }
    return r;
}

/* What material made, noise, and the order. */
static int finish(struct maker *m, int r)
{
    if (r == 0)
        r = add_made(m);
    velo_made_free(&m->made);
    if (r == 0 && m->g->kind != TRG_TRACKS)
        r = add_noise(m);
    if (m->p->detector == GENERATOR_VELO_BANKS) {
        if (r == 0)
            r = banks_store(&m->banks, m->g);
        charge_maker_free(&m->banks);
        return r;
    }
    if (r == 0)
        r = store_sort(m->g);
    return r == 0 && m->p->has_material ? store_merge(m->g, CLUSTER) : r;
}

int gen_velo_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                    const struct gen_particle *list, uint32_t n, struct generated *g)
{
    struct maker m = {.p = preset, .g = g};
    int r = 0;

    random_seed(&m.random, seed, i);
    random_seed(&m.smearing, ~seed, i);
    random_seed(&m.banks.random, ~seed, ~i);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_particle(&m, &list[k]);
    return finish(&m, r);
}

static uint32_t draw_collisions(struct maker *m)
{
    const double most = fmin(COLLISIONS_ROOM, fmax(COLLISIONS_MAX, 3 * m->p->pileup));
    uint32_t n;

    do
        n = random_poisson(&m->random, m->p->pileup);
    while (n < 1 || n > most);
    return n;
}

/* Collisions, and how active each is, of an event that is not too busy. */
static uint32_t draw_event(struct maker *m)
{
    uint32_t n;
    double sum;

    do {
        n = draw_collisions(m);
        sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += m->activity[k] = draw_activity(m);
    } while (sum > BUSY * m->p->pileup);
    return n;
}

int gen_velo_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                  struct generated *ret_roi)
{
    struct maker m = {.p = preset, .g = ret_roi};
    uint32_t collisions = 1;
    bool has_beauty;
    int r = 0;

    random_seed(&m.random, seed, i);
    random_seed(&m.smearing, ~seed, i);
    random_seed(&m.banks.random, ~seed, ~i);
    store_begin(ret_roi, generator_kind(preset));
    if (!ret_roi->kind)
        return -ENOMEM;
    store_info(m.g, m.p, i, (uint32_t)(random_u64(&m.random) % 3564), Z_MAX);
    has_beauty = random_unit(&m.random) < preset->b_fraction;
    if (preset->pileup > 0)
        collisions = preset->has_material ? draw_event(&m) : draw_collisions(&m);
    for (uint32_t k = 0; r == 0 && k < collisions; k++)
        r = add_collision(&m);
    if (r == 0 && has_beauty)
        r = add_beauty(&m, 0);
    if (r == 0 && preset->hard_tracks > 0)
        r = add_soft(&m, 0, preset->hard_tracks);
    for (uint32_t k = 0; r == 0 && preset->pileup > 0 && k < collisions; k++) {
        const double activity = preset->has_material ? m.activity[k] : draw_activity(&m);

        r = add_soft(&m, k, preset->tracks * activity);
    }
    return finish(&m, r);
}
