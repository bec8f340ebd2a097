/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "exec/gather.h"
#include "exec/worker.h"
#include "log.h"

#define FORGET    0.95 /* weight that a batch keeps when the next one comes */
#define OUTLIER   8.0  /* times what is expected, that a batch counts as at most */
#define DOUBT_MAX 16u  /* seconds after which nothing is left of what was known */

static void find_members(struct lane *l)
{
    const struct menu *menu = l->s.group->menu;

    for (uint64_t left = menu->steps[l->s.group->step].members; left; left &= left - 1) {
        struct lane_member *m = &l->member[l->n_members++];

        m->step = (uint32_t)__builtin_ctzll(left);
        m->plugin = menu->steps[m->step].plugin;
        l->has_products |= menu->steps[m->step].wanted != 0;
    }
}

/* The parts of a batch are looked up once: there are many RoIs. */
static void find_parts(struct lane *l, uint32_t slot)
{
    struct lane_view *v = &l->view[slot];

    v->infos = arena_infos(&l->arena, slot);
    v->faults = arena_faults(&l->arena, slot);
    for (uint32_t k = 0; k < l->s.group->n_inputs; k++)
        v->sources[k] = arena_sources(&l->arena, slot, k);
    for (uint32_t m = 0; m < l->n_members; m++)
        v->results[m] = arena_results(&l->arena, slot, m);
}

static int open_batch(const struct lane *l, struct lane_batch *b)
{
    const uint32_t n = l->s.max_rois;

    b->roi = calloc(n, sizeof *b->roi);
    b->fault = calloc(n, sizeof *b->fault);
    b->guard = calloc(n, sizeof *b->guard);
    for (uint32_t k = 0; k < l->s.group->n_inputs; k++) {
        b->source[k] = calloc(n, sizeof *b->source[k]);
        if (!b->source[k])
            return -ENOMEM;
    }
    return b->roi && b->fault && b->guard ? 0 : -ENOMEM;
}

static void close_batch(struct lane_batch *b)
{
    free(b->roi);
    free(b->fault);
    free(b->guard);
    for (uint32_t k = 0; k < ARENA_INPUTS_MAX; k++)
        free(b->source[k]);
}

int lane_open(const struct lane_setup *setup, struct lane **ret_lane)
{
    struct lane *l = aligned_alloc(_Alignof(struct lane), sizeof *l);
    struct arena_shape shape;
    int r;

    if (!l)
        return -ENOMEM;
    memset(l, 0, sizeof *l);
    l->s = *setup;
    l->fd = -1;
    l->sequence = clock_ns(); /* unlike what is written over an arena by mistake */
    pthread_mutex_init(&l->order, NULL);
    find_members(l);
    group_shape(setup->group, setup->slots, setup->max_rois, setup->product_bytes, &shape);
    r = arena_file(&shape, &l->fd);
    if (r == 0)
        r = arena_map(&shape, l->fd, &l->arena);
    for (uint32_t i = 0; r == 0 && i < setup->slots; i++) {
        find_parts(l, i);
        r = open_batch(l, &l->batch[i]);
    }
    if (r < 0) {
        lane_close(l);
        return r;
    }
    *ret_lane = l;
    return 0;
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < ARENA_SLOTS_MAX; i++) {
        gather_await(l, i);
        close_batch(&l->batch[i]);
    }
    arena_unmap(&l->arena);
    if (l->fd >= 0)
        close(l->fd);
    pthread_mutex_destroy(&l->order);
    free(l);
}

/* ---------------------------------------------------------------- a batch out */

static uint32_t next_slot(const struct lane *l)
{
    return (l->first + l->taken) % l->s.slots;
}

bool lane_has_room(const struct lane *l)
{
    return l->is_up && l->taken < l->s.slots;
}

void lane_begin(struct lane *l)
{
    struct lane_batch *b = &l->batch[next_slot(l)];

    b->n = 0;
    b->items = 0;
    b->is_gathered_here = false;
    b->raw = 0;
    l->product_used = 0;
    for (uint32_t k = 0; k < l->s.group->n_inputs; k++)
        l->room[k] = l->s.group->input[k].max_items;
}

