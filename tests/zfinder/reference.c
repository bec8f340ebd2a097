/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bending.h"

#define PI 3.14159265358979323846

struct job {
    const struct zf_config *c;
    const struct generated *g;
    uint32_t n_slices, n_bins;
    int32_t fewer;
    uint32_t reach[ZF_LAYERS][ZF_LAYERS];
    float phi_min, width, inv_slice, inv_bin;
    double start, inv, origin, z_low, z_high; /* as the original */
    uint32_t *slice;                          /* of each point; UINT32_MAX: not used */
    uint32_t layers;
    uint32_t charges, histograms;
    uint32_t *count, *place; /* [charge][histogram][bin] */
};

/* ---------------------------------------------------------------- the pieces of the definition */

/* A parameter as it was written. */
static double written(float x)
{
    char text[32];

    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

static double slices_a_rad(const struct zf_config *c)
{
    return 180.0 / (PI * (c->as_original ? written(c->phi_slice_deg) : (double)c->phi_slice_deg));
}

static uint32_t work_out_reach(const struct zf_config *c, int32_t fewer, uint32_t inner,
                               uint32_t outer)
{
    uint32_t shift = c->max_layers < 20 ? 1 : 0, i = inner + shift, o = outer + shift;
    double dphi = 0, n = 1, pt = written(c->neighbour_pt_gev);

    if (c->neighbours == ZF_NEIGHBOURS_BENDING && o < 8)
        dphi = bending_barrel[i][o] * 6.0 / pt;
    else if (c->neighbours == ZF_NEIGHBOURS_BENDING && o < 20 && bending_end_cap[i][o - 8] > 0)
        dphi = bending_end_cap[i][o - 8] * 6.0 / pt +
               written(c->neighbour_eta_slope_rad) * (0.9 - bending_eta[o - 8]);
    dphi *= written(c->neighbour_multiplier);
    if (dphi > 0)
        n = ceil(sqrt(dphi * dphi + 2 * 0.0003 * 0.0003) * slices_a_rad(c));
    if (n > 255)
        n = 255;
    if (outer > c->last_barrel)
        n -= fewer;
    return n < 1 ? 1 : (uint32_t)n;
}

static uint32_t pair_reach(const struct job *j, uint32_t inner, uint32_t outer)
{
    return j->reach[inner][outer];
}

static bool layer_used(const struct zf_config *c, uint32_t l)
{
    if (l >= c->max_layers)
        return false;
    return !c->pixel_only || l < 4 || (l >= 8 && l <= 10);
}

/* Where the points begin in phi and how far they go: straight from the definition, by the largest
 * gap between neighbours on the circle that is at 0 or at pi. */
static void span_points(const struct generated *g, double *start, double *width)
{
    double above[2] = {9, 0}, below[2] = {0, -9}; /* smallest and largest */
    bool any_above = false, any_below = false;

    for (uint32_t i = 0; i < g->n; i++) {
        double p = (double)g->phi[i];

        if (p > 0) {
            any_above = true;
            above[0] = fmin(above[0], p);
            above[1] = fmax(above[1], p);
        } else if (p < 0) {
            any_below = true;
            below[0] = fmin(below[0], p);
            below[1] = fmax(below[1], p);
        }
    }
    if (any_above && any_below && above[0] - below[1] >= PI) { /* through pi */
        *start = above[0];
        *width = below[1] + 2 * PI - above[0];
    } else {
        *start = any_below ? below[0] : above[0];
        *width = (any_above ? above[1] : below[1]) - *start;
    }
    *start -= 1e-10;
    *width += 2e-10;
}

/* Slices and bins in double precision, as the original has them. */
static void set_up_double(struct job *j)
{
    const struct zf_config *c = j->c;
    const struct trg_roi_info *info = &j->g->info;
    double bin = written(c->z_bin_mm) + written(c->z_bin_eta_mm) * fabs((double)info->eta);
    double half = c->phi_range == ZF_RANGE_WIDTH ? written(c->roi_phi_width_rad) / 2
                                                 : (double)info->phi_half_rad;
    double width = 2 * half;

    j->start = (double)info->phi_rad - half;
    if (j->start < -PI)
        j->start += 2 * PI;
    if (c->phi_range == ZF_RANGE_FULL || half >= PI) {
        j->start = -PI;
        width = 2 * PI;
    } else if (c->phi_range == ZF_RANGE_POINTS) {
        span_points(j->g, &j->start, &width);
    }
    j->n_slices = (uint32_t)ceil(width * slices_a_rad(c));
    j->inv = 1.0 / bin;
    j->z_low = fmax((double)info->z_min_mm, -(double)c->z_max_mm);
    j->z_high = fmin((double)info->z_max_mm, (double)c->z_max_mm);
    j->origin = 0.5 - floor(j->z_low * j->inv);
    j->n_bins = 2 * (uint32_t)ceil(0.5 * (j->z_high - j->z_low) * j->inv) + 1;
    if (j->n_bins <= (uint32_t)(j->z_high * j->inv + j->origin))
        j->n_bins = (uint32_t)(j->z_high * j->inv + j->origin) + 1;
    for (uint32_t i = 0; i < j->g->n; i++) {
        double d = (double)j->g->phi[i] - j->start;

        j->slice[i] = UINT32_MAX;
        if (d < 0)
            d += 2 * PI;
        if (d < width + 1e-6 && layer_used(c, j->g->layer[i])) {
            j->slice[i] = (uint32_t)(d * slices_a_rad(c));
            if (j->slice[i] >= j->n_slices)
                j->slice[i] = j->n_slices - 1;
            j->layers |= 1u << j->g->layer[i];
        }
    }
}

static void set_up_single(struct job *j)
{
    const struct zf_config *c = j->c;
    const struct trg_roi_info *info = &j->g->info;
    double eta = fabs((double)info->eta), bin = (double)c->z_bin_mm + (double)c->z_bin_eta_mm * eta;
    double half = c->phi_range == ZF_RANGE_WIDTH ? (double)c->roi_phi_width_rad / 2
                                                 : (double)info->phi_half_rad;
    double low = (double)info->phi_rad - half;

    j->inv_slice = (float)(180.0 / (PI * (double)c->phi_slice_deg));
    j->inv_bin = (float)(1.0 / bin);
    j->z_high = (double)c->z_max_mm;
    j->z_low = -j->z_high;
    j->n_bins = (uint32_t)ceil(2 * (double)c->z_max_mm / bin);
    if (j->n_bins < 3)
        j->n_bins = 3;
    if (c->phi_range == ZF_RANGE_FULL || half >= PI) {
        j->phi_min = (float)-PI;
        j->width = 6.2832f;
    } else {
        j->phi_min = (float)(low < -PI ? low + 2 * PI : low > PI ? low - 2 * PI : low);
        j->width = (float)(2 * half);
    }
    j->n_slices = (uint32_t)ceil((double)j->width * (double)j->inv_slice);
    for (uint32_t i = 0; i < j->g->n; i++) {
        float d = j->g->phi[i] - j->phi_min;

        j->slice[i] = UINT32_MAX;
        if (d < 0)
            d = d + 6.2831855f;
        if (d < j->width && layer_used(c, j->g->layer[i])) {
            j->slice[i] = (uint32_t)(d * j->inv_slice);
            if (j->slice[i] >= j->n_slices)
                j->slice[i] = j->n_slices - 1;
            j->layers |= 1u << j->g->layer[i];
        }
    }
}

static void set_up(struct job *j)
{
    const struct zf_config *c = j->c;

    if (c->as_original)
        set_up_double(j);
    else
        set_up_single(j);
    if (c->neighbours == ZF_NEIGHBOURS_BENDING)
        j->fewer = (int32_t)floor((0.9 - fabs((double)j->g->info.eta)) *
                                  written(c->neighbour_eta_slope_rad) * slices_a_rad(c) *
                                  written(c->neighbour_multiplier));
    for (uint32_t inner = 0; inner < ZF_LAYERS; inner++)
        for (uint32_t outer = inner + 1; outer < ZF_LAYERS; outer++)
            j->reach[inner][outer] = work_out_reach(c, j->fewer, inner, outer);
    j->charges = c->charge_aware ? 2 : 1;
    j->histograms = c->histogram_per_slice ? j->n_slices : 1;
}

static bool may_begin(const struct job *j, uint32_t layer)
{
    uint32_t rank = (uint32_t)__builtin_popcount(j->layers & ((1u << layer) - 1));

    return rank < j->c->first_layers && rank + 1 < (uint32_t)__builtin_popcount(j->layers);
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static float on_beam(float r1, float z1, float r2, float z2)
{
    return (z2 * r1 - z1 * r2) / (r1 - r2);
}

static float turn(float from, float to)
{
    float d = to - from;

    return d > 3.1415927f ? d - 6.2831855f : d < -3.1415927f ? d + 6.2831855f : d;
}

/* In double precision: the curvature of the third pair against the first, and the phi on the beam
 * line, in which they differ by that times half of the middle radius. */
static bool bends_alike(const struct job *j, uint32_t i, uint32_t o, uint32_t t)
{
    const struct generated *g = j->g;
    double half = (double)g->rho[o] / 2, pi = (double)g->phi[i] - j->start;
    double po = (double)g->phi[o] - j->start, pt = (double)g->phi[t] - j->start;
    float first, second, cut = (float)((double)j->c->triplet_dphi_rad / half);

    pi += pi < 0 ? 2 * PI : 0;
    po += po < 0 ? 2 * PI : 0;
    pt += pt < 0 ? 2 * PI : 0;
    first = (float)(2 * (po - pi) * (1 / ((double)g->rho[i] - (double)g->rho[o])));
    second = (float)(2 * (po - pt) * (1 / ((double)g->rho[t] - (double)g->rho[o])));
    return fabsf(second - first) <= fminf(cut, j->c->triplet_dk);
}

static double on_beam_double(double r1, double z1, double r2, double z2)
{
    return (z2 * r1 - z1 * r2) * (1.0 / (r1 - r2));
}

static bool third_agrees(const struct job *j, uint32_t i, uint32_t o, uint32_t t, double z0)
{
    const struct generated *g = j->g;
    uint32_t si = j->slice[i], so = j->slice[o], st = j->slice[t];
    uint32_t reach = pair_reach(j, g->layer[o], g->layer[t]);
    float inv = 1.0f / (g->rho[i] - g->rho[o]), dp = turn(g->phi[i], g->phi[o]);
    float inv_t = 1.0f / (g->rho[o] - g->rho[t]), dp_t = turn(g->phi[o], g->phi[t]);

    if (apart(so, st) > reach)
        return false;
    if ((so >= si && st + 1 < so) || (so <= si && st > so + 1))
        return false; /* bends back */
    if (j->c->as_original)
        return fabsf((float)on_beam_double((double)g->rho[o], (double)g->z[o], (double)g->rho[t],
                                           (double)g->z[t]) -
                     (float)z0) <= j->c->triplet_dz_mm &&
               bends_alike(j, i, o, t);
    if (!(fabsf(on_beam(g->rho[o], g->z[o], g->rho[t], g->z[t]) - (float)z0) <=
          j->c->triplet_dz_mm))
        return false;
    if (!(fabsf(2.0f * dp_t * inv_t - 2.0f * dp * inv) <= j->c->triplet_dk))
        return false;
    return fabsf(dp + dp_t * g->rho[o] * inv_t - dp * g->rho[i] * inv) < j->c->triplet_dphi_rad;
}

static uint32_t triplets(const struct job *j, uint32_t i, uint32_t o, double z0)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < j->g->n; t++)
        if (j->slice[t] != UINT32_MAX && j->g->layer[t] > j->g->layer[o])
            n += third_agrees(j, i, o, t, z0);
    return j->c->triplet_mode == 1 && n ? 1 : n;
}

