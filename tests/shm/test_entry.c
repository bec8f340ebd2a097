/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry of shared memory may say, and what a lane does with values that are wrong. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/stage.h"
#include "flow/value_guard.h"
#include "seed.h"
#include "transport/shm_entry.h"

#define DATA  (1u << 20)
#define N     5u
#define PLACE 256u

static const struct wire_limits limits = {
    .max_message_bytes = 1u << 20, .max_rois = 8, .max_items = 1000, .max_layer = 31};

struct fixture {
    struct pool *pool;
    struct shm_window *window;
    struct shm_region *region;
    struct shm_roi entry; /* good */
};

static unsigned char *column(struct fixture *f, uint32_t kind, uint32_t c)
{
    const struct shm_collection *in = &f->entry.in[kind - TRG_SPACEPOINTS];

    return shm_region_data(f->region) + in->at + shm_column(kind, false, in->n, c);
}

static void write_good(struct fixture *f)
{
    f->entry = (struct shm_roi){.token = 7, .kinds = 1u << TRG_SPACEPOINTS, .info = {.l1id = 4}};
    f->entry.in[0] = (struct shm_collection){.at = PLACE, .n = N};
    for (uint32_t i = 0; i < N; i++) {
        ((float *)(void *)column(f, TRG_SPACEPOINTS, 0))[i] = 0.1f * (float)i;
        ((float *)(void *)column(f, TRG_SPACEPOINTS, 1))[i] = 50.0f;
        ((float *)(void *)column(f, TRG_SPACEPOINTS, 2))[i] = -3.0f;
        column(f, TRG_SPACEPOINTS, 3)[i] = (unsigned char)i;
    }
}

static int set_up(void **state)
{
    const struct shm_sizes sizes = {.entries = 64, .data_bytes = DATA};
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(pool_open(16, 1u << 24, &f->pool), 0);
    f->pool->max_layer = limits.max_layer;
    assert_int_equal(shm_window_open(f->pool, 1, &sizes, &f->window), 0);
    assert_int_equal(shm_region_new(f->window, &f->region), 0);
    write_good(f);
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

static void good(void **state)
{
    struct fixture *f = *state;
    struct wire_roi w;
    struct wire_error e;

    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    assert_int_equal(w.token, 7);
    assert_int_equal(w.info.l1id, 4);
    assert_true(w.collection[TRG_SPACEPOINTS].is_there);
    assert_false(w.collection[TRG_HITS].is_there);
    assert_int_equal(w.collection[TRG_SPACEPOINTS].n, N);
    assert_int_equal(((const unsigned char *)w.collection[TRG_SPACEPOINTS].column[3])[4], 4);
    assert_int_equal(shm_entry_bytes(&w), N * 13 + sizeof(struct shm_roi));
    assert_int_equal(w.deadline_us, 0);
    assert_int_equal(w.event_rois, 0);
    f->entry.kinds |= SHM_DEADLINE | 255u << SHM_EVENT_AT;
    f->entry.type = 63 | SHM_DEADLINE_MAX << SHM_DEADLINE_AT;
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    assert_int_equal(w.type, 63);
    assert_int_equal(w.deadline_us, 67108863);
    assert_int_equal(w.event_rois, 255);
    f->entry.in[0].n = 0; /* there and empty */
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    assert_true(w.collection[TRG_SPACEPOINTS].is_there);
}

/* The last place where a collection fits, and the first where it does not. */
static void the_end_of_the_data(void **state)
{
    struct fixture *f = *state;
    struct wire_roi w;
    struct wire_error e;

    f->entry.in[0].at = DATA - shm_collection_bytes(TRG_SPACEPOINTS, false, N);
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    f->entry.in[0].at += SHM_ALIGN;
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), -EBADMSG);
}

static void refused(struct fixture *f, Trigd__V1__Error__Code code, const char *sentence)
{
    struct wire_roi w;
    struct wire_error e;

    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), -EBADMSG);
    assert_string_equal(e.text, sentence);
    assert_int_equal(e.code, code);
    write_good(f);
}

