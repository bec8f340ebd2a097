/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/notify.h"
#include "base/signals.h"
#include "clock.h"
#include "desk.h"
#include "farm.h"
#include "log.h"
#include "monitor/control.h"

#define TICK_NS      (5 * NS_PER_MS)
#define FRONT_NS     (20 * NS_PER_MS) /* the clients' credits and heartbeats */
#define SPIN_CORES   4                /* with fewer cores it sleeps at once */
#define ENLISTS_TURN 64u

struct supervisor {
    struct farm farm;
    struct desk desk;
    struct control *control;
    int signal_fd, bell_fd;
    uint64_t ticked_ns, front_ns, worked_ns, spin_ns;
    bool is_over;
};

/* ---------------------------------------------------------------- opening */

static int open_farm(struct farm *f)
{
    const struct config *c = f->config;
    int r;

    f->limits = (struct wire_limits){.max_message_bytes = c->clients.max_message_kbytes * 1024u,
                                     .max_rois = c->clients.max_rois,
                                     .max_items = c->clients.max_items,
                                     .max_layer = c->clients.max_layer};
    r = stats_new(&f->stats);
    if (r == 0)
        f->set = (struct stats_set){.n = 1, .of = {f->stats}};
    if (r == 0)
        r = directory_new(1, c->clients.max, &f->directory);
    if (r == 0)
        r = wire_decoder_new(&f->limits, &f->decoder);
    if (r == 0)
        r = flights_open(&f->flights, c->pool.rois);
    if (r == 0)
        r = events_open(&f->events, 4 * c->pool.rois);
    if (r < 0)
        return r;
    farmrun_open(f);
    r = admit_menu_key(c->menu, &f->menu_key);
    if (r < 0)
        log_error("farm", "the farm's menu cannot be read", "menu=\"%s\" error=\"%s\"", c->menu,
                  strerror(-r));
    f->context = r < 0 ? NULL : zmq_ctx_new();
    if (!f->context)
        return r < 0 ? r : -errno;
    if (zmq_ctx_set(f->context, ZMQ_IO_THREADS, (int)c->threads.zmq_threads) < 0)
        return -errno;
    r = links_open(f);
    return r < 0 ? r : enlist_open(f);
}

static int name_farm(struct farm *f)
{
    if (f->config->farm.name[0])
        snprintf(f->name, sizeof f->name, "%s", f->config->farm.name);
    else if (gethostname(f->name, sizeof f->name - 1) < 0)
        return -errno;
    return getrandom(&f->instance, sizeof f->instance, 0) == sizeof f->instance ? 0 : -EIO;
}

int supervisor_check(const struct config *c)
{
    int r = 0;

    if (c->clients.max_rois > ROUTE_ROIS) {
        log_error("farm", "clients.max_rois is too large for a supervisor",
                  "clients.max_rois=%u most=%u", c->clients.max_rois, ROUTE_ROIS);
        r = -EINVAL;
    }
    for (uint32_t i = 0; i < c->n_endpoints; i++)
        if (!strncmp(c->endpoints[i], "shm://", 6)) {
            log_error("farm", "a supervisor shares no memory with clients", "endpoint=\"%s\"",
                      c->endpoints[i]);
            r = -EINVAL;
        }
    return r;
}

static int open_signals(struct supervisor *s)
{
    sigset_t set;

    signals_fill(&set);
    s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    s->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return s->signal_fd < 0 || s->bell_fd < 0 ? -errno : mailbox_new(s->bell_fd, &s->desk.mailbox);
}

int supervisor_open(const struct config *config, const char *config_path,
                    struct supervisor **ret_supervisor)
{
    struct supervisor *s;
    struct control_view view;
    int r = supervisor_check(config);

    if (r < 0)
        return r;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->signal_fd = s->bell_fd = -1;
    s->farm.config = config;
    s->farm.config_path = config_path;
    s->desk.farm = &s->farm;
    if (sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_CORES)
        s->spin_ns = NS_PER_US * config->threads.spin_us;
    r = name_farm(&s->farm);
    if (r == 0)
        r = open_signals(s);
    if (r == 0)
        r = open_farm(&s->farm);
    if (r == 0) {
        desk_view(&s->desk, &view);
        r = control_start(&view, &s->control);
    }
    if (r < 0) {
        supervisor_close(s);
        return r;
    }
    *ret_supervisor = s;
    return 0;
}

static void close_farm(struct farm *f)
{
    farmrun_close(f);
    front_close(f);
    if (f->enlisting)
        zmq_close(f->enlisting);
    if (f->links)
        zmq_close(f->links);
    flights_close(&f->flights); /* their messages go before the contexts */
    auth_close(f->auth);
    keyfile_forget(&f->own);
    if (f->context)
        zmq_ctx_term(f->context);
    events_close(&f->events);
    if (f->welcome)
        trigd__v1__from_daemon__free_unpacked(f->welcome, NULL);
    wire_decoder_free(f->decoder);
    directory_free(f->directory);
    stats_free(f->stats);
}

