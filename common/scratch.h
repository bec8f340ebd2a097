/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - memory for one message at a time: taken from the front, given back all at once. */
#ifndef TRIGD_SCRATCH_H
#define TRIGD_SCRATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
    unsigned char *base;
    size_t size, used;
    size_t limit;    /* most bytes that one message may take */
    bool is_overrun; /* the message wanted more */
    uint64_t n_mallocs;
};

/* Makes room for `limit` bytes, forgetting what the scratch memory held.  -ENOMEM. */
int scratch_reset(struct scratch *a, size_t limit);
/* 16-byte aligned; NULL when the message's limit is reached. */
void *scratch_take(struct scratch *a, size_t bytes);
void scratch_free(struct scratch *a);
#endif