static void bad_entries(void **state)
{
    struct fixture *f = *state;

    f->entry.kinds |= 1u << TRG_VERTICES;
    refused(f, TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: its kinds are 0x22; bits of 0xb001ff0e are allowed");
    f->entry.kinds = 1u << TRG_HITS | SHM_QUANTIZED;
    refused(f, TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: its kinds are 0x80000004; bits of 0x3000ff0e are allowed");
    f->entry.in[0].at = PLACE + 8;
    refused(f, TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: its 5 spacepoints begin at 264 of the shared data; multiples of 64 up to "
            "1048320 are allowed");
    f->entry.in[0].at = DATA;
    refused(f, TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: its 5 spacepoints begin at 1048576 of the shared data; multiples of 64 up to "
            "1048320 are allowed");
    f->entry.in[0].at = UINT64_MAX - SHM_ALIGN + 1;
    refused(f, TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: its 5 spacepoints begin at 18446744073709551552 of the shared data; multiples "
            "of 64 up to 1048320 are allowed");
    f->entry.in[0].n = 1001;
    refused(f, TRIGD__V1__ERROR__CODE__TOO_LARGE,
            "RoI 7: 1001 spacepoints; at most 1000 are allowed");
    f->entry.in[0].n = UINT32_MAX;
    refused(f, TRIGD__V1__ERROR__CODE__TOO_LARGE,
            "RoI 7: 4294967295 spacepoints; at most 1000 are allowed");
    f->entry.info.eta = NAN;
    refused(f, TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI 7: eta of its window is not finite; only finite numbers are allowed");
}

/* Entries of random bytes: whatever passes points into the region. */
static void random_entries(void **state)
{
    struct fixture *f = *state;
    unsigned seed = (unsigned)fresh_seed();
    const unsigned char *data = shm_region_data(f->region);
    uint32_t passed = 0;

    for (uint32_t i = 0; i < 200000; i++) {
        struct shm_roi e = f->entry;
        struct wire_roi w;
        struct wire_error error;

        e.kinds = 1u << (1 + (uint32_t)rand_r(&seed) % SHM_KINDS);
        if (e.kinds == 1u << TRG_SPACEPOINTS && rand_r(&seed) % 2)
            e.kinds |= rand_r(&seed) % 2 ? SHM_QUANTIZED : 1u << SHM_ENCODED_AT;
        for (uint32_t k = 0; k < SHM_KINDS; k++) {
            e.in[k].n = (uint32_t)rand_r(&seed) >> (unsigned)rand_r(&seed) % 32;
            e.in[k].at = ((uint64_t)rand_r(&seed) << 33 | (uint64_t)rand_r(&seed) << 6) >>
                         (unsigned)rand_r(&seed) % 64;
            if (rand_r(&seed) % 2)
                e.in[k].at &= ~(uint64_t)63;
        }
        if (shm_entry_check(&e, f->region, &limits, &w, &error) < 0)
            continue;
        passed++;
        for (uint32_t k = 1; k <= SHM_KINDS; k++) {
            const struct wire_collection *c = &w.collection[k];
            const struct trg_collection *info = kind_info(k);

            for (uint32_t col = 0; c->is_there && col < info->n_columns; col++) {
                const unsigned char *at = c->column[col];

                assert_true(at >= data);
                assert_true(at + c->n * encoding_item_bytes(k, c->is_encoded, col) <= data + DATA);
            }
        }
    }
    assert_true(passed > 100);
}

/* ---------------------------------------------------------------- numbers */

static unsigned char *numbers(struct fixture *f, uint32_t c)
{
    return shm_region_data(f->region) + PLACE + shm_column(TRG_SPACEPOINTS, true, N, c);
}

struct table { /* as a client writes it */
    float offset[3], step[3];
};

static void write_numbers(struct fixture *f, const struct table *t)
{
    write_good(f);
    f->entry.kinds |= 1u << SHM_ENCODED_AT;
    memcpy(shm_region_data(f->region) + PLACE, t, sizeof *t);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t c = 0; c < 3; c++) {
            numbers(f, c)[2 * i] = (unsigned char)i;
            numbers(f, c)[2 * i + 1] = (unsigned char)(10 * c);
        }
        numbers(f, 3)[i] = (unsigned char)i;
    }
}

static const struct table good_table = {.offset = {-1, 30, -250}, .step = {1e-5f, 0.01f, 0.005f}};

/* Columns and values are where a lane looks for them, whatever the client does to the offsets and
 * steps after they were checked. */
static void good_numbers(void **state)
{
    struct fixture *f = *state;
    struct stage_guard guard = {.max_layer = limits.max_layer};
    struct stage_source source = {.n = N, .guard = &guard};
    struct trg_roi_info info = {.l1id = 1};
    struct trg_span span;
    unsigned char *bytes;
    struct wire_roi w;
    struct wire_error e;

    write_numbers(f, &good_table);
    f->entry.kinds ^= 1u << SHM_ENCODED_AT | SHM_QUANTIZED; /* an older client's */
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    assert_true(w.collection[TRG_SPACEPOINTS].is_encoded && w.encoding[2].offset == -250);
    f->entry.kinds ^= 1u << SHM_ENCODED_AT | SHM_QUANTIZED;
    assert_int_equal(shm_entry_check(&f->entry, f->region, &limits, &w, &e), 0);
    memset(shm_region_data(f->region) + PLACE, 0xff, sizeof(struct table));
    assert_true(w.collection[TRG_SPACEPOINTS].is_encoded);
    for (uint32_t c = 0; c < 3; c++) {
        assert_true(w.encoding[c].offset == good_table.offset[c]);
        assert_true(w.encoding[c].step == good_table.step[c]);
    }
    assert_int_equal(shm_entry_bytes(&w), N * 7 + sizeof(struct shm_roi));
    source.is_encoded = true;
    source.sent = w.encoding;
    memcpy(source.column, w.collection[TRG_SPACEPOINTS].column, sizeof source.column);
    bytes = aligned_alloc(64, stage_bytes(TRG_SPACEPOINTS, 1, N));
    assert_non_null(bytes);
    stage_fill(TRG_SPACEPOINTS, 1, &info, &source, bytes, &span);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t i = 0; i < N; i++) {
            float v = encoding_value(w.encoding[c], (uint16_t)(i + 256 * 10 * c));

            assert_memory_equal(bytes + span.column[c] + i * sizeof v, &v, sizeof v);
        }
    assert_int_equal(guard.fault.code, TRIGD__V1__ERROR__CODE__NONE);
    numbers(f, 3)[2] = 32;
    stage_fill(TRG_SPACEPOINTS, 1, &info, &source, bytes, &span);
    assert_int_equal(guard.fault.code, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE);
    assert_int_equal((int)guard.fault.value, 32);
    free(bytes);
}

