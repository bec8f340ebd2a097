/* SPDX-License-Identifier: Apache-2.0 */
/* fault - a test plugin that misbehaves on request: the number of the RoI in its event says how.
 * Everything else is well-behaved: `n` is the number of spacepoints; of hits in a second plugin. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "trigd/plugin.h"

#ifdef FAULT_HITS
#define NAME     "faulthits"
#define CONSUMED &trg_hits
#else
#define NAME     "fault"
#define CONSUMED &trg_spacepoints
#endif

#ifndef FAULT_VERSION
#define FAULT_VERSION "1.0.0" /* the storm has it in a second one */
#endif

struct config {
    uint32_t stall_ms;
    uint32_t fail_warm_up;
    uint32_t warm_up_ms;
};

struct trg_algo {
    const struct config *config;
};

static const struct trg_param params[] = {
    {"stall_ms", TRG_PARAM_U32, offsetof(struct config, stall_ms), "300", 1, 60000, "ms", NULL,
     "how long an RoI numbered FAULT_STALL holds up its lane"},
    {"fail_warm_up", TRG_PARAM_BOOL, offsetof(struct config, fail_warm_up), "false", 0, 1, "", NULL,
     "fail on made-up RoIs"},
    {"warm_up_ms", TRG_PARAM_U32, offsetof(struct config, warm_up_ms), "0", 0, 60000, "ms", NULL,
     "how long a batch of made-up RoIs takes"},
    {0},
};
static const struct trg_value values[] = {{"n", "", "items of the RoI"}, {0}};

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);

    (void)host;
    (void)device;
    (void)limits;
    if (!a)
        return -ENOMEM;
    a->config = config;
    *ret_algo = a;
    return 0;
}

static void destroy(struct trg_algo *a)
{
    free(a);
}

static void stall(uint32_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&t, NULL);
}

static int submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)q;
    for (uint32_t i = 0; i < b->n_rois; i++)
        if (b->rois[i].roi_id == FAULT_POSITIVE)
            return 7;
    for (uint32_t i = 0; i < b->n_rois; i++)
        if (b->rois[i].roi_id == FAULT_SUBMIT ||
            (b->rois[i].roi_id == FAULT_MADE_UP && a->config->fail_warm_up))
            return -EIO;
    if (b->rois[0].roi_id == FAULT_MADE_UP)
        stall(a->config->warm_up_ms);
    return 0;
}

#define PIECES 64

/* Asks for 1 GiB in pieces and gives it back. */
static int eat_memory(void)
{
    void *piece[PIECES];
    int n = 0, r = 0;

    while (n < PIECES && r == 0) {
        piece[n] = malloc((size_t)16 << 20);
        r = piece[n] ? 0 : -ENOMEM;
        n += r == 0;
    }
    while (n > 0)
        free(piece[--n]);
    return r;
}

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *offsets =
        (const uint32_t *)(const void *)(b->in[0].host + b->in[0].span.offsets);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[0] = (float)(offsets[i + 1] - offsets[i]);
        switch (b->rois[i].roi_id) {
        case FAULT_STALL:
            stall(a->config->stall_ms);
            break;
        case FAULT_ROI:
            r->status = TRG_FAILED;
            break;
        case FAULT_COLLECT:
            return -EIO;
        case FAULT_MEMORY:
            if (eat_memory() < 0)
                return -ENOMEM;
            break;
        case FAULT_NO_DEVICE:
            return -ENODEV;
        case FAULT_CRASH:
            raise(SIGSEGV);
            break;
        case FAULT_ABORT:
            abort(); /* lint: the fault that is tested */
        case FAULT_EXIT:
            exit(3); /* lint: the same */
        case FAULT_HANG:
            for (;;)
                pause();
        case FAULT_LIE:
            r->status = 77;
            break;
        case FAULT_TRUNCATE:
            r->status = TRG_TRUNCATED;
            r->wanted = 10;
            r->kept = 5;
            break;
        default:
            break;
        }
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = NAME,
    .version = FAULT_VERSION,
    .summary = "misbehaves on request, for tests",
    .consumes = {CONSUMED},
    .backends = "cpu opencl cuda",
    .params = params,
    .values = values,
    .config_size = sizeof(struct config),
    .create = create,
    .destroy = destroy,
    .submit = submit,
    .collect = collect,
};
