/* SPDX-License-Identifier: Apache-2.0 */
#include "route.h"

#include <string.h>

/* The frame as it lies in memory: every processor that trigd runs on is little-endian. */
struct frame {
    uint8_t magic, flags;
    uint16_t n;
    uint32_t run, l1id, zero;
    uint64_t token, key, wanted[ROUTE_WORDS];
};
_Static_assert(sizeof(struct frame) == ROUTE_BYTES, "the frame has no holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are kept");

#define MAGIC 'R'
#define WHOLE offsetof(struct frame, wanted) /* bytes without the bits */
enum { REPEAT = 1, PARTIAL = 2, EVENT = 4, ALL = 7 };

size_t route_pack(const struct route *r, unsigned char bytes[ROUTE_BYTES])
{
    struct frame f = {.magic = MAGIC,
                      .flags = (uint8_t)((r->is_repeat ? REPEAT : 0) |
                                         (r->is_partial ? PARTIAL : 0) | (r->is_event ? EVENT : 0)),
                      .n = (uint16_t)r->n,
                      .run = r->run,
                      .l1id = r->l1id,
                      .token = r->token,
                      .key = r->key};

    memcpy(f.wanted, r->wanted, sizeof f.wanted);
    memcpy(bytes, &f, sizeof f);
    return r->is_partial ? sizeof f : WHOLE;
}

bool route_read(const void *bytes, size_t n, struct route *ret_route)
{
    struct frame f = {.magic = 0};

    if (n != WHOLE && n != sizeof f)
        return false;
    memcpy(&f, bytes, n);
    if (f.magic != MAGIC || f.flags & ~ALL || f.zero || !f.n || f.n > ROUTE_ROIS ||
        (n == sizeof f) != ((f.flags & PARTIAL) != 0))
        return false;
    *ret_route = (struct route){.n = f.n,
                                .is_repeat = f.flags & REPEAT,
                                .is_partial = f.flags & PARTIAL,
                                .is_event = f.flags & EVENT,
                                .run = f.run,
                                .l1id = f.l1id,
                                .token = f.token,
                                .key = f.key};
    memcpy(ret_route->wanted, f.wanted, sizeof f.wanted);
    return true;
}
