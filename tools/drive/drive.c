/* SPDX-License-Identifier: Apache-2.0 */
#include "drive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/pull.h"

static int open_inputs(struct drive *d, struct drive_slot *s)
{
    const struct trg_limits *limits = &d->s.limits;
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < d->n_inputs; k++) {
        size_t bytes = stage_bytes(d->consumes[k], limits->max_rois, limits->max_items) +
                       pull_bytes(d->consumes[k], limits->max_rois);

        r = batch_memory_open(d->s.device, bytes, &s->in[k]);
        if (r == 0)
            s->batch.in[k] = (struct trg_input){.collection = kind_info(d->consumes[k]),
                                                .host = trg_buffer_host(s->in[k].host),
                                                .dev = s->in[k].dev};
    }
    return r;
}

static int open_slot(struct drive *d, uint32_t number)
{
    const uint32_t n = d->s.limits.max_rois;
    struct drive_slot *s = &d->slot[number];
    int r;

    s->infos = calloc(n, sizeof *s->infos);
    r = s->infos ? batch_open(&s->batch, number, s->infos, n + 1u, d->s.plugin) : -ENOMEM;
    s->results = s->batch.results;
    if (r == 0)
        r = trg_queue_new(d->s.device, &s->queue);
    if (r == 0)
        r = trg_event_new(d->s.device, &s->reached);
    return r < 0 ? r : open_inputs(d, s);
}

/* ---------------------------------------------------------------- conditions */

static const struct condition *find_table(const struct drive *d, const char *name)
{
    const struct condition_list *list = d->s.conditions;

    for (uint32_t i = 0; list && i < list->n; i++)
        if (!strcmp(list->of[i]->name, name))
            return list->of[i];
    return NULL;
}

/* Has the table of condition k on the device, for all slots. */
static int open_table(struct drive *d, uint32_t k, const struct condition *c)
{
    struct batch_table *t = &d->table[k];
    struct trg_input in = {.collection = c->table};
    size_t bytes;
    int r = batch_memory_open(d->s.device, condition_bytes(c->table, c->n), &t->memory);

    if (r < 0)
        return r;
    bytes = condition_lay_out(c, trg_buffer_host(t->memory.host), &in.span);
    r = batch_table_load(t, d->slot[0].queue, &in, c->key, bytes);
    for (uint32_t i = 0; i < d->s.limits.slots; i++)
        batch_give(&d->slot[i].batch, k, t);
    return r < 0 ? r : trg_finish(d->slot[0].queue);
}

static int open_tables(struct drive *d)
{
    const struct trg_condition *all = d->s.plugin->conditions;
    char text[256];
    int r = 0;

    for (uint32_t k = 0; r == 0 && all && all[k].name; k++) {
        const struct condition *c = find_table(d, all[k].name);

        if (c) {
            r = open_table(d, k, c);
        } else if (!(all[k].flags & TRG_CONDITION_OPTIONAL)) {
            snprintf(text, sizeof text,
                     "the plugin needs the condition %.100s: give a file with it", all[k].name);
            trg_log(d->s.host, TRG_ERROR, text);
            r = -ENOENT;
        }
    }
    return r;
}

/* ---------------------------------------------------------------- the whole */

static int take_kinds(const struct drive *d, const struct trg_collection *const *declared,
                      uint32_t most, uint32_t *kinds, uint32_t *n)
{
    char why[256];
    int r = 0;

    for (*n = 0; r == 0 && *n < most && declared[*n]; ++*n)
        r = kind_add(declared[*n], &kinds[*n], why, sizeof why);
    if (r < 0)
        trg_log(d->s.host, TRG_ERROR, why);
    return r;
}

