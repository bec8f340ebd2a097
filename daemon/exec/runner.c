/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/threadname.h"
#include "clock.h"
#include "exec/runner_inner.h"
#include "exec/stage.h"
#include "log.h"

#define SPINS   8u        /* least looks at a busy device before the thread naps */
#define NAP_NS  20000     /* nap while a device works */
#define SLACK   1000ul    /* of naps; the kernel's default would make them 70 us long */
#define IDLE_NS 100000000 /* longest sleep with nothing to do */

/* More of it for a thread of the host with each rank: the kernel gives one of nice 5 a third of the
 * time of one of nice 0 on a core that both want, and one of nice 10 a ninth. */
#define RANK_NICE 5

/* ---------------------------------------------------------------- a batch in */

#define MAP_MS 2000u /* longest wait for a client's memory to be mapped here */

/* Waits until the memory of a client that a batch names is mapped in this process: the worker's
 * main thread was asked before the batch was handed over. */
static int await_region(const struct runner_memory *m, uint32_t region, uint32_t epoch)
{
    const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t until = clock_ns() + MAP_MS * NS_PER_MS;

    if (!region || !m->epoch)
        return 0;
    if (region > m->n_regions)
        return -EBADMSG;
    while (atomic_load_explicit(&m->epoch[region - 1], memory_order_acquire) != epoch) {
        if (clock_ns() > until)
            return -ESTALE;
        nanosleep(&nap, NULL);
    }
    return 0;
}

/* `base`: what the offset of the source counts from. */
static void find_columns(const unsigned char *base, const struct arena_source *from, uint32_t kind,
                         const void **columns)
{
    const uint32_t n = kind_info(kind)->n_columns;
    const unsigned char *at = base + from->at;

    if (from->place == ARENA_ADDRESSES) {
        memcpy(columns, (const void *)(uintptr_t)from->at, n * sizeof *columns);
        return;
    }
    for (uint32_t c = 0; c < n; c++) {
        columns[c] = at;
        at +=
            arena_align((uint64_t)from->capacity * encoding_item_bytes(kind, from->is_encoded, c));
    }
}

/* The offsets and steps that came with an encoded collection. */
static const struct trg_encoding *sent_with(const struct runner_memory *m,
                                            const struct arena_source *from)
{
    return from->is_encoded ? (const struct trg_encoding *)(const void *)(m->base + from->encodings)
                            : NULL;
}

/* Where the columns of one collection of all RoIs of a batch lie. */
static int find_sources(struct runner *l, const struct runner_slot *slot, uint32_t k)
{
    const struct runner_memory *m = l->s.shard[slot->shard].memory;
    const struct arena_source *from =
        arena_sources(runner_arena(l, slot->shard), slot->batch.number, k);
    const uint32_t kind = l->s.group->input[k].kind;
    const bool is_raw = slot->raw >> k & 1;
    const unsigned char *base =
        is_raw ? arena_staged(runner_arena(l, slot->shard), slot->batch.number, k) : m->base;

    for (uint32_t i = 0; i < slot->batch.n; i++) {
        int r = await_region(m, from[i].region, from[i].epoch);

        if (r < 0)
            return r;
        l->sources[i].n = from[i].n;
        l->sources[i].is_encoded = from[i].is_encoded;
        l->sources[i].sent = sent_with(m, &from[i]);
        if (from[i].n)
            find_columns(base, &from[i], kind, l->sources[i].column);
        /* what is raw has not been checked; nor has a client's memory, which may change */
        l->sources[i].guard = is_raw || from[i].region ? &l->guards[i] : NULL;
        l->guards[i] = (struct stage_guard){.max_layer = m->max_layer};
    }
    return 0;
}

/* Notes what was found wrong; dispatch answers it. */
static void note_faults(struct runner *l, const struct runner_slot *slot)
{
    struct check_fault *faults = arena_faults(runner_arena(l, slot->shard), slot->batch.number);

    for (uint32_t i = 0; i < slot->batch.n; i++)
        if (l->sources[i].guard && l->guards[i].fault.code)
            faults[i] = l->guards[i].fault;
}

/* Gathers one collection of all RoIs of a batch. */
static int gather(struct runner *l, const struct runner_slot *slot, uint32_t k, unsigned char *to,
                  struct arena_input *ret_input)
{
    int r = find_sources(l, slot, k);

