/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.h - encoded spacepoints of older clients and RoI files, as the Columns that they would
 * be today.  Nothing writes them any more. */
#ifndef TRIGD_QUANTIZED_H
#define TRIGD_QUANTIZED_H
#include "trigd.pb-c.h"
#include "trigd/event.h"

struct quantized { /* of one message; points into it */
    Trigd__V1__Columns columns;
    ProtobufCBinaryData column[TRG_SPACEPOINTS_COLUMNS];
    float offset[3], step[3];
};

/* The message lives as long as the old one and the room. */
Trigd__V1__Columns *quantized_columns(const Trigd__V1__QuantizedSpacepoints *m,
                                      struct quantized *room);
#endif
