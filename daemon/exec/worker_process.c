/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/notify.h"
#include "log.h"

#define OPEN_MS 600000u /* for a device or a lane to open: a compiler may need minutes */

static int start(struct worker_process *p)
{
    int r = child_start("--worker", &p->child);

    p->n_starts += r == 0;
    return r;
}

/* Waits for the answer to the last request.  -EOWNERDEAD when the process ended instead; -EINTR
 * when that is not to be waited for. */
static int await_answer(const struct worker_process *p, struct worker_answer *ret_answer)
{
    struct pollfd fds[] = {{.fd = p->child.socket, .events = POLLIN},
                           {.fd = p->stop_fd[0], .events = POLLIN},
                           {.fd = p->stop_fd[1], .events = POLLIN},
                           {.fd = p->stop_fd[2], .events = POLLIN}};
    int n;

    do {
        n = poll(fds, sizeof fds / sizeof *fds, (int)OPEN_MS);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        return -ETIMEDOUT;
    if (!fds[0].revents)
        return -EINTR;
    n = fdmessage_receive(p->child.socket, ret_answer, sizeof *ret_answer, NULL, 0);
    if (n != (int)sizeof *ret_answer)
        return -EOWNERDEAD;
    return 0;
}

static int send_request(const struct worker_process *p, const struct worker_message *m,
                        const int *fds, uint32_t n_fds)
{
    int r = fdmessage_send(p->child.socket, m, worker_message_bytes(m->request), fds, n_fds, 0);

    return r == -EPIPE || r == -ECONNRESET ? -EOWNERDEAD : r;
}

static int ask(const struct worker_process *p, const struct worker_message *m, const int *fds,
               uint32_t n_fds, struct worker_answer *ret_answer)
{
    int r = send_request(p, m, fds, n_fds);

    return r < 0 ? r : await_answer(p, ret_answer);
}

/* The same file, for reading only. */
static int read_only(int fd)
{
    char path[64];
    int copy;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    copy = open(path, O_RDONLY | O_CLOEXEC);
    return copy < 0 ? -errno : copy;
}

static void describe_shard(const struct worker_shard *s, struct worker_shard_message *m)
{
    struct shm_geometry g = {0};

    if (s->regions)
        shm_window_geometry(s->regions, &g);
    *m = (struct worker_shard_message){.pool_at = s->pool->data_at,
                                       .pool_bytes = s->pool->bytes - s->pool->data_at,
                                       .window_at = g.at,
                                       .n_regions = g.n,
                                       .region_bytes = g.bytes,
                                       .region_data_at = g.data_at,
                                       .region_data_bytes = g.data_bytes};
}

static void describe(const struct worker_base *base, const char *backend, uint32_t index,
                     struct worker_setup_message *m)
{
    snprintf(m->backend, sizeof m->backend, "%s", backend);
    snprintf(m->backend_path, sizeof m->backend_path, "%s", base->config->backend_path);
    snprintf(m->cache_dir, sizeof m->cache_dir, "%s", base->config->cache_dir);
    m->index = index;
    m->log_level = log_level();
    m->log_format = log_format();
    m->spin_ns = base->spin_ns;
    m->max_layer = base->config->clients.max_layer;
    m->memory_mbytes = base->config->workers.memory_mbytes;
    m->pinned_mbytes = base->config->workers.pinned_mbytes;
    m->n_shards = base->n_shards;
    for (uint32_t i = 0; i < base->n_shards; i++)
        describe_shard(&base->shard[i], &m->shard[i]);
}

#define FDS_OF_SHARD 3u

/* The descriptors of a setup; returns how many, -errno. */
static int open_setup(const struct worker_process *p, const struct worker_base *base, int *fds)
{
    int *fd = fds;

    for (uint32_t n = 0; n < base->n_shards; n++, fd += FDS_OF_SHARD) {
        fd[0] = read_only(base->shard[n].pool->fd);
        fd[1] = base->shard[n].bell->page_fd;
        fd[2] = base->shard[n].bell->event_fd;
        if (fd[0] < 0)
            return fd[0];
    }
    *fd = life_page(p->life);
    return (int)(fd + 1 - fds);
}

int worker_process_begin(struct worker_process *p, const struct worker_base *base,
                         const char *backend, uint32_t index)
{
    struct worker_message m = {.request = WORKER_SETUP};
    int fds[WORKER_FDS_MAX], r, n = 0;

    memset(fds, -1, sizeof fds);
    p->life = NULL;
    r = start(p);
    if (r == 0)
        r = life_new(&p->life);
    if (r == 0)
        r = n = open_setup(p, base, fds);
    if (r > 0) {
        describe(base, backend, index, &m.setup);
        m.setup.is_quiet = p->is_quiet;
        m.setup.is_spare = p->is_spare;
        r = send_request(p, &m, fds, (uint32_t)n);
    }
    for (size_t i = 0; i < base->n_shards; i++)
        if (fds[FDS_OF_SHARD * i] >= 0)
            close(fds[FDS_OF_SHARD * i]);
    if (r < 0)
        worker_process_end(p, 0);
    return r;
}

int worker_process_ready(struct worker_process *p, struct trg_device_info *ret_info)
{
    struct worker_answer answer;
    int r;

    notify_starting(OPEN_MS / 1000);
    r = await_answer(p, &answer);
    if (r == 0)
        r = answer.result;
    if (r < 0) {
        worker_process_end(p, 0);
        return r;
    }
    *ret_info = answer.device;
    ret_info->name[sizeof ret_info->name - 1] = ret_info->pci[sizeof ret_info->pci - 1] = '\0';
    return 0;
}

/* ---------------------------------------------------------------- requests */

static int describe_step(const struct lane *lane, uint32_t step, struct worker_step_message *m)
{
    const struct menu_step *s = &lane->s.group->menu->steps[step];

    m->step = step;
    m->wanted = s->wanted;
    snprintf(m->name, sizeof m->name, "%s", s->name);
    memcpy(m->input, s->input, sizeof m->input);
    memcpy(m->product, s->product, sizeof m->product);
    m->n_params = (uint32_t)s->plugin->d.config_size;
    if (m->n_params > WORKER_PARAMS || strlen(s->plugin->path) >= WORKER_PATH) {
        log_error("worker", "the path of a plugin is too long", "file=\"%s\" most=%u",
                  s->plugin->path, WORKER_PATH - 1);
        return -ENAMETOOLONG;
    }
    snprintf(m->plugin, sizeof m->plugin, "%s", s->plugin->path);
    if (m->n_params)
        memcpy(m->params, s->params, m->n_params);
    return 0;
}

int worker_lane_describe(const struct lane *lane, struct worker_lane_message **ret_message)
{
    const struct group *g = lane->s.group;
    struct worker_lane_message *m = calloc(1, sizeof *m);
    uint32_t n = 0;
    int r = 0;

    if (!m)
        return -ENOMEM;
    snprintf(m->name, sizeof m->name, "%s", lane->s.stats->name);
    m->warm_up = lane->s.warm_up;
    m->rank = lane->s.rank;
    m->has_cpus = sched_getaffinity(0, sizeof m->cpus, &m->cpus) == 0;
    m->shape = lane->arena.shape;
    m->head = g->step;
    m->members = g->menu->steps[g->step].members;
    m->n_inputs = g->n_inputs;
    memcpy(m->input, g->input, sizeof m->input);
    for (uint64_t left = m->members; r == 0 && left; left &= left - 1)
        r = describe_step(lane, (uint32_t)__builtin_ctzll(left), &m->step[n++]);
    if (r < 0) {
        free(m);
        return r;
    }
    *ret_message = m;
    return 0;
}

int worker_process_lane(struct worker_process *p, struct lane *const *lanes, uint32_t n_shards,
                        const struct worker_lane_message *message)
{
    struct worker_message *m = calloc(1, sizeof *m);
    struct worker_answer answer;
    int fds[WORKER_FDS_MAX], r;
    uint32_t n_fds = 0;

    if (!m)
        return -ENOMEM;
    m->request = WORKER_LANE;
    m->lane = *message;
    m->lane.is_quiet = p->is_quiet;
    for (uint32_t i = 0; i < n_shards; i++) {
        lane_reset_conditions(lanes[i]);
        fds[n_fds++] = lanes[i]->fd;
    }
    for (uint32_t i = 0; i < lanes[0]->n_members; i++)
        fds[n_fds++] = lanes[0]->member[i].plugin->fd;
    notify_starting(OPEN_MS / 1000);
    r = ask(p, m, fds, n_fds, &answer);
    free(m);
    if (r == -EOWNERDEAD && !p->is_quiet)
        log_error("worker", "a worker ended while it opened a lane", "lane=\"%s\" plugin=\"%s\"",
                  message->name, message->step[0].plugin);
    return r < 0 ? r : answer.result;
}

int worker_process_region(struct worker_process *p, uint32_t shard, const struct shm_region *region)
{
    struct worker_message m = {
        .request = WORKER_REGION,
        .region = {.shard = shard, .number = region->number, .epoch = region->epoch}};
    int fd = read_only(region->fd), r;

    if (fd < 0)
        return fd;
    r = fdmessage_send(p->child.socket, &m, worker_message_bytes(m.request), &fd, 1, MSG_DONTWAIT);
    close(fd);
    return r;
}

int worker_process_forget(struct worker_process *p, uint32_t shard, uint32_t number, uint32_t epoch)
{
    struct worker_message m = {.request = WORKER_FORGET,
                               .region = {.shard = shard, .number = number, .epoch = epoch}};

    return fdmessage_send(p->child.socket, &m, worker_message_bytes(m.request), NULL, 0,
                          MSG_DONTWAIT);
}

int worker_process_guest(struct worker_process *p, const struct worker_guest_message *message,
                         int page_fd, int plugin_fd)
{
    const int fds[2] = {page_fd, plugin_fd};
    struct worker_message *m = calloc(1, sizeof *m);
    int r;

    if (!m)
        return -ENOMEM;
    m->request = WORKER_GUEST;
    m->guest = *message;
    r = fdmessage_send(p->child.socket, m, worker_message_bytes(m->request), fds, 2, MSG_DONTWAIT);
    free(m);
    return r;
}

/* ---------------------------------------------------------------- end */

void worker_process_end(struct worker_process *p, uint32_t within_ms)
{
    child_end(&p->child, within_ms);
    life_free(p->life);
    p->life = NULL;
}

int worker_process_reap(struct worker_process *p, const char *name)
{
    const int pid = (int)p->child.pid, status = child_reap(&p->child);

    life_free(p->life);
    p->life = NULL;
    if (WIFSIGNALED(status))
        log_error("worker", "a worker was ended by a signal", "worker=\"%s\" pid=%d signal=\"%s\"",
                  name, pid, strsignal(WTERMSIG(status)));
    else
        log_error("worker", "a worker ended", "worker=\"%s\" pid=%d code=%d", name, pid,
                  WEXITSTATUS(status));
    return status;
}

/* ---------------------------------------------------------------- devices */

int worker_process_probe(const struct worker_base *base, const char *backend,
                         struct trg_device_info *infos, uint32_t most)
{
    struct worker_message m = {.request = WORKER_PROBE};
    struct worker_process p = {.stop_fd = {base->opening->told_fd, base->opening->cancel_fd, -1}};
    struct worker_answer answer = {0};
    uint32_t n = 0;
    int r;

    r = start(&p);
    describe(base, backend, 0, &m.setup);
    for (; r == 0; n++) {
        m.setup.index = n;
        r = ask(&p, &m, NULL, 0, &answer);
        if (r == 0 && answer.result < 0)
            break;
        if (r == 0 && n < most)
            infos[n] = answer.device;
    }
    child_end(&p.child, OPEN_MS / 100);
    if (r < 0)
        return r;
    return n < most ? (int)n : (int)most;
}
