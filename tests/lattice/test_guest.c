/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin: slices give the bits of a simulation, checkpoints go on with them and with the rows
 * of mean speeds, and a folder that does not fit is refused in one sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "flows.h"
#include "scene.h"
#include "trigd/plugin.h"

extern const struct trg_plugin trg_plugin;

static char folder[] = "/tmp/trigd-lattice-XXXXXX";
static const struct lattice_config defaults = {.scene = LATTICE_SCENE_CAVITY,
                                               .nx = 33,
                                               .ny = 20,
                                               .steps = 60,
                                               .density = 1,
                                               .omega = 1.5f,
                                               .accel = 0.01f,
                                               .lid = 0.1f,
                                               .force = 1e-5f,
                                               .mean_every = 3,
                                               .vtk = 1};

struct visit {
    struct trg_algo *algo;
    struct trg_queue *q;
};

static const char *in_folder(const char *name)
{
    static char path[2][80];
    static unsigned n;

    n ^= 1;
    snprintf(path[n], sizeof path[n], "%s/%s", folder, name);
    return path[n];
}

static void empty_folder(void)
{
    static const char *const names[] = {"checkpoint", "means.txt", "flow.vtk", "obstacles.txt"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)remove(in_folder(names[i]));
}

static int enter(const struct lattice_config *c, struct visit *v)
{
    const struct trg_guest_setup setup = {.size = sizeof setup, .folder = folder};
    int r;

    v->algo = NULL;
    assert_int_equal(trg_queue_new(devices_get(0)->d, &v->q), 0);
    r = trg_plugin.guest->open(&devices_host, c, devices_get(0)->d, v->q, &setup, &v->algo);
    if (r < 0)
        trg_queue_free(v->q);
    return r;
}

static void leave(struct visit *v)
{
    trg_plugin.guest->close(v->algo);
    trg_queue_free(v->q);
}

static int slice(struct visit *v, double us)
{
    assert_int_equal(trg_plugin.guest->submit(v->algo, v->q, us), 0);
    assert_int_equal(trg_finish(v->q), 0);
    return trg_plugin.guest->collect(v->algo, 10);
}

static void save(struct visit *v)
{
    assert_int_equal(trg_plugin.guest->save(v->algo, v->q), 0);
}

static char *read_all(const char *name, size_t *ret_bytes)
{
    FILE *f = fopen(in_folder(name), "rb");
    char *bytes = malloc(1 << 20);

    assert_non_null(f);
    assert_non_null(bytes);
    *ret_bytes = fread(bytes, 1, (1 << 20) - 1, f);
    bytes[*ret_bytes] = '\0';
    fclose(f);
    return bytes;
}

/* In one go, and with a checkpoint, work that is lost after it, and a second life. */
static void a_life_in_two_parts(void **state)
{
    (void)state;
    for (uint32_t scene = LATTICE_SCENE_CAVITY; scene <= LATTICE_SCENE_STREAM; scene++) {
        struct lattice_config c = defaults;
        char *whole[2], *parts[2];
        size_t n[2], m[2];
        struct visit v;

        c.scene = scene;
        empty_folder();
        assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
        while (slice(&v, 50) == TRG_GUEST_MORE) {
        }
        save(&v);
        leave(&v);
        whole[0] = read_all("checkpoint", &n[0]);
        whole[1] = read_all("means.txt", &n[1]);
        assert_int_equal(n[1], 20 * 29); /* a row for every third step */
        assert_int_equal(strncmp(whole[1], "           3 ", 13), 0);
        empty_folder();
        assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
        for (int i = 0; i < 3; i++)
            assert_int_equal(slice(&v, 1e-9), TRG_GUEST_MORE);
        save(&v);
        for (int i = 0; i < 2; i++)
            assert_int_equal(slice(&v, 1e-9), TRG_GUEST_MORE);
        leave(&v);
        assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
        while (slice(&v, 1e-9) == TRG_GUEST_MORE) {
        }
        save(&v);
        leave(&v);
        parts[0] = read_all("checkpoint", &m[0]);
        parts[1] = read_all("means.txt", &m[1]);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(n[i], m[i]);
            assert_memory_equal(whole[i], parts[i], n[i]);
            free(whole[i]);
            free(parts[i]);
        }
        assert_int_equal(access(in_folder("flow.vtk"), F_OK), 0);
        assert_int_equal(enter(&c, &v), TRG_GUEST_DONE);
        leave(&v);
    }
}

