/* SPDX-License-Identifier: Apache-2.0 */
/* Accessors made from a declaration: each type, vectors, halves; on every device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "seed.h"
#include "trigd/event.h"

#include "columns.h"
#include "columns.program.h"
#include "samples.collections.h"

#define ITEMS 2048u
#define BYTES (ITEMS * 64u)

/* The value of a half, from the definition of the format. */
static float half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                : ldexp(1024 + fraction, exponent - 25);

    return (float)(bits & 0x8000 ? -v : v);
}

static int32_t eighths(float x)
{
    return (int32_t)(x * 8.0f);
}

/* Finite halves below 2^13, so that eight of it is a word. */
static uint16_t small_half(uint64_t *seed)
{
    return (uint16_t)(devices_random(seed) % (28u << 10) | (devices_random(seed) & 1) << 15);
}

struct items { /* the columns as the host sees them */
    uint32_t n;
    void *column[TRG_COLUMNS_MAX];
};

static void lay_out(unsigned char *data, struct trg_span *span, struct items *items)
{
    uint32_t at = 64;

    items->n = ITEMS;
    *span = (struct trg_span){.n_items = ITEMS};
    for (uint32_t c = 0; c < trg_samples.n_columns; c++) {
        span->column[c] = at;
        items->column[c] = data + at;
        at += (uint32_t)((ITEMS * trg_column_bytes(&trg_samples.column[c]) + 15) & ~15ul);
    }
    assert_true(at <= BYTES);
}

static void fill(struct items *s, uint64_t *seed)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        TRG_SAMPLES_E_OF(s)[i] = (float)(int32_t)(devices_random(seed) % 2000) / 8 - 100;
        TRG_SAMPLES_A_OF(s)[i] = (uint8_t)devices_random(seed);
        TRG_SAMPLES_B_OF(s)[i] = (uint16_t)devices_random(seed);
        TRG_SAMPLES_C_OF(s)[i] = devices_random(seed);
        TRG_SAMPLES_D_OF(s)[i] = (int8_t)devices_random(seed);
        TRG_SAMPLES_F_OF(s)[i] = (int16_t)devices_random(seed);
        TRG_SAMPLES_G_OF(s)[i] = (int32_t)devices_random(seed);
        TRG_SAMPLES_H_OF(s)[i] = (uint16_t)devices_random(seed);
        for (uint32_t k = 0; k < TRG_SAMPLES_MOMENTUM_LENGTH; k++)
            TRG_SAMPLES_MOMENTUM_OF(s)
        [3 * i + k] = (float)(devices_random(seed) % 4096) / 8 - 256;
        for (uint32_t k = 0; k < TRG_SAMPLES_PULSE_LENGTH; k++)
            TRG_SAMPLES_PULSE_OF(s)[5 * i + k] = small_half(seed);
    }
}

static void expected(const struct items *s, uint32_t i, int32_t *o)
{
    float h = half(TRG_SAMPLES_H_OF(s)[i]);

    o[0] = eighths(TRG_SAMPLES_E_OF(s)[i]);
    o[1] = TRG_SAMPLES_A_OF(s)[i];
    o[2] = TRG_SAMPLES_B_OF(s)[i];
    o[3] = (int32_t)TRG_SAMPLES_C_OF(s)[i];
    o[4] = TRG_SAMPLES_D_OF(s)[i];
    o[5] = TRG_SAMPLES_F_OF(s)[i];
    o[6] = TRG_SAMPLES_G_OF(s)[i];
    memcpy(&o[7], &h, sizeof h);
    o[8] = o[9] = 0;
    for (int32_t k = 0; k < 3; k++)
        o[8] += (k + 1) * eighths(TRG_SAMPLES_MOMENTUM_OF(s)[3 * i + (uint32_t)k]);
    for (int32_t k = 0; k < 5; k++)
        o[9] += (k + 1) * eighths(half(TRG_SAMPLES_PULSE_OF(s)[5 * i + (uint32_t)k]));
}

static void check(struct rig *r)
{
    static unsigned char data[BYTES], copy[BYTES];
    static int32_t got[COLUMNS_WORDS * ITEMS];
    struct trg_buffer *in = rig_buffer(r, TRG_MEM_DEVICE, BYTES);
    struct trg_buffer *written = rig_buffer(r, TRG_MEM_DEVICE, BYTES);
    struct trg_buffer *out = rig_buffer(r, TRG_MEM_DEVICE, sizeof got);
    struct columns_par par;
    struct items items;
    struct trg_module *module;
    struct trg_kernel *kernel;
    uint64_t seed = fresh_seed();

    lay_out(data, &par.in, &items);
    fill(&items, &seed);
    assert_int_equal(trg_module_new(r->device->d, &columns_program, "", &module), 0);
    assert_int_equal(trg_kernel_get(module, "columns", &kernel), 0);
    rig_put(r, in, data, BYTES);
    assert_int_equal(
        trg_launch(r->queue, kernel, (struct trg_range){1, 64},
                   (struct trg_arg[]){TRG_BUF(in), TRG_BUF(written), TRG_BUF(out), TRG_VAL(par)},
                   4),
        0);
    rig_get(r, out, got, sizeof got);
    rig_get(r, written, copy, BYTES);
    for (uint32_t i = 0; i < ITEMS; i++) {
        int32_t want[COLUMNS_WORDS];

        expected(&items, i, want);
        if (isnan(half(TRG_SAMPLES_H_OF(&items)[i]))) { /* its payload is the format's affair */
            float h;

            memcpy(&h, &got[COLUMNS_WORDS * i + 7], sizeof h);
            assert_true(isnan(h));
            want[7] = got[COLUMNS_WORDS * i + 7];
        }
        assert_memory_equal(got + COLUMNS_WORDS * i, want, sizeof want);
    }
    for (uint32_t c = TRG_SAMPLES_D_COLUMN; c <= TRG_SAMPLES_F_COLUMN; c++)
        assert_memory_equal(copy + par.in.column[c], items.column[c],
                            ITEMS * trg_column_bytes(&trg_samples.column[c]));
    trg_module_free(module);
    trg_buffer_free(in);
    trg_buffer_free(written);
    trg_buffer_free(out);
}

static void test_columns(void **state)
{
    (void)state;
    rig_each(check);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
