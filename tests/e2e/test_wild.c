/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that writes over the memory that its worker shares with the daemon: every RoI is
 * answered by what was made of it, or as one that failed, and the accounts are exact. */
#include <stdio.h>

#include "workers.h"

#define ROIS  400u
#define WILD  199u /* every so many of them */
#define TRIES 40u
#define NAP   250l /* ms */

/* Two lanes, so that what one writes over is the other's as well; a hang is seen soon. */
static const char two_lanes[] = "devices: [{backend: cpu, index: 0, lanes: 2, slots: 3}]\n"
                                "batching: {max_rois: 8, max_age_us: 500, eager: true}\n"
                                "workers: {hang_ms: 1000}\n" PATIENT;

/* RoIs that are to be accepted and others, in no order that batches have; returns how many failed.
 */
static uint32_t send_mixed(struct link *l, uint64_t first, uint32_t wild)
{
    struct roi_spec spec[ROIS];
    uint8_t result[ROIS];
    uint32_t failed = 0;

    for (uint32_t i = 0; i < ROIS; i++)
        spec[i] = (struct roi_spec){.token = first + i,
                                    .roi_id = wild && i % wild == 5 ? FAULT_WILD : 1,
                                    .n = i * i % 7 < 3 ? 50 : 5};
    for (uint32_t i = 0; i < ROIS; i += WORKERS_BATCH)
        link_send_rois(l, &spec[i], WORKERS_BATCH);
    link_collect(l, first, ROIS, result);
    for (uint32_t i = 0; i < ROIS; i++) {
        failed += (result[i] & NOT_LATE) == FAILED;
        if ((result[i] & NOT_LATE) != FAILED)
            assert_int_equal(result[i] & NOT_LATE, spec[i].n == 50);
    }
    return failed;
}

static void what_is_shared_is_written_over(void **state)
{
    struct server s;
    struct link l;
    uint32_t failed = 1;

    (void)state;
    workers_open(&s, &l, two_lanes);
    printf("%u of %u failed\n", send_mixed(&l, 1000, WILD), ROIS);
    for (uint32_t i = 0; i < TRIES && failed; i++) { /* the worker may rest, or still hang */
        workers_nap(NAP);
        failed = send_mixed(&l, 10000 * (i + 1), 0);
    }
    assert_int_equal(failed, 0);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shared_is_written_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
