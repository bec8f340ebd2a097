/* SPDX-License-Identifier: Apache-2.0 */
/* trigd-opencl - the devices of all OpenCL platforms in one list, GPUs first: finding and opening
 * them, memory, events, and the table of the backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

#include <CL/cl_ext.h>

#define DEVICES_MAX   64u
#define PLATFORMS_MAX 16u
#define TEXT_BYTES    256u
#define NVIDIA_GROUP  256u

struct list {
    cl_device_id id[DEVICES_MAX];
    uint32_t n;
};

/* ---------------------------------------------------------------- finding devices */

/* A text about a device; empty, and an error line, when it cannot be had. */
static int get_text(const struct backend_log *log, cl_device_id id, cl_device_info what,
                    char text[TEXT_BYTES])
{
    cl_int code;

    memset(text, 0, TEXT_BYTES);
    code = clGetDeviceInfo(id, what, TEXT_BYTES - 1, text, NULL);
    return opencl_errno(log, code, "clGetDeviceInfo", "text");
}

static bool is_usable(const struct backend_log *log, cl_device_id id)
{
    cl_bool is_there = CL_FALSE, has_compiler = CL_FALSE;
    char version[TEXT_BYTES];
    cl_int code = clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof is_there, &is_there, NULL);

    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof has_compiler, &has_compiler,
                               NULL);
    if (opencl_errno(log, code, "clGetDeviceInfo", "available") < 0 ||
        get_text(log, id, CL_DEVICE_VERSION, version) < 0)
        return false;
    return is_there && has_compiler && strncmp(version, "OpenCL 1.0", 10) != 0 &&
           strncmp(version, "OpenCL 1.1", 10) != 0;
}

/* Appends the devices of a type that a platform has and trigd can use.  A platform that does not
 * work is left out. */
static void add_devices(const struct backend_log *log, cl_platform_id platform, cl_device_type type,
                        struct list *list)
{
    cl_device_id found[DEVICES_MAX];
    cl_uint n = 0;
    cl_int code = clGetDeviceIDs(platform, type, DEVICES_MAX, found, &n);

    if (code != CL_SUCCESS) {
        if (code != CL_DEVICE_NOT_FOUND)
            opencl_errno(log, code, "clGetDeviceIDs", NULL);
        return;
    }
    for (cl_uint i = 0; i < n && i < DEVICES_MAX && list->n < DEVICES_MAX; i++)
        if (is_usable(log, found[i]))
            list->id[list->n++] = found[i];
}

/* All usable devices.  GPUs first, so that device 0 is what one installs the backend for. */
static void list_devices(const struct backend_log *log, struct list *list)
{
    const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                    CL_DEVICE_TYPE_CPU};
    cl_platform_id platform[PLATFORMS_MAX];
    cl_uint n = 0;
    cl_int code = clGetPlatformIDs(PLATFORMS_MAX, platform, &n);

    list->n = 0;
    if (code != CL_SUCCESS || !n) {
        backend_log(log, TRG_INFO, "no device: no driver is installed (%s)",
                    opencl_error_name(code));
        return;
    }
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (cl_uint p = 0; p < n && p < PLATFORMS_MAX; p++)
            add_devices(log, platform[p], types[t], list);
    if (!list->n)
        backend_log(log, TRG_INFO, "no device: %u platforms, none with a device for OpenCL 1.2", n);
}

/* ---------------------------------------------------------------- opening and closing */

