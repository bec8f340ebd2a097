/* SPDX-License-Identifier: Apache-2.0 */
/* serial.h - the Hough transform once more, as one would write it for one core: double precision,
 * every cell for every hit, hits looked at one after the other.  What the plugin's preset `brute`
 * is held against, in its tracks and in its speed. */
#ifndef HOUGH_SERIAL_H
#define HOUGH_SERIAL_H
#include "events.h"
#include "parameters.h"

#define SERIAL_HITS 32u

struct serial_track {
    uint32_t n;
    uint32_t hit[SERIAL_HITS]; /* along z */
};

struct serial_tracks {
    uint32_t n, room;
    struct serial_track *list;
};

/* Finds the tracks of an event with the methods and parameters of the preset `brute`.  -ENOMEM. */
int serial_find(const struct hough_config *c, const struct event *e,
                struct serial_tracks *ret_tracks);
void serial_free(struct serial_tracks *t);
#endif
