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
    slot->batch = (struct trg_batch){.slot = number, .rois = slot->infos, .results = slot->results};
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        slot->outputs[k] = calloc(n, sizeof *slot->outputs[k]);
        if (!slot->outputs[k])
            return -ENOMEM;
        slot->batch.outputs[k] = slot->outputs[k];
    }
    return slot->infos && slot->results ? 0 : -ENOMEM;
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

/* Makes room to read back what the plugin leaves on the device. */
static int open_readback(struct rig *r)
{
    const struct trg_plugin *d = &r->s.plugin->d;
    size_t most = sizeof(uint32_t) * (r->s.limits.max_rois + 1u);

    for (uint32_t k = 0; k < r->s.plugin->n_outputs; k++) {
        struct trg_input at = {.kind = d->produces[k]};
        int e = d->device_output(r->algo, 0, k, &at);

        if (e < 0)
            return e;
        if (at.span.n_items * sizeof(uint32_t) > most)
            most = at.span.n_items * sizeof(uint32_t);
    }
    return trg_buffer_new(r->s.device, TRG_MEM_PINNED, most, &r->readback);
}

int rig_create(struct rig *r)
{
    const struct trg_plugin *d = &r->s.plugin->d;
    int e = d->create(r->s.host, r->s.config, r->s.device, &r->s.limits, &r->algo);

    if (e == 0 && d->device_output) {
        e = open_readback(r);
        if (e < 0)
            rig_destroy(r);
    }
    return e;
}

void rig_destroy(struct rig *r)
{
    trg_buffer_free(r->readback);
    r->readback = NULL;
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
        for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
            free(slot->outputs[k]);
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
        in->host = r->s.on_device ? NULL : to;
        if (r->s.on_device)
            in->span.n_items = r->s.limits.max_items; /* the count is on the device */
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
        for (uint32_t k = 0; k < r->s.plugin->n_outputs; k++)
            slot->outputs[k][i] = outcomes[i].output[k];
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

/* Reads `bytes` of the device into the rig's buffer. */
static int read_back(struct rig *r, struct rig_slot *slot, struct trg_buffer *dev, size_t at,
                     size_t bytes)
{
    int e = bytes ? trg_read(slot->queue, r->readback, 0, dev, at, bytes) : 0;

    return e < 0 ? e : trg_finish(slot->queue);
}

/* Compares column c of a product on the device with what the host was told, RoI by RoI. */
static int compare_column(struct rig *r, struct rig_slot *slot, const struct trg_input *in,
                          const struct trg_output *out, uint32_t c, char *why, size_t bytes)
{
    const struct trg_column_info *column = &trg_kind_info(in->kind)->column[c];
    const size_t size = trg_type_size(column->type);
    const unsigned char *on_device = trg_buffer_host(r->readback);
    size_t n = 0;
    int e;

    for (uint32_t i = 0; i < slot->batch.n_rois; i++)
        n += out[i].n;
    e = read_back(r, slot, in->dev, in->span.column[c], n * size);
    for (uint32_t i = 0; e == 0 && i < slot->batch.n_rois; i++) {
        if (out[i].n && memcmp(on_device, out[i].column[c], out[i].n * size) != 0) {
            snprintf(why, bytes, "column %s of %s is not the same on the device", column->name,
                     trg_kind_info(in->kind)->name);
            return -EILSEQ;
        }
        on_device += out[i].n * size;
    }
    return e;
}

/* Whether product k lies on the device as collect told it. */
static int compare_product(struct rig *r, struct rig_slot *slot, uint32_t k, char *why,
                           size_t bytes)
{
    const struct trg_plugin *d = &r->s.plugin->d;
    const struct trg_output *out = slot->outputs[k];
    const uint32_t n = slot->batch.n_rois;
    const uint32_t *offsets = trg_buffer_host(r->readback);
    struct trg_input in = {0};
    int e = d->device_output(r->algo, slot->batch.slot, k, &in);

    in.kind = d->produces[k];
    if (e == 0)
        e = read_back(r, slot, in.dev, in.span.offsets, (n + 1u) * sizeof *offsets);
    for (uint32_t i = 0; e == 0 && i < n; i++)
        if (offsets[i + 1] - offsets[i] != out[i].n || offsets[0])
            return trespass(why, bytes, "the offsets on the device are not the host's counts");
    if (e == 0 && offsets[n] > in.span.n_items)
        return trespass(why, bytes, "there are more items on the device than device_output allows");
    for (uint32_t c = 0; e == 0 && c < trg_kind_info(in.kind)->n_columns; c++)
        e = compare_column(r, slot, &in, out, c, why, bytes);
    return e;
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
        for (uint32_t k = 0; k < r->s.plugin->n_outputs; k++)
            outcomes[i].output[k] = slot->outputs[k][i];
    }
    for (uint32_t k = 0; r->readback && k < r->s.plugin->n_outputs; k++) {
        e = compare_product(r, slot, k, why, bytes);
        if (e < 0)
            return e;
    }
    for (size_t i = 0; i < sizeof *slot->results; i++)
        if (beyond[i] != 0xa5)
            return trespass(why, bytes, "results are written past the batch's last RoI");
    if (checksum(r, slot) != slot->checksum)
        return trespass(why, bytes, "the input of the batch was written to");
    return 0;
}
