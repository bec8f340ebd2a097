/* SPDX-License-Identifier: Apache-2.0 */
#include "member.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "log.h"
#include "member_inner.h"
#include "unixtime.h"

#define ENLIST_NS     (200 * NS_PER_MS) /* between two tries */
#define WORK_MS       5                 /* between two looks while an order is carried out */
#define FIRST_BEAT_MS 20u

/* ---------------------------------------------------------------- the menu */

static void forget_plugins(struct member *m)
{
    for (uint32_t i = 0; i < m->n_plugins; i++) {
        free(m->plugin[i].step);
        free(m->plugin[i].plugin);
        free(m->plugin[i].version);
    }
    m->n_plugins = 0;
}

void member_set_menu(struct member *m, const struct menu *menu)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    forget_plugins(m);
    m->menu_key = menu->hash;
    for (uint32_t i = 0; i < menu->n_steps; i++) {
        const struct plugin *p = menu->steps[i].plugin;
        Trigd__Farm__V1__StepPlugin *to = &m->plugin[m->n_plugins];

        trigd__farm__v1__step_plugin__init(to);
        to->step = strdup(menu->steps[i].name);
        to->plugin = strdup(p->d.name);
        to->version = strdup(p->d.version);
        m->plugins[m->n_plugins++] = to;
        if (!to->step || !to->plugin || !to->version)
            break; /* protobuf-c takes NULL for an empty text: the supervisor refuses it */
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---------------------------------------------------------------- to a supervisor */

static void tell(struct member *m, struct place *p, const Trigd__Farm__V1__FromNode *message)
{
    const size_t n = trigd__farm__v1__from_node__get_packed_size(message);

    if (n > sizeof m->packed)
        return;
    trigd__farm__v1__from_node__pack(message, m->packed);
    if (zmq_send(p->socket, m->packed, n, ZMQ_DONTWAIT) < 0) /* one that is not there asks later */
        member_dial_again(m, p);
}

static void enlist(struct member *m, struct place *p)
{
    Trigd__Farm__V1__FromNode message = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Enlist e = TRIGD__FARM__V1__ENLIST__INIT;
    const struct config *c = m->config;

    e.protocol = MEMBER_PROTOCOL;
    e.name = m->name;
    e.version = (char *)TRIGD_VERSION;
    e.endpoint = m->endpoint;
    e.instance = m->instance;
    e.rois = c->pool.rois < c->clients.credits ? c->pool.rois : c->clients.credits;
    e.bytes = (uint64_t)c->pool.mbytes << 20;
    e.unix_ns = unix_ns();
    e.shards = m->stats->n;
    message.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_ENLIST;
    message.enlist = &e;
    pthread_mutex_lock(&m->lock);
    e.menu_key = m->menu_key;
    e.n_plugins = m->n_plugins;
    e.plugins = m->plugins;
    tell(m, p, &message);
    pthread_mutex_unlock(&m->lock);
}

static void beat(struct member *m, struct place *p)
{
    Trigd__Farm__V1__FromNode message = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Beat b = TRIGD__FARM__V1__BEAT__INIT;
    struct run_view run;

    if (!m->hooks.is_live(m->hooks.ctx))
        return; /* a shard is stuck: nothing is decided there */
    for (uint32_t i = 0; i < m->stats->n; i++) {
        struct stats_ledger one;

        stats_ledger(&m->stats->of[i]->g, &one);
        b.received += one.received;
        b.accepted += one.accepted;
        b.rejected += one.rejected;
        b.failed += one.failed;
        b.in_flight += one.in_flight;
    }
    b.instance = m->instance;
    m->hooks.run(m->hooks.ctx, &run);
    b.run = run.number;
    b.lumi_block = run.block;
    b.is_taking = !strcmp(m->hooks.state(m->hooks.ctx), "ready") && runs_is_taking(m->runs);
    b.unix_ns = unix_ns();
    pthread_mutex_lock(&m->lock);
    b.menu_key = m->menu_key;
    pthread_mutex_unlock(&m->lock);
    message.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_BEAT;
    message.beat = &b;
    tell(m, p, &message);
}

static void leave(struct member *m, struct place *p, const char *why)
{
    Trigd__Farm__V1__FromNode message = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Leave l = TRIGD__FARM__V1__LEAVE__INIT;

    l.why = (char *)why;
    message.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_LEAVE;
    message.leave = &l;
    tell(m, p, &message);
}

static void say_done(struct member *m, struct place *p, uint64_t order, bool is_good,
                     const char *text)
{
    Trigd__Farm__V1__FromNode message = TRIGD__FARM__V1__FROM_NODE__INIT;
    Trigd__Farm__V1__Done d = TRIGD__FARM__V1__DONE__INIT;

    beat(m, p); /* so that the supervisor knows of the menu first */
    d.number = order;
    d.is_good = is_good;
    d.text = (char *)text;
    message.body_case = TRIGD__FARM__V1__FROM_NODE__BODY_DONE;
    message.done = &d;
    tell(m, p, &message);
}

/* ---------------------------------------------------------------- from a supervisor */

/* Another supervisor that has the same name: its operator does not know which one answers. */
static const struct place *find_twin(const struct member *m, const struct place *p,
                                     const Trigd__Farm__V1__Enrolled *e)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (&m->place[i] != p && m->place[i].instance && m->place[i].instance != e->instance &&
            !strcmp(m->place[i].supervisor, e->supervisor))
            return &m->place[i];
    return NULL;
}

