/* SPDX-License-Identifier: Apache-2.0 */
/* fakegpu - a backend for tests: eight "GPUs" that are the host's CPU, with memory of their own,
 * and take 2 ms for a batch. GPU n is lost while the file n of the folder $FAKEGPU_LOST exists. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trigd/device.h"

#define GPUS 8u

static const struct trg_backend *cpu;
static struct trg_device_ops ops; /* the CPU's, but for the functions below */
static const struct trg_device_ops *real;
static uint32_t mine; /* a worker opens one device */

static int is_lost(uint32_t index)
{
    const char *folder = getenv("FAKEGPU_LOST");
    char path[512];

    if (!folder)
        return 0;
    snprintf(path, sizeof path, "%s/%u", folder, index);
    return access(path, F_OK) == 0;
}

static void info(struct trg_device *d, struct trg_device_info *ret_info)
{
    real->info(d, ret_info);
    snprintf(ret_info->backend, sizeof ret_info->backend, "cuda");
    snprintf(ret_info->name, sizeof ret_info->name, "fake GPU");
    ret_info->index = mine;
    ret_info->is_host = 0;
}

static int finish(struct trg_queue *q)
{
    return is_lost(mine) ? -ENODEV : real->finish(q);
}

static int event_wait(struct trg_event *e)
{
    return is_lost(mine) ? -ENODEV : real->event_wait(e);
}

static int event_query(struct trg_event *e)
{
    const struct timespec batch = {.tv_nsec = 2000000};

    nanosleep(&batch, NULL);
    return is_lost(mine) ? -ENODEV : real->event_query(e);
}

static int load(void)
{
    char path[512];
    const char *build = getenv("TRIGD_BUILD");
    void *so;

    if (cpu)
        return 0;
    snprintf(path, sizeof path, "%s/backends/trigd-cpu.so", build ? build : ".");
    so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    cpu = so ? dlsym(so, TRG_BACKEND_SYMBOL) : NULL;
    return cpu ? 0 : -ENOENT;
}

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    (void)host;
    *ret_count = GPUS;
    return load();
}

static int open_one(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    int r = load();

    if (r == 0 && (index >= GPUS || is_lost(index)))
        r = -ENODEV;
    if (r == 0)
        r = cpu->open(host, 0, ret_device);
    if (r < 0)
        return r;
    mine = index;
    real = trg_ops(*ret_device);
    ops = *real;
    ops.info = info;
    ops.finish = finish;
    ops.event_wait = event_wait;
    ops.event_query = event_query;
    ((struct trg_object *)*ret_device)->ops = &ops; /* what is made from it has them as well */
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {TRG_BACKEND_ABI, sizeof trg_backend, "cuda", count,
                                        open_one};
