/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/guests.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "clock.h"
#include "config/yamlfile.h"
#include "exec/engine.h"
#include "exec/worker_wire.h"
#include "log.h"
#include "plugin/plugin_yaml.h"

#define LOOK_MS   10l    /* between two looks at all guests */
#define ANSWER_MS 2000   /* longest wait for what the operator wants */
#define LEAVE_MS  5000   /* longest wait for a guest that is to stop */
#define LONG_MS   60000u /* for open, save and close, and where a core is never free for a slice */
#define ENDS_MAX  3u     /* ends of workers with the guest in a row before it is disabled */
#define STEADY_NS (60 * NS_PER_S) /* a life so long is none of those */

enum guest_where { ABSENT, THERE, DISABLED, FINISHED };

struct guest {
    const struct config_guest *c;
    const struct plugin *plugin;
    struct worker_guest_message message;
    int page_fd;
    struct guest_page *page;
    struct guest_gate gate[SHARDS_MAX];
    struct stats_guest *stats;
    struct {
        uint64_t slices, us, unmet_us, yielded, over, saves;
    } before, seen; /* in earlier lives of the thread; in this one */

    struct worker *worker; /* NULL: the generation has none for it */
    enum guest_order wanted;
    enum guest_where where;
    uint32_t life; /* of the worker, in which it is there */
    uint32_t ends; /* of workers, in a row, with the guest */
    uint64_t sent_ns;
    uint64_t call_ns, call_cpu_ns; /* the call that is running, and the processor time before */
    char why[GUEST_TEXT];
};

struct guests {
    pthread_mutex_t lock; /* of everything but the gates */
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;
    uint32_t n;
    struct guest *guest[GUESTS_MAX];
};

/* ---------------------------------------------------------------- the configuration */

static int check_one(const struct config *c, uint32_t i, struct plugin_host *plugins,
                     const struct plugin **ret_plugin, void *params)
{
    const struct config_guest *g = &c->guests[i];
    const uint32_t before = yamlfile_problems(c->file);
    char where[64], label[96], why[512] = "";
    const struct plugin *p;

    snprintf(where, sizeof where, "guests[%u].plugin", i);
    snprintf(label, sizeof label, "guest \"%.63s\"", g->guest);
    if (plugin_host_get(plugins, g->plugin, &p, why, sizeof why) < 0) {
        yamlfile_problem(c->file, where, "%s: %s", label, why);
        return -EINVAL;
    }
    *ret_plugin = p;
    if (!(p->d.flags & TRG_PLUGIN_GUEST))
        yamlfile_problem(c->file, where,
                         "%s: plugin %s is no guest: it takes RoIs, in a step of a menu", label,
                         p->d.name);
    else if (!plugin_runs_on(p, g->backend))
        yamlfile_problem(c->file, where, "%s: plugin %s runs on %s, not on %s", label, p->d.name,
                         p->d.backends, g->backend);
    snprintf(where, sizeof where, "guests[%u].params", i);
    plugin_read_params(c->file, where, label, p, params);
    return yamlfile_problems(c->file) > before ? -EINVAL : 0;
}

int guests_check(const struct config *c, struct plugin_host *plugins)
{
    int r = 0;

    for (uint32_t i = 0; i < c->n_guests; i++) {
        _Alignas(8) unsigned char params[WORKER_PARAMS];
        const struct plugin *p;

        if (check_one(c, i, plugins, &p, params) < 0)
            r = -EINVAL;
    }
    return r;
}

static int describe(struct guest *g)
{
    struct worker_guest_message *m = &g->message;
    const struct config_guest *c = g->c;

    if (snprintf(m->folder, sizeof m->folder, "%s/%s", c->folder, c->guest) >=
            (int)sizeof m->folder ||
        strlen(g->plugin->path) >= sizeof m->plugin)
        return -ENAMETOOLONG;
    snprintf(m->name, sizeof m->name, "%s", c->guest);
    snprintf(m->plugin, sizeof m->plugin, "%s", g->plugin->path);
    m->is_partition = !strcmp(c->when, "partition");
    m->percent = c->percent;
    m->slice_us = c->slice_us;
    m->checkpoint_s = c->checkpoint_s;
    m->memory_mbytes = c->memory_mbytes;
    m->has_cpus = sched_getaffinity(0, sizeof m->cpus, &m->cpus) == 0;
    return folder_make(m->folder);
}

static int open_one(const struct config *c, uint32_t i, struct plugin_host *plugins,
                    struct stats *stats, struct guest *g)
{
    int r;

