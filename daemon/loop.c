/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/notify.h"
#include "base/signals.h"
#include "clock.h"
#include "exec/gather.h"
#include "flow/event_registry.h"
#include "log.h"
#include "logsink.h"
#include "member.h"
#include "monitor/control.h"
#include "plugin/inspector.h"
#include "plugin/trusted.h"
#include "runmenu.h"
#include "runsets.h"

#define TICK_NS (20 * NS_PER_MS)

struct loop {
    const struct config *config;
    struct trg_host host;
    struct plugin_host *plugins;
    struct backends *backends; /* with isolation: thread */
    struct devices *devices;
    struct affinity *affinity;
    struct gather_threads *gather_threads; /* NULL: the configuration has none */
    struct directory *directory;
    struct poison *poison;
    struct change_book *book;
    struct streams *streams;
    struct guests *guests;           /* NULL: the configuration has none */
    struct event_registry *registry; /* NULL: there is one shard */
    uint32_t n_shards;
    struct shard *shard[SHARDS_MAX]; /* the first one on the main thread */
    pthread_t thread[SHARDS_MAX];
    struct shard_thread { /* what the others are started with */
        struct loop *loop;
        struct shard *shard;
    } start[SHARDS_MAX];
    struct stats_set stats;
    struct keeper *keeper;
    struct control *control;
    struct worker_base base;
    struct opening opening;
    struct runcontrol run;
    struct control_hooks hooks;
    struct member *member; /* NULL: it is no node of a farm */
    int signal_fd;
    uint64_t ticked_ns;
};

/* ---------------------------------------------------------------- opening */

static void log_of_plugins(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    LOG_AT(level, "plugin", text, "%s", "");
}

static int open_signals(struct loop *l)
{
    sigset_t set;

    signals_fill(&set);
    l->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return l->signal_fd < 0 ? -errno : 0;
}

static int open_shards(struct loop *l)
{
    const uint64_t spin = affinity_spin_ns(l->affinity, l->config);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < l->n_shards; i++) {
        const struct shard_setup setup = {.config = l->config,
                                          .affinity = l->affinity,
                                          .directory = l->directory,
                                          .streams = l->streams,
                                          .shared = {.book = l->book,
                                                     .poison = l->poison,
                                                     .registry = l->registry,
                                                     .lumi = runs_lumi(l->run.runs)},
                                          .number = i,
                                          .n = l->n_shards,
                                          .spin_ns = spin};

        r = shard_open(&setup, &l->shard[i]);
        if (r < 0)
            return r;
        shard_describe(l->shard[i], &l->base.shard[i]);
        l->stats.of[l->stats.n++] = shard_stats(l->shard[i]);
    }
    return r;
}

static int open_devices(struct loop *l)
{
    const struct config *c = l->config;
    int r = 0;

    l->base.is_process = strcmp(c->isolation, "thread") != 0;
    l->base.config = c;
    l->base.n_shards = l->n_shards;
    l->base.spin_ns = affinity_spin_ns(l->affinity, c);
    l->base.host = &l->host;
    l->base.opening = &l->opening;
    if (!c->security.allow_writable_plugins)
        r = trusted_backends(c->backend_path);
    if (r == 0 && !l->base.is_process)
        r = backends_open(c->backend_path, NULL, &l->host, &l->backends);
    l->base.backends = l->backends;
    return r < 0 ? r : devices_open(&l->base, &l->devices);
}

static int start_gather_threads(struct loop *l)
{
    const uint32_t n = l->config->threads.gather_threads;
    int r;

    if (!n)
        return 0;
    affinity_enter_gather(l->affinity);
    r = gather_threads_start(n, affinity_spin_ns(l->affinity, l->config), &l->gather_threads);
    affinity_leave(l->affinity);
    return r;
}

static int open_base(struct loop *l)
{
    const struct config *c = l->config;
    int r = open_signals(l);

    if (r < 0)
        return r;
    l->host = (struct trg_host){
        .size = sizeof l->host, .ctx = l, .log = log_of_plugins, .cache_dir = c->cache_dir};
    r = affinity_open(c, &l->affinity);
    if (r < 0)
        return r;
    l->n_shards = affinity_shards(l->affinity, c);
    r = directory_new(l->n_shards, c->clients.max, &l->directory);
    if (r == 0 && c->workers.remember)
        r = poison_open(c, &l->poison);
    if (r == 0)
        r = change_book_new(&l->book);
    if (r == 0 && l->n_shards > 1)
        r = event_registry_new(c->events.open + l->n_shards, &l->registry);
    if (r == 0)
        r = streams_open(c, &l->streams);
    if (r == 0)
        r = open_shards(l);
    if (r == 0)
        r = start_gather_threads(l);
    if (r == 0)
        r = plugin_host_new(c->plugin_path, c->n_plugin_path, &l->plugins);
    if (r == 0 && !c->security.allow_writable_plugins)
        plugin_host_guard(l->plugins);
    if (r == 0 && strcmp(c->isolation, "thread") != 0)
        r = plugin_host_inspect(l->plugins, INSPECTOR_ANSWER_MS);
    if (r == 0)
        r = guests_open(c, l->plugins, shard_stats(l->shard[0]), &l->guests);
    return r < 0 ? r : open_devices(l);
}

