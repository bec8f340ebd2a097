/* SPDX-License-Identifier: Apache-2.0 */
/* serial.h - primary vertices of one event as one would write it down: serial, double precision. */
#ifndef VX_SERIAL_H
#define VX_SERIAL_H
#include "event.h"

/* Histogram of z at the beam, peaks, adaptive fit of each; number of vertices, or -ENOMEM. */
int serial_primaries(const struct event *e);
#endif
