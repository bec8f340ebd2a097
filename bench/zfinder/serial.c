/* SPDX-License-Identifier: Apache-2.0 */
#include "serial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

struct serial {
    double *phi, *rho, *z; /* sorted by slice */
    uint32_t *slice;
    uint8_t *layer;
    uint32_t start[ZF_SLICES + 2];
    uint32_t count[ZF_ENTRIES];
    double sum[ZF_ENTRIES];
};

struct serial *serial_new(uint32_t max_items)
{
    struct serial *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->phi = malloc(max_items * sizeof *s->phi);
    s->rho = malloc(max_items * sizeof *s->rho);
    s->z = malloc(max_items * sizeof *s->z);
    s->slice = malloc(max_items * sizeof *s->slice);
    s->layer = malloc(max_items);
    if (s->phi && s->rho && s->z && s->slice && s->layer)
        return s;
    serial_free(s);
    return NULL;
}

void serial_free(struct serial *s)
{
    if (!s)
        return;
    free(s->phi);
    free(s->rho);
    free(s->z);
    free(s->slice);
    free(s->layer);
    free(s);
}

/* Sorts the points by slice (counting sort); returns the number of slices. */
static uint32_t sort(struct serial *s, const struct zf_config *c, const struct generated *g)
{
    double half = (double)g->info.phi_half_rad, inv = 180.0 / (PI * (double)c->phi_slice_deg);
    double low = half >= PI ? -PI : (double)g->info.phi_rad - half;
    double width = half >= PI ? 2 * PI + 1e-4 : 2 * half;
    uint32_t n_slices = (uint32_t)ceil(width * inv), at[ZF_SLICES + 1];

    if (low < -PI)
        low += 2 * PI;
    memset(s->start, 0, (n_slices + 2) * sizeof *s->start);
    for (uint32_t i = 0; i < g->n; i++) {
        double d = (double)g->phi[i] - low;

        if (d < 0)
            d += 2 * PI;
        s->slice[i] = d < width ? (uint32_t)(d * inv) : n_slices;
        if (s->slice[i] < n_slices)
            s->start[s->slice[i] + 1]++;
    }
    for (uint32_t k = 0; k < n_slices; k++)
        s->start[k + 1] += s->start[k];
    memcpy(at, s->start, n_slices * sizeof *at);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t to;

        if (s->slice[i] >= n_slices)
            continue;
        to = at[s->slice[i]]++;
        s->phi[to] = (double)g->phi[i];
        s->rho[to] = (double)g->rho[i];
        s->z[to] = (double)g->z[i];
        s->layer[to] = g->layer[i];
    }
    return n_slices;
}

static double turn(double from, double to)
{
    double d = to - from;

    return d > PI ? d - 2 * PI : d < -PI ? d + 2 * PI : d;
}

static uint32_t triplets(const struct serial *s, const struct zf_config *c, uint32_t n_slices,
                         uint32_t slice, uint32_t i, uint32_t o, double z0)
{
    uint32_t low = slice ? slice - 1 : 0, high = slice + 2 < n_slices ? slice + 2 : n_slices, n = 0;
    double inv = 1 / (s->rho[i] - s->rho[o]), dp = turn(s->phi[i], s->phi[o]);
    double k0 = 2 * dp * inv, p0 = dp * s->rho[i] * inv;

    for (uint32_t t = s->start[low]; t < s->start[high]; t++) {
        double inv_t, dp_t, z;

        if (s->layer[t] <= s->layer[o])
            continue;
        inv_t = 1 / (s->rho[o] - s->rho[t]);
        z = (s->z[t] * s->rho[o] - s->z[o] * s->rho[t]) * inv_t;
        if (!(fabs(z - z0) <= (double)c->triplet_dz_mm))
            continue;
        dp_t = turn(s->phi[o], s->phi[t]);
        if (!(fabs(2 * dp_t * inv_t - k0) <= (double)c->triplet_dk) ||
            !(fabs(dp + dp_t * s->rho[o] * inv_t - p0) < (double)c->triplet_dphi_rad))
            continue;
        if (c->triplet_mode == 1)
            return 1;
        n++;
    }
    return n;
}

struct search { /* one RoI being searched */
    struct serial *s;
    const struct zf_config *c;
    uint32_t n_slices, n_bins;
    double inv_bin;
};

static void count_pair(const struct search *q, uint32_t slice, uint32_t i, uint32_t o)
{
    struct serial *s = q->s;
    double z_max = (double)q->c->z_max_mm;
    double z0 = (s->z[o] * s->rho[i] - s->z[i] * s->rho[o]) / (s->rho[i] - s->rho[o]);
    uint32_t bin, n = 1;

    if (!(z0 > -z_max && z0 < z_max))
        return;
    if (q->c->triplet_mode)
        n = triplets(s, q->c, q->n_slices, slice, i, o, z0);
    bin = (uint32_t)((z0 + z_max) * q->inv_bin);
    if (bin >= q->n_bins)
        bin = q->n_bins - 1;
    s->count[bin] += n;
    s->sum[bin] += z0 * n;
}

static void count_pairs(const struct search *q)
{
    const struct serial *s = q->s;

    for (uint32_t slice = 0; slice < q->n_slices; slice++) {
        uint32_t low = slice ? slice - 1 : 0;
        uint32_t high = slice + 2 < q->n_slices ? slice + 2 : q->n_slices;

        for (uint32_t i = s->start[slice]; i < s->start[slice + 1]; i++)
            for (uint32_t near = low; near < high; near++)
                for (uint32_t o = s->start[near]; o < s->start[near + 1]; o++)
                    if (s->layer[o] > s->layer[i])
                        count_pair(q, near, i, o);
    }
}

double serial_find(struct serial *s, const struct zf_config *c, const struct generated *g)
{
    double bin = (double)c->z_bin_mm + (double)c->z_bin_eta_mm * fabs((double)g->info.eta);
    uint32_t n_bins = (uint32_t)ceil(2 * (double)c->z_max_mm / bin), best = 0, at = 0;

    memset(s->count, 0, n_bins * sizeof *s->count);
    memset(s->sum, 0, n_bins * sizeof *s->sum);
    count_pairs(&(struct search){s, c, sort(s, c, g), n_bins, 1 / bin});
    for (uint32_t b = 1; b + 1 < n_bins; b++) {
        uint32_t n = s->count[b - 1] + s->count[b] + s->count[b + 1];

        if (n > best) {
            best = n;
            at = b;
        }
    }
    if (best < (c->triplet_mode ? 1u : 2u))
        return NAN;
    return (s->sum[at - 1] + s->sum[at] + s->sum[at + 1]) / best;
}
