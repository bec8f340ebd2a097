/* SPDX-License-Identifier: Apache-2.0 */
#include "steps_slices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"

#define SEED   20260105u
#define WIDTH  0.2   /* degrees, of a slice */
#define Z_MAX  250.0 /* mm */
#define Z_BINS 1000u
#define PI     3.14159265358979323846

/* The slice of each point of an RoI; returns how many slices there are. */
static uint32_t assign(const struct generated *g, uint32_t *ret_slice)
{
    const double half = (double)g->info.phi_half_rad, width = WIDTH * PI / 180;
    const uint32_t n = (uint32_t)ceil(2 * half / width);

    for (uint32_t i = 0; i < g->n; i++) {
        const double from = remainder((double)g->phi[i] - (double)g->info.phi_rad, 2 * PI) + half;
        const double at = from / width;

        ret_slice[i] = at < 0 ? 0 : at >= n ? n - 1 : (uint32_t)at;
    }
    return n;
}

static void add_points(const struct generated *g, const uint32_t *slice, uint32_t wanted,
                       uint32_t layer, struct slices *s)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (slice[i] == wanted && g->layer[i] == layer) {
            s->rho[s->n_points] = g->rho[i];
            s->z[s->n_points++] = g->z[i];
        }
}

/* Slice k of an RoI. */
static void add_slice(const struct generated *g, const uint32_t *slice, uint32_t k, uint32_t n,
                      struct slices *s)
{
    struct zs_slice *to = &s->slice[s->par.slices++];

    for (uint32_t l = 0; l < ZS_LAYERS; l++) {
        to->first[l] = s->n_points;
        add_points(g, slice, k, l, s);
        to->own[l] = s->n_points - to->first[l];
        if (k > 0)
            add_points(g, slice, k - 1, l, s);
        if (k + 1 < n)
            add_points(g, slice, k + 1, l, s);
    }
    to->first[ZS_LAYERS] = s->n_points;
    to->pair[0] = 0;
    for (uint32_t l = 0; l < ZS_LAYERS; l++)
        to->pair[l + 1] = to->pair[l] + to->own[l] * (s->n_points - to->first[l + 1]);
    s->pairs += (double)to->pair[ZS_LAYERS] / ZS_ROIS;
}

/* What the histograms must hold, in the arithmetic of the kernels. */
static void count_entries(struct slices *s, uint32_t first, uint32_t n)
{
    for (const struct zs_slice *t = s->slice + first; t < s->slice + first + n; t++)
        for (uint32_t l = 0; l + 1 < ZS_LAYERS; l++)
            for (uint32_t a = t->first[l]; a < t->first[l] + t->own[l]; a++)
                for (uint32_t b = t->first[l + 1]; b < t->first[ZS_LAYERS]; b++) {
                    const float at =
                        (s->z[b] * s->rho[a] - s->z[a] * s->rho[b]) / (s->rho[a] - s->rho[b]) +
                        s->par.z_max;

                    if (at >= 0 && at < 2 * s->par.z_max) {
                        s->entries++;
                        s->sum += (double)at;
                    }
                }
}

static int add_roi(const struct generated *g, uint32_t r, struct slices *s)
{
    uint32_t *slice = malloc((g->n + 1) * sizeof *slice);
    uint32_t n = slice ? assign(g, slice) : 0;
    struct zs_slice *more = realloc(s->slice, (s->par.slices + n + 1) * sizeof *more);
    float *rho = realloc(s->rho, (s->n_points + 3u * g->n + 1) * sizeof *rho);
    float *z = realloc(s->z, (s->n_points + 3u * g->n + 1) * sizeof *z);

    s->slice = more ? more : s->slice;
    s->rho = rho ? rho : s->rho;
    s->z = z ? z : s->z;
    if (!slice || !more || !rho || !z) {
        free(slice);
        return -ENOMEM;
    }
    s->first[r] = s->par.slices;
    s->of[r] = n;
    s->histograms = n > s->histograms ? n : s->histograms;
    s->points += (double)g->n / ZS_ROIS;
    for (uint32_t k = 0; k < n; k++)
        add_slice(g, slice, k, n, s);
    count_entries(s, s->first[r], n);
    if (r == 0)
        s->entries_first = s->entries;
    free(slice);
    return 0;
}

int slices_make(const char *preset, struct slices *ret)
{
    int e = 0;

    memset(ret, 0, sizeof *ret);
    ret->preset = preset;
    ret->par.bins = Z_BINS;
    ret->par.z_max = (float)Z_MAX;
    ret->par.per_mm = (float)(Z_BINS / (2 * Z_MAX));
    for (uint32_t r = 0; e == 0 && r < ZS_ROIS; r++) {
        struct generated g;

        generated_init(&g);
        e = generator_make(generator_find(preset), SEED, r, &g);
        if (e == 0)
            e = add_roi(&g, r, ret);
        generated_fini(&g);
    }
    return e;
}

void slices_free(struct slices *s)
{
    free(s->slice);
    free(s->rho);
    free(s->z);
}
