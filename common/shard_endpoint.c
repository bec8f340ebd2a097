/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535ul

int shard_endpoint(const char *endpoint, uint32_t shard, char *ret_endpoint, size_t bytes)
{
    const char *colon = strrchr(endpoint, ':');
    unsigned long port;
    char *end;
    int n;

    if (!shard || (strncmp(endpoint, "tcp://", 6) != 0 && strncmp(endpoint, "ipc://", 6) != 0)) {
        n = snprintf(ret_endpoint, bytes, "%s", endpoint);
    } else if (endpoint[0] == 'i') {
        n = snprintf(ret_endpoint, bytes, "%s.%u", endpoint, shard);
    } else {
        port = strtoul(colon + 1, &end, 10);
        if (end == colon + 1 || *end || !port)
            return -EINVAL;
        if (port + shard > PORT_MAX)
            return -ERANGE;
        n = snprintf(ret_endpoint, bytes, "%.*s:%lu", (int)(colon - endpoint), endpoint,
                     port + shard);
    }
    return n >= 0 && (size_t)n < bytes ? 0 : -ENAMETOOLONG;
}
