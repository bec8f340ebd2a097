/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "transport/shm_peers.h"

/* After a reload the old lanes go, so the base may fall; what comes meanwhile is no part of it. */
#define SETTLE_NS NS_PER_S
#define GROWTH    (1u << 20) /* from one look to the next */

struct memory {
    int fd;              /* of /proc/self/statm */
    uint64_t page, more; /* bytes of a page; that may be used beyond the base */
    uint64_t base;       /* 0: not taken yet */
    uint64_t generation, reloaded_ns, trimmed_ns;
    uint64_t looked; /* what there was at the last look */
    bool grows;
};

int memory_open(const struct config *config, struct memory **ret_memory)
{
    struct memory *m = calloc(1, sizeof *m);
    uint64_t shared = shm_peers_are_wanted(config)
                          ? config->clients.max * (uint64_t)config->clients.shm_mbytes
                          : 0;
    /* a shard's part of the pool; the process has all of them */
    uint64_t kept =
        (uint64_t)config->pool.mbytes * (config->threads.shards ? config->threads.shards : 1);
    uint64_t queue = config->clients.queue_mbytes;
    uint64_t streams = config->debug_stream.folder[0] ? config->debug_stream.wait_mbytes : 0;

    if (!m)
        return -ENOMEM;
    for (uint32_t i = 0; i < config->n_streams; i++)
        streams += config->streams[i].wait_mbytes;
    m->page = (uint64_t)sysconf(_SC_PAGESIZE);
    m->more = (kept + queue + streams) << 20;
    m->fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (m->fd < 0) {
        int r = -errno;

        free(m);
        return r;
    }
    log_info("ingress", "memory for RoIs and messages, without lanes, plugins and devices",
             "pool_mbytes=%u kept_messages_mbytes=%llu queue_mbytes=%llu shared_mbytes=%llu "
             "streams_mbytes=%llu "
             "sum_mbytes=%llu",
             (uint32_t)kept, (unsigned long long)kept, (unsigned long long)queue,
             (unsigned long long)shared, (unsigned long long)streams,
             (unsigned long long)(2 * kept + queue + shared + streams));
    *ret_memory = m;
    return 0;
}

void memory_close(struct memory *m)
{
    if (!m)
        return;
    close(m->fd);
    free(m);
}

/* Bytes of the process that are neither of files nor shared; 0 when that cannot be read. */
static uint64_t used(const struct memory *m)
{
    unsigned long long size, resident, shared;
    char text[128];
    ssize_t n = pread(m->fd, text, sizeof text - 1, 0);

    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident < shared)
        return 0;
    return (resident - shared) * m->page;
}

bool memory_is_short(struct memory *m, uint64_t generation, uint64_t now_ns)
{
    uint64_t now = used(m);

    if (!m->base || generation != m->generation) {
        m->generation = generation;
        m->reloaded_ns = now_ns;
        m->base = now;
    }
    if (now < m->base && now_ns < m->reloaded_ns + SETTLE_NS)
        m->base = now;
    if (now > m->base + m->more && now_ns > m->trimmed_ns + NS_PER_S) {
        m->trimmed_ns = now_ns;
        malloc_trim(0); /* what it keeps for the next messages does not count */
        now = used(m);
        if (now > m->base + m->more)
            log_warn("ingress", "the process has more memory than it should have",
                     "mbytes=%llu allowed=%llu", (unsigned long long)now >> 20,
                     (unsigned long long)(m->base + m->more) >> 20);
    }
    m->grows = now > m->looked + GROWTH;
    m->looked = now;
    return now > m->base + m->more;
}

bool memory_grows(const struct memory *m)
{
    return m->grows;
}