static void refused(struct place *p, const char *text)
{
    p->instance = 0;
    p->due_ns = clock_ns() + ENLIST_NS;
    if (!strcmp(text, p->refusal))
        return;
    snprintf(p->refusal, sizeof p->refusal, "%s", text);
    log_error("farm", "refused", "supervisor=\"%s\" reason=\"%s\"", p->endpoint, text);
}

static void take_enrolled(struct member *m, struct place *p, const Trigd__Farm__V1__Enrolled *e)
{
    const struct place *twin = find_twin(m, p, e);
    char why[512];

    if (twin) {
        snprintf(why, sizeof why,
                 "two supervisors are called %s, at %s and %s; names of supervisors are unique",
                 e->supervisor, twin->endpoint, p->endpoint);
        leave(m, p, why);
        refused(p, why);
        return;
    }
    if (p->instance != e->instance)
        log_info("farm", "enlisted", "node=\"%s\" supervisor=\"%s\" endpoint=\"%s\"", m->name,
                 e->supervisor, p->endpoint);
    snprintf(p->supervisor, sizeof p->supervisor, "%s", e->supervisor);
    p->instance = e->instance;
    p->heartbeat_ms = e->heartbeat_ms ? e->heartbeat_ms : FIRST_BEAT_MS;
    p->refusal[0] = '\0';
    p->due_ns = 0;
}

/* Whether the order has been carried out already: by this supervisor, or for another one. */
static bool is_run_as(const struct member *m, struct place *p, const Trigd__Farm__V1__Order *o)
{
    struct run_view run;

    m->hooks.run(m->hooks.ctx, &run);
    if (o->what != TRIGD__FARM__V1__ORDER__WHAT__RUN_BEGIN)
        return run.number != o->run;
    if (run.number != o->run)
        return false;
    p->has_run = true;
    return true;
}

/* Begins or ends a run, or a lumi block of it. */
static void take_run_order(struct member *m, struct place *p, const Trigd__Farm__V1__Order *o)
{
    static const enum run_command command[] = {
        [TRIGD__FARM__V1__ORDER__WHAT__RUN_BEGIN] = RUN_DO_start,
        [TRIGD__FARM__V1__ORDER__WHAT__RUN_BLOCK] = RUN_DO_block,
        [TRIGD__FARM__V1__ORDER__WHAT__RUN_END] = RUN_DO_stop};
    char by[sizeof p->supervisor + 16], text[512] = "";
    const struct run_order order = {.command = command[o->what],
                                    .number = o->run,
                                    .block = o->lumi_block,
                                    .is_of_farm = true,
                                    .numbers = o->numbers,
                                    .by = by};

    uint64_t ticket;

    snprintf(by, sizeof by, "supervisor %s", p->supervisor);
    if (is_run_as(m, p, o)) {
        say_done(m, p, o->number, true, "it is so");
        return;
    }
    if (m->hooks.ask_run(m->hooks.ctx, &order, &ticket, text, sizeof text) < 0) {
        say_done(m, p, o->number, false, text);
        return;
    }
    p->has_run = true;
    if (o->what != TRIGD__FARM__V1__ORDER__WHAT__RUN_BLOCK) /* which is done at once */
        p->run = (struct order){.number = o->number, .look = m->hooks.look_run, .ticket = ticket};
}

