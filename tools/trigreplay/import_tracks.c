/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of any finder as a table: the columns of the collection tracks by their names, and `event`
 * where a file has several events, whose rows stand together.  NAME-vertices.csv beside
 * NAME-tracks.csv tells the true vertices: x, y, z, n_tracks, kind, and event. */
#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "gen_store.h"
#include "import_csv.h"

#define PLACE_MAX  1e5 /* mm */
#define SLOPE_MAX  1e6
#define ERROR_MAX  1e12
#define TRACKS_MAX 4000000

/* Columns in the order of struct store_track; those from COV on may be left out, and are 0. */
enum { X, Y, Z, TX, TY, VAR_X, VAR_TX, COV, CHI2, QOP, HITS, COLUMNS };
static const struct {
    const char *name;
    double min, max;
} columns[COLUMNS] = {
    {"x", -PLACE_MAX, PLACE_MAX},  {"y", -PLACE_MAX, PLACE_MAX},
    {"z", -PLACE_MAX, PLACE_MAX},  {"tx", -SLOPE_MAX, SLOPE_MAX},
    {"ty", -SLOPE_MAX, SLOPE_MAX}, {"var_x", 0, ERROR_MAX},
    {"var_tx", 0, ERROR_MAX},      {"cov_x_tx", -ERROR_MAX, ERROR_MAX},
    {"chi2", 0, ERROR_MAX},        {"qop", -ERROR_MAX, ERROR_MAX},
    {"n_hits", 0, UINT16_MAX},
};

struct vertex { /* of the file beside the tracks */
    uint64_t event;
    double place[3];
    uint32_t kind, tracks;
};

struct events {
    struct import *im;
    struct csv *c;
    int column[COLUMNS], event_column; /* negative: it is not there */
    bool is_open;
    uint64_t event;
    bool has_vertices;
    struct vertex *vertices;
    uint32_t n_vertices, room;
};

/* ---------------------------------------------------------------- the truth */

static int add_vertex(struct events *e, const struct vertex *v)
{
    if (array_grow(&e->vertices, e->n_vertices, &e->room, sizeof *e->vertices) < 0)
        return csv_no_memory(e->c);
    e->vertices[e->n_vertices++] = *v;
    return 0;
}

/* A row of the vertices' file; `event` is its column, or negative for one event. */
static int read_vertex(struct events *e, const struct csv *c, const uint32_t *column, int event)
{
    struct vertex v = {.event = e->event};
    uint64_t kind = 0, tracks = 0;
    int r = event < 0 ? 0 : csv_unsigned(c, (uint32_t)event, UINT32_MAX, &v.event);

    for (uint32_t i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, column[i], -PLACE_MAX, PLACE_MAX, &v.place[i]);
    if (r == 0)
        r = csv_unsigned(c, column[3], UINT16_MAX, &tracks);
    if (r == 0)
        r = csv_unsigned(c, column[4], GENERATOR_OTHER, &kind);
    v.tracks = (uint32_t)tracks;
    v.kind = (uint32_t)kind;
    return r == 0 ? add_vertex(e, &v) : r;
}

static int read_vertices(struct events *e)
{
    static const char *const names[] = {"x", "y", "z", "n_tracks", "kind", NULL};
    uint32_t column[5];
    char path[4096];
    struct csv c;
    int r, event;

    if (import_sibling(e->c->path, "-tracks.csv", "-vertices.csv", path, sizeof path) < 0)
        return 0;
    r = csv_open(&c, e->im, path);
    if (r < 0)
        return r;
    event = csv_find(&c, "event");
    if ((event < 0) != (e->event_column < 0))
        r = import_fail(e->im, -EBADMSG,
                        "%s:1: column \"event\" is wanted here and in the tracks' "
                        "file, or in neither",
                        path);
    if (r == 0)
        r = csv_need(&c, names, column);
    while (r == 0 && (r = csv_next(&c)) == 1)
        r = read_vertex(e, &c, column, event);
    csv_close(&c);
    e->has_vertices = true;
    return r;
}

/* ---------------------------------------------------------------- events */

static int open_event(struct events *e, uint64_t event)
{
    struct generated *g = &e->im->g;
    int r = 0;

    import_begin(e->im, TRG_TRACKS, 1, (uint32_t)event);
    e->event = event;
    e->is_open = true;
    e->im->has_truth = e->has_vertices;
    for (uint32_t i = 0; r == 0 && i < e->n_vertices; i++) {
        const struct vertex *v = &e->vertices[i];
        uint32_t number;

        if (v->event != event)
            continue;
        r = store_vertex(g, v->place[0], v->place[1], v->place[2], v->kind, GENERATOR_NONE,
                         &number);
        if (r == 0)
            g->vertex_tracks[number] = v->tracks;
    }
    return r < 0 ? csv_no_memory(e->c) : 0;
}

static int close_event(struct events *e)
{
    if (!e->is_open)
        return 0;
    e->is_open = false;
    return import_emit(e->im);
}

static int read_track(struct events *e)
{
    double v[COLUMNS] = {0};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < COLUMNS; i++)
        if (e->column[i] >= 0)
            r = csv_real(e->c, (uint32_t)e->column[i], columns[i].min, columns[i].max, &v[i]);
    if (r == 0 && e->im->g.n == TRACKS_MAX)
        return csv_fail(e->c, "an event may have %d tracks", TRACKS_MAX);
    if (r < 0)
        return r;
    r = store_track(&e->im->g,
                    &(struct store_track){v[X], v[Y], v[Z], v[TX], v[TY], v[VAR_X], v[VAR_TX],
                                          v[COV], v[CHI2], v[QOP], (uint32_t)v[HITS]},
                    GENERATOR_NOISE);
    return r < 0 ? csv_no_memory(e->c) : 0;
}

static int read_row(struct events *e)
{
    uint64_t event = e->event;
    int r =
        e->event_column < 0 ? 0 : csv_unsigned(e->c, (uint32_t)e->event_column, UINT32_MAX, &event);

    if (r == 0 && e->is_open && event != e->event)
        r = close_event(e);
    if (r == 0 && !e->is_open)
        r = open_event(e, event);
    return r == 0 ? read_track(e) : r;
}

static int find_columns(struct events *e)
{
    e->event_column = csv_find(e->c, "event");
    for (uint32_t i = 0; i < COLUMNS; i++) {
        e->column[i] = csv_find(e->c, columns[i].name);
        if (e->column[i] < 0 && i < COV)
            return import_fail(e->im, -EBADMSG, "%s:1: there is no column \"%s\"", e->c->path,
                               columns[i].name);
    }
    return 0;
}

int import_tracks(struct import *im, const char *path)
{
    struct csv c;
    struct events e = {.im = im, .c = &c, .event = import_number(path)};
    int r = csv_open(&c, im, path);

    if (r < 0)
        return r;
    r = find_columns(&e);
    if (r == 0)
        r = read_vertices(&e);
    if (r == 0 && e.event_column < 0)
        r = open_event(&e, e.event); /* an event without tracks is one, too */
    while (r == 0 && (r = csv_next(&c)) == 1)
        r = read_row(&e);
    if (r == 0)
        r = close_event(&e);
    csv_close(&c);
    free(e.vertices);
    return r;
}
