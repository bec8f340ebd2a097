/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy engine is asked to fetch, by hand: RoIs by themselves, one behind the other, over the
 * end of a piece and at the end of a region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/fetch.h"

#define KIB   UINT64_C(1024)
#define ROIS  4u
#define ITEMS 4096u

/* Two regions of two pieces and a half. */
static const struct fetch_window window = {
    .first = 64 * KIB, .distance = 1024 * KIB, .whole = 640 * KIB, .bytes = 256 * KIB};

static struct fetch fetch;

static int open_it(void **unused)
{
    const int r = fetch_open(ROIS, &fetch);

    (void)unused;
    fetch.batch = 0; /* small ones */
    return r;
}

static int close_it(void **unused)
{
    (void)unused;
    fetch_close(&fetch);
    return 0;
}

static uint64_t place(uint32_t region, uint64_t at)
{
    return window.first + region * window.distance + at;
}

static struct arena_source roi(uint64_t at, uint32_t n)
{
    return (struct arena_source){.at = at, .n = n, .capacity = n};
}

static uint64_t bytes_of(uint32_t n)
{
    uint64_t bytes = 0;

    for (uint32_t c = 0; c < kind_info(TRG_HITS)->n_columns; c++)
        bytes += arena_align((uint64_t)n * trg_column_bytes(&kind_info(TRG_HITS)->column[c]));
    return bytes;
}

static bool plan(const struct arena_source *sources, uint32_t n, uint64_t room)
{
    return fetch_plan(&fetch, &window, TRG_HITS, n, sources, room);
}

static void is_part(uint32_t i, uint64_t to, uint64_t from, uint64_t bytes)
{
    assert_int_equal(fetch.parts[i].dst_at, to);
    assert_int_equal(fetch.parts[i].src_at, from);
    assert_int_equal(fetch.parts[i].bytes, bytes);
}

static void rois_by_themselves(void **unused)
{
    const uint64_t large = bytes_of(ITEMS);
    const struct arena_source sources[] = {roi(place(0, 128 * KIB), ITEMS), roi(place(0, 0), 0),
                                           roi(place(1, 0), 1024)};

    (void)unused;
    assert_true(plan(sources, 3, KIB * KIB));
    assert_int_equal(fetch.n_parts, 2);
    is_part(0, 0, sources[0].at, large);
    is_part(1, large, sources[2].at, FETCH_LEAST); /* what is behind it as well */
    assert_int_equal(fetch.at[0], 0);
    assert_int_equal(fetch.at[2], large);
    assert_int_equal(fetch.bytes, large + FETCH_LEAST);
    assert_true(plan(sources, 3, large + FETCH_LEAST));
    assert_false(plan(sources, 3, large + FETCH_LEAST - 1));
}

static void neighbours_are_one_part(void **unused)
{
    const uint64_t few = bytes_of(64);
    const struct arena_source sources[] = {roi(place(0, 0), 64), roi(place(0, few), 64),
                                           roi(place(0, 2 * few), 64), roi(place(0, 2 * few), 64)};

    (void)unused;
    assert_false(plan(sources, 3, KIB * KIB)); /* too few bytes for a part */
    fetch.least = few;
    assert_true(plan(sources, 4, KIB * KIB));
    assert_int_equal(fetch.n_parts, 2);
    is_part(0, 0, sources[0].at, 3 * few);
    is_part(1, 3 * few, sources[3].at, few); /* the same once more */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fetch.at[i], i * few);
}

static void pieces_and_regions_end(void **unused)
{
    const uint64_t large = bytes_of(ITEMS), half = 16 * KIB;
    const struct arena_source sources[] = {
        roi(place(1, 256 * KIB - half), ITEMS), roi(place(0, 640 * KIB - half), 640),
        roi(place(1, 512 * KIB - half), 64), roi(place(1, 512 * KIB), ITEMS)};

    (void)unused;
    assert_true(plan(sources, 3, KIB * KIB));
    assert_int_equal(fetch.n_parts, 4);
    is_part(0, 0, sources[0].at, half);
    is_part(1, half, place(1, 256 * KIB), large - half);
    is_part(2, large, sources[1].at, half); /* nothing is behind the region */
    is_part(3, large + half, sources[2].at, half);
    assert_int_equal(fetch.at[0], 0); /* in one piece again */
    assert_int_equal(fetch.at[1], large);
    assert_int_equal(fetch.at[2], large + half);
    assert_true(plan(&sources[2], 2, KIB * KIB));
    assert_int_equal(fetch.n_parts, 2); /* a neighbour in another piece */
}

static void nothing_is_fetched(void **unused)
{
    const struct arena_source empty[] = {roi(place(0, 0), 0), roi(place(0, 0), 0)};
    struct arena_source many[ROIS + 1];

    (void)unused;
    for (uint32_t i = 0; i <= ROIS; i++)
        many[i] = roi(place(0, 0), ITEMS);
    assert_true(plan(many, ROIS, KIB * KIB));
    assert_false(plan(many, ROIS + 1, KIB * KIB));
    assert_true(plan(empty, 2, 0));
    assert_int_equal(fetch.n_parts, 0);
    fetch.batch = ROIS * bytes_of(ITEMS);
    assert_true(plan(many, ROIS, KIB * KIB));
    fetch.batch++;
    assert_false(plan(many, ROIS, KIB * KIB));
    assert_int_equal(fetch_room(1024, 5), 5 + 1024 * FETCH_LEAST);
    assert_int_equal(fetch_room(UINT32_MAX, 5), 5 + 64 * KIB * KIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rois_by_themselves, open_it, close_it),
        cmocka_unit_test_setup_teardown(neighbours_are_one_part, open_it, close_it),
        cmocka_unit_test_setup_teardown(pieces_and_regions_end, open_it, close_it),
        cmocka_unit_test_setup_teardown(nothing_is_fetched, open_it, close_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
