/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <stdbool.h>
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
    struct trg_result *results;
    uint32_t first; /* event of the run that is the batch's first */
};

struct driver {
    const struct plugin *plugin;
    struct trg_device *device;
    const struct vx_config *config;
    uint32_t max_rois, max_items;
    struct trg_algo *algo;
    bool is_host;
    struct slot slot[DRIVER_SLOTS];
    struct stage_source *sources;
};

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

int vx_host_open(struct vx_host *h)
{
    const char *build = getenv("TRIGD_BUILD");
    char plugins[512], backends[512], why[256] = "", *paths[] = {plugins};
    static char cache[512];
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
    r = plugin_host_get(h->plugins, "vertexing", &h->plugin, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    else
        r = backends_open(backends, &h->host, &h->backends);
    if (r < 0)
        plugin_host_free(h->plugins);
    return r;
}

void vx_host_close(struct vx_host *h)
{
    backends_close(h->backends);
    plugin_host_free(h->plugins);
}

int vx_configure(const struct vx_host *h, const char *preset, const char *const *settings,
                 struct vx_config *ret_config)
{
    char why[256] = "";
    int r = 0;

    plugin_defaults(h->plugin, ret_config);
    if (preset)
        r = plugin_preset(h->plugin, preset, ret_config, why, sizeof why);
    for (; r == 0 && settings && *settings; settings += 2)
        r = plugin_set(h->plugin, settings[0], settings[1], ret_config, why, sizeof why);
    if (r == 0)
        r = h->plugin->d.check(ret_config, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "%s\n", why);
    return r;
}

int vx_answers_new(uint32_t n, struct vx_answer **ret_answers)
{
    struct vx_answer *a = calloc(n ? n : 1, sizeof *a);

    if (!a)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++) {
            a[i].column[c] = calloc(ANSWER_ROOM, 4);
            if (!a[i].column[c]) {
                vx_answers_free(a, n);
                return -ENOMEM;
            }
        }
    *ret_answers = a;
    return 0;
}

void vx_answers_free(struct vx_answer *a, uint32_t n)
{
    for (uint32_t i = 0; a && i < n; i++)
        for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++)
            free(a[i].column[c]);
    free(a);
}

static int open_slot(struct driver *d, uint32_t number)
{
    struct slot *s = &d->slot[number];
    size_t bytes = stage_bytes(TRG_TRACKS, d->max_rois, d->max_items);
    int r;

    s->infos = calloc(d->max_rois, sizeof *s->infos);
    s->outputs = calloc(d->max_rois, sizeof *s->outputs);
    s->results = calloc(d->max_rois, sizeof *s->results);
    if (!s->infos || !s->outputs || !s->results)
        return -ENOMEM;
    s->batch = (struct trg_batch){
        .slot = number, .rois = s->infos, .outputs = {s->outputs}, .results = s->results};
    r = trg_queue_new(d->device, &s->queue);
    if (r == 0)
        r = trg_event_new(d->device, &s->reached);
    if (r == 0)
        r = trg_buffer_new(d->device, TRG_MEM_PINNED, bytes, &s->host);
    s->dev = s->host;
    if (r == 0 && !d->is_host)
        r = trg_buffer_new(d->device, TRG_MEM_DEVICE, bytes, &s->dev);
    return r;
}

