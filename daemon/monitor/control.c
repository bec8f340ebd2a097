/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's socket: one thread, a poll loop, one command a line. */
#include "monitor/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socketfile.h"
#include "clock.h"
#include "log.h"
#include "monitor/commands.h"
#include "monitor/http.h"
#include "monitor/who.h"

#define TALKERS_MAX 64
#define RESERVED    8 /* of them for root and the daemon's own user */
#define LINE_BYTES  1024
#define UNREAD_MAX  (4u << 20) /* answers that a talker may leave unread, bytes */
#define READ_BYTES  4096
#define LOOK_MS     50               /* between looks at what is waited for */
#define SAY_NS      (10u * NS_PER_S) /* a long step of that is said again after that */

struct talker {
    int fd; /* -1: free */
    struct control_who who;
    bool is_operator;  /* root, or the daemon's own user */
    uint64_t since_ns; /* of its last command, or its beginning */
    char line[LINE_BYTES];
    size_t n;
    bool is_long;             /* the line was too long: skip to its end */
    bool is_done;             /* nothing more comes in: close when all has gone out */
    struct control_wait wait; /* what it waits for; look NULL: nothing */
    uint64_t wait_ns;         /* since when */
    char said[LINE_BYTES];    /* of that, */
    uint64_t said_ns;         /* at that time */
    char in[READ_BYTES];      /* bytes that came while it waited */
    size_t n_in;
    char *out;
    size_t out_n, out_sent;
};

struct control {
    struct control_view view;
    struct windows *windows;
    struct gpus *gpus;
    struct http *http;
    struct socketfile *file;
    int listen_fd, stop_fd;
    struct who_group act_group;
    struct talker talker[TALKERS_MAX];
    pthread_t thread;
    bool has_thread;
};

/* ---------------------------------------------------------------- one talker */

static void hang_up(struct talker *t)
{
    close(t->fd);
    free(t->out);
    *t = (struct talker){.fd = -1};
}

static void say(struct talker *t, const char *text)
{
    size_t n = strlen(text);
    char *more;

    if (t->fd < 0)
        return;
    if (t->out_n + n > UNREAD_MAX) {
        hang_up(t); /* it asks and does not read */
        return;
    }
    more = realloc(t->out, t->out_n + n + 1);
    if (!more) {
        hang_up(t);
        return;
    }
    memcpy(more + t->out_n, text, n);
    t->out = more;
    t->out_n += n;
}

static void flush_talker(struct talker *t)
{
    while (t->fd >= 0 && t->out_sent < t->out_n) {
        ssize_t n = send(t->fd, t->out + t->out_sent, t->out_n - t->out_sent, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            hang_up(t);
            return;
        }
        t->out_sent += (size_t)n;
    }
    if (t->fd < 0)
        return;
    t->out_n = t->out_sent = 0;
    if (t->is_done && !t->wait.look)
        hang_up(t);
}

static void carry_out(struct control *c, struct talker *t)
{
    char *answer;

    t->line[t->n] = '\0';
    if (t->is_long) {
        say(t, "error: the line is longer than 1023 bytes\n\n");
    } else if (t->n) {
        answer = control_command(&c->view, &t->who, t->line, &t->wait);
        t->wait_ns = clock_ns();
        say(t, answer ? answer : "error: out of memory\n");
        free(answer);
        if (!t->wait.look)
            say(t, "\n"); /* an empty line ends the answer */
    }
    t->n = 0;
    t->is_long = false;
    t->since_ns = clock_ns();
}

/* Carries out what came in, up to a command that is waited for. */
static void take_bytes(struct control *c, struct talker *t)
{
    size_t i = 0;

    while (i < t->n_in && t->fd >= 0 && !t->wait.look) {
        const char byte = t->in[i++];

        if (byte == '\n' || byte == '\0')
            carry_out(c, t);
        else if (t->n < LINE_BYTES - 1)
            t->line[t->n++] = byte;
        else
            t->is_long = true;
    }
    if (t->fd < 0)
        return;
    t->n_in -= i;
    memmove(t->in, t->in + i, t->n_in);
}

