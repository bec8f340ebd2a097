/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of guests: of the lowest priority, and in a green context where they have a part of the
 * chip. The functions of green contexts are the driver's; kernels that the runtime launches into a
 * stream of one run on its multiprocessors, and memory is that of the device's own context. */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <string.h>

#include "cuda.h" /* NOLINT(readability-duplicate-include): ours */

struct green_calls {
    PFN_cuDeviceGetDevResource_v12040 resource;
    PFN_cuDevSmResourceSplitByCount_v12040 split;
    PFN_cuDevResourceGenerateDesc_v12040 describe;
    PFN_cuGreenCtxCreate_v12040 create;
    PFN_cuGreenCtxStreamCreate_v12050 stream;
};

static int find(struct trg_device *d, const char *name, unsigned version, void **ret_function)
{
    enum cudaDriverEntryPointQueryResult found;
    int r = cuda_check(
        d, cudaGetDriverEntryPointByVersion(name, ret_function, version, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion", name);

    if (r < 0)
        return r;
    if (found == cudaDriverEntryPointSuccess && *ret_function)
        return 0;
    backend_log(&d->log, TRG_ERROR, "the driver has no %s: it cannot divide the chip", name);
    return -ENOTSUP;
}

static int find_all(struct trg_device *d, struct green_calls *calls)
{
    void *function[5];
    const struct {
        const char *name;
        unsigned version; /* of the driver's interface, when it got this form */
    } wanted[] = {{"cuDeviceGetDevResource", 12040},
                  {"cuDevSmResourceSplitByCount", 12040},
                  {"cuDevResourceGenerateDesc", 12040},
                  {"cuGreenCtxCreate", 12040},
                  {"cuGreenCtxStreamCreate", 12050}};

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int r = find(d, wanted[i].name, wanted[i].version, &function[i]);

        if (r < 0)
            return r;
    }
    _Static_assert(sizeof *calls == sizeof function, "five pointers to functions");
    memcpy(calls, function, sizeof *calls);
    return 0;
}

/* Codes of the driver, which the runtime has by the same numbers. */
static int check(struct trg_device *d, CUresult code, const char *call)
{
    return cuda_check(d, (cudaError_t)code, call, "a guest's part of the chip");
}

static int open_green(struct trg_device *d, const struct green_calls *c, uint32_t percent,
                      int priority, CUgreenCtx *ret_green, CUstream *ret_stream)
{
    CUdevResource all, part, rest;
    CUdevResourceDesc description;
    unsigned groups = 1, wanted;
    CUdevice device = d->number; /* the runtime's numbers are the driver's */
    int r = check(d, c->resource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");

    if (r < 0)
        return r;
    wanted = all.sm.smCount * percent / 100;
    r = check(d, c->split(&part, &groups, &all, &rest, 0, wanted ? wanted : 1),
              "cuDevSmResourceSplitByCount");
    if (r == 0)
        r = check(d, c->describe(&description, &part, 1), "cuDevResourceGenerateDesc");
    if (r == 0)
        r = check(d, c->create(ret_green, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                  "cuGreenCtxCreate");
    if (r == 0)
        r = check(d, c->stream(ret_stream, *ret_green, CU_STREAM_NON_BLOCKING, priority),
                  "cuGreenCtxStreamCreate");
    if (r == 0)
        backend_log(&d->log, TRG_INFO, "a guest has %u of %u multiprocessors", part.sm.smCount,
                    all.sm.smCount);
    return r;
}

void cuda_guest_drop(struct trg_device *d, void *part)
{
    void *function;

    if (part && find(d, "cuGreenCtxDestroy", 12040, &function) == 0) {
        PFN_cuGreenCtxDestroy_v12040 destroy;

        memcpy(&destroy, &function, sizeof destroy);
        (void)check(d, destroy(part), "cuGreenCtxDestroy");
    }
}

int cuda_guest_stream(struct trg_device *d, uint32_t percent, cudaStream_t *ret_stream,
                      void **ret_part)
{
    int least, greatest;
    struct green_calls calls;
    CUgreenCtx green = NULL;
    int r = cuda_check(d, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                       "cudaDeviceGetStreamPriorityRange", NULL);

    if (r < 0)
        return r;
    if (!percent)
        return cuda_check(d, cudaStreamCreateWithPriority(ret_stream, cudaStreamNonBlocking, least),
                          "cudaStreamCreateWithPriority", NULL);
    r = find_all(d, &calls);
    if (r == 0)
        r = open_green(d, &calls, percent, least, &green, ret_stream);
    if (r < 0)
        cuda_guest_drop(d, green);
    else
        *ret_part = green;
    return r;
}

#define RANKS 3 /* of lanes, while the device has as many priorities; lower numbers go first */

int cuda_lane_stream(struct trg_device *d, uint32_t rank, cudaStream_t *ret_stream)
{
    const int before = rank < RANKS ? RANKS - (int)rank : 1; /* of a guest's */
    int least, greatest, r;

    r = cuda_check(d, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                   "cudaDeviceGetStreamPriorityRange", NULL);
    return r < 0 ? r
                 : cuda_check(d,
                              cudaStreamCreateWithPriority(
                                  ret_stream, cudaStreamNonBlocking,
                                  least - before > greatest ? least - before : greatest),
                              "cudaStreamCreateWithPriority", NULL);
}
