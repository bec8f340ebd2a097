/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the TrackML challenge, each of up to three tables: NAME-hits.csv and, if they are
 * there, NAME-truth.csv (which particle made each hit) and NAME-particles.csv.  Particles that were
 * made at one place make a vertex; the one with the most particles comes first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gen.h"
#include "gen_store.h"
#include "import_csv.h"
#include "import_ids.h"
#include "import_layers.h"

#define PLACE_MAX    1e5 /* mm */
#define MOMENTUM_MAX 1e6 /* GeV */
#define HITS_MAX     4000000
#define FIELD_T      2.0
#define BEAM_RADIUS  0.1 /* mm: collisions are within, decays are hardly ever */
#define METRE        1000.0
#define GEV_PER_T_M  0.299792458

struct row { /* of the particles' file */
    struct gen_particle p;
    uint64_t id;
    uint32_t hits;
    uint32_t place, index; /* number of its vertex; our index, or GENERATOR_NONE */
};

struct place { /* where particles were made */
    double x, y, z;
    uint32_t first, particles, vertex;
};

struct event {
    struct import *im;
    const char *path;
    struct ids hits, ids; /* of hits, of particles */
    bool has_truth;
    uint64_t *maker; /* particle_id of each hit, 0: noise */
    struct row *rows;
    uint32_t n_rows, rows_room, n_places;
    struct place *places;
};

static int no_memory(const struct event *e)
{
    return import_fail(e->im, -ENOMEM, "%s: no memory", e->path);
}

/* Sorts the ids of a file, which come once each. */
static int sort_ids(const struct event *e, struct ids *ids, const char *path, const char *name)
{
    uint64_t twice;

    if (ids_sort(ids, &twice) == 0)
        return 0;
    return import_fail(e->im, -EBADMSG, "%s: %s %llu is there twice", path, name,
                       (unsigned long long)twice);
}

/* ---------------------------------------------------------------- hits */

static int read_hit(void *arg, const struct csv *c, const uint32_t *column)
{
    struct event *e = arg;
    struct generated *g = &e->im->g;
    uint64_t id = 0, volume = 0, layer = 0;
    double place[3] = {0};
    int r = csv_unsigned(c, column[0], UINT32_MAX, &id), ours = 0;

    for (int i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, column[1 + i], -PLACE_MAX, PLACE_MAX, &place[i]);
    if (r == 0)
        r = csv_unsigned(c, column[4], 255, &volume);
    if (r == 0)
        r = csv_unsigned(c, column[5], 4095, &layer);
    if (r == 0 && (ours = layers_find(false, volume, layer)) < 0)
        return csv_fail(c, "volume_id %llu has no layer_id %llu in TrackML's detector",
                        (unsigned long long)volume, (unsigned long long)layer);
    if (r == 0 && g->n == HITS_MAX)
        return csv_fail(c, "an event may have %d hits", HITS_MAX);
    if (r < 0)
        return r;
    if (ids_add(&e->hits, id, g->n) < 0 ||
        store_hit(g, place[0], place[1], place[2], (uint32_t)ours, GENERATOR_NOISE) < 0)
        return no_memory(e);
    g->hits.id[g->n - 1] = (uint32_t)id;
    return 0;
}

static int read_hits(struct event *e, const char *path)
{
    static const char *const names[] = {"hit_id", "x", "y", "z", "volume_id", "layer_id", NULL};
    int r = csv_rows(e->im, path, names, read_hit, e);

    return r < 0 ? r : sort_ids(e, &e->hits, path, "hit_id");
}

static int read_maker(void *arg, const struct csv *c, const uint32_t *column)
{
    struct event *e = arg;
    uint64_t id = 0, maker = 0;
    uint32_t hit = 0;
    int r = csv_unsigned(c, column[0], UINT32_MAX, &id);

    if (r == 0)
        r = csv_unsigned(c, column[1], UINT64_MAX, &maker);
    if (r == 0 && ids_find(&e->hits, id, &hit) < 0)
        r = csv_fail(c, "hit_id %llu is not in the hits' file", (unsigned long long)id);
    if (r == 0)
        e->maker[hit] = maker;
    return r;
}

