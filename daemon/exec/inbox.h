/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.h - the runner's end of an arena's link, and what the runner knows of it by itself.
 *
 * A lane hands its batches over in the order of slots, each with the number after the last one's.
 * Thus a runner can tell whether a plugin has written over memory that its process shares with the
 * daemon: it must not go on then, for what it ran next might be read, answered or blamed in the
 * place of something else.  Only what lies where it looks is seen: the link, the heads of batches.
 * A link that is all zero is one that the front has emptied, for another runner.
 */
#ifndef TRIGD_INBOX_H
#define TRIGD_INBOX_H
#include <stdbool.h>
#include <stdint.h>

#include "exec/arena.h"

struct inbox { /* zero and `arena`: nothing was taken.  Of the runner's thread */
    const struct arena *arena;
    uint32_t taken;     /* batches taken from the ring */
    uint32_t begun;     /* the last `begun` written to the link */
    uint32_t takes_raw; /* the last `takes_raw` written to the link */
    uint64_t sequence;  /* of the last batch */
};

struct inbox_batch { /* read once: the arena may change */
    uint32_t number; /* its slot in the arena */
    uint32_t n;      /* RoIs of it */
    uint64_t sequence;
};

/* Takes the oldest batch that waits: 1, or 0 when there is none.  -EFAULT: its place, its number or
 * the link are not what they must be. */
int inbox_take(struct inbox *b, struct inbox_batch *ret_batch);
/* Whether the link, and the head of a batch that was taken, are as both sides left them. */
bool inbox_has(const struct inbox *b, const struct inbox_batch *batch);

/* Tells the front that one batch more has begun, and which inputs are taken raw. */
void inbox_tell_begun(struct inbox *b);
void inbox_tell_raw(struct inbox *b, uint32_t takes);
#endif
