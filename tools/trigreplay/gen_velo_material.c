/* SPDX-License-Identifier: Apache-2.0 */
/* What the material of the vertex detector does to particles, and makes of them.  Rates are those
 * of the Review of Particle Physics (passage of particles through matter) for silicon, in the
 * simplest form that gives the hits of LHCb's simulated events: docs/replay.md compares them. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "array.h"
#include "gen_velo.h"

#define MASS_ELECTRON 0.000511 /* GeV */
#define MASS_PROTON   0.93827
#define PDG_ELECTRON  11
#define PDG_PROTON    2212
#define MADE_MAX      100000u /* of one RoI */

#define IONISATION  0.0363 /* GeV in one radiation length of silicon, of a fast particle */
#define KINETIC_MIN 0.0005 /* what is slower stops */
#define KNOCK_ON    0.0022 /* GeV: 0.1535 MeV cm^2/g Z/A in one radiation length */
#define KNOCK_MIN   0.001  /* kinetic energy of an electron that leaves a sensor */
#define BREMS_MIN   0.01   /* part of an electron's energy that a photon takes at least */
#define PAIRS       (7.0 / 9.0 * 1.8)
#define PAIRS_HALF  0.008 /* GeV: photons of this energy make half as many pairs */
/* Interactions in a radiation length: 21.8 g/cm^2 of 120 in sensors.  Supports and cables, and
 * neutral hadrons, which are not followed, make it this many. */
#define NUCLEAR      0.45
#define NUCLEAR_FAST 1.1  /* charged hadrons of one of 1 GeV, mean; grows with the logarithm */
#define NUCLEAR_SLOW 3.2  /* protons that a nucleus loses */
#define NUCLEAR_PT   0.35 /* GeV, mean */

void velo_made_free(struct velo_made *made)
{
    free(made->list);
}

struct way { /* a direction */
    double x, y, z;
};

static struct way along(const struct velo_ray *ray)
{
    double scale = ray->ahead / sqrt(1 + ray->tx * ray->tx + ray->ty * ray->ty);

    return (struct way){ray->tx * scale, ray->ty * scale, scale};
}

/* Points on a sphere, all alike. */
static struct way anywhere(struct random *r)
{
    struct way w;
    double square, scale;

    do {
        w.x = random_range(r, -1, 1);
        w.y = random_range(r, -1, 1);
        w.z = random_range(r, -1, 1);
        square = w.x * w.x + w.y * w.y + w.z * w.z;
    } while (square > 1 || square < 1e-12);
    scale = 1 / sqrt(square);
    return (struct way){w.x * scale, w.y * scale, w.z * scale};
}

/* A direction at right angles to another. */
static struct way across(struct random *r, struct way d)
{
    struct way w;
    double part, square;

    do {
        w = anywhere(r);
        part = w.x * d.x + w.y * d.y + w.z * d.z;
        square = 1 - part * part;
    } while (square < 1e-6);
    square = 1 / sqrt(square);
    return (struct way){(w.x - part * d.x) * square, (w.y - part * d.y) * square,
                        (w.z - part * d.z) * square};
}

/* Makes a particle at the place of a ray, with momenta along a direction and across it. */
static void make(struct velo_made *made, const struct velo_ray *ray, struct gen_particle kind,
                 struct way d, double p_along, struct way c, double p_across)
{
    struct gen_particle p = kind;

    if (made->n >= MADE_MAX)
        return;
    if (array_grow(&made->list, made->n, &made->room, sizeof *made->list) < 0) {
        made->result = -ENOMEM;
        return;
    }
    p.x = ray->x;
    p.y = ray->y;
    p.z = ray->z;
    p.px = p_along * d.x + p_across * c.x;
    p.py = p_along * d.y + p_across * c.y;
    p.pz = p_along * d.z + p_across * c.z;
    made->list[made->n++] = p;
}

static struct gen_particle electron(int charge)
{
    return (struct gen_particle){
        .mass = MASS_ELECTRON, .charge = charge, .pdg = -charge * PDG_ELECTRON};
}

static struct gen_particle hadron(struct random *r, bool is_proton)
{
    int charge = is_proton || random_u64(r) & 1 ? 1 : -1;

    return (struct gen_particle){.mass = is_proton ? MASS_PROTON : MASS_PION,
                                 .charge = charge,
                                 .pdg = charge * (is_proton ? PDG_PROTON : PDG_PION)};
}

static double energy_of(const struct velo_ray *ray)
{
    return sqrt(ray->momentum * ray->momentum + ray->mass * ray->mass);
}

/* Sets its energy; false: it stops. */
static bool slow_down(struct velo_ray *ray, double energy)
{
    struct gen_particle p = {.mass = ray->mass};

    if (energy < ray->mass + KINETIC_MIN)
        return false;
    ray->momentum = sqrt(energy * energy - ray->mass * ray->mass);
    p.pz = ray->momentum;
    ray->scatter = gen_scatter(&p, 1);
    return true;
}

