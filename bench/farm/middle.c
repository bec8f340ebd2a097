/* SPDX-License-Identifier: Apache-2.0 */
#include "middle.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/hash.h"
#include "process.h"

#define WAIT_STEPS 2000 /* of a millisecond, for a socket's file */

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

static int write_config(const struct middle_setup *s, const char *endpoint)
{
    char text[1024];
    int r = process_write_file(s->folder, "menu.yaml", menu);

    snprintf(text, sizeof text,
             "endpoints: [\"%s\"]\n"
             "menu: menu.yaml\n"
             "control: {socket: \"\"}\n"
             "http: {address: \"\"}\n"
             "log: {level: warn}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n"
             "clients: {credits: 8192, heartbeat_ms: 60000}\n"
             "threads: {zmq_threads: %u}\n"
             "farm: {name: bench, endpoint: \"ipc://%s/enlist\", lost_beats: 1000, again_ms: 0}\n",
             endpoint, s->io_threads, s->folder);
    return r < 0 ? r : process_write_file(s->folder, "trigsup.yaml", text);
}

/* Runs a program of the build; in the child. */
static void become(const char *const *argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    execv(argv[0], (char **)(uintptr_t)argv);
    fprintf(stderr, "bench_farm: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int start(pid_t *ret_pid, const char *const *argv)
{
    *ret_pid = fork();
    if (*ret_pid < 0)
        return -errno;
    if (!*ret_pid)
        become(argv);
    return 0;
}

static int start_node(struct middle *m, enum server_kind kind, const struct middle_setup *s,
                      const char *self)
{
    char place[160], endpoint[160], name[16], service[32], key[32];
    const char *const behind[] = {self, "--worker", place, NULL};
    const char *const of_farm[] = {self, "--node", place,   endpoint,
                                   name, key,      service, s->is_random ? "random" : "constant",
                                   NULL};

    snprintf(name, sizeof name, "n%u", m->n);
    snprintf(place, sizeof place, "ipc://%s/%s", s->folder,
             kind == SERVER_TRIGD ? "enlist" : "back");
    snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", s->folder, name);
    snprintf(service, sizeof service, "%g", s->service_us[m->n]);
    snprintf(key, sizeof key, "%" PRIu64, hash_bytes(menu, strlen(menu)));
    return start(&m->node[m->n++], kind == SERVER_TRIGD ? of_farm : behind);
}

/* The supervisor opens its endpoint when the first node is there. */
static int wait_for(const char *endpoint)
{
    struct stat st;

    for (uint32_t i = 0; i < WAIT_STEPS; i++) {
        if (stat(endpoint + strlen("ipc://"), &st) == 0)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return -ETIMEDOUT;
}

int middle_start(struct middle *m, enum server_kind kind, const struct middle_setup *s)
{
    char build[512], self[600], sup[600], config[160], back[160], threads[16];
    const char *const proxy[] = {self, "--proxy", m->server.endpoint, back, threads, NULL};
    const char *const trigsup[] = {sup, "--config", config, NULL};
    int r = process_folder(build, sizeof build);

    memset(m, 0, sizeof *m);
    m->server.kind = kind;
    snprintf(m->server.endpoint, sizeof m->server.endpoint, "ipc://%s/%s", s->folder,
             kind == SERVER_TRIGD ? "farm" : "proxy");
    snprintf(self, sizeof self, "%s/bench_farm", build);
    snprintf(sup, sizeof sup, "%s/../bin/trigsup", build);
    snprintf(config, sizeof config, "%s/trigsup.yaml", s->folder);
    snprintf(back, sizeof back, "ipc://%s/back", s->folder);
    snprintf(threads, sizeof threads, "%u", s->io_threads);
    if (r == 0 && kind == SERVER_TRIGD)
        r = write_config(s, m->server.endpoint);
    if (r == 0)
        r = start(&m->server.pid, kind == SERVER_TRIGD ? trigsup : proxy);
    for (uint32_t i = 0; r == 0 && i < s->nodes; i++)
        r = start_node(m, kind, s, self);
    if (r == 0)
        r = wait_for(m->server.endpoint);
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