static int open_all(struct drive *d)
{
    const struct trg_plugin *p = d->s.plugin;
    int r = d->s.limits.slots && d->s.limits.slots <= TRG_SLOTS_MAX ? 0 : -EINVAL;

    if (p->flags & TRG_PLUGIN_GUEST) {
        trg_log(d->s.host, TRG_ERROR, "the plugin is a guest: it gets slices of work, and no RoIs");
        return -EINVAL;
    }
    if (r == 0)
        r = take_kinds(d, p->consumes, TRG_INPUTS_MAX, d->consumes, &d->n_inputs);
    if (r == 0)
        r = take_kinds(d, p->produces, TRG_OUTPUTS_MAX, d->produces, &d->n_outputs);
    if (r == 0)
        room_init(p, d->s.config, &d->room);
    for (uint32_t k = 0; r == 0 && k < d->n_inputs; k++) {
        d->sources[k] = calloc(d->s.limits.max_rois, sizeof *d->sources[k]);
        r = d->sources[k] ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < d->s.limits.slots; i++)
        r = open_slot(d, i);
    return r < 0 ? r : open_tables(d);
}

int drive_open(const struct drive_setup *setup, struct drive **ret_drive)
{
    struct drive *d = calloc(1, sizeof *d);
    struct trg_device_info info;
    int r;

    if (!d)
        return -ENOMEM;
    d->s = *setup;
    trg_device_info(setup->device, &info);
    d->is_host = info.is_host != 0;
    r = open_all(d);
    if (r < 0) {
        drive_close(d);
        return r;
    }
    *ret_drive = d;
    return 0;
}

static void close_slot(struct drive_slot *s)
{
    trg_queue_free(s->queue);
    trg_event_free(s->reached);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
        batch_memory_close(&s->in[k]);
    s->batch.results = s->results; /* the caller may have put others there */
    batch_close(&s->batch);
    free(s->infos);
}

void drive_close(struct drive *d)
{
    if (!d)
        return;
    drive_destroy(d);
    for (uint32_t i = 0; i < TRG_SLOTS_MAX; i++)
        close_slot(&d->slot[i]);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
        free(d->sources[k]);
    for (uint32_t k = 0; k < TRG_CONDITIONS_MAX; k++)
        batch_memory_close(&d->table[k].memory);
    free(d);
}

int drive_create(struct drive *d)
{
    return d->s.plugin->create(d->s.host, d->s.config, d->s.device, &d->s.limits, &d->algo);
}

void drive_destroy(struct drive *d)
{
    if (d->algo)
        d->s.plugin->destroy(d->algo);
    d->algo = NULL;
}

/* ---------------------------------------------------------------- a batch */

void drive_gather(struct drive *d, struct drive_slot *s, uint32_t n_rois)
{
    s->batch.n_rois = n_rois;
    for (uint32_t k = 0; k < d->n_inputs; k++)
        s->staged[k] = stage_fill(d->consumes[k], n_rois, s->infos, d->sources[k],
                                  trg_buffer_host(s->in[k].host), &s->batch.in[k].span);
}

int drive_copy_in(struct drive *d, struct drive_slot *s)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < d->n_inputs; k++)
        r = batch_memory_write(&s->in[k], s->queue, s->staged[k]);
    return r;
}

int drive_submit(struct drive *d, struct drive_slot *s)
{
    int r = batch_submit(d->s.plugin, d->algo, &s->batch, s->queue);

    if (r == 0)
        r = batch_flush(s->queue, s->reached);
    if (r < 0)
        trg_finish(s->queue); /* its own error is less than the one that came first */
    return r;
}

int drive_collect(struct drive *d, struct drive_slot *s)
{
    int r = trg_event_wait(s->reached);

    return r < 0 ? r : d->s.plugin->collect(d->algo, &s->batch);
}

int drive_run(struct drive *d, const struct drive_loop *loop)
{
    const uint32_t slots = d->s.limits.slots;
    uint32_t begun = 0, ended = 0;
    bool is_more = true;
    int r = 0;

    while (r >= 0 && (is_more || ended != begun)) {
        if (is_more && begun - ended < loop->in_flight) {
            r = loop->begin(loop->ctx, &d->slot[begun % slots]);
            begun += r > 0;
            is_more = r > 0;
        } else {
            r = loop->end(loop->ctx, &d->slot[ended++ % slots]);
        }
    }
    for (uint32_t i = 0; r < 0 && i < slots; i++)
        trg_finish(d->slot[i].queue);
    return r < 0 ? r : 0;
}
