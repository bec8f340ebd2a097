/* SPDX-License-Identifier: Apache-2.0 */
/* test_jets PLUGIN EVENTS.roi JETS.csv: the jets of 1,000 Pythia events on every device against
 * those that FastJet found in the same towers (make_sample.py): the same number, of the same
 * towers, with the same momenta; and the same bits on all devices. */
#include "trigd/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jets.collections.h"

#define ROIS_MAX 2000u

struct golden {
    unsigned event, n_towers;
    double pt, y, phi, mass;
};

static const float *column(const struct trg_testing_roi *r, uint32_t c)
{
    return r->out[0].column[c];
}

/* Jets may change places where their momenta differ in the last digits only. */
static int is_found(const struct trg_testing_roi *r, const struct golden *g)
{
    const uint32_t *n_towers = r->out[0].column[TRG_JETS_N_TOWERS_COLUMN];

    for (uint32_t k = 0; k < r->out[0].n; k++) {
        const double dphi = fabs((double)column(r, TRG_JETS_PHI_COLUMN)[k] - g->phi);

        if (n_towers[k] == g->n_towers &&
            fabs((double)column(r, TRG_JETS_PT_COLUMN)[k] / g->pt - 1) < 2e-5 &&
            fabs((double)column(r, TRG_JETS_Y_COLUMN)[k] - g->y) < 2e-5 &&
            fmin(dphi, 6.283185307 - dphi) < 2e-5 &&
            fabs((double)column(r, TRG_JETS_MASS_COLUMN)[k] - g->mass) < 2e-3 * g->mass + 2e-2)
            return 1;
    }
    return 0;
}

/* Every jet of FastJet is found, and there are no more. */
static int is_right(const struct trg_testing_roi *rois, uint32_t n, const char *path)
{
    static uint32_t wanted[ROIS_MAX];
    FILE *f = fopen(path, "r");
    struct golden g;
    uint32_t jets = 0, bad = 0;
    char line[256];

    memset(wanted, 0, sizeof wanted);
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%u,%lf,%lf,%lf,%lf,%u", &g.event, &g.pt, &g.y, &g.phi, &g.mass,
                   &g.n_towers) != 6 ||
            g.event >= n)
            continue; /* the names of the columns */
        wanted[g.event]++;
        jets++;
        if (!is_found(&rois[g.event], &g) && bad++ < 5)
            printf("event %u: no jet of pT %g at y %g, phi %g with %u towers\n", g.event, g.pt, g.y,
                   g.phi, g.n_towers);
    }
    if (f)
        fclose(f);
    for (uint32_t r = 0; r < n; r++)
        if (rois[r].out[0].n != wanted[r] && bad++ < 5)
            printf("event %u: %u jets instead of %u\n", r, rois[r].out[0].n, wanted[r]);
    printf("%u events, %u jets, %u differ\n", n, jets, bad);
    return jets > 1000 && !bad;
}

/* A word that all bits of the products enter. */
static uint64_t bits(const struct trg_testing_roi *rois, uint32_t n)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (uint32_t r = 0; r < n; r++)
        for (uint32_t c = 0; c < TRG_JETS_COLUMNS; c++)
            for (uint32_t k = 0; k < rois[r].out[0].n; k++)
                h = (h ^ ((const uint32_t *)rois[r].out[0].column[c])[k]) * 0x100000001b3u;
    return h;
}

int main(int argc, char **argv)
{
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint64_t first = 0;
    uint32_t n = 0;
    int failed = argc != 4 || trg_testing_open(argv[1], &t) < 0 ||
                 trg_testing_read(t, argv[2], &rois, &n) < 0 || n > ROIS_MAX;

    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++) {
        failed = trg_testing_run(t, d, NULL, rois, n) < 0 || !is_right(rois, n, argv[3]);
        first = d ? first : bits(rois, n);
        failed = failed || bits(rois, n) != first;
        if (failed)
            printf("wrong on %s\n", trg_testing_device(t, d));
    }
    trg_testing_close(t);
    return failed;
}
