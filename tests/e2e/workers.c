/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char workers_one_lane[] = "devices: [{backend: cpu, lanes: 1}]\n" ONE_BATCH PATIENT;
const char workers_menu[] =
    "name: workers\n"
    "streams: [physics]\n"
    "steps: [{name: f, plugin: fault}]\n"
    "chains:\n"
    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}],\n"
    "     prescale: 1, streams: [physics]}\n";

void workers_open(struct server *s, struct link *l, const char *config)
{
    server_start(s, config, workers_menu);
    link_open(l, s);
    link_hello(l, "workers", 0);
}

void workers_send(struct link *l, uint64_t first, uint32_t at, uint32_t fault)
{
    struct roi_spec specs[WORKERS_BATCH];

    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        specs[i] =
            (struct roi_spec){.token = first + i, .roi_id = i == at ? fault : i + 1, .n = 50};
    link_send_rois(l, specs, WORKERS_BATCH);
}

void workers_expect(struct link *l, uint64_t first, uint32_t at, uint8_t answer)
{
    uint8_t result[WORKERS_BATCH];

    link_collect(l, first, WORKERS_BATCH, result);
    for (uint32_t i = 0; i < WORKERS_BATCH; i++)
        assert_int_equal(result[i] & NOT_LATE, i == at ? answer : 1);
}

long workers_number(struct server *s, const char *worker, const char *key)
{
    return (long)server_row_number(s, "workers", worker, key);
}

void workers_nap(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

void workers_wait(struct server *s, const char *worker, const char *key, long value)
{
    for (uint32_t i = 0; i < 1000; i++) {
        if (workers_number(s, worker, key) == value)
            return;
        workers_nap(20);
    }
    fail_msg("%s of %s did not become %ld", key, worker, value);
}
