/* SPDX-License-Identifier: Apache-2.0 */
/* Silicon of 0.285 mm, pixels of 0.1 mm along phi and 0.15 mm along the beam or the radius, a
 * threshold of a tenth of a particle's mean charge: public facts of CMS's detector since 2017.  In
 * the barrel the magnetic field deflects the drifting charge; places are those of a detector that
 * is corrected for the mean of this Lorentz drift. */
#include "gen_pixels.h"

#include <errno.h>

#include "gen_store.h"

#define LORENTZ_TAN 0.4 /* of the Lorentz angle */
#define STEPS       16  /* and two for each pixel crossed */
#define STEPS_MAX   128
#define CHARGE_MAX  4095

static const struct charge_model silicon = {.detector = CHARGE_CMS,
                                            .thickness = 0.285,
                                            .spread = 0.006,
                                            .delta_part = 0.08,
                                            .delta_range = 0.1,
                                            .threshold = 0.1,
                                            .noise = 0.05};

static double dot(const double *a, const float *b)
{
    return a[0] * (double)b[0] + a[1] * (double)b[1] + a[2] * (double)b[2];
}

const struct geometry_sensor *pixels_module(uint32_t layer, const double place[3])
{
    const struct geometry *g = charge_geometry(CHARGE_CMS);
    const struct geometry_sensor *nearest = NULL;
    double best = INFINITY;

    for (uint32_t i = 0; i < g->n_sensors; i++) {
        const struct geometry_sensor *s = &g->sensor[i];
        const double half_a = (double)g->centre[g->n_columns - 1] / 2;
        const double half_b = (double)g->row_pitch * g->n_rows / 2;
        double square = 0;

        if (s->layer != layer)
            continue;
        for (int k = 0; k < 3; k++) {
            const double d = place[k] - (double)s->corner[k] - half_a * (double)s->column[k] -
                             half_b * (double)s->row[k];

            square += d * d;
        }
        if (square < best) {
            best = square;
            nearest = s;
        }
    }
    return nearest;
}

/* How a particle goes through a module; false: beside it. */
static bool find_track(const struct geometry_sensor *s, const double place[3], const double to[3],
                       struct charge_track *ret)
{
    const struct geometry *g = charge_geometry(CHARGE_CMS);
    const double at[3] = {place[0] - (double)s->corner[0], place[1] - (double)s->corner[1],
                          place[2] - (double)s->corner[2]};
    const double along = dot(to, s->column), across = dot(to, s->row);
    const double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
    const double through = sqrt(square - along * along - across * across); /* the normal part */
    const bool is_barrel = s->column[2] > 0.5f;
    struct charge_track w = {.a = dot(at, s->column), .b = dot(at, s->row)};
    double pixels;

    w.da = along / through * silicon.thickness;
    w.db = across / through * silicon.thickness;
    w.length = sqrt(square) / through;
    if (is_barrel)
        w.db += LORENTZ_TAN * silicon.thickness;
    pixels = fabs(w.da) / (double)g->pitch + fabs(w.db) / (double)g->row_pitch;
    w.steps = pixels < 0.5 * (STEPS_MAX - STEPS) ? STEPS + 2 * (uint32_t)pixels : STEPS_MAX;
    *ret = w;
    return charge_column(g, w.a) >= 0 && charge_row(g, w.b) >= 0;
}

int pixels_cross(struct charge_maker *m, const struct geometry_sensor *module,
                 const double place[3], const double to[3], uint32_t particle)
{
    const uint32_t number = (uint32_t)(module - charge_geometry(CHARGE_CMS)->sensor);
    struct charge_track track;
    int r;

    if (!find_track(module, place, to, &track))
        return 0;
    r = charge_cross(m, &silicon, number, &track, particle);
    return r < 0 ? r : 1;
}

int pixels_noise(struct charge_maker *m)
{
    const uint32_t n = charge_geometry(CHARGE_CMS)->n_sensors;

    return n ? charge_noise(m, &silicon, (uint32_t)(random_u64(&m->random) % n)) : -ENOMEM;
}

/* The charges that particles left in one pixel add up. */
static int store_one(struct generated *g, const struct charge_pixel *p, uint32_t n)
{
    struct store_pixel all = {.module = p->sensor, .column = p->column, .row = p->row};

    for (uint32_t i = 0; i < n; i++) {
        const double counts = p[i].charge * PIXELS_MIP;

        all.charge += counts < CHARGE_MAX ? (uint32_t)(counts + 0.5) : CHARGE_MAX;
    }
    if (all.charge > CHARGE_MAX)
        all.charge = CHARGE_MAX;
    return store_pixel(g, &all, p->particle);
}

int pixels_store(struct charge_maker *m, struct generated *g)
{
    return charge_store(m, g, store_one);
}
