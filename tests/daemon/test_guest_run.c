/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a guest by itself: when it gives slices, what it says of itself, its budget. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "devices.h"
#include "exec/guest_device.h"
#include "exec/guest_run.h"

struct trg_algo { /* what the guest of these tests saw */
    unsigned opens, slices, saves, closes;
    double asked_us, took_us;
    _Atomic uint32_t *busy; /* makes its device busy in every slice; NULL: nothing does */
    bool is_early;          /* already when the slice begins */
    int answer;             /* of collect */
};
static struct trg_algo seen;

static int fake_open(const struct trg_host *host, const void *config, struct trg_device *device,
                     struct trg_queue *queue, const struct trg_guest_setup *setup,
                     struct trg_algo **ret_algo)
{
    (void)host, (void)config, (void)device, (void)queue;
    assert_int_equal(setup->size, sizeof *setup);
    assert_string_equal(setup->folder, "folder");
    seen.opens++;
    *ret_algo = &seen;
    return TRG_GUEST_MORE;
}

static int fake_submit(struct trg_algo *a, struct trg_queue *queue, double us)
{
    (void)queue;
    a->asked_us = us;
    if (a->is_early)
        atomic_store(a->busy, 1);
    for (const uint64_t until = clock_thread_ns() + 100 * NS_PER_US; clock_thread_ns() < until;)
        clock_relax();
    return 0;
}

static int fake_collect(struct trg_algo *a, double us)
{
    a->took_us = us;
    a->slices++;
    if (a->busy)
        atomic_store(a->busy, 1);
    return a->answer;
}

static int fake_save(struct trg_algo *a, struct trg_queue *queue)
{
    (void)queue;
    a->saves++;
    return 0;
}

static void fake_progress(const struct trg_algo *a, char *text, size_t bytes)
{
    (void)a;
    memset(text, 7, bytes); /* no line, and without an end */
}

static void fake_close(struct trg_algo *a)
{
    a->closes++;
}

static const struct trg_guest functions = {.size = sizeof functions,
                                           .open = fake_open,
                                           .submit = fake_submit,
                                           .collect = fake_collect,
                                           .save = fake_save,
                                           .progress = fake_progress,
                                           .close = fake_close};
static struct plugin plugin = {.d = {.guest = &functions}};

static struct guest_page *page;
static int page_fd;

static bool is_divisible(void)
{
    return !strcmp(devices_get(0)->info.backend, "cuda");
}

/* `batches`: of lanes in its process, NULL: it goes by the page. */
static struct guest_run *start_beside(_Atomic uint32_t *batches, uint64_t spin_ns,
                                      bool is_partition)
{
    const struct guest_run_setup setup = {.plugin = &plugin,
                                          .device = devices_get(0)->d,
                                          .host = &devices_host,
                                          .page = page,
                                          .name = "test",
                                          .folder = "folder",
                                          .is_partition = is_partition,
                                          .percent = is_divisible() ? 10 : 0,
                                          .slice_us = 70,
                                          .memory_mbytes = 1,
                                          .batches = batches,
                                          .spin_ns = spin_ns};
    struct guest_run *run;

    assert_int_equal(guest_run_start(&setup, &run), 0);
    return run;
}

static struct guest_run *start(bool is_partition)
{
    return start_beside(NULL, 0, is_partition);
}

static int set_up(void **state)
{
    (void)state;
    if (guest_page_make(&page_fd, &page) < 0)
        return -1;
    seen = (struct trg_algo){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    guest_page_unmap(page);
    return close(page_fd);
}

static void await(_Atomic uint32_t *word, uint32_t value)
{
    const uint64_t until = clock_ns() + 20 * NS_PER_S;

    while (atomic_load(word) != value) {
        if (clock_ns() > until)
            fail_msg("a word is %u and not %u", atomic_load(word), value);
        usleep(200);
    }
}

/* Every slice makes the device busy: it gets one each time that the device is free. */
static void expect_held_up(struct guest_run *run)
{
    await(&page->state, GUEST_WAITING);
    for (unsigned n = 1; n <= 3; n++) {
        assert_int_equal(atomic_load(&page->slices), n);
        assert_int_equal(atomic_load(&page->yielded), n);
        usleep(3000);
        assert_int_equal(atomic_load(&page->slices), n);
        atomic_store(seen.busy, 0);
        while (atomic_load(&page->yielded) == n)
            usleep(100);
    }
    guest_run_end(run);
    assert_int_equal(seen.slices, 4);
    if (seen.is_early)
        assert_int_equal(atomic_load(&page->unmet_us), 0);
    else
        assert_in_range(atomic_load(&page->unmet_us), 4 * 100, atomic_load(&page->us));
}

static void a_batch_of_any_shard_holds_it_up(void **state)
{
    (void)state;
    seen.busy = &page->busy[2].n;
    expect_held_up(start(false));
    assert_int_equal(seen.saves, 1);
    assert_int_equal(seen.closes, 1);
    assert_int_equal(atomic_load(&page->state), GUEST_STOPPED);
    assert_true(seen.asked_us == 70);
    assert_true(seen.took_us >= 100 && (double)atomic_load(&page->us) >= 4 * 100);
    assert_int_equal(atomic_load(&page->since_ns), 0);
}

/* Where lanes are in its process, what they work on counts, and not what the front has handed over:
 * whether it looks all the time until a batch ends, or naps. */
static void a_batch_of_a_lane_holds_it_up(void **state)
{
    static _Atomic uint32_t batches;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        guest_page_unmap(page);
        assert_int_equal(close(page_fd), 0);
        assert_int_equal(set_up(NULL), 0);
        atomic_store(&batches, 0);
        atomic_store(&page->busy[0].n, 1);
        seen.busy = &batches;
        seen.is_early = i;
        expect_held_up(start_beside(&batches, i * NS_PER_S, false));
    }
}