static void add(struct job *j, uint32_t charge, uint32_t histogram, double t, uint32_t n)
{
    uint32_t bin = (uint32_t)t, at;

    if (bin >= j->n_bins)
        bin = j->n_bins - 1;
    at = (charge * j->histograms + histogram) * j->n_bins + bin;
    j->count[at] += n;
    j->place[at] += (uint32_t)((t - bin) * (double)ZF_QUANTA) * n;
}

/* Counts a pair into all histograms that it belongs to. */
static void fill(struct job *j, uint32_t i, uint32_t o, double t, uint32_t n)
{
    uint32_t layer = j->g->layer[i], si = j->slice[i], so = j->slice[o];
    bool first = j->charges == 1 || so <= si + 1, second = j->charges == 2 && so + 1 >= si;
    uint32_t far = layer ? pair_reach(j, 0, layer) : 0;
    uint32_t near = j->charges == 2 && layer ? 1 : far;

    if (j->histograms == 1) {
        if (first)
            add(j, 0, 0, t, n);
        if (second)
            add(j, 1, 0, t, n);
        return;
    }
    for (uint32_t s = 0; s < j->n_slices; s++) {
        if (first && (s >= si ? s - si <= far : si - s <= near))
            add(j, 0, s, t, n);
        if (second && (s >= si ? s - si <= near : si - s <= far))
            add(j, 1, s, t, n);
    }
}

