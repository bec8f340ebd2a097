/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - what the files of the OpenCL backend share. */
#ifndef TRIGD_BACKENDS_OPENCL_H
#define TRIGD_BACKENDS_OPENCL_H
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "common.h"

/* The name of an error code, "CL_OUT_OF_RESOURCES". */
const char *opencl_error_name(cl_int code);
/* The errno that stands for it; the one place where codes are translated. */
int opencl_errno(cl_int code);

/* A program from its source: from the cache on disk where it is there, else compiled and put there. */
int opencl_program(const struct trg_host *host, cl_context context, cl_device_id device,
                   const struct trg_program *p, const char *options, cl_program *ret_program);
#endif
