/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rig_open(const struct rig_setup *setup, struct rig **ret_rig)
{
    const struct drive_setup drive = {.host = setup->host,
                                      .plugin = &setup->plugin->d,
                                      .config = setup->config,
                                      .device = setup->device,
                                      .conditions = setup->conditions,
                                      .limits = setup->limits};
    struct rig *r = calloc(1, sizeof *r);
    int e;

    if (!r)
        return -ENOMEM;
    r->s = *setup;
    e = drive_open(&drive, &r->drive);
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
        struct trg_input at = {.collection = d->produces[k]};
        int e = d->device_output(r->drive->algo, 0, k, &at);

        if (e < 0)
            return e;
        if (at.span.n_items * sizeof(uint32_t) > most)
            most = at.span.n_items * sizeof(uint32_t);
    }
    return trg_buffer_new(r->s.device, TRG_MEM_PINNED, most, &r->readback);
}

int rig_create(struct rig *r)
{
    int e = drive_create(r->drive);

    if (e == 0 && r->s.plugin->d.device_output) {
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
    drive_destroy(r->drive);
}

void rig_close(struct rig *r)
{
    if (!r)
        return;
    trg_buffer_free(r->readback);
    drive_close(r->drive);
    free(r);
}

/* ---------------------------------------------------------------- one batch */

static uint64_t checksum(const struct rig *r, const struct drive_slot *slot)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (uint32_t k = 0; k < r->drive->n_inputs; k++) {
        const unsigned char *bytes = trg_buffer_host(slot->in[k].host);

        for (size_t i = 0; i < slot->staged[k]; i++)
            sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

/* In a daemon the device may have gathered the columns itself: then the host has no values. */
static int hide_columns(struct rig *r, struct drive_slot *slot)
{
    int e = 0;

    if (r->drive->is_host || !(r->s.plugin->d.flags & TRG_PLUGIN_DEVICE_COLUMNS))
        return 0;
    e = trg_finish(slot->queue);
    for (uint32_t k = 0; e == 0 && k < r->drive->n_inputs; k++) {
        const uint32_t head = slot->batch.in[k].span.column[0];

        memset((unsigned char *)trg_buffer_host(slot->in[k].host) + head, 0x7f,
               slot->staged[k] - head);
    }
    return e;
}

static int stage(struct rig *r, struct drive_slot *slot, const struct sample *s,
                 const uint32_t *order, uint32_t n)
{
    const struct trg_limits *limits = &r->s.limits;
    int e;

    for (uint32_t k = 0; k < s->n_inputs; k++) {
        for (uint32_t i = 0; i < n; i++)
            r->drive->sources[k][i] = *sample_source(s, k, order[i]);
        /* padding between the columns is no data: it must not matter */
        memset(trg_buffer_host(slot->in[k].host), 0x7f,
               stage_bytes(s->kind[k], limits->max_rois, limits->max_items));
    }
    drive_gather(r->drive, slot, n);
    for (uint32_t k = 0; r->s.on_device && k < s->n_inputs; k++) {
        slot->batch.in[k].host = NULL;
        slot->batch.in[k].span.n_items = limits->max_items; /* the count is on the device */
    }
    e = drive_copy_in(r->drive, slot);
    if (e == 0)
        e = hide_columns(r, slot);
    r->checksum[slot->batch.slot] = checksum(r, slot);
    return e;
}

int rig_submit(struct rig *r, uint32_t number, const struct sample *s, const uint32_t *order,
               uint32_t n, const struct outcome *outcomes)
{
    struct drive_slot *slot = &r->drive->slot[number];
    int e;

    memset(slot->results + n, 0xa5, sizeof *slot->results);
    for (uint32_t i = 0; i < n; i++) {
        slot->infos[i] = s->info[order[i]];
        for (uint32_t k = 0; k < r->s.plugin->n_outputs; k++)
            slot->batch.outputs[k][i] = outcomes[i].output[k];
    }
    e = stage(r, slot, s, order, n);
    return e < 0 ? e : drive_submit(r->drive, slot);
}

static int trespass(char *why, size_t bytes, const char *text)
{
    snprintf(why, bytes, "%s", text);
    return -EILSEQ;
}

/* Reads `bytes` of the device into the rig's buffer. */
static int read_back(struct rig *r, struct drive_slot *slot, struct trg_buffer *dev, size_t at,
                     size_t bytes)
{
    int e = bytes ? trg_read(slot->queue, r->readback, 0, dev, at, bytes) : 0;

    return e < 0 ? e : trg_finish(slot->queue);
}

/* Compares column c of a product on the device with what the host was told, RoI by RoI. */
static int compare_column(struct rig *r, struct drive_slot *slot, const struct trg_input *in,
                          const struct trg_output *out, uint32_t c, char *why, size_t bytes)
{
    const struct trg_column *column = &in->collection->column[c];
    const size_t size = trg_column_bytes(column);
    const unsigned char *on_device = trg_buffer_host(r->readback);
    size_t n = 0;
    int e;

    for (uint32_t i = 0; i < slot->batch.n_rois; i++)
        n += out[i].n;
    e = read_back(r, slot, in->dev, in->span.column[c], n * size);
    for (uint32_t i = 0; e == 0 && i < slot->batch.n_rois; i++) {
        if (out[i].n && memcmp(on_device, out[i].column[c], out[i].n * size) != 0) {
            snprintf(why, bytes, "column %s of %s is not the same on the device", column->name,
                     in->collection->name);
            return -EILSEQ;
        }
        on_device += out[i].n * size;
    }
    return e;
}

/* Whether product k lies on the device as collect told it. */
static int compare_product(struct rig *r, struct drive_slot *slot, uint32_t k, char *why,
                           size_t bytes)
{
    const struct trg_plugin *d = &r->s.plugin->d;
    const struct trg_output *out = slot->batch.outputs[k];
    const uint32_t n = slot->batch.n_rois;
    const uint32_t *offsets = trg_buffer_host(r->readback);
    struct trg_input in = {0};
    int e = d->device_output(r->drive->algo, slot->batch.slot, k, &in);

    in.collection = d->produces[k];
    if (e == 0)
        e = read_back(r, slot, in.dev, in.span.offsets, (n + 1u) * sizeof *offsets);
    for (uint32_t i = 0; e == 0 && i < n; i++)
        if (offsets[i + 1] - offsets[i] != out[i].n || offsets[0])
            return trespass(why, bytes, "the offsets on the device are not the host's counts");
    if (e == 0 && offsets[n] > in.span.n_items)
        return trespass(why, bytes, "there are more items on the device than device_output allows");
    for (uint32_t c = 0; e == 0 && c < in.collection->n_columns; c++)
        e = compare_column(r, slot, &in, out, c, why, bytes);
    return e;
}

int rig_collect(struct rig *r, uint32_t number, struct outcome *outcomes, char *why, size_t bytes)
{
    struct drive_slot *slot = &r->drive->slot[number];
    const unsigned char *beyond = (const unsigned char *)(slot->results + slot->batch.n_rois);
    int e = drive_collect(r->drive, slot);

    if (e < 0)
        return e;
    for (uint32_t i = 0; i < slot->batch.n_rois; i++) {
        outcomes[i].result = slot->results[i];
        for (uint32_t k = 0; k < r->s.plugin->n_outputs; k++)
            outcomes[i].output[k] = slot->batch.outputs[k][i];
    }
    for (uint32_t k = 0; r->readback && k < r->s.plugin->n_outputs; k++) {
        e = compare_product(r, slot, k, why, bytes);
        if (e < 0)
            return e;
    }
    for (size_t i = 0; i < sizeof *slot->results; i++)
        if (beyond[i] != 0xa5)
            return trespass(why, bytes, "results are written past the batch's last RoI");
    if (checksum(r, slot) != r->checksum[number])
        return trespass(why, bytes, "the input of the batch was written to");
    return 0;
}
