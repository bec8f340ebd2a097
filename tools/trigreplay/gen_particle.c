/* SPDX-License-Identifier: Apache-2.0 */
/* gen_particle.c - a particle that was made: its momentum, its scattering, its truth. */
#include "gen.h"
#include "gen_store.h"

#define BETA_MIN 0.1

double gen_pt(struct random *r)
{
    return 0.1 + 1.5 * (exact_exp(random_exponential(r, 0.2)) - 1);
}

double gen_scatter(const struct gen_particle *p, double x0)
{
    double square = p->px * p->px + p->py * p->py + p->pz * p->pz, size = sqrt(square);
    double beta = size / sqrt(square + p->mass * p->mass);

    return 0.0136 * 0.825 / (size * (beta < BETA_MIN ? BETA_MIN : beta)) * sqrt(x0);
}

/* Where the helix comes closest to the beam line: d0 with the sign of the angular momentum around
 * it there, and z0. */
static void closest_on_helix(const struct gen_particle *p, double pt, double bend,
                             struct store_particle *t)
{
    double cx = p->x + p->charge * bend * p->py / pt, cy = p->y - p->charge * bend * p->px / pt;
    double far = sqrt(cx * cx + cy * cy), scale = 1 - bend / (far > 1e-9 ? far : 1e-9);
    double dx = cx * scale - p->x, dy = cy * scale - p->y;
    double half = sqrt(dx * dx + dy * dy) / (2 * bend);
    double arc = 2 * bend * exact_asin_wide(half < 1 ? half : 1);

    t->d0 = p->charge * (far - bend);
    t->z0 = p->z + (dx * p->px + dy * p->py < 0 ? -arc : arc) * p->pz / pt;
}

void gen_truth(const struct gen_particle *p, double bend, struct store_particle *ret_truth)
{
    double pt = sqrt(p->px * p->px + p->py * p->py), size = sqrt(pt * pt + p->pz * p->pz);
    double eta = exact_log((size + fabs(p->pz)) / pt);
    struct store_particle t = {.vertex = p->vertex,
                               .flags = p->flags,
                               .pt = pt,
                               .eta = p->pz < 0 ? -eta : eta,
                               .phi = exact_atan2(p->py, p->px),
                               .charge = p->charge,
                               .pdg = p->pdg};

    if (bend > 0) {
        closest_on_helix(p, pt, bend, &t);
    } else {
        t.d0 = (p->x * p->py - p->y * p->px) / pt;
        t.z0 = p->z - (p->x * p->px + p->y * p->py) / (pt * pt) * p->pz;
    }
    *ret_truth = t;
}