static void count_pairs(struct job *j)
{
    const struct generated *g = j->g;

    for (uint32_t i = 0; i < g->n; i++) {
        if (j->slice[i] == UINT32_MAX || !may_begin(j, g->layer[i]))
            continue;
        for (uint32_t o = 0; o < g->n; o++) {
            double z0;
            uint32_t n;

            if (j->slice[o] == UINT32_MAX || g->layer[o] <= g->layer[i] ||
                apart(j->slice[i], j->slice[o]) > pair_reach(j, g->layer[i], g->layer[o]))
                continue;
            z0 = j->c->as_original ? on_beam_double((double)g->rho[i], (double)g->z[i],
                                                    (double)g->rho[o], (double)g->z[o])
                                   : (double)on_beam(g->rho[i], g->z[i], g->rho[o], g->z[o]);
            if (!(z0 > j->z_low && z0 < j->z_high))
                continue;
            n = j->c->triplet_mode ? triplets(j, i, o, z0) : 1;
            if (n)
                fill(j, i, o,
                     j->c->as_original ? z0 * j->inv + j->origin
                                       : (double)(((float)z0 + j->c->z_max_mm) * j->inv_bin),
                     n);
        }
    }
}

/* ---------------------------------------------------------------- peaks */

/* Whether a peak comes before another of the same height. */
static bool comes_first(const struct job *j, uint32_t c, uint32_t h, uint32_t b, uint32_t c2,
                        uint32_t h2, uint32_t b2)
{
    uint32_t middle = j->n_bins / 2;

    if (j->c->prefer_central && apart(b, middle) != apart(b2, middle))
        return apart(b, middle) < apart(b2, middle);
    return c != c2 ? c < c2 : h != h2 ? h < h2 : b < b2;
}

