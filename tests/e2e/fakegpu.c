/* SPDX-License-Identifier: Apache-2.0 */
/* fakegpu - a backend for tests: eight "GPUs" that are the host's CPU, with memory of their own,
 * and take 2 ms for a batch. GPU n is lost while the file n of the folder $FAKEGPU_LOST exists,
 * and the context of process p on it while the file n.p does; while n.kernels does, it is lost with
 * the first kernel.  With $FAKEGPU_COPIES they copy at full speed from memory of their own alone.
 * The file n.memory there, where a test has made it, says how much device memory GPU n has and who
 * has it (fakegpu.h).  tests/faults lets each call fail. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fakegpu.h"
#include "trigd/device.h"

#define GPUS 8u

static const struct trg_backend *cpu;
static struct trg_device_ops ops; /* the CPU's, but for the functions below */
static const struct trg_device_ops *real;
static uint32_t mine;                 /* a worker opens one device */
static struct fakegpu_memory *memory; /* NULL: no limit */

static bool is_there(uint32_t index, const char *suffix)
{
    const char *folder = getenv("FAKEGPU_LOST");
    char path[512];

    if (!folder)
        return false;
    snprintf(path, sizeof path, "%s/%u%s", folder, index, suffix);
    return access(path, F_OK) == 0;
}

/* What runs there. */
static bool is_lost(uint32_t index)
{
    char process[32];

    snprintf(process, sizeof process, ".%ld", (long)getpid());
    return is_there(index, "") || is_there(index, process) || is_there(index, ".kernels");
}

__attribute__((weak)) bool below_fails(const char *call, int error); /* tests/faults/below.h */

static bool is_failing(const char *call)
{
    return below_fails && below_fails(call, EIO);
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
    return is_lost(mine) ? -ENODEV : is_failing("gpu_finish") ? -EIO : real->finish(q);
}

static int event_wait(struct trg_event *e)
{
    return is_lost(mine) ? -ENODEV : is_failing("gpu_event_wait") ? -EIO : real->event_wait(e);
}

static int event_query(struct trg_event *e)
{
    const struct timespec batch = {.tv_nsec = 2000000};

    nanosleep(&batch, NULL);
    return is_lost(mine) ? -ENODEV : is_failing("gpu_event_query") ? -EIO : real->event_query(e);
}

/* ---------------------------------------------------------------- memory */

static void map_memory(uint32_t index)
{
    const char *folder = getenv("FAKEGPU_LOST");
    char path[512];
    void *at;
    int fd;

    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%u.memory", folder, index);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    at = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        memory = at;
}

/* The place of this process, of which one allocates at a time. */
static uint32_t my_place(void)
{
    uint32_t i = 0;

    while (i < FAKEGPU_PROCESSES && memory->process[i].pid != getpid())
        i++;
    if (i < FAKEGPU_PROCESSES)
        return i;
    i = 0;
    while (i + 1 < FAKEGPU_PROCESSES && fakegpu_has(memory, i))
        i++;
    memory->process[i].bytes = 0;
    memory->process[i].pid = getpid();
    return i;
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    if (memory && mem == TRG_MEM_DEVICE) {
        const uint32_t place = my_place();

        if (memory->most && fakegpu_used(memory) + bytes > memory->most)
            return -ENOMEM;
        memory->process[place].bytes += bytes;
    }
    return real->buffer_new(d, mem, bytes, ret_buffer);
}

/* ---------------------------------------------------------------- calls that fail */

#define GPU_CALL(name, params, args)                                    \
    static int failing_##name params                                    \
    {                                                                   \
        return below_fails("gpu_" #name, EIO) ? -EIO : real->name args; \
    }
GPU_CALL(buffer_new,
         (struct trg_device * d, enum trg_mem mem, size_t bytes, struct trg_buffer **ret),
         (d, mem, bytes, ret))
GPU_CALL(module_new,
         (struct trg_device * d, const struct trg_program *p, const char *options,
          struct trg_module **ret),
         (d, p, options, ret))
GPU_CALL(kernel_get, (struct trg_module * m, const char *name, struct trg_kernel **ret),
         (m, name, ret))
GPU_CALL(queue_new, (struct trg_device * d, struct trg_queue **ret), (d, ret))
GPU_CALL(write,
         (struct trg_queue * q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
          size_t src_at, size_t bytes),
         (q, dst, dst_at, src, src_at, bytes))
GPU_CALL(read,
         (struct trg_queue * q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
          size_t src_at, size_t bytes),
         (q, dst, dst_at, src, src_at, bytes))
GPU_CALL(copy,
         (struct trg_queue * q, struct trg_buffer *dst, size_t dst_at, struct trg_buffer *src,
          size_t src_at, size_t bytes),
         (q, dst, dst_at, src, src_at, bytes))
GPU_CALL(fill,
         (struct trg_queue * q, struct trg_buffer *b, size_t at, size_t bytes, uint32_t pattern),
         (q, b, at, bytes, pattern))
GPU_CALL(launch,
         (struct trg_queue * q, struct trg_kernel *k, struct trg_range r,
          const struct trg_arg *args, uint32_t n),
         (q, k, r, args, n))
GPU_CALL(host_call, (struct trg_queue * q, void (*fn)(void *), void *arg), (q, fn, arg))
GPU_CALL(flush, (struct trg_queue * q), (q))
GPU_CALL(event_new, (struct trg_device * d, struct trg_event **ret), (d, ret))
GPU_CALL(event_record, (struct trg_queue * q, struct trg_event *e), (q, e))
GPU_CALL(queue_wait_event, (struct trg_queue * q, struct trg_event *e), (q, e))

static void fail_on_command(void)
{
    ops.buffer_new = failing_buffer_new;
    ops.module_new = failing_module_new;
    ops.kernel_get = failing_kernel_get;
    ops.queue_new = failing_queue_new;
    ops.write = failing_write;
    ops.read = failing_read;
    ops.copy = failing_copy;
    ops.fill = failing_fill;
    ops.launch = failing_launch;
    ops.host_call = failing_host_call;
    ops.flush = failing_flush;
    ops.event_new = failing_event_new;
    ops.event_record = failing_event_record;
    ops.queue_wait_event = failing_queue_wait_event;
}

/* ---------------------------------------------------------------- the backend */

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

    if (r == 0 && (index >= GPUS || is_there(index, "")))
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
    ops.buffer_new = buffer_new;
    map_memory(index);
    if (getenv("FAKEGPU_COPIES"))
        ops.buffer_wrap = NULL;
    if (below_fails)
        fail_on_command();
    ((struct trg_object *)*ret_device)->ops = &ops; /* what is made from it has them as well */
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {TRG_BACKEND_ABI, sizeof trg_backend, "cuda", count,
                                        open_one};
