/* SPDX-License-Identifier: Apache-2.0 */
/* Events of LHCb's vertex detector as tables, each of three files: RUN_EVENT-hits.csv and, if they
 * are there, -particles.csv (charged particles with hits, where they were made, and their hits) and
 * -pvs.csv (the collisions). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "gen_store.h"
#include "import_csv.h"
#include "import_ids.h"

#define PLACE_MAX    1e5 /* mm */
#define MOMENTUM_MAX 1e9 /* MeV */
#define HITS_MAX     1000000
#define CHARGE_MAX   120  /* nuclei */
#define SAME_PLACE   1e-3 /* mm: files give four digits */
#define MEV          1e-3 /* GeV */

struct event {
    struct import *im;
    struct ids hits; /* of the file: our index */
};

/* The result of storing something, with a sentence. */
static int stored(const struct csv *c, int r)
{
    return r == -ENOMEM ? import_fail(c->im, r, "%s: no memory", c->path) : r;
}

/* ---------------------------------------------------------------- hits */

static int read_hit(void *arg, const struct csv *c, const uint32_t *column)
{
    struct event *e = arg;
    struct generated *g = &e->im->g;
    uint64_t id, module;
    double place[3];
    int r = csv_unsigned(c, column[0], UINT32_MAX, &id);

    if (r == 0)
        r = csv_unsigned(c, column[1], UINT16_MAX, &module);
    for (int i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, column[2 + i], -PLACE_MAX, PLACE_MAX, &place[i]);
    if (r == 0 && g->n == HITS_MAX)
        return csv_fail(c, "an event may have %d hits", HITS_MAX);
    if (r == 0)
        r = stored(c, ids_add(&e->hits, id, g->n));
    if (r == 0)
        r = stored(c,
                   store_hit(g, place[0], place[1], place[2], (uint32_t)module, GENERATOR_NOISE));
    if (r == 0)
        g->hits.id[g->n - 1] = (uint32_t)id;
    return r;
}

static int read_hits(struct event *e, const char *path)
{
    static const char *const names[] = {"hit_id", "module", "x_mm", "y_mm", "z_mm", NULL};
    uint64_t twice;
    int r = csv_rows(e->im, path, names, read_hit, e);

    if (r == 0 && ids_sort(&e->hits, &twice) < 0)
        r = import_fail(e->im, -EBADMSG, "%s: hit_id %llu is there twice", path,
                        (unsigned long long)twice);
    return r;
}

/* ---------------------------------------------------------------- vertices */

static int read_vertex(void *arg, const struct csv *c, const uint32_t *column)
{
    struct import *im = arg;
    double place[3];
    uint64_t tracks;
    uint32_t vertex;
    int r = csv_unsigned(c, column[0], UINT16_MAX, &tracks);

    for (int i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, column[1 + i], -PLACE_MAX, PLACE_MAX, &place[i]);
    if (r == 0)
        r = stored(c, store_vertex(&im->g, place[0], place[1], place[2], GENERATOR_PRIMARY,
                                   GENERATOR_NONE, &vertex));
    if (r == 0)
        im->g.vertex_tracks[vertex] = (uint32_t)tracks;
    return r;
}

/* Collisions, and how many particles of each the detector can see. */
int import_lhcb_pvs(struct import *im, const char *path)
{
    static const char *const names[] = {"n_tracks", "x_mm", "y_mm", "z_mm", NULL};

    return csv_rows(im, path, names, read_vertex, im);
}

static bool is_at(const struct generated *g, uint32_t v, const double *place)
{
    return fabs((double)g->vertex_x[v] - place[0]) < SAME_PLACE &&
           fabs((double)g->vertex_y[v] - place[1]) < SAME_PLACE &&
           fabs((double)g->vertex_z[v] - place[2]) < SAME_PLACE;
}

/* The vertex at a place; there is none: a new one, of the last decay that the flags know of. */
static int find_vertex(struct generated *g, const double *place, uint32_t flags,
                       uint32_t *ret_vertex)
{
    uint32_t kind = flags & GENERATOR_FROM_STRANGE  ? GENERATOR_STRANGE
                    : flags & GENERATOR_FROM_CHARM  ? GENERATOR_CHARM
                    : flags & GENERATOR_FROM_BEAUTY ? GENERATOR_BEAUTY
                                                    : GENERATOR_OTHER;

    for (uint32_t v = 0; v < g->n_vertices; v++)
        if (is_at(g, v, place)) {
            *ret_vertex = v;
            return 0;
        }
    return store_vertex(g, place[0], place[1], place[2], kind, GENERATOR_NONE, ret_vertex);
}

/* ---------------------------------------------------------------- particles */

