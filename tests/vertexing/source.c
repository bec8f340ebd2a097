/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "roifile.h"

#define ITEMS_MAX  400000u /* hits or doublets of an event */
#define TRACKS_MAX 8192u

/* One plugin, run an event at a time. */
struct stage_of {
    void *config;
    struct batches *batches;
    struct products products; /* of the last event */
};

struct finder {
    struct stage_of doublets; /* where the plugin needs them beside hits; else empty */
    struct stage_of tracks;
    uint32_t product; /* of the plugin, that is tracks */
};

static void stage_close(struct stage_of *s)
{
    batches_close(s->batches);
    products_fini(&s->products);
    free(s->config);
}

void finder_close(struct finder *f)
{
    if (!f)
        return;
    stage_close(&f->doublets);
    stage_close(&f->tracks);
    free(f);
}

static int stage_open(const struct algo_host *h, const struct plugin *p, struct trg_device *device,
                      const char *const *settings, struct stage_of *ret)
{
    struct batches_setup setup = {.host = &h->host,
                                  .plugin = &p->d,
                                  .device = device,
                                  .slots = 1,
                                  .max_rois = 1,
                                  .max_items = ITEMS_MAX};
    int r;

    ret->config = calloc(1, p->d.config_size + 1);
    r = ret->config ? algo_configure(p, NULL, settings, ret->config) : -ENOMEM;
    setup.config = ret->config;
    return r ? r : batches_open(&setup, &ret->batches);
}

int finder_open(const struct algo_host *h, const char *plugin, struct trg_device *device,
                const char *const *settings, struct finder **ret_finder)
{
    const struct plugin *p, *doublets = NULL;
    struct finder *f;
    char why[256] = "";
    int r = plugin_host_get(h->plugins, plugin, &p, why, sizeof why);
    uint32_t product = 0;

    if (r == 0 && p->produces[0] != TRG_TRACKS)
        product = 1;
    if (r == 0 && (p->consumes[0] != TRG_HITS || p->produces[product] != TRG_TRACKS)) {
        snprintf(why, sizeof why, "plugin %s does not make tracks of hits", plugin);
        r = -EINVAL;
    }
    if (r == 0 && p->consumes[1] == TRG_DOUBLETS)
        r = plugin_host_get(h->plugins, "doublets", &doublets, why, sizeof why);
    if (r < 0) {
        fprintf(stderr, "%s\n", why);
        return r;
    }
    f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    f->product = product;
    if (doublets)
        r = stage_open(h, doublets, device, NULL, &f->doublets);
    if (r == 0)
        r = stage_open(h, p, device, settings, &f->tracks);
    if (r < 0) {
        finder_close(f);
        return r;
    }
    *ret_finder = f;
    return 0;
}

struct inputs { /* of one event */
    struct trg_roi_info info;
    struct stage_source source[2]; /* hits, doublets */
    uint32_t n;
};

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct inputs *in = (const struct inputs *)rois + i;

    memcpy(ret_sources, in->source, in->n * sizeof *in->source);
    *ret_info = in->info;
}

static int stage_run(struct stage_of *s, const struct inputs *in)
{
    struct trg_result result = {0};
    const struct batches_work work = {
        .n = 1, .input = input, .rois = in, .results = &result, .products = &s->products};

    return batches_run(s->batches, &work);
}

/* Fills the tracks of `e` from n hits. */
static int find_tracks(struct finder *f, uint32_t n, const void *const *columns, struct event *e)
{
    const struct product *tracks = &f->tracks.products.of[f->product];
    struct inputs in = {.info = e->info, .source = {{.n = n}}, .n = 1};
    int r = 0;

    memcpy(in.source[0].column, columns, 5 * sizeof *columns);
    if (f->doublets.batches) {
        const struct product *doublets = &f->doublets.products.of[0];

        r = stage_run(&f->doublets, &in);
        in.n = 2;
        in.source[1].n = doublets->n;
        for (uint32_t c = 0; c < 2; c++)
            in.source[1].column[c] = doublets->column[c];
    }
    if (r == 0)
        r = stage_run(&f->tracks, &in);
    if (r < 0)
        return r;
    e->n = tracks->n < e->room ? tracks->n : e->room;
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        memcpy(e->column[c], tracks->column[c], 4 * e->n);
    for (uint32_t i = 0; i < e->n; i++)
        e->vertex[i] = EVENT_NOBODY; /* whose a found track is, is not known */
    return 0;
}

/* ---------------------------------------------------------------- truth */

static void add_truth(struct event *e, const float *place, uint32_t tracks, uint32_t kind,
                      uint32_t parent)
{
    if (e->n_vertices >= EVENT_VERTICES)
        return;
    e->vertices[e->n_vertices++] =
        (struct event_vertex){.x = (double)place[0],
                              .y = (double)place[1],
                              .z = (double)place[2],
                              .kind = kind == GENERATOR_PRIMARY  ? EVENT_PRIMARY
                                      : kind == GENERATOR_BEAUTY ? EVENT_BEAUTY
                                                                 : EVENT_OTHER,
                              .parent = parent,
                              .n_tracks = tracks};
}

