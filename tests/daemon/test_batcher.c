/* SPDX-License-Identifier: Apache-2.0 */
/* When batches close, with lanes that only keep their books. */
#include "fake_step.h"

static void empty(struct fake *f)
{
    for (uint32_t i = 0; i < CAPACITY; i++)
        batcher_remove(&f->step, i, 10);
    f->step.n_waiting = 0;
    f->step.n_items = 0;
}

/* RoIs that have waited since then, of 10 items each. */
static void wait_since(struct fake *f, uint64_t since_ns, uint32_t n)
{
    empty(f);
    for (uint32_t i = 0; i < n; i++)
        batcher_put(&f->step, i, MENU_NORMAL, 10, since_ns);
}

/* Why the waiting batch may close then, for the lane that is chosen. */
static stats_u64 *closes(struct fake *f, uint64_t now)
{
    return batcher_closes(&f->step, batcher_lane(&f->step, now), now);
}

/* Gives the waiting RoIs to the lane that is chosen. */
static struct lane *close_batch(struct fake *f, uint64_t now)
{
    struct lane *lane = batcher_lane(&f->step, now);

    assert_non_null(lane);
    lane_begin(lane);
    batcher_out(&f->step, now);
    lane_submit(lane, now);
    empty(f);
    return lane;
}

/* The runners are through with all that they have. */
static void begin_all(struct fake *f)
{
    for (uint32_t i = 0; i < LANES; i++)
        atomic_store(&arena_link(&f->lane[i].arena)->begun, f->lane[i].load.submitted);
}

/* The runner of a lane ends its oldest batch. */
static void end_batch(struct fake *f, struct lane *lane, uint64_t begun_ns, uint64_t ended_ns)
{
    struct arena_batch *b = arena_batch(&lane->arena, lane->first);
    struct lane_done done;

    b->begun_ns = begun_ns;
    b->ended_ns = ended_ns;
    atomic_store(&b->done, b->sequence);
    assert_true(lane_finished(lane, &done));
    batcher_back(&f->step, done.ended_ns - done.begun_ns);
    lane_release(lane, &done);
}

static void closes_by_its_limits(void **state)
{
    struct fake *f = fake_new(false);
    const struct lane *lane = &f->lane[0];

    (void)state;
    assert_true(batcher_due_ns(&f->step, 1010 * US) == UINT64_MAX);
    wait_since(f, 1000 * US, 3);
    assert_null(batcher_closes(&f->step, lane, 1199 * US));
    assert_ptr_equal(batcher_closes(&f->step, lane, 1200 * US), &f->stats.closed_age);
    assert_true(batcher_due_ns(&f->step, 1010 * US) == 1200 * US);
    assert_false(batcher_has_work(&f->step, 1000 * US));
    wait_since(f, 1000 * US, 4);
    assert_ptr_equal(batcher_closes(&f->step, lane, 1000 * US), &f->stats.closed_full);
    wait_since(f, 1000 * US, 2);
    f->step.n_items = 1000;
    assert_ptr_equal(batcher_closes(&f->step, lane, 1000 * US), &f->stats.closed_bytes);
    fake_free(f);
}

static void early_while_a_lane_is_free(void **state)
{
    struct fake *f = fake_new(true);

    (void)state;
    wait_since(f, 1000 * US, 1);
    assert_ptr_equal(batcher_closes(&f->step, &f->lane[0], 1000 * US), &f->stats.closed_eager);
    assert_true(batcher_has_work(&f->step, 1000 * US));
    assert_true(batcher_due_ns(&f->step, 1010 * US) <= 1000 * US);
    close_batch(f, 1000 * US);
    close_batch(f, 1000 * US); /* the other lane */
    assert_int_equal(lane_outstanding(&f->lane[0]), 1);
    assert_int_equal(lane_outstanding(&f->lane[1]), 1);
    wait_since(f, 1000 * US, 1);
    /* no thread has begun its batch yet */
    assert_null(closes(f, 1010 * US));
    assert_true(batcher_due_ns(&f->step, 1010 * US) == 1200 * US);
    begin_all(f);
    assert_ptr_equal(closes(f, 1010 * US), &f->stats.closed_eager);
    fake_free(f);
}

/* Behind two batches that no thread has begun a third gains nothing: its RoIs wait, and more come.
 */
