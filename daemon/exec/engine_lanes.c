/* SPDX-License-Identifier: Apache-2.0 */
/* engine_lanes.c - which devices serve a step, and the lanes on them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/engine.h"
#include "log.h"

#define RETRY_SLOTS 1u

/* Whether all plugins of a group run on the backend and the config lets the step use it. */
static bool may_use(const struct config *c, const struct menu *m, uint32_t step,
                    const char *backend)
{
    const struct config_step *o = config_find_step(c, m->steps[step].name);

    for (uint64_t left = m->steps[step].members; left; left &= left - 1)
        if (!plugin_runs_on(m->steps[__builtin_ctzll(left)].plugin, backend))
            return false;
    if (!o || !o->n_backends)
        return true;
    for (uint32_t i = 0; i < o->n_backends; i++)
        if (!strcmp(o->backends[i], backend))
            return true;
    return false;
}

/* ---------------------------------------------------------------- counting */

static uint32_t devices_of(const struct config_device *d, const struct devices *devices)
{
    uint32_t n = 1;

    if (d->all)
        n = devices ? devices_count(devices, d->backend) : DEVICES_MAX;
    return n ? n : 1;
}

static uint32_t lanes_of(const struct config_device *d, uint32_t cores)
{
    return d->lanes ? d->lanes : cores;
}

struct lane_count {
    uint32_t all;
    uint32_t most, step; /* the largest part: of a step */
    const struct config_device *device;
};

static void count_step(const struct config *c, const struct menu *m, uint32_t step, uint32_t cores,
                       const struct devices *devices, struct lane_count *count)
{
    uint32_t retries = 0;
    bool has_cpu = false;

    for (uint32_t i = 0; i < c->n_devices; i++) {
        const struct config_device *d = &c->devices[i];
        const uint32_t n = devices_of(d, devices), lanes = n * lanes_of(d, cores);

        if (!may_use(c, m, step, d->backend))
            continue;
        count->all += lanes;
        retries += n;
        has_cpu |= !strcmp(d->backend, "cpu");
        if (lanes > count->most) {
            count->most = lanes;
            count->step = step;
            count->device = d;
        }
    }
    count->all += has_cpu ? 1 : retries < ENGINE_RETRIES ? retries : ENGINE_RETRIES;
}

static struct lane_count count_lanes(const struct config *c, const struct menu *m, uint32_t cores,
                                     const struct devices *devices)
{
    struct lane_count count = {0};

    for (uint32_t i = 0; i < m->n_steps; i++)
        if (m->steps[i].head == i)
            count_step(c, m, i, cores, devices, &count);
    return count;
}

uint32_t engine_count_lanes(const struct config *config, const struct menu *menu, uint32_t cores,
                            const struct devices *devices)
{
    return count_lanes(config, menu, cores, devices).all;
}

int engine_check_lanes(const struct config *config, const struct menu *menu, uint32_t cores,
                       const struct devices *devices)
{
    const struct lane_count count = count_lanes(config, menu, cores, devices);

    if (count.all <= ENGINE_LANES_MAX)
        return 0;
    log_error("config", "devices[] makes too many lanes for the steps of the menu",
              "menu=\"%s\" lanes=%u allowed=%u most=\"%u of step %s on %s\"", config->menu,
              count.all, ENGINE_LANES_MAX, count.most, menu->steps[count.step].name,
              count.device->backend);
    return -EINVAL;
}

/* ---------------------------------------------------------------- workers */

/* Which lanes share a worker: those of one device, on CPUs those of one NUMA node. */
struct whose {
    const char *backend;
    uint32_t index, node;
    bool is_retry, is_guest;
};

static bool is_reload(const struct generation *g)
{
    return g->number > 1;
}

static struct engine_worker *find_worker(struct generation *g, const struct whose *whose)
{
    for (struct engine_worker *w = g->worker; w < g->worker + g->n_workers; w++)
        if (!strcmp(w->backend, whose->backend) && w->index == whose->index &&
            w->node == whose->node && w->is_retry == whose->is_retry &&
            w->is_guest == whose->is_guest)
            return w;
    return NULL;
}

