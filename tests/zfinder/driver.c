/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

struct slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host, *dev;
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_output *outputs;
    uint32_t first; /* RoI of the run that is the batch's first */
};

struct driver {
    struct driver_setup s;
    struct trg_algo *algo;
    bool is_host;
    struct slot slot[DRIVER_SLOTS_MAX];
    struct stage_source *sources;
    float *columns; /* where products go; nobody reads them */
    uint32_t capacity;
};

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int bench_host_open(struct bench_host *h)
{
    const char *build = getenv("TRIGD_BUILD");
    char plugins[512], backends[512], cache[512], *paths[] = {plugins};
    static char cache_dir[512];
    int r;

    if (!build) {
        fprintf(stderr, "TRIGD_BUILD is not set: give it the build folder\n");
        return -EINVAL;
    }
    snprintf(plugins, sizeof plugins, "%s/plugins", build);
    snprintf(backends, sizeof backends, "%s/backends", build);
    snprintf(cache, sizeof cache, "%s/opencl-cache", build);
    memcpy(cache_dir, cache, sizeof cache_dir);
    h->host = (struct trg_host){.size = sizeof h->host, .log = print, .cache_dir = cache_dir};
    r = plugin_host_new(paths, 1, &h->plugins);
    if (r < 0)
        return r;
    r = backends_open(backends, &h->host, &h->backends);
    if (r < 0)
        plugin_host_free(h->plugins);
    return r;
}

void bench_host_close(struct bench_host *h)
{
    backends_close(h->backends);
    plugin_host_free(h->plugins);
}

static int open_slot(struct driver *d, uint32_t number)
{
    struct slot *s = &d->slot[number];
    size_t bytes = stage_bytes(TRG_SPACEPOINTS, d->s.max_rois, d->s.max_items);
    int r;

    s->infos = calloc(d->s.max_rois, sizeof *s->infos);
    s->outputs = calloc(d->s.max_rois, sizeof *s->outputs);
    if (!s->infos || !s->outputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->s.max_rois; i++) {
        s->outputs[i].capacity = d->capacity;
        for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++)
            s->outputs[i].column[c] = d->columns;
    }
    s->batch = (struct trg_batch){.slot = number, .rois = s->infos, .outputs = {s->outputs}};
    r = trg_queue_new(d->s.device, &s->queue);
    if (r == 0)
        r = trg_event_new(d->s.device, &s->reached);
    if (r == 0)
        r = trg_buffer_new(d->s.device, TRG_MEM_PINNED, bytes, &s->host);
    s->dev = s->host;
    if (r == 0 && !d->is_host)
        r = trg_buffer_new(d->s.device, TRG_MEM_DEVICE, bytes, &s->dev);
    return r;
}

int driver_open(const struct driver_setup *setup, struct driver **ret_driver)
{
    struct driver *d = calloc(1, sizeof *d);
    const uint32_t n_in = setup->max_items;
    uint32_t n_out[TRG_OUTPUTS_MAX] = {0};
    struct trg_limits limits = {.size = sizeof limits,
                                .slots = setup->slots,
                                .max_rois = setup->max_rois,
                                .max_items = setup->max_items,
                                .max_items_roi = setup->max_items};
    struct trg_device_info info;
    int r = 0;

    if (!d)
        return -ENOMEM;
    d->s = *setup;
    trg_device_info(setup->device, &info);
    d->is_host = info.is_host != 0;
    if (setup->plugin->d.output_items)
        setup->plugin->d.output_items(setup->params, &n_in, n_out);
    d->capacity = n_out[0];
    d->sources = calloc(setup->max_rois, sizeof *d->sources);
    d->columns = calloc(d->capacity + 1u, sizeof *d->columns);
    if (!d->sources || !d->columns)
        r = -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < setup->slots; i++)
        r = open_slot(d, i);
    if (r == 0)
        r = setup->plugin->d.create(setup->host, setup->params, setup->device, &limits, &d->algo);
    if (r < 0) {
        driver_close(d);
        return r;
    }
    *ret_driver = d;
    return 0;
}

void driver_close(struct driver *d)
{
    if (!d)
        return;
    d->s.plugin->d.destroy(d->algo);
    for (uint32_t i = 0; i < d->s.slots; i++) {
        struct slot *s = &d->slot[i];

        trg_queue_free(s->queue);
        trg_event_free(s->reached);
        if (s->dev != s->host)
            trg_buffer_free(s->dev);
        trg_buffer_free(s->host);
        free(s->infos);
        free(s->outputs);
    }
    free(d->sources);
    free(d->columns);
    free(d);
}

/* Begins the batch that starts with RoI `first`; returns how many it took, or an error. */
static int begin(struct driver *d, struct slot *s, const struct generated *rois, uint32_t first,
                 uint32_t n, struct trg_result *results)
{
    uint32_t items = 0, k = 0;
    size_t bytes;
    int r;

    while (k < d->s.max_rois && first + k < n && items + rois[first + k].n <= d->s.max_items) {
        const struct generated *g = &rois[first + k];

        d->sources[k] =
            (struct stage_source){.n = g->n, .column = {g->phi, g->rho, g->z, g->layer}};
        s->infos[k] = g->info;
        items += g->n;
        k++;
    }
    if (!k)
        return -E2BIG;
    s->first = first;
    s->batch.n_rois = k;
    s->batch.results = results + first;
    memset(s->batch.results, 0, k * sizeof *results);
    s->batch.in[0].kind = TRG_SPACEPOINTS;
    bytes = stage_fill(TRG_SPACEPOINTS, k, s->infos, d->sources, trg_buffer_host(s->host),
                       &s->batch.in[0].span);
    s->batch.in[0].host = trg_buffer_host(s->host);
    s->batch.in[0].dev = s->dev;
    r = d->is_host ? 0 : trg_write(s->queue, s->dev, 0, s->host, 0, bytes);
    if (r == 0)
        r = d->s.plugin->d.submit(d->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    if (r == 0)
        r = trg_flush(s->queue);
    return r < 0 ? r : (int)k;
}

static int end(struct driver *d, struct slot *s)
{
    int r = trg_event_wait(s->reached);

    return r < 0 ? r : d->s.plugin->d.collect(d->algo, &s->batch);
}

int driver_run(struct driver *d, const struct generated *rois, uint32_t n,
               struct trg_result *ret_results)
{
    uint32_t next = 0, begun = 0, ended = 0;

    while (next < n || ended < begun) {
        int r;

        if (next < n && begun - ended < d->s.slots) {
            r = begin(d, &d->slot[begun % d->s.slots], rois, next, n, ret_results);
            if (r < 0)
                return r;
            next += (uint32_t)r;
            begun++;
            continue;
        }
        r = end(d, &d->slot[ended % d->s.slots]);
        if (r < 0)
            return r;
        ended++;
    }
    return 0;
}
