/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic RoIs: every value of every column is one that the declaration allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/sample.h"
#include "seed.h"
#include "values.h"

#include "samples.collections.h"

#define MAX_LAYER 40u

static void check(uint32_t kind, uint64_t seed)
{
    const struct sample_setup setup = {.kinds = &kind,
                                       .n_inputs = 1,
                                       .n_random = 20,
                                       .max_items = 200,
                                       .max_layer = MAX_LAYER,
                                       .seed = seed};
    const struct trg_collection *info = kind_info(kind);
    struct sample *s;

    assert_int_equal(sample_new(&setup, &s), 0);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t c = 0; c < info->n_columns; c++) {
            const struct trg_column *column = &info->column[c];
            const struct stage_source *source = sample_source(s, 0, i);
            size_t at;
            double value;

            if (values_find(column, values_range(column, MAX_LAYER), source->column[c], source->n,
                            &at, &value))
                fail_msg("value %zu of column %s of %s is %g", at, column->name, info->name, value);
        }
    sample_free(s);
}

static void values_are_allowed(void **state)
{
    static struct trg_column columns[] = {
        {"far", "", "far below", TRG_F32, 1, -5000, -4000, 0},
        {"high", "", "high", TRG_U32, 1, 4000000001.0, 4000000003.0, 0},
        {"low", "", "low", TRG_I32, 1, -2000000003.0, -2000000001.0, 0},
        {"one", "", "one", TRG_F16, 1, 0.5, 0.5, 0},
        {"any", "", "any", TRG_F32, 64, -3.4e38, 3.4e38, 0},
    };
    struct trg_collection narrow = {
        sizeof narrow, 5, "narrow", "narrow ranges", 1, sizeof *columns, 0, columns, NULL};
    const uint64_t seed = fresh_seed();
    char why[256];
    uint32_t kind;

    (void)state;
    for (kind = TRG_SPACEPOINTS; kind < TRG_KIND_COUNT; kind++)
        check(kind, seed);
    assert_int_equal(kind_add(&trg_samples, &kind, why, sizeof why), 0);
    check(kind, seed);
    narrow.hash = trg_collection_hash(&narrow);
    assert_int_equal(kind_add(&narrow, &kind, why, sizeof why), 0);
    check(kind, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_allowed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
