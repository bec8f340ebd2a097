/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/openfiles.h"
#include "clock.h"
#include "log.h"

#define OTHER_FILES   2048u         /* of clients, streams and workers */
#define PRODUCT_BYTES (64ull << 20) /* of one slot, unless one RoI needs more */

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
    room_items(&m->steps[from].room, n_in, n_out);
    return n_out[s->product[k]];
}

static bool has_input(const struct group *g, const struct group_input *in)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->input[i].kind == in->kind && g->input[i].from == in->from &&
            g->input[i].product == in->product)
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
            struct group_input in = {.kind = step->plugin->consumes[k],
                                     .from = step->input[k],
                                     .product = step->product[k],
                                     .user = number,
                                     .at = k};
            size_t item = kind_item_size(in.kind);
            uint64_t room = item ? (uint64_t)s->batching.max_kbytes * 1024 / item : 0;

            if ((in.from >= 0 && m->steps[in.from].head == head) || has_input(&s->group, &in))
                continue;
            in.max_items_roi = most_in(m, number, k, setup->base.config->clients.max_items);
            in.max_items = room > in.max_items_roi ? (uint32_t)room : in.max_items_roi;
            s->group.input[s->group.n_inputs++] = in;
            if (in.from < 0)
                s->gathers |= 1u << in.kind;
        }
    }
}

/* Room for what the steps of a group make for others, in one batch: of any one RoI, and of as many
 * as fit. */
static uint64_t room_for_products(const struct engine_setup *setup, const struct menu *m,
                                  uint32_t head, uint32_t max_rois)
{
    const uint32_t limit = setup->base.config->clients.max_items;
    uint64_t one = 0;

    for (uint64_t left = m->steps[head].members; left; left &= left - 1) {
        const struct menu_step *s = &m->steps[__builtin_ctzll(left)];
        uint32_t n_in[TRG_INPUTS_MAX] = {0}, n_out[TRG_OUTPUTS_MAX] = {0};

        if (!s->wanted)
            continue;
        for (uint32_t k = 0; k < s->plugin->n_inputs; k++)
            n_in[k] = most_in(m, (uint32_t)__builtin_ctzll(left), k, limit);
        room_items(&s->room, n_in, n_out);
        for (uint32_t k = 0; k < s->plugin->n_outputs; k++)
            if (s->wanted >> k & 1)
                one += arena_product_bytes(s->plugin->produces[k], n_out[k]);
    }
    return one * max_rois < PRODUCT_BYTES ? one * max_rois
           : one > PRODUCT_BYTES          ? one
                                          : PRODUCT_BYTES;
}

/* ---------------------------------------------------------------- steps */

/* Room for the RoIs that wait, in a queue for each priority that there is. */
static int make_queues(struct engine_step *s, uint32_t capacity, uint32_t priorities)
{
    s->capacity = capacity;
    s->place = calloc(capacity, sizeof *s->place);
    for (uint32_t c = 0; c < MENU_PRIORITIES; c++) {
        if (!(priorities >> c & 1))
            continue;
        s->queue[c].entry = calloc(ENGINE_QUEUE((size_t)capacity), sizeof *s->queue[c].entry);
        if (!s->queue[c].entry)
            return -ENOMEM;
    }
    return s->place ? 0 : -ENOMEM;
}

static int plan_step(const struct engine_setup *setup, struct engine *e, uint32_t number)
{
    const struct config *c = setup->base.config;
    const struct menu_step *m = &e->menu->steps[number];
    const struct config_step *o = config_find_step(c, m->name);
    struct engine_step *s = &e->step[number];

    s->stats = stats_step_get(setup->base.shard[e->shard].stats, m->name, m->plugin->d.name);
    if (!s->stats) {
        log_error("engine", "menus that are still in use have too many steps", "most=%u",
                  STATS_STEPS_MAX);
        return -EINVAL;
    }
    if (m->head != number)
        return 0; /* it runs in the lanes of its head */
    s->batching = o && o->batching ? *o->batching : c->batching;
    s->group = (struct group){.menu = e->menu, .step = number};
    list_inputs(setup, e->menu, number, s);
    if (group_list_conditions(&s->group) < 0) {
        log_error("engine", "the steps of a batch need too many conditions", "step=\"%s\" most=%u",
                  m->name, ARENA_CONDITIONS_MAX);
        return -EINVAL;
    }
    s->product_bytes = room_for_products(setup, e->menu, number, s->batching.max_rois);
    return make_queues(s, setup->base.shard[e->shard].pool->n_rois,
                       e->menu->plan->priorities[number]);
}