enum column { PID, PT, ETA, PHI, X, Y, Z, LONG, BEAUTY, CHARM, STRANGE, CHARGE, HITS, COLUMNS };

/* "12 57 90": gives these hits the particle. */
static int claim_hits(const struct event *e, const struct csv *c, uint32_t column, uint32_t *ret_n)
{
    struct generated *g = &e->im->g;
    const char *at = c->field[column];
    char *end;

    for (*ret_n = 0; *at; at = end, ++*ret_n) {
        unsigned long long id;
        uint32_t hit;

        at += strspn(at, " ");
        id = strtoull(at, &end, 10);

        if (end == at || (*end && *end != ' ') || ids_find(&e->hits, id, &hit) < 0)
            return csv_fail(c, "%s \"%.40s\": a hit_id of the hits' file is wanted",
                            c->name[column], at);
        if (store_claim(g, hit, g->n_particles) < 0)
            return import_fail(e->im, -ENOMEM, "%s: no memory", c->path);
    }
    return 0;
}

/* Direction and place, as the truth tells them. */
static void set_truth(const double *v, struct store_particle *p)
{
    double pt = v[PT] * MEV;
    struct gen_particle straight = {.x = v[X],
                                    .y = v[Y],
                                    .z = v[Z],
                                    .px = pt * cos(v[PHI]),
                                    .py = pt * sin(v[PHI]),
                                    .pz = pt * sinh(v[ETA])};
    struct store_particle at_beam;

    gen_truth(&straight, 0, &at_beam);
    p->pt = pt;
    p->eta = v[ETA];
    p->phi = v[PHI];
    p->d0 = at_beam.d0;
    p->z0 = at_beam.z0;
    p->pdg = (int)v[PID];
    p->charge = (int)lround(v[CHARGE]);
    p->flags = (v[BEAUTY] > 0 ? GENERATOR_FROM_BEAUTY : 0u) |
               (v[CHARM] > 0 ? GENERATOR_FROM_CHARM : 0u) |
               (v[STRANGE] > 0 ? GENERATOR_FROM_STRANGE : 0u) | (v[LONG] > 0 ? GENERATOR_LONG : 0u);
}

static int read_particle(void *arg, const struct csv *c, const uint32_t *column)
{
    struct event *e = arg;
    static const double most[HITS] = {
        INT32_MAX, MOMENTUM_MAX, 20, 7, PLACE_MAX, PLACE_MAX, PLACE_MAX, 1, 1, 1, 1, CHARGE_MAX};
    struct generated *g = &e->im->g;
    struct store_particle p = {.vertex = GENERATOR_NONE};
    uint32_t n_hits = 0, known = g->n_vertices;
    double v[HITS];
    int r = 0;

    for (int i = 0; r == 0 && i < HITS; i++)
        r = csv_real(c, column[i], i == PT ? 1e-6 : -most[i], most[i], &v[i]);
    if (r == 0)
        r = claim_hits(e, c, column[HITS], &n_hits);
    if (r < 0)
        return r;
    set_truth(v, &p);
    r = find_vertex(g, &v[X], p.flags, &p.vertex);
    if (r == 0)
        r = store_particle(g, &p);
    if (r == 0) /* collisions have their counts from the file */
        store_keep_particle(g, n_hits >= 3 && (p.vertex >= known || g->vertex_kind[p.vertex]));
    return stored(c, r);
}

static int read_particles(struct event *e, const char *path)
{
    static const char *const names[] = {"pid",   "pt_MeV", "eta",          "phi",   "ovx",
                                        "ovy",   "ovz",    "isLong",       "fromB", "fromD",
                                        "fromS", "charge", "velo_hit_ids", NULL};

    return csv_rows(e->im, path, names, read_particle, e);
}

/* ---------------------------------------------------------------- an event */

static int read_event(struct event *e, const char *path)
{
    char pvs[4096], particles[4096];
    int has_pvs = import_sibling(path, "-hits.csv", "-pvs.csv", pvs, sizeof pvs);
    int has_particles =
        import_sibling(path, "-hits.csv", "-particles.csv", particles, sizeof particles);
    int r = read_hits(e, path);

    if (r == 0 && has_pvs == 0)
        r = import_lhcb_pvs(e->im, pvs);
    if (r == 0 && has_particles == 0)
        r = read_particles(e, particles);
    e->im->has_truth = has_pvs == 0 || has_particles == 0;
    e->im->has_particle_of = e->im->has_perigee = has_particles == 0;
    return r;
}

int import_lhcb(struct import *im, const char *path)
{
    struct event e = {.im = im};
    int r;

    import_begin(im, TRG_HITS, import_run(path), import_number(path));
    r = read_event(&e, path);
    ids_free(&e.hits);
    return r < 0 ? r : import_emit(im);
}
