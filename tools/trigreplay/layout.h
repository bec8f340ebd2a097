/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - an RoI's collections plain or encoded (docs/protocol.md). */
#ifndef TRIGD_LAYOUT_H
#define TRIGD_LAYOUT_H
#include <stdbool.h>

#include "quantized.h"
#include "recode.h"

#define LAYOUT_PARTS 8u /* collections of one RoI */

enum layout { LAYOUT_AS_MADE, LAYOUT_PLAIN, LAYOUT_ENCODED };

/* The layout called `name` on the command line; false when there is none. */
bool layout_find(const char *name, enum layout *ret_layout);

struct layout_room { /* of one RoI: zeroed before the first use */
    uint32_t n;
    struct recode part[LAYOUT_PARTS];
    Trigd__V1__Columns columns, *list[LAYOUT_PARTS];
    ProtobufCBinaryData column[TRG_SPACEPOINTS_COLUMNS];
    struct quantized quantized;
};
void layout_room_fini(struct layout_room *room);

/* Lets the RoI hold its collections in `layout`, as Columns where they change; those in it already
 * are left.  They point into `room`: the caller puts back what he has to free.  -ENOMEM; -EBADMSG:
 * columns that do not fit a declaration; -EINVAL, -ERANGE: values that cannot be encoded
 * (recode_encoded); -E2BIG: more than LAYOUT_PARTS collections. */
int layout_apply(enum layout layout, Trigd__V1__Roi *roi, struct layout_room *room);
#endif
