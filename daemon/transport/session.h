/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - answers to Hello and Heartbeat, the same from a daemon and a supervisor. */
#ifndef TRIGD_SESSION_H
#define TRIGD_SESSION_H
#include "transport/clients.h"
#include "wire.h"

#define SESSION_PROTOCOL 1u

/* Checks protocol, key and name.  0, or -EBADMSG with the reason. */
int session_check(const Trigd__V1__Hello *hello, struct wire_error *ret_error);
/* clients_hello, with the reason for a peer that is refused. */
int session_enter(struct clients *c, const struct peer *peer, const Trigd__V1__Hello *hello,
                  uint32_t most, uint32_t *ret_number, struct wire_error *ret_error);
/* Answers a Heartbeat; `number` is CLIENTS_NONE for a peer that is no client. */
void session_echo(struct clients *c, const struct peer *peer, uint32_t number,
                  const Trigd__V1__Heartbeat *beat);
#endif
