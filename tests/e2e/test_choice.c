/* SPDX-License-Identifier: Apache-2.0 */
/* Which device has the next batch: a slow one beside a fast one gets so few RoIs that the slowest
 * hundredth of them all is not its work, and equal ones share when there is little to do. */
#include <stdio.h>

#include "workers.h"

#define ROIS  160u
#define GPUS  8u /* of fakegpu.c */
#define TURNS 5u

#define CHAINS                                                                \
    "chains:\n"                                                               \
    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n" \
    "     prescale: 1, streams: [physics]}\n"
#define MENU(params)       \
    "name: choice\n"       \
    "streams: [physics]\n" \
    "steps: [{name: f, plugin: fault, params: " params "}]\n" CHAINS
#define EAGER "batching: {max_rois: 8, max_age_us: 200, eager: true}\n"

/* Starts a server on the CPU and made-up GPUs. */
static void run(struct server *s, struct link *l, const char *config, const char *menu)
{
    workers_prepare_gpus(s, config, menu);
    workers_launch(s);
    workers_join(s, l);
}

/* Sends RoIs, so many at a time. */
static void send_by(struct link *l, uint64_t first, uint32_t together)
{
    for (uint32_t i = 0; i < ROIS; i += together) {
        for (uint32_t k = 0; k < together; k++) {
            const struct roi_spec spec = {.token = first + i + k, .roi_id = 1, .n = 50};

            link_send_rois(l, &spec, 1);
        }
        link_collect(l, first + i, together, NULL);
    }
}

static uint64_t rois_of(struct server *s, const char *lane)
{
    return server_row_number(s, "lanes", lane, "rois");
}

static void a_slow_device_gets_next_to_nothing(void **state)
{
    uint64_t slow = UINT64_MAX, fast = 0;
    struct server s;
    struct link l;

    (void)state;
    run(&s, &l,
        "devices: [{backend: cpu, lanes: 1}, {backend: cuda, index: 0, lanes: 1}]\n" EAGER PATIENT,
        MENU("{gpu_us: 500, host_us: 20000}"));
    /* on a busy host the fast device may be the slow one for a while */
    for (uint32_t turn = 0; turn < TURNS && slow > 2 * ROIS / 100; turn++) {
        const uint64_t cpu = rois_of(&s, "f@cpu:0/0"), gpu = rois_of(&s, "f@cuda:0/0");

        send_by(&l, 100000 * (turn + 1), 1);
        send_by(&l, 100000 * (turn + 1) + ROIS, 2);
        slow = rois_of(&s, "f@cpu:0/0") - cpu;
        fast = rois_of(&s, "f@cuda:0/0") - gpu;
        printf("%lu of %u on the slow one\n", (unsigned long)slow, 2 * ROIS);
    }
    assert_true(slow <= 2 * ROIS / 100);
    assert_true(fast >= 2 * ROIS * 99 / 100);
    link_end_well(&s, &l);
}

/* Starts two devices, of which the fast one has one bad moment when little is known of it; returns
 * how many RoIs the slow one gets after it. */
static uint64_t of_the_slow_one(void)
{
    const struct roi_spec one = {.n = 50}, stall = {.roi_id = FAULT_STALL, .n = 50};
    struct server s;
    struct link l;
    uint64_t n;

    run(&s, &l,
        "devices: [{backend: cpu, lanes: 1}, {backend: cuda, index: 0, lanes: 1}]\n" EAGER PATIENT,
        MENU("{gpu_us: 500, host_us: 20000, stall_ms: 500}"));
    for (uint32_t i = 0; i < 5; i++) {
        link_send_rois(&l, i == 4 ? &stall : &one, 1);
        link_collect(&l, 0, 1, NULL);
    }
    send_by(&l, 10000, 1);
    n = rois_of(&s, "f@cpu:0/0");
    link_end_well(&s, &l);
    printf("%lu of %u on the slow one\n", (unsigned long)n, ROIS + 5);
    return n;
}

static void a_bad_moment_is_forgiven(void **state)
{
    uint32_t turn = 1;

    (void)state;
    while (of_the_slow_one() > 2 * ROIS / 100) /* on a busy host it may have more of them */
        assert_true(turn++ < TURNS);
}

static void equal_devices_share_what_there_is(void **state)
{
    struct server s;
    struct link l;
    uint32_t busy = 0;

    (void)state;
    run(&s, &l, "devices: [{backend: cuda, all: true, lanes: 1}]\n" EAGER PATIENT,
        MENU("{gpu_us: 4000}"));
    /* one that had a bad moment is left alone for a second: on a busy host that may be most */
    for (uint32_t turn = 0; turn < TURNS && busy < GPUS / 2; turn++) {
        send_by(&l, 10000 * (turn + 1), 1); /* there is never more than one RoI */
        busy = 0;
        for (uint32_t i = 0; i < GPUS; i++) {
            char lane[32];

            snprintf(lane, sizeof lane, "f@cuda:%u/0", i);
            busy += rois_of(&s, lane) >= ROIS / GPUS / 4;
        }
    }
    printf("%u of %u GPUs had their part\n", busy, GPUS);
    assert_true(busy >= GPUS / 2);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_device_gets_next_to_nothing),
        cmocka_unit_test(a_bad_moment_is_forgiven),
        cmocka_unit_test(equal_devices_share_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
