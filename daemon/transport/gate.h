/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - the connections behind the ROUTER: their origin, and their limits before a
 * whole message has come of it.
 *
 * libzmq has limits for one frame and for whole messages, and none for a message that never ends,
 * nor for a connection that says nothing.  Its monitor tells of each connection that comes and goes
 * with its descriptor.  A connection is cut off (shutdown(2), upon which libzmq closes it) when it
 *   - says no Hello and is one too many, of all or of its address: the oldest goes;
 *   - says no Hello within GATE_HELLO_BEATS heartbeats;
 *   - goes on sending a message beyond any that is allowed: by bytes (tcp), or by time (ipc, whose
 *     bytes cannot be counted), and by much less of both while the process has more memory than it
 *     should have and still more is coming;
 *   - sends more than its client's credits explain (clients_receive.c);
 *   - has a key that was taken off the list (auth.h).
 * On the I/O thread only. */
#ifndef TRIGD_GATE_H
#define TRIGD_GATE_H
#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

#include "base/stats.h"
#include "config/config.h"
#include "transport/auth.h"

#define GATE_HELLO_BEATS 3u
#define GATE_NONE        UINT32_MAX
#define GATE_ADDRESS     48

struct gate;
/* Before the socket binds.  `auth` may be NULL. */
int gate_open(void *context, void *socket, const struct config *config, struct auth *auth,
              struct stats *stats, struct gate **ret_gate);
/* After the socket was closed, before its context ends.  NULL is fine. */
void gate_close(struct gate *g);

/* `hello` made its sender a client.  Its address ("10.1.2.3", or "uid 1000" of ipc) goes to
 * `ret_address`; "?" when the connection is gone already. */
void gate_hello(struct gate *g, const zmq_msg_t *hello, uint32_t client,
                char ret_address[GATE_ADDRESS]);
/* A client was dropped: its connection may say Hello again, or is cut off like others. */
void gate_bye(struct gate *g, uint32_t client);
/* A whole message of the client came after the last tick. */
void gate_heard(struct gate *g, uint32_t client);
/* Takes in which connections came and went. */
void gate_look(struct gate *g);
/* Cuts off the connection of a client. */
void gate_cut(struct gate *g, uint32_t client, const char *why);
/* gate_look, and looks at all connections; whether the process has more memory than it should have.
 * Then gate_gone gives the clients whose connection has ended, one after the other, and GATE_NONE.
 */
bool gate_tick(struct gate *g, uint64_t now_ns);
uint32_t gate_gone(struct gate *g);
#endif