/* Which particle made which hit. */
static int read_truth(struct event *e, const char *path)
{
    static const char *const names[] = {"hit_id", "particle_id", NULL};
    int r;

    e->maker = calloc(e->im->g.n + 1, sizeof *e->maker);
    r = e->maker ? csv_rows(e->im, path, names, read_maker, e) : no_memory(e);
    e->has_truth = r == 0;
    return r;
}

/* ---------------------------------------------------------------- particles */

static int add_row(struct event *e, const struct row *row)
{
    if (array_grow(&e->rows, e->n_rows, &e->rows_room, sizeof *e->rows) < 0)
        return no_memory(e);
    if (ids_add(&e->ids, row->id, e->n_rows) < 0)
        return no_memory(e);
    e->rows[e->n_rows++] = *row;
    return 0;
}

static int read_row(void *arg, const struct csv *c, const uint32_t *column)
{
    struct event *e = arg;
    const int pdg = csv_find(c, "particle_type");
    struct row row = {.index = GENERATOR_NONE};
    double v[6] = {0};
    int64_t charge = 0, kind = 0;
    uint64_t hits = 0;
    int r = csv_unsigned(c, column[0], UINT64_MAX, &row.id);

    for (int i = 0; r == 0 && i < 6; i++) {
        double most = i < 3 ? PLACE_MAX : MOMENTUM_MAX;

        r = csv_real(c, column[1 + i], -most, most, &v[i]);
    }
    if (r == 0)
        r = csv_integer(c, column[7], -120, 120, &charge);
    if (r == 0)
        r = csv_unsigned(c, column[8], HITS_MAX, &hits);
    if (r == 0 && pdg >= 0)
        r = csv_integer(c, (uint32_t)pdg, INT32_MIN, INT32_MAX, &kind);
    if (r < 0)
        return r;
    row.p = (struct gen_particle){.x = v[0],
                                  .y = v[1],
                                  .z = v[2],
                                  .px = v[3],
                                  .py = v[4],
                                  .pz = v[5],
                                  .charge = (int)charge,
                                  .pdg = (int)kind};
    row.hits = (uint32_t)hits;
    if (!(v[3] * v[3] + v[4] * v[4] > 1e-12))
        return csv_fail(c, "px and py: a transverse momentum above 1e-6 GeV is wanted");
    return add_row(e, &row);
}

static int read_particles(struct event *e, const char *path)
{
    static const char *const names[] = {"particle_id", "vx", "vy", "vz",    "px",
                                        "py",          "pz", "q",  "nhits", NULL};
    int r = csv_rows(e->im, path, names, read_row, e);

    return r < 0 ? r : sort_ids(e, &e->ids, path, "particle_id");
}

/* ---------------------------------------------------------------- vertices */

static int compare_places(const void *a, const void *b, void *rows)
{
    const struct row *p = (const struct row *)rows + *(const uint32_t *)a;
    const struct row *q = (const struct row *)rows + *(const uint32_t *)b;

    if (p->p.z != q->p.z)
        return p->p.z < q->p.z ? -1 : 1;
    if (p->p.y != q->p.y)
        return p->p.y < q->p.y ? -1 : 1;
    if (p->p.x != q->p.x)
        return p->p.x < q->p.x ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static bool is_same(const struct place *place, const struct gen_particle *p)
{
    return place->x == p->x && place->y == p->y && place->z == p->z;
}

static bool is_collision(const struct place *p)
{
    return p->x * p->x + p->y * p->y < BEAM_RADIUS * BEAM_RADIUS;
}

/* Collisions first, those with more particles before those with fewer. */
static int compare_sizes(const void *a, const void *b)
{
    const struct place *p = *(struct place *const *)a, *q = *(struct place *const *)b;

    if (is_collision(p) != is_collision(q))
        return is_collision(p) ? -1 : 1;
    if (p->particles != q->particles)
        return p->particles > q->particles ? -1 : 1;
    return p->first < q->first ? -1 : 1;
}

/* Groups the particles by the place where they were made. */
static void group(struct event *e, uint32_t *order)
{
    for (uint32_t i = 0; i < e->n_rows; i++)
        order[i] = i;
    if (e->n_rows)
        qsort_r(order, e->n_rows, sizeof *order, compare_places, e->rows);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct row *row = &e->rows[order[i]];
        struct place *places = e->places;

        if (!e->n_places || !is_same(&places[e->n_places - 1], &row->p))
            places[e->n_places++] = (struct place){row->p.x, row->p.y, row->p.z, order[i], 0, 0};
        row->place = e->n_places - 1;
        places[row->place].particles++;
    }
}

