/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algohost.h"
#include "batches.h"

extern const struct trg_plugin trg_plugin;

void doublets_free(struct doublets *d)
{
    free(d->inner);
    free(d->outer);
    *d = (struct doublets){0};
}

static void append(struct doublets *d, uint32_t inner, uint32_t outer)
{
    if (d->n == d->room) {
        d->room = d->room ? 2 * d->room : 1024;
        d->inner = realloc(d->inner, d->room * sizeof *d->inner);
        d->outer = realloc(d->outer, d->room * sizeof *d->outer);
        assert_true(d->inner && d->outer);
    }
    d->inner[d->n] = inner;
    d->outer[d->n++] = outer;
}

/* ---------------------------------------------------------------- config and hits */

void configure(struct doublets_config *c, const char *const *settings)
{
    struct plugin p = {.d = trg_plugin};

    while (doublets_params[p.n_params].name)
        p.n_params++;
    assert_int_equal(algo_configure(&p, NULL, settings, c), 0);
}

static float uniform(uint64_t *seed, double low, double high)
{
    return (float)(low + (high - low) * devices_random(seed) / 4294967296.0);
}

void make_hits(struct hits *h, uint32_t n, uint64_t *seed)
{
    static const float radius[] = {29, 68, 109, 160}, disc[] = {325, 390, 490};

    h->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t layer = devices_random(seed) % 11, what = devices_random(seed) % 64;
        const float phi = uniform(seed, -3.2, 3.2);
        float r = uniform(seed, 45, 160), z;

        if (layer < 4) {
            r = radius[layer] + uniform(seed, -2, 2);
            z = uniform(seed, -270, 270);
        } else {
            z = (layer < 7 ? 1.0f : -1.0f) * (disc[(layer - 4) % 3] + uniform(seed, -5, 5));
        }
        h->x[i] = r * cosf(phi);
        h->y[i] = r * sinf(phi);
        h->z[i] = z;
        h->layer[i] = (uint16_t)layer;
        h->id[i] = i;
        if (what == 0 && i > 0) { /* a place where there is a hit already */
            h->x[i] = h->x[i / 2];
            h->y[i] = h->y[i / 2];
            h->z[i] = h->z[i / 2];
            h->layer[i] = h->layer[i / 2];
        } else if (what == 1) { /* on the beam line */
            h->x[i] = h->y[i] = 0;
        } else if (what == 2) {
            h->layer[i] = 65535;
        } else if (what == 3) { /* where phi jumps */
            h->x[i] = -r;
            h->y[i] = i % 2 ? 0.0f : -0.0f;
        }
    }
}

/* ---------------------------------------------------------------- the plugin */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct hits *h = (const struct hits *)rois + i;

    ret_sources[0] =
        (struct stage_source){.n = h->n, .column = {h->x, h->y, h->z, h->layer, h->id}};
    ret_info->roi_id = i;
}

void run_plugin(const struct run *run, const struct hits *hits, uint32_t n,
                struct trg_result *ret_results, struct doublets *ret_doublets)
{
    const struct batches_setup setup = {.host = &devices_host,
                                        .plugin = &trg_plugin,
                                        .config = run->config,
                                        .device = run->device->d,
                                        .slots = 2,
                                        .max_rois = run->batch,
                                        .max_items = run->batch * HITS_MAX};
    struct products *products = calloc(n, sizeof *products);
    const struct batches_work work = {.n = n,
                                      .input = input,
                                      .rois = hits,
                                      .results = ret_results,
                                      .products = run->to_host ? products : NULL};
    struct batches *b;

    assert_non_null(products);
    assert_int_equal(batches_open(&setup, &b), 0);
    assert_int_equal(batches_run(b, &work), 0);
    batches_close(b);
    for (uint32_t i = 0; i < n; i++) {
        const struct product *p = &products[i].of[0];

        ret_doublets[i] = (struct doublets){p->n, p->room, p->column[0], p->column[1]};
    }
    free(products);
}

/* ---------------------------------------------------------------- the slow way */

