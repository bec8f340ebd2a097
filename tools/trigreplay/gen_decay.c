/* SPDX-License-Identifier: Apache-2.0 */
/* Decays: b hadrons, the charmed hadrons that they make, and neutral kaons.  Momenta are isotropic
 * in the rest frame and then boosted; lifetimes, masses and numbers of products are those of
 * nature on the average. */
#include "gen.h"
#include "gen_store.h"

#define PRODUCTS_MAX   12
#define CTAU_BEAUTY    0.455 /* mm */
#define CTAU_CHARM     0.20  /* between D0 and D+ */
#define CTAU_STRANGE   26.84
#define MASS_CHARM     1.867
#define SCALE_ROUNDS   60
#define BEAUTY_CHARGED 1.7 /* of a b decay, mean number of pions, beside the charmed hadron */
#define BEAUTY_NEUTRAL 1.2
#define CHARM_CHARGED  0.9 /* of a charm decay, beside a kaon and a pion */
#define CHARM_NEUTRAL  0.7

struct product {
    double mass, p[3];
    int charge, pdg; /* charge 0: not seen; pdg 0 and charge 0: the charmed hadron */
};

struct products {
    uint32_t n;
    struct product list[PRODUCTS_MAX];
};

static void add(struct products *all, double mass, int charge, int pdg)
{
    all->list[all->n++] = (struct product){.mass = mass, .charge = charge, .pdg = pdg};
}

static void add_pions(struct random *r, struct products *all, uint32_t charged, uint32_t neutral)
{
    int charge = random_u64(r) & 1 ? 1 : -1;

    for (uint32_t i = 0; i < charged; i++, charge = -charge)
        add(all, MASS_PION, charge, charge * PDG_PION);
    for (uint32_t i = 0; i < neutral; i++)
        add(all, MASS_PI_ZERO, 0, 111);
}

static double square(const double *p)
{
    return p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
}

/* An isotropic direction: a point of a ball (Marsaglia 1972), put on its surface. */
static void random_direction(struct random *r, double *ret)
{
    double s, scale;

    do {
        for (int i = 0; i < 3; i++)
            ret[i] = random_range(r, -1, 1);
        s = square(ret);
    } while (s > 1 || s < 1e-12);
    scale = 1 / sqrt(s);
    for (int i = 0; i < 3; i++)
        ret[i] *= scale;
}

static double energy(const struct products *all, double scale)
{
    double sum = 0;

    for (uint32_t i = 0; i < all->n; i++)
        sum += sqrt(all->list[i].mass * all->list[i].mass + scale * scale * square(all->list[i].p));
    return sum;
}

/* Momenta in the rest frame: they cancel, and the energies make up the mass. */
static void share_out(struct random *r, double mass, struct products *all)
{
    double mean[3] = {0}, low = 0, high = 1e6;

    for (uint32_t i = 0; i < all->n; i++) {
        double size = random_exponential(r, 1) + 0.2;

        random_direction(r, all->list[i].p);
        for (int k = 0; k < 3; k++) {
            all->list[i].p[k] *= size;
            mean[k] += all->list[i].p[k] / all->n;
        }
    }
    for (uint32_t i = 0; i < all->n; i++)
        for (int k = 0; k < 3; k++)
            all->list[i].p[k] -= mean[k];
    for (int i = 0; i < SCALE_ROUNDS; i++) {
        double middle = (low + high) / 2;

        *(energy(all, middle) < mass ? &low : &high) = middle;
    }
    for (uint32_t i = 0; i < all->n; i++)
        for (int k = 0; k < 3; k++)
            all->list[i].p[k] *= low;
}

/* From the rest frame of a particle of that mass to where its momentum is p. */
static void boost(const double *p, double mass, struct products *all)
{
    double e = sqrt(mass * mass + square(p));

    for (uint32_t i = 0; i < all->n; i++) {
        double *q = all->list[i].p, q_e = sqrt(all->list[i].mass * all->list[i].mass + square(q));
        double along = (p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) / (mass * (e + mass));

        for (int k = 0; k < 3; k++)
            q[k] += p[k] * (along + q_e / mass);
    }
}

