/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16u /* room for the tag and the length before */
#define LEAST      4096u

size_t outbox_varint(unsigned char *to, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        to[n++] = (unsigned char)(v | 0x80);
    to[n++] = (unsigned char)v;
    return n;
}

static bool make_room(struct outbox *o, size_t n)
{
    unsigned char *more;
    size_t room = o->room ? o->room : LEAST;

    while (o->n + n > room)
        room *= 2;
    if (room == o->room)
        return true;
    more = realloc(o->bytes, room);
    if (!more)
        return false;
    o->bytes = more;
    o->room = room;
    return true;
}

unsigned char *outbox_add(struct outbox *o, size_t n)
{
    unsigned char *at;

    if (!o->n)
        o->n = HEAD_BYTES;
    if (!make_room(o, n))
        return NULL;
    at = o->bytes + o->n;
    o->n += n;
    return at;
}

int outbox_seal(struct outbox *o, unsigned char tag, zmq_msg_t *ret_body)
{
    const size_t n = o->n - HEAD_BYTES;
    unsigned char head[1 + OUTBOX_VARINT] = {tag};
    const size_t n_head = 1 + outbox_varint(head + 1, n);

    o->n = 0;
    o->n_items = 0;
    if (zmq_msg_init_size(ret_body, n_head + n) < 0)
        return -ENOMEM;
    memcpy(o->bytes + HEAD_BYTES - n_head, head, n_head);
    memcpy(zmq_msg_data(ret_body), o->bytes + HEAD_BYTES - n_head, n_head + n);
    return 0;
}

void outbox_free(struct outbox *o)
{
    free(o->bytes);
    *o = (struct outbox){.bytes = NULL};
}