void velo_kink(struct random *r, struct velo_ray *ray, double x0)
{
    double square = 1 + ray->tx * ray->tx + ray->ty * ray->ty;
    double angle = ray->scatter * sqrt(x0 * sqrt(square)) * sqrt(square);

    ray->tx += angle * random_normal(r);
    ray->ty += angle * random_normal(r);
}

/* ---------------------------------------------------------------- electrons and photons */

/* Electrons that are knocked out: their number falls as 1 / T^2; T and the angle are bound. */
static void knock_on(struct random *r, const struct velo_ray *ray, double thick,
                     struct velo_made *made)
{
    double gamma_beta = ray->momentum / ray->mass, e = energy_of(ray), beta = ray->momentum / e;
    double ratio = MASS_ELECTRON / ray->mass;
    double most = 2 * MASS_ELECTRON * gamma_beta * gamma_beta /
                  (1 + 2 * ratio * e / ray->mass + ratio * ratio);
    double t, p, part;
    struct way d = along(ray);

    if (ray->pdg == PDG_ELECTRON || ray->pdg == -PDG_ELECTRON)
        most = (e - MASS_ELECTRON) / 2;
    if (most <= KNOCK_MIN ||
        random_unit(r) >= KNOCK_ON * thick / (beta * beta) * (1 / KNOCK_MIN - 1 / most))
        return;
    t = 1 / (1 / KNOCK_MIN - random_unit(r) * (1 / KNOCK_MIN - 1 / most));
    p = sqrt(t * (t + 2 * MASS_ELECTRON));
    part = t / p * (e + MASS_ELECTRON) / ray->momentum;
    part = part < 1 ? part : 1;
    make(made, ray, electron(-1), d, p * part, across(r, d), p * sqrt(1 - part * part));
}

/* A photon's part k of the energy, as 1 / k. */
static double bremsstrahlung(struct random *r, double thick)
{
    double parts = -exact_log(BREMS_MIN);

    if (random_unit(r) >= 4.0 / 3.0 * thick * parts)
        return 0;
    return exact_exp(-parts * random_unit(r));
}

/* A photon becomes a pair, which shares its energy evenly and opens by about the mass over it. */
static bool pair_of(struct random *r, const struct velo_ray *ray, double thick,
                    struct velo_made *made)
{
    double share = random_unit(r), e = ray->momentum;
    struct way d = along(ray), c;

    if (e < 4 * MASS_ELECTRON || random_unit(r) >= PAIRS * thick * e / (e + PAIRS_HALF))
        return false;
    c = across(r, d);
    for (int i = 0; i < 2; i++) {
        double p = (i ? 1 - share : share) * e;

        if (p > KINETIC_MIN)
            make(made, ray, electron(i ? 1 : -1), d, p, c, (i ? -1 : 1) * MASS_ELECTRON);
    }
    return true;
}

/* ---------------------------------------------------------------- nuclei */

/* A few fast hadrons share most of the momentum, and the nucleus loses slow protons anywhere. */
static void interact(struct random *r, const struct velo_ray *ray, struct velo_made *made)
{
    double grow = ray->momentum > 1 ? exact_log(ray->momentum) : 0;
    uint32_t fast = random_poisson(r, NUCLEAR_FAST + grow);
    uint32_t slow = random_poisson(r, NUCLEAR_SLOW);
    double left = ray->momentum;
    struct way d = along(ray);

    for (uint32_t i = 0; i < fast; i++) {
        double p = left * random_unit(r) * 0.7;
        double pt = random_exponential(r, NUCLEAR_PT / 2) + random_exponential(r, NUCLEAR_PT / 2);
        struct way c = across(r, d); /* before it: the order of arguments is the compiler's */

        left -= p;
        make(made, ray, hadron(r, false), d, p, c, pt);
    }
    for (uint32_t i = 0; i < slow; i++) {
        double p = 0.15 + random_exponential(r, 0.25);
        struct way any = anywhere(r);

        make(made, ray, hadron(r, random_u64(r) % 3 > 0), any, p, d, 0);
    }
}

bool velo_material(struct random *r, struct velo_ray *ray, double x0, struct velo_made *made)
{
    double thick = x0 * sqrt(1 + ray->tx * ray->tx + ray->ty * ray->ty);
    bool is_electron = ray->pdg == PDG_ELECTRON || ray->pdg == -PDG_ELECTRON;
    double e = energy_of(ray), beta = ray->momentum / e;

    if (!ray->charge)
        return !pair_of(r, ray, thick, made);
    knock_on(r, ray, thick, made);
    e -= IONISATION * thick / (beta * beta);
    if (is_electron)
        e *= 1 - bremsstrahlung(r, thick);
    if (!slow_down(ray, e))
        return false;
    velo_kink(r, ray, x0);
    if (!is_electron && random_unit(r) < NUCLEAR * thick) {
        interact(r, ray, made);
        return false;
    }
    return true;
}
