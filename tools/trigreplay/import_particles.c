/* SPDX-License-Identifier: Apache-2.0 */
/* Particles of simulated collisions (tools/mkevents makes such files), many events a file, which go
 * through the detector of a preset of the generator: one row a charged particle, with
 *
 *     event     number of the event; its rows stand together
 *     vertex    where it was made: vertices of an event are 0, 1, ... in the order of their first
 *               rows; vertex 0 is the hard scatter
 *     kind      of the vertex: 0 a collision; decay of a hadron with 1 b, 2 c, 3 s; 4 other
 *     parent    vertex at which the hadron that decayed was made; -1: none
 *     x y z     of the vertex, mm
 *     px py pz  GeV
 *     charge    +1 or -1; 0: the row tells of the vertex only
 *     pdg       number of the Particle Data Group
 *     flags     bits: 1, 2, 4 from a b, c, s hadron
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "gen.h"
#include "gen_store.h"
#include "import_csv.h"

#define PLACE_MAX     1e5 /* mm */
#define MOMENTUM_MAX  1e5 /* GeV */
#define PARTICLES_MAX 1000000

enum column { EVENT, VERTEX, KIND, PARENT, X, Y, Z, PX, PY, PZ, CHARGE, PDG, FLAGS, COLUMNS };

struct events {
    struct import *im;
    struct csv *c;
    uint32_t column[COLUMNS];
    struct gen_particle *list; /* of the event that is being read */
    uint32_t n, room;
    uint64_t event, done; /* its number; how many are before it */
    bool is_open;
};

static double mass_of(int pdg)
{
    switch (abs(pdg)) {
    case 11:
        return 0.000511;
    case 13:
        return 0.10566;
    case PDG_KAON:
        return MASS_KAON;
    case 2212:
        return 0.93827;
    default:
        return MASS_PION;
    }
}

/* Sends what was read of an event through the detector. */
static int close_event(struct events *e)
{
    struct import *im = e->im;
    int r;

    if (!e->is_open)
        return 0;
    e->is_open = false;
    r = gen_detect(im->preset, im->seed, e->done++, e->list, e->n, &im->g);
    if (r < 0)
        return csv_no_memory(e->c);
    im->has_truth = im->has_particle_of = im->has_perigee = true;
    return import_emit(im);
}

static void open_event(struct events *e, uint64_t event)
{
    import_begin(e->im, generator_kind(e->im->preset), 1, (uint32_t)event);
    e->event = event;
    e->n = 0;
    e->is_open = true;
}

/* The row's vertex: one that is known, or the next. */
static int read_vertex(struct events *e, const double *place, uint32_t *ret_vertex)
{
    struct generated *g = &e->im->g;
    uint64_t vertex = 0, kind = 0;
    int64_t parent = 0;
    int r = csv_unsigned(e->c, e->column[VERTEX], g->n_vertices, &vertex);

    if (r == 0)
        r = csv_unsigned(e->c, e->column[KIND], GENERATOR_OTHER, &kind);
    if (r == 0)
        r = csv_integer(e->c, e->column[PARENT], -1, (int64_t)g->n_vertices - 1, &parent);
    if (r < 0)
        return r;
    *ret_vertex = (uint32_t)vertex;
    if (vertex < g->n_vertices)
        return 0;
    r = store_vertex(g, place[0], place[1], place[2], (uint32_t)kind,
                     parent < 0 ? GENERATOR_NONE : (uint32_t)parent, ret_vertex);
    return r < 0 ? csv_no_memory(e->c) : 0;
}

static int add_particle(struct events *e, const struct gen_particle *p)
{
    if (e->n == PARTICLES_MAX)
        return csv_fail(e->c, "an event may have %d particles", PARTICLES_MAX);
    if (array_grow(&e->list, e->n, &e->room, sizeof *e->list) < 0)
        return csv_no_memory(e->c);
    e->list[e->n++] = *p;
    return 0;
}

static int read_particle(struct events *e)
{
    const struct csv *c = e->c;
    struct gen_particle p = {.x = 0};
    double place[3] = {0}, momentum[3] = {0};
    int64_t charge = 0, pdg = 0;
    uint64_t flags = 0;
    int r = csv_integer(c, e->column[CHARGE], -1, 1, &charge);

    for (uint32_t i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, e->column[X + i], -PLACE_MAX, PLACE_MAX, &place[i]);
    for (uint32_t i = 0; r == 0 && i < 3; i++)
        r = csv_real(c, e->column[PX + i], -MOMENTUM_MAX, MOMENTUM_MAX, &momentum[i]);
    if (r == 0)
        r = csv_integer(c, e->column[PDG], INT32_MIN + 1, INT32_MAX, &pdg);
    if (r == 0)
        r = csv_unsigned(c, e->column[FLAGS], 15, &flags);
    if (r == 0)
        r = read_vertex(e, place, &p.vertex);
    if (r < 0 || !charge)
        return r;
    if (momentum[0] * momentum[0] + momentum[1] * momentum[1] < 1e-12)
        return csv_fail(c, "px and py: a transverse momentum above 1e-6 GeV is wanted");
    p.x = place[0];
    p.y = place[1];
    p.z = place[2];
    p.px = momentum[0];
    p.py = momentum[1];
    p.pz = momentum[2];
    p.charge = (int)charge;
    p.pdg = (int)pdg;
    p.mass = mass_of(p.pdg);
    p.flags = (uint32_t)flags;
    return add_particle(e, &p);
}

static int read_row(struct events *e)
{
    uint64_t event = 0;
    int r = csv_unsigned(e->c, e->column[EVENT], UINT32_MAX, &event);

    if (r == 0 && e->is_open && event != e->event)
        r = close_event(e);
    if (r == 0 && !e->is_open)
        open_event(e, event);
    return r == 0 ? read_particle(e) : r;
}

int import_particles(struct import *im, const char *path)
{
    static const char *const names[] = {"event", "vertex", "kind", "parent", "x",   "y",     "z",
                                        "px",    "py",     "pz",   "charge", "pdg", "flags", NULL};
    struct csv c;
    struct events e = {.im = im, .c = &c};
    int r;

    if (im->preset->detector == GENERATOR_TOY)
        return import_fail(im, -EINVAL,
                           "preset %s has no detector for particles: velo, velo-tracks, pixel or "
                           "trackml is wanted",
                           im->preset->name);
    r = csv_open(&c, im, path);
    if (r < 0)
        return r;
    r = csv_need(&c, names, e.column);
    while (r == 0 && (r = csv_next(&c)) == 1)
        r = read_row(&e);
    if (r == 0)
        r = close_event(&e);
    csv_close(&c);
    free(e.list);
    return r;
}
