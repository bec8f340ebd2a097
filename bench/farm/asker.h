/* SPDX-License-Identifier: Apache-2.0 */
/* asker.h - a client of trigsup that asks for addresses as fast as its window allows, and sends to
 * the nodes what they need to answer: whole batches, or for the supervisor's own limit only the
 * passes, many in a message (node.h). */
#ifndef TRIGD_BENCH_ASKER_H
#define TRIGD_BENCH_ASKER_H
#include <stddef.h>
#include <stdint.h>

#define ASKER_NODES 16u

struct asker {
    void *context, *socket;
    uint32_t window;      /* RoIs unanswered */
    uint32_t pack, batch; /* batches asked about in one message, RoIs of a batch */
    const void *body;     /* of each batch; NULL: only passes go to the nodes */
    size_t body_bytes;
    uint64_t next; /* token */
    uint32_t outstanding;
    uint64_t decided;
    struct asker_node {
        uint32_t place;
        void *socket;
        unsigned char *passes;
        size_t n;
    } node[ASKER_NODES];
    uint32_t n_nodes;
};

/* Connects and says Hello.  Negative errno. */
int asker_open(struct asker *a, const char *endpoint, uint32_t window, uint32_t pack,
               uint32_t batch);
void asker_close(struct asker *a);
/* Asks for that long and waits for the last decisions. */
int asker_run(struct asker *a, double seconds);
#endif
