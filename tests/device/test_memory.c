/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, and the queue's writes, reads, copies and fills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "seed.h"
#include "trigd/kernel.h"

#include "device_test.h"

#define WORDS   5000u
#define BYTES   (WORDS * 4u)
#define WRAPPED 12288u /* whole pages */

static void check_addresses(struct rig *r)
{
    struct trg_buffer *pinned = rig_buffer(r, TRG_MEM_PINNED, 13);
    struct trg_buffer *device = rig_buffer(r, TRG_MEM_DEVICE, 1);

    assert_non_null(trg_buffer_host(pinned));
    assert_int_equal((uintptr_t)trg_buffer_host(pinned) % 128, 0);
    assert_int_equal(trg_buffer_host(device) != NULL, r->device->info.is_host != 0);
    memset(trg_buffer_host(pinned), 0x5a, 13);
    trg_buffer_free(pinned);
    trg_buffer_free(device);
    trg_buffer_free(NULL);
}

static void test_addresses(void **state)
{
    (void)state;
    rig_each(check_addresses);
}

static void check_sizes(struct rig *r)
{
    struct trg_buffer *untouched = (struct trg_buffer *)r, *b = untouched;

    assert_int_equal(trg_buffer_new(r->device->d, TRG_MEM_DEVICE, 0, &b), -EINVAL);
    assert_int_equal(trg_buffer_new(r->device->d, TRG_MEM_DEVICE, (size_t)1 << 60, &b), -ENOMEM);
    assert_int_equal(trg_buffer_new(r->device->d, TRG_MEM_PINNED, (size_t)1 << 60, &b), -ENOMEM);
    assert_int_equal(trg_buffer_new(r->device->d, TRG_MEM_DEVICE, SIZE_MAX, &b), -ENOMEM);
    assert_ptr_equal(b, untouched);
    assert_int_equal(devices_logged(TRG_ERROR, "1152921504606846976 bytes"), 2); /* one line each */
    check_addresses(r); /* and the device goes on */
}

static void test_sizes(void **state)
{
    (void)state;
    rig_each(check_sizes);
}

/* Memory of the caller is pinned memory while it is wrapped, where the device takes it. */
static void check_wrapped(struct rig *r)
{
    struct trg_buffer *dev = rig_buffer(r, TRG_MEM_DEVICE, WRAPPED), *host[2] = {NULL};
    unsigned char *memory[2] = {aligned_alloc(4096, WRAPPED), aligned_alloc(4096, WRAPPED)};
    const bool may_refuse = strcmp(r->device->info.backend, "opencl") == 0;

    for (int i = 0; i < 2; i++) {
        int answer = trg_buffer_wrap(r->device->d, memory[i], WRAPPED, &host[i]);

        assert_true(answer == 0 || (may_refuse && answer == -ENOTSUP));
        memset(memory[i], 7 * i, WRAPPED);
    }
    if (host[0]) {
        struct trg_buffer *untouched = host[0];

        assert_int_equal(trg_buffer_wrap(r->device->d, memory[0], 0, &untouched), -EINVAL);
        assert_ptr_equal(trg_buffer_host(host[0]), memory[0]);
        assert_int_equal(trg_write(r->queue, dev, 0, host[1], 0, WRAPPED), 0);
        assert_int_equal(trg_read(r->queue, host[0], 0, dev, 0, WRAPPED), 0);
        assert_int_equal(trg_finish(r->queue), 0);
        assert_memory_equal(memory[0], memory[1], WRAPPED);
    }
    for (int i = 0; i < 2; i++) {
        trg_buffer_free(host[i]);
        memory[i][0] = 1; /* still the caller's */
        free(memory[i]);
    }
    trg_buffer_free(dev);
}

static void test_wrapped(void **state)
{
    (void)state;
    rig_each(check_wrapped);
}