void supervisor_close(struct supervisor *s)
{
    if (!s)
        return;
    control_stop(s->control);
    close_farm(&s->farm);
    mailbox_free(s->desk.mailbox);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    if (s->bell_fd >= 0)
        close(s->bell_fd);
    free(s);
}

/* ---------------------------------------------------------------- running */

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    char text[FARM_SENTENCE];

    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGHUP)
            desk_stop(&s->desk, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
        else if (roll_begin(&s->farm, ROLL_RELOAD, text, sizeof text) < 0)
            log_error("farm", "the farm cannot be reloaded", "reason=\"%s\"", text);
    }
}

/* Clients may come once a node is there whose menu says what RoIs may hold. */
static int look_at_front(struct supervisor *s)
{
    struct farm *f = &s->farm;
    int r;

    if (f->clients || !f->welcome)
        return 0;
    r = front_open(f);
    if (r < 0)
        return r;
    atomic_store(&s->desk.state, f->is_draining ? STATE_DRAINING : STATE_READY);
    log_info("farm", "ready", "nodes=%llu", (unsigned long long)f->c.nodes);
    notify_ready();
    return 0;
}

/* Stops when nothing is in flight any more, or its time is over. */
static void look_at_end(struct supervisor *s, uint64_t now)
{
    struct farm *f = &s->farm;
    const uint64_t left = stats_get(&f->stats->g.in_flight);

    if (left && now >= atomic_load(&s->desk.stop_by_ns)) {
        log_warn("farm", "RoIs were still in flight at the end: forced", "rois=%llu",
                 (unsigned long long)left);
        settle_force_all(f, TRIGD__V1__STATUS__SHUTDOWN);
    }
    s->is_over =
        !stats_get(&f->stats->g.in_flight) &&
        (!f->clients || !clients_has_unsent(f->clients) || now >= atomic_load(&s->desk.stop_by_ns));
}

static int tick(struct supervisor *s, bool all_heard, uint64_t now)
{
    struct farm *f = &s->farm;
    const int r = look_at_front(s);

    s->ticked_ns = now;
    read_signals(s);
    if (all_heard)
        enlist_tick(f, now);
    links_tick(f, now);
    give_tick(f, now);
    roll_tick(f, now);
    farmrun_tick(f, now);
    desk_tick(&s->desk);
    if (now >= s->front_ns + FRONT_NS) {
        s->front_ns = now;
        front_tick(f, now);
        notify_watchdog(now);
    }
    if (atomic_load(&s->desk.state) == STATE_STOPPING)
        look_at_end(s, now);
    return r;
}

static void wait_for_work(struct supervisor *s)
{
    struct farm *f = &s->farm;
    zmq_pollitem_t item[5] = {{.fd = s->bell_fd, .events = ZMQ_POLLIN},
                              {.fd = s->signal_fd, .events = ZMQ_POLLIN},
                              {.socket = f->enlisting, .events = ZMQ_POLLIN},
                              {.socket = f->links, .events = ZMQ_POLLIN}};
    int n = 4;
    uint64_t rings;

    if (f->clients)
        item[n++] = (zmq_pollitem_t){.socket = clients_socket(f->clients), .events = ZMQ_POLLIN};
    if (!mailbox_is_empty(s->desk.mailbox) || (f->clients && clients_has_ahead(f->clients)))
        return;
    zmq_poll(item, n, (int)(TICK_NS / NS_PER_MS));
    if (item[0].revents && read(s->bell_fd, &rings, sizeof rings) < 0 && errno != EAGAIN)
        log_error("farm", "cannot read the bell", "error=\"%s\"", strerror(errno));
    if (item[1].revents)
        s->ticked_ns = 0;
}

static int turn(struct supervisor *s)
{
    struct farm *f = &s->farm;
    uint64_t now = clock_ns();
    const uint32_t heard = enlist_turn(f, now);
    uint32_t did = links_turn(f, now);
    int r = 0;

    did += front_turn(f, now);
    give_turn(f, now);
    addresses_flush(f);
    settle_flush(f);
    if (!mailbox_is_empty(s->desk.mailbox))
        mailbox_run(s->desk.mailbox);
    atomic_store_explicit(&s->desk.turned_ns, now, memory_order_relaxed);
    if (now >= s->ticked_ns + TICK_NS)
        r = tick(s, heard < ENLISTS_TURN, now);
    if (did)
        s->worked_ns = now;
    else if (now < s->worked_ns + s->spin_ns)
        clock_relax();
    else if (!s->is_over)
        wait_for_work(s);
    return r;
}

int supervisor_run(struct supervisor *s)
{
    struct stats_ledger sum;
    int r = 0;

    while (r == 0 && !s->is_over)
        r = turn(s);
    mailbox_close(s->desk.mailbox);
    stats_ledger(&s->farm.stats->g, &sum);
    log_info("farm", "ledger",
             "received=%llu accepted=%llu rejected=%llu failed=%llu in_flight=%llu",
             (unsigned long long)sum.received, (unsigned long long)sum.accepted,
             (unsigned long long)sum.rejected, (unsigned long long)sum.failed,
             (unsigned long long)sum.in_flight);
    return r;
}
