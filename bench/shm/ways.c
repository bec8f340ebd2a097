/* SPDX-License-Identifier: Apache-2.0 */
#include "ways.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process.h"

const char *const way_name[WAYS] = {"shm", "ipc", "tcp"};

static int map_counts(struct daemon *d, const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *p;
    int r;

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
    char bench[1000], library[1100], counts[128], endpoints[300];
    const char *const env[] = {"LD_PRELOAD", library, COUNTS_FILE, counts, NULL};
    const struct bench_daemon_setup setup = {
        .plugin = plugin,
        .params = params,
        .endpoints = endpoints,
        .config = "cache_dir: cache\nlog: {level: warn}\n"
                  "limits: {soft_ms: 0, hard_ms: 0}\n"
                  "clients: {credits: 4096, heartbeat_ms: 60000, shm_mbytes: 128}\n"
                  "devices: [{backend: cpu, index: 0, lanes: 1}]\n",
        .env = counting ? env : NULL};
    int port = process_free_port(), r = process_folder(bench, sizeof bench);

    memset(d, 0, sizeof *d);
    if (r < 0 || port < 0)
        return r < 0 ? r : port;
    r = bench_daemon_new(&d->trigd);
    if (r < 0)
        return r;
    snprintf(d->endpoint[WAY_SHM], sizeof d->endpoint[0], "shm://%s/shm", d->trigd.folder);
    snprintf(d->endpoint[WAY_IPC], sizeof d->endpoint[0], "%s", d->trigd.endpoint);
    snprintf(d->endpoint[WAY_TCP], sizeof d->endpoint[0], "tcp://127.0.0.1:%d", port);
    snprintf(endpoints, sizeof endpoints, ", \"%s\", \"%s\"", d->endpoint[WAY_SHM],
             d->endpoint[WAY_TCP]);
    snprintf(library, sizeof library, "%s/counting.so", bench);
    snprintf(counts, sizeof counts, "%s/counts", d->trigd.folder);
    if (counting)
        r = map_counts(d, counts);
    if (r == 0)
        r = bench_daemon_start(&d->trigd, &setup);
    return r < 0 ? r : process_await_file(d->endpoint[WAY_IPC] + strlen("ipc://"), d->trigd.pid);
}

void daemon_stop(struct daemon *d)
{
    bench_daemon_stop(&d->trigd);
    if (d->counts)
        munmap(d->counts, sizeof *d->counts);
    memset(d, 0, sizeof *d);
}
