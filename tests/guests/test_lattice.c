/* SPDX-License-Identifier: Apache-2.0 */
/* lattice as a guest of a daemon that decides RoIs: after a pause and a restart of the daemon its
 * mean speeds are those of the same flow in one go. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "flows.h"
#include "sanitized.h"
#include "scene.h"
#include "workers.h"

#ifdef IS_SANITIZED /* the pause and the restart come early */
#define STEPS   5000u
#define N_STEPS "5000"
#else
#define STEPS   50000u
#define N_STEPS "50000"
#endif
#define EVERY  1000u
#define WORKER "guest cpu:0/1"

static const struct lattice_config flow_config = {.scene = LATTICE_SCENE_CAVITY,
                                                  .nx = 33,
                                                  .ny = 20,
                                                  .steps = STEPS,
                                                  .density = 1,
                                                  .omega = 1.5f,
                                                  .lid = 0.1f,
                                                  .mean_every = EVERY};
static const char config[] =
    "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT
    "guests:\n  - {guest: g, plugin: lattice, backend: cpu, start: false, hang_ms: 60000,\n"
    "     params: {scene: cavity, nx: 33, ny: 20, steps: " N_STEPS ", omega: 1.5, lid: 0.1,"
    " mean_every: 1000, vtk: false}}\n";

static bool is_told(struct server *s, const char *wanted)
{
    char *text = server_ask(s, "show guests json");
    const bool is_there = strstr(text, wanted) != NULL;

    free(text);
    return is_there;
}

/* Waits for as long as the guest gets slices, which are not to depend on who else wants the cores.
 */
static void await(struct server *s, const char *wanted)
{
    uint64_t slices = 0;

    for (int quiet = 0; !is_told(s, wanted); quiet++) {
        const uint64_t now = server_row_number(s, "guests", "g", "slices");

        if (now != slices)
            quiet = 0;
        slices = now;
        if (quiet == 3000)
            fail_msg("no %s after %lu slices", wanted, (unsigned long)slices);
        workers_lift(s, WORKER);
        workers_nap(10);
    }
}

static void decide(struct link *l, uint64_t *token)
{
    workers_send(l, *token, WORKERS_BATCH, 0);
    workers_expect(l, *token, WORKERS_BATCH, 0);
    *token += WORKERS_BATCH;
}

/* Some slices beside RoIs; then it has work left.  On a busy machine it may take longer to pause
 * than the daemon waits with its answer. */
static void some_slices(struct server *s, struct link *l, uint64_t *token, uint64_t slices)
{
    free(server_ask(s, "guest start g"));
    for (int i = 0; i < 5 || server_row_number(s, "guests", "g", "slices") < slices; i++) {
        workers_lift(s, WORKER);
        decide(l, token);
    }
    free(server_ask(s, "guest pause g"));
    await(s, "\"state\":\"paused\"");
}

static void expect_means(const struct server *s)
{
    double *mean = malloc(STEPS * sizeof *mean);
    struct lattice_setup setup;
    struct lattice_why why;
    unsigned char *kind;
    struct flow f;
    char path[200];
    FILE *file;

    assert_non_null(mean);
    assert_int_equal(lattice_scene(&flow_config, NULL, &setup, &kind, &why), 0);
    f = flow_open(devices_get(0), &setup, kind, NULL);
    flow_run(&f, STEPS, mean);
    snprintf(path, sizeof path, "%s/state/guests/g/means.txt", s->folder);
    file = fopen(path, "r");
    assert_non_null(file);
    for (uint32_t i = EVERY; i <= STEPS; i += EVERY) {
        uint32_t step = 0;
        double row = 0;

        assert_int_equal(fscanf(file, "%u %lf", &step, &row), 2);
        assert_int_equal(step, i);
        assert_true(fabs(row - mean[i - 1]) <= 1e-9 * mean[i - 1]);
    }
    fclose(file);
    flow_close(&f);
    free(kind);
    free(mean);
}

static void test_daemon(void **state)
{
    struct server s;
    struct link l;
    uint64_t token = 100;

    (void)state;
    workers_open(&s, &l, config);
    some_slices(&s, &l, &token, 20);
    link_close(&l);
    assert_int_equal(server_end(&s, SIGTERM, 30), 0);
    server_spawn(&s);
    link_open(&l, &s);
    link_hello(&l, "workers", 0);
    free(server_ask(&s, "guest start g"));
    decide(&l, &token);
    link_close(&l); /* it would be silent for too long */
    await(&s, "\"state\":\"done\"");
    await(&s, "step " N_STEPS " of " N_STEPS);
    assert_true(server_row_number(&s, "guests", "g", "slices") > 0);
    assert_true(server_row_number(&s, "guests", "g", "disabled") == 0);
    expect_means(&s);
    server_end_well(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_daemon)};

    return flows_main(argc, argv, tests, 1);
}