/* A model in host memory does the same as the device, with random places and lengths. */
static void check_copies(struct rig *r)
{
    struct trg_buffer *dev[2] = {rig_buffer(r, TRG_MEM_DEVICE, BYTES),
                                 rig_buffer(r, TRG_MEM_DEVICE, BYTES)};
    struct trg_buffer *in = rig_buffer(r, TRG_MEM_PINNED, BYTES);
    struct trg_buffer *out = rig_buffer(r, TRG_MEM_PINNED, BYTES);
    static uint32_t model[2][WORDS], source[WORDS];
    uint64_t seed = fresh_seed();

    for (uint32_t i = 0; i < WORDS; i++)
        source[i] = devices_random(&seed);
    memcpy(trg_buffer_host(in), source, BYTES);
    for (uint32_t k = 0; k < 2; k++) {
        memset(model[k], 0, BYTES);
        assert_int_equal(trg_fill(r->queue, dev[k], 0, BYTES, 0), 0);
    }
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t to = devices_random(&seed) % 2, pattern = devices_random(&seed);
        uint32_t at = devices_random(&seed) % WORDS, n = devices_random(&seed) % (WORDS - at + 1);
        uint32_t from = devices_random(&seed) % (WORDS - n + 1);

        switch (devices_random(&seed) % 3) {
        case 0:
            assert_int_equal(trg_write(r->queue, dev[to], 4 * at, in, 4 * from, 4 * n), 0);
            memcpy(&model[to][at], &source[from], 4 * n);
            break;
        case 1:
            assert_int_equal(trg_copy(r->queue, dev[to], 4 * at, dev[1 - to], 4 * from, 4 * n), 0);
            memcpy(&model[to][at], &model[1 - to][from], 4 * n);
            break;
        default:
            assert_int_equal(trg_fill(r->queue, dev[to], 4 * at, 4 * n, pattern), 0);
            for (uint32_t i = 0; i < n; i++)
                model[to][at + i] = pattern;
        }
    }
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(trg_read(r->queue, out, 0, dev[k], 0, BYTES), 0);
        assert_int_equal(trg_finish(r->queue), 0);
        assert_memory_equal(trg_buffer_host(out), model[k], BYTES);
    }
    /* a read with places: in front of it and behind it nothing changes */
    memset(trg_buffer_host(out), 0xee, BYTES);
    assert_int_equal(trg_read(r->queue, out, 40, dev[1], 80, 120), 0);
    assert_int_equal(trg_finish(r->queue), 0);
    assert_memory_equal((char *)trg_buffer_host(out) + 40, (char *)model[1] + 80, 120);
    assert_int_equal(((unsigned char *)trg_buffer_host(out))[39], 0xee);
    assert_int_equal(((unsigned char *)trg_buffer_host(out))[160], 0xee);
    for (uint32_t k = 0; k < 2; k++)
        trg_buffer_free(dev[k]);
    trg_buffer_free(in);
    trg_buffer_free(out);
}

static void test_copies(void **state)
{
    (void)state;
    rig_each(check_copies);
}

/* Parts of all sizes, backwards, so that no part follows the one before. */
static void check_parts(struct rig *r)
{
    struct trg_buffer *from = rig_buffer(r, TRG_MEM_DEVICE, BYTES),
                      *to = rig_buffer(r, TRG_MEM_DEVICE, BYTES),
                      *host = rig_buffer(r, TRG_MEM_PINNED, BYTES);
    static uint32_t source[WORDS], model[WORDS];
    struct trg_copy_part parts[64];
    uint64_t seed = fresh_seed();
    uint32_t left = WORDS, n = 0;

    for (uint32_t i = 0; i < WORDS; i++)
        source[i] = devices_random(&seed);
    memcpy(trg_buffer_host(host), source, BYTES);
    assert_int_equal(trg_write(r->queue, from, 0, host, 0, BYTES), 0);
    assert_int_equal(trg_fill(r->queue, to, 0, BYTES, 0), 0);
    memset(model, 0, BYTES);
    while (n < 64 && left) {
        const uint32_t words = n == 5 ? 0 : 1 + devices_random(&seed) % ((left + 1) / 2);
        const uint32_t at = devices_random(&seed) % (WORDS - words + 1);

        left -= words;
        parts[n++] = (struct trg_copy_part){4 * (size_t)left, 4 * (size_t)at, 4 * (size_t)words};
        memcpy(&model[left], &source[at], 4 * words);
    }
    assert_int_equal(trg_copy_parts(r->queue, to, from, parts, n), 0);
    assert_int_equal(trg_copy_parts(r->queue, to, from, parts, 0), 0);
    assert_int_equal(trg_read(r->queue, host, 0, to, 0, BYTES), 0);
    assert_int_equal(trg_finish(r->queue), 0);
    assert_memory_equal(trg_buffer_host(host), model, BYTES);
    parts[0].dst_at = BYTES - parts[0].bytes + 4;
    assert_int_equal(trg_copy_parts(r->queue, to, from, parts, n), -EINVAL);
    assert_int_equal(devices_logged(TRG_ERROR, "outside of a buffer"), 1);
    trg_buffer_free(from);
    trg_buffer_free(to);
    trg_buffer_free(host);
}

static void test_parts(void **state)
{
    (void)state;
    rig_each(check_parts);
}

