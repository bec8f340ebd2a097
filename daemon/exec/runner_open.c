/* SPDX-License-Identifier: Apache-2.0 */
/* runner_open.c - a runner's memory, algos and thread come and go. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/runner_inner.h"
#include "exec/stage.h"
#include "log.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------------- slots */

/* Pinned memory for an input: the arena's where the device takes that. */
static int open_staging(struct runner *l, uint32_t shard, uint32_t number, uint32_t k)
{
    const size_t bytes = runner_shape(l)->staged_bytes[k];
    struct trg_buffer **host = &l->host[shard][number][k];
    int r =
        trg_buffer_wrap(l->s.device, arena_staged(runner_arena(l, shard), number, k), bytes, host);

    if (r != -ENOTSUP)
        return r;
    l->is_copied = true;
    return trg_buffer_new(l->s.device, TRG_MEM_PINNED, bytes, host);
}

static int open_inputs(struct runner *l, uint32_t number)
{
    int r = 0;

    for (uint32_t k = 0; k < l->s.group->n_inputs; k++) {
        for (uint32_t i = 0; r == 0 && i < l->s.n_shards; i++)
            r = open_staging(l, i, number, k);
        if (r == 0 && !l->is_host)
            r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, runner_shape(l)->staged_bytes[k],
                               &l->slot[number].dev[k]);
    }
    if (r == 0 && l->fetched_bytes)
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, l->fetched_bytes, &l->slot[number].fetched);
    return r;
}

static int open_slot(struct runner *l, uint32_t number)
{
    struct runner_slot *slot = &l->slot[number];
    int r;

    slot->infos = calloc(runner_shape(l)->max_rois, sizeof *slot->infos);
    if (!slot->infos)
        return -ENOMEM;
    for (uint32_t m = 0; m < l->n_members; m++) {
        r = batch_open(&slot->part[m], number, slot->infos, runner_shape(l)->max_rois,
                       &l->member[m].plugin->d);
        if (r < 0)
            return r;
    }
    r = trg_ranked_queue_new(l->s.device, l->s.rank, &slot->queue);
    if (r < 0)
        return r;
    r = trg_mark_new(l->s.device, &slot->reached);
    if (r < 0)
        return r;
    r = open_inputs(l, number);
    return r < 0 ? r : runner_open_conditions(l, number);
}

/* ---------------------------------------------------------------- members */

/* The lane's input that holds what a member wants from the pool. */
static uint32_t staged_at(const struct runner *l, uint32_t kind, int32_t from, uint32_t product)
{
    uint32_t k = 0;

    while (l->s.group->input[k].kind != kind || l->s.group->input[k].from != from ||
           (from >= 0 && l->s.group->input[k].product != product))
        k++; /* the engine listed it */
    return k;
}

static void find_source(const struct runner *l, const struct runner_member *m, uint32_t k,
                        struct runner_source *source)
{
    const struct menu_step *step = &l->s.group->menu->steps[m->step];
    int32_t from = step->input[k];

    source->product = step->product[k];
    source->is_staged = from < 0 || l->s.group->menu->steps[from].head != l->s.group->step;
    if (source->is_staged) {
        source->at = staged_at(l, m->plugin->consumes[k], from, step->product[k]);
        return;
    }
    for (source->at = 0; l->member[source->at].step != (uint32_t)from;)
        source->at++;
}

/* Lets a member know in every slot where its input from another member will lie. */
static int take_over(struct runner *l, struct runner_member *m, uint32_t number, uint32_t k)
{
    const struct runner_member *from = &l->member[m->source[k].at];

    for (uint32_t i = 0; i < runner_shape(l)->slots; i++) {
        struct trg_input *in = &l->slot[i].part[number].in[k];
        int r = from->plugin->d.device_output(from->algo, i, m->source[k].product, in);

        if (r < 0)
            return r;
        in->collection = kind_info(m->plugin->consumes[k]);
        in->host = NULL;
        m->limits.max_items = larger(m->limits.max_items, in->span.n_items);
        m->limits.max_items_roi = larger(m->limits.max_items_roi, in->span.n_items);
    }
    return 0;
}

/* Creates a member's algo; those before it are there. */
static int open_member(struct runner *l, uint32_t number)
{
    struct runner_member *m = &l->member[number];
    int r;

    m->limits = (struct trg_limits){.size = sizeof m->limits,
                                    .slots = runner_shape(l)->slots,
                                    .max_rois = runner_shape(l)->max_rois};
    for (uint32_t k = 0; k < m->plugin->n_inputs; k++) {
        if (!m->source[k].is_staged) {
            r = take_over(l, m, number, k);
            if (r < 0)
                return r;
            continue;
        }
        const struct group_input *in = &l->s.group->input[m->source[k].at];

        m->limits.max_items = larger(m->limits.max_items, in->max_items);
        m->limits.max_items_roi = larger(m->limits.max_items_roi, in->max_items_roi);
    }
    return runner_answer(l, m->plugin, "create",
                         m->plugin->d.create(l->s.host, l->s.group->menu->steps[m->step].params,
                                             l->s.device, &m->limits, &m->algo));
}

static void find_members(struct runner *l)
{
    uint64_t left = l->s.group->menu->steps[l->s.group->step].members;

    for (; left; left &= left - 1) {
        struct runner_member *m = &l->member[l->n_members++];

        m->step = (uint32_t)__builtin_ctzll(left);
        m->plugin = l->s.group->menu->steps[m->step].plugin;
        for (uint32_t k = 0; k < m->plugin->n_inputs; k++)
            find_source(l, m, k, &m->source[k]);
    }
}

