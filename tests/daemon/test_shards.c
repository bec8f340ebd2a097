/* SPDX-License-Identifier: Apache-2.0 */
/* What shards share, and what each gets: the directory of clients, parts of the configuration, sums
 * of counters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stats.h"
#include "config/config_shard.h"
#include "transport/directory.h"

/* ---------------------------------------------------------------- the directory */

static void clients_go_where_fewest_are(void **state)
{
    struct directory *d;

    (void)state;
    assert_int_equal(directory_new(3, 4, &d), 0);
    assert_int_equal(directory_place(d, "a", 1), 0);
    assert_int_equal(directory_place(d, "b", 1), 1); /* the first is expected at 0 */
    assert_int_equal(directory_place(d, NULL, 1), 2);
    assert_true(directory_enter(d, 0, "a", 1));
    assert_true(directory_enter(d, 1, "b", 1));
    assert_true(directory_enter(d, 1, "c", 1));
    assert_int_equal(directory_place(d, "c", 1), 1); /* where it was, though others have fewer */
    assert_false(directory_is_full(d));
    assert_true(directory_enter(d, 2, "d", 1));
    assert_true(directory_is_full(d));
    assert_false(directory_enter(d, 0, "e", 1));
    directory_leave(d, 1, "b", 1);
    assert_true(directory_enter(d, 0, "e", 1));
    directory_free(d);
}

/* Shards share their credits by weight, each by itself: so weights are spread, and not heads. */
static void weights_are_spread(void **state)
{
    struct directory *d;

    (void)state;
    assert_int_equal(directory_new(2, 16, &d), 0);
    assert_int_equal(directory_place(d, "heavy", 4), 0);
    assert_true(directory_enter(d, 0, "heavy", 4));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(directory_place(d, NULL, 1), 1);
        assert_true(directory_enter(d, 1, "light", 1));
    }
    assert_int_equal(directory_place(d, NULL, 1), 0);
    directory_leave(d, 0, "heavy", 4);
    assert_int_equal(directory_place(d, NULL, 2), 0);
    directory_free(d);
}

/* Names with the same hash do not displace each other before there are many; who was there lately
 * is remembered longest. */
static void names_are_remembered(void **state)
{
    struct directory *d;
    char name[16];

    (void)state;
    assert_int_equal(directory_new(3, 100000, &d), 0);
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "name %u", i);
        assert_true(directory_enter(d, i % 3, name, 1));
    }
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "name %u", i);
        assert_int_equal(directory_place(d, name, 1), i % 3);
    }
    for (uint32_t i = 0; i < 50000; i++) {
        snprintf(name, sizeof name, "other %u", i);
        assert_true(directory_enter(d, 0, name, 1));
    }
    directory_leave(d, 2, "name 2", 1); /* it was there all the time */
    assert_int_equal(directory_place(d, "name 2", 1), 2);
    assert_true(directory_enter(d, 1, "name 2", 1)); /* it came back elsewhere before it left */
    directory_leave(d, 2, "name 2", 1);
    assert_int_equal(directory_place(d, "name 2", 1), 1);
    directory_free(d);
}

static void connections_are_handed_over(void **state)
{
    int wake = eventfd(0, EFD_NONBLOCK), first = eventfd(0, 0), n = 0;
    struct directory *d;
    char packet[16];
    uint64_t rung;
    uint32_t bytes;

    (void)state;
    assert_int_equal(directory_new(2, 4, &d), 0);
    directory_listen(d, 1, wake);
    assert_int_equal(directory_handed(d, 1, packet, &bytes), -1);
    assert_true(directory_hand(d, 1, first, "Hello", 6));
    assert_int_equal(read(wake, &rung, sizeof rung), sizeof rung);
    while (n < 1000) {
        int fd = dup(first);

        n++;
        if (directory_hand(d, 1, fd, "", 1))
            continue;
        close(fd); /* it stays the caller's */
        break;
    }
    assert_true(n > 10 && n < 1000);
    assert_int_equal(directory_handed(d, 0, packet, &bytes), -1);
    assert_int_equal(directory_handed(d, 1, packet, &bytes), first); /* the oldest */
    assert_int_equal(bytes, 6);
    assert_string_equal(packet, "Hello");
    close(first);
    directory_free(d); /* closes the others */
    close(wake);
}