    if (r < 0)
        return r;
    ret_input->bytes = stage_fill(l->s.group->input[k].kind, slot->batch.n, slot->infos, l->sources,
                                  to, &ret_input->span);
    note_faults(l, slot);
    return 0;
}

/* Whether the front has laid an input out as plugins want it. */
static bool is_laid_out(const struct runner_slot *slot, uint32_t k)
{
    return slot->is_staged && !(slot->raw >> k & 1);
}

/* Whether the device should gather an input: it is raw, in pinned memory, or all of it lies in
 * memory of clients that is open to it, and it is worth a kernel. */
static bool can_pull(const struct runner *l, const struct runner_slot *slot, uint32_t k)
{
    const struct runner_memory *m = l->s.shard[slot->shard].memory;
    const struct arena_source *from =
        arena_sources(runner_arena(l, slot->shard), slot->batch.number, k);
    const uint32_t kind = l->s.group->input[k].kind;
    uint64_t item, padding, bytes = 0;
    bool all = true;

    if (!(l->pullable >> k & 1) || is_laid_out(slot, k))
        return false;
    if (slot->raw >> k & 1)
        return !l->is_copied;
    item = kind_item_size(kind);
    padding = kind_info(kind)->n_columns * UINT64_C(64);
    for (uint32_t i = 0; i < slot->batch.n; i++) {
        const uint32_t region = from[i].region;

        if (!from[i].n)
            continue;
        if (!m->pieces || !region || region > m->n_regions ||
            atomic_load_explicit(&m->epoch[region - 1], memory_order_acquire) != from[i].epoch)
            return false;
        all &=
            pieces_are_open(m->pieces, region - 1, from[i].at, from[i].capacity * item + padding);
        bytes += from[i].n * item;
    }
    return all && bytes >= PULL_LEAST;
}

/* Lets the device gather an input. */
static int pull_input(struct runner *l, struct runner_slot *slot, uint32_t k)
{
    const struct runner_memory *m = l->s.shard[slot->shard].memory;
    struct trg_input *in = &slot->staged[k];
    struct trg_buffer *host = l->host[slot->shard][slot->batch.number][k];
    const bool is_raw = slot->raw >> k & 1;
    const uint64_t room = runner_shape(l)->staged_bytes[k];
    const struct pull_input from = {
        .kind = l->s.group->input[k].kind,
        .max_layer = m->max_layer,
        .pool = m->base,
        .n_rois = slot->batch.n,
        .rois = slot->infos,
        .sources = arena_sources(runner_arena(l, slot->shard), slot->batch.number, k),
        .window = is_raw ? host : m->pieces->window,
        .open = is_raw ? (struct fetch_window){.distance = room, .whole = room, .bytes = room}
                       : (struct fetch_window){.first = m->pieces->place.first,
                                               .distance = m->pieces->place.distance,
                                               .whole = m->pieces->place.bytes,
                                               .bytes = PIECE_BYTES},
        .host = host,
        .dev = slot->dev[k],
        .fetched = slot->fetched,
        .fetched_bytes = l->fetched_bytes};

    slot->pulled |= 1u << k;
    in->collection = kind_info(from.kind);
    in->host = trg_buffer_host(from.host);
    in->dev = from.dev;
    return pull_enqueue(&l->pull, slot->queue, &from, &in->span);
}

/* Has one collection of all RoIs of a batch in pinned memory and enqueues its copy to the device.
 */
static int stage_input(struct runner *l, struct runner_slot *slot, uint32_t k)
{
    const struct arena *a = runner_arena(l, slot->shard);
    struct trg_buffer *host = l->host[slot->shard][slot->batch.number][k];
    struct trg_input *in = &slot->staged[k];
    struct arena_input input = arena_batch(a, slot->batch.number)->input[k];
    int r = 0;

    if (can_pull(l, slot, k))
        return pull_input(l, slot, k);
    if (!is_laid_out(slot, k))
        r = gather(l, slot, k, trg_buffer_host(host), &input);
    else if (l->is_copied)
        memcpy(trg_buffer_host(host), arena_staged(a, slot->batch.number, k), input.bytes);
    if (r < 0)
        return r;
    in->span = input.span;
    in->collection = kind_info(l->s.group->input[k].kind);
    in->host = trg_buffer_host(host);
    in->dev = l->is_host ? host : slot->dev[k];
    return l->is_host ? 0 : trg_write(slot->queue, slot->dev[k], 0, host, 0, input.bytes);
}

