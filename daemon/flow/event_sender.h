/* SPDX-License-Identifier: Apache-2.0 */
/* event_sender.h - the decisions of events to their clients.  On the I/O thread only. */
#ifndef TRIGD_EVENT_SENDER_H
#define TRIGD_EVENT_SENDER_H
#include "flow/event_table.h"
#include "transport/clients.h"

struct event_sender;
int event_sender_new(struct clients *clients, struct stats *stats, struct event_sender **ret);
void event_sender_free(struct event_sender *s); /* NULL is fine */

/* Takes a decision; it leaves with the next flush, or at once when many wait. */
void event_sender_add(struct event_sender *s, const struct event_decision *d);
/* Sends those that wait, with those for one client that follow each other in one message. */
void event_sender_flush(struct event_sender *s);
#endif
