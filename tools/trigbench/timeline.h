/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - spans of a trace as a picture (SVG) or for a viewer (the JSON of trace events that
 * Perfetto and Chromium read). */
#ifndef TRIGBENCH_TIMELINE_H
#define TRIGBENCH_TIMELINE_H
#include <stdio.h>

#include "trace.h"

struct timeline {
    const char *title; /* one line; no markup */
    const struct trace_span *spans;
    uint32_t n;
    uint32_t queues_a_lane; /* rows of a lane: its slots */
};

/* Both write from the first span on; 0 or -EIO. */
int timeline_svg(const struct timeline *t, FILE *out);
int timeline_json(const struct timeline *t, FILE *out);
#endif
