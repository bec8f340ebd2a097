/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/gather.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/threadname.h"
#include "clock.h"
#include "exec/raw.h"
#include "log.h"

#define WORTH_BYTES (32u << 10) /* of columns: to wake a thread costs as much as to copy them */

/* ---------------------------------------------------------------- a batch */

/* Notes where the columns of one input of RoI number `i` lie.  Returns their bytes. */
static uint64_t find_source(struct lane *l, struct lane_batch *b, uint32_t input, uint32_t i)
{
    const struct group_input *in = &l->s.group->input[input];
    const struct roi *r = &l->s.pool->rois[b->roi[i]];
    const struct roi_collection *c = lane_collection(l->s.pool, r, in);
    const struct trg_collection *info = kind_info(in->kind);
    struct stage_source *source = &b->source[input][i];
    uint64_t bytes = 0;

    source->n = c->n;
    source->is_encoded = c->is_encoded;
    source->sent = c->is_encoded ? pool_sent(l->s.pool, r, c) : NULL;
    /* what a client can change is looked at each time, what is kept once */
    source->guard = in->from < 0 && (r->region || r->unseen >> in->kind & 1) ? &b->guard[i] : NULL;
    for (uint32_t k = 0; c->n && k < info->n_columns; k++) {
        source->column[k] = pool_column(l->s.pool, in->kind, c, k);
        bytes += (uint64_t)c->n * trg_column_bytes(&info->column[k]);
    }
    return bytes;
}

static void note_faults(struct lane_batch *b, const struct stage_source *sources)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (sources[i].guard && b->guard[i].fault.code)
            b->fault[i] = b->guard[i].fault;
}

/* Lays an input out in the arena and checks it. */
static void fill_input(struct lane *l, uint32_t slot, uint32_t k)
{
    struct lane_batch *b = &l->batch[slot];
    struct arena_input *to = &arena_batch(&l->arena, slot)->input[k];

    for (uint32_t i = 0; i < b->n; i++)
        b->guard[i] = (struct stage_guard){.max_layer = l->s.pool->max_layer};
    to->bytes = stage_fill(l->s.group->input[k].kind, b->n, l->view[slot].infos, b->source[k],
                           arena_staged(&l->arena, slot, k), &to->span);
    note_faults(b, b->source[k]);
}

/* Copies and checks, on any thread; what the runner takes as it came is only copied. */
static void fill(struct lane *l, uint32_t slot)
{
    const uint32_t takes = atomic_load(&arena_link(&l->arena)->takes_raw);
    struct lane_batch *b = &l->batch[slot];

    memset(b->fault, 0, b->n * sizeof *b->fault);
    for (uint32_t k = 0; k < l->s.group->n_inputs; k++) {
        const uint32_t kind = l->s.group->input[k].kind;

        if (takes >> k & 1 &&
            raw_is_worth(kind, b->n, b->source[k], l->arena.shape.staged_bytes[k])) {
            raw_fill(kind, b->n, b->source[k], arena_staged(&l->arena, slot, k),
                     l->view[slot].sources[k]);
            b->raw |= 1u << k;
        } else {
            fill_input(l, slot, k);
        }
    }
    arena_batch(&l->arena, slot)->raw = b->raw;
    arena_batch(&l->arena, slot)->is_staged = true;
}

/* ---------------------------------------------------------------- to the runner */

void gather_pass(struct lane *l, uint32_t slot)
{
    struct ring *in = &arena_link(&l->arena)->in;

    pthread_mutex_lock(&l->order);
    l->batch[slot].is_ready = true;
    for (struct lane_batch *b = &l->batch[l->next_in]; b->is_ready; b = &l->batch[l->next_in]) {
        b->is_ready = false;
        ring_push(in, l->next_in);
        l->next_in = (l->next_in + 1) % l->s.slots;
        ring_wake(in, &arena_link(&l->sibling[0]->arena)->bell);
        atomic_store_explicit(&b->is_ahead, false, memory_order_release);
    }
    pthread_mutex_unlock(&l->order);
}

