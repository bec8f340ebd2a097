/* SPDX-License-Identifier: Apache-2.0 */
/* Space points as a table, in mm, one event a file: x, y, z (or sp_x, sp_y, sp_z as ACTS writes
 * them, or r, phi, z), and what tells the layer: a column layer; volume_id and layer_id;
 * geometry_id; or measurement_id, with geometry_id in the measurements' file beside it
 * (NAME-spacepoint.csv and NAME-measurements.csv). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "gen_store.h"
#include "import_csv.h"
#include "import_ids.h"
#include "import_layers.h"

#define PLACE_MAX  1e5 /* mm */
#define PI         3.14159265358979323846
#define POINTS_MAX 4000000

enum source { LAYER, VOLUME, GEOMETRY, MEASUREMENT };

struct points {
    struct import *im;
    struct csv *c;
    bool is_polar;
    uint32_t place[3]; /* columns */
    enum source source;
    uint32_t layer[2];       /* columns that tell it */
    struct ids measurements; /* measurement_id: number of its geometry_id in `geometry` */
    uint64_t *geometry;      /* of each point, and of each measurement before */
    uint32_t n_geometry, room;
};

/* ACTS's geometry_id: volume in the highest 8 bits, layer in 12 bits from bit 36. */
static uint64_t volume_of(uint64_t geometry)
{
    return geometry >> 56;
}

static uint64_t layer_of(uint64_t geometry)
{
    return geometry >> 36 & 0xfff;
}

static uint64_t geometry_of(uint64_t volume, uint64_t layer)
{
    return volume << 56 | layer << 36;
}

/* ---------------------------------------------------------------- columns */

static bool find_three(struct points *p, const char *const *names)
{
    for (int i = 0; i < 3; i++) {
        int column = csv_find(p->c, names[i]);

        if (column < 0)
            return false;
        p->place[i] = (uint32_t)column;
    }
    return true;
}

static int find_place(struct points *p)
{
    static const char *const plain[] = {"x", "y", "z"}, *const acts[] = {"sp_x", "sp_y", "sp_z"};
    static const char *const polar[] = {"r", "phi", "z"};

    if (find_three(p, plain) || find_three(p, acts))
        return 0;
    p->is_polar = find_three(p, polar);
    return p->is_polar ? 0
                       : import_fail(p->im, -EBADMSG,
                                     "%s:1: columns x, y, z or sp_x, sp_y, sp_z or r, phi, z are "
                                     "wanted",
                                     p->c->path);
}

static bool find_one(struct points *p, const char *name, uint32_t *ret)
{
    int column = csv_find(p->c, name);

    if (column >= 0)
        *ret = (uint32_t)column;
    return column >= 0;
}

static int find_layer(struct points *p)
{
    if (find_one(p, "layer", &p->layer[0]))
        p->source = LAYER;
    else if (find_one(p, "volume_id", &p->layer[0]) && find_one(p, "layer_id", &p->layer[1]))
        p->source = VOLUME;
    else if (find_one(p, "geometry_id", &p->layer[0]))
        p->source = GEOMETRY;
    else if (find_one(p, "measurement_id", &p->layer[0]))
        p->source = MEASUREMENT;
    else
        return import_fail(p->im, -EBADMSG,
                           "%s:1: no column tells the layer: layer, volume_id and layer_id, "
                           "geometry_id or measurement_id is wanted",
                           p->c->path);
    return 0;
}

/* ---------------------------------------------------------------- layers */

static int add_geometry(struct points *p, uint64_t geometry)
{
    if (array_grow(&p->geometry, p->n_geometry, &p->room, sizeof *p->geometry) < 0)
        return csv_no_memory(p->c);
    p->geometry[p->n_geometry++] = geometry;
    return 0;
}

/* geometry_id of all measurements of the event. */
static int read_measurements(struct points *p)
{
    static const char *const names[] = {"measurement_id", "geometry_id", NULL};
    uint64_t id, geometry, twice;
    char path[4096];
    uint32_t column[2];
    struct csv c;
    int r;

    if (import_sibling(p->c->path, "-spacepoint.csv", "-measurements.csv", path, sizeof path) < 0)
        return import_fail(p->im, -ENOENT,
                           "%s:1: measurement_id tells the layer only with the file "
                           "NAME-measurements.csv beside NAME-spacepoint.csv",
                           p->c->path);
    r = csv_open(&c, p->im, path);
    if (r < 0)
        return r;
    r = csv_need(&c, names, column);
    while (r == 0 && (r = csv_next(&c)) == 1) {
        r = csv_unsigned(&c, column[0], UINT64_MAX, &id);
        if (r == 0)
            r = csv_unsigned(&c, column[1], UINT64_MAX, &geometry);
        if (r == 0 && ids_add(&p->measurements, id, p->n_geometry) < 0)
            r = csv_no_memory(p->c);
        if (r == 0)
            r = add_geometry(p, geometry);
    }
    if (r == 0 && ids_sort(&p->measurements, &twice) < 0)
        r = import_fail(p->im, -EBADMSG, "%s: measurement_id %llu is there twice", path,
                        (unsigned long long)twice);
    csv_close(&c);
    return r;
}

