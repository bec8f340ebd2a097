/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <stdio.h>

#include "process.h"

static const char *const name[SERVER_KINDS] = {"echo", "decode", "answer", "trigd"};

static int start_trigd(struct server *s, const struct server_setup *setup, const char *tcp)
{
    char config[512], endpoints[160], shards[32] = "";

    if (setup->shards)
        snprintf(shards, sizeof shards, ", shards: %u", setup->shards);
    snprintf(config, sizeof config,
             "cache_dir: cache\nlog: {level: warn}\n"
             "clients: {credits: %u, heartbeat_ms: 60000}\n"
             "threads: {zmq_threads: %u, gather_threads: %u%s}\n"
             "devices: [{backend: cpu, index: 0, lanes: %u}]\n",
             setup->credits, setup->io_threads, setup->gather_threads, shards, setup->io_threads);
    snprintf(endpoints, sizeof endpoints, ", \"%s\"", tcp);
    return bench_daemon_start(
        &s->trigd, &(struct bench_daemon_setup){.plugin = "nothing",
                                                .endpoints = setup->tcp ? endpoints : NULL,
                                                .config = config});
}

int server_start(struct server *s, enum server_kind kind, const struct server_setup *setup)
{
    char io_threads[16], threads[16];
    const char *const args[] = {"bench_echo", "--serve", name[kind], s->endpoint,
                                io_threads,   threads,   NULL};
    int r = bench_daemon_new(&s->trigd), port = setup->tcp ? process_free_port() : 0;

    if (r < 0 || port < 0)
        return r < 0 ? r : port;
    s->kind = kind;
    s->threads = setup->threads;
    snprintf(io_threads, sizeof io_threads, "%u", setup->io_threads);
    snprintf(threads, sizeof threads, "%u", setup->threads);
    snprintf(s->endpoint, sizeof s->endpoint, "%s", s->trigd.endpoint);
    if (setup->tcp)
        snprintf(s->endpoint, sizeof s->endpoint, "tcp://127.0.0.1:%d", port);
    r = kind == SERVER_TRIGD ? start_trigd(s, setup, s->endpoint)
                             : process_start("bench_echo", args, NULL, &s->trigd.pid);
    s->pid = s->trigd.pid;
    return r;
}

void server_stop(struct server *s)
{
    bench_daemon_stop(&s->trigd);
    s->pid = 0;
}
