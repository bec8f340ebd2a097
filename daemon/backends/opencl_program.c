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
    struct trg_kernel *kernels; /* [n], in the order of the program's entries */
    uint32_t n;
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

/* A kernel of the module's program. */
static int open_kernel(struct trg_module *m, const struct trg_host_entry *entry,
                       struct trg_kernel *k)
{
    struct trg_device *d = m->device;
    size_t group_max = 0;
    cl_int code;
    int r;

    k->entry = entry;
    k->cl = clCreateKernel(m->cl, entry->name, &code);
    r = opencl_check(d, code, "clCreateKernel", entry->name);
    if (r < 0)
        return r;
    code = clGetKernelWorkGroupInfo(k->cl, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof group_max,
                                    &group_max, NULL);
    r = opencl_check(d, code, "clGetKernelWorkGroupInfo", entry->name);
    if (r < 0) {
        clReleaseKernel(k->cl);
        return r;
    }
    k->group_max = (uint32_t)group_max;
    pthread_mutex_init(&k->lock, NULL);
    return 0;
}

/* All kernels at once: what is wrong with one shows when the program is loaded. */
static int open_kernels(struct trg_module *m)
{
    const uint32_t n = backend_entries(m->program);
    int r = 0;

    m->kernels = calloc(n + 1, sizeof *m->kernels);
    if (!m->kernels)
        return -ENOMEM;
    while (r == 0 && m->n < n) {
        r = open_kernel(m, &m->program->host->entries[m->n], &m->kernels[m->n]);
        m->n += r == 0;
    }
    return r;
}

/* The program from the cache or the compiler. */
static int open_program(struct trg_module *m, const char *options)
{
    const struct trg_program *p = m->program;
    struct trg_device *d = m->device;
    struct opencl_key key = {{0, 0}};
    int r;

    opencl_key_add(&key, p->opencl);
    opencl_key_add(&key, options);
    opencl_key_add(&key, d->info.name);
    opencl_key_add(&key, d->info.driver);
    m->cl = load_cached(d, p->name, &key, options);
    if (m->cl)
        return 0;
    r = build(d, p, options, &m->cl);
    if (r == 0 && d->log.host->cache_dir)
        store(d, p->name, &key, m->cl);
    return r;
}

int opencl_module_new(struct trg_device *d, const struct trg_program *p, const char *options,
                      struct trg_module **ret_module)
{
    char all[OPTIONS_BYTES];
    struct trg_module *m;
    int r;

    if (snprintf(all, sizeof all, "%s %s", d->flags, options ? options : "") >= OPTIONS_BYTES) {
        backend_log(&d->log, TRG_ERROR, "options of program \"%s\": more than %d bytes", p->name,
                    OPTIONS_BYTES);
        return -EINVAL;
    }
    if (atomic_load(&d->is_lost))
        return -ENODEV;
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->object.ops = d->object.ops;
    m->device = d;
    m->program = p;
    r = open_program(m, all);
    if (r == 0)
        r = open_kernels(m);
    if (r < 0) {
        opencl_module_free(m);
        return r;
    }
    *ret_module = m;
    return 0;
}

void opencl_module_free(struct trg_module *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        clReleaseKernel(m->kernels[i].cl);
        pthread_mutex_destroy(&m->kernels[i].lock);
    }
    free(m->kernels);
    if (m->cl)
        clReleaseProgram(m->cl);
    free(m);
}

int opencl_kernel_get(struct trg_module *m, const char *name, struct trg_kernel **ret_kernel)
{
    int64_t i = backend_find(&m->device->log, m->program, name);

    if (i < 0)
        return -ENOENT;
    *ret_kernel = &m->kernels[i];
    return 0;
}
