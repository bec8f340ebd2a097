/* SPDX-License-Identifier: Apache-2.0 */
/* A co-located client changes its RoIs while a device reads them: each is decided on values that
 * passed the checks, fails, or is refused, and the accounts are exact. */
#include <stdio.h>

#include "clock.h"
#include "sanitized.h"
#include "sharer.h"
#include "workers.h"

#define LANE   "z@cuda:0/0"
#define POINTS 3000u
#define LEAST  sanitized_share(100) /* RoIs */
#define MOST   2000u
#define WRITES 4000u /* for each */

static const char config[] = "devices: [{backend: cuda, index: 0, lanes: 1}]\n"
                             "clients: {max_layer: 7, heartbeat_ms: 20000}\n" PATIENT_LIMITS;
static const char menu[] = "name: scribble\n"
                           "streams: [physics]\n"
                           "steps: [{name: z, plugin: zfinder, params: {preset: pure}}]\n"
                           "chains: [{name: c, id: 1, steps: [{step: z}], streams: [physics]}]\n";

/* Writes good and bad values over an RoI that the daemon has, and leaves either. */
static void change(float *phi, uint64_t seed)
{
    volatile float *value = &phi[POINTS - 1];
    volatile unsigned char *layer =
        (unsigned char *)phi + shm_column(TRG_SPACEPOINTS, false, POINTS, 3);
    const float good = *value;

    for (uint32_t i = 0; i < WRITES; i++) {
        seed = seed * 6364136223846793005u + 1;
        *value = seed >> 63 ? 1e30f : good;
        *layer = seed >> 62 & 1 ? 255 : 1;
    }
}

/* Sends one RoI, changes it, and waits for its answer; whether it was decided. */
static bool send_and_change(struct sharer *c, uint64_t token)
{
    const struct roi_spec spec = {.token = token, .n = POINTS};
    float *phi;
    const struct shm_roi e = sharer_write(c, &spec, &phi);
    const Trigd__V1__FromDaemon *m;

    sharer_put(c, &e);
    change(phi, token);
    do {
        m = sharer_receive(c, 10000, NULL);
        assert_non_null(m);
    } while (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_CREDIT);
    shmclient_give(c->client, e.in[0].at, shm_collection_bytes(TRG_SPACEPOINTS, false, POINTS));
    if (m->body_case == TRIGD__V1__FROM_DAEMON__BODY_ERROR) {
        assert_int_equal(m->error->token, token);
        return false;
    }
    assert_int_equal(m->body_case, TRIGD__V1__FROM_DAEMON__BODY_DECISIONS);
    assert_int_equal(m->decisions->n_decisions, 1);
    assert_int_equal(m->decisions->decisions[0]->token, token);
    return true;
}

static void what_a_device_reads_is_changed(void **state)
{
    struct server s;
    struct sharer c;
    uint64_t sent = 0, decided = 0;

    (void)state;
    sharer_gpu_server(&s, config, menu);
    sharer_open(&c, &s);
    sharer_hello(&c, "scribbler", 0);
    while (sent < MOST &&
           (sent < LEAST || !sharer_pulled(&s, LANE) || decided == 0 || decided == sent))
        decided += send_and_change(&c, sent++);
    printf("%lu sent, %lu decided, %lu batches pulled\n", (unsigned long)sent,
           (unsigned long)decided, (unsigned long)sharer_pulled(&s, LANE));
    assert_true(sharer_pulled(&s, LANE) > 0 && decided > 0 && decided < sent);
    assert_int_equal(server_counter(&s, "accepted") + server_counter(&s, "failed"), sent);
    assert_int_equal(server_counter(&s, "errors"), sent - decided);
    sharer_close(&c);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_device_reads_is_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