static void a_batch_grows_behind_others(void **state)
{
    struct fake *f = fake_new(false);

    (void)state;
    for (uint32_t i = 0; i < 2 * LANES; i++) {
        wait_since(f, 1000 * US, 1);
        assert_ptr_equal(closes(f, 1200 * US), &f->stats.closed_age);
        close_batch(f, 1200 * US);
    }
    wait_since(f, 1000 * US, 3);
    assert_non_null(batcher_lane(&f->step, 1300 * US)); /* slots are free */
    assert_null(closes(f, 1300 * US));
    assert_false(batcher_has_work(&f->step, 1300 * US));
    assert_true(batcher_due_ns(&f->step, 1300 * US) == UINT64_MAX);
    wait_since(f, 1000 * US, 4); /* it does not grow any more */
    assert_ptr_equal(closes(f, 1300 * US), &f->stats.closed_full);
    wait_since(f, 1000 * US, 3);
    begin_all(f);
    assert_true(batcher_has_work(&f->step, 1300 * US));
    assert_true(batcher_due_ns(&f->step, 1300 * US) == 1200 * US);
    assert_ptr_equal(closes(f, 1300 * US), &f->stats.closed_age);
    fake_free(f);
}

/* What a runner claims to have begun may be anything. */
static void no_more_wait_than_are_out(void **state)
{
    struct fake *f = fake_new(false);

    (void)state;
    wait_since(f, 1000 * US, 1);
    close_batch(f, 1200 * US);
    for (uint32_t claim = 1; claim; claim *= 2) {
        atomic_store(&arena_link(&f->lane[0].arena)->begun, claim);
        assert_true(lane_ahead(&f->lane[0]) <= lane_outstanding(&f->lane[0]));
    }
    fake_free(f);
}

/* With half of the slots taken, batches go as fast as slots come back and no faster. */
static void early_at_the_pace_of_the_slots(void **state)
{
    struct fake *f = fake_new(true);
    const uint64_t t = clock_ns(); /* claims of a runner about the future are cut */
    struct lane *lane;

    (void)state;
    wait_since(f, t - 1000 * US, 1);
    lane = close_batch(f, t - 500 * US);
    end_batch(f, lane, t - 500 * US, t - 380 * US);
    /* a batch takes 120 us: 20 us a slot, 30 us with a third to spare */
    assert_int_equal(f->step.n_out, 0);
    for (uint32_t i = 0; i < 3; i++)
        close_batch(f, t);
    begin_all(f);
    wait_since(f, t + 1 * US, 1);
    lane = batcher_lane(&f->step, t + 1 * US);
    assert_null(batcher_closes(&f->step, lane, t + 29 * US));
    assert_true(batcher_due_ns(&f->step, t + 1 * US) == t + 30 * US);
    assert_ptr_equal(batcher_closes(&f->step, lane, t + 30 * US), &f->stats.closed_eager);
    /* but a full one goes at once */
    wait_since(f, t + 1 * US, 4);
    assert_ptr_equal(batcher_closes(&f->step, lane, t + 1 * US), &f->stats.closed_full);
    for (uint32_t i = 0; i < 3; i++)
        close_batch(f, t + 30 * US);
    assert_null(batcher_lane(&f->step, t + 30 * US)); /* all slots are taken */
    wait_since(f, t + 31 * US, 1);
    assert_true(batcher_due_ns(&f->step, t + 31 * US) == UINT64_MAX);
    fake_free(f);
}

/* Slots are those of the runners, whichever shard's batches take them. */
static void shards_share_the_pace(void **state)
{
    struct fake *mine = fake_new(true), *other = fake_new(true);
    struct lane *both[LANES][2];
    const uint64_t t = clock_ns();
    struct lane *lane;

    (void)state;
    for (uint32_t i = 0; i < LANES; i++) {
        both[i][0] = &mine->lane[i];
        both[i][1] = &other->lane[i];
        mine->lane[i].sibling = other->lane[i].sibling = both[i];
        mine->lane[i].s.n_shards = other->lane[i].s.n_shards = 2;
        other->lane[i].s.shard = 1;
    }
    mine->step.lane_ns = 120 * US;
    mine->step.closed_ns = t;
    for (uint32_t i = 0; i < 2; i++)
        close_batch(other, t);
    begin_all(other);
    wait_since(mine, t, 1);
    lane = batcher_lane(&mine->step, t);
    assert_ptr_equal(batcher_closes(&mine->step, lane, t), &mine->stats.closed_eager);
    close_batch(other, t); /* with it half of the slots are taken, none by this shard */
    begin_all(other);
    assert_null(batcher_closes(&mine->step, lane, t + 59 * US));
    assert_ptr_equal(batcher_closes(&mine->step, lane, t + 60 * US), &mine->stats.closed_eager);
    fake_free(other);
    fake_free(mine);
}

