/* SPDX-License-Identifier: Apache-2.0 */
/* roi_message.h - an RoI of the pool as bytes of a RoiBatch, as it came: for RoI files. */
#ifndef TRIGD_ROI_MESSAGE_H
#define TRIGD_ROI_MESSAGE_H
#include "memory/pool.h"
#include "trigd.pb-c.h"

struct roi_message {
    struct roi_message *next; /* the caller's */
    size_t bytes;
    unsigned char packed[];
};

/* Copies an RoI, with `kept` (NULL: nothing) about its end.  The caller frees it.  -ENOMEM. */
int roi_message_pack(const struct pool *pool, const struct roi *r, Trigd__V1__Kept *kept,
                     struct roi_message **ret_message);
#endif