static uint64_t product_bytes(const struct lane *l, const struct roi *r)
{
    uint64_t bytes = 0;

    for (uint32_t m = 0; m < l->n_members; m++)
        for (uint32_t k = 0; k < l->member[m].plugin->n_outputs; k++)
            bytes += arena_product_bytes(
                l->member[m].plugin->produces[k],
                pool_steps(l->s.pool, r)[l->member[m].step].product[k].capacity);
    return bytes;
}

static void describe(const struct lane *l, const struct roi *r, const struct roi_collection *c,
                     bool is_of_client, struct arena_source *source)
{
    source->at = c->at;
    source->place = ARENA_POOL;
    source->capacity = c->capacity;
    source->n = c->n;
    source->region = is_of_client ? r->region : 0;
    source->epoch = source->region ? shm_window_region(l->s.regions, source->region)->epoch : 0;
    source->is_encoded = c->is_encoded;
    source->encodings = r->encodings + c->first * sizeof(struct trg_encoding);
}

/* Says where the runner may write the products of RoI number `i`. */
static void place_products(struct lane *l, const struct roi *r, uint32_t slot, uint32_t i)
{
    for (uint32_t m = 0; m < l->n_members; m++) {
        const struct plugin *p = l->member[m].plugin;

        for (uint32_t k = 0; k < p->n_outputs; k++) {
            const uint32_t capacity =
                pool_steps(l->s.pool, r)[l->member[m].step].product[k].capacity;

            arena_outputs(&l->arena, slot, m, k)[i] =
                (struct arena_output){.at = l->product_used, .capacity = capacity};
            l->product_used += arena_product_bytes(p->produces[k], capacity);
        }
    }
}

bool lane_put(struct lane *l, uint32_t roi)
{
    const struct roi *r = &l->s.pool->rois[roi];
    const struct group *g = l->s.group;
    const uint32_t slot = next_slot(l);
    const struct roi_collection *c[ARENA_INPUTS_MAX];
    struct lane_batch *b = &l->batch[slot];

    if (b->n == l->s.max_rois || (g->n_conditions && b->n && b->conditions != r->conditions_key) ||
        (l->has_products && l->product_used + product_bytes(l, r) > l->s.product_bytes))
        return false;
    for (uint32_t k = 0; k < g->n_inputs; k++) {
        c[k] = lane_collection(l->s.pool, r, &g->input[k]);
        if (c[k]->n > l->room[k])
            return false;
    }
    if (r->region && worker_share(l->worker, l->s.shard, r->region) < 0)
        return false;
    if (g->n_conditions && b->conditions != r->conditions_key)
        lane_put_conditions(l, slot, r->conditions);
    for (uint32_t k = 0; k < g->n_inputs; k++) {
        l->room[k] -= c[k]->n;
        b->is_gathered_here |= c[k]->is_table;
        describe(l, r, c[k], g->input[k].from < 0, &l->view[slot].sources[k][b->n]);
    }
    b->items += g->n_inputs ? c[0]->n : 0;
    l->view[slot].infos[b->n] = r->info;
    if (l->has_products)
        place_products(l, r, slot, b->n);
    b->roi[b->n++] = roi;
    return true;
}

uint32_t lane_filled(const struct lane *l)
{
    return l->batch[next_slot(l)].n;
}

bool lane_is_known(const struct lane *l)
{
    return l->s.cost->n >= 1;
}

static double of_line(const struct lane_cost *c, double items)
{
    const double line = c->base_ns + c->item_ns * items;

    return line > c->least_ns ? line : c->least_ns;
}

/* What a batch of so many items takes, as far as is known.  What is known of a device that was not
 * used for seconds is worth less with each: it may have been a bad moment. */
