/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PT_CUT   0.9
#define LAYERS   4u   /* a particle that counts has hits on so many */
#define MATCHED  0.75 /* of a candidate's hits belong to its particle */
#define HITS_OF  32u  /* hits of one particle that are looked at */
#define PT_LOW   0.3
#define PT_HIGH  30.0
#define ETA_MOST 3.0

/* ---------------------------------------------------------------- doublets */

static void hits_of(const void *rois, uint32_t i, struct stage_source *ret_sources,
                    struct trg_roi_info *ret_info)
{
    const struct roi *r = (const struct roi *)rois + i;

    ret_sources[0] =
        (struct stage_source){.n = r->n_hits, .column = {r->x, r->y, r->z, r->layer, r->id}};
    ret_info->phi_half_rad = 4;
}

/* Hands the doublets over; -E2BIG, which was told, where they are not all. */
static int take_doublets(struct roi *r, const struct trg_result *result, struct product *doublets)
{
    free(r->inner);
    free(r->outer);
    r->inner = doublets->column[0];
    r->outer = doublets->column[1];
    r->n_doublets = doublets->n;
    r->doublet_room = doublets->room;
    if (result->status == TRG_OK)
        return 0;
    fprintf(stderr, "doublets kept %u of %u doublets\n", result->kept, result->wanted);
    return -E2BIG;
}

int event_doublets(const struct algo_host *h, const char *const *settings, struct roi *r)
{
    struct batches_setup setup = {
        .host = &h->host, .slots = 1, .max_rois = 1, .max_items = r->n_hits + 1u};
    struct trg_result result = {0};
    struct products products = {0};
    const struct batches_work work = {
        .n = 1, .input = hits_of, .rois = r, .results = &result, .products = &products};
    struct batches *b = NULL;
    const struct plugin *p;
    void *config = NULL;
    char why[256] = "";
    int e = plugin_host_get(h->plugins, "doublets", &p, why, sizeof why);

    if (e < 0) {
        fprintf(stderr, "%s\n", why);
        return e;
    }
    config = calloc(1, p->d.config_size);
    e = config ? algo_configure(p, NULL, settings, config) : -ENOMEM;
    setup.plugin = &p->d;
    setup.config = config;
    if (e == 0)
        e = backends_device(h->backends, "cpu", 0, &setup.device);
    if (e == 0)
        e = batches_open(&setup, &b);
    if (e == 0)
        e = batches_run(b, &work);
    batches_close(b);
    if (e == 0)
        e = take_doublets(r, &result, &products.of[0]);
    else
        products_fini(&products);
    free(config);
    return e;
}

int event_make(const struct algo_host *h, const char *preset, uint64_t seed, uint64_t i,
               const char *const *settings, struct event *ret)
{
    const struct generator_preset *p = generator_find(preset);
    int r;

    memset(ret, 0, sizeof *ret);
    generated_init(&ret->truth);
    r = p ? generator_make(p, seed, i, &ret->truth) : -ENOENT;
    for (uint32_t k = 0; r == 0 && k < ret->truth.n; k++)
        roi_hit(&ret->roi, (double)ret->truth.hits.x[k], (double)ret->truth.hits.y[k],
                (double)ret->truth.hits.z[k], ret->truth.hits.layer[k]);
    if (r == 0)
        r = event_doublets(h, settings, &ret->roi);
    if (r < 0)
        event_fini(ret);
    return r;
}

void event_fini(struct event *e)
{
    generated_fini(&e->truth);
    roi_fini(&e->roi);
}

/* ---------------------------------------------------------------- truth */

struct track { /* a particle's hits, from the inside out */
    uint32_t n, layers;
    uint32_t hit[HITS_OF];
};

struct judge {
    struct tally *t;
    const struct event *e;
    struct track *track; /* [n_particles] */
    bool *has_path, *has_candidate;
};

static double radius(const struct event *e, uint32_t hit)
{
    return hypot(hypot((double)e->roi.x[hit], (double)e->roi.y[hit]), 1e-3 * (double)e->roi.z[hit]);
}

static void find_tracks(struct judge *j)
{
    const struct generated *g = &j->e->truth;

    for (uint32_t i = 0; i < g->n; i++) {
        struct track *t = &j->track[g->particle[i]];
        uint32_t k;

        if (g->particle[i] == GENERATOR_NOISE || t->n == HITS_OF)
            continue;
        for (k = t->n++; k > 0 && radius(j->e, t->hit[k - 1]) > radius(j->e, i); k--)
            t->hit[k] = t->hit[k - 1];
        t->hit[k] = i;
    }
    for (uint32_t p = 0; p < g->n_particles; p++) {
        uint32_t seen = 0;

        for (uint32_t k = 0; k < j->track[p].n; k++)
            seen |= 1u << j->e->roi.layer[j->track[p].hit[k]];
        j->track[p].layers = (uint32_t)__builtin_popcount(seen);
    }
}

