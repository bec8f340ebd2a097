/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that do not open, or that are lost alone: the others serve, /readyz and `show lanes` say
 * what is there, and the lane comes back when it can. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workers.h"

#define ROUNDS  20u
#define AT_ONCE 12u /* so that each of four lanes gets a batch */

/* Chain 1 has step f, which is well-behaved, chain 2 step g with these parameters.  Until the next
 * call. */
static const char *two_steps(const char *params)
{
    static char menu[1024];

    snprintf(menu, sizeof menu,
             "name: lanes\nstreams: [physics]\n"
             "steps: [{name: f, plugin: fault}, {name: g, plugin: fault, params: {%s}}]\n"
             "chains:\n"
             "  - {name: a, id: 1, seeds: [1], steps: [{step: f}], streams: [physics]}\n"
             "  - {name: b, id: 2, seeds: [2], steps: [{step: g}], streams: [physics]}\n",
             params);
    return menu;
}

static const char cpu_and_gpu[] = "devices: [{backend: cpu, lanes: 1}, {backend: cuda, index: 0, "
                                  "lanes: 1}]\n" ONE_BATCH PATIENT;
enum { OF_F = 1u << 1, OF_G = 1u << 2 }; /* level-1 bits */

static bool is_down(struct server *s, const char *lane)
{
    return server_row_number(s, "lanes", lane, "is_down") != 0;
}

static void wait_down(struct server *s, const char *lane, bool down)
{
    server_wait_row(s, "lanes", lane, "is_down", down, down);
}

/* Batches for a step, or both, at once: all of their RoIs are accepted by their chains. */
static void serve_at_once(struct link *l, uint32_t l1_bits, uint32_t batches)
{
    static uint64_t token = 1000;
    struct roi_spec specs[AT_ONCE * WORKERS_BATCH];
    uint8_t result[AT_ONCE * WORKERS_BATCH];
    const uint32_t n = batches * WORKERS_BATCH;

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){
            .token = token + i, .roi_id = i % WORKERS_BATCH + 1, .n = 50, .l1_bits = l1_bits};
    link_send_rois(l, specs, n);
    link_collect(l, token, n, result);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(result[i] & NOT_LATE, 1);
    token += n;
}

static void serve(struct link *l, uint32_t l1_bits)
{
    serve_at_once(l, l1_bits, 1);
}

static void serve_rounds(struct link *l, uint32_t l1_bits)
{
    for (uint32_t i = 0; i < ROUNDS; i++)
        serve(l, l1_bits);
}

/* ---------------------------------------------------------------- the log */

