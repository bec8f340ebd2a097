/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - the frame that may stand before the frame of a batch: all that a supervisor has to know
 * of the batch, so that it reads nothing else of it (docs/protocol.md, Routing frame).
 *
 * All numbers are little-endian:
 *
 *     offset  bytes
 *          0      1  'R'
 *          1      1  flags: 1 repeat, 2 partial, 4 one event
 *          2      2  n, RoIs of the batch: 1 to ROUTE_ROIS
 *          4      4  run      of the event, with flag 4
 *          8      4  l1id     likewise
 *         12      4  0
 *         16      8  token of the first RoI; the others have the numbers after it
 *         24      8  key of the client that the RoIs come from; 0: the sender's
 *         32     32  with flag 2: a bit for each RoI that is wanted; the others are not looked at
 */
#ifndef TRIGD_ROUTE_H
#define TRIGD_ROUTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_ROIS  256u
#define ROUTE_WORDS (ROUTE_ROIS / 64u)
#define ROUTE_BYTES 64u /* at most */

struct route {
    uint32_t n;
    bool is_repeat;  /* it was sent before, to a daemon that is gone or slow */
    bool is_partial; /* `wanted` counts; else all are */
    bool is_event;   /* all RoIs are of the event (run, l1id) */
    uint32_t run, l1id;
    uint64_t token, key;
    uint64_t wanted[ROUTE_WORDS];
};

/* Writes the frame; returns its bytes. */
size_t route_pack(const struct route *r, unsigned char bytes[ROUTE_BYTES]);
/* false: this is no such frame. */
bool route_read(const void *bytes, size_t n, struct route *ret_route);

static inline bool route_wants(const struct route *r, uint32_t i)
{
    return !r->is_partial || (r->wanted[i / 64] >> i % 64 & 1);
}
#endif
