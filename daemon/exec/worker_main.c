/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_main.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "array.h"
#include "base/child.h"
#include "base/sandbox.h"
#include "exec/doorbell.h"
#include "exec/life.h"
#include "exec/runner.h"
#include "exec/worker_guest.h"
#include "exec/worker_regions.h"
#include "exec/worker_wire.h"
#include "log.h"
#include "plugin/plugin_host.h"

#define NAP_MS  1   /* between two pieces of clients' memory */
#define LOOK_MS 500 /* of a spare: whether clients have written to others */
#define END_S   3   /* runners that take longer to end are left behind */

struct worker_side_lane {
    struct runner_shard shard[SHARDS_MAX];
    struct group group;
    struct menu *menu; /* only the steps of the group */
    struct runner *runner;
    char name[WORKER_LANE_NAME];
};

struct worker_side {
    struct worker_setup_message setup;
    struct trg_host host;
    struct backends *backends;
    struct plugin_host *plugins;
    struct trg_device *device;
    struct worker_side_shard {
        struct doorbell bell;
        struct worker_regions *regions;
    } shard[SHARDS_MAX];
    struct pieces_budget budget;
    uint32_t n_lanes, room_lanes;
    struct worker_side_lane **lane;
    struct worker_guest *guest; /* NULL: none was here */
    _Atomic uint32_t batches;   /* that the lanes work on */
};

static void log_of_plugins(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    LOG_AT(level, "plugin", text, "%s", "");
}

/* ---------------------------------------------------------------- setup */

static int open_backend(struct worker_side *w)
{
    int r;

    log_set_level(w->setup.is_quiet ? LOG_NOTHING : (enum trg_level)w->setup.log_level);
    log_set_format((enum log_format)w->setup.log_format);
    w->host = (struct trg_host){
        .size = sizeof w->host, .ctx = w, .log = log_of_plugins, .cache_dir = w->setup.cache_dir};
    if (w->backends)
        return 0;
    r = backends_open(w->setup.backend_path, w->setup.backend, &w->host, &w->backends);
    if (r == 0)
        r = backends_device(w->backends, w->setup.backend, w->setup.index, &w->device);
    return r;
}

/* A GPU may read what clients keep in shared memory. */
static int expose_regions(struct worker_side *w)
{
    struct trg_device_info info;
    int r = 0;

    trg_device_info(w->device, &info);
    if (info.is_host)
        return 0;
    w->budget.most = (uint64_t)w->setup.pinned_mbytes << 20;
    w->budget.borrow_ns = w->setup.is_spare ? 0 : PIECE_BORROW_NS;
    w->budget.asked_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->budget.asked_fd < 0)
        return -errno;
    for (uint32_t i = 0; r == 0 && i < w->setup.n_shards; i++)
        r = worker_regions_expose(w->shard[i].regions, w->device, &w->budget);
    return r;
}

static int set_up(struct worker_side *w, const struct worker_setup_message *s, const int *fds)
{
    int r = s->n_shards && s->n_shards <= SHARDS_MAX ? 0 : -EBADMSG;

    w->setup = *s;
    for (uint32_t i = 0; r == 0 && i < s->n_shards; i++, fds += 3) {
        r = doorbell_map(fds[1], fds[2], &w->shard[i].bell);
        if (r == 0)
            r = worker_regions_new(&s->shard[i], s->max_layer, fds[0], &w->shard[i].regions);
        close(fds[0]);
    }
    if (r == 0) {
        r = life_hold(fds[0]);
        close(fds[0]);
    }
    if (r == 0)
        r = plugin_host_new(NULL, 0, &w->plugins);
    if (r == 0)
        r = open_backend(w);
    return r < 0 ? r : expose_regions(w);
}

static int probe(struct worker_side *w, const struct worker_setup_message *s,
                 struct trg_device_info *ret_info)
{
    struct trg_device *device;
    int r = 0;

    w->setup = *s;
    if (!w->backends) {
        r = open_backend(w);
        if (r < 0 && !w->backends)
            return r;
    }
    r = backends_device(w->backends, s->backend, s->index, &device);
    if (r == 0)
        trg_device_info(device, ret_info);
    return r;
}

/* ---------------------------------------------------------------- lanes */

