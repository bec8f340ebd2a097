/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/held.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_BYTES 1024u /* a copy of fewer is cheaper than to keep the message */

struct held_message {
    zmq_msg_t m;
    uint32_t references;
};

struct held {
    struct held_message *message;
    uint32_t *free; /* numbers, from 1 */
    uint32_t n_free;
    uint32_t n;
    uint64_t bytes, most_bytes;
};

int held_new(uint32_t n, uint64_t most_bytes, struct held **ret_held)
{
    struct held *h = calloc(1, sizeof *h);

    if (!h)
        return -ENOMEM;
    h->n = n;
    h->most_bytes = most_bytes;
    h->message = calloc(n, sizeof *h->message);
    h->free = calloc(n, sizeof *h->free);
    if (!h->message || !h->free) {
        held_free(h);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        h->free[h->n_free++] = n - i;
    *ret_held = h;
    return 0;
}

void held_free(struct held *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; h->message && i < h->n; i++)
        if (h->message[i].references)
            zmq_msg_close(&h->message[i].m);
    free(h->message);
    free(h->free);
    free(h);
}

uint32_t held_keep(struct held *h, zmq_msg_t *m)
{
    size_t bytes = zmq_msg_size(m);
    uint32_t number;

    if (bytes < LEAST_BYTES || !h->n_free || h->bytes + bytes > h->most_bytes)
        return 0;
    number = h->free[h->n_free - 1];
    zmq_msg_init(&h->message[number - 1].m);
    if (zmq_msg_move(&h->message[number - 1].m, m) < 0)
        return 0;
    h->n_free--;
    h->message[number - 1].references = 1;
    h->bytes += bytes;
    return number;
}

void held_hold(struct held *h, uint32_t number)
{
    h->message[number - 1].references++;
}

void held_release(struct held *h, uint32_t number)
{
    struct held_message *k = &h->message[number - 1];

    if (--k->references)
        return;
    h->bytes -= zmq_msg_size(&k->m);
    zmq_msg_close(&k->m);
    h->free[h->n_free++] = number;
}
