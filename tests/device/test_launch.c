/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: arguments, group sizes, shared memory, atomics, layouts, the bits of floats.  Answers
 * are compared with what plain loops here compute. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"
#include "trigd/kernel.h"

#include "device_test.h"
#include "seed.h"

#define N 3000u

static const uint32_t group_sizes[] = {1, 2, 3, 7, 32, 33, 64, 100, 128, 255, 256};
#define N_SIZES (sizeof group_sizes / sizeof group_sizes[0])

static void check_args(struct rig *r)
{
    static uint32_t in[7][N], got[N];
    struct trg_buffer *buffer[7], *out = rig_buffer(r, TRG_MEM_DEVICE, sizeof got);
    uint64_t seed = fresh_seed();

    for (uint32_t k = 0; k < 7; k++) {
        for (uint32_t i = 0; i < N; i++)
            in[k][i] = devices_random(&seed);
        buffer[k] = rig_buffer(r, TRG_MEM_DEVICE, sizeof in[k]);
        rig_put(r, buffer[k], in[k], sizeof in[k]);
    }
    for (uint32_t n = 1; n <= 8; n++) {
        struct test_par par = {N - 5, devices_random(&seed)};
        struct trg_arg args[9];
        char name[8];

        for (uint32_t k = 0; k + 1 < n; k++)
            args[k] = TRG_BUF(buffer[k]);
        args[n - 1] = TRG_BUF(out);
        args[n] = TRG_VAL(par);
        snprintf(name, sizeof name, "args%u", n);
        assert_int_equal(trg_fill(r->queue, out, 0, sizeof got, 77), 0);
        rig_run(r, name, 10, 64, args, n + 1);
        rig_get(r, out, got, sizeof got);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t want = n == 1 ? par.value + i : par.value;

            for (uint32_t k = 0; k + 1 < n; k++)
                want += (k + 1) * in[k][i];
            assert_int_equal(got[i], i < N - 5 ? want : 77);
        }
    }
    for (uint32_t k = 0; k < 7; k++)
        trg_buffer_free(buffer[k]);
    trg_buffer_free(out);
}

static void test_args(void **state)
{
    (void)state;
    rig_each(check_args);
}

/* Values are taken when the launch is enqueued, not when it runs. */
static void check_values(struct rig *r)
{
    enum { LAUNCHES = 50 };
    struct trg_buffer *out[LAUNCHES];
    struct trg_kernel *k = rig_kernel(r, "args1");
    struct test_par par = {16, 0};

    for (uint32_t i = 0; i < LAUNCHES; i++) {
        out[i] = rig_buffer(r, TRG_MEM_DEVICE, 64);
        par.value = i * 1000;
        assert_int_equal(trg_launch(r->queue, k, (struct trg_range){2, 8},
                                    (struct trg_arg[]){TRG_BUF(out[i]), TRG_VAL(par)}, 2),
                         0);
    }
    par.value = 5;
    assert_int_equal(trg_finish(r->queue), 0);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        uint32_t got[16];

        rig_get(r, out[i], got, sizeof got);
        for (uint32_t k2 = 0; k2 < 16; k2++)
            assert_int_equal(got[k2], i * 1000 + k2);
        trg_buffer_free(out[i]);
    }
}

static void test_values(void **state)
{
    (void)state;
    rig_each(check_values);
}

static void check_groups(struct rig *r)
{
    enum { GROUPS = 9, EACH = 500, OUT = 65 };
    static uint32_t in[GROUPS * EACH], want[GROUPS * OUT], got[GROUPS * OUT];
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, sizeof in);
    struct trg_buffer *b = rig_buffer(r, TRG_MEM_DEVICE, sizeof got);
    struct test_par par = {EACH, 0};
    struct trg_arg args[] = {TRG_BUF(a), TRG_BUF(b), TRG_VAL(par)};
    uint64_t seed = fresh_seed();

    memset(want, 0, sizeof want);
    for (uint32_t i = 0; i < GROUPS * EACH; i++) {
        uint32_t *o = want + i / EACH * OUT;

        in[i] = devices_random(&seed);
        for (uint32_t bin = in[i] % 64; bin < 64; bin++)
            o[bin]++;
        o[64] = in[i] > o[64] ? in[i] : o[64];
    }
    rig_put(r, a, in, sizeof in);
    for (size_t s = 0; s < N_SIZES; s++) {
        assert_int_equal(trg_fill(r->queue, b, 0, sizeof got, 0xffffffffu), 0);
        rig_run(r, "histogram", GROUPS, group_sizes[s], args, 3);
        rig_get(r, b, got, sizeof got);
        assert_memory_equal(got, want, sizeof got);
    }
    trg_buffer_free(a);
    trg_buffer_free(b);
}

static void test_groups(void **state)
{
    (void)state;
    rig_each(check_groups);
}