/* ---------------------------------------------------------------- the configuration */

static void check_part(const struct config *c, uint32_t number, const char *tcp, const char *ipc)
{
    struct config part = {0};

    assert_int_equal(config_shard(c, number, 3, &part), 0);
    assert_string_equal(part.endpoints[0], tcp);
    assert_string_equal(part.endpoints[1], ipc);
    assert_string_equal(part.endpoints[2], "shm:///run/shm");
    assert_string_equal(part.endpoints[3], "tcp://*:*");
    assert_int_equal(part.pool.rois, 333);
    assert_int_equal(part.pool.mbytes, 64); /* the power of two below a third of 256 */
    assert_int_equal(part.threads.zmq_threads, 1);
    config_shard_free(&part);
}

static void each_shard_has_its_part(void **state)
{
    char tcp[] = "tcp://127.0.0.1:5700", ipc[] = "ipc:///run/in", shm[] = "shm:///run/shm",
         any[] = "tcp://*:*", high[] = "tcp://127.0.0.1:65534";
    char *endpoints[] = {tcp, ipc, shm, any};
    struct config c = {.endpoints = endpoints, .n_endpoints = 4}, part = {0};

    (void)state;
    c.pool.rois = 1000;
    c.pool.mbytes = 256;
    c.threads.zmq_threads = 2;
    c.clients.max_items = 1u << 19; /* 32 MiB: twice into 64 */
    check_part(&c, 0, "tcp://127.0.0.1:5700", "ipc:///run/in");
    check_part(&c, 2, "tcp://127.0.0.1:5702", "ipc:///run/in.2");
    assert_true(config_shard_fits(&c, 3));
    assert_false(config_shard_fits(&c, 5));
    endpoints[0] = high;
    assert_int_equal(config_shard(&c, 1, 3, &part), 0);
    config_shard_free(&part);
    assert_int_equal(config_shard(&c, 2, 3, &part), -ERANGE);
}

/* ---------------------------------------------------------------- counters */

static struct stats *make_stats(uint64_t n)
{
    struct stats *s;

    assert_int_equal(stats_new(&s), 0);
    stats_set(&s->g.received, 3 * n);
    stats_set(&s->g.accepted, n);
    stats_set(&s->g.rejected, n);
    stats_set(&s->g.in_flight, n);
    stats_set(&s->g.steps_down, n);
    stats_set(&s->g.menu_generation, 7);
    stats_set(&stats_chain_get(s, "chain")->pass, n);
    stats_set(&stats_lane_get(s, "lane", "device", 2)->rois, n);
    latency_add(&stats_lane_get(s, "lane", "device", 2)->latency, 1000 * n);
    stats_set(&stats_client_get(s, "client")->received, n);
    return s;
}

static void counters_are_summed(void **state)
{
    const struct stats_set set = {.n = 3, .of = {make_stats(1), make_stats(20), make_stats(300)}};
    struct stats_ledger l;
    struct stats *sum;

    (void)state;
    assert_int_equal(stats_new(&sum), 0);
    stats_sum(&set, sum);
    stats_ledger(&sum->g, &l);
    assert_int_equal(l.received, 963);
    assert_int_equal(l.imbalance, 0);
    assert_int_equal(stats_get(&sum->g.menu_generation), 7); /* of one menu */
    assert_int_equal(stats_get(&sum->g.steps_down), 300);
    assert_string_equal(sum->chain[0].name, "chain");
    assert_int_equal(stats_get(&sum->chain[0].pass), 321);
    assert_string_equal(sum->lane[0].device, "device");
    assert_int_equal(stats_get(&sum->lane[0].rois), 321);
    assert_int_equal(sum->lane[0].slots, 2);
    assert_int_equal(stats_get(&sum->lane[0].latency.count), 3);
    assert_int_equal(stats_get(&sum->lane[0].latency.max_ns), 300000);
    for (uint32_t i = 0; i < 3; i++) { /* one in each shard, each with its own row */
        static const uint64_t want[] = {1, 20, 300};

        assert_string_equal(sum->client[i].name, "client");
        assert_int_equal(stats_get(&sum->client[i].received), want[i]);
    }
    assert_false(atomic_load(&sum->client[3].used));
    for (uint32_t i = 0; i < 3; i++)
        stats_free(set.of[i]);
    stats_free(sum);
}

