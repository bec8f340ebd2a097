/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/threadname.h"
#include "clock.h"
#include "config/config_shard.h"
#include "exec/runner.h"
#include "flow/egress.h"
#include "flow/ingress.h"
#include "log.h"
#include "transport/clients.h"

#define MESSAGES_A_TURN 128u /* so that results are taken back in between */
#define TICK_NS         (20 * NS_PER_MS)
#define LIVE_NS         NS_PER_S
#define LEAVE_NS        (NS_PER_S / 2) /* past the drain limit, for answers and files to leave */

struct shard {
    struct shard_setup s;
    struct config config; /* its part */
    struct stats *stats;
    struct pool *pool;
    struct shm_peers *shm; /* NULL: no endpoint is shm:// */
    struct clients *clients;
    struct recall *recall; /* NULL: clients.remember is 0 */
    struct egress *egress;
    struct dispatch *dispatch;
    struct ingress *ingress;
    struct mailbox *mailbox;
    struct doorbell bell; /* its eventfd wakes the thread */
    int timer_fd;
    _Alignas(ARENA_ALIGN) _Atomic uint64_t turned_ns; /* last turn */
    _Atomic bool is_taking, is_done;
    uint64_t ticked_ns;
    uint64_t worked_ns; /* when there was something to do */
};

/* ---------------------------------------------------------------- opening */

static int open_memory(struct shard *s)
{
    const struct config *c = &s->config;
    int r = stats_new(&s->stats);

    if (r == 0)
        r = doorbell_open(&s->bell);
    if (r == 0)
        r = pool_open(c->pool.rois, (uint64_t)c->pool.mbytes << 20, &s->pool);
    if (r == 0)
        s->pool->max_layer = c->clients.max_layer;
    if (r == 0) /* moves the pool: before anybody looks into it */
        r = shm_peers_open(c, s->pool, s->s.directory, s->s.number, &s->shm);
    if (r == 0)
        r = mailbox_new(s->bell.event_fd, &s->mailbox);
    if (r < 0)
        return r;
    directory_listen(s->s.directory, s->s.number, s->bell.event_fd);
    s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return s->timer_fd < 0 ? -errno : 0;
}

static int open_stages(struct shard *s)
{
    const struct config *c = &s->config;
    int r;

    affinity_enter_zmq(s->s.affinity);
    r = clients_open(c, s->stats, c->pool.rois, s->shm, s->s.directory, s->s.number, &s->clients);
    affinity_leave(s->s.affinity);
    if (r == 0 && c->clients.remember)
        r = recall_new(c->clients.remember, &s->recall);
    if (r == 0)
        r = egress_open(c, s->pool, s->clients, s->stats, s->s.streams, s->s.number, s->recall,
                        &s->egress);
    if (r ==
        0) /* last: the writers look at the counters until they are closed, before shards are */
        r = streams_join(s->s.streams, s->s.number, s->stats);
    return r;
}

int shard_open(const struct shard_setup *setup, struct shard **ret_shard)
{
    struct shard *s = aligned_alloc(_Alignof(struct shard), sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    memset(s, 0, sizeof *s);
    s->s = *setup;
    s->timer_fd = -1;
    atomic_store(&s->turned_ns, clock_ns());
    r = config_shard(setup->config, setup->number, setup->n, &s->config);
    if (r == 0)
        r = open_memory(s);
    if (r == 0)
        r = open_stages(s);
    if (r < 0) {
        shard_close(s);
        return r;
    }
    *ret_shard = s;
    return 0;
}

int shard_begin(struct shard *s, struct engine *e, void (*retire)(void *ctx, struct engine *e),
                void *ctx)
{
    int r = dispatch_open(&s->config, s->pool, s->stats, s->egress, &s->s.shared, e,
                          &(struct dispatch_retire){retire, ctx}, &s->dispatch);

    if (r < 0)
        return r;
    r = ingress_open(&s->config, s->pool, s->clients, s->stats, s->dispatch, s->egress, s->recall,
                     &s->ingress);
    if (r == 0)
        ingress_set_draining(s->ingress, true,
                             false); /* as is_taking says: the first order may differ */
    return r;
}

void shard_end(struct shard *s)
{
    ingress_close(s->ingress);
    dispatch_close(s->dispatch);
    s->ingress = NULL;
    s->dispatch = NULL;
}

void shard_close(struct shard *s)
{
    if (!s)
        return;
    egress_close(s->egress);
    recall_free(s->recall);
    clients_close(s->clients);
    shm_peers_close(s->shm);
    mailbox_free(s->mailbox);
    pool_close(s->pool);
    stats_free(s->stats);
    doorbell_close(&s->bell);
    config_shard_free(&s->config);
    if (s->timer_fd >= 0)
        close(s->timer_fd);
    free(s);
}

void shard_describe(struct shard *s, struct worker_shard *ret_description)
{
    *ret_description = (struct worker_shard){.pool = s->pool,
                                             .regions = s->shm ? shm_peers_window(s->shm) : NULL,
                                             .bell = &s->bell,
                                             .stats = s->stats};
}

struct stats *shard_stats(struct shard *s)
{
    return s->stats;
}

struct mailbox *shard_mailbox(struct shard *s)
{
    return s->mailbox;
}

struct dispatch *shard_dispatch(struct shard *s)
{
    return s->dispatch;
}

bool shard_is_live(const struct shard *s)
{
    return clock_ns() - atomic_load(&s->turned_ns) < LIVE_NS;
}

bool shard_is_done(const struct shard *s)
{
    return atomic_load(&s->is_done);
}

bool shard_is_taking(const struct shard *s)
{
    return atomic_load(&s->is_taking);
}

bool shard_is_idle(const struct shard *s)
{
    return dispatch_is_idle(s->dispatch);
}

/* ---------------------------------------------------------------- running */

void shard_enter(struct shard *s)
{
    char name[16];

    snprintf(name, sizeof name, "io-%u", s->s.number);
    if (s->s.number) /* the main thread has the daemon's own name */
        threadname_set(name);
    affinity_be_io(s->s.affinity, s->s.number);
}

static void tick(struct shard *s, uint64_t now)
{
    s->ticked_ns = now;
    ingress_tick(s->ingress, now);
    clients_tick(s->clients, now);
    dispatch_tick(s->dispatch, now);
    shm_peers_tick(s->shm, now);
    stats_set(&s->stats->g.pool_rois, s->pool->n_used);
    stats_set(&s->stats->g.pool_bytes, pool_used_bytes(s->pool));
}

/* Ends what is in flight when its time is over; notes when nothing is left. */
static void end(struct shard *s, const struct shard_order *order, uint64_t now)
{
    const uint64_t in_flight = stats_get(&s->stats->g.in_flight);

    if (in_flight && now >= order->stop_by_ns) {
        log_warn("daemon", "RoIs were still in flight at the end: forced", "shard=%u rois=%llu",
                 s->s.number, (unsigned long long)in_flight);
        dispatch_force_all(s->dispatch);
        egress_flush(s->egress);
    }
    atomic_store(&s->is_done,
                 !stats_get(&s->stats->g.in_flight) &&
                     ((!clients_has_unsent(s->clients) && dispatch_is_idle(s->dispatch)) ||
                      now >= order->stop_by_ns + LEAVE_NS));
}

static void arm_timer(struct shard *s, uint64_t due)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = (time_t)(due / NS_PER_S), .tv_nsec = (long)(due % NS_PER_S)}};

    timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void drain_fd(int fd)
{
    uint64_t n;

    while (read(fd, &n, sizeof n) > 0) {
    }
}

