/* SPDX-License-Identifier: Apache-2.0 */
/* recode.h - Columns of a message from plain to encoded and back, for tools that write or look at
 * RoI files.  The daemon decodes where it gathers. */
#ifndef TRIGD_RECODE_H
#define TRIGD_RECODE_H
#include <stdbool.h>

#include "kinds.h"
#include "trigd.pb-c.h"

struct recode { /* what a message was made to; columns without an encoding stay where they were */
    Trigd__V1__Columns columns;
    ProtobufCBinaryData column[TRG_COLUMNS_MAX];
    float offset[TRG_COLUMNS_MAX], step[TRG_COLUMNS_MAX];
    void *data;
};

/* Whether the declaration of the hash has encodings. */
bool recode_can(uint64_t hash);
/* Plain columns of encoded ones.  -EBADMSG: no declaration has the hash, or they do not fit it;
 * -ENOMEM. */
int recode_plain(const Trigd__V1__Columns *from, struct recode *ret_to);
/* Encoded columns of plain ones; where the declaration gives no offset and step they are over the
 * range of the values.  The same, and -EINVAL: a value is not finite, -ERANGE: one lies outside of
 * what the numbers reach. */
int recode_encoded(const Trigd__V1__Columns *from, struct recode *ret_to);
void recode_fini(struct recode *r); /* also after a failure */
#endif
