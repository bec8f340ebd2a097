/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const name[SERVER_KINDS] = {"echo", "decode", "answer", "trigd"};

int server_bench_folder(char *path, uint32_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", path, bytes - 1);

    if (n < 0)
        return -errno;
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return 0;
}

/* A port that was free a moment ago. */
static int free_port(uint16_t *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = 0;

    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        r = -errno;
    close(fd);
    if (r == 0)
        *ret_port = ntohs(a.sin_port);
    return r;
}

static int write_file(const char *folder, const char *file, const char *text)
{
    char path[512];
    FILE *f;
    bool good;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    f = fopen(path, "w");
    if (!f)
        return -errno;
    good = fputs(text, f) >= 0;
    return fclose(f) == 0 && good ? 0 : -EIO;
}

static int write_config(const struct server *s, const char *folder, const char *build,
                        uint32_t credits)
{
    static const char menu[] =
        "name: echo\n"
        "streams: [physics]\n"
        "steps:\n"
        "  - {name: nothing, plugin: nothing}\n"
        "chains:\n"
        "  - {name: all, id: 1, steps: [{step: nothing}], streams: [physics]}\n";
    char text[2048];
    int r = write_file(folder, "menu.yaml", menu);

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
             "devices: [{backend: cpu, index: 0, lanes: 1}]\n",
             s->endpoint, build, build, credits);
    return r < 0 ? r : write_file(folder, "trigd.yaml", text);
}

static void run(const struct server *s, const char *folder, const char *bench, const char *build)
{
    char program[1024], config[512];

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    if (s->kind == SERVER_TRIGD) {
        snprintf(program, sizeof program, "%s/bin/trigd", build);
        snprintf(config, sizeof config, "%s/trigd.yaml", folder);
        execl(program, program, "--config", config, (char *)NULL);
    } else {
        snprintf(program, sizeof program, "%s/bench_echo", bench);
        execl(program, program, "--serve", name[s->kind], s->endpoint, (char *)NULL);
    }
    fprintf(stderr, "bench_echo: %s: %s\n", program, strerror(errno));
    _exit(127);
}

int server_start(struct server *s, enum server_kind kind, const char *folder, bool tcp,
                 uint32_t credits)
{
    char bench[512], build[600];
    uint16_t port = 0;
    int r = server_bench_folder(bench, sizeof bench);

    if (r == 0 && tcp)
        r = free_port(&port);
    if (r < 0)
        return r;
    s->kind = kind;
    snprintf(build, sizeof build, "%s/..", bench);
    if (tcp)
        snprintf(s->endpoint, sizeof s->endpoint, "tcp://127.0.0.1:%u", port);
    else
        snprintf(s->endpoint, sizeof s->endpoint, "ipc://%s/%s", folder, name[kind]);
    r = kind == SERVER_TRIGD ? write_config(s, folder, build, credits) : 0;
    if (r < 0)
        return r;
    s->pid = fork();
    if (s->pid < 0)
        return -errno;
    if (!s->pid)
        run(s, folder, bench, build);
    return 0;
}

void server_stop(struct server *s)
{
    if (!s || s->pid <= 0)
        return;
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

uint64_t server_cpu_ns(const struct server *s)
{
    char path[384];
    struct dirent *entry;
    uint64_t sum = 0;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
    tasks = opendir(path);
    if (!tasks)
        return 0;
    while ((entry = readdir(tasks)) != NULL) {
        unsigned long long ns;
        FILE *f;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)s->pid, entry->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        if (fscanf(f, "%llu", &ns) == 1)
            sum += ns;
        fclose(f);
    }
    closedir(tasks);
    return sum;
}
