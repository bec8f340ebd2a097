/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - events of several RoIs: from the call that sends them until each RoI has its answer
 * and the event its decision.  Until then all of them may have to go again. */
#ifndef TRIGD_EVENTS_H
#define TRIGD_EVENTS_H
#include "client_inner.h"

/* Begins the events of RoIs, all or none, and gives each RoI the place of its event, 0 if it is
 * alone.  0; -ENOMEM, or -EINVAL when one is on its way already, with a sentence. */
int events_begin(struct trg_client *c, const struct trg_client_roi *rois, uint32_t n,
                 uint32_t *ret_places, char *why, size_t bytes);
/* The flight of the next RoI of an event. */
void events_join(struct trg_client *c, uint32_t place, struct flight *f);
/* An RoI of an event has its answer, or is given up. */
void events_answered(struct trg_client *c, uint32_t place, enum trg_client_end_kind kind);
void events_decided(struct trg_client *c, const Trigd__V1__EventDecision *d, uint64_t now_ns);
/* What is open is sent again. */
void events_again(struct trg_client *c);
/* Nothing more comes: what has no decision is lost. */
void events_close(struct trg_client *c);
#endif
