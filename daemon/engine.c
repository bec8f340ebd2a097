/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

static const struct config_step *override_of(const struct config *c, const char *step)
{
    for (uint32_t i = 0; i < c->n_steps; i++)
        if (!strcmp(c->steps[i].step, step))
            return &c->steps[i];
    return NULL;
}

/* Whether the plugin runs on the backend and the config lets the step use it. */
static bool may_use(const struct menu_step *step, const struct config_step *o, const char *backend)
{
    const char *found = strstr(step->plugin->d.backends, backend);
    size_t n = strlen(backend);

    if (!found || (found[n] != '\0' && found[n] != ' '))
        return false;
    if (!o || !o->n_backends)
        return true;
    for (uint32_t i = 0; i < o->n_backends; i++)
        if (!strcmp(o->backends[i], backend))
            return true;
    return false;
}

static uint32_t cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

static int open_lane(const struct engine_setup *setup, struct engine *e, uint32_t number,
                     const struct config_device *d, struct trg_device *device, uint32_t copy)
{
    struct engine_step *s = &e->step[number];
    struct trg_device_info info;
    char name[STATS_NAME];
    struct lane_setup ls = {.pool = setup->pool,
                            .menu = e->menu,
                            .step = number,
                            .device = device,
                            .host = setup->host,
                            .done_fd = setup->done_fd,
                            .done_sleeping = setup->done_sleeping,
                            .limits = {.size = sizeof(struct trg_limits),
                                       .slots = d->slots,
                                       .max_rois = s->batching.max_rois,
                                       .max_items = s->max_items,
                                       .max_items_roi = setup->config->clients.max_items}};
    int r;

    if (s->n_lanes == ENGINE_LANES_MAX) {
        log_error("engine", "a step has too many lanes", "step=%s most=%u",
                  e->menu->steps[number].name, ENGINE_LANES_MAX);
        return -EINVAL;
    }
    trg_device_info(device, &info);
    snprintf(name, sizeof name, "%.40s@%s:%u/%u", e->menu->steps[number].name, d->backend, d->index,
             copy);
    ls.stats = stats_lane_get(setup->stats, name, info.name, d->slots);
    if (!ls.stats) {
        log_error("engine", "too many lanes", "most=%u", STATS_LANES_MAX);
        return -EINVAL;
    }
    ls.latency = &ls.stats->latency;
    r = lane_open(&ls, &s->lane[s->n_lanes]);
    if (r == 0)
        s->n_lanes++;
    return r;
}

/* Opens the lanes of one step on one device of the config. */
static int open_on_device(const struct engine_setup *setup, struct engine *e, uint32_t number,
                          const struct config_device *d)
{
    uint32_t n = d->lanes ? d->lanes : cores();
    struct trg_device *device;
    int r = backends_device(setup->backends, d->backend, d->index, &device);

    if (r < 0) {
        if (d->required)
            log_error("engine", "a required device is not there", "device=%s:%u", d->backend,
                      d->index);
        else
            log_info("engine", "a device is not there; the others serve", "device=%s:%u step=%s",
                     d->backend, d->index, e->menu->steps[number].name);
        return d->required ? r : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        r = open_lane(setup, e, number, d, device, i);
        if (r < 0)
            return r;
    }
    return 0;
}

static int open_step(const struct engine_setup *setup, struct engine *e, uint32_t number)
{
    const struct config *c = setup->config;
    const struct menu_step *m = &e->menu->steps[number];
    const struct config_step *o = override_of(c, m->name);
    struct engine_step *s = &e->step[number];
    size_t item = trg_item_size(m->plugin->d.consumes[0]);
    int r;

    s->batching = o && o->batching ? *o->batching : c->batching;
    s->max_items = c->clients.max_items; /* one RoI always fits */
    if (item && (uint64_t)s->batching.max_kbytes * 1024 / item > s->max_items)
        s->max_items = (uint32_t)((uint64_t)s->batching.max_kbytes * 1024 / item);
    s->queue = calloc(e->capacity, sizeof *s->queue);
    if (!s->queue)
        return -ENOMEM;
    s->stats = stats_step_get(setup->stats, m->name, m->plugin->d.name);
    if (!s->stats) {
        log_error("engine", "too many steps were seen since the start", "most=%u", STATS_STEPS_MAX);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < c->n_devices; i++) {
        if (!may_use(m, o, c->devices[i].backend))
            continue;
        r = open_on_device(setup, e, number, &c->devices[i]);
        if (r < 0)
            return r;
    }
    if (!s->n_lanes) {
        log_error("engine", "no device serves a step", "step=%s runs_on=\"%s\"", m->name,
                  m->plugin->d.backends);
        return -ENODEV;
    }
    return 0;
}

static int open_all(const struct engine_setup *setup, struct engine *e)
{
    int r = menu_load(setup->config->menu, setup->plugins, &e->menu);

    if (r < 0)
        return r;
    e->capacity = setup->config->pool.rois;
    e->steps_bytes = pool_align(e->menu->n_steps * sizeof(struct roi_step));
    e->chains_bytes = pool_align(e->menu->n_chains);
    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        e->chain[i] = stats_chain_get(setup->stats, e->menu->chains[i].name);
        if (!e->chain[i]) {
            log_error("engine", "too many chains were seen since the start", "most=%u",
                      STATS_CHAINS_MAX);
            return -EINVAL;
        }
    }
    for (uint32_t i = 0; i < e->menu->n_steps; i++) {
        r = open_step(setup, e, i);
        if (r < 0)
            return r;
    }
    return 0;
}

int engine_open(const struct engine_setup *setup, uint32_t generation, struct engine **ret_engine)
{
    struct engine *e = calloc(1, sizeof *e);
    int r;

    if (!e)
        return -ENOMEM;
    e->generation = generation;
    r = open_all(setup, e);
    if (r < 0) {
        engine_close(e);
        return r;
    }
    *ret_engine = e;
    return 0;
}

uint32_t engine_items(const struct engine *e, const struct pool *pool, uint32_t step, uint32_t roi)
{
    const struct menu_step *m = &e->menu->steps[step];
    const struct roi *r = &pool->rois[roi];

    if (!m->plugin->n_inputs)
        return 0;
    return m->input[0] < 0 ? r->in[m->plugin->d.consumes[0]].n
                           : pool_steps(pool, r)[m->input[0]].product.n;
}

void engine_close(struct engine *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++) {
        for (uint32_t k = 0; k < e->step[i].n_lanes; k++)
            lane_close(e->step[i].lane[k]);
        free(e->step[i].queue);
    }
    menu_free(e->menu);
    free(e);
}
