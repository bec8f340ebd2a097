/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/inbox.h"

#include <errno.h>

static bool is_whole(const struct inbox *b)
{
    struct arena_link *link = arena_link(b->arena);

    return atomic_load(&link->in.tail) == b->taken &&
           atomic_load(&link->in.head) - b->taken <= b->arena->shape.slots &&
           atomic_load(&link->begun) == b->begun && atomic_load(&link->takes_raw) == b->takes_raw;
}

bool inbox_has(const struct inbox *b, const struct inbox_batch *batch)
{
    const struct arena_batch *head = arena_batch(b->arena, batch->number);

    return is_whole(b) && head->sequence == batch->sequence && head->n == batch->n;
}

int inbox_take(struct inbox *b, struct inbox_batch *ret_batch)
{
    const struct arena_shape *shape = &b->arena->shape;
    const struct arena_batch *head;
    struct inbox_batch batch;

    if (!ring_pop(&arena_link(b->arena)->in, &batch.number))
        return 0;
    if (batch.number != b->taken++ % shape->slots)
        return -EFAULT;
    head = arena_batch(b->arena, batch.number);
    batch.n = head->n;
    batch.sequence = head->sequence;
    if (!batch.n || batch.n > shape->max_rois || (b->sequence && batch.sequence != b->sequence + 1))
        return -EFAULT;
    b->sequence = batch.sequence;
    *ret_batch = batch;
    return is_whole(b) ? 1 : -EFAULT;
}

void inbox_tell_begun(struct inbox *b)
{
    atomic_store(&arena_link(b->arena)->begun, ++b->begun);
}

void inbox_tell_raw(struct inbox *b, uint32_t takes)
{
    b->takes_raw = takes;
    atomic_store(&arena_link(b->arena)->takes_raw, takes);
}
