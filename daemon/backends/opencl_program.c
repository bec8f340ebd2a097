/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the OpenCL backend: from the cache on disk or from source, and their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"
#include "opencl_cache.h"

#define OPTIONS_BYTES 1024
#define LOG_LINES_MAX 60

struct trg_module {
    struct trg_object object;
    struct trg_device *device;
    const struct trg_program *program;
    cl_program cl;
    struct trg_kernel *kernels; /* that were asked for */
    pthread_mutex_t lock;       /* of the list */
};

/* The compiler's output, line by line. */
static void print_build_log(struct trg_device *d, cl_program program, const char *name)
{
    size_t bytes = 0;
    char *text, *rest, *line;
    int n = 0;

    if (clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS)
        return;
    text = calloc(1, bytes + 1);
    if (text && clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, bytes, text, NULL) ==
                    CL_SUCCESS)
        for (line = strtok_r(text, "\n", &rest); line && n < LOG_LINES_MAX;
             line = strtok_r(NULL, "\n", &rest), n++)
            backend_log(&d->log, TRG_ERROR, "%s: %s", name, line);
    free(text);
}

/* The program from the cache; NULL when it is not there or the driver does not take it. */
static cl_program load_cached(struct trg_device *d, const char *name, const struct opencl_key *key,
                              const char *options)
{
    unsigned char *data;
    const unsigned char *list[1];
    cl_int code, status = CL_SUCCESS;
    cl_program program;
    size_t bytes;

    if (opencl_cache_load(&d->log, name, key, &data, &bytes) < 0)
        return NULL;
    list[0] = data;
    program = clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, list, &status, &code);
    free(data);
    if (code == CL_SUCCESS && status == CL_SUCCESS)
        code = clBuildProgram(program, 1, &d->id, options, NULL, NULL);
    if (code == CL_SUCCESS && status == CL_SUCCESS)
        return program;
    backend_log(&d->log, TRG_WARN,
                "the driver refuses the cached binary of \"%s\": %s; building again", name,
                opencl_error_name(code != CL_SUCCESS ? code : status));
    if (program)
        clReleaseProgram(program);
    return NULL;
}

static void store(struct trg_device *d, const char *name, const struct opencl_key *key,
                  cl_program program)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL);

    if (code == CL_SUCCESS && bytes)
        data = malloc(bytes);
    if (data)
        code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL);
    if (code == CL_SUCCESS && data)
        opencl_cache_store(&d->log, name, key, data, bytes);
    else
        backend_log(&d->log, TRG_WARN, "no binary of \"%s\" to keep: %s", name,
                    opencl_error_name(code));
    free(data);
}

static int build(struct trg_device *d, const struct trg_program *p, const char *options,
                 cl_program *ret_program)
{
    const char *source = p->opencl;
    cl_program program;
    cl_int code;
    int r;

    program = clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
    r = opencl_check(d, code, "clCreateProgramWithSource", p->name);
    if (r < 0)
        return r;
    code = clBuildProgram(program, 1, &d->id, options, NULL, NULL);
    r = opencl_check(d, code, "clBuildProgram", p->name);
    if (r < 0) {
        print_build_log(d, program, p->name);
        clReleaseProgram(program);
        return r;
    }
    *ret_program = program;
    return 0;
}

int opencl_module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    struct opencl_key key = {{0, 0}};
    char all[OPTIONS_BYTES];
    struct trg_module *m;
    int r = 0;

    if (snprintf(all, sizeof all, "%s %s", d->flags, options ? options : "") >= OPTIONS_BYTES)
        return -EINVAL;
    opencl_key_add(&key, p->opencl);
    opencl_key_add(&key, all);
    opencl_key_add(&key, d->info.name);
    opencl_key_add(&key, d->info.driver);
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = d->object.ops;
    m->device = d;
    m->program = p;
    m->cl = load_cached(d, p->name, &key, all);
    if (!m->cl) {
        r = build(d, p, all, &m->cl);
        if (r == 0 && d->log.host->cache_dir)
            store(d, p->name, &key, m->cl);
    }
    if (r < 0) {
        free(m);
        return r;
    }
    pthread_mutex_init(&m->lock, NULL);
    *ret_module = m;
    return 0;
}

void opencl_module_free(struct trg_module *m)
{
    struct trg_kernel *k, *next;

    for (k = m->kernels; k; k = next) {
        next = k->next;
        clReleaseKernel(k->cl);
        pthread_mutex_destroy(&k->lock);
        free(k);
    }
    clReleaseProgram(m->cl);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int new_kernel(struct trg_module *m, const struct trg_host_entry *entry,
                      struct trg_kernel **ret_kernel)
{
    struct trg_device *d = m->device;
    struct trg_kernel *k = calloc(1, sizeof *k);
    size_t group_max = 0;
    cl_int code;
    int r;

    if (!k)
        return -ENOMEM;
    k->entry = entry;
    k->cl = clCreateKernel(m->cl, entry->name, &code);
    r = opencl_check(d, code, "clCreateKernel", entry->name);
    if (r == 0) {
        code = clGetKernelWorkGroupInfo(k->cl, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof group_max,
                                        &group_max, NULL);
        r = opencl_check(d, code, "clGetKernelWorkGroupInfo", entry->name);
    }
    if (r < 0) {
        if (k->cl)
            clReleaseKernel(k->cl);
        free(k);
        return r;
    }
    k->group_max = (uint32_t)group_max;
    pthread_mutex_init(&k->lock, NULL);
    *ret_kernel = k;
    return 0;
}

int opencl_kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    const struct trg_host_entry *entry = backend_entry(&m->device->log, m->program, name);
    struct trg_kernel *k;
    int r = 0;

    if (!entry)
        return -ENOENT;
    pthread_mutex_lock(&m->lock);
    k = m->kernels;
    while (k && k->entry != entry)
        k = k->next;
    if (!k) {
        r = new_kernel(m, entry, &k);
        if (r == 0) {
            k->next = m->kernels;
            m->kernels = k;
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (r == 0)
        *ret_kernel = k;
    return r;
}