static void bad_numbers(void **state)
{
    struct fixture *f = *state;
    struct table q = good_table;

    q.step[1] = NAN;
    write_numbers(f, &q);
    refused(f, TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI 7: the step of column rho of its encoded spacepoints is not finite; only finite "
            "numbers are allowed");
    q = good_table;
    q.offset[0] = 3;
    write_numbers(f, &q);
    refused(f, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: column phi of its encoded spacepoints reaches from 3 to 3.65535; -3.1416 to "
            "3.1416 rad is allowed");
    write_numbers(f, &good_table);
    f->entry.in[0].at = DATA - shm_collection_bytes(TRG_SPACEPOINTS, true, N) + SHM_ALIGN;
    refused(f, TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: its 5 spacepoints begin at 1048320 of the shared data; multiples of 64 up to "
            "1048256 are allowed");
}

/* ---------------------------------------------------------------- the lane's look */

struct staged { /* two RoIs as a lane gathers them; the first one is trusted */
    struct stage_guard guard;
    struct trg_span span;
    unsigned char *bytes;
};

static void gather(struct fixture *f, struct staged *s)
{
    struct trg_roi_info infos[2] = {{.l1id = 1}, {.l1id = 2}};
    struct stage_source sources[2] = {{.n = N}, {.n = N, .guard = &s->guard}};

    s->guard = (struct stage_guard){.max_layer = limits.max_layer};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t c = 0; c < 4; c++)
            sources[i].column[c] = column(f, TRG_SPACEPOINTS, c);
    s->bytes = aligned_alloc(64, stage_bytes(TRG_SPACEPOINTS, 2, 2 * N));
    assert_non_null(s->bytes);
    stage_fill(TRG_SPACEPOINTS, 2, infos, sources, s->bytes, &s->span);
}

static float *staged_floats(struct staged *s, uint32_t c)
{
    return (float *)(void *)(s->bytes + s->span.column[c]);
}

/* Good values arrive as they were written, a -0 where 0 is the least among them. */
static void gathers_good_values(void **state)
{
    struct fixture *f = *state;
    struct staged s;

    ((float *)(void *)column(f, TRG_SPACEPOINTS, 1))[2] = -0.0f;
    gather(f, &s);
    assert_int_equal(s.guard.fault.code, TRIGD__V1__ERROR__CODE__NONE);
    for (uint32_t c = 0; c < 4; c++)
        assert_memory_equal(s.bytes + s.span.column[c] + N * (c < 3 ? 4 : 1),
                            column(f, TRG_SPACEPOINTS, c), N * (c < 3 ? 4 : 1));
    free(s.bytes);
}

/* The guarded RoI is told about, in the words of messages, and emptied of its values; the other
 * one is left alone. */
