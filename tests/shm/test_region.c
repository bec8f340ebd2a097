/* SPDX-License-Identifier: Apache-2.0 */
/* The memory behind the pool: rings, positions that cannot be, files that cannot shrink. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/shm_region.h"

#define ENTRIES 64u
#define DATA    (1u << 20)

struct fixture {
    struct pool *pool;
    struct shm_window *window;
    struct shm_region *region;
};

static int set_up(void **state)
{
    const struct shm_sizes sizes = {.entries = ENTRIES, .data_bytes = DATA};
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(pool_open(16, 1u << 24, &f->pool), 0);
    f->pool->rois[3].token = 77;
    assert_int_equal(shm_window_open(f->pool, 2, &sizes, &f->window), 0);
    assert_int_equal(shm_region_new(f->window, &f->region), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    shm_window_close(f->window);
    pool_close(f->pool);
    free(f);
    return 0;
}

/* The pool keeps what it holds when it moves, and a region is reached by an offset from it. */
static void moved(void **state)
{
    struct fixture *f = *state;
    unsigned char *data = shm_region_data(f->region);
    uint64_t at = pool_alloc(f->pool, 1000);

    assert_int_equal(f->pool->rois[3].token, 77);
    memset(pool_at(f->pool, at), 1, 1000);
    assert_true(data >= f->pool->base + f->pool->bytes);
    assert_int_equal((uintptr_t)data % SHM_ALIGN, 0);
    memset(data, 2, DATA);
    assert_int_equal(*(unsigned char *)pool_at(f->pool, at + 999), 1);
    assert_int_equal(
        *(unsigned char *)pool_at(f->pool, (uint64_t)(data - f->pool->base) + DATA - 1), 2);
    pool_release(f->pool, at);
}

/* Another mapping of its file sees the same bytes; its size cannot be changed by anybody. */
static void sealed(void **state)
{
    struct fixture *f = *state;
    off_t bytes = lseek(f->region->fd, 0, SEEK_END);
    unsigned char *theirs =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->region->fd, 0);
    struct shm_head *head = (struct shm_head *)(void *)theirs;

    assert_true(theirs != MAP_FAILED);
    assert_int_equal(memcmp(head->magic, SHM_MAGIC, sizeof head->magic), 0);
    assert_true(head->data_at + head->data_bytes <= (uint64_t)bytes);
    theirs[head->data_at + 5] = 42;
    assert_int_equal(shm_region_data(f->region)[5], 42);
    assert_int_equal(ftruncate(f->region->fd, 4096), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(f->region->fd, bytes + 4096), -1);
    assert_int_equal(fcntl(f->region->fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    munmap(theirs, (size_t)bytes);
}

static void write_entry(struct fixture *f, uint32_t position, uint64_t token)
{
    unsigned char *start = (unsigned char *)f->region->head;
    struct shm_roi *entries = (struct shm_roi *)(void *)(start + f->region->head->up_at);

    entries[position % ENTRIES].token = token;
    atomic_store(&f->region->head->up_head, position + 1);
}

static void takes_entries_in_order(void **state)
{
    struct fixture *f = *state;
    struct shm_roi roi;

    assert_int_equal(shm_region_take(f->region, &roi), 0);
    assert_false(shm_region_has_entries(f->region));
    for (uint32_t i = 0; i < 3 * ENTRIES; i++) {
        write_entry(f, i, 1000 + i);
        assert_true(shm_region_has_entries(f->region));
        assert_int_equal(shm_region_take(f->region, &roi), 1);
        assert_int_equal(roi.token, 1000 + i);
        shm_region_taken(f->region);
        assert_int_equal(atomic_load(&f->region->head->up_tail), i + 1);
    }
}

/* A full ring is good; one entry more, or less than nothing, is not. */
static void impossible_positions_up(void **state)
{
    static const uint32_t bad[] = {ENTRIES + 1, 0x80000000u, UINT32_MAX};
    struct fixture *f = *state;
    struct shm_roi roi;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        atomic_store(&f->region->head->up_head, bad[i]);
        assert_int_equal(shm_region_take(f->region, &roi), -EPROTO);
    }
    atomic_store(&f->region->head->up_head, ENTRIES);
    assert_int_equal(shm_region_take(f->region, &roi), 1);
}

