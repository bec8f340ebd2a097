/* SPDX-License-Identifier: Apache-2.0 */
/* packing.h - an answer to bytes.
 *
 * Decisions are most of all answers: they are written field by field, in a fifth of the
 * instructions that protobuf-c takes with its descriptors, and without telling their size first.
 * The bytes are the same.
 */
#ifndef TRIGD_PACKING_H
#define TRIGD_PACKING_H
#include <stddef.h>

#include "trigd.pb-c.h"

/* Bytes that a message surely fits in: of decisions a few too many, of others exactly. */
size_t packing_bound(const Trigd__V1__FromDaemon *m);
/* Writes it to memory with room for packing_bound, or the size that it has.  Returns its bytes. */
size_t packing_pack(const Trigd__V1__FromDaemon *m, unsigned char *dst);
#endif
