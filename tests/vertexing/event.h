/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - events of tracks with what is true about them, for tests and measurements. */
#ifndef VX_EVENT_H
#define VX_EVENT_H
#include <stdbool.h>
#include <stdint.h>

#include "trigd/event.h"

#define EVENT_COLUMNS  11u
#define EVENT_VERTICES 2048u       /* most vertices of an event */
#define EVENT_NOBODY   0xffffffffu /* vertex of a ghost track */

enum event_kind { EVENT_PRIMARY, EVENT_BEAUTY, EVENT_OTHER };

struct event_vertex {
    double x, y, z;
    uint32_t kind;     /* enum event_kind */
    uint32_t parent;   /* vertex where the particle that decayed here was made */
    uint32_t n_tracks; /* tracks of the event that begin here */
};

struct event {
    struct trg_roi_info info;
    uint32_t n, room;
    void *column[EVENT_COLUMNS]; /* TRG_TRACKS */
    uint32_t *vertex;            /* of each track, or EVENT_NOBODY */
    uint32_t n_vertices;
    struct event_vertex *vertices; /* room for EVENT_VERTICES */
};

/* An event without tracks that has room for some; -ENOMEM. */
int event_init(struct event *e, uint32_t room);
void event_fini(struct event *e);
/* Adds a straight track through (x, y, z); its errors are those of a state at that point. */
struct event_track {
    double x, y, z, tx, ty, var_x, var_tx, cov_x_tx, p;
};
void event_add(struct event *e, const struct event_track *t, uint32_t vertex);
static inline float *event_floats(const struct event *e, uint32_t column)
{
    return e->column[column];
}

/* Whether a b decay with two tracks or more is in it. */
bool event_has_b(const struct event *e);

/* What a toy event is like.  Its errors are exactly what its tracks are smeared with. */
struct toy {
    double n_pv;       /* mean, at least one */
    double tracks;     /* mean of a primary vertex */
    double b_fraction; /* of events with one b decay */
    double strange;    /* mean decays of strange particles for a primary vertex */
    double ghosts;     /* mean */
    double beam_x, beam_y, beam_sigma, sigma_z;
};
extern const struct toy toy_velo; /* what LHCb's vertex detector sees, about */
/* Fills `e` (which has room for 4096 tracks) with event number i. */
void toy_make(const struct toy *t, uint64_t seed, uint64_t i, struct event *e);

double toy_uniform(uint64_t *state);
double toy_gauss(uint64_t *state);
#endif
