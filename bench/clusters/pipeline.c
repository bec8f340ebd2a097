/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

struct member { /* a plugin behind the first */
    const struct trg_plugin *plugin;
    struct trg_algo *algo;
    struct trg_batch batch[TRG_SLOTS_MAX]; /* outputs of no room */
};

struct pipeline {
    struct pipeline_setup s;
    void *config[PIPELINE_MAX];
    struct drive *drive; /* the first */
    struct member member[PIPELINE_MAX];
    const struct pipeline_roi *rois; /* of a run */
    uint32_t n_rois, next, left;
    double sum;
};

/* ---------------------------------------------------------------- opening */

static int configure(struct pipeline *p, uint32_t k)
{
    const struct plugin *plugin = p->s.host[k]->plugin;

    p->config[k] = calloc(1, plugin->d.config_size);
    return p->config[k] ? algo_configure(plugin, NULL, p->s.settings[k], p->config[k]) : -ENOMEM;
}

static int open_first(struct pipeline *p)
{
    const struct drive_setup setup = {.host = &p->s.host[0]->host,
                                      .plugin = &p->s.host[0]->plugin->d,
                                      .config = p->config[0],
                                      .device = p->s.device,
                                      .conditions = p->s.conditions,
                                      .limits = {.size = sizeof setup.limits,
                                                 .slots = p->s.slots,
                                                 .max_rois = p->s.batch,
                                                 .max_items = p->s.max_items,
                                                 .max_items_roi = p->s.max_items}};
    int r = drive_open(&setup, &p->drive);

    return r < 0 ? r : drive_create(p->drive);
}

/* The plugin before member k that makes a collection, and which of its products that is. */
static int find_maker(const struct pipeline *p, uint32_t k, const struct trg_collection *wanted,
                      uint32_t *ret_maker, uint32_t *ret_product)
{
    for (uint32_t from = k; from-- > 0;) {
        const struct trg_plugin *maker = &p->s.host[from]->plugin->d;

        for (uint32_t i = 0; i < TRG_OUTPUTS_MAX && maker->produces[i]; i++)
            if (maker->produces[i]->hash == wanted->hash) {
                *ret_maker = from;
                *ret_product = i;
                return 0;
            }
    }
    return -ENOENT;
}

/* Whether a member takes, as input `in`, what the first one takes: no other makes it. */
static bool is_shared(const struct pipeline *p, const struct trg_plugin *plugin, uint32_t in)
{
    return plugin->consumes[in]->hash == p->s.host[0]->plugin->d.consumes[0]->hash;
}

/* Where input `in` of member k lies, in each slot. */
static int take_over(struct pipeline *p, uint32_t k, uint32_t in, uint32_t *items)
{
    struct member *m = &p->member[k];
    uint32_t from = 0, product = 0;
    int r = find_maker(p, k, m->plugin->consumes[in], &from, &product);
    const struct trg_plugin *maker = &p->s.host[from]->plugin->d;
    struct trg_algo *algo = from ? p->member[from].algo : p->drive->algo;

    for (uint32_t i = 0; r == 0 && i < p->s.slots; i++) {
        struct trg_input *input = &m->batch[i].in[in];

        r = maker->device_output(algo, i, product, input);
        *items = input->span.n_items > *items ? input->span.n_items : *items;
    }
    return r;
}

static int open_member(struct pipeline *p, uint32_t k)
{
    struct member *m = &p->member[k];
    struct trg_limits limits = {.size = sizeof limits, .slots = p->s.slots, .max_rois = p->s.batch};
    int r = 0;

    m->plugin = &p->s.host[k]->plugin->d;
    for (uint32_t i = 0; r == 0 && i < p->s.slots; i++)
        r = batch_open(&m->batch[i], i, p->drive->slot[i].infos, p->s.batch, m->plugin);
    for (uint32_t in = 0; r == 0 && in < TRG_INPUTS_MAX && m->plugin->consumes[in]; in++)
        if (!is_shared(p, m->plugin, in))
            r = take_over(p, k, in, &limits.max_items);
        else if (limits.max_items < p->s.max_items)
            limits.max_items = p->s.max_items;
    limits.max_items_roi = limits.max_items;
    return r < 0 ? r
                 : m->plugin->create(&p->s.host[k]->host, p->config[k], p->s.device, &limits,
                                     &m->algo);
}

