/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - the frame that may stand before the frame of a batch: all that a supervisor has to know
 * of the batch, so that it reads nothing else of it (docs/protocol.md, Routing frame).
 *
 * All numbers are little-endian:
 *
 *     offset  bytes
 *          0      1  'R'
 *          1      1  flags: 1 repeat, 2 partial, 4 one event, 8 ask, 16 pass
 *          2      2  n, RoIs of the batch: 1 to ROUTE_ROIS
 *          4      4  run      of the event, with flag 4
 *          8      4  l1id     likewise
 *         12      4  bytes of the batch, with flags 8 and 16; else 0
 *         16      8  token of the first RoI; the others have the numbers after it
 *         24      8  key of the client that the RoIs come from; 0: the sender's
 *         32     32  with flag 2: a bit for each RoI that is wanted; the others are not looked at
 *         32 or 64   with flag 16, the pass:
 *                 8  issuer
 *                 8  serial
 *                 8  when it expires, by the issuer's clock, ns
 *                 8  whose it is: a hash of the holder's CURVE key; 0: anybody's
 *                16  tag
 *
 * With flag 8 the frame stands alone, and asks where the batch is to go.
 */
#ifndef TRIGD_ROUTE_H
#define TRIGD_ROUTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_ROIS      256u
#define ROUTE_WORDS     (ROUTE_ROIS / 64u)
#define ROUTE_ASK_BYTES 32u  /* of a frame that asks */
#define ROUTE_BYTES     112u /* at most */
#define ROUTE_TAG       16u

struct route_pass { /* lets its holder send the batch in the issuer's name (transport/passes.h) */
    uint64_t issuer, serial, expires_ns, holder;
    unsigned char tag[ROUTE_TAG];
};

struct route {
    uint32_t n;
    bool is_repeat;  /* it was sent before, to a daemon that is gone or slow */
    bool is_partial; /* `wanted` counts; else all are */
    bool is_event;   /* all RoIs are of the event (run, l1id) */
    bool is_ask, has_pass;
    uint32_t run, l1id;
    uint32_t bytes; /* with is_ask and has_pass: the batch has no more */
    uint64_t token, key;
    uint64_t wanted[ROUTE_WORDS];
    struct route_pass pass; /* the last in the frame, its tag at the end */
};

/* Writes the frame; returns its bytes. */
size_t route_pack(const struct route *r, unsigned char bytes[ROUTE_BYTES]);
/* false: this is no such frame.  One that is right is written by route_pack as it was. */
bool route_read(const void *bytes, size_t n, struct route *ret_route);

static inline bool route_wants(const struct route *r, uint32_t i)
{
    return !r->is_partial || (r->wanted[i / 64] >> i % 64 & 1);
}
#endif