static int read_numbers(struct trg_device *d)
{
    cl_uint units = 0;
    cl_ulong memory = 0, shared = 0;
    size_t group_max = 0;
    cl_device_fp_config fp = 0;
    const struct {
        cl_device_info what;
        size_t bytes;
        void *to;
    } wanted[] = {
        {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units},
        {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory},
        {CL_DEVICE_LOCAL_MEM_SIZE, sizeof shared, &shared},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group_max, &group_max},
        {CL_DEVICE_SINGLE_FP_CONFIG, sizeof fp, &fp},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof wanted / sizeof wanted[0]; i++)
        r = opencl_check(
            d, clGetDeviceInfo(d->id, wanted[i].what, wanted[i].bytes, wanted[i].to, NULL),
            "clGetDeviceInfo", "number");
    d->info.units = units;
    d->info.memory_bytes = memory;
    d->info.shared_bytes = (uint32_t)shared;
    d->info.group_max = (uint32_t)group_max;
    /* division and sqrt to the last bit, as on the other devices, where the device can */
    snprintf(d->flags, sizeof d->flags, "-cl-std=CL1.2%s",
             fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? " -cl-fp32-correctly-rounded-divide-sqrt"
                                                      : "");
    if (r == 0 && !(fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        backend_log(
            &d->log, TRG_WARN,
            "division and sqrt are not rounded correctly: floats may differ in the last place");
    return r;
}

/* Where the device is plugged in, if its driver says so. */
static void read_place(struct trg_device *d)
{
#ifdef CL_DEVICE_PCI_BUS_INFO_KHR
    cl_device_pci_bus_info_khr at;

    if (clGetDeviceInfo(d->id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof at, &at, NULL) == CL_SUCCESS)
        snprintf(d->info.pci, sizeof d->info.pci, "%04x:%02x:%02x.%x", at.pci_domain & 0xffffu,
                 at.pci_bus & 0xffu, at.pci_device & 0xffu, at.pci_function & 0xfu);
#else
    (void)d;
#endif
}

static int read_info(struct trg_device *d, uint32_t index)
{
    char name[TEXT_BYTES], driver[TEXT_BYTES], platform_name[TEXT_BYTES] = "";
    cl_platform_id platform;
    int r = get_text(&d->log, d->id, CL_DEVICE_NAME, name);

    if (r == 0)
        r = get_text(&d->log, d->id, CL_DRIVER_VERSION, driver);
    if (r == 0)
        r = opencl_check(
            d, clGetDeviceInfo(d->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL),
            "clGetDeviceInfo", "platform");
    if (r == 0)
        r = opencl_check(d,
                         clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1,
                                           platform_name, NULL),
                         "clGetPlatformInfo", NULL);
    if (r < 0)
        return r;
    snprintf(d->info.backend, sizeof d->info.backend, "opencl");
    snprintf(d->info.name, sizeof d->info.name, "%.48s (%.40s)", name, platform_name);
    snprintf(d->info.driver, sizeof d->info.driver, "%.90s", driver);
    d->info.index = index;
    r = read_numbers(d);
    read_place(d);
    /* NVIDIA's compiler makes kernels without a required group size for so many at most */
    if (strstr(platform_name, "NVIDIA") && d->info.group_max > NVIDIA_GROUP)
        d->info.group_max = NVIDIA_GROUP;
    return r;
}

static void device_close(struct trg_device *d)
{
    if (d->service)
        clReleaseCommandQueue(d->service);
    if (d->context)
        clReleaseContext(d->context);
    free(d);
}

static void device_info(struct trg_device *d, struct trg_device_info *ret_info)
{
    *ret_info = d->info;
}

/* ---------------------------------------------------------------- memory */

static void buffer_free(struct trg_buffer *b)
{
    struct trg_device *d = b->device;

    if (b->host &&
        opencl_check(d, clEnqueueUnmapMemObject(d->service, b->mem, b->host, 0, NULL, NULL),
                     "clEnqueueUnmapMemObject", NULL) == 0)
        opencl_check(d, clFinish(d->service), "clFinish", "unmap");
    if (b->mem)
        opencl_check(d, clReleaseMemObject(b->mem), "clReleaseMemObject", NULL);
    free(b);
}

/* Makes the memory real: mapped, or on the device, and not at its first use. */
static int settle(struct trg_buffer *b, enum trg_mem mem, const char *what)
{
    struct trg_device *d = b->device;
    cl_int code;
    int r;

    if (mem == TRG_MEM_PINNED) {
        b->host = clEnqueueMapBuffer(d->service, b->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                     b->bytes, 0, NULL, NULL, &code);
        return opencl_check(d, code, "clEnqueueMapBuffer", what);
    }
    r = opencl_check(d,
                     clEnqueueMigrateMemObjects(d->service, 1, &b->mem,
                                                CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL,
                                                NULL),
                     "clEnqueueMigrateMemObjects", what);
    return r < 0 ? r : opencl_check(d, clFinish(d->service), "clFinish", what);
}

static int buffer_new(struct trg_device *d, enum trg_mem mem, size_t bytes,
                      struct trg_buffer **ret_buffer)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | (mem == TRG_MEM_PINNED ? CL_MEM_ALLOC_HOST_PTR : 0u);
    struct trg_buffer *b;
    char what[48];
    cl_int code;
    int r;

    if (!bytes)
        return -EINVAL;
    if (atomic_load(&d->is_lost))
        return -ENODEV;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->object.ops = d->object.ops;
    b->device = d;
    b->bytes = bytes;
    snprintf(what, sizeof what, "%zu bytes", bytes);
    b->mem = clCreateBuffer(d->context, flags, bytes, NULL, &code);
    r = opencl_check(d, code, "clCreateBuffer", what);
    if (r == 0)
        r = settle(b, mem, what);
    if (r < 0) {
        buffer_free(b);
        return r;
    }
    *ret_buffer = b;
    return 0;
}