/* The decay's place, as a vertex of the truth. */
static int fly(struct random *r, struct generated *g, const struct gen_particle *p, double ctau,
               uint32_t kind, struct gen_particle *ret_there)
{
    double t = random_exponential(r, ctau) / p->mass; /* flight over momentum */
    struct gen_particle there = *p;
    int made;

    there.x += p->px * t;
    there.y += p->py * t;
    there.z += p->pz * t;
    made = store_vertex(g, there.x, there.y, there.z, kind, p->vertex, &there.vertex);
    if (made == 0)
        *ret_there = there;
    return made;
}

/* Gives the products at a decay's place to the sink; what has pdg 0 goes to `next`. */
static int hand_out(const struct products *all, const struct gen_particle *there, uint32_t flags,
                    gen_sink *sink, void *ctx, struct gen_particle *next)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < all->n; i++) {
        const struct product *q = &all->list[i];
        struct gen_particle p = *there;

        p.px = q->p[0];
        p.py = q->p[1];
        p.pz = q->p[2];
        p.mass = q->mass;
        p.charge = q->charge;
        p.pdg = q->pdg;
        p.flags = there->flags | flags;
        if (!q->pdg)
            *next = p;
        else if (q->charge)
            result = sink(ctx, &p);
    }
    return result;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

static int decay_charm(struct random *r, struct generated *g, const struct gen_particle *p,
                       gen_sink *sink, void *ctx)
{
    const double momentum[3] = {p->px, p->py, p->pz};
    struct products all = {.n = 0};
    struct gen_particle there = *p, none;
    uint32_t charged, neutral;
    int charge = random_u64(r) & 1 ? 1 : -1;
    int result = fly(r, g, p, CTAU_CHARM, GENERATOR_CHARM, &there);

    if (result < 0)
        return result;
    charged = 1 + at_most(random_poisson(r, CHARM_CHARGED), 2);
    neutral = at_most(random_poisson(r, CHARM_NEUTRAL), 2);
    add(&all, MASS_KAON, charge, charge * PDG_KAON);
    add_pions(r, &all, charged, neutral);
    share_out(r, p->mass, &all);
    boost(momentum, p->mass, &all);
    return hand_out(&all, &there, GENERATOR_FROM_CHARM, sink, ctx, &none);
}

int gen_decay_beauty(struct random *r, struct generated *g, const struct gen_particle *p,
                     gen_sink *sink, void *ctx)
{
    const double momentum[3] = {p->px, p->py, p->pz};
    struct products all = {.n = 0};
    struct gen_particle there = *p, charm;
    uint32_t charged, neutral;
    int result = fly(r, g, p, CTAU_BEAUTY, GENERATOR_BEAUTY, &there);

    if (result < 0)
        return result;
    charged = 1 + at_most(random_poisson(r, BEAUTY_CHARGED), 5);
    neutral = at_most(random_poisson(r, BEAUTY_NEUTRAL), 3);
    add(&all, MASS_CHARM, 0, 0);
    add_pions(r, &all, charged, neutral);
    share_out(r, p->mass, &all);
    boost(momentum, p->mass, &all);
    charm = there;
    result = hand_out(&all, &there, GENERATOR_FROM_BEAUTY, sink, ctx, &charm);
    return result < 0 ? result : decay_charm(r, g, &charm, sink, ctx);
}

int gen_decay_strange(struct random *r, struct generated *g, const struct gen_particle *p,
                      gen_sink *sink, void *ctx)
{
    const double momentum[3] = {p->px, p->py, p->pz};
    struct products all = {.n = 0};
    struct gen_particle there = *p, none;
    int result = fly(r, g, p, CTAU_STRANGE, GENERATOR_STRANGE, &there);

    if (result < 0)
        return result;
    add_pions(r, &all, 2, 0);
    share_out(r, p->mass, &all);
    boost(momentum, p->mass, &all);
    return hand_out(&all, &there, GENERATOR_FROM_STRANGE, sink, ctx, &none);
}
