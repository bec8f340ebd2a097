/* SPDX-License-Identifier: Apache-2.0 */
#include "crossings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../plugins/clusters/parameters.h"
#include "gen_pixels.h"

#define BATCH      4u
#define SAME_PLANE 0.02 /* mm */
#define NONE       0xffffffffu

/* ---------------------------------------------------------------- the plugin */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct generated *g = (const struct generated *)rois + i;
    const struct generated_pixels *p = &g->pixels;

    ret_sources[0] =
        (struct stage_source){.n = g->n, .column = {p->module, p->column, p->row, p->charge}};
    *ret_info = g->info;
}

const char *const crossings_settings[] = {
    "geometry", "cms", "sigma_one", "0.222", "sigma_two", "0.14", "sigma_more", "0.22", NULL};

int crossings_run(const struct algo_host *pixels, const struct generated *roi, uint32_t n,
                  struct products *ret_found)
{
    struct trg_result *results = calloc(n, sizeof *results);
    struct pixels_config config;
    struct batches_setup setup = {.host = &pixels->host,
                                  .plugin = &pixels->plugin->d,
                                  .config = &config,
                                  .slots = 2,
                                  .max_rois = BATCH,
                                  .max_items = 1};
    struct batches *b = NULL;
    int r = results ? algo_configure(pixels->plugin, NULL, crossings_settings, &config) : -ENOMEM;

    for (uint32_t i = 0; i < n; i++)
        setup.max_items = roi[i].n * BATCH > setup.max_items ? roi[i].n * BATCH : setup.max_items;
    if (r == 0)
        r = backends_device(pixels->backends, "cpu", 0, &setup.device);
    if (r == 0)
        r = batches_open(&setup, &b);
    if (r == 0)
        r = batches_run(
            b, &(struct batches_work){
                   .n = n, .input = input, .rois = roi, .results = results, .products = ret_found});
    batches_close(b);
    free(results);
    return r;
}

/* ---------------------------------------------------------------- crossings */

static double hit_place(const struct products *f, uint32_t k, int axis)
{
    return (double)((const float *)f->of[0].column[axis])[k];
}

static uint16_t hit_layer(const struct products *f, uint32_t k)
{
    return ((const uint16_t *)f->of[0].column[3])[k];
}

struct offset { /* of a hit from a crossing, mm */
    double column, row, square;
};

/* false: they are far from each other, or not in one plane. */
static bool find_offset(const struct geometry_sensor *s, const double place[3],
                        const struct products *f, uint32_t k, struct offset *ret)
{
    struct offset o = {0};

    if (hit_layer(f, k) != s->layer)
        return false;
    for (int axis = 0; axis < 3; axis++) {
        const double d = hit_place(f, k, axis) - place[axis];

        o.column += d * (double)s->column[axis];
        o.row += d * (double)s->row[axis];
        o.square += d * d;
    }
    *ret = o;
    return fabs(o.column) < CROSSING_NEAR && fabs(o.row) < CROSSING_NEAR &&
           o.square - o.column * o.column - o.row * o.row < SAME_PLANE * SAME_PLANE;
}

/* The hit nearest to crossing i, and for each hit the crossing nearest to it so far. */
static uint32_t nearest_hit(const struct generated *g, uint32_t i, const struct products *f,
                            double *square, uint32_t *crossing_of, struct offset *ret)
{
    const double place[3] = {(double)g->hits.x[i], (double)g->hits.y[i], (double)g->hits.z[i]};
    const struct geometry_sensor *s = pixels_module(g->hits.layer[i], place);
    uint32_t hit = NONE;

    for (uint32_t k = 0; s && k < f->of[0].n; k++) {
        struct offset o;

        if (!find_offset(s, place, f, k, &o))
            continue;
        if (o.square < square[k]) {
            square[k] = o.square;
            crossing_of[k] = i;
        }
        if (hit == NONE || o.square < ret->square) {
            hit = k;
            *ret = o;
        }
    }
    return hit;
}

