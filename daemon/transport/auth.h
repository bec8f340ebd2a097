/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - authentication over tcp: CURVE with a list of keys (RFC 26, 27 of ZeroMQ).
 *
 * A thread answers libzmq's question about each peer's key (ZAP) from a list, as
 * `security.clients_file` is one: one peer a line, its public key and a name for the log.  It looks
 * at that file and at the own key's once a second and reads them when they have changed, so keys
 * come and go without a restart.  libzmq does not ask again for a connection that stands: gate.h
 * ends those of clients whose key is off the list.  With another own key each endpoint is bound
 * again (auth_rebind); connections that stand go on with the keys of their session. */
#ifndef TRIGD_AUTH_H
#define TRIGD_AUTH_H
#include <stdbool.h>
#include <stdint.h>

#include "keyfile.h"

/* What messages of such a peer carry (zmq_msg_gets): its name on the list, and its public key. */
#define AUTH_NAME "User-Id"
#define AUTH_KEY  "X-Key"

struct auth;
/* Reads the keys and starts the thread; before any socket binds.  The paths stay the caller's.
 * *ret_auth is NULL when `key_file` is empty.  Logs failures. */
int auth_open(void *context, const char *key_file, const char *list_file, struct auth **ret_auth);
/* After all sockets were closed, before the context ends.  NULL is fine. */
void auth_close(struct auth *a);
/* From here on zmq_bind makes endpoints that ask for keys; a domain cannot be taken off a socket
 * again, so those without keys are bound before. */
int auth_prepare(struct auth *a, void *socket);
/* A number that grows when another own key has come; endpoints are to be bound again then.  Any
 * thread; NULL is fine. */
uint32_t auth_keys(const struct auth *a);
/* The own keys, for auth_dial; the caller's to forget.  Any thread. */
void auth_own(struct auth *a, struct keyfile *ret_own);
/* New connections to a bound endpoint, as ZMQ_LAST_ENDPOINT gave it, meet the own key of now.  On
 * the socket's thread.  Logs; a failure leaves the key of before. */
int auth_rebind(struct auth *a, void *socket, const char *endpoint);
/* From here on zmq_connect shows the own keys and wants to meet the peer with that public key;
 * NULL: it asks for none. */
int auth_dial(void *socket, const struct keyfile *own, const char *peer_key);
/* A number that grows when a list was read that is right.  Any thread; NULL is fine. */
uint32_t auth_lists(const struct auth *a);
/* Whether a key, as AUTH_KEY has it, is on the list.  All are while the file is missing or wrong:
 * that shuts nobody out who is in.  Any thread; NULL is fine. */
bool auth_allows(struct auth *a, const char *key);
#endif
