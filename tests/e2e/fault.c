/* SPDX-License-Identifier: Apache-2.0 */
/* fault - a test plugin that misbehaves on request: the number of the RoI in its event says how.
 * Everything else is well-behaved: `n` is the number of spacepoints; of hits in a second plugin. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    uint32_t refuse;
    uint32_t lost_algo;
    uint32_t lost_gpu;
    uint32_t host_us, gpu_us;
};

struct trg_algo {
    const struct config *config;
    bool is_lost;
    uint32_t batch_us;
};

static const struct trg_param params[] = {
    {"stall_ms", TRG_PARAM_U32, offsetof(struct config, stall_ms), "300", 1, 60000, "ms", NULL,
     "how long an RoI numbered FAULT_STALL holds up its lane"},
    {"fail_warm_up", TRG_PARAM_BOOL, offsetof(struct config, fail_warm_up), "false", 0, 1, "", NULL,
     "fail on synthetic RoIs"},
    {"warm_up_ms", TRG_PARAM_U32, offsetof(struct config, warm_up_ms), "0", 0, 60000, "ms", NULL,
     "how long a batch of synthetic RoIs takes"},
    {"refuse", TRG_PARAM_U32, offsetof(struct config, refuse), "0", 0, 3, "", NULL,
     "while the file $FAULT_REFUSES is there: 1: create fails, 2: on a GPU, 3: it aborts there"},
    {"lost_algo", TRG_PARAM_U32, offsetof(struct config, lost_algo), "0", 0, 100, "", NULL,
     "of such algos in a process the one of that number loses its device with each RoI; 0: none"},
    {"lost_gpu", TRG_PARAM_BOOL, offsetof(struct config, lost_gpu), "false", 0, 1, "", NULL,
     "algos of a GPU say so of each RoI, and it is well"},
    {"host_us", TRG_PARAM_U32, offsetof(struct config, host_us), "0", 0, 1000000, "us", NULL,
     "how long a batch takes on the CPU"},
    {"gpu_us", TRG_PARAM_U32, offsetof(struct config, gpu_us), "0", 0, 1000000, "us", NULL,
     "how long a batch takes on a GPU"},
    {0},
};
static const struct trg_value values[] = {{"n", "", "items of the RoI"}, {0}};

static int refuse(uint32_t how, struct trg_device *device)
{
    const char *file = getenv("FAULT_REFUSES");
    struct trg_device_info info;

    trg_device_info(device, &info);
    if (!how || !file || access(file, F_OK) != 0 || (how > 1 && info.is_host))
        return 0;
    if (how == 3)
        abort(); /* lint: the fault that is tested */
    return -EIO;
}

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    static _Atomic uint32_t n_algos;
    const struct config *c = config;
    struct trg_device_info info;
    struct trg_algo *a = calloc(1, sizeof *a);
    int r = a ? refuse(c->refuse, device) : -ENOMEM;

    (void)host;
    (void)limits;
    if (r < 0) {
        free(a);
        return r;
    }
    a->config = c;
    trg_device_info(device, &info);
    a->batch_us = info.is_host ? c->host_us : c->gpu_us;
    a->is_lost = (c->lost_algo && ++n_algos == c->lost_algo) || (c->lost_gpu && !info.is_host);
    *ret_algo = a;
    return 0;
}

static void destroy(struct trg_algo *a)
{
    free(a);
}

static void stall_us(uint64_t us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static void stall(uint32_t ms)
{
    stall_us(1000 * (uint64_t)ms);
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

#define WORDS 1024u /* a page */

/* Rings and counts of lanes and of doorbells. */
static void write_head(uint32_t *word, unsigned long n, unsigned *seed)
{
    (void)n;
    (void)seed;
    for (uint32_t i = 0; i < WORDS; i++)
        word[i] = 0x9e3779b9u * (i + 1);
}

static void write_words(uint32_t *word, unsigned long n, unsigned *seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        word[(unsigned long)rand_r(seed) % n] = (uint32_t)rand_r(seed) << (rand_r(seed) % 32);
}

/* Writes over each shared mapping that can be written. */
static void write_over(void (*write_to)(uint32_t *word, unsigned long n, unsigned *seed),
                       unsigned seed)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char rights[5];

        if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) == 3 && !strcmp(rights, "rw-s"))
            write_to((uint32_t *)begin, (end - begin) / sizeof(uint32_t), &seed);
    }
    if (maps)
        fclose(maps);
}

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const uint32_t *offsets =
        (const uint32_t *)(const void *)(b->in[0].host + b->in[0].span.offsets);

    if (a->is_lost && b->rois[0].roi_id != FAULT_MADE_UP)
        return -ENODEV;
    if (a->batch_us)
        stall_us(a->batch_us);
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
        case FAULT_WILD:
            write_over(write_head, 0);
            break;
        case FAULT_SCATTER:
            write_over(write_words, b->rois[i].l1id);
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