static bool take_peak(struct job *j, struct reference *ret)
{
    uint32_t best = 0, bc = 0, bh = 0, bb = 0, *n = j->count, *p = j->place, at;
    double sum = 0;

    for (uint32_t c = 0; c < j->charges; c++)
        for (uint32_t h = 0; h < j->histograms; h++)
            for (uint32_t b = 1; b + 1 < j->n_bins; b++) {
                at = (c * j->histograms + h) * j->n_bins + b;
                if (n[at - 1] + n[at] + n[at + 1] > best ||
                    (best && n[at - 1] + n[at] + n[at + 1] == best &&
                     comes_first(j, c, h, b, bc, bh, bb))) {
                    best = n[at - 1] + n[at] + n[at + 1];
                    bc = c;
                    bh = h;
                    bb = b;
                }
            }
    if (best < (j->c->triplet_mode ? 1u : 2u))
        return false;
    at = (bc * j->histograms + bh) * j->n_bins + bb;
    for (uint32_t k = at - 1; k <= at + 1; k++) {
        sum += (double)n[k] * (double)(bb + k - at) +
               ((double)p[k] + 0.5 * (double)n[k]) / (double)ZF_QUANTA;
        n[k] = p[k] = 0;
    }
    ret->z[ret->n_vertices] = j->c->as_original
                                  ? (sum / best - j->origin) / j->inv
                                  : sum / best / (double)j->inv_bin - (double)j->c->z_max_mm;
    ret->weight[ret->n_vertices++] = best;
    return true;
}

