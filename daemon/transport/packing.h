/* SPDX-License-Identifier: Apache-2.0 */
/* packing.h - an answer to bytes.  Decisions are packed without telling their size first, which
 * would take as long as packing them. */
#ifndef TRIGD_PACKING_H
#define TRIGD_PACKING_H
#include <stddef.h>

#include "trigd.pb-c.h"

/* Bytes that a message surely fits in: of decisions a few too many, of others exactly. */
size_t packing_bound(const Trigd__V1__FromDaemon *m);
#endif