static void stage_outputs(struct runner *l, struct runner_slot *slot, uint32_t member)
{
    const struct runner_member *m = &l->member[member];
    const struct arena *a = runner_arena(l, slot->shard);
    unsigned char *products = arena_products(a, slot->batch.number);

    for (uint32_t k = 0; k < m->plugin->n_outputs; k++) {
        const struct arena_output *room = arena_outputs(a, slot->batch.number, member, k);
        const uint32_t kind = m->plugin->produces[k];
        const struct trg_collection *info = kind_info(kind);

        for (uint32_t i = 0; i < slot->batch.n; i++) {
            struct trg_output *out = &slot->part[member].outputs[k][i];

            out->capacity = room[i].capacity;
            out->n = 0;
            for (uint32_t c = 0; c < info->n_columns; c++)
                out->column[c] =
                    out->capacity ? products + room[i].at + arena_column_at(kind, out->capacity, c)
                                  : NULL;
        }
    }
}

int runner_answer(const struct runner *l, const struct plugin *plugin, const char *function,
                  int answer)
{
    if (answer <= 0)
        return answer;
    log_error("lane", "a plugin returns a positive number; 0 and negative errno are allowed",
              "lane=\"%s\" plugin=%s function=%s returned=%d", l->s.name, plugin->d.name, function,
              answer);
    return -EBADMSG;
}

/* Gives a member its inputs and lets it enqueue its work. */
static int submit_member(struct runner *l, struct runner_slot *slot, uint32_t member)
{
    struct runner_member *m = &l->member[member];
    struct trg_batch *part = &slot->part[member];

    part->n_rois = slot->batch.n;
    for (uint32_t k = 0; k < m->plugin->n_inputs; k++) {
        if (m->source[k].is_staged)
            part->in[k] = slot->staged[m->source[k].at];
        else
            part->in[k].span.n_rois = slot->batch.n; /* the rest is as runner_open found it */
    }
    stage_outputs(l, slot, member);
    return runner_answer(l, m->plugin, "submit",
                         batch_submit(&m->plugin->d, m->algo, part, slot->queue));
}

int runner_begin(struct runner *l, uint32_t number)
{
    struct runner_slot *slot = &l->slot[number];
    const struct arena *a = runner_arena(l, slot->shard);
    int r = 0;

    slot->is_staged = arena_batch(a, slot->batch.number)->is_staged;
    slot->raw = slot->is_staged ? arena_batch(a, slot->batch.number)->raw : 0;
    slot->pulled = 0;
    slot->begun_ns = clock_ns();
    memcpy(slot->infos, arena_infos(a, slot->batch.number), slot->batch.n * sizeof *slot->infos);
    if (!slot->is_staged || slot->raw)
        memset(arena_faults(a, slot->batch.number), 0, slot->batch.n * sizeof(struct check_fault));
    for (uint32_t k = 0; r == 0 && k < l->s.group->n_inputs; k++)
        r = stage_input(l, slot, k);
    if (r == 0)
        r = runner_load_conditions(l, slot);
    for (uint32_t m = 0; r == 0 && m < l->n_members; m++)
        r = submit_member(l, slot, m);
    return r < 0 ? r : batch_flush(slot->queue, slot->reached);
}

/* ---------------------------------------------------------------- a batch out */

/* Copies a member's results of a batch to where the lane looks for them. */
static void store_results(struct runner *l, const struct runner_slot *slot, uint32_t member)
{
    const struct arena *a = runner_arena(l, slot->shard);
    const struct trg_batch *part = &slot->part[member];

    memcpy(arena_results(a, slot->batch.number, member), part->results,
           slot->batch.n * sizeof *part->results);
    for (uint32_t k = 0; k < l->member[member].plugin->n_outputs; k++) {
        struct arena_output *out = arena_outputs(a, slot->batch.number, member, k);

        for (uint32_t i = 0; i < slot->batch.n; i++)
            out[i].n = part->outputs[k][i].n;
    }
}

/* Notes what the device found wrong; dispatch answers it. */
static void note_pulled(const struct runner *l, const struct runner_slot *slot)
{
    struct check_fault *faults = arena_faults(runner_arena(l, slot->shard), slot->batch.number);

    for (uint32_t left = slot->pulled; left; left &= left - 1) {
        const uint32_t k = (uint32_t)__builtin_ctz(left);

        for (uint32_t i = 0; i < slot->batch.n; i++) {
            const struct check_fault f = pull_fault(l->s.group->input[k].kind,
                                                    &slot->staged[k].span, slot->staged[k].host, i);

            if (f.code)
                faults[i] = f;
        }
    }
}