void gather_await(struct lane *l, uint32_t slot)
{
    atomic_store(&l->is_void, true);
    while (atomic_load_explicit(&l->batch[slot].is_ahead, memory_order_acquire))
        clock_relax_long();
    pthread_mutex_lock(&l->order); /* until it has left gather_pass */
    pthread_mutex_unlock(&l->order);
}

/* ---------------------------------------------------------------- threads */

struct gather_threads {
    pthread_mutex_t lock; /* of the list */
    pthread_cond_t bell;
    struct gather_job *first, **last;
    uint32_t n_sleeping;
    bool is_over;
    _Atomic uint32_t n_waiting; /* jobs, for threads that look without the lock */
    uint64_t spin_ns;
    uint32_t n;
    pthread_t thread[];
};

static void put(struct gather_threads *t, struct gather_job *job)
{
    bool has_sleeper;

    job->next = NULL;
    pthread_mutex_lock(&t->lock);
    *t->last = job;
    t->last = &job->next;
    atomic_fetch_add_explicit(&t->n_waiting, 1, memory_order_relaxed);
    has_sleeper = t->n_sleeping != 0;
    pthread_mutex_unlock(&t->lock);
    if (has_sleeper)
        pthread_cond_signal(&t->bell);
}

/* Looks for a while whether there is something to take. */
static void spin(const struct gather_threads *t)
{
    const uint64_t until = clock_ns() + t->spin_ns;

    while (!atomic_load_explicit(&t->n_waiting, memory_order_relaxed) && clock_ns() < until)
        clock_relax();
}

/* The oldest job; NULL: it is over. */
static struct gather_job *take(struct gather_threads *t)
{
    struct gather_job *job;

    if (t->spin_ns)
        spin(t);
    pthread_mutex_lock(&t->lock);
    while (!t->first && !t->is_over) {
        t->n_sleeping++;
        pthread_cond_wait(&t->bell, &t->lock);
        t->n_sleeping--;
    }
    job = t->first;
    if (job) {
        t->first = job->next;
        if (!t->first)
            t->last = &t->first;
        atomic_fetch_sub_explicit(&t->n_waiting, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&t->lock);
    return job;
}

static void *work(void *arg)
{
    struct gather_threads *t = arg;
    const struct gather_job *job;

    threadname_set("gather");
    while ((job = take(t)) != NULL) {
        struct lane *l = job->lane;
        const uint32_t slot = job->slot;

        if (!atomic_load(&l->is_void))
            fill(l, slot);
        gather_pass(l, slot); /* the job is the lane's again */
    }
    return NULL;
}

int gather_threads_start(uint32_t n, uint64_t spin_ns, struct gather_threads **ret_threads)
{
    struct gather_threads *t = calloc(1, sizeof *t + n * sizeof t->thread[0]);
    int r = t ? 0 : -ENOMEM;

    if (r < 0)
        return r;
    t->last = &t->first;
    t->spin_ns = spin_ns;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->bell, NULL);
    while (r == 0 && t->n < n) {
        r = -pthread_create(&t->thread[t->n], NULL, work, t);
        t->n += r == 0;
    }
    if (r < 0) {
        log_error("gather", "cannot start a gather thread", "error=\"%s\"", strerror(-r));
        gather_threads_stop(t);
        return r;
    }
    *ret_threads = t;
    return 0;
}

void gather_threads_stop(struct gather_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->is_over = true;
    pthread_cond_broadcast(&t->bell);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < t->n; i++)
        pthread_join(t->thread[i], NULL);
    pthread_cond_destroy(&t->bell);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void gather_batch(struct lane *l, uint32_t slot)
{
    struct lane_batch *b = &l->batch[slot];
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < l->s.group->n_inputs; k++)
        for (uint32_t i = 0; i < b->n; i++)
            bytes += find_source(l, b, k, i);
    if (l->s.gather_threads && bytes >= WORTH_BYTES) {
        stats_add(&l->s.stats->gathered, 1);
        b->job = (struct gather_job){.lane = l, .slot = slot};
        put(l->s.gather_threads, &b->job);
        return;
    }
    fill(l, slot);
    gather_pass(l, slot);
}
