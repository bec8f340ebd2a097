/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - ZeroMQ ends the program when it runs out of descriptors, so room for those of all
 * connections is asked for before. */
#ifndef TRIGD_DESCRIPTORS_H
#define TRIGD_DESCRIPTORS_H
#include <stdint.h>

/* -EMFILE: the system allows fewer (printed). */
int descriptors_raise(uint32_t connections);
#endif
