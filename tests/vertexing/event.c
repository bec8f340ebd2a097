/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

const struct toy toy_velo = {.n_pv = 6,
                             .tracks = 45,
                             .b_fraction = 0,
                             .strange = 0.6,
                             .ghosts = 3,
                             .beam_sigma = 0.03,
                             .sigma_z = 50};

/* splitmix64 */
static uint64_t toy_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double toy_uniform(uint64_t *state)
{
    return ((double)(toy_random(state) >> 11) + 0.5) * 0x1p-53;
}

double toy_gauss(uint64_t *state)
{
    double r = sqrt(-2 * log(toy_uniform(state)));

    return r * cos(2 * PI * toy_uniform(state));
}

static uint32_t poisson(uint64_t *state, double mean)
{
    double limit = exp(-mean), p = toy_uniform(state);
    uint32_t n = 0;

    for (; p > limit; n++)
        p *= toy_uniform(state);
    return n;
}

int event_init(struct event *e, uint32_t room)
{
    memset(e, 0, sizeof *e);
    e->room = room;
    e->vertex = calloc(room, sizeof *e->vertex);
    e->vertices = calloc(EVENT_VERTICES, sizeof *e->vertices);
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        e->column[c] = calloc(room, 4);
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        if (!e->column[c] || !e->vertex || !e->vertices) {
            event_fini(e);
            return -ENOMEM;
        }
    return 0;
}

void event_fini(struct event *e)
{
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        free(e->column[c]);
    free(e->vertex);
    free(e->vertices);
    memset(e, 0, sizeof *e);
}

void event_add(struct event *e, const struct event_track *t, uint32_t vertex)
{
    const double v[10] = {t->x,     t->y,      t->z,        t->tx, t->ty,
                          t->var_x, t->var_tx, t->cov_x_tx, 1,     t->p != 0 ? 1 / t->p : 0};

    if (e->n >= e->room)
        return;
    for (uint32_t c = 0; c < 10; c++)
        event_floats(e, c)[e->n] = (float)v[c];
    ((uint32_t *)e->column[10])[e->n] = 6;
    e->vertex[e->n++] = vertex;
    if (vertex != EVENT_NOBODY)
        e->vertices[vertex].n_tracks++;
}

bool event_has_b(const struct event *e)
{
    for (uint32_t k = 0; k < e->n_vertices; k++)
        if (e->vertices[k].kind == EVENT_BEAUTY && e->vertices[k].n_tracks >= 2)
            return true;
    return false;
}

/* A track from vertex v, measured first where it reaches the sensors, 5.1 mm from the beam. */
static void add_particle(struct event *e, uint64_t *r, uint32_t v, double p, double tx, double ty)
{
    const struct event_vertex *from = &e->vertices[v];
    const double t = sqrt(tx * tx + ty * ty), kick = 1.6e-3 / fabs(p);
    double reach = (5.1 - sqrt(from->x * from->x + from->y * from->y)) / t;
    struct event_track s = {.var_x = 1.2e-2 * 1.2e-2, .p = p};

    reach = reach < 5 ? 5 : reach > 500 ? 500 : reach;
    s.var_tx = kick * kick + 2 * s.var_x / (100.0 * 100.0);
    s.tx = tx + sqrt(s.var_tx) * toy_gauss(r);
    s.ty = ty + sqrt(s.var_tx) * toy_gauss(r);
    s.z = from->z + reach;
    /* the state's errors in x and slope do not know of each other; the track as a line does */
    s.x = from->x + tx * reach + sqrt(s.var_x) * toy_gauss(r);
    s.y = from->y + ty * reach + sqrt(s.var_x) * toy_gauss(r);
    event_add(e, &s, v);
}

static uint32_t add_vertex(struct event *e, double x, double y, double z, uint32_t kind,
                           uint32_t parent)
{
    e->vertices[e->n_vertices] =
        (struct event_vertex){.x = x, .y = y, .z = z, .kind = kind, .parent = parent};
    return e->n_vertices++;
}

