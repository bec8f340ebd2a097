/* SPDX-License-Identifier: Apache-2.0 */
/* visitor - a guest for tests: it counts its slices, keeps the count in its folder, and misbehaves
 * where its parameters say so, at once or when a file `go` appears in its folder. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trigd/plugin.h"

enum fault { NONE, FAIL_OPEN, GREEDY, CRASH, HANG, FAIL, FAIL_SAVE, LOSE };

struct config {
    uint32_t fault, at, until, waits;
};

struct trg_algo {
    const struct config *config;
    struct trg_buffer *buffer;
    unsigned long count;
    char folder[500], path[520];
};

static void visitor_close(struct trg_algo *a)
{
    if (!a)
        return;
    trg_buffer_free(a->buffer);
    free(a);
}

static int visitor_open(const struct trg_host *host, const void *config, struct trg_device *device,
                        struct trg_queue *queue, const struct trg_guest_setup *setup,
                        struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    FILE *f;
    int r;

    (void)host;
    (void)queue;
    if (!a)
        return -ENOMEM;
    a->config = config;
    snprintf(a->folder, sizeof a->folder, "%s", setup->folder);
    snprintf(a->path, sizeof a->path, "%s/count", a->folder);
    f = fopen(a->path, "r");
    if (f) {
        r = fscanf(f, "%lu", &a->count) == 1 ? 0 : -EBADMSG;
        fclose(f);
        if (r < 0) {
            visitor_close(a);
            return r;
        }
    }
    r = a->config->fault == FAIL_OPEN
            ? -EIO
            : trg_buffer_new(device, TRG_MEM_DEVICE,
                             a->config->fault == GREEDY ? (size_t)64 << 20 : 1 << 20, &a->buffer);
    if (r < 0) {
        visitor_close(a);
        return r;
    }
    *ret_algo = a;
    return a->config->until && a->count >= a->config->until ? TRG_GUEST_DONE : TRG_GUEST_MORE;
}

static void work(double us)
{
    struct timespec from, now;

    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - from.tv_sec) * 1e6 + (double)(now.tv_nsec - from.tv_nsec) * 1e-3 <
           us);
}

/* A kernel that faults takes the context of its process with it: see fakegpu. */
static int lose_context(const struct trg_algo *a)
{
    char path[540];
    FILE *f;

    snprintf(path, sizeof path, "%s/0.%ld", a->folder, (long)getpid());
    f = fopen(path, "w");
    return f && fclose(f) == 0 ? 0 : -EIO;
}

static void await_go(const struct trg_algo *a)
{
    char path[540];

    snprintf(path, sizeof path, "%s/go", a->folder);
    while (access(path, F_OK) < 0)
        usleep(1000);
}

static int visitor_submit(struct trg_algo *a, struct trg_queue *queue, double us)
{
    (void)queue;
    work(us);
    if (a->count < a->config->at)
        return 0;
    if (a->config->waits)
        await_go(a);
    if (a->config->fault == LOSE)
        return lose_context(a);
    if (a->config->fault == CRASH)
        raise(SIGKILL);
    while (a->config->fault == HANG)
        work(1000);
    return a->config->fault == FAIL ? -EIO : 0;
}

static int visitor_collect(struct trg_algo *a, double us)
{
    (void)us;
    a->count++;
    return a->config->until && a->count >= a->config->until ? TRG_GUEST_DONE : TRG_GUEST_MORE;
}

static int visitor_save(struct trg_algo *a, struct trg_queue *queue)
{
    char part[530];
    FILE *f;

    (void)queue;
    if (a->config->fault == FAIL_SAVE)
        return -ENOSPC;
    snprintf(part, sizeof part, "%s.part", a->path);
    f = fopen(part, "w");
    if (!f)
        return -errno;
    fprintf(f, "%lu\n", a->count);
    return fclose(f) != 0 || rename(part, a->path) != 0 ? -errno : 0;
}

static void visitor_progress(const struct trg_algo *a, char *text, size_t bytes)
{
    snprintf(text, bytes, "count %lu\n\t", a->count); /* the daemon makes one line of it */
}

static const struct trg_param params[] = {
    {"fault", TRG_PARAM_CHOICE, offsetof(struct config, fault), "none", 0, 0, "",
     "none|fail_open|greedy|crash|hang|fail|fail_save|lose", "what goes wrong"},
    {"waits", TRG_PARAM_BOOL, offsetof(struct config, waits), "false", 0, 1, "", NULL,
     "for the file `go`, before it does"},
    {"at", TRG_PARAM_U32, offsetof(struct config, at), "0", 0, 1000000000, "", NULL,
     "count from which on it does"},
    {"until", TRG_PARAM_U32, offsetof(struct config, until), "0", 0, 1000000000, "", NULL,
     "count at which it is done; 0: never"},
    {0}};

static const struct trg_guest guest = {.size = sizeof guest,
                                       .open = visitor_open,
                                       .submit = visitor_submit,
                                       .collect = visitor_collect,
                                       .save = visitor_save,
                                       .progress = visitor_progress,
                                       .close = visitor_close};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "visitor",
                                      .version = "1.0.0",
                                      .summary = "counts its slices",
                                      .backends = "cpu cuda",
                                      .params = params,
                                      .config_size = sizeof(struct config),
                                      .flags = TRG_PLUGIN_GUEST,
                                      .guest = &guest};
