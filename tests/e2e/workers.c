/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

const char workers_one_lane[] = "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT;
const char workers_menu[] =
    "name: workers\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
    "     prescale: 1, streams: [physics]}\n";

void workers_open(struct server *s, struct link *l, const char *config)
{
    server_start(s, config, workers_menu);
    link_open(l, s);
    link_hello(l, "workers", 0);
}

static void set_file(const char *path, bool is_there)
{
    FILE *f;

    if (!is_there) {
        assert_int_equal(remove(path), 0);
        return;
    }
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

void workers_lose_gpu(const struct server *s, int gpu, bool is_lost)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%d", s->folder, gpu);
    set_file(path, is_lost);
}

void workers_lose_kernels(const struct server *s, int gpu, bool is_lost)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%d.kernels", s->folder, gpu);
    set_file(path, is_lost);
}

struct fakegpu_memory *workers_gpu_memory(const struct server *s, int gpu)
{
    struct fakegpu_memory *m;
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%d.memory", s->folder, gpu);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *m), 0);
    m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(m != MAP_FAILED);
    close(fd);
    return m;
}

void workers_refuse(const struct server *s, bool refuses)
{
    char path[512];

    snprintf(path, sizeof path, "%s/refuses", s->folder);
    set_file(path, refuses);
}

void workers_prepare_gpus(struct server *s, const char *config, const char *menu)
{
    assert_int_equal(setenv("TRIGD_TEST_BACKENDS", "backends-cpu-gpu", 1), 0);
    server_prepare(s, config, menu);
    assert_int_equal(unsetenv("TRIGD_TEST_BACKENDS"), 0);
}

void workers_launch(struct server *s)
{
    char refuses[512];

    snprintf(refuses, sizeof refuses, "%s/refuses", s->folder);
    assert_int_equal(setenv("FAKEGPU_LOST", s->folder, 1), 0);
    assert_int_equal(setenv("FAULT_REFUSES", refuses, 1), 0);
    server_launch(s);
    assert_int_equal(unsetenv("FAULT_REFUSES"), 0);
    assert_int_equal(unsetenv("FAKEGPU_LOST"), 0);
}

void workers_join(struct server *s, struct link *l)
{
    server_wait_ready(s);
    link_open(l, s);
    link_hello(l, "workers", 0);
}

void workers_open_gpus(struct server *s, struct link *l, const char *config, int lost)
{
    workers_prepare_gpus(s, config, workers_menu);
    if (lost >= 0)
        workers_lose_gpu(s, lost, true);
    workers_launch(s);
    workers_join(s, l);
}

void workers_send(struct link *l, uint64_t first, uint32_t at, uint32_t fault)
{
    struct roi_spec specs[WORKERS_BATCH];

    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        specs[i] =
            (struct roi_spec){.token = first + i, .roi_id = i == at ? fault : i + 1, .n = 50};
    link_send_rois(l, specs, WORKERS_BATCH);
}

void workers_expect(struct link *l, uint64_t first, uint32_t at, uint8_t answer)
{
    uint8_t result[WORKERS_BATCH];

    link_collect(l, first, WORKERS_BATCH, result);
    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        assert_int_equal(result[i] & NOT_LATE, i == at ? answer : 1);
}

long workers_number(struct server *s, const char *worker, const char *key)
{
    return (long)server_row_number(s, "workers", worker, key);
}

void workers_nap(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

void workers_wait(struct server *s, const char *worker, const char *key, long value)
{
    server_wait_row(s, "workers", worker, key, (uint64_t)value, (uint64_t)value);
}

pid_t workers_pid(struct server *s, const char *worker)
{
    return (pid_t)server_wait_row(s, "workers", worker, "pid", 1, INT_MAX);
}

uint32_t workers_threads(pid_t pid, pid_t *ret_thread, uint32_t most)
{
    const struct dirent *entry;
    char path[64];
    uint32_t n = 0;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        assert_true(n < most);
        ret_thread[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (folder)
        closedir(folder);
    return n;
}

void workers_lift(struct server *s, const char *worker)
{
    const struct sched_param none = {0};
    pid_t thread[WORKERS_THREADS];
    const uint32_t n = workers_threads(workers_pid(s, worker), thread, WORKERS_THREADS);

    for (uint32_t i = 0; i < n; i++)
        sched_setscheduler(thread[i], SCHED_OTHER, &none); /* it may have ended */
}

pid_t workers_stop(struct server *s, const char *worker)
{
    const pid_t pid = workers_pid(s, worker);

    assert_int_equal(kill(pid, SIGSTOP), 0);
    workers_nap(100); /* until all of its threads have stopped */
    return pid;
}
