/* SPDX-License-Identifier: Apache-2.0 */
/* hostplugin.h - a test plugin that does all of its work in collect, on the host: create, destroy
 * and submit, for its descriptor. */
#ifndef TRIGD_TEST_HOSTPLUGIN_H
#define TRIGD_TEST_HOSTPLUGIN_H
#include <errno.h>
#include <stdlib.h>

#include "trigd/plugin.h"

struct trg_algo {
    int unused;
};

static int create(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    (void)host, (void)config, (void)device, (void)limits;
    *ret_algo = calloc(1, sizeof **ret_algo);
    return *ret_algo ? 0 : -ENOMEM;
}

static void destroy(struct trg_algo *a)
{
    free(a);
}

static int submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    (void)a, (void)b, (void)q;
    return 0;
}
#endif
