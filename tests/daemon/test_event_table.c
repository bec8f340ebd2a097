/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events, against a list of what is in it; and which shard has which events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow/event_registry.h"
#include "flow/event_table.h"
#include "seed.h"

#define PLACES 16u
#define NAMES  40u /* L1 ids in use, more than there are places */
#define TURNS  20000u

static void what_is_over_makes_room(void **state)
{
    struct event_table *t;
    struct event *ev[4];

    (void)state;
    assert_int_equal(event_table_new(3, &t), 0);
    for (uint32_t i = 0; i < 3; i++) {
        ev[i] = event_table_open(t, 1, i, 2, 10);
        assert_non_null(ev[i]);
        assert_int_equal(ev[i]->state, EVENT_OPEN);
        assert_ptr_equal(event_table_at(t, event_table_number(t, ev[i])), ev[i]);
    }
    assert_null(event_table_open(t, 1, 3, 2, 10)); /* none is over */
    assert_ptr_equal(event_table_oldest(t), ev[0]);
    assert_ptr_equal(event_table_after(t, ev[0]), ev[1]);
    event_table_keep(t, ev[1]);
    event_table_keep(t, ev[0]);
    assert_int_equal(event_table_busy(t), 1);
    assert_ptr_equal(event_table_oldest(t), ev[2]);
    assert_null(event_table_after(t, ev[2]));
    assert_ptr_equal(event_table_find(t, 1, 1), ev[1]); /* remembered */
    ev[3] = event_table_open(t, 2, 3, 255, 4000);       /* in the place of the one kept first */
    assert_ptr_equal(ev[3], ev[1]);
    assert_null(event_table_find(t, 1, 1));
    assert_ptr_equal(event_table_find(t, 1, 0), ev[0]);
    assert_ptr_equal(event_table_find(t, 2, 3), ev[3]);
    for (uint32_t i = 0; i < 255; i++)
        ev[3]->roi_id[i] = ev[3]->roi[i] = i;
    memset(event_table_votes(ev[3]), 0xff, 4000);
    for (uint32_t i = 0; i < 255; i++)
        assert_true(ev[3]->roi_id[i] == i && ev[3]->roi[i] == i);
    event_table_unlist(t, ev[3]);
    event_table_unlist(t, ev[2]);
    assert_null(event_table_oldest(t));
    assert_int_equal(event_table_busy(t), 2);
    event_table_forget(t, ev[3]);
    event_table_forget(t, ev[2]);
    event_table_forget(t, ev[0]);
    assert_int_equal(event_table_busy(t), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_null(event_table_find(t, 1, i));
    event_table_free(t);
    event_table_free(NULL);
}

/* Opens, keeps and forgets at random; a plain list says what there must be. */
static void random_turns(void **state)
{
    uint64_t seed = fresh_seed();
    struct event_table *t;
    enum event_state is[NAMES] = {EVENT_FREE};
    uint32_t busy = 0, used = 0;

    (void)state;
    assert_int_equal(event_table_new(PLACES, &t), 0);
    for (uint32_t i = 0; i < TURNS; i++) {
        const uint32_t name = (uint32_t)seed_uniform(&seed, 0, NAMES) % NAMES;
        struct event *ev = event_table_find(t, 1, name);

        if (is[name] == EVENT_OVER && !ev) { /* its place was needed */
            is[name] = EVENT_FREE;
            used--;
        }
        assert_int_equal(ev ? ev->state : EVENT_FREE, is[name]);
        if (!ev) {
            ev = event_table_open(t, 1, name, 2 + i % 5, 100);
            assert_int_equal(ev != NULL, busy < PLACES);
            if (!ev)
                continue;
            is[name] = EVENT_OPEN;
            busy++;
            used++;
        } else if (ev->state == EVENT_OPEN && seed_uniform(&seed, 0, 1) < 0.6) {
            event_table_keep(t, ev);
            is[name] = EVENT_OVER;
            busy--;
        } else {
            busy -= ev->state == EVENT_OPEN;
            used--;
            event_table_forget(t, ev);
            is[name] = EVENT_FREE;
        }
        assert_int_equal(event_table_busy(t), busy);
        for (ev = event_table_oldest(t); ev; ev = event_table_after(t, ev))
            assert_int_equal(ev->state, EVENT_OPEN);
    }
    event_table_free(t);
}

static void an_event_is_of_one_shard(void **state)
{
    struct event_registry *r;

    (void)state;
    assert_int_equal(event_registry_new(3, &r), 0);
    assert_true(event_registry_claim(r, 1, 7, 0, 0));
    assert_false(event_registry_claim(r, 1, 7, 1, 0));
    assert_false(event_registry_claim(r, 1, 7, 1, 5));
    assert_true(event_registry_claim(r, 2, 7, 1, 0)); /* another run */
    event_registry_release(r, 1, 7, 1);               /* it has another's */
    assert_false(event_registry_claim(r, 1, 7, 1, 0));
    event_registry_release(r, 1, 7, 0);
    assert_true(event_registry_claim(r, 1, 7, 1, 5)); /* a client with a key, */
    assert_true(event_registry_claim(r, 1, 7, 2, 5)); /* which comes to another shard */
    event_registry_release(r, 1, 7, 1);
    assert_false(event_registry_claim(r, 1, 7, 1, 6));
    assert_true(event_registry_claim(r, 3, 7, 0, 0));
    assert_false(event_registry_claim(r, 4, 7, 0, 0)); /* full */
    event_registry_release(r, 3, 7, 0);
    assert_true(event_registry_claim(r, 4, 7, 0, 0));
    event_registry_free(r);
    event_registry_free(NULL);
    assert_true(event_registry_claim(NULL, 1, 1, 1, 0));
    event_registry_release(NULL, 1, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_over_makes_room),
                                       cmocka_unit_test(random_turns),
                                       cmocka_unit_test(an_event_is_of_one_shard)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
