/* SPDX-License-Identifier: Apache-2.0 */
/* The charge that a particle frees along its way through 0.2 mm of silicon drifts to the pixels and
 * spreads a little; pixels with more than a threshold fire.  Sometimes an electron is knocked out
 * and takes charge to neighbouring pixels.  Spread and electrons are such that the sizes of
 * clusters are those of LHCb's simulated events: 44 % of one pixel, 36 % of two, 11 % of three. */
#include "gen_banks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "array.h"
#include "gen_store.h"
#include "geometry.h"

#define STEPS       16
#define THICKNESS   0.2    /* mm */
#define SPREAD      0.0045 /* mm: sigma of the charge of one step where it is collected */
#define THRESHOLD   0.115  /* of the mean charge of a particle at a right angle */
#define KNOCKED     0.08   /* of the particles knock out an electron that leaves its column */
#define KNOCKED_FAR 0.1    /* mm: mean way of it */
#define SIDE        24     /* pixels about the crossing that charge is looked for in */

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

/* The column at a place along them; -1: beside the sensor. */
static int column_at(const struct geometry *g, double a)
{
    int c = (int)(a / (double)g->pitch), last = (int)g->n_columns - 1;

    if (a < 0)
        return -1;
    c = c > last ? last : c; /* too high at most: some columns are wider */
    while (c > 0 && a < ((double)g->centre[c] + (double)g->centre[c - 1]) / 2)
        c--;
    return a > (double)g->centre[last] + (double)g->pitch / 2 ? -1 : c;
}

static int row_at(const struct geometry *g, double b)
{
    const int r = (int)(b / (double)g->row_pitch);

    return b < 0 || r >= (int)g->n_rows ? -1 : r;
}

struct charge {      /* in the pixels about a crossing, as parts of the mean */
    int column, row; /* of the first */
    double in[SIDE][SIDE];
};

static void add_charge(const struct geometry *g, struct charge *q, double a, double b, double part)
{
    const int c = column_at(g, a) - q->column, r = row_at(g, b) - q->row;

    if (column_at(g, a) >= 0 && row_at(g, b) >= 0 && c >= 0 && c < SIDE && r >= 0 && r < SIDE)
        q->in[c][r] += part;
}

/* The charge of a particle at (a, b) in the middle of the sensor, which moves by (da, db) in it. */
static void drift(struct banks_maker *m, const struct geometry *g, struct charge *q, double a,
                  double b, double da, double db)
{
    const double length = sqrt(da * da + db * db + THICKNESS * THICKNESS) / THICKNESS;

    for (int i = 0; i < STEPS; i++) {
        const double t = (i + 0.5) / STEPS - 0.5;
        const double part = length / STEPS * (0.7 + random_exponential(&m->random, 0.3));

        add_charge(g, q, a + t * da + random_normal(&m->random) * SPREAD,
                   b + t * db + random_normal(&m->random) * SPREAD, part);
    }
}

/* An electron's charge along a straight way from the crossing. */
static void knock(struct banks_maker *m, const struct geometry *g, struct charge *q, double a,
                  double b)
{
    const double far = random_exponential(&m->random, KNOCKED_FAR);
    const double phi = random_range(&m->random, -EXACT_PI, EXACT_PI);
    const double da = far * exact_cos(phi), db = far * exact_sin_wide(phi);

    for (int i = 1; i <= STEPS; i++)
        add_charge(g, q, a + da * i / STEPS, b + db * i / STEPS, 2.0 / STEPS);
}

static int cross(struct banks_maker *m, const struct geometry *g, uint32_t sensor, double x,
                 double y, double tx, double ty, uint32_t particle)
{
    const struct geometry_sensor *s = &g->sensor[sensor];
    const double dx = x - (double)s->corner[0], dy = y - (double)s->corner[1];
    const double a = dx * (double)s->column[0] + dy * (double)s->column[1];
    const double b = dx * (double)s->row[0] + dy * (double)s->row[1];
    const double da = (tx * (double)s->column[0] + ty * (double)s->column[1]) * THICKNESS;
    const double db = (tx * (double)s->row[0] + ty * (double)s->row[1]) * THICKNESS;
    struct charge q = {.column = column_at(g, a) - SIDE / 2, .row = row_at(g, b) - SIDE / 2};
    int r = 0;

    drift(m, g, &q, a, b, da, db);
    if (random_unit(&m->random) < KNOCKED)
        knock(m, g, &q, a, b);
    for (int c = 0; c < SIDE; c++)
        for (int k = 0; r == 0 && k < SIDE; k++)
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
