/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#define NAME(code) {code, #code}

static const struct {
    cl_int code;
    const char *name;
} names[] = {
    NAME(CL_DEVICE_NOT_FOUND), NAME(CL_DEVICE_NOT_AVAILABLE), NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE), NAME(CL_OUT_OF_RESOURCES), NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE), NAME(CL_MEM_COPY_OVERLAP), NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_MAP_FAILURE), NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_DEVICE_TYPE), NAME(CL_INVALID_PLATFORM), NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT), NAME(CL_INVALID_QUEUE_PROPERTIES), NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_HOST_PTR), NAME(CL_INVALID_MEM_OBJECT), NAME(CL_INVALID_BINARY),
    NAME(CL_INVALID_BUILD_OPTIONS), NAME(CL_INVALID_PROGRAM), NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME), NAME(CL_INVALID_KERNEL), NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE), NAME(CL_INVALID_ARG_SIZE), NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_WORK_DIMENSION), NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE), NAME(CL_INVALID_EVENT_WAIT_LIST), NAME(CL_INVALID_EVENT),
    NAME(CL_INVALID_OPERATION), NAME(CL_INVALID_BUFFER_SIZE), NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}, /* of the loader: no driver is installed */
    {-9999, "an illegal access by a kernel (NVIDIA's -9999)"},
};

const char *opencl_error_name(cl_int code)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "an unknown OpenCL error";
}

int opencl_errno(cl_int code)
{
    switch (code) {
    case CL_SUCCESS:
        return 0;
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return -ENOMEM;
    case CL_INVALID_KERNEL_NAME:
        return -ENOENT;
    case CL_BUILD_PROGRAM_FAILURE:
        return -ENOEXEC;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_COMMAND_QUEUE:
    case -9999:
        return -ENODEV; /* sticky: what the context holds can no longer be trusted */
    case CL_INVALID_VALUE:
    case CL_INVALID_ARG_SIZE:
    case CL_INVALID_ARG_INDEX:
    case CL_INVALID_WORK_GROUP_SIZE:
        return -EINVAL;
    default:
        return -EIO;
    }
}
