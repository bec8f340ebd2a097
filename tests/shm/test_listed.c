/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of shared memory that list their collections by hash. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/shm_region.h"
#include "transport/shm_entry.h"

#include "samples.collections.h"

#define DATA  (1u << 20)
#define N     6u
#define PLACE 512u

static const struct wire_limits limits = {
    .max_message_bytes = 1u << 20, .max_rois = 8, .max_items = 1000, .max_layer = 31};
static struct pool *pool;
static struct shm_window *window;
static struct shm_region *region;
static struct shm_roi entry;
static uint32_t kind;

static int set_up(void **state)
{
    const struct shm_sizes sizes = {.entries = 64, .data_bytes = DATA};
    char why[256];
    int r = pool_open(16, 1u << 24, &pool);

    (void)state;
    if (r == 0)
        r = shm_window_open(pool, 1, &sizes, &window);
    if (r == 0)
        r = shm_region_new(window, &region);
    return r < 0 ? r : kind_add(&trg_samples, &kind, why, sizeof why);
}

static int tear_down(void **state)
{
    (void)state;
    shm_window_close(window);
    pool_close(pool);
    return 0;
}

static void write_good(void)
{
    entry = (struct shm_roi){.token = 7, .kinds = SHM_LISTED, .info = {.l1id = 4}};
    entry.in[0] = (struct shm_collection){.at = PLACE, .n = N, .hash = (uint32_t)trg_samples.hash};
    entry.in[2] =
        (struct shm_collection){.at = 64 * PLACE, .n = 2, .hash = (uint32_t)trg_spacepoints.hash};
}

static void a_list_is_understood(void **state)
{
    const struct wire_collection *c;
    struct wire_error e;
    struct wire_roi w;

    (void)state;
    write_good();
    assert_int_equal(shm_entry_check(&entry, region, &limits, &w, &e), 0);
    c = &w.collection[WIRE_DECLARED];
    assert_true(c->is_there && c->kind == kind && c->n == N);
    for (uint32_t i = 0; i < trg_samples.n_columns; i++) {
        const size_t at = (size_t)((const unsigned char *)c->column[i] - shm_region_data(region));

        assert_int_equal(at, PLACE + shm_column(kind, false, N, i));
        assert_int_equal(at % 16, 0);
    }
    assert_true(w.collection[TRG_SPACEPOINTS].is_there && w.collection[TRG_SPACEPOINTS].n == 2);
    assert_int_equal(shm_entry_bytes(&w),
                     N * kind_item_size(kind) + 2 * 13 + sizeof(struct shm_roi));
}

/* Offset and step of e, then its numbers, and those of the vector; what the rest is stays. */
static void encoded_ones_are_understood(void **state)
{
    const struct wire_collection *c;
    float *data;
    struct wire_error e;
    struct wire_roi w;

    (void)state;
    write_good();
    entry.kinds |= 5u << SHM_ENCODED_AT;
    data = (float *)(void *)(shm_region_data(region) + PLACE);
    data[0] = -1;
    data[1] = 0x1p-15f;
    memset(shm_region_data(region) + entry.in[2].at, 0, 64);
    assert_int_equal(shm_entry_check(&entry, region, &limits, &w, &e), 0);
    c = &w.collection[WIRE_DECLARED];
    assert_true(c->is_encoded && c->n == N);
    assert_true(wire_sent(&w, c)[0].offset == -1 && wire_sent(&w, c)[0].step == 0x1p-15f);
    assert_ptr_equal(c->column[0], shm_region_data(region) + PLACE + SHM_ALIGN);
    assert_true(w.collection[TRG_SPACEPOINTS].is_encoded);
    assert_int_equal(w.n_encodings, 4);
    assert_int_equal(shm_entry_bytes(&w),
                     N * (kind_item_size(kind) - 2 - 3 * 2) + 2 * 7 + sizeof(struct shm_roi));
}

static void refused(Trigd__V1__Error__Code code, const char *sentence)
{
    struct wire_error e;
    struct wire_roi w;

    assert_int_equal(shm_entry_check(&entry, region, &limits, &w, &e), -EBADMSG);
    assert_int_equal(e.code, code);
    if (!strstr(e.text, sentence))
        fail_msg("\"%s\" does not say \"%s\"", e.text, sentence);
    write_good();
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    write_good();
    entry.kinds |= 1u << TRG_HITS;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: its kinds are 0x40000004; with a list bits of 0xf00fff00 are allowed");
    entry.in[1].hash = 1;
    refused(TRIGD__V1__ERROR__CODE__UNKNOWN,
            "RoI 7: no collection has a hash that ends in 00000001; those that Welcome lists");
    entry.in[3] = entry.in[0];
    refused(TRIGD__V1__ERROR__CODE__MALFORMED, "RoI 7: it holds samples twice; once is allowed");
    entry.in[3] = entry.in[2];
    refused(TRIGD__V1__ERROR__CODE__MALFORMED, "RoI 7: it holds spacepoints twice");
    entry.in[0].at = DATA - 64;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS, "RoI 7: its 6 samples begin at 1048512 of the shared");
    entry.in[0].n = 1001;
    refused(TRIGD__V1__ERROR__CODE__TOO_LARGE, "RoI 7: 1001 samples; at most 1000 are allowed");
    entry.kinds |= 4u << SHM_ENCODED_AT;
    entry.in[2].hash = 0;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: place 2 is encoded, and holds no collection");
    entry.kinds |= 4u << SHM_ENCODED_AT;
    entry.in[2].hash = (uint32_t)trg_hits.hash;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: its hits are encoded; none of their columns may be");
    entry.kinds |= 1u << SHM_ENCODED_AT;
    memcpy(shm_region_data(region) + PLACE, (float[]){-1, 1}, 2 * sizeof(float));
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: column e of its encoded samples reaches from -1 to 65534; -1 to 2.5 GeV is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_understood),
        cmocka_unit_test(encoded_ones_are_understood),
        cmocka_unit_test(bad_lists_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
