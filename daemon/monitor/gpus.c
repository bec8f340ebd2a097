/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/gpus.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fdmessage.h"
#include "clock.h"
#include "log.h"

#define RETRY_MOST_MS 60000u
#define END_MS        1000 /* for a killed process to be gone */
#define MEANS         11u  /* readings kept: 10 s */

struct gpus {
    struct gpus_setup setup;
    struct child child;
    uint32_t retry_ms; /* next pause */
    pthread_t thread;
    int stop_fd;

    pthread_mutex_t lock; /* of all below */
    struct gpu_message last;
    uint64_t last_ns; /* when it came; 0: none is to be shown */
    struct {
        uint64_t ns;
        uint64_t energy_mj[GPUS_MAX];
    } mean[MEANS];
    uint32_t n_means; /* since the process was started; the newest at (n_means - 1) % MEANS */
    struct gpus_counts counts;
};

/* ---------------------------------------------------------------- what it sent */

/* Text from another process: it ends, and is one line. */
static void clean(char *text, size_t bytes)
{
    text[bytes - 1] = '\0';
    for (; *text; text++)
        if (!isprint((unsigned char)*text) || *text == '"')
            *text = '?';
}

static bool is_message(struct gpu_message *m, int n)
{
    const size_t head = offsetof(struct gpu_message, gpu);

    if (n < (int)head || m->n > GPUS_MAX || (size_t)n != head + m->n * sizeof *m->gpu)
        return false;
    clean(m->why, sizeof m->why);
    for (uint32_t i = 0; i < m->n; i++) {
        clean(m->gpu[i].pci, sizeof m->gpu[i].pci);
        clean(m->gpu[i].name, sizeof m->gpu[i].name);
    }
    return true;
}

static void keep(struct gpus *g, const struct gpu_message *m)
{
    const uint64_t now = clock_ns();
    uint32_t at;

    pthread_mutex_lock(&g->lock);
    if (m->n != g->last.n)
        g->n_means = 0; /* GPUs have other places now */
    at = g->n_means++ % MEANS;
    g->mean[at].ns = now;
    for (uint32_t i = 0; i < m->n; i++)
        g->mean[at].energy_mj[i] = m->gpu[i].energy_mj;
    g->last = *m;
    g->last_ns = now;
    pthread_mutex_unlock(&g->lock);
}

static void forget(struct gpus *g)
{
    pthread_mutex_lock(&g->lock);
    g->last_ns = 0;
    g->n_means = 0;
    pthread_mutex_unlock(&g->lock);
}

/* ---------------------------------------------------------------- the process */

static void give_up(struct gpus *g)
{
    pthread_mutex_lock(&g->lock);
    g->counts.is_given_up = true;
    pthread_mutex_unlock(&g->lock);
}

/* Ends and reaps it; one that does not end is left behind, and there will be no other. */
static void end_process(struct gpus *g)
{
    struct pollfd fd = {.fd = g->child.pidfd, .events = POLLIN};

    if (!g->child.pid)
        return;
    child_kill(&g->child);
    if (poll(&fd, 1, END_MS) > 0) {
        child_reap(&g->child);
        return;
    }
    log_error("gpus", "the process that reads GPUs does not end and is left behind", "pid=%d",
              (int)g->child.pid);
    close(g->child.socket);
    close(g->child.pidfd);
    child_init(&g->child);
    give_up(g);
}

static void count_end(struct gpus *g, bool is_hung)
{
    pthread_mutex_lock(&g->lock);
    g->counts.ended += !is_hung;
    g->counts.hung += is_hung;
    pthread_mutex_unlock(&g->lock);
}

/* It closed its socket, which it does by ending. */
static void say_end(struct gpus *g)
{
    struct pollfd fd = {.fd = g->child.pidfd, .events = POLLIN};
    int status;

    count_end(g, false);
    if (poll(&fd, 1, END_MS) <= 0) {
        end_process(g);
        return;
    }
    status = child_reap(&g->child);
    log_warn("gpus", "the process that reads GPUs ended", "how=\"%s %d\" again_in_ms=%u",
             WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), g->retry_ms);
}

/* Whether another message may follow. */
static bool take_message(struct gpus *g)
{
    struct gpu_message m;
    const int n = fdmessage_receive(g->child.socket, &m, sizeof m, NULL, 0);

    if (n <= 0) {
        say_end(g);
        return false;
    }
    if (!is_message(&m, n)) {
        log_error("gpus", "the process that reads GPUs sent what is no reading", "bytes=%d", n);
        count_end(g, false);
        end_process(g);
        return false;
    }
    if (m.result == 0) {
        keep(g, &m);
        g->retry_ms = g->setup.retry_ms;
        return true;
    }
    if (m.result == -ENOENT) {
        log_warn("gpus", "GPUs are not read: there is no NVML", "error=\"%s\"", m.why);
        give_up(g);
    } else {
        log_warn("gpus", "GPUs are not read", "error=\"%s\" again_in_ms=%u", m.why, g->retry_ms);
        count_end(g, false);
    }
    end_process(g);
    return false;
}