static void name_worker(const struct generation *g, const struct whose *whose, char *name,
                        size_t bytes)
{
    char node[16] = "";

    if (whose->node)
        snprintf(node, sizeof node, "@%u", whose->node);
    snprintf(name, bytes, "%s%s:%u%s/%u",
             whose->is_retry   ? "retry "
             : whose->is_guest ? "guest "
                               : "",
             whose->backend, whose->index, node, g->number);
}

/* The worker, started at first use.  NULL where the device is not there. */
static int worker_of(const struct engine_setup *setup, struct generation *g,
                     const struct whose *whose, struct worker **ret_worker)
{
    struct engine_worker *w = find_worker(g, whose);
    char name[STATS_NAME];
    const struct worker_setup ws = {.name = name,
                                    .backend = whose->backend,
                                    .index = whose->index,
                                    .is_retry = whose->is_retry,
                                    .is_beside = is_reload(g)};
    int r;

    if (w) {
        *ret_worker = w->worker;
        return 0;
    }
    if (g->n_workers == ENGINE_WORKERS_MAX) {
        log_error("engine", "too many devices", "most=%u", ENGINE_WORKERS_MAX);
        return -EINVAL;
    }
    w = &g->worker[g->n_workers];
    *w = (struct engine_worker){.index = whose->index,
                                .node = whose->node,
                                .is_retry = whose->is_retry,
                                .is_guest = whose->is_guest};
    snprintf(w->backend, sizeof w->backend, "%s", whose->backend);
    name_worker(g, whose, name, sizeof name);
    r = worker_open(&setup->base, &ws, &w->worker);
    if (r == -ENOENT || r == -ENODEV)
        r = 0;
    else if (r < 0)
        return r;
    g->n_workers++;
    *ret_worker = w->worker;
    return r;
}

/* ---------------------------------------------------------------- lanes */

/* Passes the error on, and says of a reload without memory what the operator can do. */
static int say_no_room(const struct engine_setup *setup, const struct generation *g,
                       uint32_t number, const struct whose *whose, int error)
{
    const char *step = g->menu->steps[number].name;

    if (error != -ENOMEM || !is_reload(g))
        return error;
    log_error("engine",
              "the new generation does not fit beside the old one: no memory for a lane; fewer "
              "lanes or slots, or a smaller max_kbytes, may fit, else drain and restart",
              "step=%s device=%s:%u", step, whose->backend, whose->index);
    opening_refuse(setup->base.opening,
                   "the new generation does not fit beside the old one: step %s on %s:%u has no "
                   "memory for its lanes; fewer lanes, slots or max_kbytes may fit, else drain and "
                   "restart",
                   step, whose->backend, whose->index);
    return error;
}

struct place {                          /* of a lane */
    const struct config_device *device; /* of the config */
    struct worker *worker;
    struct affinity_place at;
    uint32_t slots;
    const char *suffix; /* of its name */
};

static uint32_t place_of(const struct generation *g, const struct worker *w)
{
    uint32_t i = 0;

    while (g->worker[i].worker != w)
        i++; /* it is there */
    return i;
}

/* Makes the lane of one shard. */
static int make_part(const struct engine_setup *setup, struct engine *e, uint32_t number,
                     const struct place *at, struct lane **ret_lane)
{
    const struct worker_shard *shard = &setup->base.shard[e->shard];
    struct engine_step *s = &e->step[number];
    const struct trg_device_info *info = worker_device(at->worker);
    struct lane_setup ls = {.shard = e->shard,
                            .n_shards = setup->base.n_shards,
                            .pool = shard->pool,
                            .regions = shard->regions,
                            .group = &s->group,
                            .gather_threads = setup->gather_threads,
                            .slots = at->slots,
                            .max_rois = s->batching.max_rois,
                            .product_bytes = s->product_bytes,
                            .conditions = &e->of->conditions,
                            .gate =
                                guests_gate(setup->guests, info->backend, info->index, e->shard),
                            .warm_up = at->device->warm_up,
                            .rank = plan_rank(e->menu->plan, number),
                            .guess_ns = &s->lane_ns,
                            .cost = &s->cost[place_of(e->of, at->worker)]};
    char name[STATS_NAME];
    int r;

    snprintf(name, sizeof name, "%.40s@%s:%u/%s", e->menu->steps[number].name, info->backend,
             info->index, at->suffix);
    ls.stats = stats_lane_get(shard->stats, name, info->name, at->slots);
    if (!ls.stats) {
        log_error("engine", "generations before still have too many lanes: reload again later",
                  "most=%u", STATS_LANES_MAX);
        return -EAGAIN;
    }
    r = lane_open(&ls, ret_lane);
    if (r < 0)
        stats_lane_put(ls.stats);
    return r;
}

