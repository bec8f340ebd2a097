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
    struct trg_output *outputs[2];
    uint32_t first; /* event of the run that is the batch's first */
};

struct driver {
    struct driver_setup s;
    struct trg_algo *algo;
    bool is_host;
    struct slot slot[DRIVER_SLOTS_MAX];
    struct stage_source *sources;
};

/* ---------------------------------------------------------------- set-up */

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int driver_host_open(struct driver_host *h)
{
    const char *build = getenv("TRIGD_BUILD");
    static char cache[512];
    char plugins[512], backends[512], why[256] = "", *paths[] = {plugins};
    int r;

    if (!build) {
        fprintf(stderr, "TRIGD_BUILD is not set: give it the build folder\n");
        return -EINVAL;
    }
    snprintf(plugins, sizeof plugins, "%s/plugins", build);
    snprintf(backends, sizeof backends, "%s/backends", build);
    snprintf(cache, sizeof cache, "%s/opencl-cache", build);
    h->host = (struct trg_host){.size = sizeof h->host, .log = print, .cache_dir = cache};
    r = plugin_host_new(paths, 1, &h->plugins);
    if (r < 0)
        return r;
    r = plugin_host_get(h->plugins, "hough", &h->plugin, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    else
        r = backends_open(backends, &h->host, &h->backends);
    if (r < 0)
        plugin_host_free(h->plugins);
    return r;
}

void driver_host_close(struct driver_host *h)
{
    backends_close(h->backends);
    plugin_host_free(h->plugins);
}

int driver_configure(const struct driver_host *h, struct hough_config *c, const char *preset,
                     const char *const *settings)
{
    char why[256] = "";
    int r = 0;

    plugin_defaults(h->plugin, c);
    if (preset)
        r = plugin_preset(h->plugin, preset, c, why, sizeof why);
    for (; r == 0 && settings && *settings; settings += 2)
        r = plugin_set(h->plugin, settings[0], settings[1], c, why, sizeof why);
    if (r == 0)
        r = h->plugin->d.check(c, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    return r < 0 ? -EINVAL : 0;
}

static int open_slot(struct driver *d, uint32_t number)
{
    struct slot *s = &d->slot[number];
    size_t bytes = stage_bytes(TRG_HITS, d->s.max_rois, d->s.max_items);
    int r;

    s->infos = calloc(d->s.max_rois, sizeof *s->infos);
    s->outputs[0] = calloc(d->s.max_rois, sizeof **s->outputs);
    s->outputs[1] = calloc(d->s.max_rois, sizeof **s->outputs);
    if (!s->infos || !s->outputs[0] || !s->outputs[1])
        return -ENOMEM;
    s->batch = (struct trg_batch){
        .slot = number, .rois = s->infos, .outputs = {s->outputs[0], s->outputs[1]}};
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
    d->sources = calloc(setup->max_rois, sizeof *d->sources);
    if (!d->sources)
        r = -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < setup->slots; i++)
        r = open_slot(d, i);
    if (r == 0)
        r = setup->host->plugin->d.create(&setup->host->host, setup->config, setup->device, &limits,
                                          &d->algo);
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
    for (uint32_t i = 0; i < d->s.slots; i++)
        trg_queue_free(d->slot[i].queue); /* finishes what an error left there */
    d->s.host->plugin->d.destroy(d->algo);
    for (uint32_t i = 0; i < d->s.slots; i++) {
        struct slot *s = &d->slot[i];

        trg_event_free(s->reached);
        if (s->dev != s->host)
            trg_buffer_free(s->dev);
        trg_buffer_free(s->host);
        free(s->infos);
        free(s->outputs[0]);
        free(s->outputs[1]);
    }
    free(d->sources);
    free(d);
}

/* ---------------------------------------------------------------- what is found */

void found_free(struct found *f, uint32_t n)
{
    for (uint32_t i = 0; f && i < n; i++) {
        for (uint32_t c = 0; c < 10; c++)
            free(f[i].column[c]);
        free(f[i].n_hits);
        free(f[i].inner);
        free(f[i].outer);
    }
    free(f);
}

/* Room for what can be found among so many hits. */
static int found_room(struct found *f, uint32_t n_hits)
{
    f->n = f->n_doublets = 0;
    if (f->room > n_hits)
        return 0;
    for (uint32_t c = 0; c < 10; c++) {
        free(f->column[c]);
        f->column[c] = calloc(n_hits / 3 + 1u, sizeof(float));
        if (!f->column[c])
            return -ENOMEM;
    }
    free(f->n_hits);
    free(f->inner);
    free(f->outer);
    f->n_hits = calloc(n_hits / 3 + 1u, sizeof *f->n_hits);
    f->inner = calloc(n_hits + 1u, sizeof *f->inner);
    f->outer = calloc(n_hits + 1u, sizeof *f->outer);
    f->room = n_hits + 1u;
    return f->n_hits && f->inner && f->outer ? 0 : -ENOMEM;
}

static int set_output(struct driver *d, struct slot *s, uint32_t i, uint32_t n_hits,
                      struct found *f)
{
    struct trg_output *tracks = &s->outputs[0][i], *doublets = &s->outputs[1][i];
    uint32_t most[2];
    int r = f ? found_room(f, n_hits) : 0;

    *tracks = *doublets = (struct trg_output){0};
    if (!f || d->s.no_output || r < 0)
        return r;
    d->s.host->plugin->d.output_items(d->s.config, &n_hits, most);
    tracks->capacity = most[0];
    doublets->capacity = most[1];
    for (uint32_t c = 0; c < 10; c++)
        tracks->column[c] = f->column[c];
    tracks->column[10] = f->n_hits;
    doublets->column[0] = f->inner;
    doublets->column[1] = f->outer;
    return 0;
}

/* ---------------------------------------------------------------- batches */

/* Begins the batch that starts with event `first`; returns how many it took, or an error. */
static int begin(struct driver *d, struct slot *s, const struct event *events, uint32_t first,
                 uint32_t n, struct trg_result *results, struct found *found)
{
    uint32_t items = 0, k = 0;
    size_t bytes;
    int r = 0;

    while (r == 0 && k < d->s.max_rois && first + k < n &&
           items + events[first + k].n <= d->s.max_items) {
        const struct event *e = &events[first + k];

        d->sources[k] =
            (struct stage_source){.n = e->n, .column = {e->x, e->y, e->z, e->layer, e->id}};
        s->infos[k] = e->info;
        items += e->n;
        r = set_output(d, s, k, e->n, found ? &found[first + k] : NULL);
        k++;
    }
    if (r < 0 || !k)
        return r < 0 ? r : -E2BIG;
    s->first = first;
    s->batch.n_rois = k;
    s->batch.results = results + first;
    memset(s->batch.results, 0, k * sizeof *results);
    s->batch.in[0].kind = TRG_HITS;
    bytes = stage_fill(TRG_HITS, k, s->infos, d->sources, trg_buffer_host(s->host),
                       &s->batch.in[0].span);
    s->batch.in[0].host = trg_buffer_host(s->host);
    s->batch.in[0].dev = s->dev;
    r = d->is_host ? 0 : trg_write(s->queue, s->dev, 0, s->host, 0, bytes);
    if (r == 0)
        r = d->s.host->plugin->d.submit(d->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    if (r == 0)
        r = trg_flush(s->queue);
    return r < 0 ? r : (int)k;
}

static int end(struct driver *d, struct slot *s, struct found *found)
{
    int r = trg_event_wait(s->reached);

    if (r == 0)
        r = d->s.host->plugin->d.collect(d->algo, &s->batch);
    for (uint32_t i = 0; r == 0 && found && i < s->batch.n_rois; i++) {
        found[s->first + i].n = s->outputs[0][i].n;
        found[s->first + i].n_doublets = s->outputs[1][i].n;
    }
    return r;
}

int driver_run(struct driver *d, const struct event *events, uint32_t n,
               struct trg_result *ret_results, struct found *ret_found)
{
    const uint32_t slots = d->s.slots ? d->s.slots : 1;
    uint32_t next = 0, begun = 0, ended = 0;

    while (next < n || ended < begun) {
        int r;

        if (next < n && begun - ended < slots) {
            r = begin(d, &d->slot[begun % slots], events, next, n, ret_results, ret_found);
            if (r < 0)
                return r;
            next += (uint32_t)r;
            begun++;
            continue;
        }
        r = end(d, &d->slot[ended % slots], ret_found);
        if (r < 0)
            return r;
        ended++;
    }
    return 0;
}
