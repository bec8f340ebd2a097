/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "roifile.h"
#include "stage.h"

#define HITS_MAX   20000u
#define TRACKS_MAX 8192u

struct finder {
    const struct plugin *plugin;
    void *config;
    struct trg_device *device;
    bool is_host;
    struct trg_algo *algo;
    struct trg_queue *queue;
    struct trg_buffer *host, *dev;
    struct trg_output tracks;
};

void finder_close(struct finder *f)
{
    if (!f)
        return;
    if (f->plugin)
        f->plugin->d.destroy(f->algo);
    trg_queue_free(f->queue);
    if (f->dev != f->host)
        trg_buffer_free(f->dev);
    trg_buffer_free(f->host);
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        free(f->tracks.column[c]);
    free(f->config);
    free(f);
}

/* Finds the plugin, and a configuration for it. */
static int choose_plugin(const struct vx_host *h, const char *name, const char *const *settings,
                         struct finder *f)
{
    char why[256] = "";
    int r = plugin_host_get(h->plugins, name, &f->plugin, why, sizeof why);

    if (r == 0 &&
        (f->plugin->d.consumes[0] != TRG_HITS || f->plugin->d.produces[0] != TRG_TRACKS)) {
        snprintf(why, sizeof why, "plugin %s does not make tracks of hits", name);
        r = -EINVAL;
    }
    if (r == 0) {
        f->config = calloc(1, f->plugin->d.config_size + 1);
        if (!f->config)
            return -ENOMEM;
        plugin_defaults(f->plugin, f->config);
        for (; r == 0 && settings && *settings; settings += 2)
            r = plugin_set(f->plugin, settings[0], settings[1], f->config, why, sizeof why);
    }
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    return r;
}

int finder_open(const struct vx_host *h, const char *plugin, struct trg_device *device,
                const char *const *settings, struct finder **ret_finder)
{
    const struct trg_limits limits = {.size = sizeof limits,
                                      .slots = 1,
                                      .max_rois = 1,
                                      .max_items = HITS_MAX,
                                      .max_items_roi = HITS_MAX};
    struct finder *f = calloc(1, sizeof *f);
    struct trg_device_info info;
    int r;

    if (!f)
        return -ENOMEM;
    f->device = device;
    trg_device_info(device, &info);
    f->is_host = info.is_host != 0;
    r = choose_plugin(h, plugin, settings, f);
    for (uint32_t c = 0; r == 0 && c < EVENT_COLUMNS; c++) {
        f->tracks.column[c] = calloc(TRACKS_MAX, 4);
        r = f->tracks.column[c] ? 0 : -ENOMEM;
    }
    if (r == 0)
        r = trg_queue_new(device, &f->queue);
    if (r == 0)
        r = trg_buffer_new(device, TRG_MEM_PINNED, stage_bytes(TRG_HITS, 1, HITS_MAX), &f->host);
    if (r == 0 && !f->is_host)
        r = trg_buffer_new(device, TRG_MEM_DEVICE, stage_bytes(TRG_HITS, 1, HITS_MAX), &f->dev);
    if (f->is_host)
        f->dev = f->host;
    if (r == 0)
        r = f->plugin->d.create(&h->host, f->config, device, &limits, &f->algo);
    if (r < 0) {
        finder_close(f);
        return r;
    }
    *ret_finder = f;
    return 0;
}

/* Fills the tracks of `e` from n hits. */
static int find_tracks(struct finder *f, uint32_t n, const void *const *columns, struct event *e)
{
    struct stage_source s = {.n = n};
    struct trg_result result = {0};
    struct trg_output nothing = {0};
    struct trg_batch b = {
        .n_rois = 1, .rois = &e->info, .results = &result, .outputs = {&f->tracks, &nothing}};
    size_t bytes;
    int r;

    if (n > HITS_MAX)
        return -E2BIG;
    memcpy(s.column, columns, 5 * sizeof *columns);
    f->tracks.capacity = TRACKS_MAX;
    f->tracks.n = 0;
    b.in[0] = (struct trg_input){.kind = TRG_HITS, .host = trg_buffer_host(f->host), .dev = f->dev};
    bytes = stage_fill(TRG_HITS, 1, &e->info, &s, trg_buffer_host(f->host), &b.in[0].span);
    r = f->is_host ? 0 : trg_write(f->queue, f->dev, 0, f->host, 0, bytes);
    if (r == 0)
        r = f->plugin->d.submit(f->algo, &b, f->queue);
    if (r == 0)
        r = trg_finish(f->queue);
    if (r == 0)
        r = f->plugin->d.collect(f->algo, &b);
    if (r < 0)
        return r;
    e->n = f->tracks.n < e->room ? f->tracks.n : e->room;
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        memcpy(e->column[c], f->tracks.column[c], 4 * e->n);
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
    for (uint32_t c = 0; c < trg_kind_info(g->kind)->n_columns; c++)
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
        r = event_init(&more[*n], TRACKS_MAX / 2);
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