/* Makes a lane for each shard and opens their runner.  Lanes whose runner does not open are there,
 * but down; for a reload, which would replace lanes that serve, no memory is an error. */
static int make_lane(const struct engine_setup *setup, struct generation *g, uint32_t number,
                     const struct place *at, struct lane **ret_lanes)
{
    int r = !g->n_engines ? -EINVAL : opening_is_cancelled(setup->base.opening) ? -EINTR : 0;

    for (uint32_t i = 0; r == 0 && i < g->n_engines; i++)
        r = make_part(setup, g->engine[i], number, at, &ret_lanes[i]);
    if (r < 0)
        return r;
    opening_say(setup->base.opening, "opening lane %s", ret_lanes[0]->s.stats->name);
    affinity_enter(setup->affinity, &at->at);
    r = worker_add(at->worker, ret_lanes);
    affinity_leave(setup->affinity);
    if (r < 0 && (!ret_lanes[0]->worker || (r == -ENOMEM && is_reload(g))))
        return r;
    if (r == 0)
        log_debug("engine", "lane opened", "lane=\"%s\" core=%d", ret_lanes[0]->s.stats->name,
                  at->at.unit);
    g->n_warm += r == 0 && at->device->warm_up;
    return 0;
}

static int grow(struct engine_step *s)
{
    struct lane **lanes = realloc(s->lane, (s->n_lanes + 1u) * sizeof(struct lane *));

    if (!lanes)
        return -ENOMEM;
    s->lane = lanes;
    return 0;
}

/* Adds one lane to a step. */
static int add_lane(const struct engine_setup *setup, struct generation *g, uint32_t number,
                    const struct place *at)
{
    struct lane *lanes[SHARDS_MAX] = {NULL};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < g->n_engines; i++)
        r = grow(&g->engine[i]->step[number]);
    if (r == 0)
        r = make_lane(setup, g, number, at, lanes);
    for (uint32_t i = 0; i < g->n_engines; i++) {
        struct engine_step *s = &g->engine[i]->step[number];

        if (lanes[i]) /* closed with the engine, whatever failed */
            s->lane[s->n_lanes++] = lanes[i];
        s->n_slots += at->slots;
    }
    return r;
}

static int say_missing(const struct config_device *d, uint32_t index, const char *step)
{
    if (d->required)
        log_error("engine", "a required device is not there", "device=%s:%u", d->backend, index);
    else
        log_info("engine", "a device is not there; the others serve", "device=%s:%u step=%s",
                 d->backend, index, step);
    return d->required ? -ENODEV : 0;
}

/* Opens the lanes of one step on one device of the config. */
static int open_on_device(const struct engine_setup *setup, struct generation *g, uint32_t number,
                          const struct config_device *d, uint32_t index)
{
    const uint32_t n = lanes_of(d, affinity_cores(setup->affinity));
    const bool is_cpu = !strcmp(d->backend, "cpu");
    struct whose whose = {.backend = d->backend, .index = index};
    char suffix[16];
    struct place at = {.device = d, .slots = d->slots, .suffix = suffix};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        if (is_cpu) {
            affinity_next_lane(setup->affinity, NULL, &at.at);
            whose.node = at.at.node;
        }
        r = worker_of(setup, g, &whose, &at.worker);
        if (r < 0)
            return say_no_room(setup, g, number, &whose, r);
        if (!at.worker)
            return say_missing(d, index, g->menu->steps[number].name);
        if (!is_cpu)
            affinity_next_lane(setup->affinity, worker_device(at.worker)->pci, &at.at);
        snprintf(suffix, sizeof suffix, "%u", i);
        r = say_no_room(setup, g, number, &whose, add_lane(setup, g, number, &at));
    }
    return r;
}