void reference_float(const struct zf_config *c, const struct generated *g, struct reference *ret)
{
    struct job j = {.c = c, .g = g};
    size_t entries;

    memset(ret, 0, sizeof *ret);
    j.slice = calloc(g->n + 1u, sizeof *j.slice);
    set_up(&j);
    entries = (size_t)j.charges * j.histograms * j.n_bins;
    j.count = calloc(entries, sizeof *j.count);
    j.place = calloc(entries, sizeof *j.place);
    count_pairs(&j);
    for (uint32_t i = 0; i < g->n; i++)
        ret->n_points += j.slice[i] != UINT32_MAX;
    for (size_t at = 0; at < entries; at++) {
        uint32_t b = (uint32_t)(at % j.n_bins), h = (uint32_t)(at / j.n_bins % j.histograms);

        ret->n_entries += j.count[at];
        if (j.count[at])
            ret->digest += zf_digest(h, (uint32_t)(at / j.n_bins / j.histograms), b, j.count[at],
                                     c->as_original ? 0 : j.place[at]);
    }
    while (ret->n_vertices < c->n_peaks && take_peak(&j, ret)) {
    }
    free(j.slice);
    free(j.count);
    free(j.place);
}

/* ---------------------------------------------------------------- double precision */

/* z at the beam line of the helix through two points and the beam line: z grows with the length of
 * the arc, which the chords to the beam line give exactly when the bending is known. */
static double exact_z(double r1, double p1, double z1, double r2, double p2, double z2)
{
    double x1 = r1 * cos(p1), y1 = r1 * sin(p1), x2 = r2 * cos(p2), y2 = r2 * sin(p2);
    double chord = hypot(x2 - x1, y2 - y1), cross = x1 * y2 - x2 * y1;
    double curvature =
        chord > 0 ? 2 * cross / (r1 * r2 * chord) : 0; /* circle through the origin */
    double a1 = r1 * curvature / 2, a2 = r2 * curvature / 2;
    double s1 = r1, s2 = r2;

    if (fabs(a1) < 1 && fabs(a2) < 1 && fabs(curvature) > 1e-12) {
        s1 = 2 / curvature * asin(a1);
        s2 = 2 / curvature * asin(a2);
    }
    return (z2 * s1 - z1 * s2) / (s1 - s2);
}

void reference_double(const struct zf_config *c, const struct generated *g, struct reference *ret)
{
    struct job j = {.c = c, .g = g};
    double *sum, best_sum = 0, inv;
    uint32_t best = 0;

    memset(ret, 0, sizeof *ret);
    j.slice = calloc(g->n + 1u, sizeof *j.slice);
    set_up(&j);
    j.count = calloc(j.n_bins, sizeof *j.count);
    sum = calloc(j.n_bins, sizeof *sum);
    inv = 1.0 / ((double)c->z_bin_mm + (double)c->z_bin_eta_mm * fabs((double)g->info.eta));
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t o = 0; o < g->n; o++) {
            double z0;
            uint32_t b;

            if (j.slice[i] == UINT32_MAX || j.slice[o] == UINT32_MAX ||
                g->layer[o] <= g->layer[i] || !may_begin(&j, g->layer[i]) ||
                apart(j.slice[i], j.slice[o]) > pair_reach(&j, g->layer[i], g->layer[o]))
                continue;
            z0 = exact_z((double)g->rho[i], (double)g->phi[i], (double)g->z[i], (double)g->rho[o],
                         (double)g->phi[o], (double)g->z[o]);
            if (!(fabs(z0) < (double)c->z_max_mm))
                continue;
            b = (uint32_t)((z0 + (double)c->z_max_mm) * inv);
            j.count[b < j.n_bins ? b : j.n_bins - 1]++;
            sum[b < j.n_bins ? b : j.n_bins - 1] += z0;
        }
    for (uint32_t b = 1; b + 1 < j.n_bins; b++)
        if (j.count[b - 1] + j.count[b] + j.count[b + 1] > best) {
            best = j.count[b - 1] + j.count[b] + j.count[b + 1];
            best_sum = sum[b - 1] + sum[b] + sum[b + 1];
        }
    if (best >= 2) {
        ret->n_vertices = 1;
        ret->z[0] = best_sum / best;
        ret->weight[0] = best;
    }
    free(j.slice);
    free(j.count);
    free(sum);
}
