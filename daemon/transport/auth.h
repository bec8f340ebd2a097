/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - authentication over tcp: CURVE with a list of keys (RFC 26, 27 of ZeroMQ).
 *
 * A thread answers libzmq's question about each client's key (ZAP) from `security.clients_file`:
 * one client a line, its public key and a name for the log.  The file is read again when it has
 * changed, so keys come and go without a restart; a connection that stands is not asked again. */
#ifndef TRIGD_AUTH_H
#define TRIGD_AUTH_H
#include "config/config.h"

struct auth;
/* Reads the keys and starts the thread; before any socket binds.  *ret_auth is NULL when
 * `security.key_file` is empty.  Logs failures. */
int auth_open(void *context, const struct config *config, struct auth **ret_auth);
/* After all sockets were closed, before the context ends.  NULL is fine. */
void auth_close(struct auth *a);
/* From here on zmq_bind makes endpoints that ask for keys; a domain cannot be taken off a socket
 * again, so those without keys are bound before. */
int auth_prepare(const struct auth *a, void *socket);
#endif
