/* SPDX-License-Identifier: Apache-2.0 */
#include "route.h"

#include <string.h>

/* The frame as it lies in memory: every processor that trigd runs on is little-endian. */
struct frame {
    uint8_t magic, flags;
    uint16_t n;
    uint32_t run, l1id, bytes;
    uint64_t token, key;
};
_Static_assert(sizeof(struct frame) == ROUTE_ASK_BYTES, "the frame has no holes");
_Static_assert(sizeof(struct route_pass) == 48, "nor has the pass");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are kept");

#define MAGIC  'R'
#define WANTED (ROUTE_WORDS * sizeof(uint64_t))
enum { REPEAT = 1, PARTIAL = 2, EVENT = 4, ASK = 8, PASS = 16, ALL = 31 };
_Static_assert(sizeof(struct frame) + WANTED + sizeof(struct route_pass) == ROUTE_BYTES, "");

size_t route_pack(const struct route *r, unsigned char bytes[ROUTE_BYTES])
{
    const struct frame f = {
        .magic = MAGIC,
        .flags =
            (uint8_t)((r->is_repeat ? REPEAT : 0) | (r->is_partial ? PARTIAL : 0) |
                      (r->is_event ? EVENT : 0) | (r->is_ask ? ASK : 0) | (r->has_pass ? PASS : 0)),
        .n = (uint16_t)r->n,
        .run = r->run,
        .l1id = r->l1id,
        .bytes = r->is_ask || r->has_pass ? r->bytes : 0,
        .token = r->token,
        .key = r->key};
    size_t n = sizeof f;

    memcpy(bytes, &f, sizeof f);
    if (r->is_partial) {
        memcpy(bytes + n, r->wanted, WANTED);
        n += WANTED;
    }
    if (r->has_pass) {
        memcpy(bytes + n, &r->pass, sizeof r->pass);
        n += sizeof r->pass;
    }
    return n;
}

static size_t bytes_of(uint8_t flags)
{
    return sizeof(struct frame) + (flags & PARTIAL ? WANTED : 0) +
           (flags & PASS ? sizeof(struct route_pass) : 0);
}

static bool is_right(const struct frame *f, size_t n)
{
    if (f->magic != MAGIC || f->flags & ~ALL || !f->n || f->n > ROUTE_ROIS)
        return false;
    if (f->flags & ASK && f->flags & (PARTIAL | PASS))
        return false;
    return n == bytes_of(f->flags) && (f->flags & (ASK | PASS) || !f->bytes);
}

bool route_read(const void *bytes, size_t n, struct route *ret_route)
{
    const unsigned char *at = bytes;
    struct frame f;

    if (n < sizeof f)
        return false;
    memcpy(&f, at, sizeof f);
    if (!is_right(&f, n))
        return false;
    *ret_route = (struct route){.n = f.n,
                                .is_repeat = f.flags & REPEAT,
                                .is_partial = f.flags & PARTIAL,
                                .is_event = f.flags & EVENT,
                                .is_ask = f.flags & ASK,
                                .has_pass = f.flags & PASS,
                                .run = f.run,
                                .l1id = f.l1id,
                                .bytes = f.bytes,
                                .token = f.token,
                                .key = f.key};
    at += sizeof f;
    if (f.flags & PARTIAL) {
        memcpy(ret_route->wanted, at, WANTED);
        at += WANTED;
    }
    if (f.flags & PASS)
        memcpy(&ret_route->pass, at, sizeof ret_route->pass);
    return true;
}
