/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socketfile.h"
#include "clock.h"
#include "log.h"
#include "memstream.h"
#include "monitor/page.h"

#define BACKLOG     128
#define CONNECTIONS 256u /* that are held at all */
#define CROWD       64u  /* from here on the one that is idle longest goes for each that comes */
#define IDLE_S      10u
#define NONCE_BYTES 16u
#define PAGE_WINDOW 1u /* 10s */

struct visitor {       /* one connection */
    int fd;            /* -1: free */
    uint64_t since_ns; /* of its last whole request, or its beginning */
};

struct http;
struct door { /* where it listens; each has a thread of the library */
    struct http *http;
    struct MHD_Daemon *server;           /* NULL: it is not wanted */
    struct visitor visitor[CONNECTIONS]; /* of that thread alone */
    uint32_t n_visitors;
};

struct http {
    struct control_view view;
    struct door tcp, local;
    struct socketfile *file; /* of the latter */
};

/* ---------------------------------------------------------------- connections */

/* A request that never ends must keep nobody out: bytes in drips are no idleness to the library. */
static void make_room(struct door *h)
{
    struct visitor *idle = NULL;

    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct visitor *v = &h->visitor[i];

        if (v->fd >= 0 && (!idle || v->since_ns < idle->since_ns))
            idle = v;
    }
    if (idle && h->n_visitors > CROWD) {
        shutdown(idle->fd, SHUT_RDWR); /* the library finds it ended */
        idle->since_ns = UINT64_MAX;
    }
}

static void come_or_go(void *ctx, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode what)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct door *h = ctx;
    struct visitor *v = *context;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (v) {
            v->fd = -1;
            h->n_visitors--;
        }
        return;
    }
    for (uint32_t i = 0; info && i < CONNECTIONS && !v; i++)
        if (h->visitor[i].fd < 0)
            v = &h->visitor[i];
    if (!v || !info)
        return;
    *v = (struct visitor){.fd = info->connect_fd, .since_ns = clock_ns()};
    *context = v;
    h->n_visitors++;
    make_room(h);
}

static void note_request(void *ctx, struct MHD_Connection *c, void **request,
                         enum MHD_RequestTerminationCode why)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct visitor *v = info ? info->socket_context : NULL;

    (void)ctx;
    (void)request;
    if (v && why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        v->since_ns = clock_ns();
}

/* ---------------------------------------------------------------- pages */

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *type,
                             char *text, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, mode);
    enum MHD_Result result;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result plain(struct MHD_Connection *c, unsigned status, const char *text)
{
    return reply(c, status, "text/plain; charset=utf-8", (char *)text, MHD_RESPMEM_MUST_COPY);
}

struct asked { /* of the page */
    uint32_t window;
    bool is_whole; /* else its sections */
    char nonce[2 * NONCE_BYTES + 1];
};

static void print_metrics(const struct control_view *now, const struct asked *asked, FILE *out)
{
    (void)asked;
    http_metrics(now, out);
}

static void print_page(const struct control_view *now, const struct asked *asked, FILE *out)
{
    if (asked->is_whole)
        page_print(now, asked->window, asked->nonce, out);
    else
        page_sections(now, asked->window, out);
}

/* What is printed of this moment; the library frees it.  NULL: no memory. */
static char *print(struct http *h,
                   void (*fn)(const struct control_view *now, const struct asked *asked, FILE *out),
                   const struct asked *asked)
{
    struct control_view now;
    char *text = NULL;
    size_t n = 0;
    FILE *out;

    if (view_now(&h->view, &now) < 0)
        return NULL;
    out = open_memstream(&text, &n);
    if (out)
        fn(&now, asked, out);
    view_done(&now);
    if (out)
        (void)memstream_close(out, &text);
    return text;
}

static enum MHD_Result metrics(struct http *h, struct MHD_Connection *c)
{
    char *text = print(h, print_metrics, NULL);

    return text ? reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", text,
                        MHD_RESPMEM_MUST_FREE)
                : MHD_NO;
}

/* Nothing from elsewhere, and of this page only what has the nonce: names of clients stand in it.
 */
static void guard(struct MHD_Response *r, const char *nonce)
{
    char policy[256];

    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
             "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             nonce, nonce);
    MHD_add_response_header(r, "Content-Security-Policy", policy);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cache-Control", "no-store");
}

