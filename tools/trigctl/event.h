/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - an event of an RoI file as a picture. */
#ifndef TRIGCTL_EVENT_H
#define TRIGCTL_EVENT_H
#include <stdint.h>
#include <stdio.h>

/* Draws the event `number` (from 1; RoIs of one run and L1 id that follow each other are one) as
 * SVG, across and along the beam: every collection with positions, and what the steps of a stream
 * made.  On failure one sentence was printed; negative errno. */
int event_draw(const char *path, uint64_t number, FILE *out);
#endif