/* Follows the ring as a client does; returns the bytes of the next answer. */
static uint32_t read_answer(struct fixture *f, uint64_t *tail, unsigned char *ret_first)
{
    const unsigned char *down = (unsigned char *)f->region->head + f->region->head->down_at;
    uint32_t n;

    assert_true(atomic_load(&f->region->head->down_head) > *tail);
    memcpy(&n, down + *tail % SHM_DOWN_BYTES, sizeof n);
    if (n == SHM_WRAP) {
        *tail += SHM_DOWN_BYTES - *tail % SHM_DOWN_BYTES;
        memcpy(&n, down, sizeof n);
    }
    *ret_first = down[*tail % SHM_DOWN_BYTES + sizeof n];
    *tail += shm_answer_room(n);
    return n;
}

static void answers_wrap(void **state)
{
    static const uint32_t sizes[] = {1, 7, 300001, 64, 499999, 3, SHM_ANSWER_MAX};
    struct fixture *f = *state;
    uint64_t tail = 0;
    unsigned char first;
    void *dst;

    for (uint32_t i = 0; i < 200; i++) {
        uint32_t n = sizes[i % (sizeof sizes / sizeof *sizes)];

        assert_int_equal(shm_region_room(f->region, n, &dst), 0);
        memset(dst, (int)i, n);
        assert_false(shm_region_send(f->region, n));
        assert_int_equal(read_answer(f, &tail, &first), n);
        assert_int_equal(first, (unsigned char)i);
        atomic_store(&f->region->head->down_tail, tail);
    }
    assert_int_equal(shm_region_room(f->region, SHM_ANSWER_MAX + 1, &dst), -EMSGSIZE);
}

/* A client that does not read fills the ring; nothing that was not read is written over. */
static void answers_fill(void **state)
{
    struct fixture *f = *state;
    uint32_t sent = 0, got = 0;
    uint64_t tail = 0;
    unsigned char first;
    void *dst;

    while (shm_region_room(f->region, 1000, &dst) == 0) {
        memset(dst, (int)sent, 1000);
        shm_region_send(f->region, 1000);
        sent++;
    }
    assert_int_equal(sent, SHM_DOWN_BYTES / shm_answer_room(1000));
    assert_int_equal(shm_region_room(f->region, 1000, &dst), -EAGAIN);
    while (got < sent) {
        assert_int_equal(read_answer(f, &tail, &first), 1000);
        assert_int_equal(first, (unsigned char)got);
        got++;
    }
    atomic_store(&f->region->head->down_tail, tail);
    assert_int_equal(shm_region_room(f->region, 1000, &dst), 0);
}

static void impossible_positions_down(void **state)
{
    struct fixture *f = *state;
    static const uint64_t bad[] = {SHM_DOWN_BYTES + 1, UINT64_MAX, 1ull << 63};
    void *dst;

    while (shm_region_room(f->region, 1000, &dst) == 0)
        shm_region_send(f->region, 1000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        atomic_store(&f->region->head->down_tail, bad[i]);
        assert_int_equal(shm_region_room(f->region, 1000, &dst), -EPROTO);
    }
}

static void wakes_once(void **state)
{
    struct fixture *f = *state;
    void *dst;

    atomic_store(&f->region->head->client_sleeps, 1);
    assert_int_equal(shm_region_room(f->region, 8, &dst), 0);
    assert_true(shm_region_send(f->region, 8));
    assert_int_equal(shm_region_room(f->region, 8, &dst), 0);
    assert_false(shm_region_send(f->region, 8));
}

/* A region whose client is gone stays until its last RoI is let go; then its place is free. */
static void outlives_its_client(void **state)
{
    struct fixture *f = *state;
    struct shm_region *second, *third;
    unsigned char *data = shm_region_data(f->region);

    assert_int_equal(shm_region_new(f->window, &second), 0);
    assert_int_equal(shm_region_new(f->window, &third), -ENOSPC);
    data[0] = 9;
    shm_region_hold(f->region);
    shm_region_hold(f->region);
    shm_region_drop(f->region);
    assert_int_equal(data[0], 9);
    assert_int_equal(shm_region_new(f->window, &third), -ENOSPC);
    shm_region_release(f->window, f->region->number);
    assert_int_equal(data[0], 9);
    shm_region_release(f->window, f->region->number);
    assert_int_equal(shm_region_new(f->window, &third), 0);
    assert_int_equal(shm_region_data(third)[0], 0); /* not what the client before left */
    shm_region_drop(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sealed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_entries_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_positions_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_wrap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_fill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_positions_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wakes_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outlives_its_client, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
