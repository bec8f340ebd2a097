/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that gather socket messages: the same answers as without, a bad value costs its own RoI,
 * and a worker that ends while they work costs nobody anything. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer.h"
#include "workers.h"

#define ROIS   32u /* of 2 KB to 50 KB: batches are worth a thread's while, but for the last */
#define VALUES 16u
#define KILLS  3

static const char menu_zfinder[] = "name: gather\n"
                                   "streams: [physics]\n"
                                   "steps:\n"
                                   "  - {name: z, plugin: zfinder, params: {preset: pure}}\n"
                                   "chains:\n"
                                   "  - {name: c, id: 1, steps: [{step: z}], streams: [physics]}\n";
#define LANES "devices: [{backend: cpu, lanes: 2, slots: 3}]\nbatching: {max_rois: 4}\n" PATIENT
static const char alone[] = LANES;
static const char threads[] = LANES "threads: {gather_threads: 2, shards: 2}\n";

static uint32_t points_of(uint32_t i)
{
    return 150 + i * (ROI_MAX_POINTS - 150) / ROIS;
}

/* Sums a counter over all lanes. */
static unsigned long of_lanes(struct server *s, const char *key)
{
    char *text = server_ask(s, "show lanes json"), want[32];
    unsigned long sum = 0;

    snprintf(want, sizeof want, "\"%s\":", key);
    for (const char *at = text; (at = strstr(at, want)) != NULL;) {
        at += strlen(want);
        sum += strtoul(at, NULL, 10);
    }
    free(text);
    return sum;
}

static void send_all(struct link *l)
{
    struct roi_spec specs[ROIS];

    for (uint32_t i = 0; i < ROIS; i++)
        specs[i] = (struct roi_spec){.token = 1 + i, .l1id = i, .roi_id = i, .n = points_of(i)};
    for (uint32_t i = 0; i < ROIS; i += 8)
        link_send_rois(l, specs + i, 8);
}

/* The values that each RoI got. */
static void collect_values(struct link *l, float value[ROIS][VALUES])
{
    memset(value, 0, ROIS * sizeof *value);
    for (uint32_t n = 0; n < ROIS;) {
        const Trigd__V1__FromDaemon *m = link_receive(l, 60000);

        assert_non_null(m);
        if (m->body_case != TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
            continue;
        for (size_t i = 0; i < m->decisions->n_decisions; i++, n++) {
            const Trigd__V1__Decision *d = m->decisions->decisions[i];

            assert_in_range(d->token, 1, ROIS);
            assert_int_equal(d->n_results, 1);
            assert_in_range(d->results[0]->n_values, 1, VALUES);
            memcpy(value[d->token - 1], d->results[0]->values,
                   d->results[0]->n_values * sizeof(float));
        }
    }
}

static unsigned long decide_all(const char *config, float value[ROIS][VALUES])
{
    struct server s;
    struct link l;
    unsigned long gathered;

    server_start(&s, config, menu_zfinder);
    link_open(&l, &s);
    link_hello(&l, "gather", 0);
    send_all(&l);
    collect_values(&l, value);
    gathered = of_lanes(&s, "gathered");
    link_end_well(&s, &l);
    return gathered;
}

static void the_same_answers(void **state)
{
    static float without[ROIS][VALUES], with[ROIS][VALUES];

    (void)state;
    assert_int_equal(decide_all(alone, without), 0);
    assert_true(decide_all(threads, with) > 0);
    assert_memory_equal(with, without, sizeof with);
}

/* Among large RoIs one has a layer that there is not. */
static void a_bad_value(void **state)
{
    enum { BATCH = 8, BAD = 5 };
    static uint8_t layer[ROI_MAX_POINTS];
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi[BATCH], *list[BATCH];
    Trigd__V1__Spacepoints points[BATCH];
    uint32_t decided = 0, refused = 0;
    struct server s;
    struct link l;

    (void)state;
    server_start(&s, threads, menu_zfinder);
    link_open(&l, &s);
    link_hello(&l, "gather", 0);
    for (uint32_t i = 0; i < BATCH; i++) {
        const struct roi_spec spec = {.token = 1 + i, .roi_id = i, .n = ROI_MAX_POINTS};

        roi_fill(&roi[i], &points[i], &spec);
        list[i] = &roi[i];
    }
    layer[ROI_MAX_POINTS - 1] = 200;
    points[BAD].layer.data = layer;
    batch.n_rois = BATCH;
    batch.rois = list;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    link_send(&l, &m);
    while (decided + refused < BATCH) {
        const Trigd__V1__FromDaemon *a = link_receive(&l, 60000);

        assert_non_null(a);
        if (a->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS) {
            for (size_t i = 0; i < a->decisions->n_decisions; i++, decided++)
                assert_int_not_equal(a->decisions->decisions[i]->token, 1 + BAD);
        } else if (a->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
            assert_int_equal(a->error->token, 1 + BAD);
            assert_non_null(strstr(a->error->text, "layer"));
            refused++;
        }
    }
    assert_int_equal(refused, 1);
    assert_true(of_lanes(&s, "gathered") > 0);
    link_end_well(&s, &l);
}

/* Workers are killed while large messages come: each RoI is answered, and the ledger balances. */
static void after_kills(void **state)
{
    static const char *const options[] = {
        "--preset", "highlum", "--rois", "600",     "--distinct", "20", "--pace",
        "rate:300", "--batch", "4",      "--truth", "none",       NULL};
    static const char config[] =
        "devices: [{backend: cpu, lanes: 2, slots: 3}]\nbatching: {max_rois: 8}\n"
        "threads: {gather_threads: 2}\n" PATIENT;
    struct server s;
    pid_t replayer;

    (void)state;
    server_start(&s, config, workers_menu);
    replayer = replayer_start(&s, s.endpoint, "report.json", options);
    for (int i = 0; i < KILLS; i++) {
        const unsigned long before = of_lanes(&s, "gathered");
        long pid = 0;

        for (uint32_t k = 0; k < 2000 && (!pid || of_lanes(&s, "gathered") == before); k++) {
            workers_nap(5);
            pid = workers_number(&s, "cpu:0/1", "pid");
        }
        assert_true(pid > 0 && of_lanes(&s, "gathered") > before); /* it is in the middle of it */
        assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
        workers_wait(&s, "cpu:0/1", "deaths", i + 1);
    }
    replayer_end(replayer);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_answers),
        cmocka_unit_test(a_bad_value),
        cmocka_unit_test(after_kills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