static int store_places(struct event *e, struct place **by_size)
{
    for (uint32_t i = 0; i < e->n_places; i++)
        by_size[i] = &e->places[i];
    qsort(by_size, e->n_places, sizeof *by_size, compare_sizes);
    for (uint32_t i = 0; i < e->n_places; i++) {
        struct place *p = by_size[i];

        if (store_vertex(&e->im->g, p->x, p->y, p->z,
                         is_collision(p) ? GENERATOR_PRIMARY : GENERATOR_OTHER, GENERATOR_NONE,
                         &p->vertex) < 0)
            return no_memory(e);
    }
    return 0;
}

static int add_vertices(struct event *e)
{
    uint32_t *order = malloc((e->n_rows + 1) * sizeof *order);
    struct place **by_size = malloc((e->n_rows + 1) * sizeof *by_size);
    int r;

    e->places = calloc(e->n_rows + 1, sizeof *e->places);
    if (order && by_size && e->places) {
        group(e, order);
        r = store_places(e, by_size);
    } else {
        r = no_memory(e);
    }
    free(order);
    free(by_size);
    return r;
}

/* ---------------------------------------------------------------- an event */

/* All particles that were seen: by the truth where it is there, or by their own number of hits. */
static int add_particles(struct event *e)
{
    struct generated *g = &e->im->g;

    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct row *row = &e->rows[i];
        double pt = sqrt(row->p.px * row->p.px + row->p.py * row->p.py);
        struct store_particle truth;

        if (!row->hits)
            continue;
        row->p.vertex = e->places[row->place].vertex;
        gen_truth(&row->p, row->p.charge ? pt * METRE / (GEV_PER_T_M * FIELD_T) : 0, &truth);
        if (store_particle(g, &truth) < 0)
            return no_memory(e);
        row->index = g->n_particles;
        store_keep_particle(g, row->p.charge != 0);
    }
    return 0;
}

static int match_hits(struct event *e)
{
    struct generated *g = &e->im->g;
    uint32_t row;

    for (uint32_t i = 0; i < g->n; i++) {
        if (!e->maker[i])
            continue; /* noise */
        if (ids_find(&e->ids, e->maker[i], &row) < 0)
            return import_fail(e->im, -EBADMSG,
                               "%s: hit_id %u is of particle_id %llu, which the particles' file "
                               "has not",
                               e->path, g->hits.id[i], (unsigned long long)e->maker[i]);
        g->particle[i] = row; /* its own index comes when it is known who has hits */
    }
    for (uint32_t i = 0; i < e->n_rows; i++)
        e->rows[i].hits = 0;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->particle[i] != GENERATOR_NOISE)
            e->rows[g->particle[i]].hits++;
    return 0;
}

static int read_event(struct event *e)
{
    char truth[4096], particles[4096];
    int has_truth = import_sibling(e->path, "-hits.csv", "-truth.csv", truth, sizeof truth);
    int has_particles =
        import_sibling(e->path, "-hits.csv", "-particles.csv", particles, sizeof particles);
    struct generated *g = &e->im->g;
    int r = read_hits(e, e->path);

    if (r < 0 || has_particles < 0)
        return r; /* a hit map without particles would tell nothing that the truth has room for */
    r = read_particles(e, particles);
    if (r == 0 && has_truth == 0)
        r = read_truth(e, truth);
    if (r == 0 && e->has_truth)
        r = match_hits(e);
    if (r == 0)
        r = add_vertices(e);
    if (r == 0)
        r = add_particles(e);
    for (uint32_t i = 0; r == 0 && e->has_truth && i < g->n; i++)
        if (g->particle[i] != GENERATOR_NOISE)
            g->particle[i] = e->rows[g->particle[i]].index;
    e->im->has_truth = e->im->has_perigee = true;
    e->im->has_particle_of = e->has_truth;
    return r;
}

int import_trackml(struct import *im, const char *path)
{
    struct event e = {.im = im, .path = path};
    int r;

    import_begin(im, TRG_HITS, 1, import_number(path));
    r = read_event(&e);
    ids_free(&e.hits);
    ids_free(&e.ids);
    free(e.maker);
    free(e.rows);
    free(e.places);
    return r < 0 ? r : import_emit(im);
}
