/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct http {
    struct control_view view;
    struct MHD_Daemon *server;
};

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

static enum MHD_Result metrics(struct http *h, struct MHD_Connection *c)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return MHD_NO;
    http_metrics(&h->view, out);
    if (fclose(out) != 0) {
        free(text);
        return MHD_NO;
    }
    return reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", text, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result serve(void *ctx, struct MHD_Connection *c, const char *url,
                             const char *method, const char *version, const char *data,
                             size_t *data_size, void **state)
{
    struct http *h = ctx;
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

        if (!strcmp(now, "ready") && stats_get(&h->view.stats->g.steps_down))
            return plain(c, 503, "a step has no lane\n");
        return plain(c, strcmp(now, "ready") ? 503 : 200, now);
    }
    if (!strcmp(url, "/"))
        return plain(c, 200, "trigd " TRIGD_VERSION "\n/metrics\n/healthz\n/readyz\n");
    return plain(c, 404, "there are /metrics, /healthz and /readyz\n");
}

int http_start(const struct control_view *view, struct http **ret_http)
{
    const struct config *config = view->config;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(config->http.port)};
    const union MHD_DaemonInfo *info;
    struct http *h;

    if (inet_pton(AF_INET, config->http.address, &a.sin_addr) != 1) {
        log_error("http", "not an IPv4 address", "http.address=\"%s\"", config->http.address);
        return -EINVAL;
    }
    h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    h->view = *view;
    h->server =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, serve, h,
                         MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&a, MHD_OPTION_CONNECTION_LIMIT,
                         32u, MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_END);
    if (!h->server) {
        log_error("http", "cannot listen", "address=%s port=%u error=\"%s\"", config->http.address,
                  config->http.port, strerror(errno));
        free(h);
        return -EADDRINUSE;
    }
    info = MHD_get_daemon_info(h->server, MHD_DAEMON_INFO_BIND_PORT);
    log_info("http", "listening", "url=http://%s:%u/metrics", config->http.address,
             info ? (unsigned)info->port : config->http.port);
    *ret_http = h;
    return 0;
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    MHD_stop_daemon(h->server);
    free(h);
}
