/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/math.h on every device: within the stated error of the double-precision functions of libm,
 * and the same bits as this program's own build.  TRIGD_POINTS: how many random arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math.program.h"
#include "math_par.h"
#include "rig.h"
#include "seed.h"
#include "trigd/math.h"

#define CHUNK 65536u

struct function {
    const char *name;
    double ulp;            /* largest error that trigd/math.h states */
    double low, high, top; /* x is from low to high, y from -top to top */
    double (*want)(double x, double y);
    int is_log; /* x is spread evenly in its logarithm */
};

static float own(uint32_t which, float x, float y)
{
    switch (which) {
    case MATH_SIN:
        return trg_sin(x);
    case MATH_COS:
        return trg_cos(x);
    case MATH_ATAN2:
        return trg_atan2(y, x);
    case MATH_EXP:
        return trg_exp(x);
    case MATH_LOG:
        return trg_ln(x);
    default:
        return trg_pow(x, y);
    }
}

static double want_sin(double x, double y)
{
    (void)y;
    return sin(x);
}

static double want_cos(double x, double y)
{
    (void)y;
    return cos(x);
}

static double want_atan2(double x, double y)
{
    return atan2(y, x);
}

static double want_exp(double x, double y)
{
    (void)y;
    return exp(x);
}

static double want_log(double x, double y)
{
    (void)y;
    return log(x);
}

static const struct function functions[MATH_COUNT] = {
    [MATH_SIN] = {"sin", 3, 1e-30, 16777215, 0, want_sin, 1},
    [MATH_COS] = {"cos", 3, 1e-30, 16777215, 0, want_cos, 1},
    [MATH_ATAN2] = {"atan2", 3, 1e-6, 1e6, 1e3, want_atan2, 1},
    [MATH_EXP] = {"exp", 2, -87.3, 88.7, 0, want_exp, 0},
    [MATH_LOG] = {"log", 2, 1e-44, 3e38, 0, want_log, 1},
    [MATH_POW] = {"pow", 2, 1e-38, 3e38, 20, pow, 1},
};

/* The error in units of the last place of the true value; results below 2^-126 count as 0. */
static double error(float got, double want)
{
    int exponent;

    if (fabs(want) < 0x1p-126)
        return got == 0.0f || fabs(want) > 0x1.fffff0p-127 ? 0 : 1e9;
    if (fabs(want) >= 0x1.fffffep127)
        return isinf(got) || fabs(want) < 0x1.00001p128 ? 0 : 1e9;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, exponent - 24);
}

/* Angles near multiples of a quarter turn, powers near 1, and numbers of all sizes and signs. */
static void arguments(const struct function *f, uint64_t *seed, float *in)
{
    for (uint32_t i = 0; i < CHUNK; i++) {
        double x = f->is_log ? exp(seed_uniform(seed, log(f->low), log(f->high)))
                             : seed_uniform(seed, f->low, f->high);
        double y = seed_uniform(seed, -f->top, f->top);

        if (f->want == want_sin || f->want == want_cos) {
            if (i % 4 == 0)
                x = nearbyint(exp(seed_uniform(seed, 0, 16))) * 1.5707963267948966;
            x = i % 2 ? -x : x;
        } else if (f->want == want_atan2) {
            x = i % 2 ? -x : x;
            y = i % 8 == 0 ? 0 : i % 8 < 4 ? x * y : y;
        } else if (f->want == want_log && i % 4 == 0) {
            x = seed_uniform(seed, 0.5, 2);
        } else if (f->want == pow && i % 2 == 0) {
            x = seed_uniform(seed, 0.6, 1.6); /* a large power of a number near 1 */
            y = seed_uniform(seed, -87, 88) / log(x);
            y = fabs(y) < 1e30 ? y : 1;
        }
        in[2 * i] = (float)x;
        in[2 * i + 1] = (float)y;
    }
}