/* Whether it is told to stop within that time; `socket` (-1: none) may end the wait before. */
static bool wait_for(const struct gpus *g, int socket, uint32_t ms, bool *ret_has_message)
{
    struct pollfd fd[] = {{.fd = g->stop_fd, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    int n;

    do {
        n = poll(fd, 2, (int)ms);
    } while (n < 0 && errno == EINTR);
    *ret_has_message = fd[1].revents != 0;
    return fd[0].revents != 0;
}

/* Takes messages until the process is gone; whether to stop. */
static bool listen_to(struct gpus *g)
{
    bool has_message;

    for (;;) {
        if (wait_for(g, g->child.socket, g->setup.hang_ms, &has_message))
            return true;
        if (has_message) {
            if (!take_message(g))
                return false;
            continue;
        }
        log_warn("gpus", "the process that reads GPUs hangs and is ended",
                 "within_ms=%u again_in_ms=%u", g->setup.hang_ms, g->retry_ms);
        count_end(g, true);
        end_process(g);
        return false;
    }
}

static void *run(void *arg)
{
    struct gpus *g = arg;
    bool is_over = false, none;

    while (!is_over && !g->counts.is_given_up) { /* written by this thread alone */
        if (child_start("--nvml", &g->child) == 0)
            is_over = listen_to(g);
        forget(g);
        if (is_over || g->counts.is_given_up)
            break;
        is_over = wait_for(g, -1, g->retry_ms, &none);
        g->retry_ms = 2 * g->retry_ms < RETRY_MOST_MS ? 2 * g->retry_ms : RETRY_MOST_MS;
    }
    end_process(g);
    return NULL;
}

/* ---------------------------------------------------------------- for everybody */

int gpus_start(const struct gpus_setup *setup, struct gpus **ret_gpus)
{
    struct gpus *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    g->setup = *setup;
    g->retry_ms = setup->retry_ms;
    child_init(&g->child);
    pthread_mutex_init(&g->lock, NULL);
    g->stop_fd = eventfd(0, EFD_CLOEXEC);
    r = g->stop_fd < 0 ? -errno : -pthread_create(&g->thread, NULL, run, g);
    if (r < 0) {
        if (g->stop_fd >= 0)
            close(g->stop_fd);
        pthread_mutex_destroy(&g->lock);
        free(g);
        return r;
    }
    *ret_gpus = g;
    return 0;
}

void gpus_stop(struct gpus *g)
{
    const uint64_t one = 1;

    if (!g)
        return;
    if (write(g->stop_fd, &one, sizeof one) < 0)
        log_error("gpus", "cannot stop the thread", "error=\"%s\"", strerror(errno));
    pthread_join(g->thread, NULL);
    close(g->stop_fd);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* Mean power between the oldest and the newest reading that are kept. */
static double mean_watts(const struct gpus *g, uint32_t i)
{
    const uint32_t newest = (g->n_means - 1) % MEANS,
                   oldest = g->n_means < MEANS ? 0 : g->n_means % MEANS;
    const uint64_t from = g->mean[oldest].energy_mj[i], to = g->mean[newest].energy_mj[i];

    if (!(g->last.gpu[i].has & GPU_HAS_ENERGY) || newest == oldest || to < from)
        return NAN;
    return (double)(to - from) * 1e-3 /
           ((double)(g->mean[newest].ns - g->mean[oldest].ns) / (double)NS_PER_S);
}

uint32_t gpus_look(struct gpus *g, struct gpu list[GPUS_MAX])
{
    uint32_t n = 0;

    if (!g)
        return 0;
    pthread_mutex_lock(&g->lock);
    if (g->last_ns && clock_ns() - g->last_ns < g->setup.hang_ms * NS_PER_MS)
        for (; n < g->last.n; n++)
            list[n] = (struct gpu){.now = g->last.gpu[n], .watts = mean_watts(g, n)};
    pthread_mutex_unlock(&g->lock);
    return n;
}

void gpus_count(struct gpus *g, struct gpus_counts *ret_counts)
{
    pthread_mutex_lock(&g->lock);
    *ret_counts = g->counts;
    pthread_mutex_unlock(&g->lock);
}

void gpus_name(const struct devices *d, const struct gpu_reading *gpu, uint32_t i, char *name,
               size_t bytes)
{
    const struct gpu one = {.now = *gpu};
    struct trg_device_info info;

    for (uint32_t b = 0; b < devices_backends(d); b++) {
        uint32_t n;
        const char *backend = devices_backend(d, b, &n);

        for (uint32_t k = 0; k < n; k++) {
            if (devices_info(d, backend, k, &info) < 0 || !gpus_find(&one, 1, info.pci))
                continue;
            snprintf(name, bytes, "%s:%u", backend, k);
            return;
        }
    }
    snprintf(name, bytes, "nvml:%u", i);
}

/* NVML has a domain of eight digits, CUDA one of four. */
static bool parse_pci(const char *text, unsigned ret_part[4])
{
    return sscanf(text, "%x:%x:%x.%x", &ret_part[0], &ret_part[1], &ret_part[2], &ret_part[3]) == 4;
}

const struct gpu *gpus_find(const struct gpu *list, uint32_t n, const char *pci)
{
    unsigned wanted[4], other[4];

    if (!parse_pci(pci, wanted))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (parse_pci(list[i].now.pci, other) && !memcmp(wanted, other, sizeof wanted))
            return &list[i];
    return NULL;
}
