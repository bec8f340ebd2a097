/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h - the answer to invalid input: an Error message, one line of the log, the counters. */
#ifndef TRIGD_REFUSAL_H
#define TRIGD_REFUSAL_H
#include "transport/clients.h"
#include "wire.h"

/* Answers an Error.  `number` is CLIENTS_NONE for a peer that is no client; `token` is of the RoI
 * that is refused, NULL when it is the message. */
void refusal_send(struct clients *clients, struct stats *stats, const struct peer *peer,
                  uint32_t number, const struct wire_error *error, const uint64_t *token);
#endif