static void take_order(struct member *m, struct place *p, const Trigd__Farm__V1__Order *o)
{
    const ProtobufCEnumValue *name = protobuf_c_enum_descriptor_get_value(
        &trigd__farm__v1__order__what__descriptor, (int)o->what);
    char text[256] = "";

    log_info("farm", "order", "supervisor=\"%s\" order=%s run=%u lumi_block=%u", p->supervisor,
             name ? name->name : "?", o->run, o->lumi_block);
    if (o->what == TRIGD__FARM__V1__ORDER__WHAT__RELOAD) {
        p->reload = (struct order){.number = o->number,
                                   .look = m->hooks.look_reload,
                                   .ticket = m->hooks.ask_reload(m->hooks.ctx)};
    } else if (o->what >= TRIGD__FARM__V1__ORDER__WHAT__RUN_BEGIN &&
               o->what <= TRIGD__FARM__V1__ORDER__WHAT__RUN_END) {
        take_run_order(m, p, o);
    } else if (o->what == TRIGD__FARM__V1__ORDER__WHAT__QUIT) {
        const int r = m->hooks.quit(m->hooks.ctx, text, sizeof text);

        say_done(m, p, o->number, r == 0, text);
    } else {
        say_done(m, p, o->number, false, "this node does not know the order");
    }
}

static void take(struct member *m, struct place *p, const Trigd__Farm__V1__ToNode *t)
{
    switch (t->body_case) {
    case TRIGD__FARM__V1__TO_NODE__BODY_ENROLLED:
        take_enrolled(m, p, t->enrolled);
        break;
    case TRIGD__FARM__V1__TO_NODE__BODY_REFUSED:
        refused(p, t->refused->text);
        break;
    case TRIGD__FARM__V1__TO_NODE__BODY_ORDER:
        take_order(m, p, t->order);
        break;
    case TRIGD__FARM__V1__TO_NODE__BODY_WHO:
        p->instance = 0;
        p->due_ns = 0;
        break;
    default:
        break; /* of a later version */
    }
}

static void receive(struct member *m, struct place *p)
{
    for (;;) {
        const int n = zmq_recv(p->socket, m->packed, sizeof m->packed, ZMQ_DONTWAIT);
        Trigd__Farm__V1__ToNode *t;

        if (n < 0)
            return;
        t = n > (int)sizeof m->packed
                ? NULL
                : trigd__farm__v1__to_node__unpack(NULL, (size_t)n, m->packed);
        if (!t) {
            log_warn("farm", "a message of a supervisor cannot be read", "endpoint=\"%s\"",
                     p->endpoint);
            continue;
        }
        take(m, p, t);
        trigd__farm__v1__to_node__free_unpacked(t, NULL);
    }
}

/* ---------------------------------------------------------------- the thread */

/* Whether all accounts are on their way. */
static bool send_accounts(struct member *m, struct place *p)
{
    while (p->has_run) {
        if (!p->account)
            p->account = runs_next_message(m->runs);
        if (!p->account)
            break;
        if (p->account->n > MEMBER_MESSAGE)
            log_error("farm", "the account of a lumi block is too large to be sent", "bytes=%zu",
                      p->account->n);
        else if (zmq_send(p->socket, p->account->bytes, p->account->n, ZMQ_DONTWAIT) < 0)
            return false;
        runs_free_message(p->account);
        p->account = NULL;
    }
    return true;
}

static void look_at_order(struct member *m, struct place *p, struct order *o)
{
    char text[512] = "";
    int r;

    if (!o->number)
        return;
    r = o->look(m->hooks.ctx, o->ticket, text, sizeof text);
    if (r == -EINPROGRESS || !send_accounts(m, p)) /* they are there before its Done */
        return;
    say_done(m, p, o->number, r == 0, text);
    o->number = 0;
}

