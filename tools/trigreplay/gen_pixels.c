/* SPDX-License-Identifier: Apache-2.0 */
/* Silicon of 0.285 mm, pixels of 0.1 mm along phi and 0.15 mm along the beam or the radius, a
 * threshold of a tenth of a particle's mean charge: public facts of CMS's detector since 2017.  In
 * the barrel charge drifts aside in the magnetic field, by 0.4 of its way; places are those of a
 * detector that is corrected for the mean of it. */
#include "gen_pixels.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "array.h"
#include "gen_charge.h"
#include "gen_store.h"

#define THRESHOLD   0.1
#define NOISE       0.05 /* mean charge of noise over the threshold */
#define DRIFT_ASIDE 0.4
#define STEPS       16 /* and two for each pixel on the way */
#define STEPS_MAX   128
#define CHARGE_MAX  4095
#define COLUMN_BITS 9
#define ROW_BITS    8

static const struct charge_model silicon = {
    .thickness = 0.285, .spread = 0.006, .knocked = 0.08, .knocked_far = 0.1};

static struct geometry geometry; /* zero: it could not be read */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_geometry(void)
{
    char why[256];

    geometry_open("cms", &geometry, why, sizeof why);
}

static const struct geometry *cms(void)
{
    pthread_once(&once, open_geometry);
    return &geometry;
}

void pixels_maker_free(struct pixels_maker *m)
{
    free(m->pixel);
    m->pixel = NULL;
    m->n = m->room = 0;
}

/* ---------------------------------------------------------------- modules */

static double dot(const double *a, const float *b)
{
    return a[0] * (double)b[0] + a[1] * (double)b[1] + a[2] * (double)b[2];
}

const struct geometry_sensor *pixels_module(uint32_t layer, const double place[3])
{
    const struct geometry *g = cms();
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

/* ---------------------------------------------------------------- pixels */

static int add_pixel(struct pixels_maker *m, uint32_t module, uint32_t column, uint32_t row,
                     double charge, uint32_t particle)
{
    const double counts = charge * PIXELS_MIP;

    if (array_grow(&m->pixel, m->n, &m->room, sizeof *m->pixel) < 0)
        return -ENOMEM;
    m->pixel[m->n++] =
        (struct pixels_pixel){.key = module << (COLUMN_BITS + ROW_BITS) | column << ROW_BITS | row,
                              .charge = counts < CHARGE_MAX ? (uint32_t)(counts + 0.5) : CHARGE_MAX,
                              .particle = particle};
    return 0;
}

/* How a particle goes through a module; false: beside it. */
static bool find_way(const struct geometry_sensor *s, const double place[3], const double to[3],
                     struct charge_way *ret)
{
    const struct geometry *g = cms();
    const double at[3] = {place[0] - (double)s->corner[0], place[1] - (double)s->corner[1],
                          place[2] - (double)s->corner[2]};
    const double along = dot(to, s->column), across = dot(to, s->row);
    const double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
    const double through = sqrt(square - along * along - across * across); /* the normal part */
    const bool is_barrel = s->column[2] > 0.5f;
    struct charge_way w = {.a = dot(at, s->column), .b = dot(at, s->row)};
    double pixels;

    w.da = along / through * silicon.thickness;
    w.db = across / through * silicon.thickness;
    w.length = sqrt(square) / through;
    if (is_barrel)
        w.db += DRIFT_ASIDE * silicon.thickness;
    pixels = fabs(w.da) / (double)g->pitch + fabs(w.db) / (double)g->row_pitch;
    w.steps = pixels < 0.5 * (STEPS_MAX - STEPS) ? STEPS + 2 * (uint32_t)pixels : STEPS_MAX;
    *ret = w;
    return charge_column(g, w.a) >= 0 && charge_row(g, w.b) >= 0;
}

int pixels_cross(struct pixels_maker *m, const struct geometry_sensor *module,
                 const double place[3], const double to[3], uint32_t particle)
{
    const uint32_t number = (uint32_t)(module - cms()->sensor);
    struct charge_way way;
    struct charge q;
    int r = 0;

    if (!find_way(module, place, to, &way))
        return 0;
    charge_collect(&m->random, &silicon, cms(), &way, &q);
    for (int c = 0; c < CHARGE_SIDE; c++)
        for (int k = 0; r == 0 && k < CHARGE_SIDE; k++)
            if (q.in[c][k] > THRESHOLD)
                r = add_pixel(m, number, (uint32_t)(q.column + c), (uint32_t)(q.row + k),
                              q.in[c][k], particle);
    return r < 0 ? r : 1;
}

int pixels_noise(struct pixels_maker *m)
{
    const struct geometry *g = cms();
    uint32_t module, column, row;

    if (!g->n_sensors)
        return -ENOMEM;
    module = (uint32_t)(random_u64(&m->random) % g->n_sensors);
    column = (uint32_t)(random_u64(&m->random) % g->n_columns);
    row = (uint32_t)(random_u64(&m->random) % g->n_rows);
    return add_pixel(m, module, column, row, THRESHOLD + random_exponential(&m->random, NOISE),
                     GENERATOR_NOISE);
}

/* ---------------------------------------------------------------- items */

static int compare(const void *a, const void *b)
{
    const struct pixels_pixel *p = a, *q = b;

    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    if (p->particle != q->particle)
        return p->particle < q->particle ? -1 : 1;
    return p->charge < q->charge ? -1 : p->charge > q->charge;
}

/* One pixel, which first .. last - 1 are. */
static int store_one(const struct pixels_maker *m, uint32_t first, uint32_t last,
                     struct generated *g)
{
    const struct pixels_pixel *p = &m->pixel[first];
    struct store_pixel all = {.module = p->key >> (COLUMN_BITS + ROW_BITS),
                              .column = p->key >> ROW_BITS & ((1u << COLUMN_BITS) - 1),
                              .row = p->key & ((1u << ROW_BITS) - 1)};
    int r;

    for (uint32_t i = first; i < last; i++)
        all.charge += m->pixel[i].charge;
    if (all.charge > CHARGE_MAX)
        all.charge = CHARGE_MAX;
    r = store_pixel(g, &all, p->particle);
    for (uint32_t i = first; r == 0 && i < last; i++)
        if (m->pixel[i].particle != GENERATOR_NOISE)
            r = store_claim(g, g->n - 1, m->pixel[i].particle);
    return r;
}

int pixels_store(struct pixels_maker *m, struct generated *g)
{
    int r = 0;

    if (m->n)
        qsort(m->pixel, m->n, sizeof *m->pixel, compare);
    for (uint32_t first = 0, last; r == 0 && first < m->n; first = last) {
        last = first + 1;
        while (last < m->n && m->pixel[last].key == m->pixel[first].key)
            last++;
        r = store_one(m, first, last, g);
    }
    return r;
}