/* A new menu takes effect: the next beat tells the supervisors. */
static int swap(void *ctx, struct generation *g)
{
    struct loop *l = ctx;
    const int r = runcontrol_swap(&l->run, g);

    if (r < 0)
        return r;
    runs_set_menu(l->run.runs, g->menu);
    member_set_menu(l->member, g->menu);
    guests_move(l->guests, g);
    keeper_ask_run(l->keeper);
    return 0;
}

static void write_accounts(void *ctx)
{
    struct loop *l = ctx;

    runmenu_write_accounts(&l->run);
}

static void work_on_run(void *ctx)
{
    const struct loop *l = ctx;

    runs_work(l->run.runs);
    runsets_keep(&l->run);
}

static void tell_shards(void *ctx)
{
    const struct loop *l = ctx;

    runcontrol_tell(&l->run);
}

static void ask_run_work(void *ctx)
{
    const struct loop *l = ctx;

    keeper_ask_run(l->keeper);
}

static uint64_t ask_reload(void *ctx)
{
    const struct loop *l = ctx;

    return keeper_ask_reload(l->keeper);
}

static int look_reload(void *ctx, uint64_t number, char *text, size_t bytes)
{
    const struct loop *l = ctx;

    return keeper_look(l->keeper, number, text, bytes);
}

static struct account *take_accounts(void *ctx, bool is_over, uint32_t *ret_missing)
{
    const struct loop *l = ctx;

    return runmenu_take_accounts(&l->run, is_over, ret_missing);
}

static void begin_runs(struct loop *l)
{
    const struct runs_hooks hooks = {.ctx = l,
                                     .ask_reload = ask_reload,
                                     .look_reload = look_reload,
                                     .tell = tell_shards,
                                     .ask_work = ask_run_work,
                                     .take_accounts = take_accounts};

    runs_begin(l->run.runs, &hooks);
}

static void retire(void *ctx, struct engine *e)
{
    struct loop *l = ctx;

    keeper_retire(l->keeper, e);
}

static int open_menu(struct loop *l)
{
    struct engine_setup setup = {.base = l->base,
                                 .devices = l->devices,
                                 .plugins = l->plugins,
                                 .affinity = l->affinity,
                                 .gather_threads = l->gather_threads,
                                 .book = l->book,
                                 .guests = l->guests};
    struct generation *g;
    const struct keeper_hooks hooks = {
        .ctx = l, .swap = swap, .write_accounts = write_accounts, .run = work_on_run};
    int r = keeper_start(&setup, &hooks, &l->keeper);

    if (r < 0)
        return r;
    l->run.keeper = l->keeper;
    r = generation_open(&setup, 1, &g);
    if (r < 0)
        return r;
    runs_set_menu(l->run.runs, g->menu);
    member_set_menu(l->member, g->menu);
    guests_move(l->guests, g);
    r = runmenu_start_prescales(l->config->prescales, g->menu, l->book);
    for (uint32_t i = 0; i < l->n_shards; i++) {
        int error = r < 0 ? r : shard_begin(l->shard[i], g->engine[i], retire, l);

        if (error < 0 && !shard_dispatch(l->shard[i]))
            engine_leave(g->engine[i]);
        r = error;
    }
    return r;
}

static int open_control(struct loop *l, const char *config_path)
{
    struct control_view view = {.shards = &l->stats,
                                .config = l->config,
                                .config_path = config_path,
                                .plugins = l->plugins,
                                .devices = l->devices,
                                .poison = l->poison,
                                .guests = l->guests};

    runcontrol_hooks(&l->run, &view.hooks);
    l->hooks = view.hooks;
    return control_start(&view, &l->control);
}

int loop_open(const struct config *config, const char *config_path, struct loop **ret_loop)
{
    struct loop *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->config = config;
    l->signal_fd = -1;
    r = opening_init(&l->opening);
    if (r < 0) {
        free(l);
        return r;
    }
    r = runs_open(config, config_path, &l->stats, &l->run.runs);
    if (r == 0)
        r = open_base(l);
    l->run.config = config;
    l->run.shard = l->shard;
    l->run.book = l->book;
    l->run.n_shards = l->n_shards;
    if (r == 0)
        r = member_open(config, &l->member);
    if (r == 0)
        r = open_menu(l);
    if (r == 0)
        r = open_control(l, config_path);
    if (r < 0) {
        loop_close(l);
        return r;
    }
    *ret_loop = l;
    return 0;
}