    g->c = &c->guests[i];
    g->wanted = g->c->start ? GUEST_RUN : GUEST_STOP;
    r = check_one(c, i, plugins, &g->plugin, g->message.params);
    if (r == 0)
        r = describe(g);
    if (r == 0)
        r = guest_page_make(&g->page_fd, &g->page);
    if (r < 0)
        return r;
    for (uint32_t k = 0; k < SHARDS_MAX; k++)
        g->gate[k].busy = &g->page->busy[k];
    g->stats = stats_guest_get(stats, g->c->guest);
    return g->stats ? 0 : -ENOSPC;
}

/* ---------------------------------------------------------------- its counters */

static uint64_t claimed(_Atomic uint64_t *claim, uint64_t seen)
{
    const uint64_t now = atomic_load_explicit(claim, memory_order_relaxed);

    return now > seen ? now : seen; /* a count never falls, whatever stands in the page */
}

static void take_counts(struct guest *g)
{
#define TAKE(name)                                        \
    g->seen.name = claimed(&g->page->name, g->seen.name); \
    stats_set(&g->stats->name, g->before.name + g->seen.name);
    TAKE(slices)
    TAKE(us)
    TAKE(unmet_us)
    TAKE(yielded)
    TAKE(over)
    TAKE(saves)
#undef TAKE
    stats_set(&g->stats->bytes, g->where == THERE ? atomic_load(&g->page->bytes) : 0);
    stats_set(&g->stats->is_running,
              g->where == THERE && atomic_load(&g->page->state) == GUEST_RUNNING);
}

/* A fresh thread begins to count anew. */
static void reset_page(struct guest *g)
{
    take_counts(g);
    g->before.slices += g->seen.slices;
    g->before.us += g->seen.us;
    g->before.unmet_us += g->seen.unmet_us;
    g->before.yielded += g->seen.yielded;
    g->before.over += g->seen.over;
    g->before.saves += g->seen.saves;
    memset(&g->seen, 0, sizeof g->seen);
    atomic_store(&g->page->slices, 0);
    atomic_store(&g->page->us, 0);
    atomic_store(&g->page->unmet_us, 0);
    atomic_store(&g->page->yielded, 0);
    atomic_store(&g->page->over, 0);
    atomic_store(&g->page->saves, 0);
    atomic_store(&g->page->bytes, 0);
    atomic_store(&g->page->since_ns, 0);
    atomic_store(&g->page->error, 0);
    atomic_store(&g->page->order, GUEST_RUN);
    atomic_store(&g->page->state, GUEST_OPENING);
}

/* ---------------------------------------------------------------- looking after one */

static void disable(struct guest *g, const char *why)
{
    g->where = DISABLED;
    snprintf(g->why, sizeof g->why, "%s", why);
    stats_add(&g->stats->disabled, 1);
    log_error("guest", "a guest is disabled: `trigctl guest start` starts it again",
              "guest=\"%s\" why=\"%s\"", g->c->guest, why);
}

/* Its worker ended.  A worker that ends while the guest's code runs may have ended because of it;
 * one that ends at other times too often likewise. */
static void note_end(struct guest *g, bool was_in_call)
{
    if (clock_ns() - g->sent_ns >= STEADY_NS)
        g->ends = 0;
    g->ends++;
    g->where = ABSENT;
    if (atomic_load(&g->page->state) == GUEST_FAILED) /* before: a fault that ended both */
        disable(g, strerror(-atomic_load(&g->page->error)));
    else if (was_in_call)
        disable(g, "its worker ended while the guest's code ran");
    else if (g->ends >= ENDS_MAX)
        disable(g, "its worker ended again and again");
    else
        log_warn("guest", "the worker of a guest ended: it goes on from its checkpoint",
                 "guest=\"%s\"", g->c->guest);
}

/* Whether a function of the plugin runs for too long.  A slice on a CPU has to have used the core
 * for that time: others go before it. */
static bool hangs(struct guest *g)
{
    const uint64_t since = atomic_load(&g->page->since_ns), now = clock_ns();
    const bool is_cpu = !strcmp(g->c->backend, "cpu");
    const uint64_t most = atomic_load(&g->page->is_slice) ? g->c->hang_ms : LONG_MS;
    uint64_t cpu = 0;

    if (!since || since > now)
        return false;
    if (since != g->call_ns) {
        g->call_ns = since;
        g->call_cpu_ns = 0;
        (void)worker_cpu_ns(g->worker, &g->call_cpu_ns); /* 0: all that it used counts */
    }
    if (now - since < most * NS_PER_MS)
        return false;
    if (!is_cpu || now - since >= (uint64_t)LONG_MS * NS_PER_MS)
        return true;
    return worker_cpu_ns(g->worker, &cpu) == 0 && cpu - g->call_cpu_ns >= most * NS_PER_MS;
}

