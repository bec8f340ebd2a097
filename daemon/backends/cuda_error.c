/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's error codes as errno. */
#include "cuda.h"

static int translate(cudaError_t code)
{
    switch (code) {
    case cudaSuccess:
        return 0;
    case cudaErrorNotReady:
        return -EAGAIN;
    case cudaErrorMemoryAllocation:
        return -ENOMEM;
    case cudaErrorSymbolNotFound:
        return -ENOENT;
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorInvalidSource:
        return -ENOEXEC;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorLaunchOutOfResources:
        return -EINVAL;
    /* no device, or a context that every later call finds broken */
    case cudaErrorInitializationError:
    case cudaErrorCudartUnloading:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorIncompatibleDriverContext:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDeviceUninitialized:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
        return -ENODEV;
    default:
        return -EIO;
    }
}

int cuda_check(struct trg_device *d, cudaError_t code, const char *call, const char *what)
{
    int r;

    if (code == cudaSuccess)
        return 0;
    cudaGetLastError(); /* the runtime keeps it for the thread's next caller, who did nothing wrong
                         */
    if (atomic_load(&d->is_lost))
        return -ENODEV;
    r = translate(code);
    if (r == -ENODEV)
        atomic_store(&d->is_lost, 1);
    backend_log(&d->log, TRG_ERROR, "%s%s%s%s: %s (%d): %s", call, what ? " (" : "",
                what ? what : "", what ? ")" : "", cudaGetErrorName(code), code,
                cudaGetErrorString(code));
    return r;
}

int cuda_enter(struct trg_device *d)
{
    if (atomic_load(&d->is_lost))
        return -ENODEV;
    return cuda_check(d, cudaSetDevice(d->number), "cudaSetDevice", NULL);
}