int runner_collect(struct runner *l, uint32_t number)
{
    note_pulled(l, &l->slot[number]);
    for (uint32_t k = 0; k < l->n_members; k++) {
        const struct runner_member *m = &l->member[k];
        int r = runner_answer(l, m->plugin, "collect",
                              m->plugin->d.collect(m->algo, &l->slot[number].part[k]));

        if (r < 0)
            return r;
        store_results(l, &l->slot[number], k);
    }
    return 0;
}

/* Wakes a dispatcher if it waits at least as much as `least` says; one runner is enough. */
static void wake_dispatcher(const struct runner_shard *s, uint32_t least)
{
    uint64_t one = 1;

    if (atomic_load_explicit(s->sleeping, memory_order_seq_cst) < least ||
        !atomic_exchange(s->sleeping, RUNNER_AWAKE))
        return;
    if (write(s->done_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("lane", "cannot wake the dispatcher", "error=\"%s\"", strerror(errno));
}

/* The runner can begin another batch, of whichever shard. */
static void count_begun(struct runner *l, const struct runner_slot *slot)
{
    inbox_tell_begun(&l->inbox[slot->shard]);
    for (uint32_t i = 0; i < l->s.n_shards; i++)
        wake_dispatcher(&l->s.shard[i], RUNNER_SLEEPS_ON);
}

/* For the guest in this process: a batch more that a runner works on, or one less. */
static void count_batch(const struct runner *l, int n)
{
    if (l->s.batches)
        atomic_fetch_add_explicit(l->s.batches, (uint32_t)n, memory_order_relaxed);
}

/* Memory that the daemon shares with this process is written over: what its plugins made, and would
 * make, is worth nothing.  Ends the process before it answers more; its batches run again. */
static void give_up(const struct runner *l)
{
    log_error("lane", "a plugin wrote over memory of lanes: their process ends itself",
              "found_by=\"%s\"", l->s.name);
    abort(); /* lint: other threads must not answer meanwhile, nor the plugins' exit handlers run */
}

/* Hands a batch back, with its results or its error. */
static void end_batch(struct runner *l, uint32_t number, int error)
{
    struct runner_slot *slot = &l->slot[number];
    const struct arena *a = runner_arena(l, slot->shard);
    struct arena_batch *b = arena_batch(a, slot->batch.number);

    if (!error)
        error = runner_collect(l, number);
    if (!inbox_has(&l->inbox[slot->shard], &slot->batch))
        give_up(l);
    b->error = error < 0 ? error : 0;
    b->is_lost = error == -ENODEV && trg_finish(slot->queue) < 0;
    if (b->error)
        log_warn("lane", "a batch failed", "lane=\"%s\" rois=%u error=\"%s\"", l->s.name,
                 slot->batch.n, strerror(-b->error));
    b->items = slot->staged[0].span.n_items;
    b->is_overlapped = slot->is_overlapped;
    b->is_pulled = slot->pulled != 0;
    b->begun_ns = slot->begun_ns;
    b->ended_ns = clock_ns();
    /* before the look whether the dispatcher sleeps */
    atomic_store(&b->done, slot->batch.sequence);
    count_batch(l, -1);
    if (l->is_host)
        count_begun(l, slot);
    wake_dispatcher(&l->s.shard[slot->shard], RUNNER_SLEEPS);
}

/* ---------------------------------------------------------------- the thread */

struct running { /* slots in flight, oldest first */
    uint32_t first, n;
    uint32_t looks; /* at the oldest since something last happened */
    uint64_t looked_ns;
};

/* Before a batch that failed is handed back: what was enqueued may still use the slot's memory.  A
 * queue that does not come to its end is as good as a device that is lost. */
static int settle(const struct runner_slot *slot, int error)
{
    return error == -ENODEV || trg_finish(slot->queue) == 0 ? error : -ENODEV;
}

/* Ends all batches in flight, in their order. */
static void finish_all(struct runner *l, struct running *run)
{
    while (run->n) {
        const uint32_t oldest = run->first % runner_shape(l)->slots;
        const int r = trg_event_wait(l->slot[oldest].reached);

        end_batch(l, oldest, r < 0 ? settle(&l->slot[oldest], r) : r);
        run->first++;
        run->n--;
    }
}

/* Takes the next batch for a slot, from the shards in turn; false when there is none. */
static bool next_batch(struct runner *l, struct runner_slot *slot)
{
    for (uint32_t i = 0; i < l->s.n_shards; i++) {
        const uint32_t shard = (l->turn + i) % l->s.n_shards;
        const int r = inbox_take(&l->inbox[shard], &slot->batch);

        if (r < 0)
            give_up(l);
        if (r == 0)
            continue;
        slot->shard = shard;
        l->turn = shard + 1;
        return true;
    }
    return false;
}

/* Starts the next batch in the next free slot; false when there is none. */
static bool start_next(struct runner *l, struct running *run)
{
    const uint32_t slots = runner_shape(l)->slots, number = (run->first + run->n) % slots;
    struct runner_slot *slot = &l->slot[number];
    int r;

    if (run->n == slots || !next_batch(l, slot))
        return false;
    count_batch(l, 1);
    slot->is_overlapped = run->n > 0;
    r = runner_begin(l, number);
    if (!l->is_host)
        count_begun(l, slot);
    if (r < 0) {
        r = settle(slot, r);
        finish_all(l, run);
        end_batch(l, number, r);
        run->first++;
        return true;
    }
    run->n++;
    return true;
}

/* The device works: looks again at once for a while, then naps. */
static void wait_for_device(const struct runner *l, struct running *run)
{
    struct timespec nap = {.tv_nsec = NAP_NS};

    if (!run->looks++)
        run->looked_ns = clock_ns();
    if (run->looks > SPINS && clock_ns() >= run->looked_ns + l->s.spin_ns)
        nanosleep(&nap, NULL);
    else
        clock_relax_long(); /* the driver has one lock for those who look and those who enqueue */
}

/* Looks at the oldest slot; hands it back when it is finished. */
static void finish_oldest(struct runner *l, struct running *run)
{
    const uint32_t oldest = run->first % runner_shape(l)->slots;
    int r = trg_event_query(l->slot[oldest].reached);

    if (r == -EAGAIN) {
        wait_for_device(l, run);
        return;
    }
    run->looks = 0;
    end_batch(l, oldest, r < 0 ? settle(&l->slot[oldest], r) : r);
    run->first++;
    run->n--;
}

/* Whether a shard has given a batch to a runner, or its end. */
static bool is_wanted(struct runner *l)
{
    for (uint32_t i = 0; i < l->s.n_shards; i++)
        if (!ring_is_empty(l->in[i]))
            return true;
    return atomic_load(&l->stop);
}

/* Looks for a batch for a while, then sleeps.  Menus with many steps have many runners on a core:
 * they give way to each other, and only the one that ran last looks. */
static void wait_for_batch(struct runner *l)
{
    static _Atomic(const struct runner *) looks[CPU_SETSIZE]; /* by processing unit */
    _Atomic(const struct runner *) *mine = &looks[(unsigned)sched_getcpu() % CPU_SETSIZE];
    const uint64_t until = clock_ns() + l->s.spin_ns;

    atomic_store(mine, l);
    while (clock_ns() < until && atomic_load(mine) == l) {
        if (is_wanted(l))
            return;
        clock_relax_long(); /* the core's other half may be an I/O thread's */
        sched_yield();
    }
    ring_wait(l->in, l->s.n_shards, &arena_link(runner_arena(l, 0))->bell, IDLE_NS);
}

/* The thread of a lane of the host computes: its rank is the thread's. */
static void take_rank(const struct runner *l)
{
    const id_t self = (id_t)gettid();

    if (l->is_host && l->s.rank &&
        setpriority(PRIO_PROCESS, self,
                    getpriority(PRIO_PROCESS, self) + RANK_NICE * (int)l->s.rank) < 0)
        log_warn("lane", "a lane cannot give way to others", "lane=\"%s\" error=\"%s\"", l->s.name,
                 strerror(errno));
}

void *runner_run(void *arg)
{
    struct runner *l = arg;
    struct running run = {0};

    threadname_set(l->s.name);
    prctl(PR_SET_TIMERSLACK, SLACK);
    take_rank(l);
    for (;;) {
        bool started = start_next(l, &run);

        if (run.n) {
            /* with a free slot and work for it, fill that first */
            if (!started || run.n == runner_shape(l)->slots)
                finish_oldest(l, &run);
            continue;
        }
        if (started)
            continue;
        if (atomic_load(&l->stop))
            return NULL;
        wait_for_batch(l);
    }
}
