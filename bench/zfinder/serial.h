/* SPDX-License-Identifier: Apache-2.0 */
/* serial.h - the z-finder as one would write it for one core: double precision, points sorted by
 * phi slice, plain loops.  What the plugin's speed is compared with. */
#ifndef ZFINDER_SERIAL_H
#define ZFINDER_SERIAL_H
#include "generator.h"
#include "vertices.h"

struct serial;                                 /* memory that is used again for every RoI */
struct serial *serial_new(uint32_t max_items); /* NULL: out of memory */
void serial_free(struct serial *s);
/* z of the highest vertex, mm, NAN for none.  The preset `pure`, with any triplet mode. */
double serial_find(struct serial *s, const struct zf_config *c, const struct generated *g);
#endif