static void check_bounds(struct rig *r)
{
    struct trg_buffer *dev = rig_buffer(r, TRG_MEM_DEVICE, 64),
                      *big = rig_buffer(r, TRG_MEM_DEVICE, 256);
    struct trg_queue *q = r->queue;

    assert_int_equal(trg_write(q, dev, 4, r->pinned, 0, 64), -EINVAL);
    assert_int_equal(trg_write(q, dev, 68, r->pinned, 0, 0), -EINVAL);
    assert_int_equal(trg_write(q, dev, 0, r->pinned, RIG_BYTES - 32, 64), -EINVAL);
    assert_int_equal(trg_read(q, r->pinned, 0, dev, 60, 8), -EINVAL);
    assert_int_equal(trg_read(q, r->pinned, SIZE_MAX - 3, dev, 0, 8), -EINVAL);
    assert_int_equal(trg_copy(q, dev, 0, big, 0, 68), -EINVAL);
    assert_int_equal(trg_copy(q, big, 0, dev, 8, SIZE_MAX - 3), -EINVAL);
    assert_int_equal(trg_fill(q, dev, 60, 8, 0), -EINVAL);
    assert_int_equal(trg_fill(q, dev, 2, 8, 0), -EINVAL);
    assert_int_equal(trg_fill(q, dev, 0, 6, 0), -EINVAL);
    assert_int_equal(devices_logged(TRG_ERROR, "outside of a buffer"), 8);
    assert_int_equal(devices_logged(TRG_ERROR, "multiples of 4"), 2);
    /* the ends themselves, and nothing at all, are inside */
    assert_int_equal(trg_write(q, dev, 60, r->pinned, RIG_BYTES - 4, 4), 0);
    assert_int_equal(trg_write(q, dev, 64, r->pinned, RIG_BYTES, 0), 0);
    assert_int_equal(trg_fill(q, dev, 64, 0, 0), 0);
    assert_int_equal(trg_copy(q, dev, 0, big, 256, 0), 0);
    assert_int_equal(trg_read(q, r->pinned, 0, dev, 64, 0), 0);
    assert_int_equal(trg_finish(q), 0);
    trg_buffer_free(dev);
    trg_buffer_free(big);
}

static void test_bounds(void **state)
{
    (void)state;
    rig_each(check_bounds);
}

/* Device memory has no host address, so it cannot be the host's side of a transfer. */
static void check_sides(struct rig *r)
{
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, 64),
                      *b = rig_buffer(r, TRG_MEM_DEVICE, 64);
    int want = r->device->info.is_host ? 0 : -EINVAL;

    assert_int_equal(trg_write(r->queue, a, 0, b, 0, 64), want);
    assert_int_equal(trg_read(r->queue, a, 0, b, 0, 64), want);
    assert_int_equal(trg_finish(r->queue), 0);
    trg_buffer_free(a);
    trg_buffer_free(b);
}

static void test_sides(void **state)
{
    (void)state;
    rig_each(check_sides);
}

/* A device that says so works in pinned memory: what a kernel wrote is there behind a mark. */
static void check_reached(struct rig *r)
{
    struct trg_buffer *in = rig_buffer(r, TRG_MEM_PINNED, BYTES);
    struct trg_buffer *out = rig_buffer(r, TRG_MEM_PINNED, BYTES);
    struct trg_kernel *k = rig_kernel(r, "args2");
    struct test_par par = {WORDS, 7};
    const struct trg_arg args[] = {TRG_BUF(in), TRG_BUF(out), TRG_VAL(par)};
    uint32_t *from = trg_buffer_host(in), *to = trg_buffer_host(out);
    struct trg_event *mark;

    assert_int_equal(trg_mark_new(r->device->d, &mark), 0);
    for (uint32_t turn = 0; turn < 100 && r->device->info.reaches_host; turn++) {
        for (uint32_t i = 0; i < WORDS; i++)
            from[i] = turn * WORDS + i;
        assert_int_equal(trg_launch(r->queue, k, (struct trg_range){16, 64}, args, 3), 0);
        assert_int_equal(trg_event_record(r->queue, mark), 0);
        assert_int_equal(trg_event_wait(mark), 0);
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(to[i], turn * WORDS + i + 7);
    }
    trg_event_free(mark);
    trg_buffer_free(in);
    trg_buffer_free(out);
}

static void test_reached(void **state)
{
    (void)state;
    rig_each(check_reached);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_copies),    cmocka_unit_test(test_parts),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_sides),
        cmocka_unit_test(test_wrapped),   cmocka_unit_test(test_reached)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