static void check_own(const uint32_t *own, uint32_t groups, const uint32_t *want)
{
    uint32_t count = 0, top = 0, low = 0xffffffffu, bits = 0;

    for (uint32_t g = 0; g < groups; g++) {
        count += own[4 * g];
        top = own[4 * g + 1] > top ? own[4 * g + 1] : top;
        low = own[4 * g + 2] < low ? own[4 * g + 2] : low;
        bits |= own[4 * g + 3];
    }
    assert_int_equal(count, N);
    assert_int_equal(top, want[1]);
    assert_int_equal(low, want[2]);
    assert_int_equal(bits, want[3]);
}

static void check_atomics(struct rig *r)
{
    enum { GROUPS = 12 };
    static const uint32_t begin[5] = {0, 0, 0xffffffffu, 0, 0};
    uint32_t in[N], want[5], all[5], own[4 * GROUPS];
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, sizeof in);
    struct trg_buffer *b = rig_buffer(r, TRG_MEM_DEVICE, sizeof all);
    struct trg_buffer *c = rig_buffer(r, TRG_MEM_DEVICE, sizeof own);
    struct test_par par = {N, 0};
    struct trg_arg args[] = {TRG_BUF(a), TRG_BUF(b), TRG_BUF(c), TRG_VAL(par)};
    uint64_t seed = fresh_seed();

    memcpy(want, begin, sizeof want);
    for (uint32_t i = 0; i < N; i++) {
        in[i] = devices_random(&seed) >> 3;
        want[0] += in[i];
        want[1] = in[i] > want[1] ? in[i] : want[1];
        want[2] = in[i] < want[2] ? in[i] : want[2];
        want[3] |= 1u << in[i] % 32u;
        want[4] += in[i] | 1u;
    }
    rig_put(r, a, in, sizeof in);
    for (size_t s = 0; s < N_SIZES; s++) {
        rig_put(r, b, begin, sizeof begin);
        rig_run(r, "atomics", GROUPS, group_sizes[s], args, 4);
        rig_get(r, b, all, sizeof all);
        rig_get(r, c, own, sizeof own);
        assert_memory_equal(all, want, sizeof all);
        check_own(own, GROUPS, want);
    }
    trg_buffer_free(a);
    trg_buffer_free(b);
    trg_buffer_free(c);
}

static void test_atomics(void **state)
{
    (void)state;
    rig_each(check_atomics);
}

#define ROIS        5u
#define ITEMS       40u
#define LAYOUT_TAIL (8u + TRG_COLUMNS_MAX) /* words that the kernel writes behind the RoIs */

struct layout_data { /* what a batch's buffer looks like */
    uint32_t offsets[ROIS + 1];
    float phi[ITEMS];
    uint8_t layer[ITEMS];
    struct trg_roi_info rois[ROIS];
};

static void fill_layout(struct layout_data *data, struct test_layout_par *par)
{
    memset(data, 0, sizeof *data);
    for (uint32_t i = 0; i < ITEMS; i++) {
        data->phi[i] = 0.25f * (float)i;
        data->layer[i] = (uint8_t)(200 + i);
    }
    for (uint32_t i = 0; i < ROIS; i++) {
        uint32_t words[sizeof data->rois[0] / 4];

        data->offsets[i + 1] = data->offsets[i] + 3 + i;
        for (uint32_t k = 0; k < 12; k++)
            words[k] = 0x3f000000u + 100 * i + k; /* each member another, also as a float */
        memcpy(&data->rois[i], words, sizeof words);
    }
    *par = (struct test_layout_par){.span = {.n_rois = ROIS,
                                             .n_items = data->offsets[ROIS],
                                             .rois = offsetof(struct layout_data, rois),
                                             .offsets = offsetof(struct layout_data, offsets),
                                             .column = {offsetof(struct layout_data, phi),
                                                        offsetof(struct layout_data, layer)}},
                                    .f = -1.5f,
                                    .i = -7};
    for (uint32_t c = 2; c < TRG_COLUMNS_MAX; c++)
        par->span.column[c] = 1000 + c;
}

static void check_layout(struct rig *r)
{
    struct layout_data data;
    struct test_layout_par par;
    uint32_t got[15 * ROIS + LAYOUT_TAIL], *last = got + 15 * ROIS;
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, sizeof data);
    struct trg_buffer *b = rig_buffer(r, TRG_MEM_DEVICE, sizeof got);

    fill_layout(&data, &par);
    rig_put(r, a, &data, sizeof data);
    rig_run(r, "layout", 1, 4, (struct trg_arg[]){TRG_BUF(a), TRG_BUF(b), TRG_VAL(par)}, 3);
    rig_get(r, b, got, sizeof got);
    for (uint32_t i = 0; i < ROIS; i++) {
        assert_memory_equal(got + 15 * i, &data.rois[i], sizeof data.rois[i]);
        assert_int_equal(got[15 * i + 12], 3 + i);
        assert_memory_equal(&got[15 * i + 13], &data.phi[data.offsets[i]], 4);
        assert_int_equal(got[15 * i + 14], 200 + data.offsets[i]);
    }
    assert_int_equal(last[0], sizeof(struct trg_roi_info));
    assert_int_equal(last[1], sizeof(struct trg_span));
    assert_memory_equal(last + 2, &par.span, sizeof par.span);
    assert_memory_equal(last + LAYOUT_TAIL - 2, &par.f, 4);
    assert_int_equal((int32_t)last[LAYOUT_TAIL - 1], -7);
    trg_buffer_free(a);
    trg_buffer_free(b);
}

