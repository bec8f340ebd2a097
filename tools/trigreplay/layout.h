/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - an RoI's spacepoints in the other of their two wire layouts (docs/protocol.md). */
#ifndef TRIGD_LAYOUT_H
#define TRIGD_LAYOUT_H
#include <stdbool.h>

#include "trigd.pb-c.h"

enum layout { LAYOUT_AS_MADE, LAYOUT_FLOATS, LAYOUT_QUANTIZED };

/* The layout called `name` on the command line; false when there is none. */
bool layout_find(const char *name, enum layout *ret_layout);

struct layout_room { /* of one RoI: zeroed before the first use, used again for the next */
    Trigd__V1__Spacepoints floats;
    Trigd__V1__QuantizedSpacepoints quantized;
    void *data;
};
void layout_room_fini(struct layout_room *room);

/* Lets the RoI's spacepoints point to the same in `layout`, with numbers over the range of their
 * own values, or leaves them when they are in it.  They point into `room`: the caller puts back
 * what he has to free.  -ENOMEM; -EBADMSG: columns of different lengths; -EINVAL, -ERANGE: values
 * that cannot be quantized (quantum_fit). */
int layout_apply(enum layout layout, Trigd__V1__Roi *roi, struct layout_room *room);
#endif
