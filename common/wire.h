/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - the only reader of messages from outside: protobuf bytes to checked RoIs.
 *
 * protobuf-c unpacks into scratch memory that is reused for every message, so that a steady state
 * allocates nothing; then each RoI is checked against the limits.
 */
#ifndef TRIGD_WIRE_H
#define TRIGD_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encoding.h"
#include "scan.h"
#include "trigd.pb-c.h"
#include "trigd/event.h"

#define ROI_TYPES 64u /* types of RoIs are numbers below */

/* What a message may hold at most. */
struct wire_limits {
    uint32_t max_message_bytes;
    uint32_t max_rois;  /* in one batch */
    uint32_t max_items; /* of one collection of one RoI */
    uint32_t max_layer; /* layers are 0 .. max_layer */
};

/* Places of collections in an RoI: spacepoints, hits and tracks at their kinds, then others. */
#define WIRE_SLOTS    (WIRE_DECLARED + SCAN_DECLARED)
#define WIRE_DECLARED (TRG_SPACEPOINTS + SCAN_KINDS)

/* One RoI of a message that passed all checks; points into the scratch memory or the message. */
struct wire_roi {
    uint64_t token;
    bool is_repeat;
    uint32_t type;        /* below ROI_TYPES */
    uint32_t deadline_us; /* from its receipt; 0: none of its own */
    uint32_t event_rois;  /* RoIs of its event; 0 and 1: it is alone */
    struct trg_roi_info info;
    struct wire_collection {
        uint32_t n;                          /* items */
        uint8_t kind;                        /* when it is there */
        bool is_there;                       /* a collection may be there and empty */
        bool is_encoded;                     /* the columns are as encoding.h says */
        uint8_t first;                       /* of `encoding`: those that came with it begin here */
        const void *column[TRG_COLUMNS_MAX]; /* of what is there; unaligned bytes are possible */
    } collection[WIRE_SLOTS];
    uint32_t n_encodings; /* written so far */
    struct trg_encoding encoding[WIRE_SLOTS * TRG_COLUMNS_MAX];
};

/* The offsets and steps that came with a collection. */
static inline const struct trg_encoding *wire_sent(const struct wire_roi *w,
                                                   const struct wire_collection *c)
{
    return &w->encoding[c->first];
}

/* An RoI without collections; what is not there is not written, as it would be seen in the rate. */
void wire_begin(struct wire_roi *w, uint64_t token, const struct trg_roi_info *info);
/* The place for a collection of a kind; WIRE_SLOTS: it is there already, or there is no place left.
 */
uint32_t wire_slot(const struct wire_roi *w, uint32_t kind);

/* Why something was refused: the code of the Error message and its sentence. */
struct wire_error {
    Trigd__V1__Error__Code code;
    char text[192];
};

/* Copies the offsets and steps that came with an encoded collection, all of each, and checks the
 * copy.  -EBADMSG with the reason. */
int wire_take_encodings(uint32_t kind, const void *offsets, const void *steps,
                        struct wire_collection *c, struct wire_roi *w,
                        struct wire_error *ret_error);

struct wire_decoder; /* the scratch memory; one thread */

/* -ENOMEM. */
int wire_decoder_new(const struct wire_limits *limits, struct wire_decoder **ret_decoder);
void wire_decoder_free(struct wire_decoder *d); /* NULL is fine */

/* Unpacks one message and forgets the one before.  0 and the message, which is borrowed until the
 * next call; -EBADMSG with the reason in *ret_error. */
int wire_decode(struct wire_decoder *d, const void *bytes, size_t n,
                const Trigd__V1__ToDaemon **ret_message, struct wire_error *ret_error);

/* Checks one RoI of the message and points to its columns.  -EBADMSG with the reason. */
int wire_roi(const struct wire_decoder *d, const Trigd__V1__Roi *roi, struct wire_roi *ret_roi,
             struct wire_error *ret_error);

/* Finds the RoIs of a message without unpacking it: how many; 0 when it is no RoiBatch written in
 * the usual way, which wire_decode takes.  What is found here is found there as well. */
uint32_t wire_scan(struct wire_decoder *d, const void *bytes, size_t n);
/* Checks RoI i of the scanned message and points to its columns, which are unaligned and lie in the
 * message's bytes.  -EBADMSG with the reason. */
int wire_scanned(const struct wire_decoder *d, uint32_t i, struct wire_roi *ret_roi,
                 struct wire_error *ret_error);
/* The same without a look at the values of its columns, for a caller that checks its copy. */
int wire_scanned_unread(const struct wire_decoder *d, uint32_t i, struct wire_roi *ret_roi,
                        struct wire_error *ret_error);
uint64_t wire_scanned_token(const struct wire_decoder *d, uint32_t i);

/* Whether a client may be called so: 1 to 63 printable characters without quotes and backslashes.
 * 0 or -EBADMSG with the reason. */
int wire_check_name(const char *name, struct wire_error *ret_error);

/* Bytes of heap that the decoder has taken from malloc so far, and calls of malloc: both stand
 * still in a steady state. */
void wire_decoder_usage(const struct wire_decoder *d, uint64_t *ret_bytes, uint64_t *ret_calls);
#endif