/* The lanes of one step on the device, or on all devices, of one entry of the config. */
static int open_on_devices(const struct engine_setup *setup, struct generation *g, uint32_t number,
                           const struct config_device *d)
{
    const uint32_t n = d->all ? devices_count(setup->devices, d->backend) : 0;
    int r = 0;

    if (!n) /* with `all` and none there: says that the first is missing */
        return open_on_device(setup, g, number, d, d->all ? 0 : d->index);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = open_on_device(setup, g, number, d, i);
    return r;
}

/* Adds a retry lane on a device, in a worker of its own; none where the device is not there. */
static int add_retry(const struct engine_setup *setup, struct generation *g, uint32_t number,
                     const struct config_device *d, uint32_t index)
{
    const struct whose whose = {.backend = d->backend, .index = index, .is_retry = true};
    struct place at = {.device = d, .slots = RETRY_SLOTS, .suffix = "retry"};
    struct lane *lanes[SHARDS_MAX] = {NULL};
    int r = worker_of(setup, g, &whose, &at.worker);

    if (r < 0 || !at.worker)
        return say_no_room(setup, g, number, &whose, r);
    affinity_next_lane(setup->affinity, worker_device(at.worker)->pci, &at.at);
    r = say_no_room(setup, g, number, &whose, make_lane(setup, g, number, &at, lanes));
    for (uint32_t i = 0; i < g->n_engines; i++) {
        struct engine_step *s = &g->engine[i]->step[number];

        if (!lanes[i])
            continue;
        lanes[i]->is_retry = true;
        s->retry[s->n_retries++] = lanes[i]; /* closed with the engine, whatever failed */
    }
    return r;
}

/* Adds them on the device, or on the devices, of one entry of the config, until there are `most`.
 */
static int add_retries(const struct engine_setup *setup, struct generation *g, uint32_t number,
                       const struct config_device *d, uint32_t most)
{
    const uint32_t first = d->all ? 0 : d->index;
    const uint32_t n = d->all ? devices_count(setup->devices, d->backend) : 1;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        if (g->engine[0]->step[number].n_retries < most)
            r = add_retry(setup, g, number, d, first + i);
    return r;
}

/* The lanes that run again what failed elsewhere: one on a CPU if the step may use one, since every
 * device gives the same answer and a CPU is not lost; else on the first devices that are there. */
static int open_retries(const struct engine_setup *setup, struct generation *g, uint32_t number)
{
    const struct config *c = setup->base.config;
    const struct engine_step *s = &g->engine[0]->step[number];
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < c->n_devices; i++)
        if (!strcmp(c->devices[i].backend, "cpu") && may_use(c, g->menu, number, "cpu"))
            r = add_retries(setup, g, number, &c->devices[i], 1);
    if (r < 0 || s->n_retries)
        return r;
    for (uint32_t i = 0; r == 0 && i < c->n_devices; i++)
        if (may_use(c, g->menu, number, c->devices[i].backend))
            r = add_retries(setup, g, number, &c->devices[i], ENGINE_RETRIES);
    return r;
}

static bool is_any_up(const struct engine_step *s)
{
    for (uint32_t i = 0; i < s->n_lanes; i++)
        if (s->lane[i]->is_up)
            return true;
    return false;
}

int engine_open_lanes(const struct engine_setup *setup, struct generation *g, uint32_t number)
{
    const struct config *c = setup->base.config;
    const struct menu_step *m = &g->menu->steps[number];
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < c->n_devices; i++)
        if (may_use(c, g->menu, number, c->devices[i].backend))
            r = open_on_devices(setup, g, number, &c->devices[i]);
    if (r < 0)
        return r;
    if (!is_any_up(&g->engine[0]->step[number])) {
        log_error("engine", "no device serves a step", "step=%s runs_on=\"%s\"", m->name,
                  m->plugin->d.backends);
        return -ENODEV;
    }
    return open_retries(setup, g, number);
}

/* ---------------------------------------------------------------- guests */

int engine_open_guests(const struct engine_setup *setup, struct generation *g)
{
    const struct config *c = setup->base.config;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < c->n_guests; i++) {
        const char *backend = c->guests[i].backend;
        const struct whose whose = {.backend = backend,
                                    .index = c->guests[i].index,
                                    .is_guest = engine_guest_is_alone(backend)};
        struct worker *worker;

        r = worker_of(setup, g, &whose, &worker);
    }
    return r;
}