static int take_generated(const struct generated *g, struct finder *f, struct event *e)
{
    const void *columns[TRG_COLUMNS_MAX] = {0};

    e->info = g->info;
    for (uint32_t v = 0; v < g->n_vertices; v++)
        add_truth(e, (const float[]){g->vertex_x[v], g->vertex_y[v], g->vertex_z[v]},
                  g->vertex_tracks[v], g->vertex_kind[v], g->vertex_parent[v]);
    for (uint32_t c = 0; c < kind_info(g->kind)->n_columns; c++)
        columns[c] = generated_column(g, c);
    if (g->kind == TRG_HITS)
        return f ? find_tracks(f, g->n, columns, e) : -ENOTSUP;
    if (g->kind != TRG_TRACKS)
        return -ENOTSUP;
    e->n = g->n < e->room ? g->n : e->room;
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        memcpy(e->column[c], columns[c], 4 * e->n);
    for (uint32_t i = 0; i < e->n; i++)
        e->vertex[i] =
            g->particle[i] < g->n_particles ? g->particle_vertex[g->particle[i]] : EVENT_NOBODY;
    return 0;
}

int source_generate(const char *preset, uint64_t seed, uint32_t first, uint32_t n, struct finder *f,
                    struct event *ret_events)
{
    const struct generator_preset *p = generator_find(preset);
    struct generated g;
    int r = p ? 0 : -ENOENT;

    generated_init(&g);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = generator_make(p, seed, first + i, &g);
        if (r == 0)
            r = event_init(&ret_events[i], TRACKS_MAX / 8);
        if (r == 0)
            r = take_generated(&g, f, &ret_events[i]);
    }
    generated_fini(&g);
    return r;
}

/* ---------------------------------------------------------------- files */

static void take_truth(const Trigd__V1__Truth *t, struct event *e)
{
    for (size_t v = 0; t && v < t->n_vertex_z_mm; v++)
        add_truth(e,
                  (const float[]){t->n_vertex_x_mm ? t->vertex_x_mm[v] : 0,
                                  t->n_vertex_y_mm ? t->vertex_y_mm[v] : 0, t->vertex_z_mm[v]},
                  v < t->n_vertex_tracks ? t->vertex_tracks[v] : 0,
                  v < t->n_vertex_kind ? t->vertex_kind[v] : GENERATOR_PRIMARY,
                  v < t->n_vertex_parent ? t->vertex_parent[v] : EVENT_NOBODY);
}

static int take_roi(const Trigd__V1__Roi *m, struct finder *f, struct event *e)
{
    e->info = (struct trg_roi_info){.run = m->run, .l1id = m->l1id, .phi_half_rad = 4};
    take_truth(m->truth, e);
    if (m->tracks) {
        const Trigd__V1__Tracks *t = m->tracks;
        const void *columns[EVENT_COLUMNS] = {t->x_mm, t->y_mm,        t->z_mm,   t->tx,
                                              t->ty,   t->var_x_mm2,   t->var_tx, t->cov_x_tx_mm,
                                              t->chi2, t->qop_per_gev, t->n_hits};

        e->n = t->n_x_mm < e->room ? (uint32_t)t->n_x_mm : e->room;
        for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
            memcpy(e->column[c], columns[c], 4 * e->n);
        return 0;
    }
    if (m->hits && f) {
        const void *columns[5] = {m->hits->x_mm, m->hits->y_mm, m->hits->z_mm, m->hits->layer.data,
                                  m->hits->id};

        return find_tracks(f, (uint32_t)m->hits->n_x_mm, columns, e);
    }
    return -ENOTSUP;
}

static int take_batch(const void *bytes, size_t n_bytes, struct finder *f, struct event **events,
                      uint32_t *n)
{
    Trigd__V1__RoiBatch *b = trigd__v1__roi_batch__unpack(NULL, n_bytes, bytes);
    struct event *more;
    int r = 0;

    if (!b)
        return -EBADMSG;
    more = realloc(*events, (*n + b->n_rois + 1) * sizeof *more);
    if (more)
        *events = more;
    else
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < b->n_rois; i++) {
        const Trigd__V1__Tracks *t = b->rois[i]->tracks;

        r = event_init(&more[*n], t ? (uint32_t)t->n_x_mm + 1 : TRACKS_MAX / 2);
        if (r == 0)
            r = take_roi(b->rois[i], f, &more[(*n)++]);
    }
    trigd__v1__roi_batch__free_unpacked(b, NULL);
    return r;
}

int source_read(const char *path, struct finder *f, struct event **ret_events, uint32_t *ret_n)
{
    struct roifile_reader *reader;
    struct event *events = NULL;
    const void *bytes;
    uint32_t n = 0;
    size_t n_bytes;
    int r = roifile_open(path, &reader), more = 0;

    if (r < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(-r));
        return r;
    }
    while (r == 0 && (more = roifile_next(reader, &bytes, &n_bytes)) == 1)
        r = take_batch(bytes, n_bytes, f, &events, &n);
    r = r < 0 ? r : more;
    roifile_close(reader);
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", path,
                r == -ENOTSUP ? "it holds no tracks; hits need --finder hough" : strerror(-r));
        source_free(events, n);
        return r;
    }
    *ret_events = events;
    *ret_n = n;
    return 0;
}

void source_free(struct event *events, uint32_t n)
{
    for (uint32_t i = 0; events && i < n; i++)
        event_fini(&events[i]);
    free(events);
}