/* Teaches a lane that batches of so many items take so long. */
static void teach_items(struct fake *f, uint32_t lane, uint64_t items, uint64_t us)
{
    for (uint32_t i = 0; i < 8; i++) {
        const uint64_t now = clock_ns();

        lane_begin(&f->lane[lane]);
        f->lane[lane].batch[(f->lane[lane].first) % SLOTS].items = items;
        batcher_out(&f->step, now - us * US);
        lane_submit(&f->lane[lane], now - us * US);
        end_batch(f, &f->lane[lane], now - us * US, now);
    }
}

static void teach(struct fake *f, uint32_t lane, uint64_t us)
{
    teach_items(f, lane, 10, us);
}

static void a_slow_lane_waits_for_a_deep_queue(void **state)
{
    struct fake *f = fake_new(false);
    const uint64_t t = clock_ns() + 1000 * US;

    (void)state;
    teach(f, 0, 100);
    teach(f, 1, 2000);
    f->step.turn = 1;
    f->step.lane_ns = 100 * US;
    wait_since(f, t, 1);
    for (uint32_t i = 0; i < SLOTS; i++) { /* the fast one, as long as it has room */
        assert_ptr_equal(close_batch(f, t), &f->lane[0]);
        wait_since(f, t, 1);
    }
    assert_null(batcher_lane(&f->step, t)); /* it ends four batches before the slow one ends one */
    f->step.n_waiting = 400;                /* 100 batches wait: now both are needed */
    assert_ptr_equal(batcher_lane(&f->step, t), &f->lane[1]);
    /* a fast lane whose batch does not end looks worse with every moment */
    f->step.n_waiting = 1;
    assert_ptr_equal(batcher_lane(&f->step, t + 4000 * US), &f->lane[1]);
    f->lane[1].is_up = false;
    assert_null(batcher_lane(&f->step, t + 4000 * US));
    fake_free(f);
}

/* A deep queue is worked off in batches: a lane whose time grows with its items is not worse for
 * it. */
static void a_deep_queue_is_many_batches(void **state)
{
    struct fake *f = fake_new(false);
    uint64_t t;

    (void)state;
    teach_items(f, 0, 40, 1000);
    teach_items(f, 1, 10, 100);
    teach_items(f, 1, 40, 1000); /* 30 us an item: 160 items would take 4.6 ms */
    f->step.turn = 1;
    t = clock_ns();
    wait_since(f, t, 16);
    assert_ptr_equal(batcher_lane(&f->step, t), &f->lane[1]);
    f->step.group.input[0].max_items = 20; /* fewer fit */
    f->step.turn = 0;
    assert_ptr_equal(batcher_lane(&f->step, t), &f->lane[1]);
    fake_free(f);
}

/* What is known of a device that nobody used for long is not believed for ever. */
static void a_bad_moment_is_forgotten(void **state)
{
    struct fake *f = fake_new(false);
    uint64_t t;

    (void)state;
    teach(f, 1, 50000);
    teach(f, 0, 100);
    t = f->cost[0].used_ns;
    wait_since(f, t, 1);
    assert_ptr_equal(batcher_lane(&f->step, t), &f->lane[0]);
    f->cost[0].used_ns = t + 20 * NS_PER_S; /* it has worked all the time */
    assert_ptr_equal(batcher_lane(&f->step, t + 20 * NS_PER_S), &f->lane[1]);
    fake_free(f);
}

/* Lanes of one device know the same of it: one slow batch does not keep its lane from work. */
static void lanes_of_a_device_are_equal(void **state)
{
    struct fake *f = fake_new(false);

    (void)state;
    f->lane[1].s.cost = &f->cost[0];
    teach(f, 0, 50000);
    teach(f, 1, 100);
    for (uint32_t i = 0; i < 6; i++) { /* two batches in flight at a time */
        const uint64_t now = clock_ns();
        struct lane *lane[2];

        for (uint32_t k = 0; k < 2; k++) {
            wait_since(f, now, 1);
            lane[k] = close_batch(f, now);
        }
        assert_ptr_not_equal(lane[0], lane[1]);
        end_batch(f, lane[0], now, now);
        end_batch(f, lane[1], now, now);
    }
    fake_free(f);
}

