/* SPDX-License-Identifier: Apache-2.0 */
#include "doublets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

#define SLOTS 2u

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

static void set(struct kdd_config *c, const char *key, const char *value)
{
    for (const struct trg_param *p = kdd_params; p->name; p++)
        if (!strcmp(p->name, key)) {
            void *at = (char *)c + p->offset;

            if (p->type == TRG_PARAM_F32)
                *(float *)at = strtof(value, NULL);
            else
                *(uint32_t *)at = p->type == TRG_PARAM_BOOL ? !strcmp(value, "true")
                                                            : (uint32_t)strtoul(value, NULL, 10);
            return;
        }
    fail_msg("there is no parameter %s", key);
}

void configure(struct kdd_config *c, const char *const *settings)
{
    for (const struct trg_param *p = kdd_params; p->name; p++)
        set(c, p->name, p->dflt);
    for (; *settings; settings += 2)
        set(c, settings[0], settings[1]);
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

struct lane {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host, *dev;
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_output *outputs;
    uint32_t first;
};

static void open_lane(const struct run *run, uint32_t slot, struct lane *l)
{
    const size_t bytes = stage_bytes(TRG_HITS, run->batch, run->batch * HITS_MAX);

    l->infos = calloc(run->batch, sizeof *l->infos);
    l->outputs = calloc(run->batch, sizeof *l->outputs);
    assert_true(l->infos && l->outputs);
    l->batch.slot = slot;
    l->batch.rois = l->infos;
    l->batch.outputs[0] = l->outputs;
    assert_int_equal(trg_queue_new(run->device->d, &l->queue), 0);
    assert_int_equal(trg_event_new(run->device->d, &l->reached), 0);
    assert_int_equal(trg_buffer_new(run->device->d, TRG_MEM_PINNED, bytes, &l->host), 0);
    assert_int_equal(trg_buffer_new(run->device->d, TRG_MEM_DEVICE, bytes, &l->dev), 0);
}

static void close_lane(struct lane *l)
{
    trg_queue_free(l->queue);
    trg_event_free(l->reached);
    trg_buffer_free(l->host);
    trg_buffer_free(l->dev);
    free(l->infos);
    free(l->outputs);
}

static void begin(const struct run *run, struct trg_algo *algo, struct lane *l,
                  const struct hits *hits, uint32_t first, uint32_t n, struct trg_result *results)
{
    struct stage_source *sources = calloc(n, sizeof *sources);
    size_t bytes;

    assert_non_null(sources);
    l->first = first;
    l->batch.n_rois = n;
    l->batch.results = results + first;
    for (uint32_t i = 0; i < n; i++) {
        const struct hits *h = &hits[first + i];
        struct trg_output *o = &l->outputs[i];
        uint32_t most;

        sources[i] =
            (struct stage_source){.n = h->n, .column = {h->x, h->y, h->z, h->layer, h->id}};
        l->infos[i] = (struct trg_roi_info){.roi_id = first + i};
        kdd_output_items(run->config, &h->n, &most);
        *o = (struct trg_output){.capacity = run->to_host ? most : 0};
        for (uint32_t c = 0; c < 2 && run->to_host; c++) {
            o->column[c] = malloc((most + 1) * sizeof(uint32_t));
            assert_non_null(o->column[c]);
        }
    }
    bytes =
        stage_fill(TRG_HITS, n, l->infos, sources, trg_buffer_host(l->host), &l->batch.in[0].span);
    l->batch.in[0].kind = TRG_HITS;
    l->batch.in[0].host = trg_buffer_host(l->host);
    l->batch.in[0].dev = l->dev;
    assert_int_equal(trg_write(l->queue, l->dev, 0, l->host, 0, bytes), 0);
    assert_int_equal(trg_plugin.submit(algo, &l->batch, l->queue), 0);
    assert_int_equal(trg_event_record(l->queue, l->reached), 0);
    free(sources);
}

static void end(struct trg_algo *algo, struct lane *l, struct doublets *ret)
{
    assert_int_equal(trg_event_wait(l->reached), 0);
    assert_int_equal(trg_plugin.collect(algo, &l->batch), 0);
    for (uint32_t i = 0; i < l->batch.n_rois; i++) {
        struct trg_output *o = &l->outputs[i];

        ret[l->first + i] = (struct doublets){
            .n = o->n, .room = o->capacity, .inner = o->column[0], .outer = o->column[1]};
    }
}

void run_plugin(const struct run *run, const struct hits *hits, uint32_t n,
                struct trg_result *ret_results, struct doublets *ret_doublets)
{
    const struct trg_limits limits = {.size = sizeof limits,
                                      .slots = SLOTS,
                                      .max_rois = run->batch,
                                      .max_items = run->batch * HITS_MAX,
                                      .max_items_roi = HITS_MAX};
    struct lane lane[SLOTS] = {{0}};
    struct trg_algo *algo = NULL;
    uint32_t begun = 0, ended = 0, at = 0;

    assert_int_equal(trg_plugin.create(&devices_host, run->config, run->device->d, &limits, &algo),
                     0);
    for (uint32_t s = 0; s < SLOTS; s++)
        open_lane(run, s, &lane[s]);
    memset(ret_results, 0, n * sizeof *ret_results);
    while (at < n || ended < begun) {
        const uint32_t k = n - at < run->batch ? n - at : run->batch;

        if (at < n && begun - ended < SLOTS) {
            begin(run, algo, &lane[begun++ % SLOTS], hits, at, k, ret_results);
            at += k;
        } else {
            end(algo, &lane[ended++ % SLOTS], ret_doublets);
        }
    }
    for (uint32_t s = 0; s < SLOTS; s++)
        close_lane(&lane[s]);
    trg_plugin.destroy(algo);
}

/* ---------------------------------------------------------------- the slow way */

void brute_force(const struct kdd_config *c, const struct hits *h, struct doublets *ret)
{
    struct kdd_hit *hit = calloc(h->n + 1, sizeof *hit);
    struct kdd_par par = {0};

    assert_non_null(hit);
    kdd_fill_par(c, &par);
    for (uint32_t i = 0; i < h->n; i++) {
        hit[i] = kdd_about_beam(par.cuts, h->x[i], h->y[i], h->z[i]);
        hit[i].phi = kdd_phi(hit[i].x, hit[i].y);
    }
    *ret = (struct doublets){0};
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t o = 0; o < h->n && kdd_is_good(hit[i]); o++)
            for (uint32_t k = 0; k < par.n_pairs; k++)
                if (h->layer[i] == par.pair[k].inner && h->layer[o] == par.pair[k].outer &&
                    kdd_is_good(hit[o]) && kdd_accepts(par.cuts, par.pair[k], hit[i], hit[o]))
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

int is_doublet(const struct kdd_config *c, const struct hits *h, uint32_t inner, uint32_t outer)
{
    const double xi = (double)h->x[inner] - (double)c->beam_x_mm;
    const double yi = (double)h->y[inner] - (double)c->beam_y_mm;
    const double xo = (double)h->x[outer] - (double)c->beam_x_mm;
    const double yo = (double)h->y[outer] - (double)c->beam_y_mm;
    const double ri = hypot(xi, yi), ro = hypot(xo, yo);
    const double zi = (double)h->z[inner], zo = (double)h->z[outer];
    const double dphi = fabs(remainder(atan2(yo, xo) - atan2(yi, xi), 2 * acos(-1.0)));
    struct kdd_par par = {0};
    int yes = both(below(ri, ro), below(1e-3, ri)), paired = 0;

    kdd_fill_par(c, &par);
    for (uint32_t k = 0; k < par.n_pairs; k++)
        if (h->layer[inner] == par.pair[k].inner && h->layer[outer] == par.pair[k].outer) {
            paired = 1;
            yes = both(yes, below(dphi, (double)par.pair[k].phi_road));
            yes = both(yes, below(fabs(zo - zi), (double)par.pair[k].z_road));
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