void loop_close(struct loop *l)
{
    if (!l)
        return;
    member_stop(l->member);
    control_stop(l->control);
    guests_close(l->guests); /* their workers go with the engines */
    opening_cancel(&l->opening);
    atomic_store(&l->run.is_over, true);
    for (uint32_t i = 0; i < l->n_shards; i++)
        if (l->shard[i]) /* its engines go to the keeper, which closes them and ends */
            shard_end(l->shard[i]);
    keeper_stop(l->keeper);
    gather_threads_stop(l->gather_threads);
    streams_close(l->streams);
    for (uint32_t i = 0; i < l->n_shards; i++)
        shard_close(l->shard[i]);
    poison_close(l->poison);
    event_registry_free(l->registry);
    change_book_free(l->book);
    devices_close(l->devices);
    backends_close(l->backends);
    directory_free(l->directory);
    affinity_close(l->affinity);
    runs_close(l->run.runs);
    plugin_host_free(l->plugins);
    opening_fini(&l->opening);
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    free(l);
}

/* ---------------------------------------------------------------- running */

static void read_signals(struct loop *l)
{
    struct signalfd_siginfo info;

    while (read(l->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            keeper_ask_reload(l->keeper);
        else
            runcontrol_stop(&l->run, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
    }
}

/* What the main thread does beside its shard. */
static void look_after(struct loop *l, bool is_signalled)
{
    const uint64_t now = clock_ns();

    runcontrol_look(&l->run);
    if (is_signalled)
        read_signals(l);
    if (now < l->ticked_ns + TICK_NS)
        return;
    l->ticked_ns = now;
    read_signals(l);
    runcontrol_tick(&l->run);
    stats_set(&l->stats.of[0]->g.log_dropped, logsink_dropped());
    if (runcontrol_is_live(&l->run))
        notify_watchdog(now);
}

static void *run_shard(void *arg)
{
    const struct shard_thread *t = arg;
    struct shard_order order;

    shard_enter(t->shard);
    while (!atomic_load(&t->loop->run.is_over)) {
        runcontrol_order(&t->loop->run, -1, &order);
        shard_turn(t->shard, &order);
    }
    return NULL;
}

static int start_shards(struct loop *l, uint32_t *ret_started)
{
    int r = 0;

    for (*ret_started = 1; r == 0 && *ret_started < l->n_shards; ++*ret_started) {
        const uint32_t i = *ret_started;

        l->start[i] = (struct shard_thread){.loop = l, .shard = l->shard[i]};
        r = -pthread_create(&l->thread[i], NULL, run_shard, &l->start[i]);
        if (r < 0)
            return r;
    }
    return r;
}

static void log_ledger(const struct loop *l)
{
    struct stats_ledger sum = {0};

    for (uint32_t i = 0; i < l->n_shards; i++) {
        struct stats_ledger one;

        stats_ledger(&l->stats.of[i]->g, &one);
        sum.received += one.received;
        sum.accepted += one.accepted;
        sum.rejected += one.rejected;
        sum.failed += one.failed;
        sum.in_flight += one.in_flight;
    }
    log_info("daemon", "ledger",
             "received=%llu accepted=%llu rejected=%llu failed=%llu in_flight=%llu",
             (unsigned long long)sum.received, (unsigned long long)sum.accepted,
             (unsigned long long)sum.rejected, (unsigned long long)sum.failed,
             (unsigned long long)sum.in_flight);
}

int loop_run(struct loop *l)
{
    struct shard_order order;
    uint32_t started;
    bool is_idle = true;
    int r = start_shards(l, &started);

    if (r < 0) {
        log_error("daemon", "cannot start a thread for each shard", "error=\"%s\"", strerror(-r));
        atomic_store(&l->run.is_over, true);
    }
    shard_enter(l->shard[0]);
    if (r == 0) {
        runcontrol_ready(&l->run);
        keeper_ask_run(l->keeper);
        begin_runs(l);
        r = member_start(l->member, &l->stats, &l->hooks, l->run.runs);
        if (r < 0)
            atomic_store(&l->run.is_over, true);
        notify_ready();
    }
    while (!atomic_load(&l->run.is_over)) {
        runcontrol_order(&l->run, l->signal_fd, &order);
        look_after(l, shard_turn(l->shard[0], &order));
    }
    for (uint32_t i = 1; i < started; i++)
        pthread_join(l->thread[i], NULL);
    for (uint32_t i = 0; i < l->n_shards; i++) {
        mailbox_close(shard_mailbox(l->shard[i]));
        is_idle &= shard_is_idle(l->shard[i]);
    }
    runmenu_end_accounts(&l->run);
    runsets_keep_last(&l->run);
    log_ledger(l);
    if (r < 0)
        return r;
    /* what hangs in a worker ends with it; a thread cannot be ended */
    return l->base.is_process || is_idle ? 0 : -EBUSY;
}
