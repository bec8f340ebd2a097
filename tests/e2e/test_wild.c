/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that writes over the memory that its worker shares with the daemon: every RoI is
 * answered, and the accounts are exact. */
#include "seed.h"
#include "workers.h"

#define ROIS  400u
#define WILD  199u /* every so many of them */
#define TRIES 40u
#define NAP   250l /* ms */

/* Two lanes, so that what one writes over is the other's as well; a hang is seen soon. */
static const char two_lanes[] = "devices: [{backend: cpu, index: 0, lanes: 2, slots: 3}]\n"
                                "batching: {max_rois: 8, max_age_us: 500, eager: true}\n"
                                "workers: {hang_ms: 1000}\n" PATIENT;

static bool is_wild(uint32_t i)
{
    return i % WILD == 5;
}

static bool is_accepted(uint32_t i)
{
    return i * i % 7 < 3;
}

/* RoIs that are to be accepted and others, in no order that batches have, and wild ones if `fault`
 * is not 0, their numbers from `l1id` on. */
static void send_mixed(struct link *l, uint64_t first, uint32_t fault, uint32_t l1id,
                       uint8_t *ret_result)
{
    struct roi_spec spec[ROIS];

    for (uint32_t i = 0; i < ROIS; i++)
        spec[i] = (struct roi_spec){.token = first + i,
                                    .l1id = l1id + i,
                                    .roi_id = fault && is_wild(i) ? fault : 1,
                                    .n = is_accepted(i) ? 50 : 5};
    for (uint32_t i = 0; i < ROIS; i += WORKERS_BATCH)
        link_send_rois(l, &spec[i], WORKERS_BATCH);
    link_collect(l, first, ROIS, ret_result);
}

/* How many failed; the others have the answer that is right. */
static uint32_t count_failed(const uint8_t *result)
{
    uint32_t failed = 0;

    for (uint32_t i = 0; i < ROIS; i++) {
        failed += (result[i] & NOT_LATE) == FAILED;
        if ((result[i] & NOT_LATE) != FAILED)
            assert_int_equal(result[i] & NOT_LATE, is_accepted(i));
    }
    return failed;
}

/* The worker may rest, or still hang; then nothing fails any more. */
static void await_good_answers(struct link *l)
{
    uint8_t result[ROIS];
    uint32_t failed = 1;

    for (uint32_t i = 0; i < TRIES && failed; i++) {
        workers_nap(NAP);
        send_mixed(l, 10000 * (i + 1), 0, 0, result);
        failed = count_failed(result);
    }
    assert_int_equal(failed, 0);
}

/* What it does is seen while its batch runs, and by itself: no other RoI is taken for the culprit,
 * and what it spoils of others is made again. */
static void heads_are_written_over(void **state)
{
    struct server s;
    struct link l;
    uint8_t result[ROIS];

    (void)state;
    workers_open(&s, &l, two_lanes);
    send_mixed(&l, 1000, FAULT_WILD, 0, result);
    for (uint32_t i = 0; i < ROIS; i++)
        assert_int_equal(result[i] & NOT_LATE, is_wild(i) ? FAILED : is_accepted(i));
    await_good_answers(&l);
    link_end_well(&s, &l);
}

/* Results of its worker may be anything then, but none is lost, and those after it are right. */
static void words_are_written_over(void **state)
{
    struct server s;
    struct link l;
    uint8_t result[ROIS];
    const uint32_t seed = (uint32_t)fresh_seed();

    (void)state;
    workers_open(&s, &l, two_lanes);
    for (uint32_t i = 0; i < 5; i++)
        send_mixed(&l, 1000 + i * ROIS, FAULT_SCATTER, seed + i * ROIS, result);
    await_good_answers(&l);
    link_end_well(&s, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_written_over),
        cmocka_unit_test(words_are_written_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
