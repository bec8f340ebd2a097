/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - how a connection's messages travel: over ZeroMQ or through shared memory. */
#ifndef TRIGD_TRANSPORT_H
#define TRIGD_TRANSPORT_H
#include <zmq.h>

#include "connection.h"

/* Connects, over shared memory when the endpoint begins with shm://. */
int transport_open(struct connection *c, void *zmq_context, const char *endpoint);
bool transport_is_open(const struct connection *c);
/* Whether a ZeroMQ connection that stood has ended since the last call. */
bool transport_is_lost(struct connection *c);
/* What was sent still goes out. */
void transport_close(struct connection *c);

/* Sends a control message. */
int transport_tell(struct connection *c, const Trigd__V1__ToDaemon *m);
/* Sends the RoIs of flights; what shared memory has no room for now is put among those to be sent
 * again.  Returns how many went out. */
int transport_send(struct connection *c, struct flight *const *flights, uint32_t n);
/* An RoI that was sent has had its end: its room is free. */
void transport_end(struct connection *c, struct flight *f);
/* The next message, which lives until the one after it: 1; 0 when none comes within the limit;
 * -EBADMSG for one that is no FromDaemon; -ECONNRESET: the daemon that shared memory is gone. */
int transport_receive(struct connection *c, long limit_ms, Trigd__V1__FromDaemon **ret_message);

/* What to poll for.  False when something is there already. */
bool transport_sleep(struct connection *c, zmq_pollitem_t *ret_item);
void transport_awake(struct connection *c);
#endif
