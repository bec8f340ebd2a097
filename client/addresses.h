/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - large batches that go to the nodes of a farm, past its supervisor: the client asks
 * where to, and sends each body to the address that comes back.  Answers come from the supervisor.
 */
#ifndef TRIGD_ADDRESSES_H
#define TRIGD_ADDRESSES_H
#include "client_inner.h"

/* As transport_send, but asks about batches that are large enough. */
int addresses_send(struct trg_client *c, struct flight *const *flights, uint32_t n);
/* Addresses came: sends the bodies.  -EBADMSG: they make no sense. */
int addresses_take(struct trg_client *c, const Trigd__V1__Addresses *m, uint64_t now_ns);
/* Takes what nodes say, and keeps the connections that are in use. */
void addresses_tick(struct trg_client *c, uint64_t now_ns);
/* The supervisor is gone: so are its places. */
void addresses_close(struct trg_client *c);
#endif
