/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <math.h>
#include <string.h>

#define SAME_PLANE 0.01f /* mm */
#define NONE       0xffffffffu

/* Hits of a module lie together, as sensors are in order. */
struct range {
    uint32_t from, to;
};

static struct range module_of(const struct products *f, uint16_t layer)
{
    struct range r = {0, 0};

    while (r.from < f->of[0].n && hit_layer(f)[r.from] != layer)
        r.from++;
    for (r.to = r.from; r.to < f->of[0].n && hit_layer(f)[r.to] == layer; r.to++)
        ;
    return r;
}

/* Distance in x and y of crossing i to hit k; infinite on another plane. */
static double distance(const struct generated *g, uint32_t i, const struct products *f, uint32_t k)
{
    if (fabsf(g->hits.z[i] - hit_place(f, 2)[k]) > SAME_PLANE)
        return INFINITY;
    return hypot((double)(g->hits.x[i] - hit_place(f, 0)[k]),
                 (double)(g->hits.y[i] - hit_place(f, 1)[k]));
}

static uint32_t nearest_hit(const struct generated *g, uint32_t i, const struct products *f)
{
    const struct range r = module_of(f, g->hits.layer[i]);
    double best = TRUTH_NEAR;
    uint32_t hit = NONE;

    for (uint32_t k = r.from; k < r.to; k++)
        if (distance(g, i, f, k) < best) {
            best = distance(g, i, f, k);
            hit = k;
        }
    return hit;
}

/* ---------------------------------------------------------------- resolution */

static void add_residual(struct truth *t, uint32_t span, double residual, double sigma)
{
    struct truth_width *w = &t->width[span < TRUTH_WIDTH ? span - 1 : TRUTH_WIDTH - 1];

    w->n++;
    w->square += residual * residual;
    w->pull_square += residual * residual / (sigma * sigma);
}

static double sigma_of(const struct clusters_config *c, uint32_t span, double pitch)
{
    return (double)(span == 1 ? c->sigma_one : span == 2 ? c->sigma_two : c->sigma_more) * pitch;
}

static void add_residuals(struct truth *t, const struct geometry *geometry,
                          const struct generated *g, uint32_t i, const struct clusters_config *c,
                          const struct products *f, uint32_t k)
{
    const uint32_t id = hit_id(f)[k], column = id >> 8 & 1023;
    const struct geometry_sensor *s = &geometry->sensor[id >> 18 & 8191];
    const double dx = (double)(g->hits.x[i] - hit_place(f, 0)[k]);
    const double dy = (double)(g->hits.y[i] - hit_place(f, 1)[k]);
    const uint32_t columns = cluster_columns(f)[k], rows = cluster_rows(f)[k];
    const double pitch = (double)(geometry->centre[column + 1] - geometry->centre[column]);

    add_residual(t, columns, dx * (double)s->column[0] + dy * (double)s->column[1],
                 sigma_of(c, columns, pitch));
    add_residual(t, rows, dx * (double)s->row[0] + dy * (double)s->row[1],
                 sigma_of(c, rows, (double)geometry->row_pitch));
}

void truth_add(struct truth *t, const struct geometry *g, const struct generated *roi,
               const struct clusters_config *c, const struct products *found)
{
    for (uint32_t i = 0; i < roi->n_crossings; i++) {
        const uint32_t k = nearest_hit(roi, i, found);

        t->crossings++;
        if (k == NONE)
            continue;
        t->found++;
        add_residuals(t, g, roi, i, c, found, k);
    }
    t->hits += found->of[0].n;
    for (uint32_t k = 0; k < found->of[0].n; k++) {
        bool is_true = false;

        for (uint32_t i = 0; i < roi->n_crossings && !is_true; i++)
            is_true = distance(roi, i, found, k) < TRUTH_NEAR;
        t->true_hits += is_true;
    }
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double truth_efficiency(const struct truth *t)
{
    return ratio((double)t->found, (double)t->crossings);
}

double truth_purity(const struct truth *t)
{
    return ratio((double)t->true_hits, (double)t->hits);
}

static struct truth_width sum_of(const struct truth *t, uint32_t width)
{
    struct truth_width all = {0};

    for (uint32_t w = 0; w < TRUTH_WIDTH; w++)
        if (width == TRUTH_WIDTH || width == w) {
            all.n += t->width[w].n;
            all.square += t->width[w].square;
            all.pull_square += t->width[w].pull_square;
        }
    return all;
}

double truth_resolution(const struct truth *t, uint32_t width)
{
    const struct truth_width w = sum_of(t, width);

    return 1e3 * sqrt(ratio(w.square, (double)w.n));
}

double truth_pull(const struct truth *t, uint32_t width)
{
    const struct truth_width w = sum_of(t, width);

    return sqrt(ratio(w.pull_square, (double)w.n));
}

/* ---------------------------------------------------------------- as an event */

/* Particles of hit k: the first, and the others behind it. */
static void add_particles(const struct generated *g, const struct products *f, uint32_t k,
                          struct event *e)
{
    uint32_t at = e->shared_begin[k];

    e->particle[k] = EVENT_NOISE;
    for (uint32_t i = 0; i < g->n_crossings; i++) {
        if (g->hits.layer[i] != hit_layer(f)[k] || distance(g, i, f, k) >= TRUTH_NEAR)
            continue;
        if (e->particle[k] == EVENT_NOISE)
            e->particle[k] = g->hits.id[i];
        else if (e->particle[k] != g->hits.id[i] && at < g->n_crossings)
            e->shared[at++] = g->hits.id[i];
    }
    e->shared_begin[k + 1] = at;
}

int truth_event(const struct generated *g, const struct products *f, struct event *ret)
{
    const uint32_t n = f->of[0].n;
    const int r = event_new(n, g->n_particles, g->n_crossings, ret);

    if (r < 0)
        return r;
    ret->info = g->info;
    for (uint32_t k = 0; k < n; k++) {
        ret->x[k] = hit_place(f, 0)[k];
        ret->y[k] = hit_place(f, 1)[k];
        ret->z[k] = hit_place(f, 2)[k];
        ret->layer[k] = hit_layer(f)[k];
        ret->id[k] = hit_id(f)[k];
        add_particles(g, f, k, ret);
    }
    memcpy(ret->flags, g->particle_flags, g->n_particles * sizeof *ret->flags);
    memcpy(ret->pdg, g->pdg, g->n_particles * sizeof *ret->pdg);
    memcpy(ret->eta, g->eta, g->n_particles * sizeof *ret->eta);
    return 0;
}