int driver_open(const struct vx_host *h, struct trg_device *device, const struct vx_config *config,
                uint32_t max_rois, uint32_t max_items, struct driver **ret_driver)
{
    struct driver *d = calloc(1, sizeof *d);
    const struct trg_limits limits = {.size = sizeof limits,
                                      .slots = DRIVER_SLOTS,
                                      .max_rois = max_rois,
                                      .max_items = max_items,
                                      .max_items_roi = max_items};
    struct trg_device_info info;
    int r = 0;

    if (!d)
        return -ENOMEM;
    *d = (struct driver){.plugin = h->plugin,
                         .device = device,
                         .config = config,
                         .max_rois = max_rois,
                         .max_items = max_items};
    trg_device_info(device, &info);
    d->is_host = info.is_host != 0;
    d->sources = calloc(max_rois, sizeof *d->sources);
    if (!d->sources)
        r = -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < DRIVER_SLOTS; i++)
        r = open_slot(d, i);
    if (r == 0)
        r = h->plugin->d.create(&h->host, config, device, &limits, &d->algo);
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
    d->plugin->d.destroy(d->algo);
    for (uint32_t i = 0; i < DRIVER_SLOTS; i++) {
        struct slot *s = &d->slot[i];

        trg_queue_free(s->queue);
        trg_event_free(s->reached);
        if (s->dev != s->host)
            trg_buffer_free(s->dev);
        trg_buffer_free(s->host);
        free(s->infos);
        free(s->outputs);
        free(s->results);
    }
    free(d->sources);
    free(d);
}

static void take_event(struct driver *d, struct slot *s, uint32_t k, const struct event *e,
                       struct vx_answer *a)
{
    uint32_t n_out[TRG_OUTPUTS_MAX] = {0};

    d->sources[k].n = e->n;
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        d->sources[k].column[c] = e->column[c];
    s->infos[k] = e->info;
    memset(&s->outputs[k], 0, sizeof s->outputs[k]);
    memset(&s->results[k], 0, sizeof s->results[k]);
    if (a) {
        d->plugin->d.output_items(d->config, &e->n, n_out);
        s->outputs[k].capacity = n_out[0];
        memcpy(s->outputs[k].column, a->column, sizeof a->column);
    }
}

/* Begins the batch that starts with event `first`; returns how many it took, or an error. */
static int begin(struct driver *d, struct slot *s, const struct event *events, uint32_t first,
                 uint32_t n, struct vx_answer *answers)
{
    uint32_t items = 0, k = 0;
    size_t bytes;
    int r;

    for (; k < d->max_rois && first + k < n && items + events[first + k].n <= d->max_items; k++) {
        take_event(d, s, k, &events[first + k], answers ? &answers[first + k] : NULL);
        items += events[first + k].n;
    }
    if (!k)
        return -E2BIG;
    s->first = first;
    s->batch.n_rois = k;
    s->batch.in[0].kind = TRG_TRACKS;
    bytes = stage_fill(TRG_TRACKS, k, s->infos, d->sources, trg_buffer_host(s->host),
                       &s->batch.in[0].span);
    s->batch.in[0].host = trg_buffer_host(s->host);
    s->batch.in[0].dev = s->dev;
    r = d->is_host ? 0 : trg_write(s->queue, s->dev, 0, s->host, 0, bytes);
    if (r == 0)
        r = d->plugin->d.submit(d->algo, &s->batch, s->queue);
    if (r == 0)
        r = trg_event_record(s->queue, s->reached);
    if (r == 0)
        r = trg_flush(s->queue);
    return r < 0 ? r : (int)k;
}

static int end(struct driver *d, struct slot *s, struct vx_answer *answers)
{
    int r = trg_event_wait(s->reached);

    if (r == 0)
        r = d->plugin->d.collect(d->algo, &s->batch);
    for (uint32_t k = 0; r == 0 && answers && k < s->batch.n_rois; k++) {
        answers[s->first + k].result = s->results[k];
        answers[s->first + k].n = s->outputs[k].n;
    }
    return r;
}

int driver_run(struct driver *d, const struct event *events, uint32_t n, struct vx_answer *answers)
{
    uint32_t next = 0, begun = 0, ended = 0;

    while (next < n || ended < begun) {
        int r;

        if (next < n && begun - ended < DRIVER_SLOTS) {
            r = begin(d, &d->slot[begun % DRIVER_SLOTS], events, next, n, answers);
            if (r < 0)
                return r;
            next += (uint32_t)r;
            begun++;
            continue;
        }
        r = end(d, &d->slot[ended % DRIVER_SLOTS], answers);
        if (r < 0)
            return r;
        ended++;
    }
    return 0;
}