static void look_at_state(struct guest *g)
{
    switch (atomic_load(&g->page->state)) {
    case GUEST_DONE:
        g->where = FINISHED;
        log_info("guest", "a guest is done", "guest=\"%s\" folder=\"%s\"", g->c->guest,
                 g->message.folder);
        break;
    case GUEST_STOPPED:
        g->where = ABSENT;
        break;
    case GUEST_FAILED:
        disable(g, strerror(-atomic_load(&g->page->error)));
        break;
    default:
        if (hangs(g)) {
            disable(g, atomic_load(&g->page->is_slice)
                           ? "a slice took longer than hang_ms"
                           : "opening, a checkpoint or closing took longer than a minute");
            worker_kill(g->worker, "its guest hangs");
        }
    }
}

static void send_it(struct guest *g)
{
    int r;

    if (worker_life(g->worker) & 1)
        return;
    reset_page(g);
    r = worker_guest(g->worker, &g->message, g->page_fd, g->plugin->fd, &g->life);
    if (r == -EAGAIN)
        return; /* at the next look */
    g->sent_ns = clock_ns();
    g->call_ns = 0;
    if (r < 0)
        disable(g, strerror(-r));
    else
        g->where = THERE;
}

static void look_at(struct guest *g)
{
    if (g->where == THERE && worker_life(g->worker) != g->life)
        note_end(g, atomic_load(&g->page->since_ns) != 0);
    if (g->where == THERE) {
        atomic_store(&g->page->order, g->wanted);
        look_at_state(g);
    }
    if (g->where == ABSENT && g->wanted == GUEST_RUN && g->worker)
        send_it(g);
    take_counts(g);
}

static void look_at_all(struct guests *g)
{
    pthread_mutex_lock(&g->lock);
    for (uint32_t i = 0; i < g->n; i++)
        look_at(g->guest[i]);
    pthread_mutex_unlock(&g->lock);
}

static void nap(void)
{
    const struct timespec t = {.tv_nsec = LOOK_MS * 1000000};

    nanosleep(&t, NULL);
}

static void *look_after(void *arg)
{
    struct guests *g = arg;

    while (!atomic_load(&g->stop)) {
        look_at_all(g);
        nap();
    }
    return NULL;
}

/* ---------------------------------------------------------------- the whole */

int guests_open(const struct config *c, struct plugin_host *plugins, struct stats *stats,
                struct guests **ret_guests)
{
    struct guests *g;
    int r = 0;

    if (!c->n_guests)
        return 0;
    g = calloc(1, sizeof *g);
    if (!g)
        return -ENOMEM;
    pthread_mutex_init(&g->lock, NULL);
    for (uint32_t i = 0; r == 0 && i < c->n_guests; i++) {
        struct guest *one = calloc(1, sizeof *one);

        if (!one) {
            r = -ENOMEM;
            break;
        }
        one->page_fd = -1;
        g->guest[g->n++] = one;
        r = open_one(c, i, plugins, stats, one);
    }
    if (r == 0)
        r = -pthread_create(&g->thread, NULL, look_after, g);
    g->has_thread = r == 0;
    if (r < 0)
        guests_close(g);
    else
        *ret_guests = g;
    return r;
}

/* Has a guest stop where it is, and waits for that.  With the lock. */
static void leave_worker(struct guest *g)
{
    const enum guest_order wanted = g->wanted;
    const uint64_t until = clock_ns() + LEAVE_MS * NS_PER_MS;

    g->wanted = GUEST_STOP;
    while (g->where == THERE && clock_ns() < until) {
        look_at(g);
        if (g->where == THERE)
            nap();
    }
    g->wanted = wanted;
    if (g->where == THERE)
        disable(g, "it did not stop in time");
    g->worker = NULL;
}

void guests_move(struct guests *g, struct generation *to)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    for (uint32_t i = 0; i < g->n; i++) {
        struct guest *one = g->guest[i];

        leave_worker(one);
        one->worker = generation_guest_worker(to, one->c->backend, one->c->index);
        if (!one->worker && one->where != DISABLED)
            disable(one, "its device is not there");
    }
    pthread_mutex_unlock(&g->lock);
}