/* The particle that has enough of a candidate's hits, or GENERATOR_NOISE. */
static uint32_t particle_of(const struct event *e, const struct answer *a, uint32_t i,
                            uint32_t *ret_hits)
{
    uint32_t n = a->path[0][i];

    for (uint32_t k = 0; k < n; k++) {
        uint32_t p = e->truth.particle[answer_hit(a, k, i)], same = 0;

        for (uint32_t m = 0; m < n; m++)
            same += e->truth.particle[answer_hit(a, m, i)] == p;
        if (p != GENERATOR_NOISE && same >= MATCHED * n) {
            *ret_hits = same;
            return p;
        }
    }
    *ret_hits = 0;
    return GENERATOR_NOISE;
}

static void find_paths(struct judge *j, const struct answer *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t same, p = particle_of(j->e, all, i, &same);

        if (p != GENERATOR_NOISE && same == all->path[0][i])
            j->has_path[p] = true;
    }
}

static void add_residuals(struct tally *t, const struct generated *g, uint32_t p,
                          const struct answer *a, uint32_t i)
{
    double pt = (double)answer_path(a, 9, i) * g->charge[p] / (double)g->pt[p] - 1;
    double d0 = (double)answer_path(a, 12, i) - (double)g->d0[p];
    double z0 = (double)answer_path(a, 13, i) - (double)g->z0[p];

    if (fabs(pt) > 0.5 || (double)g->pt[p] < PT_CUT)
        return; /* tails are told by efficiency and fakes */
    t->n_pt++;
    t->pt_square += pt * pt;
    t->z0_square += z0 * z0;
    t->d0_square += d0 * d0;
}

static void find_candidates(struct judge *j, const struct answer *chosen)
{
    struct tally *t = j->t;

    for (uint32_t i = 0; i < chosen->n; i++) {
        uint32_t same, p = particle_of(j->e, chosen, i, &same);

        t->fakes.of++;
        t->duplicates.of++;
        t->fakes.good += p == GENERATOR_NOISE;
        if (p == GENERATOR_NOISE)
            continue;
        t->duplicates.good += j->has_candidate[p];
        if (!j->has_candidate[p])
            add_residuals(t, &j->e->truth, p, chosen, i);
        j->has_candidate[p] = true;
    }
}

static void add(struct fraction *f, double of, double good)
{
    f->of += of;
    f->good += good;
}

static bool has_doublet(const struct roi *r, uint32_t inner, uint32_t outer)
{
    uint32_t low = 0, high = r->n_doublets; /* in order of (inner, outer) */

    while (low < high) {
        uint32_t i = low + (high - low) / 2;

        if (r->inner[i] < inner || (r->inner[i] == inner && r->outer[i] < outer))
            low = i + 1;
        else
            high = i;
    }
    return low < r->n_doublets && r->inner[low] == inner && r->outer[low] == outer;
}

static uint32_t bin_of(double x, double low, double high)
{
    double at = (x - low) / (high - low) * TALLY_BINS;

    return at < 0 ? 0 : at >= TALLY_BINS ? TALLY_BINS - 1 : (uint32_t)at;
}

double tally_pt(uint32_t bin)
{
    return PT_LOW * pow(PT_HIGH / PT_LOW, (double)bin / TALLY_BINS);
}

double tally_eta(uint32_t bin)
{
    return ETA_MOST * (2.0 * bin / TALLY_BINS - 1);
}

static void judge_particle(struct judge *j, uint32_t p)
{
    const struct generated *g = &j->e->truth;
    const struct track *track = &j->track[p];
    struct tally *t = j->t;
    uint32_t pt = bin_of(log((double)g->pt[p]), log(PT_LOW), log(PT_HIGH));
    uint32_t eta = bin_of((double)g->eta[p], -ETA_MOST, ETA_MOST), found = 0;
    double of = track->n - 1;

    if (track->layers < LAYERS)
        return;
    for (uint32_t k = 0; k + 1 < track->n; k++)
        found += has_doublet(&j->e->roi, track->hit[k], track->hit[k + 1]);
    add(&t->doublets_pt[pt], of, found);
    add(&t->paths_pt[pt], 1, j->has_path[p]);
    add(&t->candidates_pt[pt], 1, j->has_candidate[p]);
    if ((double)g->pt[p] < PT_CUT)
        return;
    add(&t->doublets_eta[eta], of, found);
    add(&t->paths_eta[eta], 1, j->has_path[p]);
    add(&t->candidates_eta[eta], 1, j->has_candidate[p]);
    add(&t->doublets, of, found);
    add(&t->paths, 1, j->has_path[p]);
    add(&t->candidates, 1, j->has_candidate[p]);
}

void tally_event(struct tally *t, const struct event *e, const struct answer *all,
                 const struct answer *chosen)
{
    const uint32_t n = e->truth.n_particles;
    struct judge j = {.t = t,
                      .e = e,
                      .track = calloc(n + 1u, sizeof *j.track),
                      .has_path = calloc(n + 1u, 1),
                      .has_candidate = calloc(n + 1u, 1)};

    if (!j.track || !j.has_path || !j.has_candidate) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    find_tracks(&j);
    find_paths(&j, all);
    find_candidates(&j, chosen);
    for (uint32_t p = 0; p < n; p++)
        judge_particle(&j, p);
    free(j.track);
    free(j.has_path);
    free(j.has_candidate);
}
