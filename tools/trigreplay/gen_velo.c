/* SPDX-License-Identifier: Apache-2.0 */
/* A detector like the vertex locator of LHCb's upgrade: 26 stations of two modules, one on either
 * side of the beam (modules 0, 2, ... and 1, 3, ...), each of four pixel sensors in two planes,
 * that nearly touch the beam.  There is no field: tracks are straight, but for the kinks that
 * material makes.  Dimensions are public facts of that detector, in mm. */
#include <math.h>
#include <stdbool.h>

#include "gen.h"
#include "gen_store.h"

#define MODULES        52
#define HALF_GAP       0.581 /* from the middle of a module to each of its planes */
#define REACH          56.0  /* no sensor is further from the beam in x or y */
#define SIGMA_HIT      0.0125
#define EFFICIENCY     0.99
#define BEAM_SIGMA_XY  0.035
#define BEAM_SIGMA_Z   63.0
#define Z_MAX          250.0 /* of a collision; the others are drawn again */
#define COLLISIONS_MAX 20
#define ETA_MIN        1.2 /* nothing less forward has three hits */
#define ETA_MAX        5.3
#define FOIL_RADIUS    3.8
#define FOIL_X0        0.010 /* radiation lengths: the foil around the beam, on the average way */
#define SENSOR_X0      0.0094
#define VISIBLE_HITS   3
#define STRANGE_RATE   0.03 /* neutral kaons for each charged particle */
#define SIGMA_QOP      0.005
#define ROOT_HALF      0.70710678118654752440

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
    struct random smearing; /* of tracks: velo and velo-tracks have the same collisions */
    const struct generator_preset *p;
    struct generated *g;
};

struct crossings { /* what one particle leaves: true places are measured to SIGMA_HIT */
    uint32_t n;
    struct crossing {
        double x, y, z;
        uint32_t module;
    } list[MODULES * SENSORS];
};

/* ---------------------------------------------------------------- one particle */

struct ray {                        /* a particle on its way */
    double x, y, z, tx, ty, x0, y0; /* x0, y0: where it would be without kinks at the last plane */
    double scatter;                 /* its angle in one radiation length along the beam */
    bool is_outside;                /* of the foil */
};

static void kink(struct maker *m, struct ray *ray, double x0)
{
    double square = 1 + ray->tx * ray->tx + ray->ty * ray->ty;
    double angle = ray->scatter * sqrt(x0 * sqrt(square)) * sqrt(square);

    ray->tx += angle * random_normal(&m->random);
    ray->ty += angle * random_normal(&m->random);
}

static void go_to(struct ray *ray, double z)
{
    ray->x += ray->tx * (z - ray->z);
    ray->y += ray->ty * (z - ray->z);
    ray->z = z;
}

static bool is_in(const struct sensor *s, double u, double v)
{
    return u > s->u_min && u < s->u_max && v > s->v_min && v < s->v_max;
}

/* The two sensors of a plane of a module: measures, and scatters. */
static void cross_plane(struct maker *m, struct ray *ray, uint32_t module, int plane,
                        struct crossings *c)
{
    double side = module % 2 ? 1 : -1;
    double u = side * (ray->x + ray->y) * ROOT_HALF, v = side * (ray->y - ray->x) * ROOT_HALF;

    for (uint32_t i = 0; i < SENSORS; i++) {
        struct crossing *at = &c->list[c->n];

        if (sensors[i].plane != plane || !is_in(&sensors[i], u, v))
            continue;
        if (random_unit(&m->random) < EFFICIENCY) {
            at->x = ray->x + random_normal(&m->random) * SIGMA_HIT;
            at->y = ray->y + random_normal(&m->random) * SIGMA_HIT;
            at->z = ray->z;
            at->module = module;
            c->n++;
        }
        kink(m, ray, SENSOR_X0);
    }
}

/* All planes ahead of a particle, in its direction. */
static void cross_all(struct maker *m, const struct gen_particle *p, struct crossings *c)
{
    int ahead = p->pz > 0 ? 1 : -1;
    struct ray ray = {.x = p->x,
                      .y = p->y,
                      .z = p->z,
                      .tx = p->px / p->pz,
                      .ty = p->py / p->pz,
                      .scatter = gen_scatter(p, 1)};

    c->n = 0;
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
            kink(m, &ray, FOIL_X0);
            ray.is_outside = true;
            go_to(&ray, z);
        }
        cross_plane(m, &ray, module, plane, c);
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

