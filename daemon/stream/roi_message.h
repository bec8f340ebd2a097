/* SPDX-License-Identifier: Apache-2.0 */
/* roi_message.h - an RoI of the pool as bytes of a RoiBatch, as it came: for RoI files. */
#ifndef TRIGD_ROI_MESSAGE_H
#define TRIGD_ROI_MESSAGE_H
#include "memory/pool.h"
#include "menu/menu.h"
#include "trigd.pb-c.h"

struct stream_titles;

struct roi_message {
    struct roi_message *next; /* the caller's, as are the next five */
    const struct stream_titles *titles;
    uint32_t run, lumi_block, shard;
    uint64_t latency_ns; /* from receipt to decision */
    size_t bytes;
    unsigned char packed[];
};

struct roi_content { /* what of an RoI, beside its numbers */
    bool has_payload;
    const struct menu *menu;
    uint64_t products;     /* bit s: what step s made */
    Trigd__V1__Kept *kept; /* NULL: nothing about its end; products are added */
};

/* Copies an RoI.  The caller frees it.  -ENOMEM. */
int roi_message_pack(const struct pool *pool, const struct roi *r,
                     const struct roi_content *content, struct roi_message **ret_message);
#endif
