/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of clients' memory that a device may read: they open when asked for, within a budget of
 * memory and a part of the time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/pieces.h"

#define REGIONS 3u
#define BYTES   (2 * PIECE_BYTES + 4096) /* three pieces each */

static struct pieces pieces;
static struct pieces_budget budget;
static int n_opened;

/* What the test's device answers. */
static int window_open(struct trg_buffer *window, size_t at, size_t bytes)
{
    (void)window, (void)at;
    assert_true(bytes <= PIECE_BYTES);
    n_opened++;
    return 0;
}

static int window_shut(struct trg_buffer *window, size_t at)
{
    (void)window, (void)at;
    n_opened--;
    return 0;
}

static const struct trg_device_ops ops = {.window_open = window_open, .window_shut = window_shut};
static struct trg_object window = {.ops = &ops};

static int begin(void **unused)
{
    const struct pieces_place place = {.distance = 2 * BYTES, .bytes = BYTES, .n = REGIONS};

    (void)unused;
    budget = (struct pieces_budget){.most = 100 * PIECE_BYTES,
                                    .asked_fd = eventfd(0, EFD_NONBLOCK),
                                    .borrow_ns = PIECE_BORROW_NS};
    return budget.asked_fd < 0
               ? -1
               : pieces_open((struct trg_buffer *)(void *)&window, &place, &budget, &pieces);
}

static int end(void **unused)
{
    (void)unused;
    pieces_close(&pieces);
    assert_int_equal(n_opened, 0);
    assert_int_equal(budget.used, 0);
    return close(budget.asked_fd);
}

static bool is_open(uint32_t region, uint64_t at, uint64_t bytes)
{
    return pieces_are_open(&pieces, region, region * 2 * BYTES + at, bytes);
}

static uint64_t asked(void)
{
    uint64_t n = 0;

    assert_true(read(budget.asked_fd, &n, sizeof n) > 0 || errno == EAGAIN);
    return n;
}

static void test_opens_what_rois_touch(void **unused)
{
    (void)unused;
    assert_false(pieces_step(&pieces));
    assert_false(is_open(1, PIECE_BYTES - 10, 20));
    assert_int_equal(asked(), 2);
    assert_false(is_open(1, PIECE_BYTES - 10, 20));
    assert_int_equal(asked(), 0);
    assert_true(pieces_step(&pieces));
    assert_false(is_open(1, PIECE_BYTES - 10, 20));
    assert_true(pieces_step(&pieces));
    assert_false(pieces_step(&pieces));
    assert_true(is_open(1, PIECE_BYTES - 10, 20));
    assert_int_equal(n_opened, 2);
    assert_false(is_open(1, 2 * PIECE_BYTES, 4096)); /* the last one is short */
    assert_true(pieces_step(&pieces));
    assert_true(is_open(1, 2 * PIECE_BYTES, 4096));
    assert_int_equal(budget.used, BYTES);
    assert_false(is_open(REGIONS, 0, 1));
    assert_false(is_open(0, BYTES, 1));
    pieces_shut(&pieces, 1);
    assert_false(is_open(1, 0, 1));
}

static void test_first_piece_opens_before_there_are_rois(void **unused)
{
    (void)unused;
    pieces_expect(&pieces, 2, 0);
    assert_int_equal(asked(), 1);
    assert_true(pieces_step(&pieces));
    assert_true(is_open(2, 0, PIECE_BYTES));
    assert_int_equal(n_opened, 1);
}

/* As a process does that waits to take the place of another: it has time. */
static void test_pieces_open_at_leisure(void **unused)
{
    const uint64_t now = 1000 * NS_PER_S;

    (void)unused;
    budget.borrow_ns = 0;
    pieces_expect(&pieces, 1, 2);
    pieces_expect(&pieces, 1, 2);
    assert_int_equal(asked(), 1);
    while (pieces_step(&pieces))
        ;
    assert_int_equal(n_opened, 1);
    assert_true(is_open(1, 2 * PIECE_BYTES, 4096));
    budget.owed_ns = now + 7;
    assert_int_equal(pieces_rest_ns(&budget, now), 7);
}

static void test_memory_is_bounded(void **unused)
{
    (void)unused;
    budget.most = PIECE_BYTES;
    assert_false(is_open(0, 0, PIECE_BYTES + 1));
    while (pieces_step(&pieces))
        ;
    assert_int_equal(n_opened, 1);
    assert_true(is_open(0, 0, PIECE_BYTES));
    assert_false(is_open(0, 0, PIECE_BYTES + 1));
    assert_false(pieces_step(&pieces)); /* nobody is asked for what has no room */
    assert_false(is_open(1, 0, 1));
    assert_true(pieces_step(&pieces));
    assert_false(is_open(1, 0, 1));
    pieces_shut(&pieces, 0); /* that client has gone */
    assert_false(is_open(1, 0, 1));
    assert_true(pieces_step(&pieces));
    assert_true(is_open(1, 0, 1));
}

static void test_opening_rests(void **unused)
{
    const uint64_t now = 1000 * NS_PER_S;

    (void)unused;
    assert_int_equal(pieces_rest_ns(&budget, now), 0);
    budget.owed_ns = now + PIECE_BORROW_NS;
    assert_int_equal(pieces_rest_ns(&budget, now), 0);
    budget.owed_ns += 7;
    assert_int_equal(pieces_rest_ns(&budget, now), 7);
    assert_int_equal(pieces_rest_ns(&budget, now + 7), 0);
}

static void test_an_opening_is_owed(void **unused)
{
    const uint64_t before = clock_ns();

    (void)unused;
    pieces_expect(&pieces, 0, 0);
    assert_true(pieces_step(&pieces));
    assert_true(budget.owed_ns > before);
}

static unsigned char *mapped; /* memory in which nobody has written yet */

static int open_where_pages_are(struct trg_buffer *w, size_t at, size_t bytes)
{
    unsigned char there[PIECE_BYTES >> 12];

    assert_int_equal(mincore(mapped + at, bytes, there), 0);
    for (size_t i = 0; i < bytes >> 12; i++)
        assert_true(there[i] & 1);
    return window_open(w, at, bytes);
}

/* The driver's lock is not held while pages are made. */
static void test_pages_are_made_first(void **unused)
{
    const struct trg_device_ops looks = {.window_open = open_where_pages_are,
                                         .window_shut = window_shut};
    struct trg_object w = {.ops = &looks};
    struct pieces_place place = {.bytes = BYTES, .n = 1};
    struct pieces p;
    const int fd = memfd_create("pages", MFD_CLOEXEC);

    (void)unused;
    assert_int_equal(ftruncate(fd, BYTES), 0);
    mapped = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    place.base = mapped;
    assert_int_equal(pieces_open((struct trg_buffer *)(void *)&w, &place, &budget, &p), 0);
    pieces_expect(&p, 0, 1);
    pieces_expect(&p, 0, 2);
    while (pieces_step(&p))
        ;
    assert_int_equal(n_opened, 2);
    pieces_close(&p);
    munmap(mapped, BYTES);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_opens_what_rois_touch, begin, end),
        cmocka_unit_test_setup_teardown(test_first_piece_opens_before_there_are_rois, begin, end),
        cmocka_unit_test_setup_teardown(test_pieces_open_at_leisure, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(test_opening_rests, begin, end),
        cmocka_unit_test_setup_teardown(test_an_opening_is_owed, begin, end),
        cmocka_unit_test_setup_teardown(test_pages_are_made_first, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