int pipeline_open(const struct pipeline_setup *setup, struct pipeline **ret)
{
    struct pipeline *p = calloc(1, sizeof *p);
    int r = p ? 0 : -ENOMEM;

    if (p)
        p->s = *setup;
    for (uint32_t k = 0; r == 0 && k < setup->n; k++)
        r = configure(p, k);
    if (r == 0)
        r = open_first(p);
    for (uint32_t k = 1; r == 0 && k < setup->n; k++)
        r = open_member(p, k);
    if (r < 0)
        pipeline_close(p);
    else
        *ret = p;
    return r;
}

void pipeline_close(struct pipeline *p)
{
    if (!p)
        return;
    for (uint32_t k = PIPELINE_MAX; k-- > 1;) {
        struct member *m = &p->member[k];

        if (m->algo)
            m->plugin->destroy(m->algo);
        for (uint32_t i = 0; i < TRG_SLOTS_MAX; i++)
            batch_close(&m->batch[i]);
    }
    drive_close(p->drive);
    for (uint32_t k = 0; k < PIPELINE_MAX; k++)
        free(p->config[k]);
    free(p);
}

/* ---------------------------------------------------------------- running */

static int submit_members(struct pipeline *p, struct drive_slot *s)
{
    int r = 0;

    for (uint32_t k = 1; r == 0 && k < p->s.n; k++) {
        struct trg_batch *b = &p->member[k].batch[s->batch.slot];

        b->n_rois = s->batch.n_rois;
        for (uint32_t in = 0; in < TRG_INPUTS_MAX && p->member[k].plugin->consumes[in]; in++) {
            if (is_shared(p, p->member[k].plugin, in))
                b->in[in] = s->batch.in[0];
            b->in[in].span.n_rois = s->batch.n_rois;
        }
        r = batch_submit(p->member[k].plugin, p->member[k].algo, b, s->queue);
    }
    return r == 0 ? batch_flush(s->queue, s->reached) : r;
}

static int begin(void *ctx, struct drive_slot *s)
{
    struct pipeline *p = ctx;
    const uint32_t n = p->left < p->s.batch ? p->left : p->s.batch;
    int r;

    if (!n)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pipeline_roi *roi = &p->rois[(p->next + i) % p->n_rois];
        struct stage_source *to = &p->drive->sources[0][i];

        s->infos[i] = (struct trg_roi_info){.run = 1, .l1id = i};
        *to = (struct stage_source){.n = roi->n};
        memcpy(to->column, roi->column, sizeof to->column);
    }
    p->next = (p->next + n) % p->n_rois;
    p->left -= n;
    drive_gather(p->drive, s, n);
    r = drive_copy_in(p->drive, s);
    if (r == 0)
        r = batch_submit(p->drive->s.plugin, p->drive->algo, &s->batch, s->queue);
    if (r == 0)
        r = submit_members(p, s);
    return r < 0 ? r : 1;
}

static int end(void *ctx, struct drive_slot *s)
{
    struct pipeline *p = ctx;
    const struct trg_result *last = s->results;
    int r = drive_collect(p->drive, s);

    for (uint32_t k = 1; r == 0 && k < p->s.n; k++) {
        r = p->member[k].plugin->collect(p->member[k].algo, &p->member[k].batch[s->batch.slot]);
        last = p->member[k].batch[s->batch.slot].results;
    }
    for (uint32_t i = 0; r == 0 && i < s->batch.n_rois; i++)
        p->sum += (double)last[i].value[0];
    return r;
}

int pipeline_run(struct pipeline *p, const struct pipeline_roi *rois, uint32_t n, uint32_t rounds,
                 double *ret_sum)
{
    int r;

    p->rois = rois;
    p->n_rois = n;
    p->next = 0;
    p->left = n * rounds;
    p->sum = 0;
    r = drive_run(p->drive, &(struct drive_loop){begin, end, p, p->s.slots});
    if (ret_sum)
        *ret_sum = p->sum;
    return r;
}
