/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "shard_endpoint.h"

static uint32_t part_of(uint32_t all, uint32_t n)
{
    return all / n > 1 ? all / n : 1;
}

/* The allocator of the pool wants a power of two. */
static uint32_t power_of_two_below(uint32_t n)
{
    uint32_t p = 1;

    while (p <= n / 2)
        p *= 2;
    return p;
}

uint64_t config_largest(const struct config *c)
{
    return (uint64_t)c->clients.max_items * 64;
}

bool config_shard_fits(const struct config *c, uint32_t n)
{
    const uint64_t mbytes = power_of_two_below(part_of(c->pool.mbytes, n));

    return n <= c->pool.rois && config_largest(c) <= mbytes << 19;
}

static int endpoint_of(const char *endpoint, uint32_t number, char **ret_endpoint)
{
    char text[512];
    int r = shard_endpoint(endpoint, number, text, sizeof text);

    if (r < 0 && r != -EINVAL) {
        log_error("config", "an endpoint cannot have one for each shard",
                  "endpoint=\"%s\" why=\"%s\"", endpoint, strerror(-r));
        return r;
    }
    *ret_endpoint = strdup(r == 0 ? text : endpoint); /* "*" and 0 are any free port */
    return *ret_endpoint ? 0 : -ENOMEM;
}

int config_shard(const struct config *c, uint32_t number, uint32_t n, struct config *ret_config)
{
    struct config copy = *c;
    int r = 0;

    copy.pool.rois = part_of(c->pool.rois, n);
    copy.pool.mbytes = power_of_two_below(part_of(c->pool.mbytes, n));
    copy.events.open = part_of(c->events.open, n);
    copy.threads.zmq_threads = part_of(c->threads.zmq_threads, n);
    copy.threads.shards = n;
    copy.endpoints = calloc(c->n_endpoints, sizeof(char *));
    if (!copy.endpoints)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < c->n_endpoints; i++)
        r = endpoint_of(c->endpoints[i], number, &copy.endpoints[i]);
    if (r < 0)
        config_shard_free(&copy);
    else
        *ret_config = copy;
    return r;
}

void config_shard_free(struct config *c)
{
    for (uint32_t i = 0; c->endpoints && i < c->n_endpoints; i++)
        free(c->endpoints[i]);
    free(c->endpoints);
    c->endpoints = NULL;
}
