/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - events of tracks from a text file, as bench/vertexing/acts-tracks writes it.  Events
 * one after the other, a line each for a vertex of the truth and a track; '#' begins a comment.
 *
 *     vertex,EVENT,KIND,X,Y,Z,N_TRACKS             (KIND: enum event_kind; mm)
 *     track,EVENT,VERTEX,X,Y,Z,TX,TY,VAR_X,VAR_TX,COV_X_TX,CHI2,QOP,N_HITS
 */
#ifndef VX_TABLE_H
#define VX_TABLE_H
#include "event.h"

/* The caller frees the events.  Negative errno, with a printed reason. */
int table_read(const char *path, struct event **ret_events, uint32_t *ret_n);
#endif
