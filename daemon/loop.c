/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mailbox.h"
#include "base/notify.h"
#include "clock.h"
#include "exec/runner.h"
#include "flow/debugstream.h"
#include "flow/dispatch.h"
#include "flow/egress.h"
#include "flow/ingress.h"
#include "keeper.h"
#include "log.h"
#include "logsink.h"
#include "monitor/control.h"
#include "transport/clients.h"

#define MESSAGES_A_TURN 128u /* so that results are taken back in between */
#define TICK_NS         (20 * NS_PER_MS)
#define CALL_MS         3000u  /* longest wait of an operator's command for the loop */
#define RELOAD_MS       60000u /* and for a reload */
#define LIVE_NS         NS_PER_S
#define LEAVE_NS        (NS_PER_S / 2) /* past the drain limit, for answers and files to leave */

enum state { STARTING, READY, DRAINING, DRAINED, STOPPING };
static const char *const state_name[] = {"starting", "ready", "draining", "drained", "stopping"};

struct loop {
    const struct config *config;
    struct trg_host host;
    struct stats *stats;
    struct pool *pool;
    struct plugin_host *plugins;
    struct backends *backends; /* with isolation: thread */
    struct devices *devices;
    struct affinity *affinity;
    struct shm_peers *shm; /* NULL: no endpoint is shm:// */
    struct clients *clients;
    struct debugstream *debug;
    struct egress *egress;
    struct dispatch *dispatch;
    struct ingress *ingress;
    struct mailbox *mailbox;
    struct keeper *keeper;
    struct control *control;
    struct worker_base base;
    struct doorbell bell; /* its eventfd wakes the loop */
    int signal_fd, timer_fd;
    _Alignas(ARENA_ALIGN) _Atomic int state;
    _Atomic uint64_t turned_ns; /* last turn */
    uint64_t ticked_ns, stop_by_ns;
    uint64_t spin_ns, worked_ns; /* how long to look for work; when there was some */
    bool finished;
};

/* ---------------------------------------------------------------- states */

static void enter(struct loop *l, enum state to)
{
    enum state from = (enum state)atomic_exchange(&l->state, (int)to);

    log_info("daemon", "state", "from=%s to=%s", state_name[from], state_name[to]);
    ingress_set_draining(l->ingress, to != READY);
}

static void stop(struct loop *l, const char *why)
{
    uint64_t now = clock_ns();

    if (atomic_load(&l->state) == STOPPING) {
        log_warn("daemon", "asked to stop again: what is in flight is forced now", "by=%s", why);
        l->stop_by_ns = now;
        return;
    }
    log_info("daemon", "stopping: what is in flight is finished first", "by=%s drain_ms=%u", why,
             l->config->limits.drain_ms);
    l->stop_by_ns = now + NS_PER_MS * l->config->limits.drain_ms;
    notify_stopping();
    enter(l, STOPPING);
}

static void check_state(struct loop *l, uint64_t now)
{
    uint64_t in_flight = stats_get(&l->stats->g.in_flight);

    switch (atomic_load(&l->state)) {
    case DRAINING:
        if (!in_flight)
            enter(l, DRAINED);
        break;
    case STOPPING:
        if (in_flight && now >= l->stop_by_ns) {
            log_warn("daemon", "RoIs were still in flight at the end: forced", "rois=%llu",
                     (unsigned long long)in_flight);
            dispatch_force_all(l->dispatch, TRIGD__V1__STATUS__SHUTDOWN);
            egress_flush(l->egress);
            in_flight = 0;
        }
        l->finished =
            !in_flight && ((!clients_has_unsent(l->clients) && dispatch_is_idle(l->dispatch)) ||
                           now >= l->stop_by_ns + LEAVE_NS);
        break;
    default:
        break;
    }
}