/* Starts the server; what it and its workers log goes to a file of the folder. */
static void launch_with_log(struct server *s)
{
    const int old = dup(STDERR_FILENO);
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/log", s->folder);
    fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    assert_true(old >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
    workers_launch(s);
    assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
    close(old);
}

/* Lines of it that contain both. */
static uint32_t count_lines(const struct server *s, const char *a, const char *b)
{
    char path[512], line[4096];
    uint32_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/log", s->folder);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, a) && strstr(line, b);
    fclose(f);
    return n;
}

/* ---------------------------------------------------------------- lanes that do not open */

static void open_refusing(struct server *s, struct link *l, const char *params)
{
    workers_prepare_gpus(s, cpu_and_gpu, two_steps(params));
    workers_refuse(s, true);
    launch_with_log(s);
    workers_join(s, l);
}

/* Both steps are served, f on both devices; g comes back on the second one when it can. */
static void f_serves_on(struct server *s, struct link *l)
{
    assert_int_equal(server_readyz(s), 200);
    assert_true(workers_number(s, "cuda:0/1", "pid") > 0);
    assert_true(is_down(s, "g@cuda:0/0"));
    assert_false(is_down(s, "f@cuda:0/0"));
    for (uint32_t i = 0; i < 100 && !server_row_number(s, "lanes", "f@cuda:0/0", "rois"); i++)
        serve_rounds(l, OF_F | OF_G);
    assert_true(server_row_number(s, "lanes", "f@cuda:0/0", "rois") > 0);
    assert_int_equal(server_row_number(s, "lanes", "g@cuda:0/0", "rois"), 0);
}

static void g_comes_back(struct server *s, struct link *l, long deaths)
{
    workers_refuse(s, false);
    wait_down(s, "g@cuda:0/0", false);
    for (uint32_t i = 0; i < 100 && !server_row_number(s, "lanes", "g@cuda:0/0", "rois"); i++)
        serve_rounds(l, OF_G);
    assert_true(server_row_number(s, "lanes", "g@cuda:0/0", "rois") > 0);
    assert_int_equal(workers_number(s, "cuda:0/1", "deaths"), deaths);
    assert_int_equal(server_counter(s, "failed"), 0);
    link_end_well(s, l);
}

/* A lane whose plugin answers with an error costs that lane; it is said once. */
static void a_lane_that_does_not_open(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_refusing(&s, &l, "refuse: 2");
    f_serves_on(&s, &l);
    workers_nap(1500); /* it is tried again after 1 s */
    f_serves_on(&s, &l);
    assert_int_equal(workers_number(&s, "cuda:0/1", "deaths"), 0);
    assert_int_equal(count_lines(&s, "a lane is not up", "g@cuda:0/0"), 1);
    assert_int_equal(count_lines(&s, "cannot open a lane", "g@cuda:0/0"), 1);
    g_comes_back(&s, &l, 0);
}

/* A plugin, or a compiler, that ends the process on one device while it opens a lane there costs
 * that step on that device. */
static void a_lane_that_aborts_while_it_opens(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    open_refusing(&s, &l, "refuse: 3");
    f_serves_on(&s, &l);
    workers_nap(1500);
    f_serves_on(&s, &l);
    assert_int_equal(workers_number(&s, "cuda:0/1", "deaths"), 2); /* twice, and not again */
    assert_int_equal(count_lines(&s, "a lane is not up", "g@cuda:0/0"), 1);
    g_comes_back(&s, &l, 2);
}

/* One lane of four is lost, again and again: it is closed, and the others serve. */
static void one_lane_of_four(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_prepare(&s,
                   "devices: [{backend: cpu, lanes: 4}]\n"
                   "batching: {max_rois: 8, max_age_us: 1000}\n" PATIENT,
                   two_steps("lost_algo: 2, refuse: 1"));
    workers_launch(&s);
    workers_join(&s, &l);
    workers_refuse(&s, true); /* it does not open again */
    for (uint32_t i = 0; i < 1000 && !is_down(&s, "g@cpu:0/1"); i++)
        serve_at_once(&l, OF_G, AT_ONCE);
    assert_true(is_down(&s, "g@cpu:0/1"));
    for (uint32_t i = 0; i < ROUNDS; i++)
        serve_at_once(&l, OF_F | OF_G, AT_ONCE);
    for (uint32_t i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "g@cpu:0/%u", i);
        assert_int_equal(is_down(&s, name), i == 1);
    }
    assert_int_equal(server_readyz(&s), 200);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    workers_refuse(&s, false);
    wait_down(&s, "g@cpu:0/1", false);
    serve_rounds(&l, OF_F | OF_G);
    assert_int_equal(workers_number(&s, "cpu:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

/* A plugin says of its GPU with every batch that it is lost, and it is not: its lane is closed, and
 * opened again ever more rarely; the other lanes of the GPU serve, in the same process. */
static void a_gpu_is_said_to_be_lost(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_prepare_gpus(&s, cpu_and_gpu, two_steps("lost_gpu: true"));
    launch_with_log(&s);
    workers_join(&s, &l);
    for (uint32_t up = 0; up < 3; up = count_lines(&s, "a lane is up again", "g@cuda:0/0"))
        serve_at_once(&l, OF_F | OF_G, AT_ONCE);
    for (uint32_t i = 0; i < 100 && !server_row_number(&s, "lanes", "f@cuda:0/0", "rois"); i++)
        serve_rounds(&l, OF_F);
    assert_true(server_row_number(&s, "lanes", "f@cuda:0/0", "rois") > 0);
    assert_true(server_counter(&s, "retried") >= 3 * WORKERS_BATCH);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(workers_number(&s, "cuda:0/1", "deaths"), 0);
    for (uint32_t i = 0; i < 1000 && !is_down(&s, "g@cuda:0/0"); i++)
        serve_at_once(&l, OF_G, AT_ONCE);
    assert_true(is_down(&s, "g@cuda:0/0")); /* for 400 ms, which doubles */
    for (uint32_t i = 0; i < 20; i++) {
        serve_at_once(&l, OF_F | OF_G, AT_ONCE);
        workers_nap(100);
    }
    assert_in_range(count_lines(&s, "a lane is up again", "g@cuda:0/0"), 3, 8);
    assert_false(is_down(&s, "f@cuda:0/0"));
    assert_int_equal(server_readyz(&s), 200);
    assert_int_equal(server_counter(&s, "failed"), 0);
    assert_int_equal(workers_number(&s, "cuda:0/1", "deaths"), 0);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- a plugin that keeps dying */

/* Step g ends its worker with each RoI: it is taken out, and step f, in the same worker, serves on.
 * When it is well again it is back. */
static void a_step_that_keeps_dying(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    server_prepare(&s,
                   "devices: [{backend: cpu, lanes: 1}]\nworkers: {remember: 0}\n"
                   "batching: {max_rois: 8, max_age_us: 1000}\n" PATIENT,
                   two_steps(""));
    workers_launch(&s);
    workers_join(&s, &l);
    for (uint64_t i = 0; i < 20; i++) {
        const struct roi_spec bad = {.token = i, .roi_id = FAULT_CRASH, .n = 50, .l1_bits = OF_G};
        uint8_t result;

        link_send_rois(&l, &bad, 1);
        link_collect(&l, i, 1, &result);
        assert_int_equal(result & NOT_LATE, FAILED);
        if (i == 3) { /* the fourth: in a moment g is out */
            server_wait_counter(&s, "steps_down", 1);
            assert_int_equal(server_readyz(&s), 503);
        }
        serve(&l, OF_F);
    }
    assert_int_equal(server_counter(&s, "failed"), 20);
    assert_in_range(workers_number(&s, "cpu:0/1", "deaths"), 4, 8); /* not with each of 20 */
    server_wait_counter(&s, "steps_down", 0);
    serve(&l, OF_F | OF_G);
    assert_int_equal(server_readyz(&s), 200);
    link_end_well(&s, &l);
}

/* ---------------------------------------------------------------- devices that are lost */

/* A GPU is lost in service: CPU lanes serve all of its RoIs; a step that only a GPU may serve is
 * down, and /readyz says so. */
static void a_gpu_is_lost_in_service(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_prepare_gpus(
        &s,
        "devices: [{backend: cpu, lanes: 2}, {backend: cuda, index: 0, lanes: 1}]\n"
        "steps: [{step: g, backends: [cuda]}]\n" ONE_BATCH PATIENT,
        two_steps(""));
    workers_launch(&s);
    workers_join(&s, &l);
    serve(&l, OF_F | OF_G);
    assert_int_equal(server_readyz(&s), 200);
    workers_lose_gpu(&s, 0, true);
    for (uint32_t i = 0; i < 1000 && !workers_number(&s, "cuda:0/1", "deaths"); i++)
        serve_rounds(&l, OF_F);
    assert_true(workers_number(&s, "cuda:0/1", "deaths") > 0);
    serve_rounds(&l, OF_F);
    assert_true(is_down(&s, "f@cuda:0/0") && is_down(&s, "g@cuda:0/0"));
    assert_false(is_down(&s, "f@cpu:0/0") || is_down(&s, "f@cpu:0/1"));
    server_wait_counter(&s, "steps_down", 1);
    assert_int_equal(server_readyz(&s), 503);
    assert_int_equal(server_counter(&s, "failed"), 0);
    workers_lose_gpu(&s, 0, false);
    wait_down(&s, "g@cuda:0/0", false);
    server_wait_counter(&s, "steps_down", 0);
    assert_int_equal(server_readyz(&s), 200);
    serve(&l, OF_F | OF_G);
    link_end_well(&s, &l);
}

/* A GPU that is lost with its first kernel, while lanes warm up: the daemon starts on the CPU. */
static void a_gpu_is_lost_while_warming_up(void **state)
{
    struct server s;
    struct link l;

    (void)state;
    workers_prepare_gpus(&s, cpu_and_gpu, two_steps(""));
    workers_lose_kernels(&s, 0, true);
    workers_launch(&s);
    workers_join(&s, &l);
    assert_int_equal(server_readyz(&s), 200);
    assert_true(is_down(&s, "f@cuda:0/0") && is_down(&s, "g@cuda:0/0"));
    assert_false(is_down(&s, "f@cpu:0/0") || is_down(&s, "g@cpu:0/0"));
    serve_rounds(&l, OF_F | OF_G);
    workers_lose_kernels(&s, 0, false);
    wait_down(&s, "f@cuda:0/0", false);
    wait_down(&s, "g@cuda:0/0", false);
    serve_rounds(&l, OF_F | OF_G);
    assert_int_equal(server_counter(&s, "failed"), 0);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_does_not_open),
        cmocka_unit_test(a_lane_that_aborts_while_it_opens),
        cmocka_unit_test(one_lane_of_four),
        cmocka_unit_test(a_gpu_is_said_to_be_lost),
        cmocka_unit_test(a_step_that_keeps_dying),
        cmocka_unit_test(a_gpu_is_lost_in_service),
        cmocka_unit_test(a_gpu_is_lost_while_warming_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