static void look_at(struct member *m, struct place *p)
{
    const uint64_t now = clock_ns();

    receive(m, p);
    send_accounts(m, p);
    look_at_order(m, p, &p->reload);
    look_at_order(m, p, &p->run);
    if (now < p->due_ns)
        return;
    if (p->instance) {
        beat(m, p);
        p->due_ns = now + NS_PER_MS * p->heartbeat_ms;
    } else {
        enlist(m, p);
        p->due_ns = now + ENLIST_NS;
    }
}

/* How long it may sleep, ms. */
static int time_left(const struct member *m)
{
    const uint64_t now = clock_ns();
    uint64_t due = UINT64_MAX;
    bool is_busy = false;

    for (uint32_t i = 0; i < m->n; i++) {
        is_busy |= m->place[i].reload.number || m->place[i].run.number || m->place[i].account;
        if (m->place[i].due_ns < due)
            due = m->place[i].due_ns;
    }
    if (is_busy)
        return WORK_MS;
    return due <= now ? 0 : (int)((due - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* The daemon ends within a run. */
static void send_last_accounts(struct member *m, struct place *p)
{
    const uint64_t limit = clock_ns() + NS_PER_S;

    while (!send_accounts(m, p) && clock_ns() < limit)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *run(void *arg)
{
    struct member *m = arg;
    zmq_pollitem_t item[SUPERVISORS_MAX + 1] = {{.fd = m->stop_fd, .events = ZMQ_POLLIN}};

    for (uint32_t i = 0; i < m->n; i++)
        item[i + 1] = (zmq_pollitem_t){.socket = m->place[i].socket, .events = ZMQ_POLLIN};
    while (!item[0].revents) {
        for (uint32_t i = 0; i < m->n; i++)
            look_at(m, &m->place[i]);
        zmq_poll(item, (int)m->n + 1, time_left(m));
    }
    for (uint32_t i = 0; i < m->n; i++)
        send_last_accounts(m, &m->place[i]);
    for (uint32_t i = 0; i < m->n; i++)
        leave(m, &m->place[i], MEMBER_ENDS);
    return NULL;
}

/* ---------------------------------------------------------------- opening */

int member_open(const struct config *config, struct member **ret_member)
{
    struct member *m;
    int r;

    if (!config->supervisor.endpoints[0])
        return 0;
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->config = config;
    pthread_mutex_init(&m->lock, NULL);
    m->stop_fd = eventfd(0, EFD_CLOEXEC);
    r = m->stop_fd < 0 ? -errno : member_find_name(m);
    if (r == 0 && getrandom(&m->instance, sizeof m->instance, 0) != sizeof m->instance)
        r = -EIO;
    if (r == 0)
        r = member_find_endpoint(m);
    m->context = zmq_ctx_new();
    if (r == 0)
        r = m->context ? member_open_places(m) : -ENOMEM;
    if (r < 0) {
        member_stop(m);
        return r;
    }
    *ret_member = m;
    return 0;
}

int member_start(struct member *m, const struct stats_set *stats, const struct control_hooks *hooks,
                 struct runs *runs)
{
    int r;

    if (!m)
        return 0;
    m->stats = stats;
    m->hooks = *hooks;
    m->runs = runs;
    r = -pthread_create(&m->thread, NULL, run, m);
    m->has_thread = r == 0;
    return r;
}

void member_stop(struct member *m)
{
    if (!m)
        return;
    if (m->has_thread) {
        if (eventfd_write(m->stop_fd, 1) < 0)
            log_error("farm", "cannot stop the thread", "error=\"%s\"", strerror(errno));
        pthread_join(m->thread, NULL);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        zmq_close(m->place[i].socket);
        runs_free_message(m->place[i].account);
    }
    if (m->context)
        zmq_ctx_term(m->context);
    if (m->stop_fd >= 0)
        close(m->stop_fd);
    keyfile_forget(&m->own);
    keyfile_forget(&m->supervisors);
    forget_plugins(m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}
