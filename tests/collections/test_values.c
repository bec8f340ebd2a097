/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are looked through as their declaration says: against a plain loop, for every type. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kinds.h"
#include "seed.h"
#include "values.h"

#include "samples.collections.h"

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void hashes_are_those_of_the_generator(void **state)
{
    struct trg_column columns[16];
    struct trg_collection other = trg_samples;

    (void)state;
    assert_true(trg_collection_hash(&trg_samples) == trg_samples.hash);
    for (uint32_t k = TRG_SPACEPOINTS; k < TRG_KIND_COUNT; k++)
        assert_true(trg_collection_hash(kind_info(k)) == kind_info(k)->hash);
    memcpy(columns, trg_samples.column, sizeof *columns * trg_samples.n_columns);
    other.column = columns;
    other.doc = "other words";
    assert_true(trg_collection_hash(&other) == trg_samples.hash);
    columns[3].max = 4;
    assert_true(trg_collection_hash(&other) != trg_samples.hash);
}

static void a_half_is_what_its_format_says(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
        const float value = trg_f16_value((uint16_t)bits);
        double want = exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24);

        assert_int_equal(signbit(value) != 0, bits >> 15);
        if (exponent == 31 && fraction)
            assert_true(isnan(value));
        else if (exponent == 31)
            assert_true(isinf(value));
        else
            assert_true((double)fabsf(value) == want);
    }
}

/* What the declaration allows, one value at a time. */
static bool is_allowed(const struct trg_column *column, struct values_range r, const void *bytes,
                       size_t i)
{
    double v = 0;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    uint16_t u16;
    uint32_t u32;
    float f;
    const char *at = (const char *)bytes + i * trg_type_size(column->type);

    memcpy(&i8, at, 1);
    memcpy(&i16, at, trg_type_size(column->type) > 1 ? 2 : 1);
    u16 = (uint16_t)i16;
    switch (column->type) {
    case TRG_U8:
        v = (uint8_t)i8;
        break;
    case TRG_I8:
        v = i8;
        break;
    case TRG_U16:
        v = u16;
        break;
    case TRG_I16:
        v = i16;
        break;
    case TRG_F16:
        v = (double)trg_f16_value(u16);
        break;
    case TRG_U32:
        memcpy(&u32, at, 4);
        v = u32;
        break;
    case TRG_I32:
        memcpy(&i32, at, 4);
        v = i32;
        break;
    case TRG_F32:
        memcpy(&f, at, 4);
        return isfinite(f) && f >= (float)r.least && f <= (float)r.most;
    default:
        fail();
    }
    return isfinite(v) && v >= r.least && v <= r.most;
}

static void one_column(const struct trg_column *column, const unsigned char *bytes, size_t n)
{
    const struct values_range r = values_range(column, 40000);
    size_t at = SIZE_MAX, first = 0;
    double value = 0;
    bool found = values_find(column, r, bytes, n, &at, &value);

    while (first < n * column->length && is_allowed(column, r, bytes, first))
        first++;
    assert_int_equal(found, first < n * column->length);
    if (found)
        assert_int_equal(at, first);
    if (found || column->type != TRG_F32)
        assert_int_equal(values_suspect(column, r, bytes, n), found);
}

static void every_type_against_a_plain_loop(void **state)
{
    uint64_t seed = fresh_seed() | 1;
    static unsigned char bytes[4 * 64 * 5 + 1];

    (void)state;
    for (uint32_t round = 0; round < 4000; round++)
        for (uint32_t c = 0; c < trg_samples.n_columns; c++) {
            const struct trg_column *column = &trg_samples.column[c];
            const size_t n = next(&seed) % 6, at = next(&seed) % 2; /* unaligned, too */

            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)next(&seed);
            one_column(column, bytes + at, n);
        }
}

/* One bad value in a long column of good ones: none is missed, whatever the vectors. */
static void one_bad_value_among_many(void **state)
{
    static float floats[1000];
    static int16_t words[1000];
    const struct trg_column *f = &trg_samples.column[TRG_SAMPLES_E_COLUMN];
    const struct trg_column *w = &trg_samples.column[TRG_SAMPLES_F_COLUMN];
    const float bad[] = {-1.0000001f, 2.5000002f, NAN, -INFINITY, FLT_MAX};
    const int16_t bad_words[] = {-30001, 30001, INT16_MIN, INT16_MAX};

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        floats[i] = (float)i / 1000;
        words[i] = (int16_t)(60 * i - 30000);
    }
    assert_false(values_suspect(w, values_range(w, 0), words, 1000));
    for (size_t i = 0; i < 1000; i++) {
        const float good = floats[i];
        const int16_t good_word = words[i];

        floats[i] = bad[i % 5];
        words[i] = bad_words[i % 4];
        one_column(f, (const unsigned char *)floats, 1000);
        one_column(w, (const unsigned char *)words, 1000);
        floats[i] = good;
        words[i] = good_word;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_generator),
        cmocka_unit_test(a_half_is_what_its_format_says),
        cmocka_unit_test(every_type_against_a_plain_loop),
        cmocka_unit_test(one_bad_value_among_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
