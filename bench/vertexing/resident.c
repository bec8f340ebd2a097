/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "exec/stage.h"

#define SLOTS 3u

struct slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_batch batch;
    bool in_flight;
};

struct resident {
    const struct trg_plugin *plugin;
    struct trg_algo *algo;
    struct trg_buffer *host, *dev;
    struct trg_roi_info *infos;
    struct trg_result *results;
    struct trg_output *outputs; /* no places: the numbers are wanted */
    struct slot slot[SLOTS];
};

void resident_close(struct resident *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (r->slot[i].queue)
            trg_finish(r->slot[i].queue);
        trg_event_free(r->slot[i].reached);
        trg_queue_free(r->slot[i].queue);
    }
    r->plugin->destroy(r->algo);
    trg_buffer_free(r->dev);
    trg_buffer_free(r->host);
    free(r->infos);
    free(r->results);
    free(r->outputs);
    free(r);
}

/* The events' columns to the device; what the plugin sees of them goes to `ret_input`. */
static int upload(struct resident *r, struct trg_device *device, const struct event *events,
                  uint32_t n, uint32_t items, struct trg_input *ret_input)
{
    struct stage_source *sources = calloc(n, sizeof *sources);
    const size_t bytes = stage_bytes(TRG_TRACKS, n, items);
    int e = sources ? trg_buffer_new(device, TRG_MEM_PINNED, bytes, &r->host) : -ENOMEM;

    if (e == 0)
        e = trg_buffer_new(device, TRG_MEM_DEVICE, bytes, &r->dev);
    for (uint32_t i = 0; e == 0 && i < n; i++) {
        sources[i].n = events[i].n;
        for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
            sources[i].column[c] = events[i].column[c];
        r->infos[i] = events[i].info;
    }
    if (e == 0) {
        *ret_input =
            (struct trg_input){.kind = TRG_TRACKS, .host = trg_buffer_host(r->host), .dev = r->dev};
        stage_fill(TRG_TRACKS, n, r->infos, sources, trg_buffer_host(r->host), &ret_input->span);
        e = trg_write(r->slot[0].queue, r->dev, 0, r->host, 0, bytes);
    }
    if (e == 0)
        e = trg_finish(r->slot[0].queue);
    free(sources);
    return e;
}

int resident_open(const struct algo_host *h, struct trg_device *device,
                  const struct vx_config *config, const struct event *events, uint32_t n,
                  struct resident **ret_resident)
{
    struct resident *r = calloc(1, sizeof *r);
    struct trg_limits limits = {.size = sizeof limits, .slots = SLOTS, .max_rois = n};
    struct trg_input input;
    int e = 0;

    if (!r)
        return -ENOMEM;
    r->plugin = &h->plugin->d;
    for (uint32_t i = 0; i < n; i++)
        limits.max_items += events[i].n;
    limits.max_items_roi = limits.max_items;
    r->infos = calloc(n, sizeof *r->infos);
    r->results = calloc(n, sizeof *r->results);
    r->outputs = calloc(n, sizeof *r->outputs);
    if (!r->infos || !r->results || !r->outputs)
        e = -ENOMEM;
    for (uint32_t i = 0; e == 0 && i < SLOTS; i++) {
        e = trg_queue_new(device, &r->slot[i].queue);
        if (e == 0)
            e = trg_event_new(device, &r->slot[i].reached);
    }
    if (e == 0)
        e = upload(r, device, events, n, limits.max_items, &input);
    if (e == 0)
        e = r->plugin->create(&h->host, config, device, &limits, &r->algo);
    for (uint32_t i = 0; e == 0 && i < SLOTS; i++)
        r->slot[i].batch = (struct trg_batch){.slot = i,
                                              .n_rois = n,
                                              .rois = r->infos,
                                              .results = r->results,
                                              .outputs = {r->outputs},
                                              .in = {input}};
    if (e < 0) {
        resident_close(r);
        return e;
    }
    *ret_resident = r;
    return 0;
}

static int end(struct resident *r, struct slot *s)
{
    int e = s->in_flight ? trg_event_wait(s->reached) : 0;

    if (e == 0 && s->in_flight)
        e = r->plugin->collect(r->algo, &s->batch);
    s->in_flight = false;
    return e;
}

int resident_run(struct resident *r, uint32_t times)
{
    int e = 0;

    for (uint32_t t = 0; e == 0 && t < times; t++) {
        struct slot *s = &r->slot[t % SLOTS];

        e = end(r, s);
        if (e == 0)
            e = r->plugin->submit(r->algo, &s->batch, s->queue);
        if (e == 0)
            e = trg_event_record(s->queue, s->reached);
        if (e == 0)
            e = trg_flush(s->queue);
        s->in_flight = e == 0;
    }
    for (uint32_t i = 0; e == 0 && i < SLOTS; i++)
        e = end(r, &r->slot[i]);
    return e;
}
