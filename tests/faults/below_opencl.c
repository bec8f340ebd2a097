/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL, as trigd-opencl.so calls it. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stddef.h>

#include "below.h"

#define STATUS(name, failed, params, args) BELOW(cl_int, name, 0, failed, params, args)

/* Of a function that returns an object, and how it went through `ret`. */
#define OBJECT(type, name, failed, params, args)            \
    __attribute__((visibility("default"))) type name params \
    {                                                       \
        BELOW_REAL(name);                                   \
        if (below_fails(#name, 0)) {                        \
            if (ret)                                        \
                *ret = failed;                              \
            return NULL;                                    \
        }                                                   \
        return real args;                                   \
    }

STATUS(clGetPlatformIDs, CL_OUT_OF_HOST_MEMORY, (cl_uint n, cl_platform_id *ids, cl_uint *ret),
       (n, ids, ret))
STATUS(clGetPlatformInfo, CL_OUT_OF_HOST_MEMORY,
       (cl_platform_id p, cl_platform_info i, size_t n, void *v, size_t *ret), (p, i, n, v, ret))
STATUS(clGetDeviceIDs, CL_OUT_OF_HOST_MEMORY,
       (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *ids, cl_uint *ret),
       (p, t, n, ids, ret))
STATUS(clGetDeviceInfo, CL_OUT_OF_RESOURCES,
       (cl_device_id d, cl_device_info i, size_t n, void *v, size_t *ret), (d, i, n, v, ret))
OBJECT(cl_context, clCreateContext, CL_OUT_OF_HOST_MEMORY,
       (const cl_context_properties *p, cl_uint n, const cl_device_id *ids,
        void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *arg, cl_int *ret),
       (p, n, ids, f, arg, ret))
OBJECT(cl_command_queue, clCreateCommandQueue, CL_OUT_OF_RESOURCES,
       (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *ret), (c, d, p, ret))
OBJECT(cl_mem, clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE,
       (cl_context c, cl_mem_flags f, size_t n, void *host, cl_int *ret), (c, f, n, host, ret))
OBJECT(cl_program, clCreateProgramWithSource, CL_OUT_OF_HOST_MEMORY,
       (cl_context c, cl_uint n, const char **texts, const size_t *bytes, cl_int *ret),
       (c, n, texts, bytes, ret))
OBJECT(cl_program, clCreateProgramWithBinary, CL_INVALID_BINARY,
       (cl_context c, cl_uint n, const cl_device_id *ids, const size_t *bytes,
        const unsigned char **binaries, cl_int *status, cl_int *ret),
       (c, n, ids, bytes, binaries, status, ret))
STATUS(clBuildProgram, CL_BUILD_PROGRAM_FAILURE,
       (cl_program p, cl_uint n, const cl_device_id *ids, const char *options,
        void(CL_CALLBACK *f)(cl_program, void *), void *arg),
       (p, n, ids, options, f, arg))
STATUS(clGetProgramInfo, CL_OUT_OF_HOST_MEMORY,
       (cl_program p, cl_program_info i, size_t n, void *v, size_t *ret), (p, i, n, v, ret))
STATUS(clGetProgramBuildInfo, CL_OUT_OF_HOST_MEMORY,
       (cl_program p, cl_device_id d, cl_program_build_info i, size_t n, void *v, size_t *ret),
       (p, d, i, n, v, ret))
OBJECT(cl_kernel, clCreateKernel, CL_OUT_OF_HOST_MEMORY,
       (cl_program p, const char *name, cl_int *ret), (p, name, ret))
STATUS(clGetKernelWorkGroupInfo, CL_OUT_OF_RESOURCES,
       (cl_kernel k, cl_device_id d, cl_kernel_work_group_info i, size_t n, void *v, size_t *ret),
       (k, d, i, n, v, ret))
STATUS(clSetKernelArg, CL_OUT_OF_RESOURCES, (cl_kernel k, cl_uint at, size_t n, const void *v),
       (k, at, n, v))
OBJECT(cl_event, clCreateUserEvent, CL_OUT_OF_HOST_MEMORY, (cl_context c, cl_int *ret), (c, ret))
STATUS(clSetUserEventStatus, CL_OUT_OF_RESOURCES, (cl_event e, cl_int status), (e, status))
STATUS(clSetEventCallback, CL_OUT_OF_RESOURCES,
       (cl_event e, cl_int type, void(CL_CALLBACK *f)(cl_event, cl_int, void *), void *arg),
       (e, type, f, arg))
STATUS(clGetEventInfo, CL_OUT_OF_RESOURCES,
       (cl_event e, cl_event_info i, size_t n, void *v, size_t *ret), (e, i, n, v, ret))
STATUS(clGetEventProfilingInfo, CL_OUT_OF_RESOURCES,
       (cl_event e, cl_profiling_info i, size_t n, void *v, size_t *ret), (e, i, n, v, ret))
STATUS(clWaitForEvents, CL_OUT_OF_RESOURCES, (cl_uint n, const cl_event *events), (n, events))
STATUS(clFlush, CL_OUT_OF_RESOURCES, (cl_command_queue q), (q))
STATUS(clFinish, CL_OUT_OF_RESOURCES, (cl_command_queue q), (q))
STATUS(clEnqueueReadBuffer, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, void *to, cl_uint k,
        const cl_event *after, cl_event *ret),
       (q, m, block, at, n, to, k, after, ret))
STATUS(clEnqueueWriteBuffer, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, const void *from,
        cl_uint k, const cl_event *after, cl_event *ret),
       (q, m, block, at, n, from, k, after, ret))
STATUS(clEnqueueCopyBuffer, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t n,
        cl_uint k, const cl_event *after, cl_event *ret),
       (q, from, to, from_at, to_at, n, k, after, ret))
STATUS(clEnqueueFillBuffer, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_mem m, const void *pattern, size_t bytes, size_t at, size_t n,
        cl_uint k, const cl_event *after, cl_event *ret),
       (q, m, pattern, bytes, at, n, k, after, ret))
OBJECT(void *, clEnqueueMapBuffer, CL_MAP_FAILURE,
       (cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags f, size_t at, size_t n, cl_uint k,
        const cl_event *after, cl_event *event, cl_int *ret),
       (q, m, block, f, at, n, k, after, event, ret))
STATUS(clEnqueueUnmapMemObject, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_mem m, void *at, cl_uint k, const cl_event *after, cl_event *ret),
       (q, m, at, k, after, ret))
STATUS(clEnqueueMigrateMemObjects, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_uint n, const cl_mem *m, cl_mem_migration_flags f, cl_uint k,
        const cl_event *after, cl_event *ret),
       (q, n, m, f, k, after, ret))
STATUS(clEnqueueNDRangeKernel, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_kernel kernel, cl_uint dims, const size_t *offset,
        const size_t *global, const size_t *local, cl_uint k, const cl_event *after, cl_event *ret),
       (q, kernel, dims, offset, global, local, k, after, ret))
STATUS(clEnqueueMarkerWithWaitList, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_uint k, const cl_event *after, cl_event *ret), (q, k, after, ret))
STATUS(clEnqueueBarrierWithWaitList, CL_OUT_OF_RESOURCES,
       (cl_command_queue q, cl_uint k, const cl_event *after, cl_event *ret), (q, k, after, ret))