void guests_close(struct guests *g)
{
    if (!g)
        return;
    atomic_store(&g->stop, true);
    if (g->has_thread)
        pthread_join(g->thread, NULL);
    for (uint32_t i = 0; i < g->n; i++) {
        leave_worker(g->guest[i]);
        guest_page_unmap(g->guest[i]->page);
        if (g->guest[i]->page_fd >= 0)
            close(g->guest[i]->page_fd);
        free(g->guest[i]);
    }
    pthread_mutex_destroy(&g->lock);
    free(g);
}

struct guest_gate *guests_gate(struct guests *g, const char *backend, uint32_t index,
                               uint32_t shard)
{
    for (uint32_t i = 0; g && i < g->n; i++)
        if (!strcmp(g->guest[i]->c->backend, backend) && g->guest[i]->c->index == index)
            return &g->guest[i]->gate[shard];
    return NULL;
}

/* ---------------------------------------------------------------- the operator */

static const char *state_of(const struct guest *g)
{
    static const char *const states[] = {"opening", "waiting", "running", "paused",
                                         "done",    "stopped", "failed"};
    const uint32_t state = atomic_load(&g->page->state);

    if (g->where == DISABLED)
        return "disabled";
    if (g->where == FINISHED)
        return "done";
    if (g->where == ABSENT)
        return g->wanted == GUEST_STOP ? "stopped" : "starting";
    return state < sizeof states / sizeof *states ? states[state] : "unknown";
}

/* Whether it is as the operator wants it, or cannot be. */
static bool is_settled(const struct guest *g)
{
    const uint32_t state = atomic_load(&g->page->state);

    if (g->where != THERE)
        return g->where != ABSENT || g->wanted != GUEST_RUN;
    return g->wanted == GUEST_RUN ? state == GUEST_RUNNING || state == GUEST_WAITING
                                  : g->wanted == GUEST_PAUSE && state == GUEST_PAUSED;
}

static struct guest *find(struct guests *g, const char *name)
{
    for (uint32_t i = 0; g && i < g->n; i++)
        if (!strcmp(g->guest[i]->c->guest, name))
            return g->guest[i];
    return NULL;
}

static void take_order(struct guest *g, enum guest_order order)
{
    g->wanted = order;
    if (order == GUEST_RUN && g->where == DISABLED && g->worker) {
        g->where = ABSENT;
        g->ends = 0;
        g->why[0] = '\0';
    }
    if (order == GUEST_RUN && g->where == FINISHED)
        g->where = ABSENT;
    look_at(g);
}

int guests_order(struct guests *g, const char *name, enum guest_order order, char *text,
                 size_t bytes)
{
    const uint64_t until = clock_ns() + ANSWER_MS * NS_PER_MS;
    struct guest *one = find(g, name);
    bool is_good;

    if (!one) {
        snprintf(text, bytes, "there is no guest \"%.60s\"; `show guests` lists them", name);
        return -ENOENT;
    }
    pthread_mutex_lock(&g->lock);
    take_order(one, order);
    while (!is_settled(one) && clock_ns() < until) {
        pthread_mutex_unlock(&g->lock);
        nap();
        pthread_mutex_lock(&g->lock);
    }
    take_counts(one);
    is_good = order != GUEST_RUN || one->where != DISABLED;
    snprintf(text, bytes, "guest %s is %s%s%s", name, state_of(one), is_good ? "" : ": ",
             is_good ? "" : one->why);
    pthread_mutex_unlock(&g->lock);
    return is_good ? 0 : -EIO;
}

bool guests_look(struct guests *g, uint32_t i, struct guest_info *ret_info)
{
    struct guest *one;

    if (!g || i >= g->n)
        return false;
    one = g->guest[i];
    pthread_mutex_lock(&g->lock);
    take_counts(one); /* they go with the state */
    *ret_info = (struct guest_info){.stats = one->stats};
    snprintf(ret_info->name, sizeof ret_info->name, "%s", one->c->guest);
    snprintf(ret_info->plugin, sizeof ret_info->plugin, "%s", one->plugin->d.name);
    snprintf(ret_info->device, sizeof ret_info->device, "%s:%u", one->c->backend, one->c->index);
    snprintf(ret_info->when, sizeof ret_info->when, "%s", one->c->when);
    snprintf(ret_info->state, sizeof ret_info->state, "%s", state_of(one));
    snprintf(ret_info->why, sizeof ret_info->why, "%s", one->why);
    guest_page_text(one->page, ret_info->progress);
    pthread_mutex_unlock(&g->lock);
    return true;
}
