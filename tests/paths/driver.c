/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

#define SLOTS 2u

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int paths_host_open(struct paths_host *h)
{
    const char *build = getenv("TRIGD_BUILD");
    static char cache[512];
    char plugins[512], backends[512], why[256] = "", *folders[] = {plugins};
    int r;

    if (!build) {
        fprintf(stderr, "TRIGD_BUILD is not set: give it the build folder\n");
        return -EINVAL;
    }
    snprintf(plugins, sizeof plugins, "%s/plugins", build);
    snprintf(backends, sizeof backends, "%s/backends", build);
    snprintf(cache, sizeof cache, "%s/opencl-cache", build);
    h->host = (struct trg_host){.size = sizeof h->host, .log = print, .cache_dir = cache};
    r = plugin_host_new(folders, 1, &h->plugins);
    if (r < 0)
        return r;
    r = backends_open(backends, &h->host, &h->backends);
    if (r == 0)
        r = plugin_host_get(h->plugins, "paths", &h->plugin, why, sizeof why);
    if (r < 0) {
        fprintf(stderr, "%s\n", why);
        plugin_host_free(h->plugins);
    }
    return r;
}

void paths_host_close(struct paths_host *h)
{
    backends_close(h->backends);
    plugin_host_free(h->plugins);
}

/* ---------------------------------------------------------------- RoIs */

static void *more(void *array, size_t items, size_t size)
{
    void *p = realloc(array, items * size);

    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

void roi_init(struct roi *r)
{
    memset(r, 0, sizeof *r);
}

void roi_fini(struct roi *r)
{
    void *all[] = {r->x, r->y, r->z, r->layer, r->id, r->inner, r->outer};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    roi_init(r);
}

uint32_t roi_hit(struct roi *r, double x, double y, double z, uint32_t layer)
{
    uint32_t i = r->n_hits++;

    if (i == r->hit_room) {
        r->hit_room = i ? 2 * i : 64;
        r->x = more(r->x, r->hit_room, sizeof *r->x);
        r->y = more(r->y, r->hit_room, sizeof *r->y);
        r->z = more(r->z, r->hit_room, sizeof *r->z);
        r->layer = more(r->layer, r->hit_room, sizeof *r->layer);
        r->id = more(r->id, r->hit_room, sizeof *r->id);
    }
    r->x[i] = (float)x;
    r->y[i] = (float)y;
    r->z[i] = (float)z;
    r->layer[i] = (uint16_t)layer;
    r->id[i] = i;
    return i;
}

uint32_t roi_doublet(struct roi *r, uint32_t inner, uint32_t outer)
{
    uint32_t i = r->n_doublets++;

    if (i == r->doublet_room) {
        r->doublet_room = i ? 2 * i : 64;
        r->inner = more(r->inner, r->doublet_room, sizeof *r->inner);
        r->outer = more(r->outer, r->doublet_room, sizeof *r->outer);
    }
    r->inner[i] = inner;
    r->outer[i] = outer;
    return i;
}

/* ---------------------------------------------------------------- answers */

static float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

float answer_path(const struct answer *a, uint32_t column, uint32_t i)
{
    return as_float(a->path[column][i]);
}

uint32_t answer_hit(const struct answer *a, uint32_t k, uint32_t i)
{
    return a->path[pa_hit_column(k)][i];
}

float answer_track(const struct answer *a, uint32_t column, uint32_t i)
{
    return as_float(a->track[column][i]);
}

void answers_free(struct answer *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < PATH_COLUMNS; c++)
            free(a[i].path[c]);
        for (uint32_t c = 0; c < 11; c++)
            free(a[i].track[c]);
    }
    memset(a, 0, n * sizeof *a);
}

bool answers_equal(const struct answer *a, const struct answer *b)
{
    bool same = a->n == b->n && !memcmp(&a->result, &b->result, sizeof a->result);

    for (uint32_t c = 0; same && a->n && c < PATH_COLUMNS; c++)
        same = !memcmp(a->path[c], b->path[c], a->n * sizeof(uint32_t));
    for (uint32_t c = 0; same && a->n && c < 11; c++)
        same = !memcmp(a->track[c], b->track[c], a->n * sizeof(uint32_t));
    return same;
}

/* ---------------------------------------------------------------- running */

struct slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host[2], *dev[2];
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_output *outputs[2];
    uint32_t first;
};

struct lane {
    const struct paths_host *h;
    struct trg_device *device;
    const struct pa_config *config;
    const struct roi *rois;
    struct answer *answers;
    struct trg_limits limits;
    struct trg_algo *algo;
    struct slot slot[SLOTS];
    struct stage_source *sources;
    bool is_host;
};

static const enum trg_kind kinds[2] = {TRG_HITS, TRG_DOUBLETS};

static int open_slot(struct lane *l, uint32_t number)
{
    struct slot *s = &l->slot[number];
    int r;

    s->infos = more(NULL, l->limits.max_rois, sizeof *s->infos);
    memset(s->infos, 0, l->limits.max_rois * sizeof *s->infos);
    s->batch = (struct trg_batch){.slot = number, .rois = s->infos};
    for (uint32_t k = 0; k < 2; k++) {
        s->outputs[k] = more(NULL, l->limits.max_rois, sizeof *s->outputs[k]);
        s->batch.outputs[k] = s->outputs[k];
    }
    r = trg_queue_new(l->device, &s->queue);
    if (r == 0)
        r = trg_event_new(l->device, &s->reached);
    for (uint32_t k = 0; r == 0 && k < 2; k++) {
        size_t bytes = stage_bytes(kinds[k], l->limits.max_rois, l->limits.max_items);

        r = trg_buffer_new(l->device, TRG_MEM_PINNED, bytes, &s->host[k]);
        s->dev[k] = s->host[k];
        if (r == 0 && !l->is_host)
            r = trg_buffer_new(l->device, TRG_MEM_DEVICE, bytes, &s->dev[k]);
    }
    return r;
}