/* Something of mass m and transverse momentum scale pt flies c tau and decays to n tracks. */
static void decay(struct event *e, uint64_t *r, uint32_t pv, const double *par, uint32_t n)
{
    const double m = par[0], ctau = par[1], scale = par[2], kick = par[3];
    const struct event_vertex from = e->vertices[pv];
    double pt = scale * (0.3 - log(toy_uniform(r))), phi = 2 * PI * toy_uniform(r);
    double eta = 2.2 + 2.3 * toy_uniform(r), pz = pt * sinh(eta), p = pt * cosh(eta);
    double flight = -log(toy_uniform(r)) * ctau * p / m;
    double tx = pt * cos(phi) / pz, ty = pt * sin(phi) / pz, dz = flight * pz / p;
    uint32_t v;

    if (e->n_vertices >= EVENT_VERTICES || dz > 300)
        return;
    v = add_vertex(e, from.x + tx * dz, from.y + ty * dz, from.z + dz,
                   par[4] != 0 ? EVENT_BEAUTY : EVENT_OTHER, pv);
    for (uint32_t k = 0; k < n; k++) {
        double share = p / (n + 0.5) * (0.4 + 1.2 * toy_uniform(r));
        double kx = kick * toy_gauss(r), ky = kick * toy_gauss(r);

        share = share < 1.5 ? 1.5 : share;
        add_particle(e, r, v, k & 1 ? -share : share, tx + kx / share, ty + ky / share);
    }
}

static void collision(const struct toy *t, struct event *e, uint64_t *r, uint32_t pv)
{
    /* few soft collisions and many hard ones: what an exponential number gives */
    uint32_t n = 2 + (uint32_t)(-log(toy_uniform(r)) * t->tracks);

    for (uint32_t k = 0; k < n && k < 4 * t->tracks; k++) {
        double eta = toy_uniform(r) < 0.75 ? 1.8 + 3.2 * toy_uniform(r) : -1.5 - 2 * toy_uniform(r);
        double pt = 0.15 - 0.45 * log(toy_uniform(r)), phi = 2 * PI * toy_uniform(r);

        add_particle(e, r, pv, (k & 1 ? -1 : 1) * pt * cosh(eta), cos(phi) / sinh(eta),
                     sin(phi) / sinh(eta));
    }
}

void toy_make(const struct toy *t, uint64_t seed, uint64_t i, struct event *e)
{
    static const double strange[] = {0.4976, 26.8, 0.5, 0.2, 0};
    static const double beauty[] = {5.28, 0.455, 4.5, 0.8, 1};
    uint64_t r = seed ^ (i + 1) * 0xd1342543de82ef95u;
    uint32_t n_pv;

    e->n = e->n_vertices = 0;
    e->info = (struct trg_roi_info){.run = 1,
                                    .l1id = (uint32_t)i,
                                    .eta_half = 5,
                                    .phi_half_rad = 4,
                                    .z_min_mm = -300,
                                    .z_max_mm = 300};
    n_pv = poisson(&r, t->n_pv);
    n_pv = n_pv < 1 ? 1 : n_pv > 30 ? 30 : n_pv;
    for (uint32_t k = 0; k < n_pv; k++)
        add_vertex(e, t->beam_x + t->beam_sigma * toy_gauss(&r),
                   t->beam_y + t->beam_sigma * toy_gauss(&r), t->sigma_z * toy_gauss(&r),
                   EVENT_PRIMARY, EVENT_NOBODY);
    for (uint32_t k = 0; k < n_pv; k++)
        collision(t, e, &r, k);
    for (uint32_t k = 0; k < n_pv; k++)
        for (uint32_t s = poisson(&r, t->strange); s > 0; s--)
            decay(e, &r, k, strange, 2);
    if (toy_uniform(&r) < t->b_fraction)
        decay(e, &r, 0, beauty, 2 + (uint32_t)(5 * toy_uniform(&r)));
    for (uint32_t g = poisson(&r, t->ghosts); g > 0; g--) {
        const struct event_track s = {.x = 8 * (2 * toy_uniform(&r) - 1),
                                      .y = 8 * (2 * toy_uniform(&r) - 1),
                                      .z = 300 * (2 * toy_uniform(&r) - 1),
                                      .tx = 0.2 * (2 * toy_uniform(&r) - 1),
                                      .ty = 0.2 * (2 * toy_uniform(&r) - 1),
                                      .var_x = 1.44e-4,
                                      .var_tx = 1e-7,
                                      .p = 5};

        event_add(e, &s, EVENT_NOBODY);
    }
}
