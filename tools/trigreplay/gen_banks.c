/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels with more charge than a threshold fire.  The spread of charge and the electrons that are
 * knocked out are such that the sizes of clusters are those of LHCb's simulated events: 44 % of one
 * pixel, 36 % of two, 11 % of three. */
#include "gen_banks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "array.h"
#include "gen_charge.h"
#include "gen_store.h"

#define STEPS     16
#define THRESHOLD 0.115 /* of the mean charge of a particle at a right angle */

static const struct charge_model silicon = {
    .thickness = 0.2, .spread = 0.0045, .knocked = 0.08, .knocked_far = 0.1};

static struct geometry geometry; /* zero: it could not be read */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_geometry(void)
{
    char why[256];

    geometry_open("velo", &geometry, why, sizeof why);
}

static const struct geometry *velo(void)
{
    pthread_once(&once, open_geometry);
    return &geometry;
}

void banks_maker_free(struct banks_maker *b)
{
    free(b->pixel);
    b->pixel = NULL;
    b->n = b->room = 0;
}

/* ---------------------------------------------------------------- pixels */

static int add_pixel(struct banks_maker *b, uint32_t sensor, uint32_t column, uint32_t row,
                     uint32_t particle)
{
    if (array_grow(&b->pixel, b->n, &b->room, sizeof *b->pixel) < 0)
        return -ENOMEM;
    b->pixel[b->n++] = (struct banks_pixel){sensor, column, row, particle};
    return 0;
}

static int cross(struct banks_maker *m, const struct geometry *g, uint32_t sensor, double x,
                 double y, double tx, double ty, uint32_t particle)
{
    const struct geometry_sensor *s = &g->sensor[sensor];
    const double dx = x - (double)s->corner[0], dy = y - (double)s->corner[1];
    const double a = dx * (double)s->column[0] + dy * (double)s->column[1];
    const double b = dx * (double)s->row[0] + dy * (double)s->row[1];
    const double da = (tx * (double)s->column[0] + ty * (double)s->column[1]) * silicon.thickness;
    const double db = (tx * (double)s->row[0] + ty * (double)s->row[1]) * silicon.thickness;
    const struct charge_way way = {
        .a = a,
        .b = b,
        .da = da,
        .db = db,
        .length =
            sqrt(da * da + db * db + silicon.thickness * silicon.thickness) / silicon.thickness,
        .steps = STEPS};
    struct charge q;
    int r = 0;

    charge_collect(&m->random, &silicon, g, &way, &q);
    for (int c = 0; c < CHARGE_SIDE; c++)
        for (int k = 0; r == 0 && k < CHARGE_SIDE; k++)
            if (q.in[c][k] > THRESHOLD)
                r = add_pixel(m, sensor, (uint32_t)(q.column + c), (uint32_t)(q.row + k), particle);
    return r;
}

int banks_cross(struct banks_maker *m, uint32_t sensor, double x, double y, double tx, double ty,
                uint32_t particle)
{
    const struct geometry *g = velo();

    return sensor < g->n_sensors ? cross(m, g, sensor, x, y, tx, ty, particle) : -ENOMEM;
}

int banks_noise(struct banks_maker *m, uint32_t sensor)
{
    const struct geometry *g = velo();
    uint32_t column;

    if (sensor >= g->n_sensors)
        return -ENOMEM;
    column = (uint32_t)(random_u64(&m->random) % g->n_columns);
    return add_pixel(m, sensor, column, (uint32_t)(random_u64(&m->random) % g->n_rows),
                     GENERATOR_NOISE);
}

/* ---------------------------------------------------------------- super-pixels */

/* Sensor, column and row of a pixel's super-pixel in the order of a readout. */
static uint32_t key_of(const struct banks_pixel *p)
{
    return p->sensor << 15 | p->column / 2 << 6 | p->row / 4;
}

static int compare(const void *a, const void *b)
{
    const struct banks_pixel *p = a, *q = b;
    const uint32_t x = key_of(p), y = key_of(q);

    if (x != y)
        return x < y ? -1 : 1;
    return p->particle < q->particle ? -1 : p->particle > q->particle;
}

/* One super-pixel, of which pixels first .. last - 1 are. */
static int store_one(const struct banks_maker *b, uint32_t first, uint32_t last,
                     struct generated *g)
{
    const struct banks_pixel *p = &b->pixel[first];
    uint32_t word = p->column / 2 << 14 | p->row / 4 << 8;
    int r;

    for (uint32_t i = first; i < last; i++)
        word |= 1u << (b->pixel[i].column % 2 * 4 + b->pixel[i].row % 4);
    r = store_bank(g, p->sensor, word, p->particle);
    for (uint32_t i = first; r == 0 && i < last; i++)
        if (b->pixel[i].particle != GENERATOR_NOISE)
            r = store_claim(g, g->n - 1, b->pixel[i].particle);
    return r;
}

static uint32_t column_of(uint32_t word)
{
    return word >> 14 & 511;
}

static uint32_t row_of(uint32_t word)
{
    return word >> 8 & 63;
}

static bool are_neighbours(const struct generated_banks *b, uint32_t i, uint32_t k)
{
    const int dr = (int)row_of(b->word[k]) - (int)row_of(b->word[i]);

    return b->sensor[i] == b->sensor[k] && column_of(b->word[k]) - column_of(b->word[i]) <= 1 &&
           dr >= -1 && dr <= 1;
}

/* Sets bit 31 of those without neighbours. */
static void set_hints(struct generated *g)
{
    struct generated_banks *b = &g->banks;

    for (uint32_t i = 0; i < g->n; i++)
        b->word[i] |= 1u << 31;
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = i + 1; k < g->n && b->sensor[k] == b->sensor[i] &&
                                 column_of(b->word[k]) <= column_of(b->word[i]) + 1;
             k++)
            if (are_neighbours(b, i, k)) {
                b->word[i] &= ~(1u << 31);
                b->word[k] &= ~(1u << 31);
            }
}

int banks_store(struct banks_maker *b, struct generated *g)
{
    int r = 0;

    if (b->n)
        qsort(b->pixel, b->n, sizeof *b->pixel, compare);
    for (uint32_t first = 0, last; r == 0 && first < b->n; first = last) {
        last = first + 1;
        while (last < b->n && key_of(&b->pixel[last]) == key_of(&b->pixel[first]))
            last++;
        r = store_one(b, first, last, g);
    }
    set_hints(g);
    return r;
}