static void test_layout(void **state)
{
    (void)state;
    _Static_assert(TRG_COLUMNS_MAX == TRG_COLUMNS_MAX_DEV, "one span for hosts and devices");
    rig_each(check_layout);
}

/* What the kernel computes, step by step through volatile, which no compiler contracts. */
static void float_bits(const float *in, uint32_t *o)
{
    volatile float x = in[0], y = in[1], z = in[2], p = x * y, xx = x * x, yy = y * y, zz = z * z;
    volatile float sum = xx + yy, all = sum + zz, plus = p + z, minus = z - p, ratio = x / y;
    volatile float root = sqrtf(fabsf(x)), whole = floorf(z) + ceilf(x), cut = (float)(int32_t)z;
    float y_now = y;

    o[0] = trg_as_u32(plus);
    o[1] = trg_as_u32(minus);
    o[2] = trg_as_u32(all);
    o[3] = trg_as_u32(ratio);
    o[4] = trg_as_u32(root);
    o[5] = trg_as_u32(whole);
    o[6] = trg_as_u32(cut) + (uint32_t)(int32_t)x;
    o[7] = (uint32_t)__builtin_popcount(trg_as_u32(x)) + 64u * trg_clz(trg_as_u32(y_now) >> 8);
}

static void check_floats(struct rig *r)
{
    enum { VALUES = 8192 };
    static float in[3 * VALUES];
    static uint32_t want[8 * VALUES], got[8 * VALUES];
    struct trg_buffer *a = rig_buffer(r, TRG_MEM_DEVICE, sizeof in);
    struct trg_buffer *b = rig_buffer(r, TRG_MEM_DEVICE, sizeof got);
    struct test_par par = {VALUES, 0};
    uint64_t seed = fresh_seed();

    for (uint32_t i = 0; i < 3 * VALUES; i++)
        in[i] = (float)(int32_t)devices_random(&seed) / (float)(1u << devices_random(&seed) % 31);
    for (uint32_t i = 0; i < VALUES; i++)
        float_bits(in + 3 * i, want + 8 * i);
    rig_put(r, a, in, sizeof in);
    rig_run(r, "floats", 16, 64, (struct trg_arg[]){TRG_BUF(a), TRG_BUF(b), TRG_VAL(par)}, 3);
    rig_get(r, b, got, sizeof got);
    for (uint32_t i = 0; i < 8 * VALUES; i++)
        if (got[i] != want[i])
            fail_msg("result %u of %.9g %.9g %.9g: bits %08x, want %08x", i % 8,
                     (double)in[i / 8 * 3], (double)in[i / 8 * 3 + 1], (double)in[i / 8 * 3 + 2],
                     got[i], want[i]);
    trg_buffer_free(a);
    trg_buffer_free(b);
}

static void test_floats(void **state)
{
    (void)state;
    rig_each(check_floats);
}

static void check_refusals(struct rig *r)
{
    struct trg_buffer *in = rig_buffer(r, TRG_MEM_DEVICE, 64);
    struct trg_buffer *out = rig_buffer(r, TRG_MEM_DEVICE, 64);
    struct trg_kernel *k = rig_kernel(r, "args2"), *none = k;
    struct test_par par = {4, 0};
    const uint32_t too_much = 1u << 20;
    const struct trg_arg args[] = {TRG_BUF(in), TRG_BUF(out), TRG_VAL(par)};
    const struct trg_arg swapped[] = {TRG_BUF(in), TRG_VAL(par), TRG_BUF(out)};
    const struct trg_arg wrong_size[] = {TRG_BUF(in), TRG_BUF(out), TRG_VAL(too_much)};

    assert_int_equal(trg_kernel_get(r->module, "no_such_kernel", &none), -ENOENT);
    assert_ptr_equal(none, k);
    assert_int_equal(devices_logged(TRG_ERROR, "\"no_such_kernel\""), 1);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 0}, args, 3), -EINVAL);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 4}, args, 2), -EINVAL);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 4}, args, 0), -EINVAL);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 4}, swapped, 3), -EINVAL);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 4}, wrong_size, 3), -EINVAL);
    assert_int_equal(devices_logged(TRG_ERROR, "kernel \"args2\""), 5); /* each names the kernel */
    if (!r->device->info.is_host)
        assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, too_much}, args, 3),
                         -EINVAL);
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){0, 4}, args, 3), 0); /* nothing */
    assert_int_equal(trg_launch(r->queue, k, (struct trg_range){1, 4}, args, 3), 0);
    assert_int_equal(trg_finish(r->queue), 0);
    assert_ptr_equal(rig_kernel(r, "args2"), k);
    trg_buffer_free(in);
    trg_buffer_free(out);
}

static void test_refusals(void **state)
{
    (void)state;
    rig_each(check_refusals);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_layout),  cmocka_unit_test(test_floats),
        cmocka_unit_test(test_refusals)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