static uint64_t cost_of(const struct lane *l, uint64_t items, uint64_t now_ns)
{
    const struct lane_cost *c = l->s.cost;
    const uint64_t idle_s = now_ns > c->used_ns ? (now_ns - c->used_ns) / NS_PER_S : 0;

    if (!lane_is_known(l))
        return *l->s.guess_ns;
    return (uint64_t)of_line(c, (double)items) >> (idle_s < DOUBT_MAX ? idle_s : DOUBT_MAX);
}

/* A batch more, or less, in flight; the other shards see it. */
static void add_load(struct lane *l, int64_t ns, int n)
{
    const uint64_t before = atomic_load_explicit(&l->load.expected_ns, memory_order_relaxed);

    l->taken += (uint32_t)n;
    atomic_fetch_add_explicit(n > 0 ? &l->load.submitted : &l->load.returned, 1,
                              memory_order_relaxed);
    atomic_store_explicit(&l->load.expected_ns, before + (uint64_t)ns, memory_order_relaxed);
    if (l->s.gate)
        guest_gate_add(l->s.gate, n);
}

void lane_submit(struct lane *l, uint64_t now_ns)
{
    const uint32_t slot = next_slot(l);
    struct arena_batch *b = arena_batch(&l->arena, slot);

    l->batch[slot].sequence = ++l->sequence;
    *b = (struct arena_batch){.n = l->batch[slot].n, .sequence = l->sequence};
    l->batch[slot].closed_ns = now_ns;
    l->batch[slot].expected_ns = cost_of(l, l->batch[slot].items, now_ns);
    add_load(l, (int64_t)l->batch[slot].expected_ns, 1);
    l->s.cost->used_ns = l->given_ns = now_ns;
    if (l->taken == 1)
        l->oldest_ns = now_ns;
    stats_set(&l->s.stats->in_flight, l->taken);
    atomic_store_explicit(&l->batch[slot].is_ahead, true, memory_order_relaxed);
    if (l->batch[slot].is_gathered_here)
        gather_batch(l, slot);
    else
        gather_pass(l, slot);
}

/* ---------------------------------------------------------------- a batch back */

static void look_at_oldest(const struct lane *l, struct lane_done *done)
{
    const struct lane_batch *mine = &l->batch[l->first];

    *done = (struct lane_done){.n = mine->n, .roi = mine->roi, .closed_ns = mine->closed_ns};
}

static uint64_t between(uint64_t least, uint64_t v, uint64_t most)
{
    return v < least ? least : v > most ? most : v;
}

bool lane_finished(struct lane *l, struct lane_done *ret_done)
{
    const struct arena_batch *b = arena_batch(&l->arena, l->first);
    uint64_t now;
    int error;

    if (!l->taken ||
        atomic_load_explicit(&b->done, memory_order_acquire) != l->batch[l->first].sequence ||
        atomic_load_explicit(&l->batch[l->first].is_ahead, memory_order_acquire))
        return false;
    now = clock_ns();
    look_at_oldest(l, ret_done);
    error = b->error;
    ret_done->error = error < 0 ? error : 0;
    ret_done->is_lost = ret_done->error == -ENODEV && b->is_lost;
    ret_done->begun_ns = between(ret_done->closed_ns, b->begun_ns, now);
    ret_done->ended_ns = between(ret_done->begun_ns, b->ended_ns, now);
    return true;
}

bool lane_orphan(struct lane *l, struct lane_done *ret_done)
{
    if (!l->taken)
        return false;
    gather_await(l, l->first);
    look_at_oldest(l, ret_done);
    ret_done->error = -EOWNERDEAD;
    ret_done->begun_ns = ret_done->ended_ns = ret_done->closed_ns;
    return true;
}

/* Copies one product from the arena to the RoI's block.  `out` is what the arena says now. */
static int take_product(struct lane *l, uint32_t kind, struct arena_output out,
                        struct roi_collection *c)
{
    const struct trg_collection *info = kind_info(kind);
    const unsigned char *from = arena_products(&l->arena, l->first) + out.at;
    const uint32_t n = out.n;