static void a_partition_is_never_taken(void **state)
{
    struct guest_run *run;

    (void)state;
    atomic_store(&page->busy[0].n, 5);
    run = start(true);
    while (atomic_load(&page->slices) < 20)
        usleep(100);
    guest_run_end(run);
    assert_int_equal(atomic_load(&page->yielded), 0);
}

static void a_pause_saves_once(void **state)
{
    struct guest_run *run;
    unsigned n;

    (void)state;
    run = start(false);
    while (atomic_load(&page->slices) < 3)
        usleep(100);
    atomic_store(&page->order, GUEST_PAUSE);
    await(&page->state, GUEST_PAUSED);
    n = (unsigned)atomic_load(&page->slices);
    usleep(20000);
    assert_int_equal(atomic_load(&page->slices), n);
    assert_int_equal(atomic_load(&page->saves), 1);
    guest_run_end(run);
    assert_int_equal(atomic_load(&page->saves), 1); /* nothing has happened since */
}

static void its_answers_end_it(void **state)
{
    static const struct {
        int answer;
        enum guest_state state;
        unsigned saves;
    } table[] = {{TRG_GUEST_DONE, GUEST_DONE, 1}, {-ERANGE, GUEST_FAILED, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct guest_run *run;

        seen = (struct trg_algo){.answer = table[i].answer};
        atomic_store(&page->state, GUEST_OPENING);
        run = start(false);
        await(&page->state, table[i].state);
        assert_int_equal(atomic_load(&page->error), table[i].answer < 0 ? table[i].answer : 0);
        assert_int_equal(seen.saves, table[i].saves);
        assert_int_equal(seen.closes, 1);
        atomic_store(&page->order, GUEST_RUN);
        guest_run_end(run);
        assert_int_equal(atomic_load(&page->order),
                         GUEST_RUN); /* the page may be another's by now */
    }
}

static void what_it_says_is_a_line(void **state)
{
    char text[GUEST_TEXT];

    (void)state;
    guest_run_end(start(false));
    guest_page_text(page, text);
    assert_int_equal(strlen(text), GUEST_TEXT - 1);
    assert_int_equal(strspn(text, "?"), GUEST_TEXT - 1);
    guest_page_say(page, "step 3 of 4");
    guest_page_text(page, text);
    assert_string_equal(text, "step 3 of 4");
}

static void memory_has_a_budget(void **state)
{
    struct trg_device *d;
    struct trg_buffer *b[3] = {NULL};
    struct trg_device_info real, info;
    struct trg_queue *q;

    (void)state;
    assert_int_equal(guest_device_new(devices_get(0)->d, &devices_host, 1000, &d), 0);
    assert_int_equal(trg_buffer_new(d, TRG_MEM_DEVICE, 600, &b[0]), 0);
    assert_int_equal(trg_buffer_new(d, TRG_MEM_PINNED, 401, &b[1]), -ENOMEM);
    assert_null(b[1]);
    assert_int_equal(trg_buffer_new(d, TRG_MEM_PINNED, SIZE_MAX, &b[1]), -ENOMEM);
    assert_int_equal(trg_buffer_new(d, TRG_MEM_PINNED, 400, &b[1]), 0);
    assert_int_equal(trg_buffer_new(d, TRG_MEM_DEVICE, 1, &b[2]), -ENOMEM);
    assert_int_equal(guest_device_bytes(d), 1000);
    trg_device_info(devices_get(0)->d, &real);
    trg_device_info(d, &info);
    assert_string_equal(info.name, real.name);
    assert_int_equal(trg_guest_queue_new(d, 50, &q), is_divisible() ? 0 : -ENOTSUP);
    if (is_divisible())
        trg_queue_free(q);
    assert_int_equal(trg_queue_new(d, &q), 0);
    assert_int_equal(trg_fill(q, b[0], 0, 600, 7), 0);
    assert_int_equal(trg_finish(q), 0);
    trg_queue_free(q);
    trg_buffer_free(b[0]);
    trg_buffer_free(b[1]);
    trg_device_close(d);
}

static void shards_count_for_themselves(void **state)
{
    struct guest_gate gate[2] = {{.busy = &page->busy[0]}, {.busy = &page->busy[15]}};

    (void)state;
    assert_true(guest_page_is_free(page));
    guest_gate_add(&gate[0], 1);
    guest_gate_add(&gate[1], 1);
    guest_gate_add(&gate[1], 1);
    guest_gate_add(&gate[0], -1);
    assert_false(guest_page_is_free(page));
    atomic_store(&page->busy[15].n, 77); /* whatever a guest writes there */
    guest_gate_add(&gate[1], -1);
    assert_int_equal(atomic_load(&page->busy[15].n), 1);
    guest_gate_add(&gate[1], -1);
    assert_true(guest_page_is_free(page));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_of_any_shard_holds_it_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_batch_of_a_lane_holds_it_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_partition_is_never_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pause_saves_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_answers_end_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_it_says_is_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_has_a_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shards_count_for_themselves, set_up, tear_down)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
