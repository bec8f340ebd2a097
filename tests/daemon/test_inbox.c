/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/inbox.h"

#define SLOTS 3u
#define ROIS  8u
#define FIRST 1000u /* number of the first batch */

struct fake { /* the lane of an inbox */
    struct arena arena;
    struct inbox inbox;
    uint64_t given;
};

static int open_fake(void **state)
{
    static struct fake f;
    const struct arena_shape shape = {.slots = SLOTS, .max_rois = ROIS};
    int fd = -1;

    f = (struct fake){0};
    assert_int_equal(arena_file(&shape, &fd), 0);
    assert_int_equal(arena_map(&shape, fd, &f.arena), 0);
    close(fd);
    f.inbox.arena = &f.arena;
    *state = &f;
    return 0;
}

static int close_fake(void **state)
{
    struct fake *f = *state;

    arena_unmap(&f->arena);
    return 0;
}

static struct arena_batch *give(struct fake *f)
{
    const uint32_t slot = (uint32_t)f->given % SLOTS;
    struct arena_batch *head = arena_batch(&f->arena, slot);

    *head = (struct arena_batch){.n = ROIS, .sequence = FIRST + f->given++};
    assert_true(ring_push(&arena_link(&f->arena)->in, slot));
    return head;
}

static void batches_come_in_order(void **state)
{
    struct fake *f = *state;
    struct inbox_batch batch;

    assert_int_equal(inbox_take(&f->inbox, &batch), 0);
    inbox_tell_raw(&f->inbox, 5);
    for (uint32_t i = 0; i < 4 * SLOTS; i++) {
        give(f);
        assert_int_equal(inbox_take(&f->inbox, &batch), 1);
        assert_int_equal(batch.number, i % SLOTS);
        assert_int_equal(batch.sequence, FIRST + i);
        assert_int_equal(batch.n, ROIS);
        inbox_tell_begun(&f->inbox);
        assert_int_equal(arena_link(&f->arena)->begun, i + 1);
        assert_true(inbox_has(&f->inbox, &batch));
        assert_int_equal(inbox_take(&f->inbox, &batch), 0);
    }
}

/* A batch is in the ring whose head or place is not the next one's. */
static void heads_are_written_over(void **state)
{
    struct fake *f = *state;
    struct inbox_batch batch;
    struct inbox before;
    struct arena_batch *head;
    struct ring *in = &arena_link(&f->arena)->in;

    give(f);
    assert_int_equal(inbox_take(&f->inbox, &batch), 1);
    head = give(f);
    before = f->inbox;
    for (uint32_t i = 0; i < 5; i++) {
        const struct arena_batch good = *head;
        const uint32_t place = in->entry[1];

        head->sequence += i == 0 ? 1u : i == 1 ? UINT64_MAX : 0;
        head->n = i == 2 ? 0 : i == 3 ? ROIS + 1 : head->n;
        in->entry[1] += i == 4 ? SLOTS : 0; /* the same slot, as many would have it */
        assert_int_equal(inbox_take(&f->inbox, &batch), -EFAULT);
        *head = good;
        in->entry[1] = place;
        f->inbox = before;
        atomic_store(&in->tail, 1);
    }
    assert_int_equal(inbox_take(&f->inbox, &batch), 1);
    assert_true(inbox_has(&f->inbox, &batch));
    head->n--;
    assert_false(inbox_has(&f->inbox, &batch));
}

/* The front empties the link of a lane that it opens anew, while the runner before has no batch. */
static void the_link_is_emptied(void **state)
{
    struct fake *f = *state;
    struct inbox_batch batch;

    give(f);
    assert_int_equal(inbox_take(&f->inbox, &batch), 1);
    arena_reset(&f->arena);
    assert_int_equal(inbox_take(&f->inbox, &batch), 0);
}

/* No word of the link but those with which the two sides wake each other may change. */
static void the_link_is_written_over(void **state)
{
    struct fake *f = *state;
    struct arena_link *link = arena_link(&f->arena);
    _Atomic uint32_t *const word[] = {&link->in.head, &link->in.tail, &link->begun,
                                      &link->takes_raw};
    struct inbox_batch batch;

    give(f);
    assert_int_equal(inbox_take(&f->inbox, &batch), 1);
    for (uint32_t i = 0; i < sizeof word / sizeof *word; i++) {
        *word[i] ^= 0x9e3779b9u;
        assert_false(inbox_has(&f->inbox, &batch));
        *word[i] ^= 0x9e3779b9u;
        assert_true(inbox_has(&f->inbox, &batch));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_come_in_order, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(heads_are_written_over, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(the_link_is_emptied, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(the_link_is_written_over, open_fake, close_fake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
