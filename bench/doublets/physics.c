/* SPDX-License-Identifier: Apache-2.0 */
/* doublets_physics - doublets against the truth of generated pixel events: the efficiency against
 * pT and eta, how many doublets there are, and how many of them are of one particle.
 *
 *     TRIGD_BUILD=build/release build/release/bench/doublets_physics [--quick] [--first EVENT]
 *         [--json FILE]
 *
 * A true doublet is a pair of hits of one particle that follow each other on its way and lie on a
 * pair of layers that is used.  The table against eta is of particles above 0.9 GeV. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "events.h"
#include "result.h"

#define BINS      8u
#define PARTICLES 64u /* hits of one particle that are looked at */

static struct results out = {
    .bench = "physics-doublets", .command = "doublets_physics", .has_table = true};
static uint32_t first = 100000; /* event: nothing was tuned on those from there on */
static const double pt_edges[BINS + 1] = {0.3, 0.5, 0.6, 0.75, 0.9, 1.5, 3, 10, 1e9};
static const double eta_edges[BINS + 1] = {-3, -2.5, -1.8, -1.2, 0, 1.2, 1.8, 2.5, 3};

struct count {
    double found, all;
};

struct tally {
    struct count pt[BINS], eta[BINS], good; /* good: above 0.9 GeV, |eta| < 2.5 */
    double doublets, true_doublets, hits, events;
};

static void report(const char *preset, const char *what, const struct count *c)
{
    const double value = c->all > 0 ? c->found / c->all : 0;
    const double error = result_error(value, c->all);

    if (c->all < 1)
        return;
    printf("%-9s %-36s %.4f +- %.4f  (%.0f of %.0f)\n", preset, what, value, error, c->found,
           c->all);
    result_report_value(&out, &(struct result_figure){.unit = "", .higher_is_better = true}, value,
                        error, 1, "%s, %s", preset, what);
}

static void add(struct count *bins, const double *edges, double at, bool found)
{
    for (uint32_t b = 0; b < BINS; b++)
        if (at >= edges[b] && at < edges[b + 1]) {
            bins[b].all += 1;
            bins[b].found += found;
        }
}

static bool is_used(const struct dbt_par *par, uint32_t inner, uint32_t outer)
{
    for (uint32_t k = 0; k < par->n_pairs; k++)
        if (par->pair[k].inner == inner && par->pair[k].outer == outer)
            return true;
    return false;
}

static bool is_found(const struct trg_output *o, uint32_t inner, uint32_t outer)
{
    const uint32_t *a = o->column[0], *b = o->column[1];
    uint32_t low = 0, high = o->n;

    while (low < high) {
        const uint32_t at = (low + high) / 2;

        if (a[at] < inner || (a[at] == inner && b[at] < outer))
            low = at + 1;
        else
            high = at;
    }
    return low < o->n && a[low] == inner && b[low] == outer;
}

static double distance(const struct generated *g, uint32_t i)
{
    return sqrt((double)g->hits.x[i] * g->hits.x[i] + (double)g->hits.y[i] * g->hits.y[i] +
                (double)g->hits.z[i] * g->hits.z[i]);
}

/* The hits of one particle, along its way. */
static void count_particle(const struct generated *g, const struct trg_output *o,
                           const struct dbt_par *par, uint32_t p, uint32_t *hits, uint32_t n,
                           struct tally *t)
{
    const double pt = (double)g->pt[p], eta = (double)g->eta[p];

    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && distance(g, hits[k - 1]) > distance(g, hits[k]); k--) {
            const uint32_t swap = hits[k];

            hits[k] = hits[k - 1];
            hits[k - 1] = swap;
        }
    for (uint32_t i = 0; i + 1 < n; i++) {
        bool found;

        if (!is_used(par, g->hits.layer[hits[i]], g->hits.layer[hits[i + 1]]))
            continue;
        found = is_found(o, hits[i], hits[i + 1]);
        add(t->pt, pt_edges, pt, found);
        if (pt > 0.9)
            add(t->eta, eta_edges, eta, found);
        if (pt > 0.9 && fabs(eta) < 2.5) {
            t->good.all += 1;
            t->good.found += found;
        }
    }
}

