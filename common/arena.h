/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory for one message at a time: taken from the front, given back all at once. */
#ifndef TRIGD_ARENA_H
#define TRIGD_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena {
    unsigned char *base;
    size_t size, used;
    size_t limit;    /* most bytes that one message may take */
    bool is_overrun; /* the message wanted more */
    uint64_t n_mallocs;
};

/* Makes room for `limit` bytes, forgetting what the arena held.  -ENOMEM. */
int arena_reset(struct arena *a, size_t limit);
/* 16-byte aligned; NULL when the message's limit is reached. */
void *arena_take(struct arena *a, size_t bytes);
void arena_free(struct arena *a);
#endif
