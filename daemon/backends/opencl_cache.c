/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled OpenCL programs on disk.  The file's name is a hash of all that the binary depends on:
 * source, options, device, driver.  A file that does not load is made anew. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl.h"

static uint64_t hash_text(uint64_t h, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211); /* FNV-1a */
    return (h ^ 0xffu) * UINT64_C(1099511628211);
}

static uint64_t hash_info(uint64_t h, cl_device_id device, cl_device_info what)
{
    char text[512] = "";

    if (clGetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        return h;
    return hash_text(h, text, strlen(text));
}

static void cache_path(const struct trg_host *host, cl_device_id device, const struct trg_program *p,
                       const char *options, char *ret_path, size_t bytes)
{
    uint64_t h = hash_text(UINT64_C(14695981039346656037), p->opencl, p->opencl_bytes);

    h = hash_text(h, options, strlen(options));
    h = hash_info(h, device, CL_DEVICE_NAME);
    h = hash_info(h, device, CL_DEVICE_VERSION);
    h = hash_info(h, device, CL_DRIVER_VERSION);
    snprintf(ret_path, bytes, "%s/%s-%016llx.clbin", host->cache_dir, p->name,
             (unsigned long long)h);
}

static unsigned char *read_file(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = NULL;
    struct stat st;

    if (!f)
        return NULL;
    if (fstat(fileno(f), &st) == 0 && st.st_size > 0) {
        *ret_n = (size_t)st.st_size;
        bytes = malloc(*ret_n);
        if (bytes && fread(bytes, 1, *ret_n, f) != *ret_n) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(f);
    return bytes;
}

/* Writes beside the place and renames, so that nobody ever reads half a file. */
static void write_file(const struct trg_host *host, const char *path, const void *bytes, size_t n)
{
    char temporary[4200];
    FILE *f;
    bool good;

    if (mkdir(host->cache_dir, 0750) < 0 && errno != EEXIST) {
        backend_log(host, TRG_WARN, "opencl: cannot make the cache folder %s: %s", host->cache_dir,
                    strerror(errno));
        return;
    }
    snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid());
    f = fopen(temporary, "wb");
    if (!f)
        return;
    good = fwrite(bytes, 1, n, f) == n;
    good &= fclose(f) == 0;
    if (!good || rename(temporary, path) < 0)
        unlink(temporary);
}

static int build(const struct trg_host *host, cl_program program, cl_device_id device,
                 const struct trg_program *p, const char *options)
{
    cl_int code = clBuildProgram(program, 1, &device, options, NULL, NULL);
    char log[900] = "";

    if (code == CL_SUCCESS)
        return 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    backend_log(host, TRG_ERROR, "opencl: program %s does not build: %s: %s", p->name,
                opencl_error_name(code), log);
    return opencl_errno(code);
}

static int from_cache(const struct trg_host *host, cl_context context, cl_device_id device,
                      const char *options, const char *path, cl_program *ret_program)
{
    size_t n = 0;
    unsigned char *bytes = read_file(path, &n);
    const unsigned char *list = bytes;
    cl_int status = CL_SUCCESS, code;
    cl_program program;

    if (!bytes)
        return -ENOENT;
    program = clCreateProgramWithBinary(context, 1, &device, &n, &list, &status, &code);
    free(bytes);
    if (code == CL_SUCCESS && status == CL_SUCCESS &&
        clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS) {
        *ret_program = program;
        return 0;
    }
    if (code == CL_SUCCESS)
        clReleaseProgram(program);
    backend_log(host, TRG_WARN, "opencl: %s does not load and is made anew", path);
    unlink(path);
    return -EBADMSG;
}

static void to_cache(const struct trg_host *host, cl_program program, const char *path)
{
    size_t n = 0;
    unsigned char *bytes;

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) != CL_SUCCESS || !n)
        return;
    bytes = malloc(n);
    if (bytes &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) == CL_SUCCESS)
        write_file(host, path, bytes, n);
    free(bytes);
}

int opencl_program(const struct trg_host *host, cl_context context, cl_device_id device,
                   const struct trg_program *p, const char *options, cl_program *ret_program)
{
    char path[4096] = "";
    cl_program program;
    cl_int code;
    int r;

    if (host->cache_dir && host->cache_dir[0])
        cache_path(host, device, p, options, path, sizeof path);
    if (path[0] && from_cache(host, context, device, options, path, ret_program) == 0)
        return 0;
    program = clCreateProgramWithSource(context, 1, (const char *[]){p->opencl},
                                        (const size_t[]){p->opencl_bytes}, &code);
    if (code != CL_SUCCESS) {
        backend_log(host, TRG_ERROR, "opencl: program %s: clCreateProgramWithSource: %s", p->name,
                    opencl_error_name(code));
        return opencl_errno(code);
    }
    r = build(host, program, device, p, options);
    if (r < 0) {
        clReleaseProgram(program);
        return r;
    }
    if (path[0])
        to_cache(host, program, path);
    *ret_program = program;
    return 0;
}