static void found(struct fixture *f, Trigd__V1__Error__Code code, const char *sentence)
{
    struct staged s;
    struct wire_error e;

    gather(f, &s);
    assert_int_equal(check_say(&s.guard.fault, limits.max_layer, 7, &e), -EBADMSG);
    assert_string_equal(e.text, sentence);
    assert_int_equal(e.code, code);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t c = 0; c < 3; c++)
            assert_float_equal(staged_floats(&s, c)[N + i], 0.0f, 0);
        assert_int_equal((s.bytes + s.span.column[3])[N + i], 0);
    }
    for (uint32_t c = 0; c < 4; c++)
        assert_memory_equal(s.bytes + s.span.column[c], column(f, TRG_SPACEPOINTS, c),
                            N * (c < 3 ? 4 : 1));
    free(s.bytes);
    write_good(f);
}

static void bad_values(void **state)
{
    struct fixture *f = *state;

    ((float *)(void *)column(f, TRG_SPACEPOINTS, 1))[3] = NAN;
    found(f, TRIGD__V1__ERROR__CODE__NOT_FINITE,
          "RoI 7: value 3 of column rho of its spacepoints is not a number; only finite numbers "
          "are allowed");
    ((float *)(void *)column(f, TRG_SPACEPOINTS, 2))[0] = -INFINITY;
    found(f, TRIGD__V1__ERROR__CODE__NOT_FINITE,
          "RoI 7: value 0 of column z of its spacepoints is infinite; only finite numbers are "
          "allowed");
    ((float *)(void *)column(f, TRG_SPACEPOINTS, 0))[4] = 3.25f;
    found(f, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
          "RoI 7: value 4 of column phi of its spacepoints is 3.25; -3.1416 to 3.1416 rad is "
          "allowed");
    column(f, TRG_SPACEPOINTS, 3)[2] = 32;
    found(f, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
          "RoI 7: layer 32 in its spacepoints; 0 to 31 are allowed");
}

/* One bad value anywhere in a column of any length is found. */
static void any_place(void **state)
{
    enum { LONG = 5000 };
    static float src[LONG + 1], dst[LONG];
    unsigned seed = (unsigned)fresh_seed();

    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t n = 1 + (uint32_t)rand_r(&seed) % LONG, at = (uint32_t)rand_r(&seed) % n;
        unsigned char *from = (unsigned char *)src + (uint32_t)rand_r(&seed) % 4; /* unaligned */
        const float bad = 4;

        memset(src, 0, sizeof src);
        assert_false(check_copy(TRG_SPACEPOINTS, 0, dst, from, n, 31));
        memcpy(from + at * sizeof bad, &bad, sizeof bad);
        assert_true(check_copy(TRG_SPACEPOINTS, 0, dst, from, n, 31));
        assert_memory_equal(dst, from, n * sizeof bad);
    }
}

/* What no lane has gathered is looked at where it lies; what one has is not. */
static void the_rest(void **state)
{
    struct fixture *f = *state;
    const uint32_t kinds = 1u << TRG_SPACEPOINTS;
    struct roi r = {.region = 1};
    struct check_fault fault;

    r.in[TRG_SPACEPOINTS] =
        (struct roi_collection){.at = (uint64_t)(column(f, TRG_SPACEPOINTS, 0) - f->pool->base),
                                .kind = TRG_SPACEPOINTS,
                                .capacity = N,
                                .n = N,
                                .is_there = true};
    assert_false(value_guard_find(f->pool, &r, kinds, &fault));
    column(f, TRG_SPACEPOINTS, 3)[1] = 99;
    assert_true(value_guard_find(f->pool, &r, kinds, &fault));
    assert_int_equal((int)fault.value, 99);
    assert_false(value_guard_find(f->pool, &r, 0, &fault));
    write_numbers(f, &good_table);
    r.in[TRG_SPACEPOINTS].is_encoded = true;
    r.in[TRG_SPACEPOINTS].at = (uint64_t)(numbers(f, 0) - f->pool->base);
    memset(numbers(f, 0), 0xff, (size_t)2 * N); /* as floats they would be no numbers */
    assert_false(value_guard_find(f->pool, &r, kinds, &fault));
    numbers(f, 3)[4] = 77;
    assert_true(value_guard_find(f->pool, &r, kinds, &fault));
    assert_int_equal((int)fault.value, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_the_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(good_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gathers_good_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_values, set_up, tear_down),
        cmocka_unit_test(any_place),
        cmocka_unit_test_setup_teardown(the_rest, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
