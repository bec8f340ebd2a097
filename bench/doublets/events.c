/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/stage.h"

extern const struct trg_plugin trg_plugin;

struct lane {
    bool is_host;
    struct trg_algo *algo;
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host, *dev; /* the same on the CPU */
    struct trg_batch batch;
    struct trg_roi_info *infos;
    struct trg_result *results;
    struct trg_output *outputs;
    uint32_t *capacity;
    size_t bytes;
};

void events_config(struct doublets_config *c)
{
    for (const struct trg_param *p = doublets_params; p->name; p++) {
        void *at = (char *)c + p->offset;

        if (p->type == TRG_PARAM_F32)
            *(float *)at = strtof(p->dflt, NULL);
        else
            *(uint32_t *)at = p->type == TRG_PARAM_BOOL ? !strcmp(p->dflt, "true")
                                                        : (uint32_t)strtoul(p->dflt, NULL, 10);
    }
}

struct generated *events_make(const char *preset, uint32_t begin, uint32_t n)
{
    struct generated *g = calloc(n, sizeof *g);

    for (uint32_t i = 0; g && i < n; i++)
        if (generator_make(generator_find(preset), 1, begin + i, &g[i]) < 0) {
            events_free(g, n);
            return NULL;
        }
    return g;
}

void events_free(struct generated *events, uint32_t n)
{
    for (uint32_t i = 0; events && i < n; i++)
        generated_fini(&events[i]);
    free(events);
}

/* Room for the doublets of every event on the host. */
static int make_outputs(struct lane *l, const struct doublets_config *c,
                        const struct generated *events, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        doublets_output_items(c, &events[i].n, &l->capacity[i]);
        for (uint32_t k = 0; k < 2; k++) {
            l->outputs[i].column[k] = malloc((l->capacity[i] + 1) * sizeof(uint32_t));
            if (!l->outputs[i].column[k])
                return -1;
        }
    }
    return 0;
}

static int open_device(struct lane *l, const struct device *device, const struct doublets_config *c,
                       const struct generated *events, uint32_t n)
{
    struct stage_source *sources = calloc(n, sizeof *sources);
    struct trg_limits limits = {.size = sizeof limits, .slots = 1, .max_rois = n};
    int r = sources ? 0 : -1;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const struct generated_hits *h = &events[i].hits;

        sources[i] =
            (struct stage_source){.n = events[i].n, .column = {h->x, h->y, h->z, h->layer, h->id}};
        l->infos[i] = events[i].info;
        limits.max_items += events[i].n;
    }
    limits.max_items_roi = limits.max_items;
    l->bytes = stage_bytes(TRG_HITS, n, limits.max_items);
    if (r == 0)
        r = trg_plugin.create(&devices_host, c, device->d, &limits, &l->algo);
    if (r == 0)
        r = trg_queue_new(device->d, &l->queue);
    if (r == 0)
        r = trg_event_new(device->d, &l->reached);
    if (r == 0)
        r = trg_buffer_new(device->d, TRG_MEM_PINNED, l->bytes, &l->host);
    l->dev = l->host;
    if (r == 0 && !l->is_host)
        r = trg_buffer_new(device->d, TRG_MEM_DEVICE, l->bytes, &l->dev);
    if (r == 0) {
        struct trg_input *in = &l->batch.in[0];

        in->kind = TRG_HITS;
        in->host = trg_buffer_host(l->host);
        in->dev = l->dev;
        l->bytes = stage_fill(TRG_HITS, n, l->infos, sources, trg_buffer_host(l->host), &in->span);
    }
    free(sources);
    return r;
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    trg_plugin.destroy(l->algo);
    trg_queue_free(l->queue);
    trg_event_free(l->reached);
    if (l->dev != l->host)
        trg_buffer_free(l->dev);
    trg_buffer_free(l->host);
    for (uint32_t i = 0; l->outputs && i < l->batch.n_rois; i++) {
        free(l->outputs[i].column[0]);
        free(l->outputs[i].column[1]);
    }
    free(l->outputs);
    free(l->results);
    free(l->infos);
    free(l->capacity);
    free(l);
}

struct lane *lane_open(const struct device *device, const struct doublets_config *c,
                       const struct generated *events, uint32_t n)
{
    struct lane *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->is_host = device->info.is_host;
    l->infos = calloc(n, sizeof *l->infos);
    l->results = calloc(n, sizeof *l->results);
    l->outputs = calloc(n, sizeof *l->outputs);
    l->capacity = calloc(n, sizeof *l->capacity);
    l->batch.n_rois = n;
    l->batch.rois = l->infos;
    l->batch.results = l->results;
    l->batch.outputs[0] = l->outputs;
    if (!l->infos || !l->results || !l->outputs || !l->capacity ||
        make_outputs(l, c, events, n) < 0 || open_device(l, device, c, events, n) < 0) {
        fprintf(stderr, "cannot run %u events on %s\n", n, device->info.name);
        lane_close(l);
        return NULL;
    }
    return l;
}

int lane_run(struct lane *l, bool to_host)
{
    int r = 0;

    memset(l->results, 0, l->batch.n_rois * sizeof *l->results);
    for (uint32_t i = 0; i < l->batch.n_rois; i++)
        l->outputs[i].capacity = to_host ? l->capacity[i] : 0;
    if (!l->is_host)
        r = trg_write(l->queue, l->dev, 0, l->host, 0, l->bytes);
    if (r == 0)
        r = trg_plugin.submit(l->algo, &l->batch, l->queue);
    if (r == 0)
        r = trg_event_record(l->queue, l->reached);
    if (r == 0)
        r = trg_event_wait(l->reached);
    return r < 0 ? r : trg_plugin.collect(l->algo, &l->batch);
}

const struct trg_result *lane_result(const struct lane *l, uint32_t i)
{
    return &l->results[i];
}

const struct trg_output *lane_output(const struct lane *l, uint32_t i)
{
    return &l->outputs[i];
}