static void read_talker(struct control *c, struct talker *t)
{
    ssize_t n = recv(t->fd, t->in, sizeof t->in, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        t->n_in = (size_t)n;
        take_bytes(c, t);
        return;
    }
    t->is_done = true; /* half a line at the end is no command */
}

/* Says how far what it waits for is, and in the end how it ended. */
static void look_at_wait(struct control *c, struct talker *t)
{
    const uint64_t now = clock_ns();
    char text[LINE_BYTES / 2] = "", line[LINE_BYTES];
    int r = t->wait.look(c->view.hooks.ctx, t->wait.number, text, sizeof text);

    if (r == -EINPROGRESS) {
        if (!strcmp(text, t->said) && now < t->said_ns + SAY_NS)
            return;
        snprintf(t->said, sizeof t->said, "%s", text);
        t->said_ns = now;
        snprintf(line, sizeof line, "# %.1f s: %s\n", (double)(now - t->wait_ns) * 1e-9, text);
        say(t, line);
        return;
    }
    snprintf(line, sizeof line, "%s%s\n\n", r < 0 ? "error: " : "", text);
    say(t, line);
    t->wait.look = NULL;
    t->said[0] = '\0';
    take_bytes(c, t);
}

/* ---------------------------------------------------------------- the thread */

/* A place for one more: a free one, of which some are kept for operators, or that of the one that
 * is idle longest; operators give way to operators only. */
static struct talker *free_place(struct control *c, bool is_operator)
{
    struct talker *idle = NULL, *place = NULL;
    int n_free = 0;

    for (int i = 0; i < TALKERS_MAX; i++) {
        struct talker *t = &c->talker[i];
        bool may_go = t->fd >= 0 && (is_operator || !t->is_operator);

        if (t->fd < 0) {
            place = t;
            n_free++;
        } else if (may_go &&
                   (!idle || (idle->is_operator && !t->is_operator) ||
                    (idle->is_operator == t->is_operator && t->since_ns < idle->since_ns))) {
            idle = t;
        }
    }
    if (n_free > (is_operator ? 0 : RESERVED))
        return place;
    if (idle) {
        log_warn("control", "too many connections: the one idle longest is closed", "user=\"%s\"",
                 idle->who.name);
        hang_up(idle);
    }
    return idle;
}

static void accept_talker(struct control *c)
{
    struct talker t, *place;
    int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
            return;
        log_warn("control", "cannot accept a connection", "error=\"%s\"", strerror(errno));
        poll(&(struct pollfd){.fd = c->stop_fd, .events = POLLIN}, 1, 100); /* it stays readable */
        return;
    }
    t = (struct talker){.fd = fd, .since_ns = clock_ns()};
    t.is_operator = who_is(fd, &c->act_group, &t.who);
    place = free_place(c, t.is_operator);
    if (!place) {
        log_warn("control", "too many connections on the socket", "most=%d", TALKERS_MAX);
        close(fd);
        return;
    }
    *place = t;
}

static void serve(struct control *c, struct talker *t, short events)
{
    if (t->fd >= 0 && t->wait.look)
        look_at_wait(c, t);
    else if (events & (POLLIN | POLLHUP | POLLERR) && !t->is_done)
        read_talker(c, t);
    if (t->fd >= 0)
        flush_talker(t);
}