/* Sleeps until a message, a result, a request, a deadline, or something on `fd` comes; whether the
 * latter did. */
static bool wait_for_work(struct shard *s, int fd)
{
    zmq_pollitem_t items[5] = {{.socket = clients_socket(s->clients), .events = ZMQ_POLLIN},
                               {.fd = s->bell.event_fd, .events = ZMQ_POLLIN},
                               {.fd = s->timer_fd, .events = ZMQ_POLLIN}};
    uint64_t now = clock_ns(), due = dispatch_due_ns(s->dispatch, now);
    int n_items = 3, of_shm;

    if (due <= now)
        return false;
    if (fd >= 0)
        items[n_items++] = (zmq_pollitem_t){.fd = fd, .events = ZMQ_POLLIN};
    of_shm = n_items;
    if (s->shm)
        items[n_items++] = (zmq_pollitem_t){.fd = shm_peers_fd(s->shm), .events = ZMQ_POLLIN};
    if (s->ticked_ns + TICK_NS < due)
        due = s->ticked_ns + TICK_NS;
    arm_timer(s, due);
    atomic_store(s->bell.sleeping,
                 dispatch_has_waiting(s->dispatch) ? RUNNER_SLEEPS_ON : RUNNER_SLEEPS);
    if (!dispatch_has_work(s->dispatch, now) && mailbox_is_empty(s->mailbox) &&
        shm_peers_sleep(s->shm))
        zmq_poll(items, n_items, -1);
    atomic_store(s->bell.sleeping, RUNNER_AWAKE);
    shm_peers_awake(s->shm, s->shm && items[of_shm].revents != 0);
    if (items[1].revents)
        drain_fd(s->bell.event_fd);
    if (items[2].revents)
        drain_fd(s->timer_fd);
    return fd >= 0 && items[3].revents;
}

/* Takes results back and lets the decisions go: whoever asked should not have to wait for what the
 * turn does next, which is other RoIs. */
static bool answer(struct shard *s)
{
    if (!dispatch_take(s->dispatch, clock_ns()))
        return false;
    egress_flush(s->egress);
    return true;
}

bool shard_turn(struct shard *s, const struct shard_order *order)
{
    const bool waits = streams_are_stopping(s->s.streams), takes = order->is_taking && !waits;
    uint64_t now;
    bool did;

    ingress_set_draining(s->ingress, !takes, order->is_taking);
    if (takes != atomic_load_explicit(&s->is_taking, memory_order_relaxed))
        atomic_store(&s->is_taking, takes);
    did = answer(s); /* a quick lane has done the batch of the turn before */
    did |= ingress_turn(s->ingress, MESSAGES_A_TURN) > 0;
    did |= answer(s);
    now = clock_ns();
    did |= dispatch_give(s->dispatch, now);
    egress_flush(s->egress); /* of what limits and chains have ended without a lane */
    if (!mailbox_is_empty(s->mailbox))
        mailbox_run(s->mailbox);
    atomic_store_explicit(&s->turned_ns, now, memory_order_relaxed);
    if (now >= s->ticked_ns + TICK_NS)
        tick(s, now);
    if (order->is_ending)
        end(s, order, now);
    if (did)
        s->worked_ns = now;
    else if (now < s->worked_ns + s->s.spin_ns)
        clock_relax();
    else if (s->s.n > 1 || !atomic_load(&s->is_done))
        return wait_for_work(s, order->fd);
    return false;
}