static void add_residual(struct crossing_width *w, uint32_t span, double residual, double sigma)
{
    w += span < CROSSING_SPANS ? span - 1 : CROSSING_SPANS - 1;
    w->n++;
    w->square += residual * residual;
    w->pull_square += sigma > 0 ? residual * residual / (sigma * sigma) : 0;
}

static void add_residuals(struct crossings *c, const struct generated *g, uint32_t i,
                          const struct products *f, uint32_t k, const struct offset *o)
{
    const double place[3] = {(double)g->hits.x[i], (double)g->hits.y[i], (double)g->hits.z[i]};
    const struct geometry_sensor *s = pixels_module(g->hits.layer[i], place);
    const struct product *p = &f->of[1];
    const double xx = (double)((const float *)p->column[4])[k];
    const double yy = (double)((const float *)p->column[5])[k];
    const double xy = (double)((const float *)p->column[6])[k];
    const double rx = (double)s->row[0], ry = (double)s->row[1];

    add_residual(c->column, ((const uint16_t *)p->column[1])[k], o->column, 0);
    add_residual(c->row, ((const uint16_t *)p->column[2])[k], o->row,
                 sqrt(rx * rx * xx + ry * ry * yy + 2 * rx * ry * xy));
}

/* For each hit its crossing, or NONE; counts what was found where `c` is not NULL. */
static uint32_t *match(const struct generated *g, const struct products *f, struct crossings *c)
{
    const uint32_t n = f->of[0].n;
    uint32_t *crossing_of = malloc((n + 1) * sizeof *crossing_of);
    double *square = malloc((n + 1) * sizeof *square);

    for (uint32_t k = 0; crossing_of && square && k < n; k++) {
        crossing_of[k] = NONE;
        square[k] = INFINITY;
    }
    for (uint32_t i = 0; crossing_of && square && i < g->n_crossings; i++) {
        struct offset o = {0};
        const uint32_t k = nearest_hit(g, i, f, square, crossing_of, &o);

        if (!c)
            continue;
        c->crossings++;
        if (k == NONE)
            continue;
        c->found++;
        add_residuals(c, g, i, f, k, &o);
    }
    if (!square) {
        free(crossing_of);
        crossing_of = NULL;
    }
    free(square);
    return crossing_of;
}

int crossings_add(struct crossings *c, const struct generated *roi, const struct products *found)
{
    uint32_t *crossing_of = match(roi, found, c);

    if (!crossing_of)
        return -ENOMEM;
    c->hits += found->of[0].n;
    for (uint32_t k = 0; k < found->of[0].n; k++)
        c->true_hits += crossing_of[k] != NONE;
    free(crossing_of);
    return 0;
}

static double root_of(double square, double n)
{
    return n > 0 ? sqrt(square / n) : 0;
}

double crossings_resolution(const struct crossing_width *w, uint32_t n)
{
    double square = 0, all = 0;

    for (uint32_t i = 0; i < n; i++) {
        square += w[i].square;
        all += (double)w[i].n;
    }
    return 1e3 * root_of(square, all);
}

double crossings_pull(const struct crossing_width *w, uint32_t n)
{
    double square = 0, all = 0;

    for (uint32_t i = 0; i < n; i++) {
        square += w[i].pull_square;
        all += (double)w[i].n;
    }
    return root_of(square, all);
}

/* ---------------------------------------------------------------- as an event */

int crossings_event(struct generated *roi, const struct products *found, struct event *ret)
{
    const uint32_t n = found->of[0].n;
    uint32_t *crossing_of = match(roi, found, NULL);

    memset(ret, 0, sizeof *ret);
    if (!crossing_of)
        return -ENOMEM;
    for (uint32_t k = 0; k < n; k++) {
        roi_hit(&ret->roi, hit_place(found, k, 0), hit_place(found, k, 1), hit_place(found, k, 2),
                hit_layer(found, k));
        if (crossing_of[k] != NONE)
            crossing_of[k] = roi->hits.id[crossing_of[k]];
    }
    ret->truth = *roi;
    generated_init(roi);
    free(ret->truth.particle);
    ret->truth.particle = crossing_of; /* NONE is GENERATOR_NOISE */
    ret->truth.particle_of_room = ret->truth.n = n;
    return 0;
}