static void count_event(const struct generated *g, const struct trg_output *o,
                        const struct dbt_par *par, struct tally *t)
{
    uint32_t(*hits)[PARTICLES] = calloc(g->n_particles + 1, sizeof *hits);
    uint32_t *n = calloc(g->n_particles + 1, sizeof *n);

    if (!hits || !n)
        exit(1);
    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t p = g->particle[i];

        if (p != GENERATOR_NOISE && n[p] < PARTICLES)
            hits[p][n[p]++] = i;
    }
    for (uint32_t p = 0; p < g->n_particles; p++)
        count_particle(g, o, par, p, hits[p], n[p], t);
    for (uint32_t i = 0; i < o->n; i++) {
        const uint32_t p = g->particle[((const uint32_t *)o->column[0])[i]];

        t->true_doublets +=
            p != GENERATOR_NOISE && p == g->particle[((const uint32_t *)o->column[1])[i]];
    }
    t->doublets += o->n;
    t->hits += g->n;
    t->events += 1;
    free(hits);
    free(n);
}

static void tell_bins(const char *preset, const char *name, const struct count *bins,
                      const double *edges)
{
    for (uint32_t b = 0; b < BINS; b++) {
        char what[64];

        if (edges[b + 1] < 1e8)
            snprintf(what, sizeof what, "efficiency, %s %g to %g", name, edges[b], edges[b + 1]);
        else
            snprintf(what, sizeof what, "efficiency, %s above %g", name, edges[b]);
        report(preset, what, &bins[b]);
    }
}

static int measure(const struct device *cpu, const char *preset, uint32_t n)
{
    struct doublets_config c;
    struct dbt_par par = {0};
    struct tally t = {0};
    struct count pure;

    events_config(&c);
    doublets_fill_par(&c, &par);
    for (uint32_t i = 0; i < n; i++) {
        struct generated *g = generated_new(preset, 1, first + i, 1);
        struct lane *l = g ? lane_open(cpu, &c, g, 1) : NULL;

        if (!l || lane_run(l, true) < 0)
            return 1;
        if (lane_result(l, 0)->status != TRG_OK)
            printf("%s, event %u: kept %u of %u doublets\n", preset, i, lane_result(l, 0)->kept,
                   lane_result(l, 0)->wanted);
        count_event(g, lane_output(l, 0), &par, &t);
        lane_close(l);
        generated_free(g, 1);
    }
    printf("%-9s %.0f hits, %.0f doublets an event (%.1f for each hit)\n", preset,
           t.hits / t.events, t.doublets / t.events, t.doublets / t.hits);
    report(preset, "efficiency, pT > 0.9 GeV, |eta| < 2.5", &t.good);
    pure = (struct count){t.true_doublets, t.doublets};
    report(preset, "fraction of one particle", &pure);
    tell_bins(preset, "pT / GeV", t.pt, pt_edges);
    tell_bins(preset, "eta", t.eta, eta_edges);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *preset;
        uint32_t events, quick;
    } list[] = {
        {"pixel", 3000, 100}, {"pixel50", 300, 5}, {"pixel140", 100, 2}, {"pixel200", 60, 2}};
    bool quick = false;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &quick, 0, 0, NULL, "few events"},
        {"first", ARG_U32, &first, 0, 1u << 31, "EVENT",
         "number of the first event of each preset"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (!devices_open("cpu")) {
        fprintf(stderr, "doublets_physics: TRIGD_BUILD must name the build folder\n");
        return 1;
    }
    for (uint32_t k = 0; r == 0 && k < sizeof list / sizeof *list; k++)
        r = measure(devices_get(0), list[k].preset, quick ? list[k].quick : list[k].events);
    devices_close();
    return result_end(&out, 0) || r;
}
