/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/stage.h"

/* Three RoIs, the middle one empty, with columns that are not aligned. */
static void lays_out_three_rois(void **state)
{
    unsigned char raw[64];
    float phi[3] = {0.1f, 0.2f, 0.3f}, one = 7.0f;
    uint8_t layers[3] = {1, 2, 3}, layer = 9;
    struct trg_roi_info rois[3] = {{.l1id = 1}, {.l1id = 2}, {.l1id = 3}};
    struct stage_source src[3] = {{.n = 3, .column = {raw + 1, phi, phi, layers}},
                                  {.n = 0},
                                  {.n = 1, .column = {&one, &one, &one, &layer}}};
    size_t room = stage_bytes(TRG_SPACEPOINTS, 3, 4), used;
    unsigned char *dst = aligned_alloc(64, room);
    struct trg_span span;

    (void)state;
    memcpy(raw + 1, phi, sizeof phi);
    assert_non_null(dst);
    used = stage_fill(TRG_SPACEPOINTS, 3, rois, src, dst, &span);
    assert_true(used <= room);
    assert_int_equal(used % 4, 0);
    assert_int_equal(span.n_rois, 3);
    assert_int_equal(span.n_items, 4);
    assert_int_equal(((struct trg_roi_info *)(void *)(dst + span.rois))[2].l1id, 3);
    assert_memory_equal(dst + span.offsets, ((uint32_t[]){0, 3, 3, 4}), 16);
    for (uint32_t c = 0; c < 3; c++) {
        assert_int_equal(span.column[c] % 64, 0);
        assert_memory_equal(dst + span.column[c], ((float[]){0.1f, 0.2f, 0.3f, 7.0f}), 16);
    }
    assert_memory_equal(dst + span.column[3], ((uint8_t[]){1, 2, 3, 9}), 4);
    free(dst);
}

/* Numbers become floats between those that came as floats; layers stay. */
static void makes_floats_of_numbers(void **state)
{
    static const struct trg_encoding sent[] = {{-3, 0.0625f}, {25, 0.5f}, {-1000, 0.25f}};
    unsigned char raw[7] = {9, 0, 0, 1, 0, 0xff, 0xff}; /* 0, 1, 65535 from the second on */
    float phi[2] = {0.5f, 1.5f};
    uint8_t layers[3] = {1, 2, 3};
    struct trg_roi_info rois[3] = {{.l1id = 1}, {.l1id = 2}, {.l1id = 3}};
    struct stage_source src[3] = {
        {.n = 1, .column = {&phi[0], &phi[0], &phi[0], layers}},
        {.n = 3, .column = {raw + 1, raw + 1, raw + 1, layers}, .is_encoded = true, .sent = sent},
        {.n = 1, .column = {&phi[1], &phi[1], &phi[1], layers}}};
    unsigned char *dst = aligned_alloc(64, stage_bytes(TRG_SPACEPOINTS, 3, 5));
    struct trg_span span;

    (void)state;
    assert_non_null(dst);
    stage_fill(TRG_SPACEPOINTS, 3, rois, src, dst, &span);
    assert_memory_equal(dst + span.offsets, ((uint32_t[]){0, 1, 4, 5}), 16);
    assert_memory_equal(dst + span.column[0], ((float[]){0.5f, -3, -2.9375f, 4092.9375f, 1.5f}),
                        20);
    assert_memory_equal(dst + span.column[1], ((float[]){0.5f, 25, 25.5f, 32792.5f, 1.5f}), 20);
    assert_memory_equal(dst + span.column[2], ((float[]){0.5f, -1000, -999.75f, 15383.75f, 1.5f}),
                        20);
    assert_memory_equal(dst + span.column[3], ((uint8_t[]){1, 1, 2, 3, 1}), 5);
    free(dst);
}

static void nothing_at_all(void **state)
{
    struct trg_roi_info roi = {.l1id = 5};
    struct stage_source src = {.n = 0};
    unsigned char *dst = aligned_alloc(64, stage_bytes(TRG_TRACKS, 1, 0));
    struct trg_span span;

    (void)state;
    assert_non_null(dst);
    assert_true(stage_fill(TRG_TRACKS, 1, &roi, &src, dst, &span) <= stage_bytes(TRG_TRACKS, 1, 0));
    assert_int_equal(span.n_items, 0);
    assert_memory_equal(dst + span.offsets, ((uint32_t[]){0, 0}), 8);
    free(dst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lays_out_three_rois),
        cmocka_unit_test(makes_floats_of_numbers),
        cmocka_unit_test(nothing_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