/* Whether kernels of the device read memory of the host. */
static bool reads_host(const struct runner *l)
{
    struct trg_buffer *window = NULL;
    const int r = trg_window_new(l->s.device, arena_staged(runner_arena(l, 0), 0, 0),
                                 runner_shape(l)->staged_bytes[0], &window);

    trg_buffer_free(window);
    return r == 0;
}

/* Inputs of which columns may be encoded. */
static uint32_t find_encoded(const struct runner *l)
{
    uint32_t encoded = 0;

    for (uint32_t k = 0; k < l->s.group->n_inputs; k++)
        encoded |= (uint32_t)(encoding_count(kind_info(l->s.group->input[k].kind)) > 0) << k;
    return encoded;
}

/* Room for what a slot fetches of an input. */
static uint64_t fetched_bytes(const struct runner *l)
{
    uint64_t most = 0;

    for (uint32_t left = l->pullable; left; left &= left - 1) {
        const uint32_t k = (uint32_t)__builtin_ctz(left);
        const uint64_t bytes =
            pull_fetched_bytes(l->s.group->input[k].kind, l->s.shard[0].memory->max_layer,
                               runner_shape(l)->max_rois, runner_shape(l)->staged_bytes[k]);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Finds the inputs that the device may gather itself, where it reads memory of the host: that of
 * clients, or what the front leaves in the arena. */
static int open_pull(struct runner *l)
{
    l->encoded = find_encoded(l);
    l->pullable = l->s.shard[0].memory->pieces ? (1u << l->s.group->n_inputs) - 1 : l->encoded;
    if (!l->pullable || l->is_host || !reads_host(l)) {
        l->pullable = 0;
        return 0;
    }
    for (uint32_t m = 0; m < l->n_members; m++) {
        const struct runner_member *member = &l->member[m];

        for (uint32_t k = 0; k < member->plugin->n_inputs; k++)
            if (member->source[k].is_staged &&
                !(member->plugin->d.flags & TRG_PLUGIN_DEVICE_COLUMNS))
                l->pullable &= ~(1u << member->source[k].at);
    }
    if (!l->pullable)
        return 0;
    if (trg_copies_parts(l->s.device))
        l->fetched_bytes = fetched_bytes(l);
    return pull_open(l->s.device, runner_shape(l)->max_rois, &l->pull);
}

/* Tells the front which inputs it may leave as they came: the device makes their floats, or there
 * is pinned memory for them beside the arena.  On a CPU the lanes have more to do than the front.
 */
static void tell_raw(struct runner *l)
{
    const uint32_t takes = l->is_copied ? l->encoded : l->encoded & l->pullable;

    for (uint32_t i = 0; i < l->s.n_shards; i++)
        inbox_tell_raw(&l->inbox[i], takes);
}

/* ---------------------------------------------------------------- the whole */

static int open_all(struct runner *l)
{
    struct trg_device_info info;
    int r = 0;

    trg_device_info(l->s.device, &info);
    l->is_host = info.is_host != 0;
    find_members(l);
    r = open_pull(l);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < l->s.n_shards; i++) {
        l->inbox[i].arena = runner_arena(l, i);
        l->in[i] = &arena_link(runner_arena(l, i))->in;
    }
    l->sources = calloc(runner_shape(l)->max_rois, sizeof *l->sources);
    l->guards = calloc(runner_shape(l)->max_rois, sizeof *l->guards);
    if (!l->sources || !l->guards)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < runner_shape(l)->slots; i++)
        r = open_slot(l, i);
    for (uint32_t i = 0; r == 0 && i < l->n_members; i++)
        r = open_member(l, i);
    if (r == 0 && l->s.warm_up)
        r = runner_warm(l);
    if (r < 0)
        return r;
    tell_raw(l);
    r = -pthread_create(&l->thread, NULL, runner_run, l);
    l->has_thread = r == 0;
    return r;
}

int runner_open(const struct runner_setup *setup, struct runner **ret_runner)
{
    struct runner *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->s = *setup;
    r = open_all(l);
    if (r < 0) {
        log_error("lane",
                  r == -ENOMEM ? "cannot open a lane; fewer lanes or slots, and smaller "
                                 "batching.max_rois and batching.max_kbytes need less memory"
                               : "cannot open a lane",
                  "lane=\"%s\" error=\"%s\"", setup->name, strerror(-r));
        runner_close(l);
        return r;
    }
    *ret_runner = l;
    return 0;
}

static void close_slot(struct runner_slot *slot)
{
    trg_queue_free(slot->queue);
    trg_event_free(slot->reached);
    trg_buffer_free(slot->fetched);
    for (uint32_t k = 0; k < ARENA_INPUTS_MAX; k++)
        trg_buffer_free(slot->dev[k]);
    for (uint32_t m = 0; m < ARENA_MEMBERS_MAX; m++)
        batch_close(&slot->part[m]);
    runner_close_conditions(slot);
    free(slot->infos);
}

void runner_close(struct runner *l)
{
    if (!l)
        return;
    if (l->has_thread) {
        atomic_store(&l->stop, true);
        for (uint32_t i = 0; i < l->s.n_shards; i++)
            ring_wake(l->in[i], &arena_link(runner_arena(l, 0))->bell);
        pthread_join(l->thread, NULL);
    }
    for (uint32_t m = l->n_members; m-- > 0;)
        if (l->member[m].algo)
            l->member[m].plugin->d.destroy(l->member[m].algo);
    for (uint32_t i = 0; i < runner_shape(l)->slots; i++)
        close_slot(&l->slot[i]);
    for (uint32_t i = 0; i < l->s.n_shards; i++)
        for (uint32_t n = 0; n < ARENA_SLOTS_MAX; n++)
            for (uint32_t k = 0; k < ARENA_INPUTS_MAX; k++)
                trg_buffer_free(l->host[i][n][k]);
    pull_close(&l->pull);
    free(l->sources);
    free(l->guards);
    free(l);
}
