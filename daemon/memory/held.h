/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - messages that are kept because RoIs in flight still have their columns in them.
 *
 * Columns in ZeroMQ messages are not copied into the pool: lanes gather them from the message,
 * which is closed when its last RoI is let go.  On the I/O thread only.  No more bytes are held
 * than the pool has; what goes over that is copied. */
#ifndef TRIGD_HELD_H
#define TRIGD_HELD_H
#include <stdint.h>
#include <zmq.h>

struct held;
/* For at most n messages of so many bytes together. */
int held_new(uint32_t n, uint64_t most_bytes, struct held **ret_held);
void held_free(struct held *h); /* NULL is fine */

/* Keeps a message: its number, from 1; 0 when it cannot be kept, or is better copied. */
uint32_t held_keep(struct held *h, zmq_msg_t *m);
/* One RoI more, or less, refers to it.  A message that was just kept has one reference, which is
 * the keeper's. */
void held_hold(struct held *h, uint32_t number);
void held_release(struct held *h, uint32_t number);
#endif