static void read_signals(struct loop *l)
{
    struct signalfd_siginfo info;

    while (read(l->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            keeper_ask_reload(l->keeper);
        else
            stop(l, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
    }
}

/* ---------------------------------------------------------------- the operator's requests */

struct request {
    struct loop *loop;
    const char *chain;
    double prescale;
    enum state to;
    struct engine *engine;
    char *text;
    size_t bytes;
};

static int on_set_prescale(void *arg)
{
    struct request *q = arg;

    return dispatch_set_prescale(q->loop->dispatch, q->chain, q->prescale);
}

static int hook_set_prescale(void *ctx, const char *chain, double prescale, char *text,
                             size_t bytes)
{
    struct loop *l = ctx;
    struct request q = {.loop = l, .chain = chain, .prescale = prescale};
    int r;

    if (!(prescale == 0 || (prescale >= 1 && isfinite(prescale)))) {
        snprintf(text, bytes, "a prescale is 0 (off) or a number >= 1");
        return -EINVAL;
    }
    r = mailbox_call(l->mailbox, on_set_prescale, &q, CALL_MS);
    if (r == -ENOENT)
        snprintf(text, bytes, "there is no chain \"%s\" in the running menu", chain);
    else
        snprintf(text, bytes, r < 0 ? "%s: %s" : "prescale of %s set", chain, strerror(-r));
    return r;
}

static int on_state(void *arg)
{
    struct request *q = arg;
    enum state now = (enum state)atomic_load(&q->loop->state);

    if (now == STOPPING) {
        snprintf(q->text, q->bytes, "the daemon is stopping");
        return -EBUSY;
    }
    if (q->to == STOPPING)
        stop(q->loop, "quit");
    else if (q->to != now && !(q->to == DRAINING && now == DRAINED))
        enter(q->loop, q->to);
    snprintf(q->text, q->bytes, "%s", state_name[atomic_load(&q->loop->state)]);
    return 0;
}

static int go_to(struct loop *l, enum state to, char *text, size_t bytes)
{
    struct request q = {.loop = l, .to = to, .text = text, .bytes = bytes};
    int r = mailbox_call(l->mailbox, on_state, &q, CALL_MS);

    if (r == -ETIMEDOUT)
        snprintf(text, bytes, "the daemon's loop did not answer");
    return r;
}

static int hook_drain(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, DRAINING, text, bytes);
}

static int hook_resume(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, READY, text, bytes);
}

static int hook_quit(void *ctx, char *text, size_t bytes)
{
    return go_to(ctx, STOPPING, text, bytes);
}

static int hook_reload(void *ctx, char *text, size_t bytes)
{
    struct loop *l = ctx;

    return keeper_reload(l->keeper, RELOAD_MS, text, bytes);
}

static const char *hook_state(void *ctx)
{
    struct loop *l = ctx;

    return state_name[atomic_load(&l->state)];
}

static bool hook_is_live(void *ctx)
{
    struct loop *l = ctx;

    return clock_ns() - atomic_load(&l->turned_ns) < LIVE_NS;
}

/* ---------------------------------------------------------------- engines */

static int on_swap(void *arg)
{
    struct request *q = arg;

    return dispatch_swap(q->loop->dispatch, q->engine);
}

static int swap(void *ctx, struct engine *e)
{
    struct request q = {.loop = ctx, .engine = e};

    return mailbox_call(q.loop->mailbox, on_swap, &q, CALL_MS);
}

static void retire(void *ctx, struct engine *e)
{
    struct loop *l = ctx;

    keeper_retire(l->keeper, e);
}

/* ---------------------------------------------------------------- opening */

static void log_of_plugins(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    LOG_AT(level, "plugin", text, "%s", "");
}

static int open_fds(struct loop *l)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    l->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return l->signal_fd < 0 || l->timer_fd < 0 ? -errno : 0;
}

static int open_devices(struct loop *l)
{
    const struct config *c = l->config;
    int r = 0;

    l->base = (struct worker_base){.is_process = strcmp(c->isolation, "thread") != 0,
                                   .config = c,
                                   .pool = l->pool,
                                   .regions = l->shm ? shm_peers_window(l->shm) : NULL,
                                   .bell = &l->bell,
                                   .spin_ns = l->spin_ns,
                                   .stats = l->stats,
                                   .host = &l->host};
    if (!l->base.is_process)
        r = backends_open(c->backend_path, NULL, &l->host, &l->backends);
    l->base.backends = l->backends;
    return r < 0 ? r : devices_open(&l->base, &l->devices);
}

