/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

/* One sensor.  owner: of a pixel that may touch only its own super-pixel that one's number plus
 * one, 0 of others. */
struct matrix {
    const struct geometry *g;
    unsigned char *fired;
    uint32_t *owner;
    uint32_t *stack;
};

static uint32_t pixel_at(const struct matrix *m, uint32_t column, uint32_t row)
{
    return row * m->g->n_columns + column;
}

/* ---------------------------------------------------------------- pixels */

static bool is_good(const struct geometry *g, uint32_t sensor, uint32_t word)
{
    const uint32_t column = word >> 14 & 511, row = word >> 8 & 63;

    return sensor < g->n_sensors && 2 * column + 1 < g->n_columns && 4 * row + 3 < g->n_rows &&
           (word >> 23 & 255) == 0 && (word & 255) != 0;
}

/* Whether all words of this one's super-pixel say that it is alone. */
static bool is_alone(const struct banks *b, uint32_t i)
{
    for (uint32_t k = 0; k < b->n; k++)
        if (b->sensor[k] == b->sensor[i] &&
            (b->word[k] & 0x7fffff00u) == (b->word[i] & 0x7fffff00u) && (b->word[k] & 255) &&
            !(b->word[k] >> 31))
            return false;
    return true;
}

static void fill(struct matrix *m, const struct banks *b, uint32_t sensor, bool hint)
{
    const size_t n = (size_t)m->g->n_columns * m->g->n_rows;

    memset(m->fired, 0, n);
    memset(m->owner, 0, n * sizeof *m->owner);
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t column = b->word[i] >> 14 & 511, row = b->word[i] >> 8 & 63;
        const bool alone = hint && b->sensor[i] == sensor && is_alone(b, i);

        if (b->sensor[i] != sensor || !is_good(m->g, sensor, b->word[i]))
            continue;
        for (uint32_t k = 0; k < 8; k++)
            if (b->word[i] >> k & 1) {
                const uint32_t at = pixel_at(m, 2 * column + k / 4, 4 * row + k % 4);

                m->fired[at] = 1;
                m->owner[at] = alone ? row * 512 + column + 1 : 0;
            }
    }
}

/* ---------------------------------------------------------------- clusters */

struct extent {
    uint32_t n, column_min, column_max, row_min, row_max;
    double sum_column, sum_row;
};

static bool is_before(const uint32_t *a, const uint32_t *b)
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

static void add_pixel(struct extent *e, struct reference_cluster *c, uint32_t column, uint32_t row)
{
    const uint32_t order[3] = {column / 2, row / 4, row};

    if (!e->n || is_before(order, c->first))
        memcpy(c->first, order, sizeof order);
    e->column_min = !e->n || column < e->column_min ? column : e->column_min;
    e->column_max = !e->n || column > e->column_max ? column : e->column_max;
    e->row_min = !e->n || row < e->row_min ? row : e->row_min;
    e->row_max = !e->n || row > e->row_max ? row : e->row_max;
    e->sum_column += column;
    e->sum_row += row;
    e->n++;
}

/* Puts those neighbours of a pixel that touch it on the stack. */
static void push_neighbours(struct matrix *m, uint32_t at, uint32_t *depth)
{
    const int column = (int)(at % m->g->n_columns), row = (int)(at / m->g->n_columns);

    for (int dc = -1; dc <= 1; dc++)
        for (int dr = -1; dr <= 1; dr++) {
            const int c = column + dc, r = row + dr;
            uint32_t next;

            if (c < 0 || r < 0 || c >= (int)m->g->n_columns || r >= (int)m->g->n_rows)
                continue;
            next = pixel_at(m, (uint32_t)c, (uint32_t)r);
            if (!m->fired[next] || m->owner[next] != m->owner[at])
                continue;
            m->fired[next] = 0;
            m->stack[(*depth)++] = next;
        }
}

static void place(const struct geometry *g, const struct extent *e, struct reference_cluster *c)
{
    const struct geometry_sensor *s = &g->sensor[c->sensor];
    const double column = e->sum_column / e->n, row = e->sum_row / e->n;
    const double here = (double)g->centre[c->column], next = (double)g->centre[c->column + 1];
    const double a = here + (column - c->column) * (next - here);
    const double b = (row + 0.5) * (double)g->row_pitch;

    for (int i = 0; i < 3; i++)
        c->place[i] = (double)s->column[i] * a + (double)s->row[i] * b + (double)s->corner[i];
}

static int flood(struct matrix *m, uint32_t sensor, uint32_t at, struct reference *r)
{
    struct reference_cluster c = {.sensor = sensor};
    struct extent e = {0};
    uint32_t depth = 1;

    m->fired[at] = 0;
    m->stack[0] = at;
    while (depth) {
        const uint32_t here = m->stack[--depth];

        add_pixel(&e, &c, here % m->g->n_columns, here / m->g->n_columns);
        push_neighbours(m, here, &depth);
    }
    c.size = e.n;
    c.column = (uint32_t)(e.sum_column / e.n);
    c.row = (uint32_t)(e.sum_row / e.n);
    c.n_columns = e.column_max - e.column_min + 1;
    c.n_rows = e.row_max - e.row_min + 1;
    place(m->g, &e, &c);
    r->n_pixels += e.n;
    if (array_grow(&r->cluster, r->n, &r->room, sizeof *r->cluster) < 0)
        return -ENOMEM;
    r->cluster[r->n++] = c;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct reference_cluster *p = a, *q = b;

    if (p->sensor != q->sensor)
        return p->sensor < q->sensor ? -1 : 1;
    return is_before(p->first, q->first) ? -1 : 1;
}

static int make(struct matrix *m, const struct banks *b, bool hint, struct reference *r)
{
    const uint32_t pixels = m->g->n_columns * m->g->n_rows;
    int e = 0;

    for (uint32_t s = 0; s < m->g->n_sensors; s++) {
        bool is_hit = false;

        for (uint32_t i = 0; i < b->n; i++)
            is_hit = is_hit || b->sensor[i] == s;
        if (!is_hit)
            continue;
        fill(m, b, s, hint);
        for (uint32_t at = 0; e == 0 && at < pixels; at++)
            if (m->fired[at])
                e = flood(m, s, at, r);
    }
    for (uint32_t i = 0; i < b->n; i++)
        r->n_bad += !is_good(m->g, b->sensor[i], b->word[i]);
    if (r->n)
        qsort(r->cluster, r->n, sizeof *r->cluster, compare);
    return e;
}

int reference_make(const struct geometry *g, const struct banks *b, bool hint,
                   struct reference *ret)
{
    const size_t n = (size_t)g->n_columns * g->n_rows;
    struct matrix m = {g, malloc(n), malloc(n * sizeof *m.owner), malloc(n * sizeof *m.stack)};
    struct reference r = {0};
    int e = m.fired && m.owner && m.stack ? make(&m, b, hint, &r) : -ENOMEM;

    free(m.fired);
    free(m.owner);
    free(m.stack);
    if (e < 0)
        reference_free(&r);
    else
        *ret = r;
    return e;
}

void reference_free(struct reference *r)
{
    free(r->cluster);
    *r = (struct reference){0};
}
