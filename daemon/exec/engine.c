/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/engine.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notify.h"
#include "clock.h"
#include "log.h"

#define LANE_S 600u /* for one lane to open: a compiler may need minutes on a busy machine */

static const struct config_step *override_of(const struct config *c, const char *step)
{
    for (uint32_t i = 0; i < c->n_steps; i++)
        if (!strcmp(c->steps[i].step, step))
            return &c->steps[i];
    return NULL;
}

static bool runs_on(const struct plugin *p, const char *backend)
{
    const char *found = strstr(p->d.backends, backend);
    size_t n = strlen(backend);

    return found && (found[n] == '\0' || found[n] == ' ');
}

/* Whether all plugins of a group run on the backend and the config lets the step use it. */
static bool may_use(const struct menu *m, uint32_t step, const struct config_step *o,
                    const char *backend)
{
    for (uint64_t left = m->steps[step].members; left; left &= left - 1)
        if (!runs_on(m->steps[__builtin_ctzll(left)].plugin, backend))
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

/* Whether the daemon was told to stop: until its loop turns, nobody takes the signal. */
static bool is_told_to_stop(void)
{
    sigset_t set;

    return sigpending(&set) == 0 &&
           (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}

static int open_lane(const struct engine_setup *setup, struct engine *e, uint32_t number,
                     const struct config_device *d, struct trg_device *device, uint32_t copy)
{
    struct engine_step *s = &e->step[number];
    struct trg_device_info info;
    char name[STATS_NAME], core[32];
    struct lane_setup ls = {.pool = setup->pool,
                            .warm = d->warm_up ? s->warm.pool : NULL,
                            .menu = e->menu,
                            .step = number,
                            .device = device,
                            .host = setup->host,
                            .done_fd = setup->done_fd,
                            .done_sleeping = setup->done_sleeping,
                            .spin_ns = setup->spin_ns,
                            .inputs = s->input,
                            .n_inputs = s->n_inputs,
                            .slots = d->slots,
                            .max_rois = s->batching.max_rois};
    int r;

    if (s->n_lanes == ENGINE_LANES_MAX) {
        log_error("engine", "a step has too many lanes", "step=%s most=%u",
                  e->menu->steps[number].name, ENGINE_LANES_MAX);
        return -EINVAL;
    }
    if (is_told_to_stop())
        return -EINTR;
    trg_device_info(device, &info);
    snprintf(name, sizeof name, "%.40s@%s:%u/%u", e->menu->steps[number].name, info.backend,
             info.index, copy);
    ls.stats = stats_lane_get(setup->stats, name, info.name, d->slots);
    if (!ls.stats) {
        log_error("engine", "too many lanes", "most=%u", STATS_LANES_MAX);
        return -EINVAL;
    }
    ls.latency = &ls.stats->latency;
    notify_starting(LANE_S);
    affinity_enter_lane(setup->affinity, info.pci, core, sizeof core);
    r = lane_open(&ls, &s->lane[s->n_lanes]);
    affinity_leave(setup->affinity);
    if (r < 0)
        return r;
    log_debug("engine", "lane opened", "lane=\"%s\" core=%s", name, core[0] ? core : "any");
    s->n_lanes++;
    s->n_slots += d->slots;
    e->n_warm += ls.warm != NULL;
    return 0;
}

/* Opens the lanes of one step on one device of the config. */
static int open_on_device(const struct engine_setup *setup, struct engine *e, uint32_t number,
                          const struct config_device *d, uint32_t index)
{
    uint32_t n = d->lanes ? d->lanes : cores();
    struct trg_device *device;
    int r = backends_device(setup->backends, d->backend, index, &device);

    if (r < 0) {
        if (d->required)
            log_error("engine", "a required device is not there", "device=%s:%u", d->backend,
                      index);
        else
            log_info("engine", "a device is not there; the others serve", "device=%s:%u step=%s",
                     d->backend, index, e->menu->steps[number].name);
        return d->required ? r : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        r = open_lane(setup, e, number, d, device, i);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The lanes of one step on the device, or on all devices, of one entry of the config. */
static int open_on_devices(const struct engine_setup *setup, struct engine *e, uint32_t number,
                           const struct config_device *d)
{
    uint32_t n = d->all ? backends_devices(setup->backends, d->backend) : 0;
    int r = 0;

    if (!n) /* with `all` and none there: says that the first is missing */
        return open_on_device(setup, e, number, d, d->all ? 0 : d->index);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = open_on_device(setup, e, number, d, i);
    return r;
}

/* ---------------------------------------------------------------- inputs of a group */

/* The most items of an input in one RoI, where RoIs hold at most `limit` of a collection. */
static uint32_t most_in(const struct menu *m, uint32_t step, uint32_t k, uint32_t limit)
{
    const struct menu_step *s = &m->steps[step];
    uint32_t n_in[TRG_INPUTS_MAX] = {0}, n_out[TRG_OUTPUTS_MAX] = {0};
    int32_t from = s->input[k];

    if (from < 0)
        return limit;
    for (uint32_t i = 0; i < m->steps[from].plugin->n_inputs; i++)
        n_in[i] = most_in(m, (uint32_t)from, i, limit);
    m->steps[from].plugin->d.output_items(m->steps[from].params, n_in, n_out);
    return n_out[s->product[k]];
}

static bool has_input(const struct engine_step *s, const struct lane_input *in)
{
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->input[i].kind == in->kind && s->input[i].from == in->from &&
            s->input[i].product == in->product)
            return true;
    return false;
}

/* Lists what must be gathered for a group: all inputs that no step of the group makes. */
static void list_inputs(const struct engine_setup *setup, const struct menu *m, uint32_t head,
                        struct engine_step *s)
{
    for (uint64_t left = m->steps[head].members; left; left &= left - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(left);
        const struct menu_step *step = &m->steps[number];

        for (uint32_t k = 0; k < step->plugin->n_inputs; k++) {
            struct lane_input in = {.kind = step->plugin->d.consumes[k],
                                    .from = step->input[k],
                                    .product = step->product[k]};
            size_t item = trg_item_size(in.kind);
            uint64_t room = item ? (uint64_t)s->batching.max_kbytes * 1024 / item : 0;

            if ((in.from >= 0 && m->steps[in.from].head == head) || has_input(s, &in))
                continue;
            in.max_items_roi = most_in(m, number, k, setup->config->clients.max_items);
            in.max_items = room > in.max_items_roi ? (uint32_t)room : in.max_items_roi;
            s->input[s->n_inputs++] = in;
            if (in.from < 0)
                s->gathers |= 1u << in.kind;
        }
    }
}

/* ---------------------------------------------------------------- steps */

static int open_step(const struct engine_setup *setup, struct engine *e, uint32_t number)
{
    const struct config *c = setup->config;
    const struct menu_step *m = &e->menu->steps[number];
    const struct config_step *o = override_of(c, m->name);
    struct engine_step *s = &e->step[number];
    int r;

    s->stats = stats_step_get(setup->stats, m->name, m->plugin->d.name);
    if (!s->stats) {
        log_error("engine", "too many steps were seen since the start", "most=%u", STATS_STEPS_MAX);
        return -EINVAL;
    }
    if (m->head != number)
        return 0; /* it runs in the lanes of its head */
    s->batching = o && o->batching ? *o->batching : c->batching;
    list_inputs(setup, e->menu, number, s);
    s->queue = calloc(e->capacity, sizeof *s->queue);
    if (!s->queue)
        return -ENOMEM;
    r = warm_open(e->menu, s->input, s->n_inputs, c->clients.max_layer, &s->warm);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < c->n_devices; i++) {
        if (!may_use(e->menu, number, o, c->devices[i].backend))
            continue;
        r = open_on_devices(setup, e, number, &c->devices[i]);
        if (r < 0)
            return r;
    }
    warm_close(&s->warm);
    if (!s->n_lanes) {
        log_error("engine", "no device serves a step", "step=%s runs_on=\"%s\"", m->name,
                  m->plugin->d.backends);
        return -ENODEV;
    }
    return 0;
}

int engine_check_steps(const struct config *config, const struct menu *menu)
{
    int r = 0;

    for (uint32_t i = 0; i < config->n_steps; i++) {
        const char *name = config->steps[i].step;
        uint32_t k = 0;

        while (k < menu->n_steps && strcmp(menu->steps[k].name, name) != 0)
            k++;
        if (k < menu->n_steps && menu->steps[k].head == k)
            continue;
        if (k == menu->n_steps)
            log_error("config", "steps[].step names no step of the menu", "step=\"%s\" menu=\"%s\"",
                      name, config->menu);
        else
            log_error("config", "steps[].step has no batches of its own: it runs in another's",
                      "step=\"%s\" runs_with=%s", name, menu->steps[menu->steps[k].head].name);
        r = -EINVAL;
    }
    return r;
}

static int open_all(const struct engine_setup *setup, struct engine *e)
{
    int r = menu_load(setup->config->menu, setup->plugins, &e->menu);

    if (r == 0)
        r = engine_check_steps(setup->config, e->menu);
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
    const uint64_t from = clock_ns();
    uint32_t n_lanes = 0;
    int r;

    if (!e)
        return -ENOMEM;
    e->generation = generation;
    r = open_all(setup, e);
    if (r < 0) {
        engine_close(e);
        return r;
    }
    for (uint32_t i = 0; i < e->menu->n_steps; i++)
        n_lanes += e->step[i].n_lanes;
    log_info("engine", "lanes are open", "lanes=%u warm=%u ms=%llu", n_lanes, e->n_warm,
             (unsigned long long)((clock_ns() - from) / NS_PER_MS));
    *ret_engine = e;
    return 0;
}

void engine_close(struct engine *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++) {
        for (uint32_t k = 0; k < e->step[i].n_lanes; k++)
            lane_close(e->step[i].lane[k]);
        warm_close(&e->step[i].warm);
        free(e->step[i].queue);
    }
    menu_free(e->menu);
    free(e);
}