static int open_base(struct loop *l)
{
    const struct config *c = l->config;
    int r = open_fds(l);

    if (r == 0)
        r = doorbell_open(&l->bell);
    if (r < 0)
        return r;
    l->host = (struct trg_host){
        .size = sizeof l->host, .ctx = l, .log = log_of_plugins, .cache_dir = c->cache_dir};
    r = affinity_open(c, &l->affinity);
    if (r < 0)
        return r;
    l->spin_ns = affinity_spin_ns(l->affinity, c);
    r = stats_new(&l->stats);
    if (r < 0)
        return r;
    r = pool_open(c->pool.rois, (uint64_t)c->pool.mbytes << 20, &l->pool);
    if (r < 0)
        return r;
    r = shm_peers_open(c, l->pool, &l->shm); /* moves the pool: before anybody looks into it */
    if (r < 0)
        return r;
    r = mailbox_new(l->bell.event_fd, &l->mailbox);
    if (r < 0)
        return r;
    r = plugin_host_new(c->plugin_path, c->n_plugin_path, &l->plugins);
    if (r < 0)
        return r;
    return open_devices(l);
}

static int open_engine(struct loop *l)
{
    struct engine_setup setup = {
        .base = l->base, .devices = l->devices, .plugins = l->plugins, .affinity = l->affinity};
    struct engine *engine;
    int r = keeper_start(&setup, swap, l, &l->keeper);

    if (r < 0)
        return r;
    r = engine_open(&setup, 1, &engine);
    if (r < 0)
        return r;
    r = dispatch_open(l->config, l->pool, l->stats, l->egress, engine, retire, l, &l->dispatch);
    if (r < 0)
        engine_close(engine);
    return r;
}

static int open_stages(struct loop *l)
{
    const struct config *c = l->config;
    int r = 0;

    if (c->debug_stream.folder[0])
        r = debugstream_open(c->debug_stream.folder, (uint64_t)c->debug_stream.max_mbytes << 20,
                             l->pool, l->stats, &l->debug);
    if (r < 0)
        return r;
    affinity_enter_zmq(l->affinity);
    r = clients_open(c, l->stats, c->pool.rois, l->shm, &l->clients);
    affinity_leave(l->affinity);
    if (r < 0)
        return r;
    r = egress_open(l->pool, l->clients, l->stats, l->debug, &l->egress);
    if (r < 0)
        return r;
    r = open_engine(l);
    if (r < 0)
        return r;
    return ingress_open(c, l->pool, l->clients, l->stats, l->dispatch, &l->ingress);
}

static int open_control(struct loop *l, const char *config_path)
{
    struct control_view view = {.stats = l->stats,
                                .config = l->config,
                                .config_path = config_path,
                                .plugins = l->plugins,
                                .devices = l->devices,
                                .hooks = {.ctx = l,
                                          .set_prescale = hook_set_prescale,
                                          .drain = hook_drain,
                                          .resume = hook_resume,
                                          .reload = hook_reload,
                                          .quit = hook_quit,
                                          .state = hook_state,
                                          .is_live = hook_is_live}};

    return control_start(&view, &l->control);
}

int loop_open(const struct config *config, const char *config_path, struct loop **ret_loop)
{
    struct loop *l = aligned_alloc(_Alignof(struct loop), sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    memset(l, 0, sizeof *l);
    l->config = config;
    l->signal_fd = l->timer_fd = -1;
    atomic_store(&l->turned_ns, clock_ns());
    r = open_base(l);
    if (r == 0)
        r = open_stages(l);
    if (r == 0)
        r = open_control(l, config_path);
    if (r < 0) {
        loop_close(l);
        return r;
    }
    *ret_loop = l;
    return 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void loop_close(struct loop *l)
{
    if (!l)
        return;
    control_stop(l->control);
    ingress_close(l->ingress);
    dispatch_close(l->dispatch); /* its engines go to the keeper, which closes them and ends */
    keeper_stop(l->keeper);
    egress_close(l->egress);
    clients_close(l->clients);
    shm_peers_close(l->shm);
    debugstream_close(l->debug);
    devices_close(l->devices);
    backends_close(l->backends);
    affinity_close(l->affinity);
    plugin_host_free(l->plugins);
    mailbox_free(l->mailbox);
    pool_close(l->pool);
    stats_free(l->stats);
    doorbell_close(&l->bell);
    close_fd(l->signal_fd);
    close_fd(l->timer_fd);
    free(l);
}

/* ---------------------------------------------------------------- running */

static void tick(struct loop *l, uint64_t now)
{
    l->ticked_ns = now;
    read_signals(l);
    ingress_tick(l->ingress, now);
    clients_tick(l->clients, now);
    dispatch_tick(l->dispatch, now);
    shm_peers_tick(l->shm, now);
    stats_set(&l->stats->g.pool_rois, l->pool->n_used);
    stats_set(&l->stats->g.pool_bytes, pool_used_bytes(l->pool));
    stats_set(&l->stats->g.log_dropped, logsink_dropped());
    notify_watchdog(now);
}

static void arm_timer(struct loop *l, uint64_t due)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = (time_t)(due / NS_PER_S), .tv_nsec = (long)(due % NS_PER_S)}};

    timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void drain_fd(int fd)
{
    uint64_t n;

    while (read(fd, &n, sizeof n) > 0) {
    }
}

