/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.h - a FromDaemon to one client, packed piece by piece: its items come one after the other,
 * and their number is known when it leaves. */
#ifndef TRIGSUP_OUTBOX_H
#define TRIGSUP_OUTBOX_H
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#define OUTBOX_VARINT 10u /* bytes of one, at most */

struct outbox {
    unsigned char *bytes;
    size_t n, room;
    uint32_t n_items;
};

/* Writes a number; returns its bytes. */
size_t outbox_varint(unsigned char *to, uint64_t v);
/* n more bytes, to be filled; NULL: there is no memory. */
unsigned char *outbox_add(struct outbox *o, size_t n);
/* Makes the message of what was added, whose body has this tag, and empties the outbox.  -ENOMEM.
 */
int outbox_seal(struct outbox *o, unsigned char tag, zmq_msg_t *ret_body);
void outbox_free(struct outbox *o);
#endif
