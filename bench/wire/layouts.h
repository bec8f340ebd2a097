/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.h - the wire layouts as a table: how spacepoints get into a message and out of it. */
#ifndef TRIGD_BENCH_LAYOUTS_H
#define TRIGD_BENCH_LAYOUTS_H
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "points.h"

struct layout { /* the table ends with a NULL name */
    const char *name;
    const ProtobufCMessageDescriptor *descriptor;
    /* The packed message on the heap; NULL when memory is out. */
    void *(*pack)(const struct points *p, size_t *ret_bytes);
    /* Copies the columns out of an unpacked message, as floats and bytes; dst has n points. */
    void (*read)(const ProtobufCMessage *m, struct points *dst);
    float tolerance; /* of what comes out */
};

extern const struct layout layouts[];
#endif