static void close_lane(struct lane *l)
{
    l->h->plugin->d.destroy(l->algo);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *s = &l->slot[i];

        trg_queue_free(s->queue);
        trg_event_free(s->reached);
        for (uint32_t k = 0; k < 2; k++) {
            if (s->dev[k] != s->host[k])
                trg_buffer_free(s->dev[k]);
            trg_buffer_free(s->host[k]);
            free(s->outputs[k]);
        }
        free(s->infos);
    }
    free(l->sources);
}

/* Room for what an RoI can give. */
static void make_room(struct lane *l, struct slot *s, uint32_t i)
{
    const struct roi *roi = &l->rois[s->first + i];
    struct answer *a = &l->answers[s->first + i];
    uint32_t n_in[2] = {roi->n_hits, roi->n_doublets}, n_out[2];

    memset(a, 0, sizeof *a);
    l->h->plugin->d.output_items(l->config, n_in, n_out);
    for (uint32_t k = 0; k < 2; k++) {
        s->outputs[k][i] = (struct trg_output){.capacity = n_out[k]};
        for (uint32_t c = 0; c < (k ? 11u : PATH_COLUMNS); c++) {
            uint32_t **column = k ? &a->track[c] : &a->path[c];

            *column = more(NULL, n_out[k] + 1u, sizeof **column);
            s->outputs[k][i].column[c] = *column;
        }
    }
}

static int stage(struct lane *l, struct slot *s, uint32_t k)
{
    struct trg_input *in = &s->batch.in[k];
    size_t bytes;

    for (uint32_t i = 0; i < s->batch.n_rois; i++) {
        const struct roi *r = &l->rois[s->first + i];

        l->sources[i] =
            k ? (struct stage_source){.n = r->n_doublets, .column = {r->inner, r->outer}}
              : (struct stage_source){.n = r->n_hits,
                                      .column = {r->x, r->y, r->z, r->layer, r->id}};
    }
    in->kind = kinds[k];
    in->host = trg_buffer_host(s->host[k]);
    in->dev = s->dev[k];
    bytes = stage_fill(kinds[k], s->batch.n_rois, s->infos, l->sources, trg_buffer_host(s->host[k]),
                       &in->span);
    return l->is_host ? 0 : trg_write(s->queue, s->dev[k], 0, s->host[k], 0, bytes);
}

static int begin(struct lane *l, struct slot *s, uint32_t first, uint32_t n)
{
    int r = 0;

    s->first = first;
    s->batch.n_rois = n;
    s->batch.results = calloc(n, sizeof *s->batch.results);
    if (!s->batch.results)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        make_room(l, s, i);
    for (uint32_t k = 0; r == 0 && k < 2; k++)
        r = stage(l, s, k);
    if (r == 0)
        r = l->h->plugin->d.submit(l->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    return r < 0 ? r : trg_flush(s->queue);
}

static int end(struct lane *l, struct slot *s)
{
    int r = trg_event_wait(s->reached);

    if (r == 0)
        r = l->h->plugin->d.collect(l->algo, &s->batch);
    for (uint32_t i = 0; i < s->batch.n_rois; i++) {
        l->answers[s->first + i].result = s->batch.results[i];
        l->answers[s->first + i].n = s->outputs[0][i].n;
        if (r == 0 && s->outputs[0][i].n != s->outputs[1][i].n)
            r = -EILSEQ;
    }
    free(s->batch.results);
    return r;
}

/* The most items of one input that a batch can have. */
static void set_limits(struct lane *l, uint32_t n, uint32_t batch)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < n; i += batch) {
        uint32_t items[2] = {0};

        for (uint32_t k = i; k < n && k < i + batch; k++) {
            items[0] += l->rois[k].n_hits;
            items[1] += l->rois[k].n_doublets;
        }
        for (int k = 0; k < 2; k++)
            most = items[k] > most ? items[k] : most;
    }
    l->limits = (struct trg_limits){.size = sizeof l->limits,
                                    .slots = SLOTS,
                                    .max_rois = batch,
                                    .max_items = most,
                                    .max_items_roi = most};
}

int paths_run(const struct paths_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, uint32_t batch, struct answer *ret_answers)
{
    struct lane l = {
        .h = h, .device = device, .config = config, .rois = rois, .answers = ret_answers};
    uint32_t batches = (n + batch - 1) / batch, begun = 0, ended = 0;
    struct trg_device_info info;
    int r = 0;

    trg_device_info(device, &info);
    l.is_host = info.is_host != 0;
    l.sources = more(NULL, batch, sizeof *l.sources);
    set_limits(&l, n, batch);
    for (uint32_t i = 0; r == 0 && i < SLOTS; i++)
        r = open_slot(&l, i);
    if (r == 0)
        r = h->plugin->d.create(&h->host, config, device, &l.limits, &l.algo);
    while (r == 0 && ended < batches) {
        if (begun < batches && begun - ended < SLOTS) {
            uint32_t first = begun * batch;

            r = begin(&l, &l.slot[begun % SLOTS], first, n - first < batch ? n - first : batch);
            begun++;
        } else {
            r = end(&l, &l.slot[ended++ % SLOTS]);
        }
    }
    close_lane(&l);
    return r;
}
