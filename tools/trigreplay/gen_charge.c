/* SPDX-License-Identifier: Apache-2.0 */
#include "gen_charge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "array.h"
#include "exact.h"
#include "gen_store.h"

#define STEPS 16 /* of a delta electron's track */
#define SIDE  24 /* pixels about the crossing that charge is looked for in */

struct charge {      /* in parts of the mean of a particle at a right angle */
    int column, row; /* of the first */
    double in[SIDE][SIDE];
};

static struct geometry geometries[CHARGE_DETECTORS]; /* zero: there was no memory */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_geometries(void)
{
    char why[256];

    geometry_open("velo", &geometries[CHARGE_VELO], why, sizeof why);
    geometry_open("cms", &geometries[CHARGE_CMS], why, sizeof why);
}

const struct geometry *charge_geometry(enum charge_detector detector)
{
    pthread_once(&once, open_geometries);
    return &geometries[detector];
}

void charge_maker_free(struct charge_maker *m)
{
    free(m->pixel);
    m->pixel = NULL;
    m->n = m->room = 0;
}

/* ---------------------------------------------------------------- charge */

int charge_column(const struct geometry *g, double a)
{
    int c = (int)(a / (double)g->pitch), last = (int)g->n_columns - 1;

    if (a < 0)
        return -1;
    c = c > last ? last : c; /* too high at most: some columns are wider */
    while (c > 0 && a < ((double)g->centre[c] + (double)g->centre[c - 1]) / 2)
        c--;
    return a > (double)g->centre[last] + (double)g->pitch / 2 ? -1 : c;
}

int charge_row(const struct geometry *g, double b)
{
    const int r = (int)(b / (double)g->row_pitch);

    return b < 0 || r >= (int)g->n_rows ? -1 : r;
}

static void add(const struct geometry *g, struct charge *q, double a, double b, double part)
{
    const int column = charge_column(g, a), row = charge_row(g, b);
    const int c = column - q->column, r = row - q->row;

    if (column >= 0 && row >= 0 && c >= 0 && c < SIDE && r >= 0 && r < SIDE)
        q->in[c][r] += part;
}

static void drift(struct random *r, const struct charge_model *m, const struct geometry *g,
                  const struct charge_track *w, struct charge *q)
{
    for (uint32_t i = 0; i < w->steps; i++) {
        const double t = (i + 0.5) / w->steps - 0.5;
        const double part = w->length / w->steps * (0.7 + random_exponential(r, 0.3));
        const double b = w->b + t * w->db + random_normal(r) * m->spread;
        const double a = w->a + t * w->da + random_normal(r) * m->spread;

        add(g, q, a, b, part);
    }
}

/* Its charge lies along a straight line from the crossing. */
static void delta_electron(struct random *r, const struct charge_model *m, const struct geometry *g,
                           const struct charge_track *w, struct charge *q)
{
    const double range = random_exponential(r, m->delta_range);
    const double phi = random_range(r, -EXACT_PI, EXACT_PI);
    const double da = range * exact_cos(phi), db = range * exact_sin_wide(phi);

    for (int i = 1; i <= STEPS; i++)
        add(g, q, w->a + da * i / STEPS, w->b + db * i / STEPS, 2.0 / STEPS);
}

static struct charge collect(struct random *r, const struct charge_model *m,
                             const struct geometry *g, const struct charge_track *track)
{
    struct charge q = {.column = charge_column(g, track->a) - SIDE / 2,
                       .row = charge_row(g, track->b) - SIDE / 2};

    drift(r, m, g, track, &q);
    if (random_unit(r) < m->delta_part)
        delta_electron(r, m, g, track, &q);
    return q;
}

/* ---------------------------------------------------------------- pixels */

static int add_pixel(struct charge_maker *m, const struct charge_model *model,
                     struct charge_pixel p)
{
    if (array_grow(&m->pixel, m->n, &m->room, sizeof *m->pixel) < 0)
        return -ENOMEM;
    p.item = (uint64_t)p.sensor << 32 | (uint64_t)(p.column >> model->column_bits) << 16 |
             p.row >> model->row_bits;
    m->pixel[m->n++] = p;
    return 0;
}

int charge_cross(struct charge_maker *m, const struct charge_model *model, uint32_t sensor,
                 const struct charge_track *track, uint32_t particle)
{
    const struct charge q = collect(&m->random, model, charge_geometry(model->detector), track);
    int r = 0;

    for (int c = 0; c < SIDE; c++)
        for (int k = 0; r == 0 && k < SIDE; k++)
            if (q.in[c][k] > model->threshold)
                r = add_pixel(m, model,
                              (struct charge_pixel){.sensor = sensor,
                                                    .column = (uint32_t)(q.column + c),
                                                    .row = (uint32_t)(q.row + k),
                                                    .particle = particle,
                                                    .charge = q.in[c][k]});
    return r;
}

int charge_noise(struct charge_maker *m, const struct charge_model *model, uint32_t sensor)
{
    const struct geometry *g = charge_geometry(model->detector);
    struct charge_pixel p = {.sensor = sensor, .particle = GENERATOR_NOISE};

    if (sensor >= g->n_sensors)
        return -ENOMEM;
    p.column = (uint32_t)(random_u64(&m->random) % g->n_columns);
    p.row = (uint32_t)(random_u64(&m->random) % g->n_rows);
    if (model->noise > 0)
        p.charge = model->threshold + random_exponential(&m->random, model->noise);
    return add_pixel(m, model, p);
}

/* ---------------------------------------------------------------- items */

static int compare(const void *a, const void *b)
{
    const struct charge_pixel *p = a, *q = b;

    if (p->item != q->item)
        return p->item < q->item ? -1 : 1;
    return p->particle < q->particle ? -1 : p->particle > q->particle;
}

int charge_store(struct charge_maker *m, struct generated *g,
                 int (*store)(struct generated *g, const struct charge_pixel *pixel, uint32_t n))
{
    int r = 0;

    if (m->n)
        qsort(m->pixel, m->n, sizeof *m->pixel, compare);
    for (uint32_t first = 0, end; r == 0 && first < m->n; first = end) {
        for (end = first + 1; end < m->n && m->pixel[end].item == m->pixel[first].item; end++) {
        }
        r = store(g, &m->pixel[first], end - first);
        for (uint32_t i = first; r == 0 && i < end; i++)
            if (m->pixel[i].particle != GENERATOR_NOISE)
                r = store_claim(g, g->n - 1, m->pixel[i].particle);
    }
    return r;
}
