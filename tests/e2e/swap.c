/* SPDX-License-Identifier: Apache-2.0 */
/* swap - a test plugin that is built in four versions: `version` tells which one runs; the third
 * crashes when it is loaded, the fourth never comes out of create. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "trigd/plugin.h"

struct trg_algo {
    uint64_t batches;
};

#if SWAP_VERSION == 3
__attribute__((constructor)) static void at_load(void)
{
    raise(SIGKILL);
}
#endif

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    (void)host;
    (void)config;
    (void)device;
    (void)limits;
    while (SWAP_VERSION == 4)
        pause();
    *ret_algo = calloc(1, sizeof **ret_algo);
    return *ret_algo ? 0 : -ENOMEM;
}

static void destroy(struct trg_algo *a)
{
    free(a);
}

static int submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)b;
    (void)q;
    a->batches++;
    return 0;
}

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    (void)a;
    for (uint32_t i = 0; i < b->n_rois; i++)
        b->results[i].value[0] = SWAP_VERSION;
    return 0;
}

static const struct trg_value values[] = {{"version", "", "which build of the plugin runs"}, {0}};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "swap",
                                      .version = "1.0.0",
                                      .summary = "tells which build of it runs",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu",
                                      .values = values,
                                      .create = create,
                                      .destroy = destroy,
                                      .submit = submit,
                                      .collect = collect};