/* What the plugin runs is the simulation of its scene. */
static void it_is_the_simulation(void **state)
{
    struct lattice_config c = defaults;
    struct lattice_setup setup;
    struct lattice_why why;
    unsigned char *kind;
    struct visit v;
    struct flow f;
    double mean[60], row;
    size_t n;
    char *text, *at;

    (void)state;
    empty_folder();
    c.mean_every = 1;
    assert_int_equal(lattice_scene(&c, folder, &setup, &kind, &why), 0);
    assert_true(kind[0] == LATTICE_SOLID && kind[(size_t)19 * 33 + 5] == LATTICE_LID);
    f = flow_open(devices_get(0), &setup, kind, NULL);
    flow_run(&f, 60, mean);
    assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
    while (slice(&v, 7) == TRG_GUEST_MORE) {
    }
    save(&v);
    leave(&v);
    text = read_all("means.txt", &n);
    assert_int_equal(n, 60 * 29);
    for (int i = 0; i < 60; i++) {
        at = text + (size_t)i * 29;
        assert_int_equal(strtol(at, &at, 10), i + 1);
        row = strtod(at, NULL);
        assert_true(fabs(row - mean[i]) <= 1e-9 * mean[i]);
    }
    assert_true(mean[59] > 1e-3);
    free(text);
    free(kind);
    flow_close(&f);
}

static void write_obstacles(const char *text)
{
    FILE *f = fopen(in_folder("obstacles.txt"), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void expect_refusal(const struct lattice_config *c, const char *sentence)
{
    struct visit v;

    devices_forget();
    assert_int_equal(enter(c, &v), -EINVAL);
    assert_null(v.algo);
    if (!devices_logged(TRG_ERROR, sentence))
        fail_msg("it did not say: %s", sentence);
}

static void a_folder_that_does_not_fit(void **state)
{
    struct lattice_config c = defaults, other;
    struct visit v;

    (void)state;
    empty_folder();
    c.scene = LATTICE_SCENE_OBSTACLES;
    expect_refusal(&c, "obstacles.txt cannot be read: No such file or directory");
    write_obstacles("1 1 1\n33 5 1\n");
    expect_refusal(&c, "obstacles.txt:2: obstacle (33, 5) is outside of the grid: x must be 0 to "
                       "32, y 0 to 19");
    write_obstacles("1 1 1\n");
    assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(slice(&v, 1e-9), TRG_GUEST_MORE);
    save(&v);
    leave(&v);
    write_obstacles("2 1 1\n"); /* others than the checkpoint has */
    expect_refusal(&c, "is of another flow (33 x 20 cells, omega 1.5): remove it");
    write_obstacles("1 1 1\n");
    other = c;
    other.omega = 1.6f;
    expect_refusal(&other, "is of another flow");
    other = c;
    other.nx = 34;
    expect_refusal(&other, "is of another flow");
    assert_int_equal(truncate(in_folder("means.txt"), 29), 0);
    expect_refusal(&c, "means.txt has 1 rows; the checkpoint was written after ");
    assert_int_equal(truncate(in_folder("checkpoint"), 1000), 0);
    expect_refusal(&c, "has 1000 bytes; 33 x 20 cells need ");
}

static void parameters_are_checked(void **state)
{
    struct lattice_config c = defaults;
    char why[256] = "";

    (void)state;
    assert_int_equal(trg_plugin.check(&c, why, sizeof why), 0);
    c.nx = c.ny = 65536;
    assert_int_equal(trg_plugin.check(&c, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "a grid of 65536 x 65536 cells"));
}

/* A flow that gets too fast ends with a sentence, and not with numbers that mean nothing. */
static void a_flow_that_is_lost(void **state)
{
    struct lattice_config c = defaults;
    struct visit v;
    int r = TRG_GUEST_MORE;

    (void)state;
    empty_folder();
    c.scene = LATTICE_SCENE_CHANNEL;
    c.force = 0.1f;
    c.steps = 0;
    assert_int_equal(enter(&c, &v), TRG_GUEST_MORE);
    devices_forget();
    for (int i = 0; r == TRG_GUEST_MORE && i < 1000; i++)
        r = slice(&v, 1e-9);
    assert_int_equal(r, -ERANGE);
    assert_true(devices_logged(TRG_ERROR, "the flow is lost after step ") == 1);
    leave(&v);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_in_two_parts), cmocka_unit_test(it_is_the_simulation),
        cmocka_unit_test(a_folder_that_does_not_fit), cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(a_flow_that_is_lost)};
    int r;

    if (!mkdtemp(folder))
        return 1;
    r = devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
    empty_folder();
    return rmdir(folder) < 0 ? 1 : r;
}