/* The conditions in force now, with which lanes are warmed up. */
static int take_conditions(const struct engine_setup *setup, struct generation *g)
{
    struct lumi newest, from;
    const char *lacking;

    change_book_state(setup->book, &newest, &from);
    change_book_fill(setup->book, newest, g->menu, NULL, &g->conditions);
    lacking = conditions_lacking(&g->conditions, g->menu);
    if (!lacking)
        return 0;
    log_error("engine",
              "a plugin of the menu needs a condition that is not given: name a file with "
              "it as `conditions`, or load one",
              "condition=%s", lacking);
    return -EINVAL;
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

static void bind_stream(struct menu *m, uint32_t stream, uint32_t place)
{
    m->streams[stream].files = 1 + place;
    m->filed |= 1ull << stream;
}

int engine_bind_streams(const struct config *config, struct menu *menu)
{
    int r = 0;

    for (uint32_t i = 0; i < config->n_streams; i++) {
        const char *name = config->streams[i].stream;
        uint32_t k = 0;

        while (k < menu->n_streams && strcmp(menu->streams[k].name, name) != 0)
            k++;
        if (k < menu->n_streams) {
            bind_stream(menu, k, i);
            continue;
        }
        log_error("config", "streams[].stream names no stream of the menu",
                  "stream=\"%s\" menu=\"%s\"", name, config->menu);
        r = -EINVAL;
    }
    if (config->debug_stream.folder[0])
        bind_stream(menu, menu->debug_stream, config->n_streams);
    return r;
}

/* Makes the engine of one shard, without lanes. */
static int make_engine(const struct engine_setup *setup, struct generation *g, uint32_t shard)
{
    struct engine *e = calloc(1, sizeof *e);
    int r = 0;

    if (!e)
        return -ENOMEM;
    g->engine[g->n_engines++] = e;
    e->of = g;
    e->shard = shard;
    e->menu = g->menu;
    e->generation = g->number;
    e->steps_bytes = pool_align(e->menu->n_steps * sizeof(struct roi_step));
    e->chains_bytes = pool_align(chains_bytes(e->menu->plan));
    for (uint32_t i = 0; i < e->menu->n_chains; i++) {
        e->chain[i] = stats_chain_get(setup->base.shard[shard].stats, e->menu->chains[i].name);
        if (!e->chain[i]) {
            log_error("engine", "menus that are still in use have too many chains", "most=%u",
                      STATS_CHAINS_MAX);
            return -EINVAL;
        }
    }
    for (uint32_t i = 0; r == 0 && i < e->menu->n_steps; i++)
        r = plan_step(setup, e, i);
    return r;
}

/* Each lane has a file of its own in each shard, those of the generation before are still there. */
static void allow_files(const struct engine_setup *setup, const struct menu *menu)
{
    const uint32_t lanes = engine_count_lanes(setup->base.config, menu,
                                              affinity_cores(setup->affinity), setup->devices);

    openfiles_allow("engine", OTHER_FILES + 2 * (rlim_t)lanes * setup->base.n_shards);
}

static int open_all(const struct engine_setup *setup, struct generation *g)
{
    int r = menu_load(setup->base.config->menu, setup->plugins, &g->menu);

    if (r == 0)
        r = conditions_load(g->menu, setup->base.config->conditions, setup->plugins);
    if (r == 0)
        r = take_conditions(setup, g);
    if (r == 0)
        r = engine_check_steps(setup->base.config, g->menu);
    if (r == 0)
        r = engine_bind_streams(setup->base.config, g->menu);
    if (r == 0)
        r = engine_check_lanes(setup->base.config, g->menu, affinity_cores(setup->affinity),
                               setup->devices);
    if (r == 0)
        allow_files(setup, g->menu);
    for (uint32_t i = 0; r == 0 && i < setup->base.n_shards; i++)
        r = make_engine(setup, g, i);
    for (uint32_t i = 0; r == 0 && i < g->menu->n_steps; i++)
        if (g->menu->steps[i].head == i)
            r = engine_open_lanes(setup, g, i);
    if (r == 0)
        r = engine_open_guests(setup, g);
    for (uint32_t i = 0; r == 0 && i < g->n_workers; i++)
        if (g->worker[i].worker)
            r = worker_watch(g->worker[i].worker);
    return r;
}

static void close_lane(struct lane *l)
{
    struct stats_lane *stats = l->s.stats;

    lane_close(l);
    stats_lane_put(stats);
}

static void close_engine(struct engine *e)
{
    for (uint32_t i = 0; i < MENU_CHAINS_MAX; i++)
        if (e->chain[i])
            stats_chain_put(e->chain[i]);
    for (uint32_t i = 0; i < MENU_STEPS_MAX; i++) {
        if (e->step[i].stats)
            stats_step_put(e->step[i].stats);
        for (uint32_t k = 0; k < e->step[i].n_lanes; k++)
            close_lane(e->step[i].lane[k]);
        for (uint32_t k = 0; k < e->step[i].n_retries; k++)
            close_lane(e->step[i].retry[k]);
        free(e->step[i].lane);
        for (uint32_t c = 0; c < MENU_PRIORITIES; c++)
            free(e->step[i].queue[c].entry);
        free(e->step[i].place);
    }
    free(e);
}

/* No engine of it is in use. */
static void generation_close(struct generation *g)
{
    for (uint32_t i = 0; i < g->n_workers; i++)
        worker_close(g->worker[i].worker);
    for (uint32_t i = 0; i < g->n_engines; i++)
        close_engine(g->engine[i]);
    conditions_drop(&g->conditions);
    menu_free(g->menu);
    free(g);
}

int generation_open(const struct engine_setup *setup, uint32_t number,
                    struct generation **ret_generation)
{
    struct generation *g = calloc(1, sizeof *g);
    const uint64_t from = clock_ns();
    uint32_t n_lanes = 0;
    int r;

    if (!g)
        return -ENOMEM;
    g->number = number;
    r = open_all(setup, g);
    if (r < 0) {
        generation_close(g);
        return r;
    }
    for (uint32_t i = 0; i < g->menu->n_steps; i++)
        n_lanes += g->engine[0]->step[i].n_lanes;
    atomic_store(&g->n_left, g->n_engines);
    log_info("engine", "lanes are open", "lanes=%u warm=%u ms=%llu", n_lanes, g->n_warm,
             (unsigned long long)((clock_ns() - from) / NS_PER_MS));
    *ret_generation = g;
    return 0;
}

void engine_leave(struct engine *e)
{
    if (atomic_fetch_sub(&e->of->n_left, 1) == 1)
        generation_close(e->of);
}