/* Builds what a runner wants to know of the menu. */
static int make_group(struct worker_side *w, const struct worker_lane_message *m,
                      const int *plugins, struct worker_side_lane *lane)
{
    char why[512];
    uint32_t n = 0;

    lane->menu = calloc(1, sizeof *lane->menu);
    if (!lane->menu)
        return -ENOMEM;
    lane->group = (struct group){.menu = lane->menu, .step = m->head, .n_inputs = m->n_inputs};
    memcpy(lane->group.input, m->input, sizeof m->input);
    for (uint64_t left = m->members; left; left &= left - 1, n++) {
        const struct worker_step_message *from = &m->step[n];
        struct menu_step *s = &lane->menu->steps[from->step];
        int r = plugin_host_open_copy(w->plugins, plugins[n], from->plugin, &s->plugin, why,
                                      sizeof why);

        if (r < 0) {
            log_error("worker", "a plugin cannot be loaded", "why=\"%s\"", why);
            return r;
        }
        s->name = strdup(from->name);
        s->params = calloc(1, from->n_params + 1u);
        if (!s->name || !s->params)
            return -ENOMEM;
        memcpy(s->params, from->params, from->n_params);
        memcpy(s->input, from->input, sizeof s->input);
        memcpy(s->product, from->product, sizeof s->product);
        s->head = m->head;
        s->wanted = from->wanted;
    }
    lane->menu->steps[m->head].members = m->members;
    for (uint32_t i = 0; i < m->n_inputs; i++) /* numbers of this process */
        lane->group.input[i].kind =
            lane->menu->steps[m->input[i].user].plugin->consumes[m->input[i].at];
    return group_list_conditions(&lane->group);
}

static void free_lane(struct worker_side_lane *lane)
{
    runner_close(lane->runner);
    for (uint32_t i = 0; lane->menu && i < MENU_STEPS_MAX; i++) {
        free(lane->menu->steps[i].name);
        free(lane->menu->steps[i].params);
    }
    free(lane->menu);
    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        arena_unmap(&lane->shard[i].arena);
    free(lane);
}

static int run_lane(struct worker_side *w, const struct worker_lane_message *m,
                    struct worker_side_lane *lane)
{
    const struct runner_setup setup = {.n_shards = w->setup.n_shards,
                                       .shard = lane->shard,
                                       .group = &lane->group,
                                       .device = w->device,
                                       .host = &w->host,
                                       .name = lane->name,
                                       .warm_up = m->warm_up,
                                       .rank = m->rank,
                                       .spin_ns = w->setup.spin_ns,
                                       .batches = &w->batches};

    if (m->has_cpus && sched_setaffinity(0, sizeof m->cpus, &m->cpus) < 0)
        log_warn("worker", "a lane cannot be pinned", "lane=\"%s\" error=\"%s\"", lane->name,
                 strerror(errno));
    return runner_open(&setup, &lane->runner); /* its thread inherits the cores */
}

/* `fds`: the arenas, then the plugins of the members. */
static int add_lane(struct worker_side *w, const struct worker_lane_message *m, const int *fds)
{
    struct worker_side_lane *lane;
    int r = 0;

    if (array_grow(&w->lane, w->n_lanes, &w->room_lanes, sizeof(struct worker_side_lane *)) < 0)
        return -ENOMEM;
    lane = calloc(1, sizeof *lane);
    if (!lane)
        return -ENOMEM;
    memcpy(lane->name, m->name, sizeof lane->name);
    for (uint32_t i = 0; r == 0 && i < w->setup.n_shards; i++) {
        struct worker_side_shard *s = &w->shard[i];

        lane->shard[i] = (struct runner_shard){.memory = worker_regions_memory(s->regions),
                                               .done_fd = s->bell.event_fd,
                                               .sleeping = s->bell.sleeping};
        r = arena_map(&m->shape, fds[i], &lane->shard[i].arena);
    }
    if (r == 0)
        r = make_group(w, m, fds + w->setup.n_shards, lane);
    if (r == 0)
        r = run_lane(w, m, lane);
    if (r < 0) {
        free_lane(lane);
        return r;
    }
    w->lane[w->n_lanes++] = lane;
    return 0;
}

/* One of that name that is there is closed: the front has no batch in it. */
static int add_or_replace(struct worker_side *w, const struct worker_lane_message *m,
                          const int *fds)
{
    uint32_t i = 0;
    int r;

    while (i < w->n_lanes && strcmp(w->lane[i]->name, m->name) != 0)
        i++;
    if (i < w->n_lanes) {
        free_lane(w->lane[i]);
        w->lane[i] = w->lane[--w->n_lanes];
    }
    if (m->is_quiet)
        log_set_level(LOG_NOTHING);
    r = add_lane(w, m, fds);
    log_set_level((enum trg_level)w->setup.log_level);
    return r;
}

/* ---------------------------------------------------------------- serving */

static void answer(const struct worker_answer *a)
{
    int r = fdmessage_send(CHILD_SOCKET, a, sizeof *a, NULL, 0, 0);

    if (r < 0 && r != -EPIPE)
        log_error("worker", "cannot answer the daemon", "error=\"%s\"", strerror(-r));
}