static int make_nonce(char *text)
{
    unsigned char bytes[NONCE_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return -EIO;
    for (uint32_t i = 0; i < NONCE_BYTES; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static enum MHD_Result page(struct http *h, struct MHD_Connection *c, bool is_whole)
{
    const char *window = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "window");
    struct asked asked = {.window = PAGE_WINDOW, .is_whole = is_whole};
    struct MHD_Response *r;
    enum MHD_Result result;
    char *text;

    if (window) {
        for (asked.window = 0; asked.window < WINDOWS_N; asked.window++)
            if (!strcmp(window, windows_name[asked.window]))
                break;
        if (asked.window == WINDOWS_N)
            return plain(c, 400, "there is no such window; 1s, 10s and 60s are allowed\n");
    }
    text = make_nonce(asked.nonce) < 0 ? NULL : print(h, print_page, &asked);
    if (!text)
        return MHD_NO;
    r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "text/html; charset=utf-8");
    guard(r, asked.nonce);
    result = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return result;
}

static bool is_step_down(const struct stats_set *shards)
{
    bool is_down = false;

    for (uint32_t i = 0; i < shards->n; i++)
        is_down |= stats_get(&shards->of[i]->g.steps_down) != 0;
    return is_down;
}

static enum MHD_Result serve(void *ctx, struct MHD_Connection *c, const char *url,
                             const char *method, const char *version, const char *data,
                             size_t *data_size, void **state)
{
    struct http *h = ((struct door *)ctx)->http;
    const struct control_hooks *hooks = &h->view.hooks;

    (void)version;
    (void)data;
    (void)state;
    *data_size = 0;
    if (strcmp(method, "GET") != 0)
        return plain(c, 405, "GET is allowed\n");
    if (!strcmp(url, "/metrics"))
        return metrics(h, c);
    if (!strcmp(url, "/healthz"))
        return hooks->is_live(hooks->ctx) ? plain(c, 200, "ok\n")
                                          : plain(c, 503, "the loop does not turn\n");
    if (!strcmp(url, "/readyz")) {
        const char *now = hooks->state(hooks->ctx);

        if (!strcmp(now, "ready") && is_step_down(h->view.shards))
            return plain(c, 503, "a step has no lane\n");
        return plain(c, strcmp(now, "ready") ? 503 : 200, now);
    }
    if (!strcmp(url, "/"))
        return page(h, c, true);
    if (!strcmp(url, "/tables"))
        return page(h, c, false);
    return plain(c, 404, "there are /, /tables, /metrics, /healthz and /readyz\n");
}

/* ---------------------------------------------------------------- opening */

/* Serves what comes to an address, or to a socket that listens, which is the library's then. */
static int open_door(struct http *h, struct door *d, struct MHD_OptionItem where)
{
    const struct MHD_OptionItem at[] = {where, {MHD_OPTION_END, 0, NULL}};

    d->http = h;
    for (uint32_t i = 0; i < CONNECTIONS; i++)
        d->visitor[i].fd = -1;
    d->server = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, serve, d,
                                 MHD_OPTION_ARRAY, at, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
                                 MHD_OPTION_NOTIFY_CONNECTION, come_or_go, d,
                                 MHD_OPTION_NOTIFY_COMPLETED, note_request, d, MHD_OPTION_END);
    return d->server ? 0 : -EADDRINUSE;
}

static int open_tcp(struct http *h, const struct config *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(c->http.port)};
    const union MHD_DaemonInfo *info;
    int r;

    if (inet_pton(AF_INET, c->http.address, &a.sin_addr) != 1) {
        log_error("http", "not an IPv4 address", "http.address=\"%s\"", c->http.address);
        return -EINVAL;
    }
    r = open_door(h, &h->tcp, (struct MHD_OptionItem){MHD_OPTION_SOCK_ADDR, 0, &a});
    if (r < 0) {
        log_error("http", "cannot listen", "address=%s port=%u error=\"%s\"", c->http.address,
                  c->http.port, strerror(errno));
        return r;
    }
    info = MHD_get_daemon_info(h->tcp.server, MHD_DAEMON_INFO_BIND_PORT);
    log_info("http", "listening", "url=http://%s:%u/metrics", c->http.address,
             info ? (unsigned)info->port : c->http.port);
    return 0;
}

static int open_local(struct http *h, const char *path)
{
    char why[256] = "the library does not serve it";
    int fd, r = socketfile_listen(path, SOCK_STREAM, BACKLOG, &h->file, &fd, why, sizeof why);

    if (r == 0) {
        r = open_door(h, &h->local, (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, fd, NULL});
        if (r < 0)
            close(fd);
    }
    if (r < 0)
        log_error("http", "cannot listen", "socket=\"%s\" error=\"%s\"", path, why);
    else
        log_info("http", "listening", "socket=\"%s\"", path);
    return r;
}

int http_start(const struct control_view *view, struct http **ret_http)
{
    const struct config *c = view->config;
    struct http *h = calloc(1, sizeof *h);
    int r = h ? 0 : -ENOMEM;

    if (r == 0) {
        h->view = *view;
        r = c->http.address[0] ? open_tcp(h, c) : 0;
    }
    if (r == 0 && c->http.socket[0])
        r = open_local(h, c->http.socket);
    if (r < 0)
        http_stop(h);
    else
        *ret_http = h;
    return r;
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    if (h->tcp.server)
        MHD_stop_daemon(h->tcp.server);
    if (h->local.server)
        MHD_stop_daemon(h->local.server);
    socketfile_remove(h->file);
    free(h);
}
