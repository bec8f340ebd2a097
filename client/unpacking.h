/* SPDX-License-Identifier: Apache-2.0 */
/* unpacking.h - an answer of the daemon from its bytes.
 *
 * Decisions are most of all answers: they are read field by field, in a third of the
 * instructions that protobuf-c takes with its descriptors.  What comes out is the same.
 */
#ifndef TRIGD_UNPACKING_H
#define TRIGD_UNPACKING_H
#include <stddef.h>

#include "scratch.h"
#include "trigd.pb-c.h"

/* The message, in memory of `s`: valid until that is used for the next one.  -EBADMSG, -ENOMEM. */
int unpacking_unpack(struct scratch *s, const void *bytes, size_t n,
                     Trigd__V1__FromDaemon **ret_message);
#endif
