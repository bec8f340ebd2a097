/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of a flow: what is right is read, what is wrong gets one sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "memfile.h"
#include "parameters.h"

static struct memfile file;

static void put(const char *text)
{
    memfile_close(&file);
    file = memfile_new(text, strlen(text));
}

static void right(void **state)
{
    struct lattice_parameters p;
    struct lattice_why why;
    unsigned char kind[12] = {0};

    (void)state;
    put("4\n3\n40000\n10\n0.1\n0.005\n1.85\n");
    assert_int_equal(lattice_read_parameters(file.path, &p, &why), 0);
    assert_int_equal(p.setup.nx, 4);
    assert_int_equal(p.setup.ny, 3);
    assert_int_equal(p.steps, 40000);
    assert_true(p.setup.density == 0.1 && p.setup.accel == 0.005 && p.setup.omega == 1.85);
    assert_true(fabs(lattice_reynolds(&p, 1.319405137909e-02) - 9.7630) < 1e-3);
    put("0 0 1\n\n3 2 1\r\n1 2 1\n");
    assert_int_equal(lattice_read_obstacles(file.path, 4, 3, kind, &why), 0);
    assert_true(kind[0] == 1 && kind[11] == 1 && kind[9] == 1 && kind[1] == 0);
    memset(kind, 0, sizeof kind);
    put("x,y\n1,0\n2,1\n");
    assert_int_equal(lattice_read_obstacles(file.path, 4, 3, kind, &why), 0);
    assert_true(kind[1] == 1 && kind[6] == 1 && kind[0] == 0);
}

static void wrong_parameters(void **state)
{
    static const char *const cases[][2] = {
        {"4\n3\nmany\n10\n0.1\n0.005\n1.85\n", ":3: steps is \"many\"; it must be a whole number"},
        {"2\n3\n1\n10\n0.1\n0.005\n1.85\n", ":1: nx is \"2\"; it must be a whole number from 3"},
        {"4.5\n3\n1\n10\n0.1\n0.005\n1.85\n", ":1: nx is \"4.5\""},
        {"4\n3\n1\n10\n0.1\n0.005\n2\n", ":7: omega is \"2\"; it must be a number from 0.01"},
        {"4\n3\n1\n10\nnan\n0.005\n1\n", ":5: density is \"nan\""},
        {"4\n3\n1\n10 cells\n0.1\n0.005\n1\n", ":4: reynolds_dim is \"10 cells\""},
        {"4\n3\n1\n10\n0.1\n", "ends before accel: it must have 7 lines"},
        {"", "ends before nx"},
        {"4\n3\n1\n10\n0.1\n0.005\n1\n8\n", ":8: \"8\" is too much"},
        {"65536\n65536\n1\n10\n0.1\n0.005\n1\n", "at most 2^28"},
    };
    struct lattice_parameters p;
    struct lattice_why why;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(cases[i][0]);
        assert_int_equal(lattice_read_parameters(file.path, &p, &why), -EINVAL);
        if (!strstr(why.text, cases[i][1]) || !strstr(why.text, file.path))
            fail_msg("case %zu: \"%s\"", i, why.text);
    }
    assert_int_equal(lattice_read_parameters("nowhere", &p, &why), -EINVAL);
    assert_string_equal(why.text, "nowhere cannot be read: No such file or directory");
}

static void wrong_obstacles(void **state)
{
    static const char *const cases[][2] = {
        {"1 1 1\n4 1 1\n",
         ":2: obstacle (4, 1) is outside of the grid: x must be 0 to 3, y 0 to 2"},
        {"1 3 1\n", "obstacle (1, 3) is outside"},
        {"-1 0 1\n", "obstacle (-1, 0) is outside"},
        {"1 1 0\n", ":1: this is no obstacle"},
        {"1 1\n", ":1: this is no obstacle"},
        {"1\n", ":1: \"1\" is no obstacle"},
        {"1,\n", ":1: this is no obstacle"},
        {"a b 1\n", ":1: \"a b 1\" is no obstacle"},
        {"1 1 1 1\n", ":1: this is no obstacle"},
        {"99999999999999999999 1 1\n", "is outside"},
    };
    struct lattice_why why;
    unsigned char kind[12];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(kind, 0, sizeof kind);
        put(cases[i][0]);
        assert_int_equal(lattice_read_obstacles(file.path, 4, 3, kind, &why), -EINVAL);
        if (!strstr(why.text, cases[i][1]))
            fail_msg("case %zu: \"%s\"", i, why.text);
    }
}

static void wrong_setups(void **state)
{
    static const struct {
        struct lattice_setup s;
        unsigned char last_kind;
        const char *sentence;
    } cases[] = {
        {{.nx = 2, .ny = 3, .density = 1, .omega = 1}, 0, "a grid of 2 x 3 cells"},
        {{.nx = 3, .ny = 3, .density = 0, .omega = 1}, 0, "density 0"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 2}, 0, "omega 2"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1, .omega_odd = -1}, 0, "omega -1"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1, .accel = 1}, 0, "accel 1"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1, .lid = 0.5}, 0, "lid 0.5"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1, .force_x = NAN}, 0, "force (nan, 0)"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1, .storage = 2}, 0, "storage 2"},
        {{.nx = 3, .ny = 3, .density = 1, .omega = 1}, 3, "cell (2, 2) is of kind 3"},
        {{.nx = 3, .ny = 4, .density = 1, .omega = 1}, 2, "cell (2, 2) is a lid"},
    };
    struct lattice_why why;
    unsigned char kind[12];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(kind, 0, sizeof kind);
        kind[8] = cases[i].last_kind;
        assert_int_equal(lattice_check(&cases[i].s, kind, &why), -EINVAL);
        if (!strstr(why.text, cases[i].sentence))
            fail_msg("case %zu: \"%s\"", i, why.text);
    }
    memset(kind, 1, sizeof kind);
    assert_int_equal(
        lattice_check(&(struct lattice_setup){.nx = 3, .ny = 3, .density = 1, .omega = 1}, kind,
                      &why),
        -EINVAL);
    assert_string_equal(why.text, "every one of the 3 x 3 cells is an obstacle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),
        cmocka_unit_test(wrong_parameters),
        cmocka_unit_test(wrong_obstacles),
        cmocka_unit_test(wrong_setups),
    };

    file = memfile_new("", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