/* A gen_sink: a charged particle, its hits or its track, and its truth. */
static int add_particle(void *ctx, const struct gen_particle *p)
{
    struct maker *m = ctx;
    struct store_particle truth;
    struct crossings c;
    bool is_visible;
    int r;

    if (fabs(p->pz) < 0.1 * sqrt(p->px * p->px + p->py * p->py))
        return 0; /* leaves between the modules */
    cross_all(m, p, &c);
    is_visible = c.n >= VISIBLE_HITS;
    if (!c.n || (m->g->kind == TRG_TRACKS && !is_visible))
        return 0;
    gen_truth(p, 0, &truth);
    r = store_particle(m->g, &truth);
    if (r == 0)
        r = m->g->kind == TRG_TRACKS ? add_track(m, p, &c, truth.z0) : add_hits(m, &c);
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
    double eta = random_range(&m->random, ETA_MIN, ETA_MAX);

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

/* What is soft: charged pions and neutral kaons.  Their number spreads as that of real collisions
 * does, by 70 % about its mean. */
static int add_soft(struct maker *m, uint32_t vertex)
{
    double activity = random_exponential(&m->random, 0.5);
    double phi, eta, pt;
    uint32_t n, n_strange;
    int r = 0;

    activity += random_exponential(&m->random, 0.5);
    n = random_poisson(&m->random, m->p->tracks * activity);
    n_strange = random_poisson(&m->random, m->p->tracks * activity * STRANGE_RATE);
    for (uint32_t i = 0; r == 0 && i < n + n_strange; i++) {
        struct gen_particle p = {.mass = i < n ? MASS_PION : MASS_STRANGE};

        at_vertex(m, vertex, &p);
        pt = gen_pt(&m->random);
        eta = draw_eta(m);
        phi = random_range(&m->random, -EXACT_PI, EXACT_PI);
        set_momentum(&p, pt, eta, phi);
        p.charge = random_u64(&m->random) & 1 ? 1 : -1;
        p.pdg = p.charge * PDG_PION;
        r = i < n ? add_particle(m, &p) : gen_decay_strange(&m->random, m->g, &p, add_particle, m);
    }
    return r;
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

        r = store_hit(m->g, (u - v) * ROOT_HALF, (u + v) * ROOT_HALF,
                      module_z[module] + s->plane * HALF_GAP, module, GENERATOR_NOISE);
    }
    return r;
}

static void set_info(struct maker *m, uint64_t i)
{
    uint32_t bcid = (uint32_t)(random_u64(&m->random) % 3564);

    m->g->info = (struct trg_roi_info){.run = 1,
                                       .l1id = (uint32_t)i,
                                       .bcid = bcid,
                                       .lumi_block = (uint32_t)(i / 100000) + 1,
                                       .l1_bits = 1,
                                       .eta_half = (float)m->p->eta_half,
                                       .phi_half_rad = (float)m->p->phi_half_rad,
                                       .z_min_mm = (float)-Z_MAX,
                                       .z_max_mm = (float)Z_MAX};
}

int gen_velo_detect(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                    const struct gen_particle *list, uint32_t n, struct generated *g)
{
    struct maker m = {.p = preset, .g = g};
    int r = 0;

    random_seed(&m.random, seed, i);
    random_seed(&m.smearing, ~seed, i);
    for (uint32_t k = 0; r == 0 && k < n; k++)
        r = add_particle(&m, &list[k]);
    if (r == 0 && g->kind == TRG_HITS)
        r = add_noise(&m);
    return r == 0 ? store_sort(g) : r;
}

int gen_velo_make(const struct generator_preset *preset, uint64_t seed, uint64_t i,
                  struct generated *ret_roi)
{
    struct maker m = {.p = preset, .g = ret_roi};
    uint32_t collisions;
    bool has_beauty;
    int r = 0;

    random_seed(&m.random, seed, i);
    random_seed(&m.smearing, ~seed, i);
    store_begin(ret_roi, preset->detector == GENERATOR_VELO_TRACKS ? TRG_TRACKS : TRG_HITS);
    set_info(&m, i);
    has_beauty = random_unit(&m.random) < preset->b_fraction;
    do
        collisions = random_poisson(&m.random, preset->pileup);
    while (collisions < 1 || collisions > COLLISIONS_MAX);
    for (uint32_t k = 0; r == 0 && k < collisions; k++)
        r = add_collision(&m);
    if (r == 0 && has_beauty)
        r = add_beauty(&m, 0);
    for (uint32_t k = 0; r == 0 && k < collisions; k++)
        r = add_soft(&m, k);
    if (r == 0 && ret_roi->kind == TRG_HITS)
        r = add_noise(&m);
    return r == 0 ? store_sort(ret_roi) : r;
}