    if (!c->capacity) /* not wanted */
        return 0;
    if (n > c->capacity || out.at > l->s.product_bytes ||
        arena_product_bytes(kind, c->capacity) > l->s.product_bytes - out.at)
        return -EBADMSG;
    for (uint32_t k = 0; k < info->n_columns; k++)
        memcpy(pool_column(l->s.pool, kind, c, k), from + arena_column_at(kind, c->capacity, k),
               (size_t)n * trg_column_bytes(&info->column[k]));
    c->n = n;
    c->is_there = true;
    return 0;
}

static int take_products(struct lane *l, struct roi *r, uint32_t i, uint32_t m)
{
    const struct plugin *p = l->member[m].plugin;
    struct roi_step *to = &pool_steps(l->s.pool, r)[l->member[m].step];

    for (uint32_t k = 0; k < p->n_outputs; k++)
        if (take_product(l, p->produces[k], arena_outputs(&l->arena, l->first, m, k)[i],
                         &to->product[k]) < 0)
            return -EBADMSG;
    return 0;
}

static int take_member(struct lane *l, struct roi *r, uint32_t i, uint32_t m)
{
    struct roi_step *to = &pool_steps(l->s.pool, r)[l->member[m].step];

    to->result = l->view[l->first].results[m][i];
    if (to->result.status > TRG_FAILED)
        return -EBADMSG;
    return l->has_products ? take_products(l, r, i, m) : 0;
}

/* Whether a value was found that is not allowed while the batch was gathered. */
static bool is_refused(const struct lane *l, uint32_t i)
{
    const struct lane_batch *b = &l->batch[l->first];

    if (b->is_gathered_here && b->fault[i].code)
        return true;
    return (b->raw || !b->is_gathered_here) && l->view[l->first].faults[i].code;
}

int lane_take(struct lane *l, uint32_t i)
{
    struct roi *r = &l->s.pool->rois[l->batch[l->first].roi[i]];
    int error = (r->region || r->unseen) && is_refused(l, i) ? -ERANGE : 0;

    for (uint32_t m = 0; !error && m < l->n_members; m++)
        error = take_member(l, r, i, m);
    if (error == -EBADMSG)
        log_warn("lane", "a plugin claims what cannot be", "lane=\"%s\" run=%u l1id=%u roi=%u",
                 l->s.stats->name, r->info.run, r->info.l1id, r->info.roi_id);
    return error;
}

/* One batch that took far longer than expected says little of the next: where many do, each of them
 * moves the line. */
static void add_cost(struct lane_cost *c, double items, double ns)
{
    double spread, slope;

    if (c->n >= 1 && ns > OUTLIER * of_line(c, items))
        ns = OUTLIER * of_line(c, items);
    c->n = c->n * FORGET + 1;
    c->items = c->items * FORGET + items;
    c->ns = c->ns * FORGET + ns;
    c->items2 = c->items2 * FORGET + items * items;
    c->items_ns = c->items_ns * FORGET + items * ns;
    spread = c->items2 * c->n - c->items * c->items;
    slope = spread > 1 ? (c->items_ns * c->n - c->items * c->ns) / spread : 0;
    c->item_ns = slope > 0 ? slope : 0;
    c->base_ns = (c->ns - c->item_ns * c->items) / c->n;
    c->least_ns = c->ns / c->n / 4;
}

/* Counts a batch and keeps the line of cost. */
static void learn(struct lane *l, const struct lane_batch *mine, uint64_t ns, bool is_good)
{
    stats_add(&l->s.stats->batches, 1);
    stats_add(&l->s.stats->rois, mine->n);
    stats_add(&l->s.stats->items, mine->items);
    stats_add(&l->s.stats->busy_ns, ns);
    latency_add(&l->s.stats->latency, ns);
    if (!is_good) {
        stats_add(&l->s.stats->failed_batches, 1);
        l->failures++;
        return;
    }
    l->failures = 0;
    add_cost(l->s.cost, (double)mine->items, (double)ns);
    l->s.cost->used_ns = clock_ns();
}