/* The place of a lane is free when all generations that have it are gone; until then its counts go
 * on.  A lane that takes the place begins with none. */
static void lanes_that_are_gone_make_room(void **state)
{
    struct stats *s = make_stats(5); /* two generations have its lane */
    struct stats_lane *l = &s->lane[0];
    char name[STATS_NAME];

    (void)state;
#ifdef __SANITIZE_THREAD__ /* one thread, and 19 million comparisons of names */
    stats_free(s);
    skip();
#endif
    for (uint32_t i = 1; i < STATS_LANES_MAX; i++) {
        snprintf(name, sizeof name, "lane %u", i);
        assert_ptr_equal(stats_lane_get(s, name, "device", 1), &s->lane[i]);
    }
    assert_null(stats_lane_get(s, "one more", "device", 1));
    stats_lane_put(l);
    assert_null(stats_lane_get(s, "one more", "device", 1));
    assert_int_equal(stats_get(&l->rois), 5);
    stats_lane_put(l);
    assert_false(atomic_load(&l->used));
    assert_ptr_equal(stats_lane_get(s, "one more", "device", 1), l);
    assert_int_equal(stats_get(&l->rois), 0);
    assert_int_equal(stats_get(&l->latency.count), 0);
    stats_free(s);
}

/* A step that no generation has keeps its counts until the table is full; then the one that was
 * left first makes room.  Those in use stay. */
static void steps_that_are_gone_make_room(void **state)
{
    struct stats *s = make_stats(5);
    struct stats_step *step[STATS_STEPS_MAX];
    char name[STATS_NAME];

    (void)state;
    for (uint32_t i = 0; i < STATS_STEPS_MAX; i++) {
        snprintf(name, sizeof name, "step %u", i);
        step[i] = stats_step_get(s, name, "plugin");
        assert_ptr_equal(step[i], &s->step[i]);
        stats_set(&step[i]->rois, i);
    }
    assert_null(stats_step_get(s, "one more", "plugin"));
    stats_step_put(step[9]);
    stats_step_put(step[4]);
    assert_ptr_equal(stats_step_get(s, "step 9", "another"), step[9]); /* its counts go on */
    assert_int_equal(stats_get(&step[9]->rois), 9);
    assert_string_equal(step[9]->plugin, "another");
    stats_step_put(step[9]); /* after step 4 now */
    assert_ptr_equal(stats_step_get(s, "one more", "plugin"), step[4]);
    assert_string_equal(step[4]->name, "one more");
    assert_int_equal(stats_get(&step[4]->rois), 0);
    assert_ptr_equal(stats_step_get(s, "two more", "plugin"), step[9]);
    assert_null(stats_step_get(s, "three more", "plugin"));
    stats_free(s);
}

/* The same for chains: a name that two generations have is in use until both are gone. */
static void chains_that_are_gone_make_room(void **state)
{
    struct stats *s = make_stats(5);
    struct stats_chain *c = &s->chain[0];
    char name[STATS_NAME];

    (void)state;
    assert_ptr_equal(stats_chain_get(s, "chain"), c);
    for (uint32_t i = 1; i < STATS_CHAINS_MAX; i++) {
        snprintf(name, sizeof name, "chain %u", i);
        assert_ptr_equal(stats_chain_get(s, name), &s->chain[i]);
    }
    stats_chain_put(c);
    assert_null(stats_chain_get(s, "one more"));
    stats_chain_put(c);
    assert_int_equal(stats_get(&c->pass), 5);
    assert_ptr_equal(stats_chain_get(s, "one more"), c);
    assert_int_equal(stats_get(&c->pass), 0);
    stats_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clients_go_where_fewest_are),
                                       cmocka_unit_test(weights_are_spread),
                                       cmocka_unit_test(names_are_remembered),
                                       cmocka_unit_test(connections_are_handed_over),
                                       cmocka_unit_test(each_shard_has_its_part),
                                       cmocka_unit_test(counters_are_summed),
                                       cmocka_unit_test(lanes_that_are_gone_make_room),
                                       cmocka_unit_test(steps_that_are_gone_make_room),
                                       cmocka_unit_test(chains_that_are_gone_make_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