static void *buffer_host(struct trg_buffer *b)
{
    return b->host;
}

/* ---------------------------------------------------------------- events */

static int event_new(struct trg_device *d, struct trg_event **ret_event)
{
    struct trg_event *e = calloc(1, sizeof *e);

    if (!e)
        return -ENOMEM;
    e->object.ops = d->object.ops;
    e->device = d;
    *ret_event = e;
    return 0;
}

static void event_free(struct trg_event *e)
{
    if (e->marker)
        opencl_check(e->device, clReleaseEvent(e->marker), "clReleaseEvent", NULL);
    free(e);
}

static int event_query(struct trg_event *e)
{
    cl_int status = CL_QUEUED;
    int r;

    if (!e->marker)
        return -EINVAL;
    r = opencl_check(
        e->device,
        clGetEventInfo(e->marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
        "clGetEventInfo", e->last);
    if (r < 0)
        return r;
    if (status > CL_COMPLETE)
        return -EAGAIN;
    return opencl_check(e->device, status, "event", e->last);
}

static int event_wait(struct trg_event *e)
{
    int r;

    if (!e->marker)
        return -EINVAL;
    r = opencl_check(e->device, clWaitForEvents(1, &e->marker), "clWaitForEvents", e->last);
    return r < 0 ? r : event_query(e);
}

static int event_elapsed(struct trg_event *from, struct trg_event *to, double *ret_us)
{
    cl_ulong begin = 0, end = 0;
    int r = event_query(from);

    if (!opencl_tells_times()) {
        backend_log(&from->device->log, TRG_ERROR, "times of events: " OPENCL_TIMES " is not set");
        return -ENOTSUP;
    }
    if (r == 0)
        r = event_query(to);
    if (r == 0)
        r = opencl_check(from->device,
                         clGetEventProfilingInfo(from->marker, CL_PROFILING_COMMAND_END,
                                                 sizeof begin, &begin, NULL),
                         "clGetEventProfilingInfo", from->last);
    if (r == 0)
        r = opencl_check(
            to->device,
            clGetEventProfilingInfo(to->marker, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
            "clGetEventProfilingInfo", to->last);
    if (r == 0)
        *ret_us = ((double)end - (double)begin) * 1e-3;
    return r;
}

/* ---------------------------------------------------------------- backend */

static const struct trg_device_ops ops = {
    .size = sizeof ops,
    .info = device_info,
    .close = device_close,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .buffer_host = buffer_host,
    .module_new = opencl_module_new,
    .module_free = opencl_module_free,
    .kernel_get = opencl_kernel_get,
    .queue_new = opencl_queue_new,
    .queue_free = opencl_queue_free,
    .write = opencl_queue_write,
    .read = opencl_queue_read,
    .copy = opencl_queue_copy,
    .fill = opencl_queue_fill,
    .launch = opencl_queue_launch,
    .host_call = opencl_queue_host_call,
    .flush = opencl_queue_flush,
    .finish = opencl_queue_finish,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = opencl_queue_record,
    .event_query = event_query,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .queue_wait_event = opencl_queue_wait_event,
};

static int count(const struct trg_host *host, uint32_t *ret_count)
{
    const struct backend_log log = {host, "opencl"};
    struct list list;

    list_devices(&log, &list);
    *ret_count = list.n;
    return 0;
}

static int open_opencl(const struct trg_host *host, uint32_t index, struct trg_device **ret_device)
{
    const struct backend_log log = {host, "opencl"};
    struct list list;
    struct trg_device *d;
    cl_int code;
    int r;

    list_devices(&log, &list);
    if (index >= list.n)
        return -ENODEV;
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->object.ops = &ops;
    d->log.host = host;
    snprintf(d->log.device, sizeof d->log.device, "opencl %u", index);
    d->id = list.id[index];
    r = read_info(d, index);
    if (r == 0) {
        d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
        r = opencl_check(d, code, "clCreateContext", NULL);
    }
    if (r == 0) {
        d->service = clCreateCommandQueue(d->context, d->id, 0, &code);
        r = opencl_check(d, code, "clCreateCommandQueue", NULL);
    }
    if (r < 0) {
        device_close(d);
        return r;
    }
    *ret_device = d;
    return 0;
}

__attribute__((visibility("default"))) extern const struct trg_backend trg_backend;
const struct trg_backend trg_backend = {.abi = TRG_BACKEND_ABI,
                                        .size = sizeof trg_backend,
                                        .name = "opencl",
                                        .count = count,
                                        .open = open_opencl};
