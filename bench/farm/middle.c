/* SPDX-License-Identifier: Apache-2.0 */
#include "middle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "base/hash.h"
#include "process.h"

#define SELF "bench_farm"

static const char menu[] = "name: farm\n";

int middle_proxy(const char *front, const char *back, int io_threads)
{
    void *context = zmq_ctx_new();
    const int all = 0;
    void *router, *dealer;

    if (!context || zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads) < 0)
        return 1;
    router = zmq_socket(context, ZMQ_ROUTER);
    dealer = zmq_socket(context, ZMQ_DEALER);
    if (!router || !dealer || zmq_setsockopt(router, ZMQ_RCVHWM, &all, sizeof all) < 0 ||
        zmq_setsockopt(router, ZMQ_SNDHWM, &all, sizeof all) < 0 ||
        zmq_setsockopt(dealer, ZMQ_RCVHWM, &all, sizeof all) < 0 ||
        zmq_setsockopt(dealer, ZMQ_SNDHWM, &all, sizeof all) < 0 || zmq_bind(router, front) < 0 ||
        zmq_bind(dealer, back) < 0) {
        fprintf(stderr, "bench_farm: the proxy: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    zmq_proxy(router, dealer, NULL);
    return 1;
}

/* Where nodes enlist; within a namespace each connects from its own address. */
static void place_of(const struct middle_setup *s, uint32_t node, char *to, size_t bytes)
{
    if (!s->is_island)
        snprintf(to, bytes, "ipc://%s/enlist", s->folder);
    else if (node + 1 == s->nodes)
        snprintf(to, bytes, "tcp://10.9.0.2:0;10.9.0.1:5710");
    else
        snprintf(to, bytes, "tcp://10.9.0.1:5710");
}

static void endpoint_of(const struct middle_setup *s, uint32_t node, char *to, size_t bytes)
{
    if (s->is_island)
        snprintf(to, bytes, "tcp://10.9.0.%u:%u", node + 1 == s->nodes ? 2 : 1, 5720 + node);
    else
        snprintf(to, bytes, "ipc://%s/n%u", s->folder, node);
}

static int write_config(const struct middle_setup *s, const char *endpoint)
{
    char text[1024], enlist[160];
    int r = process_write_file(s->folder, "menu.yaml", menu);

    place_of(s, s->nodes, enlist, sizeof enlist);
    snprintf(text, sizeof text,
             "endpoints: [\"%s\"]\n"
             "menu: menu.yaml\n"
             "control: {socket: \"\"}\n"
             "http: {address: \"\"}\n"
             "log: {level: warn}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n"
             "clients: {credits: 8192, heartbeat_ms: 60000}\n"
             "threads: {zmq_threads: %u}\n"
             "security: {allow_plain_tcp: true}\n"
             "farm: {name: bench, endpoint: \"%s\", lost_beats: %u, again_ms: 0}\n",
             endpoint, s->io_threads, enlist, s->lost_beats ? s->lost_beats : 1000);
    return r < 0 ? r : process_write_file(s->folder, "trigsup.yaml", text);
}

static int start_node(struct middle *m, enum server_kind kind, const struct middle_setup *s)
{
    char place[160], endpoint[160], name[16], service[32], key[32];
    const char *const behind[] = {SELF, "--worker", place, NULL};
    const char *const of_farm[] = {SELF, "--node", place,   endpoint,
                                   name, key,      service, s->is_random ? "random" : "constant",
                                   NULL};

    snprintf(name, sizeof name, "n%u", m->n);
    if (kind == SERVER_TRIGD)
        place_of(s, m->n, place, sizeof place);
    else
        snprintf(place, sizeof place, "ipc://%s/back", s->folder);
    endpoint_of(s, m->n, endpoint, sizeof endpoint);
    snprintf(service, sizeof service, "%g", s->service_us[m->n]);
    snprintf(key, sizeof key, "%" PRIu64, hash_bytes(menu, strlen(menu)));
    return process_start(SELF, kind == SERVER_TRIGD ? of_farm : behind, NULL, &m->node[m->n++]);
}

int middle_start(struct middle *m, enum server_kind kind, const struct middle_setup *s)
{
    char config[160], back[160], threads[16];
    const char *const proxy[] = {SELF, "--proxy", m->server.endpoint, back, threads, NULL};
    const char *const trigsup[] = {"trigsup", "--config", config, NULL};
    int r = 0;

    memset(m, 0, sizeof *m);
    m->server.kind = kind;
    m->server.threads = 1;
    snprintf(m->server.endpoint, sizeof m->server.endpoint, "ipc://%s/%s", s->folder,
             kind == SERVER_TRIGD ? "farm" : "proxy");
    snprintf(config, sizeof config, "%s/trigsup.yaml", s->folder);
    snprintf(back, sizeof back, "ipc://%s/back", s->folder);
    snprintf(threads, sizeof threads, "%u", s->io_threads);
    if (kind == SERVER_TRIGD)
        r = write_config(s, m->server.endpoint);
    if (r == 0 && kind == SERVER_TRIGD)
        r = process_start("../bin/trigsup", trigsup, NULL, &m->server.pid);
    else if (r == 0)
        r = process_start(SELF, proxy, NULL, &m->server.pid);
    for (uint32_t i = 0; r == 0 && i < s->nodes; i++)
        r = start_node(m, kind, s);
    if (r == 0) /* the supervisor opens its endpoint when the first node is there */
        r = process_await_file(m->server.endpoint + strlen("ipc://"), m->server.pid);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* all nodes are there */
    return r;
}

void middle_stop(struct middle *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        process_end(m->node[i]);
    process_end(m->server.pid);
    memset(m, 0, sizeof *m);
}