/* Sleeps until a message, a result, a request, a signal or a deadline comes. */
static void wait_for_work(struct loop *l)
{
    zmq_pollitem_t items[] = {{.socket = clients_socket(l->clients), .events = ZMQ_POLLIN},
                              {.fd = l->bell.event_fd, .events = ZMQ_POLLIN},
                              {.fd = l->signal_fd, .events = ZMQ_POLLIN},
                              {.fd = l->timer_fd, .events = ZMQ_POLLIN},
                              {.fd = shm_peers_fd(l->shm), .events = ZMQ_POLLIN}};
    int n_items = l->shm ? 5 : 4;
    uint64_t now = clock_ns(), due = dispatch_due_ns(l->dispatch, now);

    if (due <= now)
        return;
    if (l->ticked_ns + TICK_NS < due)
        due = l->ticked_ns + TICK_NS;
    arm_timer(l, due);
    atomic_store(l->bell.sleeping,
                 dispatch_has_waiting(l->dispatch) ? RUNNER_SLEEPS_ON : RUNNER_SLEEPS);
    if (!dispatch_has_work(l->dispatch, now) && mailbox_is_empty(l->mailbox) &&
        shm_peers_sleep(l->shm))
        zmq_poll(items, n_items, -1);
    atomic_store(l->bell.sleeping, RUNNER_AWAKE);
    shm_peers_awake(l->shm, items[4].revents != 0);
    if (items[1].revents)
        drain_fd(l->bell.event_fd);
    if (items[2].revents)
        read_signals(l);
    if (items[3].revents)
        drain_fd(l->timer_fd);
}

static void turn(struct loop *l)
{
    uint64_t now;
    bool did = ingress_turn(l->ingress, MESSAGES_A_TURN) > 0;

    now = clock_ns();
    did |= dispatch_turn(l->dispatch, now);
    egress_collect(l->egress);
    egress_flush(l->egress);
    if (!mailbox_is_empty(l->mailbox))
        mailbox_run(l->mailbox);
    atomic_store_explicit(&l->turned_ns, now, memory_order_relaxed);
    if (now >= l->ticked_ns + TICK_NS)
        tick(l, now);
    check_state(l, now);
    if (did)
        l->worked_ns = now;
    else if (now < l->worked_ns + l->spin_ns)
        clock_relax();
    else if (!l->finished)
        wait_for_work(l);
}

int loop_run(struct loop *l)
{
    const struct stats_global *g = &l->stats->g;

    affinity_be_io(l->affinity);
    enter(l, READY);
    notify_ready();
    while (!l->finished)
        turn(l);
    log_info(
        "daemon", "ledger", "received=%llu accepted=%llu rejected=%llu failed=%llu in_flight=%llu",
        (unsigned long long)stats_get(&g->received), (unsigned long long)stats_get(&g->accepted),
        (unsigned long long)stats_get(&g->rejected), (unsigned long long)stats_get(&g->failed),
        (unsigned long long)stats_get(&g->in_flight));
    /* what hangs in a worker ends with it; a thread cannot be ended */
    return l->base.is_process || dispatch_is_idle(l->dispatch) ? 0 : -EBUSY;
}
