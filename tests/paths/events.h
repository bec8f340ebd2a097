/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - generated events with doublets from the plugin doublets, and how well candidates match
 * the truth. */
#ifndef PATHS_EVENTS_H
#define PATHS_EVENTS_H
#include "driver.h"
#include "generator.h"

struct event {
    struct generated truth; /* hit i of the RoI is that of truth.particle[i] */
    struct roi roi;
};

/* Event number i of a preset, with doublets made by the plugin doublets on the CPU: settings are
 * "key", "value", ..., NULL.  0 or a negative errno, which was told. */
int event_make(const struct algo_host *h, const char *preset, uint64_t seed, uint64_t i,
               const char *const *settings, struct event *ret);
void event_fini(struct event *e);

/* Replaces the doublets of the RoI by those that the plugin makes of its hits. */
int event_doublets(const struct algo_host *h, const char *const *settings, struct roi *r);

#define TALLY_BINS 24u
struct fraction {
    double of, good;
};
struct tally { /* of many events */
    /* particles with hits on at least 4 layers and pT over 0.9 GeV: how many of their doublets are
     * there, whether all doublets of 4 hits are linked to a path, whether there is a candidate */
    struct fraction doublets, paths, candidates;
    struct fraction paths_pt[TALLY_BINS], candidates_pt[TALLY_BINS], doublets_pt[TALLY_BINS];
    struct fraction paths_eta[TALLY_BINS], candidates_eta[TALLY_BINS], doublets_eta[TALLY_BINS];
    struct fraction fakes, duplicates; /* of the candidates */
    double pt_square, n_pt;            /* relative residuals of pT, of matched candidates */
    double z0_square, d0_square, phi_square;
};
/* Bins of pT are of equal ratios from 0.3 to 30 GeV, those of eta of equal width from -3 to 3. */
double tally_pt(uint32_t bin);
double tally_eta(uint32_t bin);

/* Adds an event: `all` is the answer with duplicates, `chosen` the one to be judged. */
void tally_event(struct tally *t, const struct event *e, const struct answer *all,
                 const struct answer *chosen);
#endif
