/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's error codes: their names, and what they are as errno. */
#include "opencl.h"

#define NAME(code)  \
    {               \
        code, #code \
    }
#define PLATFORM_NOT_FOUND_KHR (-1001) /* of the loader, in cl_ext.h */
#define NVIDIA_ILLEGAL_ACCESS  (-9999) /* a kernel read or wrote foreign memory; in no header */

static const struct {
    cl_int code;
    const char *name;
} names[] = {
    NAME(CL_DEVICE_NOT_FOUND),
    NAME(CL_DEVICE_NOT_AVAILABLE),
    NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAME(CL_OUT_OF_RESOURCES),
    NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAME(CL_MEM_COPY_OVERLAP),
    NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_MAP_FAILURE),
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_COMPILE_PROGRAM_FAILURE),
    NAME(CL_LINKER_NOT_AVAILABLE),
    NAME(CL_LINK_PROGRAM_FAILURE),
    NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_DEVICE_TYPE),
    NAME(CL_INVALID_PLATFORM),
    NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_QUEUE_PROPERTIES),
    NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_HOST_PTR),
    NAME(CL_INVALID_MEM_OBJECT),
    NAME(CL_INVALID_BINARY),
    NAME(CL_INVALID_BUILD_OPTIONS),
    NAME(CL_INVALID_PROGRAM),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME),
    NAME(CL_INVALID_KERNEL_DEFINITION),
    NAME(CL_INVALID_KERNEL),
    NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE),
    NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_WORK_DIMENSION),
    NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE),
    NAME(CL_INVALID_GLOBAL_OFFSET),
    NAME(CL_INVALID_EVENT_WAIT_LIST),
    NAME(CL_INVALID_EVENT),
    NAME(CL_INVALID_OPERATION),
    NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    NAME(CL_INVALID_PROPERTY),
    NAME(CL_INVALID_COMPILER_OPTIONS),
    NAME(CL_INVALID_LINKER_OPTIONS),
    {PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
    {NVIDIA_ILLEGAL_ACCESS, "illegal access by a kernel"},
};

const char *opencl_error_name(cl_int code)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    return "code without a name";
}

static int translate(cl_int code)
{
    switch (code) {
    case CL_SUCCESS:
        return 0;
    case CL_DEVICE_NOT_FOUND:
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_OUT_OF_RESOURCES:      /* how NVIDIA reports a kernel that touched foreign memory ... */
    case CL_INVALID_COMMAND_QUEUE: /* ... and any call after that */
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
    case PLATFORM_NOT_FOUND_KHR:
    case NVIDIA_ILLEGAL_ACCESS:
        return -ENODEV;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE: /* more than the device gives in one piece */
    case CL_MAP_FAILURE:
        return -ENOMEM;
    case CL_INVALID_KERNEL_NAME:
        return -ENOENT;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_INVALID_BINARY:
        return -ENOEXEC;
    case CL_PROFILING_INFO_NOT_AVAILABLE:
        return -EAGAIN;
    default: /* -30 .. -68 are the codes of wrong use */
        return code <= CL_INVALID_VALUE && code >= CL_INVALID_DEVICE_PARTITION_COUNT ? -EINVAL
                                                                                     : -EIO;
    }
}

int opencl_errno(const struct backend_log *log, cl_int code, const char *call, const char *what)
{
    if (code != CL_SUCCESS)
        backend_log(log, TRG_ERROR, "%s%s%s%s: %s (%d)", call, what ? " (" : "", what ? what : "",
                    what ? ")" : "", opencl_error_name(code), code);
    return translate(code);
}

int opencl_check(struct trg_device *d, cl_int code, const char *call, const char *what)
{
    int r;

    if (code == CL_SUCCESS)
        return 0;
    if (atomic_load(&d->is_lost))
        return -ENODEV;
    r = opencl_errno(&d->log, code, call, what);
    if (r == -ENODEV)
        atomic_store(&d->is_lost, true);
    return r;
}
