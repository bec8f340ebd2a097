/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - tracks against the truth as LHCb counts: a track belongs to each particle that made at
 * least 70 % of its hits, where a hit counts for all that made it; one that belongs to none is a
 * ghost; of several that belong to one particle all but one are clones.  A particle can be found
 * when it made hits on three modules. */
#ifndef HOUGH_MATCH_H
#define HOUGH_MATCH_H
#include "driver.h"

enum match_class { MATCH_ALL, MATCH_ETA25, MATCH_LONG, MATCH_BEAUTY, MATCH_STRANGE, MATCH_CLASSES };
extern const char *const match_names[MATCH_CLASSES];

/* Efficiency against eta and pT of particles with eta 2 to 5; bin i begins at edge i. */
#define MATCH_BINS 12u
enum match_axis { MATCH_OF_ETA, MATCH_OF_PT, MATCH_AXES };
extern const char *const match_axis_names[MATCH_AXES];
extern const double match_edges[MATCH_AXES][MATCH_BINS + 1];

struct match {
    uint64_t bin_particles[MATCH_AXES][MATCH_BINS], bin_found[MATCH_AXES][MATCH_BINS];
    uint64_t particles[MATCH_CLASSES], found[MATCH_CLASSES]; /* not electrons */
    uint64_t tracks, ghosts, matched, clones;
    double purity, hit_efficiency; /* sums over matched tracks */
};

/* Adds one event; -ENOMEM. */
int match_add(struct match *m, const struct event *e, const struct products *f);
double match_efficiency(const struct match *m, enum match_class c);
double match_ghosts(const struct match *m); /* of all tracks */
double match_clones(const struct match *m); /* of the tracks that belong to a particle */
#endif
