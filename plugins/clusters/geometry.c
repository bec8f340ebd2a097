/* SPDX-License-Identifier: Apache-2.0 */
#include "geometry.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512u
#define NUMBERS    10u   /* most numbers of a line */
#define PLACE_MAX  1e5   /* mm */
#define UNIT_ERROR 1e-4f /* of lengths that are 1 and products that are 0 */

extern const char geometry_velo[], geometry_barrel[]; /* geometry/NAME.txt */
extern const char geometry_cms[];                     /* barrel.txt, then endcaps.txt */
const struct geometry_text geometry_texts[] = {
    {"velo", geometry_velo}, {"barrel", geometry_barrel}, {"cms", geometry_cms}, {0}};

struct reader {
    struct geometry g;
    uint32_t line, room;
    uint32_t chip_columns;
    float edge_pitch;
    char *why;
    size_t why_bytes;
};

static int refuse(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct reader *r, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->why, r->why_bytes, "geometry, line %u: %s", r->line, what);
    return -EINVAL;
}

/* ---------------------------------------------------------------- lines */

/* Exactly n numbers of a line, behind its word. */
static int take_numbers(struct reader *r, const char *at, uint32_t n, double *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        char *end;

        ret[i] = strtod(at, &end);
        if (end == at || !isfinite(ret[i]) || fabs(ret[i]) > PLACE_MAX)
            return refuse(r, "number %u of %u is missing or not within +-%g", i + 1, n, PLACE_MAX);
        at = end;
    }
    at += strspn(at, " \t\r");
    return *at ? refuse(r, "\"%.40s\" stands behind its %u numbers", at, n) : 0;
}

static bool is_count(double v, double max)
{
    return v >= 1 && v <= max && floor(v) == v; /* lint: whole numbers are exact */
}

static int take_matrix(struct reader *r, const char *at)
{
    double v[6];
    int e = take_numbers(r, at, 6, v);

    if (e < 0)
        return e;
    if (r->g.n_columns)
        return refuse(r, "there is a matrix already");
    if (!is_count(v[0], GEOMETRY_SIDE_MAX) || !is_count(v[1], GEOMETRY_SIDE_MAX) ||
        !is_count(v[4], v[0]))
        return refuse(r,
                      "columns and rows are whole numbers from 1 to %u, those of a chip at most "
                      "all of them",
                      GEOMETRY_SIDE_MAX);
    if (!(v[2] > 0 && v[3] > 0 && v[5] > 0))
        return refuse(r, "pitches are larger than 0");
    r->g.n_columns = (uint32_t)v[0];
    r->g.n_rows = (uint32_t)v[1];
    r->g.pitch = (float)v[2];
    r->g.row_pitch = (float)v[3];
    r->chip_columns = (uint32_t)v[4];
    r->edge_pitch = (float)v[5];
    return 0;
}

static float dot(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int take_sensor(struct reader *r, const char *at)
{
    struct geometry *g = &r->g;
    struct geometry_sensor s;
    double v[NUMBERS];
    int e = take_numbers(r, at, NUMBERS, v);

    if (e < 0)
        return e;
    if (v[0] != 0 && !is_count(v[0], UINT16_MAX)) /* lint: whole numbers are exact */
        return refuse(r, "a layer is a whole number from 0 to %u", UINT16_MAX);
    s.layer = (uint32_t)v[0];
    for (uint32_t i = 0; i < 3; i++) {
        s.column[i] = (float)v[1 + i];
        s.row[i] = (float)v[4 + i];
        s.corner[i] = (float)v[7 + i];
    }
    if (fabsf(dot(s.column, s.column) - 1) > UNIT_ERROR ||
        fabsf(dot(s.row, s.row) - 1) > UNIT_ERROR || fabsf(dot(s.column, s.row)) > UNIT_ERROR)
        return refuse(r, "the directions of columns and rows have length 1 and are perpendicular");
    if (g->n_sensors == GEOMETRY_SENSORS_MAX)
        return refuse(r, "there may be %u sensors", GEOMETRY_SENSORS_MAX);
    if (g->n_sensors == r->room) {
        const uint32_t room = r->room ? 2 * r->room : 256;
        struct geometry_sensor *more = realloc(g->sensor, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        g->sensor = more;
        r->room = room;
    }
    g->sensor[g->n_sensors++] = s;
    return 0;
}

static int take_line(struct reader *r, const char *line)
{
    line += strspn(line, " \t\r");
    if (!*line || *line == '#')
        return 0;
    if (!strncmp(line, "matrix ", 7))
        return take_matrix(r, line + 7);
    if (!strncmp(line, "sensor ", 7))
        return take_sensor(r, line + 7);
    return refuse(r, "\"%.40s\": a line begins with matrix, sensor or #", line);
}

/* ---------------------------------------------------------------- all of it */

static int fill_centres(struct reader *r)
{
    struct geometry *g = &r->g;
    double edge = 0;

    g->centre = calloc(g->n_columns + (size_t)1, sizeof *g->centre);
    if (!g->centre)
        return -ENOMEM;
    for (uint32_t c = 0; c < g->n_columns; c++) {
        const uint32_t at = c % r->chip_columns;
        const bool borders =
            (at == 0 && c > 0) || (at == r->chip_columns - 1 && c < g->n_columns - 1);
        const double width = (double)(borders ? r->edge_pitch : g->pitch);

        g->centre[c] = (float)(edge + width / 2);
        edge += width;
    }
    g->centre[g->n_columns] = (float)(edge + (double)g->pitch / 2);
    return 0;
}

static int take_text(struct reader *r, const char *text)
{
    int e = 0;

    while (e == 0 && *text) {
        const size_t n = strcspn(text, "\n");
        char line[LINE_BYTES];

        r->line++;
        if (n >= sizeof line)
            return refuse(r, "it is longer than %u bytes", LINE_BYTES - 1);
        memcpy(line, text, n);
        line[n] = '\0';
        e = take_line(r, line);
        text += n + (text[n] == '\n');
    }
    if (e == 0 && !r->g.n_columns)
        e = refuse(r, "the text ends without a matrix");
    if (e == 0 && !r->g.n_sensors)
        e = refuse(r, "the text ends without a sensor");
    return e;
}

int geometry_read(const char *text, struct geometry *ret, char *why, size_t why_bytes)
{
    struct reader r = {.why = why, .why_bytes = why_bytes};
    int e = take_text(&r, text);

    if (e == 0)
        e = fill_centres(&r);
    if (e == -ENOMEM)
        snprintf(why, why_bytes, "geometry: no memory");
    if (e < 0)
        geometry_fini(&r.g);
    else
        *ret = r.g;
    return e;
}

void geometry_fini(struct geometry *g)
{
    free(g->centre);
    free(g->sensor);
    *g = (struct geometry){0};
}

int geometry_open(const char *name, struct geometry *ret, char *why, size_t why_bytes)
{
    for (const struct geometry_text *t = geometry_texts; t->name; t++)
        if (!strcmp(t->name, name))
            return geometry_read(t->text, ret, why, why_bytes);
    snprintf(why, why_bytes, "there is no geometry \"%s\"", name);
    return -ENOENT;
}