static void *run(void *arg)
{
    struct control *c = arg;
    struct pollfd p[TALKERS_MAX + 2];

    for (;;) {
        bool is_waiting = false;

        p[0] = (struct pollfd){.fd = c->stop_fd, .events = POLLIN};
        p[1] = (struct pollfd){.fd = c->listen_fd, .events = POLLIN};
        for (int i = 0; i < TALKERS_MAX; i++) {
            const struct talker *t = &c->talker[i];
            short in = t->is_done || t->wait.look ? 0 : POLLIN, out = t->out_n ? POLLOUT : 0;

            p[i + 2] = (struct pollfd){.fd = t->fd, .events = (short)(in | out)};
            is_waiting |= t->fd >= 0 && t->wait.look;
        }
        if (poll(p, TALKERS_MAX + 2, is_waiting ? LOOK_MS : -1) < 0 && errno != EINTR)
            log_error("control", "poll failed", "error=\"%s\"", strerror(errno));
        if (p[0].revents)
            return NULL;
        for (int i = 0; i < TALKERS_MAX; i++) {
            serve(c, &c->talker[i], p[i + 2].revents);
        }
        if (p[1].revents)
            accept_talker(c);
    }
}

/* ---------------------------------------------------------------- opening */

static int start_socket(struct control *c)
{
    const char *path = c->view.config->control.socket;
    char why[256];
    int r;

    if (!path[0])
        return 0;
    if (who_group(c->view.config->control.act_group, &c->act_group) < 0)
        return -EINVAL;
    r = socketfile_listen(path, SOCK_STREAM, TALKERS_MAX, &c->file, &c->listen_fd, why, sizeof why);
    if (r < 0) {
        log_error("control", "cannot open the control socket", "socket=\"%s\" error=\"%s\"", path,
                  why);
        return r;
    }
    c->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (c->stop_fd < 0)
        return -errno;
    r = -pthread_create(&c->thread, NULL, run, c);
    c->has_thread = r == 0;
    return r;
}

/* Whether GPUs are read: of a daemon that is told to, or that has devices which may be such. */
static bool has_gpus(const struct control_view *v)
{
    const char *wanted = v->config->control.gpus;
    struct trg_device_info info;

    if (!v->devices || strcmp(wanted, "auto") != 0)
        return v->devices && !strcmp(wanted, "on");
    for (uint32_t i = 0; i < devices_backends(v->devices); i++) {
        uint32_t n;
        const char *backend = devices_backend(v->devices, i, &n);

        for (uint32_t k = 0; k < n; k++)
            if (devices_info(v->devices, backend, k, &info) == 0 && info.pci[0])
                return true;
    }
    return false;
}

int control_start(const struct control_view *view, struct control **ret_control)
{
    const struct gpus_setup gpus = {.hang_ms = GPUS_HANG_MS, .retry_ms = GPUS_RETRY_MS};
    struct control *c = calloc(1, sizeof *c);
    int r = 0;

    if (!c)
        return -ENOMEM;
    c->view = *view;
    c->listen_fd = c->stop_fd = -1;
    for (int i = 0; i < TALKERS_MAX; i++)
        c->talker[i].fd = -1;
    r = windows_new(view->shards, &c->windows);
    if (r == 0)
        r = windows_start(c->windows);
    c->view.windows = c->windows;
    if (r == 0 && has_gpus(view))
        r = gpus_start(&gpus, &c->gpus);
    c->view.gpus = c->gpus;
    if (r == 0 && (view->config->http.address[0] || view->config->http.socket[0]))
        r = http_start(&c->view, &c->http);
    if (r == 0)
        r = start_socket(c);
    if (r < 0) {
        control_stop(c);
        return r;
    }
    *ret_control = c;
    return 0;
}

void control_stop(struct control *c)
{
    uint64_t one = 1;

    if (!c)
        return;
    if (c->has_thread) {
        if (write(c->stop_fd, &one, sizeof one) < 0)
            log_error("control", "cannot stop the socket's thread", "error=\"%s\"",
                      strerror(errno));
        pthread_join(c->thread, NULL);
    }
    for (int i = 0; i < TALKERS_MAX; i++)
        if (c->talker[i].fd >= 0)
            hang_up(&c->talker[i]);
    if (c->listen_fd >= 0)
        close(c->listen_fd);
    socketfile_remove(c->file);
    if (c->stop_fd >= 0)
        close(c->stop_fd);
    http_stop(c->http);
    gpus_stop(c->gpus);
    windows_free(c->windows);
    free(c);
}