static double run(struct rig *r, uint32_t which, uint64_t *seed)
{
    static float in[2 * CHUNK], out[CHUNK];
    const struct math_par par = {CHUNK, which};
    struct trg_buffer *from = rig_buffer(r, TRG_MEM_DEVICE, sizeof in);
    struct trg_buffer *to = rig_buffer(r, TRG_MEM_DEVICE, sizeof out);
    const struct trg_arg args[] = {TRG_BUF(from), TRG_BUF(to), TRG_VAL(par)};
    struct trg_module *module;
    struct trg_kernel *kernel;
    double worst = 0;

    assert_int_equal(trg_module_new(r->device->d, &math_program, NULL, &module), 0);
    assert_int_equal(trg_kernel_get(module, "math_run", &kernel), 0);
    arguments(&functions[which], seed, in);
    rig_put(r, from, in, sizeof in);
    assert_int_equal(trg_launch(r->queue, kernel, (struct trg_range){16, 64}, args, 3), 0);
    rig_get(r, to, out, sizeof out);
    for (uint32_t i = 0; i < CHUNK; i++) {
        const float mine = own(which, in[2 * i], in[2 * i + 1]);
        const double e =
            error(out[i], functions[which].want((double)in[2 * i], (double)in[2 * i + 1]));

        if (memcmp(&mine, &out[i], sizeof mine) != 0)
            fail_msg("%s(%.9g, %.9g) is %.9g here and %.9g on the device", functions[which].name,
                     (double)in[2 * i], (double)in[2 * i + 1], (double)mine, (double)out[i]);
        if (e > functions[which].ulp)
            fail_msg("%s(%.9g, %.9g) is %.9g: %.2f ulp, %.0f are stated", functions[which].name,
                     (double)in[2 * i], (double)in[2 * i + 1], (double)out[i], e,
                     functions[which].ulp);
        worst = e > worst ? e : worst;
    }
    trg_module_free(module);
    trg_buffer_free(from);
    trg_buffer_free(to);
    return worst;
}

static void check(struct rig *r)
{
    const char *points = getenv("TRIGD_POINTS");
    const uint32_t chunks = points ? (uint32_t)strtoul(points, NULL, 10) / CHUNK + 1 : 1;
    uint64_t seed = fresh_seed();

    for (uint32_t which = 0; which < MATH_COUNT; which++) {
        double worst = 0;

        for (uint32_t i = 0; i < chunks; i++) {
            const double e = run(r, which, &seed);

            worst = e > worst ? e : worst;
        }
        print_message("%-6s %.3f ulp\n", functions[which].name, worst);
    }
}

static void on_devices(void **state)
{
    (void)state;
    rig_each(check);
}

static void edges(void **state)
{
    (void)state;
    assert_true(isnan(trg_sin(16777216.0f)) && isnan(trg_cos(INFINITY)) && isnan(trg_sin(NAN)));
    assert_true(trg_sin(0.0f) == 0.0f && trg_cos(0.0f) == 1.0f);
    assert_true(trg_atan2(0.0f, 0.0f) == 0.0f && isnan(trg_atan2(NAN, 1.0f)));
    assert_true(trg_exp(0.0f) == 1.0f && trg_exp(-INFINITY) == 0.0f && isnan(trg_exp(NAN)));
    assert_true(isinf(trg_exp(89.0f)) && trg_exp(-88.0f) == 0.0f);
    assert_true(trg_ln(1.0f) == 0.0f && isnan(trg_ln(-1.0f)) && isnan(trg_ln(NAN)));
    assert_true(isinf(trg_ln(0.0f)) && trg_ln(0.0f) < 0 && isinf(trg_ln(INFINITY)));
    assert_true(trg_pow(0.0f, 2.0f) == 0.0f && isinf(trg_pow(0.0f, -1.0f)));
    assert_true(trg_pow(7.0f, 0.0f) == 1.0f && trg_pow(1.0f, 1e30f) == 1.0f);
    assert_true(isnan(trg_pow(-1.0f, 2.0f)) && isnan(trg_pow(2.0f, NAN)));
    assert_true(trg_pow(2.0f, 10.0f) == 1024.0f && trg_pow(2.0f, -126.0f) == 0x1p-126f);
    assert_true(trg_pow(2.0f, -140.0f) == 0.0f && isinf(trg_pow(2.0f, 128.0f)));
    assert_true(isinf(trg_pow(INFINITY, 0.5f)) && trg_pow(INFINITY, -0.5f) == 0.0f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edges), cmocka_unit_test(on_devices)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