static void take_guest(struct worker_side *w, const struct worker_guest_message *m, const int *fds)
{
    const struct worker_guest_place place = {.device = w->device,
                                             .host = &w->host,
                                             .plugins = w->plugins,
                                             .batches = &w->batches,
                                             .spin_ns = w->setup.spin_ns};

    worker_guest_close(w->guest);
    w->guest = worker_guest_open(m, fds, &place);
}

static void serve_one(struct worker_side *w, const struct worker_message *m, int *fds)
{
    struct worker_answer a = {0};

    switch (m->request) {
    case WORKER_PROBE:
        a.result = probe(w, &m->setup, &a.device);
        answer(&a);
        break;
    case WORKER_SETUP:
        a.result = set_up(w, &m->setup, fds);
        for (uint32_t i = 0; i < WORKER_FDS_MAX; i++)
            fds[i] = -1; /* closed, or the doorbells' */
        if (a.result == 0) {
            trg_device_info(w->device, &a.device);
            a.result = sandbox_enter();
        }
        if (a.result == 0) {
            a.result = sandbox_limit_memory(w->setup.memory_mbytes);
        }
        log_set_level((enum trg_level)w->setup.log_level);
        answer(&a);
        break;
    case WORKER_LANE:
        w->setup.is_spare = false;
        w->budget.borrow_ns = PIECE_BORROW_NS;
        a.result = add_or_replace(w, &m->lane, fds);
        answer(&a);
        break;
    case WORKER_REGION:
    case WORKER_FORGET:
        if (m->region.shard < w->setup.n_shards)
            worker_regions_map(w->shard[m->region.shard].regions, &m->region,
                               m->request == WORKER_REGION ? fds[0] : -1);
        break;
    case WORKER_GUEST:
        take_guest(w, &m->guest, fds);
        break;
    default:
        log_error("worker", "an unknown request", "request=%d", (int)m->request);
    }
    for (uint32_t i = 0; i < WORKER_FDS_MAX; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Opens one piece of the memory of clients to the device, if runners asked for one. */
static bool open_piece(struct worker_side *w)
{
    for (uint32_t i = 0; i < w->setup.n_shards; i++)
        if (worker_regions_step(w->shard[i].regions))
            return true;
    return false;
}

/* A spare has no runners to ask for pieces. */
static void look_for_pieces(struct worker_side *w)
{
    for (uint32_t i = 0; i < w->setup.n_shards; i++)
        worker_regions_look(w->shard[i].regions);
}

/* Waits for the next request, and opens memory of clients meanwhile. */
static void await_request(struct worker_side *w)
{
    struct pollfd fd[2] = {{.fd = CHILD_SOCKET, .events = POLLIN},
                           {.fd = w->budget.asked_fd, .events = POLLIN}};
    uint64_t asked;

    for (;;) {
        const uint64_t rest_ms = pieces_rest_ns(&w->budget, clock_ns()) / NS_PER_MS;

        if (rest_ms || open_piece(w)) {
            if (poll(fd, 1, NAP_MS + (int)rest_ms)) /* runners use the driver as well */
                return;
            continue;
        }
        pieces_log(&w->budget);
        if (poll(fd, 2, w->setup.is_spare ? LOOK_MS : -1) == 0) {
            look_for_pieces(w);
        } else if (fd[0].revents || !fd[1].revents ||
                   (read(w->budget.asked_fd, &asked, sizeof asked) < 0 && errno != EAGAIN)) {
            return;
        }
    }
}

static void close_all(struct worker_side *w)
{
    worker_guest_close(w->guest);
    for (uint32_t i = 0; i < w->n_lanes; i++)
        free_lane(w->lane[i]);
    free(w->lane);
    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        worker_regions_free(w->shard[i].regions);
    backends_close(w->backends);
    plugin_host_free(w->plugins);
    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        doorbell_close(&w->shard[i].bell);
}

int worker_main(void)
{
    static struct worker_message m;
    static struct worker_side w;
    int fds[WORKER_FDS_MAX], n;

    w.budget.asked_fd = -1;
    child_enter();
    for (;;) {
        await_request(&w);
        n = fdmessage_receive(CHILD_SOCKET, &m, sizeof m, fds, WORKER_FDS_MAX);
        if (n <= 0)
            break;
        if (n < (int)sizeof m.request || n != (int)worker_message_bytes(m.request)) {
            log_error("worker", "a request of a wrong size", "bytes=%d", n);
            return 1;
        }
        serve_one(&w, &m, fds);
    }
    alarm(END_S); /* SIGALRM ends the process if a runner does not end */
    close_all(&w);
    return 0;
}
