/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - how a client's messages travel: over ZeroMQ or through shared memory. */
#ifndef TRIGD_TRANSPORT_H
#define TRIGD_TRANSPORT_H
#include "client_inner.h"

/* Connects, over shared memory when the endpoint begins with shm://. */
int transport_open(struct trg_client *c, const char *endpoint);
bool transport_is_open(const struct trg_client *c);
/* Whether a ZeroMQ connection that stood has ended since the last call. */
bool transport_is_lost(struct trg_client *c);
/* What was sent still goes out. */
void transport_close(struct trg_client *c);

/* From here on the socket's connections show the client's keys to a server with that public key;
 * "": to one without keys. */
int transport_use_keys(const struct trg_client *c, void *socket, const char *server_key);
/* Sends a control message. */
int transport_tell(struct trg_client *c, const Trigd__V1__ToDaemon *m);
/* Whether the daemon takes an RoI of this size, and its bytes in shared memory.  0, or -EMSGSIZE
 * with a sentence. */
int transport_check(const struct trg_client *c, const struct trg_client_roi *roi,
                    uint64_t *ret_shared, char *why, size_t bytes);
/* Sends RoIs, in as few messages as the daemon's limit allows; what shared memory has no room for
 * now is put among those to be sent again.  Returns how many went out. */
int transport_send(struct trg_client *c, struct flight *const *flights, uint32_t n);
/* An RoI that was sent has had its end: its room is free. */
void transport_end(struct trg_client *c, struct flight *f);
/* The next message, which lives until the one after it: 1; 0 when none comes within the limit;
 * -EBADMSG for one that is no FromDaemon; -ECONNRESET: the daemon that shared memory is gone. */
int transport_receive(struct trg_client *c, long limit_ms, Trigd__V1__FromDaemon **ret_message);
#endif
