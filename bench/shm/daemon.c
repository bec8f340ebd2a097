/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

const char *const way_name[WAYS] = {"shm", "ipc", "tcp"};

static int write_files(struct daemon *d, const char *bench, const char *plugin, const char *params)
{
    char text[3000];
    int r;

    snprintf(text, sizeof text,
             "name: bench\n"
             "streams: [physics]\n"
             "steps:\n"
             "  - {name: step, plugin: %s, params: {%s}}\n"
             "chains:\n"
             "  - {name: all, id: 1, steps: [{step: step}], streams: [physics]}\n",
             plugin, params);
    r = process_write_file(d->folder, "menu.yaml", text);
    snprintf(text, sizeof text,
             "endpoints: [\"%s\", \"%s\", \"%s\"]\n"
             "menu: menu.yaml\n"
             "plugin_path: [\"%s/../plugins\"]\n"
             "backend_path: \"%s/../backends\"\n"
             "cache_dir: cache\n"
             "control: {socket: \"\"}\n"
             "http: {address: \"\"}\n"
             "log: {level: warn}\n"
             "limits: {soft_ms: 0, hard_ms: 0}\n"
             "clients: {credits: 4096, heartbeat_ms: 60000, shm_mbytes: 128}\n"
             "devices: [{backend: cpu, index: 0, lanes: 1}]\n",
             d->endpoint[WAY_SHM], d->endpoint[WAY_IPC], d->endpoint[WAY_TCP], bench, bench);
    return r < 0 ? r : process_write_file(d->folder, "trigd.yaml", text);
}

static void run(const struct daemon *d, const char *bench)
{
    char program[1100], config[128], library[1100], counts[128];

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    snprintf(program, sizeof program, "%s/../bin/trigd", bench);
    snprintf(config, sizeof config, "%s/trigd.yaml", d->folder);
    if (d->counts) {
        snprintf(library, sizeof library, "%s/counting.so", bench);
        snprintf(counts, sizeof counts, "%s/counts", d->folder);
        setenv("LD_PRELOAD", library, 1);
        setenv(COUNTS_FILE, counts, 1);
    }
    execl(program, program, "--config", config, (char *)NULL);
    fprintf(stderr, "bench_shm: %s: %s\n", program, strerror(errno));
    _exit(127);
}

static int map_counts(struct daemon *d)
{
    char path[128];
    void *p;
    int fd, r;

    snprintf(path, sizeof path, "%s/counts", d->folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = ftruncate(fd, sizeof *d->counts) < 0 ? -errno : 0;
    p = mmap(NULL, sizeof *d->counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (r < 0 || p == MAP_FAILED)
        return r < 0 ? r : -ENOMEM;
    d->counts = p;
    return 0;
}

int daemon_start(struct daemon *d, const char *plugin, const char *params, bool counting)
{
    char bench[1000];
    int port, r = process_folder(bench, sizeof bench);

    if (r < 0)
        return r;
    memset(d, 0, sizeof *d);
    snprintf(d->folder, sizeof d->folder, "/tmp/bench-shm-XXXXXX");
    if (!mkdtemp(d->folder))
        return -errno;
    port = process_free_port();
    if (port < 0)
        return port;
    snprintf(d->endpoint[WAY_SHM], sizeof d->endpoint[0], "shm://%s/shm", d->folder);
    snprintf(d->endpoint[WAY_IPC], sizeof d->endpoint[0], "ipc://%s/ipc", d->folder);
    snprintf(d->endpoint[WAY_TCP], sizeof d->endpoint[0], "tcp://127.0.0.1:%d", port);
    r = write_files(d, bench, plugin, params);
    if (r == 0 && counting)
        r = map_counts(d);
    if (r < 0)
        return r;
    d->pid = fork();
    if (d->pid < 0)
        return -errno;
    if (!d->pid)
        run(d, bench);
    for (int i = 0; i < 3000; i++) { /* 30 s at most */
        const struct timespec t = {.tv_nsec = 10000000L};

        if (access(d->endpoint[WAY_IPC] + strlen("ipc://"), F_OK) == 0)
            return 0;
        if (waitpid(d->pid, NULL, WNOHANG) == d->pid)
            return -ECHILD;
        nanosleep(&t, NULL);
    }
    return -ETIMEDOUT;
}

void daemon_stop(struct daemon *d)
{
    static const char *const files[] = {"trigd.yaml", "menu.yaml", "counts", "cache",
                                        "shm",        "ipc",       ""};
    char path[128];

    process_end(d->pid);
    if (d->counts)
        munmap(d->counts, sizeof *d->counts);
    for (size_t i = 0; d->folder[0] && i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", d->folder, files[i]);
        remove(path);
    }
    memset(d, 0, sizeof *d);
}