/* What the row says of its layer, as a geometry_id, or as the layer itself. */
static int read_layer(const struct points *p, uint64_t *ret)
{
    uint64_t a = 0, b = 0;
    uint32_t at;
    int r = csv_unsigned(p->c, p->layer[0],
                         p->source == LAYER || p->source == VOLUME ? 255 : UINT64_MAX, &a);

    if (r == 0 && p->source == VOLUME)
        r = csv_unsigned(p->c, p->layer[1], 4095, &b);
    if (r < 0)
        return r;
    if (p->source == VOLUME)
        a = geometry_of(a, b);
    if (p->source == MEASUREMENT) {
        if (!p->geometry || ids_find(&p->measurements, a, &at) < 0)
            return csv_fail(p->c, "measurement_id %llu is not in the measurements' file",
                            (unsigned long long)a);
        a = p->geometry[at];
    }
    *ret = a;
    return 0;
}

/* Which of the two detectors these volumes are: the Open Data Detector, if one is only there, or if
 * all may be of either (its pixels; of TrackML's they would be long strips alone). */
static bool is_odd(const uint64_t *geometry, uint32_t n)
{
    bool has_trackml = false, has_odd = false;

    for (uint32_t i = 0; i < n; i++) {
        has_trackml |= layers_is_only_trackml(volume_of(geometry[i]));
        has_odd |= layers_is_only_odd(volume_of(geometry[i]));
    }
    return has_odd || !has_trackml;
}

/* `first`: where the points' own geometry_ids begin. */
static int set_layers(struct points *p, uint32_t first)
{
    struct generated *g = &p->im->g;
    const uint64_t *geometry;
    bool odd;

    if (!g->n || !p->geometry)
        return 0; /* an event without points */
    geometry = p->geometry + first;
    odd = is_odd(geometry, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        int layer = layers_find(odd, volume_of(geometry[i]), layer_of(geometry[i]));

        if (layer < 0)
            return import_fail(p->im, -EBADMSG,
                               "%s: point %u: volume %llu, layer %llu is none of %s; a column "
                               "layer can tell others",
                               p->c->path, i + 1, (unsigned long long)volume_of(geometry[i]),
                               (unsigned long long)layer_of(geometry[i]),
                               odd ? "the Open Data Detector's" : "TrackML's");
        g->layer[i] = (uint8_t)layer;
    }
    return 0;
}

/* ---------------------------------------------------------------- points */

static int read_point(struct points *p)
{
    double v[3] = {0}, phi, rho;
    uint64_t layer = 0;
    int r = read_layer(p, &layer);

    for (int i = 0; r == 0 && i < 3; i++)
        r = csv_real(p->c, p->place[i], -PLACE_MAX, PLACE_MAX, &v[i]);
    if (r == 0 && p->is_polar)
        r = csv_real(p->c, p->place[0], 0, PLACE_MAX, &v[0]);
    if (r == 0 && p->is_polar)
        r = csv_real(p->c, p->place[1], -2 * PI, 2 * PI, &v[1]);
    if (r == 0 && p->im->g.n == POINTS_MAX)
        return csv_fail(p->c, "an event may have %d space points", POINTS_MAX);
    if (r == 0 && p->source != LAYER)
        r = add_geometry(p, layer);
    if (r < 0)
        return r;
    phi = p->is_polar ? remainder(v[1], 2 * PI) : atan2(v[1], v[0]);
    rho = p->is_polar ? v[0] : hypot(v[0], v[1]);
    r = store_spacepoint(&p->im->g, phi, rho, v[2], p->source == LAYER ? (uint32_t)layer : 0,
                         GENERATOR_NOISE);
    return r < 0 ? csv_no_memory(p->c) : 0;
}

static int read_points(struct points *p)
{
    uint32_t before;
    int r = find_place(p);

    if (r == 0)
        r = find_layer(p);
    if (r == 0 && p->source == MEASUREMENT)
        r = read_measurements(p);
    before = p->n_geometry;
    while (r == 0 && (r = csv_next(p->c)) == 1)
        r = read_point(p);
    if (r == 0 && p->source != LAYER)
        r = set_layers(p, before);
    return r;
}

int import_spacepoints(struct import *im, const char *path)
{
    struct csv c;
    struct points p = {.im = im, .c = &c};
    int r = csv_open(&c, im, path);

    if (r < 0)
        return r;
    import_begin(im, TRG_SPACEPOINTS, 1, import_number(path));
    r = read_points(&p);
    csv_close(&c);
    ids_free(&p.measurements);
    free(p.geometry);
    return r < 0 ? r : import_emit(im);
}
