/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process.h"

static const char *const name[SERVER_KINDS] = {"echo", "decode", "answer", "trigd"};

static int write_config(const struct server *s, const struct server_setup *setup, const char *build)
{
    static const char menu[] =
        "name: echo\n"
        "streams: [physics]\n"
        "steps:\n"
        "  - {name: nothing, plugin: nothing}\n"
        "chains:\n"
        "  - {name: all, id: 1, steps: [{step: nothing}], streams: [physics]}\n";
    char text[2048];
    int r = process_write_file(setup->folder, "menu.yaml", menu);

    snprintf(text, sizeof text,
             "endpoints: [\"%s\"]\n"
             "menu: menu.yaml\n"
             "plugin_path: [\"%s/plugins\"]\n"
             "backend_path: \"%s/backends\"\n"
             "cache_dir: cache\n"
             "control: {socket: \"\"}\n"
             "http: {address: \"\"}\n"
             "log: {level: warn}\n"
             "clients: {credits: %u, heartbeat_ms: 60000}\n"
             "threads: {zmq_threads: %u}\n"
             "devices: [{backend: cpu, index: 0, lanes: %u}]\n",
             s->endpoint, build, build, setup->credits, setup->io_threads, setup->io_threads);
    return r < 0 ? r : process_write_file(setup->folder, "trigd.yaml", text);
}

static void run(const struct server *s, const struct server_setup *setup, const char *bench,
                const char *build)
{
    char program[1024], config[512], threads[16];

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    if (s->kind == SERVER_TRIGD) {
        snprintf(program, sizeof program, "%s/bin/trigd", build);
        snprintf(config, sizeof config, "%s/trigd.yaml", setup->folder);
        execl(program, program, "--config", config, (char *)NULL);
    } else {
        snprintf(program, sizeof program, "%s/bench_echo", bench);
        snprintf(threads, sizeof threads, "%u", setup->io_threads);
        execl(program, program, "--serve", name[s->kind], s->endpoint, threads, (char *)NULL);
    }
    fprintf(stderr, "bench_echo: %s: %s\n", program, strerror(errno));
    _exit(127);
}

int server_start(struct server *s, enum server_kind kind, const struct server_setup *setup)
{
    char bench[512], build[600];
    int port = 0;
    int r = process_folder(bench, sizeof bench);

    if (r == 0 && setup->tcp)
        port = process_free_port();
    if (r < 0 || port < 0)
        return r < 0 ? r : port;
    s->kind = kind;
    snprintf(build, sizeof build, "%s/..", bench);
    if (setup->tcp)
        snprintf(s->endpoint, sizeof s->endpoint, "tcp://127.0.0.1:%d", port);
    else
        snprintf(s->endpoint, sizeof s->endpoint, "ipc://%s/%s", setup->folder, name[kind]);
    r = kind == SERVER_TRIGD ? write_config(s, setup, build) : 0;
    if (r < 0)
        return r;
    s->pid = fork();
    if (s->pid < 0)
        return -errno;
    if (!s->pid)
        run(s, setup, bench, build);
    return 0;
}

void server_stop(struct server *s)
{
    process_end(s->pid);
    s->pid = 0;
}