void brute_force(const struct doublets_config *c, const struct hits *h, struct doublets *ret)
{
    struct dbt_hit *hit = calloc(h->n + 1, sizeof *hit);
    struct dbt_par par = {0};

    assert_non_null(hit);
    doublets_fill_par(c, &par);
    for (uint32_t i = 0; i < h->n; i++) {
        hit[i] = dbt_about_beam(par.cuts, h->x[i], h->y[i], h->z[i]);
        hit[i].phi = dbt_phi(hit[i].x, hit[i].y);
    }
    *ret = (struct doublets){0};
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t o = 0; o < h->n && dbt_is_good(hit[i]); o++)
            for (uint32_t k = 0; k < par.n_pairs; k++)
                if (h->layer[i] == par.pair[k].inner && h->layer[o] == par.pair[k].outer &&
                    dbt_is_good(hit[o]) && dbt_accepts(par.cuts, par.pair[k], hit[i], hit[o]))
                    append(ret, i, o);
    free(hit);
}

/* Where a value is against its limit: 1 below, 0 above, -1 too close to tell. */
static int below(double value, double limit)
{
    const double margin = 1e-4 * (fabs(value) + fabs(limit)) + 1e-5;

    return value < limit - margin ? 1 : value > limit + margin ? 0 : -1;
}

static int both(int a, int b)
{
    return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? -1 : 1;
}

static int either(int a, int b)
{
    return a == 1 || b == 1 ? 1 : a < 0 || b < 0 ? -1 : 0;
}

/* Whether the line through both hits meets no layer of the barrel but those that it may cross: it
 * does not come as far, or is beyond the layer's end there. */
static int leaves_the_barrel(const struct doublets_config *c, const struct dbt_pair *pair,
                             double ri, double zi, double ro, double zo)
{
    const uint32_t layer = pair->inner + 1 + c->crossed;
    double r;

    if (pair->outer < DBT_BARREL || layer >= DBT_BARREL)
        return 1;
    r = (double)c->layer_mm[layer];
    return either(below(ro, r),
                  below((double)c->barrel_half_mm, fabs(zi + (zo - zi) * (r - ri) / (ro - ri))));
}

int is_doublet(const struct doublets_config *c, const struct hits *h, uint32_t inner,
               uint32_t outer)
{
    const double xi = (double)h->x[inner] - (double)c->beam_x_mm;
    const double yi = (double)h->y[inner] - (double)c->beam_y_mm;
    const double xo = (double)h->x[outer] - (double)c->beam_x_mm;
    const double yo = (double)h->y[outer] - (double)c->beam_y_mm;
    const double ri = hypot(xi, yi), ro = hypot(xo, yo);
    const double zi = (double)h->z[inner], zo = (double)h->z[outer];
    const double dphi = fabs(remainder(atan2(yo, xo) - atan2(yi, xi), 2 * acos(-1.0)));
    struct dbt_par par = {0};
    int yes = both(below(ri, ro), below(1e-3, ri)), paired = 0;

    doublets_fill_par(c, &par);
    for (uint32_t k = 0; k < par.n_pairs; k++)
        if (h->layer[inner] == par.pair[k].inner && h->layer[outer] == par.pair[k].outer) {
            paired = 1;
            yes = both(yes, below(dphi, (double)par.pair[k].phi_road));
            yes = both(yes, below(fabs(zo - zi), (double)par.pair[k].z_road));
            yes = both(yes, leaves_the_barrel(c, &par.pair[k], ri, zi, ro, zo));
        }
    if (!paired || !yes)
        return 0;
    /* the line through both at r = 0, and the radius of the circle through three points */
    yes = both(yes, below(fabs(zi - ri * (zo - zi) / (ro - ri) - (double)c->beam_z_mm),
                          (double)c->beam_half_mm));
    return both(yes, below(2e3 * (double)c->pt_min_gev / (0.299792458 * (double)c->field_t) *
                               fabs(sin(dphi)),
                           hypot(xo - xi, yo - yi)));
}
