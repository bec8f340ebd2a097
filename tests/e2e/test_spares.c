/* SPDX-License-Identifier: Apache-2.0 */
/* Spares: processes that wait beside a worker with its device open, and take its place. */
#include <signal.h>
#include <string.h>

#include "sharer.h"
#include "workers.h"

#define LANE      "z@cuda:0/0"
#define TAKEOVERS 5u
#define AWAY      ((uint64_t)20 << 20) /* bytes: behind the piece of memory that opens first */

static const char menu_zfinder[] =
    "name: spares\n"
    "streams: [physics]\n"
    "steps: [{name: z, plugin: zfinder, params: {preset: pure}}]\n"
    "chains: [{name: c, id: 1, steps: [{step: z}], streams: [physics]}]\n";

/* Waits until a spare is there, and is another process than that. */
static long wait_spare(struct server *s, const char *worker, long not_this)
{
    long pid = 0;

    for (uint32_t i = 0; i < 2000 && (!pid || pid == not_this); i++) {
        workers_nap(5);
        pid = workers_number(s, worker, "spare");
    }
    assert_true(pid > 0 && pid != not_this);
    return pid;
}

/* A spare takes the place of a worker that ends, and another one that of the spare. */
static void a_spare(void **state)
{
    struct server s;
    struct link l;
    long spare;

    (void)state;
    workers_open(&s, &l,
                 "devices: [{backend: cpu, lanes: 1}]\nworkers: {spare: true}\n" ONE_BATCH PATIENT);
    spare = wait_spare(&s, "cpu:0/1", 0);
    for (long i = 1; i <= 2; i++) {
        const pid_t pid = workers_pid(&s, "cpu:0/1");

        assert_int_not_equal(pid, spare);
        assert_int_equal(kill(pid, SIGKILL), 0);
        workers_wait(&s, "cpu:0/1", "restarts", i);
        assert_int_equal(workers_number(&s, "cpu:0/1", "pid"), spare);
        spare = wait_spare(&s, "cpu:0/1", spare);
        workers_send(&l, 1000ul * (uint64_t)i, WORKERS_BATCH, 0);
        workers_expect(&l, 1000ul * (uint64_t)i, WORKERS_BATCH, 0);
    }
    assert_int_equal(workers_number(&s, "retry cpu:0/1", "spare"), 0);
    /* without it a process is started as ever */
    assert_int_equal(kill((pid_t)spare, SIGKILL), 0);
    workers_wait(&s, "cpu:0/1", "spare", 0);
    assert_int_equal(kill(workers_pid(&s, "cpu:0/1"), SIGKILL), 0);
    workers_wait(&s, "cpu:0/1", "restarts", 3);
    workers_send(&l, 9000, WORKERS_BATCH, 0);
    workers_expect(&l, 9000, WORKERS_BATCH, 0);
    wait_spare(&s, "cpu:0/1", spare);
    link_end_well(&s, &l);
}

/* One RoI of a client that shares memory, decided. */
static void decide(struct sharer *c, uint64_t token)
{
    const struct roi_spec one = {.token = token, .n = 500};

    sharer_send_rois(c, &one, 1);
    sharer_collect(c, token, 1, NULL);
}

/* A spare has mapped the memory of co-located clients and opened it to its GPU: the device reads
 * the first RoI there after it took the place of the worker.  A busy machine may not have let it.
 */
static void the_memory_of_clients_is_ready(void **state)
{
    struct server s;
    struct sharer c;
    uint64_t at, token = 0, before = 0, first = 0;
    void *address;
    long spare = 0;

    (void)state;
    sharer_gpu_server(
        &s, "devices: [{backend: cuda, index: 0, lanes: 1}]\nworkers: {spare: true}\n" PATIENT,
        menu_zfinder);
    sharer_open(&c, &s);
    sharer_hello(&c, "spares", 0);
    assert_int_equal(shmclient_take(c.client, AWAY, &at, &address), 0);
    memset(address, 1, AWAY);
    for (long i = 1; i <= (long)TAKEOVERS && first == before; i++) {
        spare = wait_spare(&s, "cuda:0/1", spare);
        for (uint32_t k = 0; k < 100 || sharer_pulled(&s, LANE) == 0; k++)
            decide(&c, token++);
        workers_nap(1000); /* it looks twice a second */
        before = sharer_pulled(&s, LANE);
        assert_int_equal(kill(workers_pid(&s, "cuda:0/1"), SIGKILL), 0);
        workers_wait(&s, "cuda:0/1", "restarts", i);
        assert_int_equal(workers_number(&s, "cuda:0/1", "pid"), spare);
        decide(&c, token++);
        first = sharer_pulled(&s, LANE);
    }
    assert_int_equal(first, before + 1);
    assert_int_equal(server_counter(&s, "failed"), 0);
    sharer_close(&c);
    server_end_well(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spare),
        cmocka_unit_test(the_memory_of_clients_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