void lane_release(struct lane *l, const struct lane_done *done)
{
    learn(l, &l->batch[l->first], done->ended_ns - done->begun_ns, done->error == 0);
    if (arena_batch(&l->arena, l->first)->is_overlapped)
        stats_add(&l->s.stats->overlapped, 1);
    if (arena_batch(&l->arena, l->first)->is_pulled)
        stats_add(&l->s.stats->pulled, 1);
    add_load(l, -(int64_t)l->batch[l->first].expected_ns, -1);
    l->first = (l->first + 1) % l->s.slots;
    l->oldest_ns = done->ended_ns;
    stats_set(&l->s.stats->in_flight, l->taken);
}

void lane_drop(struct lane *l)
{
    add_load(l, -(int64_t)l->batch[l->first].expected_ns, -1);
    l->first = (l->first + 1) % l->s.slots;
    stats_add(&l->s.stats->failed_batches, 1);
    stats_set(&l->s.stats->in_flight, l->taken);
}

void lane_restart(struct lane *l)
{
    l->first = l->taken = l->failures = 0;
    pthread_mutex_lock(&l->order); /* a gather thread may not have left the last batch's pass */
    l->next_in = 0;
    pthread_mutex_unlock(&l->order);
    atomic_store(&l->is_void, false);
    atomic_store(&l->load.expected_ns, 0);
    atomic_store(&l->load.submitted, 0);
    atomic_store(&l->load.returned, 0);
    stats_set(&l->s.stats->in_flight, 0);
    atomic_store(&l->is_idle, false);
    l->is_up = true;
}

/* ---------------------------------------------------------------- how busy it is */

/* What the runner says that it has begun is a claim: of those in flight, no more than all wait. */
static uint32_t ahead_of(const struct lane *l, uint32_t shard)
{
    const struct lane *k = l->sibling[shard];
    const uint32_t out = lane_outstanding_of(l, shard);
    const uint32_t ahead =
        atomic_load_explicit(&k->load.submitted, memory_order_relaxed) -
        atomic_load_explicit(&arena_link(&k->arena)->begun, memory_order_seq_cst);

    return ahead < out ? ahead : out;
}

uint32_t lane_ahead(const struct lane *l)
{
    uint32_t ahead = 0;

    for (uint32_t i = 0; i < l->s.n_shards; i++)
        ahead += ahead_of(l, i);
    return ahead;
}

uint32_t lane_outstanding(const struct lane *l)
{
    return l->taken;
}

uint32_t lane_outstanding_of(const struct lane *l, uint32_t shard)
{
    const struct lane_load *load = &l->sibling[shard]->load;

    return atomic_load_explicit(&load->submitted, memory_order_relaxed) -
           atomic_load_explicit(&load->returned, memory_order_relaxed);
}

static uint64_t expected_of(const struct lane *l)
{
    return atomic_load_explicit(&l->load.expected_ns, memory_order_relaxed);
}

uint64_t lane_others_ns(const struct lane *l)
{
    uint64_t ns = 0;

    for (uint32_t i = 0; i < l->s.n_shards; i++)
        if (i != l->s.shard)
            ns += expected_of(l->sibling[i]);
    return ns;
}

uint64_t lane_running_ns(const struct lane *l, uint64_t now_ns)
{
    return l->taken && now_ns > l->oldest_ns ? now_ns - l->oldest_ns : 0;
}

uint64_t lane_expected_end(const struct lane *l, uint64_t items, uint64_t now_ns)
{
    const uint64_t ran = lane_running_ns(l, now_ns);
    const uint64_t oldest = l->taken ? l->batch[l->first].expected_ns : 0;
    /* one that is late will take as long again as it is running */
    const uint64_t left = oldest > ran ? oldest - ran : ran;

    return now_ns + left + (expected_of(l) - oldest) + lane_others_ns(l) +
           cost_of(l, items, now_ns);
}
