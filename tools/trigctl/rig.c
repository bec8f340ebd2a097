/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_slot(struct rig *r, struct rig_slot *slot, uint32_t number)
{
    const struct plugin *p = r->s.plugin;
    uint32_t n = r->s.limits.max_rois;
    int e = trg_queue_new(r->s.device, &slot->queue);

    if (e == 0)
        e = trg_event_new(r->s.device, &slot->reached);
    for (uint32_t k = 0; e == 0 && k < p->n_inputs; k++) {
        size_t bytes = stage_bytes(p->d.consumes[k], n, r->s.limits.max_items);

        e = trg_buffer_new(r->s.device, TRG_MEM_PINNED, bytes, &slot->host[k]);
        if (e == 0 && r->is_host)
            slot->dev[k] = slot->host[k];
        else if (e == 0)
            e = trg_buffer_new(r->s.device, TRG_MEM_DEVICE, bytes, &slot->dev[k]);
    }
    if (e < 0)
        return e;
    slot->infos = calloc(n, sizeof *slot->infos);
    slot->results = calloc(n + 1u, sizeof *slot->results);
    slot->outputs = calloc(n, sizeof *slot->outputs);
    slot->batch = (struct trg_batch){
        .slot = number, .rois = slot->infos, .results = slot->results, .outputs = slot->outputs};
    return slot->infos && slot->results && slot->outputs ? 0 : -ENOMEM;
}

int rig_open(const struct rig_setup *setup, struct rig **ret_rig)
{
    struct rig *r = calloc(1, sizeof *r);
    struct trg_device_info info;
    int e;

    if (!r)
        return -ENOMEM;
    r->s = *setup;
    trg_device_info(setup->device, &info);
    r->is_host = info.is_host != 0;
    r->sources = calloc(setup->limits.max_rois, sizeof *r->sources);
    e = r->sources ? 0 : -ENOMEM;
    for (uint32_t i = 0; e == 0 && i < setup->limits.slots; i++)
        e = open_slot(r, &r->slot[i], i);
    if (e < 0) {
        rig_close(r);
        return e;
    }
    *ret_rig = r;
    return 0;
}

int rig_create(struct rig *r)
{
    return r->s.plugin->d.create(r->s.host, r->s.config, r->s.device, &r->s.limits, &r->algo);
}

void rig_destroy(struct rig *r)
{
    r->s.plugin->d.destroy(r->algo);
    r->algo = NULL;
}

void rig_close(struct rig *r)
{
    if (!r)
        return;
    if (r->algo)
        rig_destroy(r);
    for (uint32_t i = 0; i < RIG_SLOTS; i++) {
        struct rig_slot *slot = &r->slot[i];

        trg_queue_free(slot->queue);
        trg_event_free(slot->reached);
        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
            if (slot->dev[k] != slot->host[k])
                trg_buffer_free(slot->dev[k]);
            trg_buffer_free(slot->host[k]);
        }
        free(slot->infos);
        free(slot->results);
        free(slot->outputs);
    }
    free(r->sources);
    free(r);
}

/* ---------------------------------------------------------------- one batch */

static uint64_t checksum(const struct rig *r, const struct rig_slot *slot)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (uint32_t k = 0; k < r->s.plugin->n_inputs; k++) {
        const unsigned char *bytes = trg_buffer_host(slot->host[k]);

        for (size_t i = 0; i < slot->staged[k]; i++)
            sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

static int stage(struct rig *r, struct rig_slot *slot, const struct sample *s,
                 const uint32_t *order, uint32_t n)
{
    for (uint32_t k = 0; k < s->n_inputs; k++) {
        struct trg_input *in = &slot->batch.in[k];
        unsigned char *to = trg_buffer_host(slot->host[k]);

        for (uint32_t i = 0; i < n; i++)
            r->sources[i] = *sample_source(s, k, order[i]);
        /* padding between the columns is no data: it must not matter */
        memset(to, 0x7f, stage_bytes(s->kind[k], r->s.limits.max_rois, r->s.limits.max_items));
        slot->staged[k] = stage_fill(s->kind[k], n, slot->infos, r->sources, to, &in->span);
        in->kind = s->kind[k];
        in->host = to;
        in->dev = slot->dev[k];
        if (!r->is_host) {
            int e = trg_write(slot->queue, slot->dev[k], 0, slot->host[k], 0, slot->staged[k]);

            if (e < 0)
                return e;
        }
    }
    slot->checksum = checksum(r, slot);
    return 0;
}

int rig_submit(struct rig *r, uint32_t number, const struct sample *s, const uint32_t *order,
               uint32_t n, const struct outcome *outcomes)
{
    struct rig_slot *slot = &r->slot[number];
    int e;

    slot->batch.n_rois = n;
    memset(slot->results, 0, n * sizeof *slot->results);
    memset(slot->results + n, 0xa5, sizeof *slot->results);
    for (uint32_t i = 0; i < n; i++) {
        slot->infos[i] = s->info[order[i]];
        slot->outputs[i] = outcomes[i].output;
    }
    e = stage(r, slot, s, order, n);
    if (e == 0)
        e = r->s.plugin->d.submit(r->algo, &slot->batch, slot->queue);
    if (e == 0)
        e = trg_event_record(slot->queue, slot->reached);
    if (e == 0)
        e = trg_flush(slot->queue);
    if (e < 0)
        trg_finish(slot->queue);
    return e;
}

static int trespass(char *why, size_t bytes, const char *text)
{
    snprintf(why, bytes, "%s", text);
    return -EILSEQ;
}

int rig_collect(struct rig *r, uint32_t number, struct outcome *outcomes, char *why, size_t bytes)
{
    struct rig_slot *slot = &r->slot[number];
    const unsigned char *beyond = (const unsigned char *)(slot->results + slot->batch.n_rois);
    int e = trg_event_wait(slot->reached);

    if (e == 0)
        e = r->s.plugin->d.collect(r->algo, &slot->batch);
    if (e < 0)
        return e;
    for (uint32_t i = 0; i < slot->batch.n_rois; i++) {
        outcomes[i].result = slot->results[i];
        outcomes[i].output = slot->outputs[i];
    }
    for (size_t i = 0; i < sizeof *slot->results; i++)
        if (beyond[i] != 0xa5)
            return trespass(why, bytes, "results are written past the batch's last RoI");
    if (checksum(r, slot) != slot->checksum)
        return trespass(why, bytes, "the input of the batch was written to");
    return 0;
}