/* While one lane of a device is enough, the others sleep. */
static void one_lane_of_an_idle_device_stays_warm(void **state)
{
    struct fake *f = fake_new(true);
    uint64_t now = clock_ns();
    struct lane *warm = NULL, *other;

    (void)state;
    f->lane[1].s.cost = &f->cost[0];
    for (uint32_t i = 0; i < 6; i++) {
        struct lane *lane;

        wait_since(f, ++now, 1);
        lane = close_batch(f, now);
        assert_true(!warm || lane == warm);
        warm = lane;
        if (i < 5)
            end_batch(f, lane, now, now);
    }
    wait_since(f, ++now, 1); /* its last batch is in flight */
    other = close_batch(f, now);
    assert_ptr_not_equal(other, warm);
    end_batch(f, warm, now, now);
    end_batch(f, other, now, now);
    for (uint32_t i = 0; i < 2; i++) { /* whose turn it is does not matter */
        wait_since(f, ++now, 1);
        assert_ptr_equal(close_batch(f, now), other);
        end_batch(f, other, now, now);
    }
    fake_free(f);
}

static void equal_lanes_take_turns(void **state)
{
    struct fake *f = fake_new(true);

    (void)state;
    for (uint32_t i = 0; i < 6; i++) { /* one batch in flight at a time */
        struct lane *lane;
        const uint64_t now = clock_ns();

        wait_since(f, now, 1);
        lane = close_batch(f, now);
        assert_ptr_equal(lane, &f->lane[i % LANES]);
        end_batch(f, lane, now, now);
    }
    fake_free(f);
}

/* Devices that are alike, but for how they were measured, share; one that is slower is not used. */
static void nearly_equal_lanes_take_turns(void **state)
{
    struct fake *f = fake_new(true);
    const uint64_t t = clock_ns();
    uint32_t n[LANES] = {0};

    (void)state;
    teach(f, 0, 100);
    for (uint32_t i = 0; i < 4; i++) { /* of the second nothing is known: it is tried */
        wait_since(f, t, 1);
        n[batcher_lane(&f->step, t) - f->lane]++;
        batcher_out(&f->step, t);
    }
    assert_int_equal(n[1], 2);
    teach(f, 1, 105);
    for (uint32_t i = 0; i < 4; i++) {
        wait_since(f, t, 1);
        n[batcher_lane(&f->step, t) - f->lane]++;
        batcher_out(&f->step, t);
    }
    assert_int_equal(n[1], 4);
    teach(f, 1, 130);
    for (uint32_t i = 0; i < 4; i++) {
        wait_since(f, t, 1);
        n[batcher_lane(&f->step, t) - f->lane]++;
        batcher_out(&f->step, t);
    }
    assert_int_equal(n[1], 4);
    fake_free(f);
}

/* An RoI is too late when no lane that is up can make its deadline. */
static void too_late_for_every_lane(void **state)
{
    struct fake *f = fake_new(false);
    uint64_t t;

    (void)state;
    t = clock_ns();
    assert_false(batcher_is_too_late(&f->step, 10, t + 1, t)); /* nothing is known */
    teach(f, 0, 1000);
    t = clock_ns();
    assert_false(batcher_is_too_late(&f->step, 10, t + 1, t)); /* of the other one */
    teach(f, 1, 3000);
    t = clock_ns();
    assert_true(batcher_is_too_late(&f->step, 10, t + 900 * US, t));
    assert_false(batcher_is_too_late(&f->step, 10, t + 1100 * US, t));
    f->lane[0].is_up = false;
    assert_true(batcher_is_too_late(&f->step, 10, t + 1100 * US, t));
    f->lane[1].is_up = false;
    assert_false(batcher_is_too_late(&f->step, 10, t + 1100 * US, t)); /* one may come back */
    fake_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_by_its_limits),
        cmocka_unit_test(early_while_a_lane_is_free),
        cmocka_unit_test(a_batch_grows_behind_others),
        cmocka_unit_test(no_more_wait_than_are_out),
        cmocka_unit_test(early_at_the_pace_of_the_slots),
        cmocka_unit_test(shards_share_the_pace),
        cmocka_unit_test(a_slow_lane_waits_for_a_deep_queue),
        cmocka_unit_test(a_deep_queue_is_many_batches),
        cmocka_unit_test(a_bad_moment_is_forgotten),
        cmocka_unit_test(lanes_of_a_device_are_equal),
        cmocka_unit_test(one_lane_of_an_idle_device_stays_warm),
        cmocka_unit_test(equal_lanes_take_turns),
        cmocka_unit_test(nearly_equal_lanes_take_turns),
        cmocka_unit_test(too_late_for_every_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
