/* SPDX-License-Identifier: Apache-2.0 */
#include "match.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const match_names[MATCH_CLASSES] = {"all", "eta 2-5", "long", "from b", "from s"};

const char *const match_axis_names[MATCH_AXES] = {"eta", "pT"};
const double match_edges[MATCH_AXES][MATCH_BINS + 1] = {
    {2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75, 4, 4.25, 4.5, 4.75, 5},
    {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10}}; /* GeV */

struct truth {
    uint32_t *hits, *modules, *last; /* of each particle; last: module + 1 of its last hit */
    uint32_t *tracks;                /* that belong to it */
    uint32_t *count;                 /* hits on the track that is looked at */
};

static bool is_in(const struct event *e, uint32_t p, enum match_class c)
{
    bool forward = e->eta[p] > 2 && e->eta[p] < 5;

    switch (c) {
    case MATCH_ETA25:
        return forward;
    case MATCH_LONG:
        return forward && e->flags[p] & 8;
    case MATCH_BEAUTY:
        return forward && e->flags[p] & 1;
    case MATCH_STRANGE:
        return e->flags[p] & 4;
    case MATCH_ALL:
    case MATCH_CLASSES:
    default:
        return true;
    }
}

/* The k-th particle of a hit; EVENT_NOISE behind the last. */
static uint32_t maker(const struct event *e, uint32_t hit, uint32_t k)
{
    if (!k)
        return e->particle[hit];
    k += e->shared_begin[hit] - 1;
    return k < e->shared_begin[hit + 1] ? e->shared[k] : EVENT_NOISE;
}

/* Hits and modules of each particle.  Hits of a module lie behind one another or not: a module that
 * comes twice counts twice, which three hits on two modules cannot use to get in, because hits are
 * sorted by module. */
static void count_hits(const struct event *e, struct truth *t)
{
    for (uint32_t i = 0; i < e->n; i++)
        for (uint32_t k = 0, p; (p = maker(e, i, k)) != EVENT_NOISE; k++) {
            t->hits[p]++;
            t->modules[p] += t->last[p] != e->layer[i] + 1u;
            t->last[p] = e->layer[i] + 1u;
        }
}

/* The track whose hits are given: whose it is.  Particles that share hits may share it, too. */
static void match_track(struct match *m, const struct event *e, struct truth *t,
                        const uint32_t *hits, uint32_t n)
{
    uint32_t best = EVENT_NOISE, most = 0;
    bool is_clone = true;

    for (uint32_t h = 0; h < n; h++)
        for (uint32_t k = 0, p; (p = maker(e, hits[h], k)) != EVENT_NOISE; k++)
            t->count[p] = 0;
    for (uint32_t h = 0; h < n; h++)
        for (uint32_t k = 0, p; (p = maker(e, hits[h], k)) != EVENT_NOISE; k++)
            if (++t->count[p] > most) {
                most = t->count[p];
                best = p;
            }
    m->tracks++;
    if (10 * most < 7 * n) {
        m->ghosts++;
        return;
    }
    m->matched++;
    m->purity += (double)most / n;
    m->hit_efficiency += (double)most / t->hits[best];
    for (uint32_t h = 0; h < n; h++)
        for (uint32_t k = 0, p; (p = maker(e, hits[h], k)) != EVENT_NOISE; k++) {
            if (10 * t->count[p] >= 7 * n)
                is_clone &= t->tracks[p]++ > 0;
            t->count[p] = 0; /* each particle once */
        }
    m->clones += is_clone;
}

static void match_tracks(struct match *m, const struct event *e, struct truth *t,
                         const struct products *f)
{
    uint32_t hits[64], at = 0;

    for (uint32_t i = 0; i < f->of[0].n; i++) {
        const uint32_t n = found_hits(f)[i];

        hits[0] = found_inner(f)[at];
        for (uint32_t k = 0; k + 1 < n && k + 1 < 64; k++)
            hits[k + 1] = found_outer(f)[at + k];
        at += n - 1;
        match_track(m, e, t, hits, n);
    }
}

/* A forward particle that can be found, in its bins; beyond the last edge it is in none. */
static void count_bins(struct match *m, const struct event *e, uint32_t p, bool is_found)
{
    const double value[MATCH_AXES] = {e->eta[p], e->pt[p]};

    for (uint32_t a = 0; a < MATCH_AXES; a++)
        for (uint32_t i = 0; i < MATCH_BINS; i++)
            if (value[a] >= match_edges[a][i] && value[a] < match_edges[a][i + 1]) {
                m->bin_particles[a][i]++;
                m->bin_found[a][i] += is_found;
            }
}

int match_add(struct match *m, const struct event *e, const struct products *f)
{
    const size_t room = e->n_particles + (size_t)1;
    uint32_t *block = calloc(room, 5 * sizeof *block);
    struct truth t = {block, block + room, block + 2 * room, block + 3 * room, block + 4 * room};

    if (!block)
        return -ENOMEM;
    count_hits(e, &t);
    match_tracks(m, e, &t, f);
    for (uint32_t p = 0; p < e->n_particles; p++)
        for (enum match_class c = 0; c < MATCH_CLASSES; c++)
            if (t.modules[p] >= 3 && abs(e->pdg[p]) != 11 && is_in(e, p, c)) {
                m->particles[c]++;
                m->found[c] += t.tracks[p] > 0;
                if (c == MATCH_ETA25)
                    count_bins(m, e, p, t.tracks[p] > 0);
            }
    free(block);
    return 0;
}

double match_efficiency(const struct match *m, enum match_class c)
{
    return m->particles[c] ? (double)m->found[c] / (double)m->particles[c] : NAN;
}

double match_ghosts(const struct match *m)
{
    return m->tracks ? (double)m->ghosts / (double)m->tracks : 0;
}

double match_clones(const struct match *m)
{
    return m->matched ? (double)m->clones / (double)m->matched : 0;
}
