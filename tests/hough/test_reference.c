/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin against a naive tracker in double precision: the same tracks, but where rounding
 * decides about a hit at the edge of a cell or of a tolerance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "serial.h"
#include "testing.h"

struct agreement {
    uint32_t same, mine, theirs;
};

/* Counts tracks with the same hits.  No hit is on two tracks, so the first tells which to compare.
 */
static void compare(struct agreement *a, const struct event *e, const struct products *f,
                    const struct serial_tracks *want)
{
    uint32_t *track_of = calloc(e->n + 1u, sizeof *track_of), at = 0;

    assert_non_null(track_of);
    for (uint32_t i = 0; i < want->n; i++)
        track_of[want->list[i].hit[0]] = i + 1;
    for (uint32_t i = 0; i < f->of[0].n; i++) {
        uint32_t other = track_of[found_inner(f)[at]], n = found_hits(f)[i], k = 0;

        if (other && want->list[other - 1].n == n)
            while (k + 1 < n && found_outer(f)[at + k] == want->list[other - 1].hit[k + 1])
                k++;
        a->same += other && want->list[other - 1].n == n && k + 1 == n;
        at += n - 1;
    }
    a->mine += f->of[0].n;
    a->theirs += want->n;
    free(track_of);
}

static struct agreement agree(const char *const *settings, uint32_t n, uint64_t seed)
{
    struct event *events = make_events("velo", seed, n);
    struct trg_result *results = calloc(n, sizeof *results);
    struct products *found = calloc(n, sizeof *found);
    struct agreement a = {0, 0, 0};
    struct hough_config c;

    assert_true(results && found);
    configure(&c, "paint", settings);
    run_on(cpu(), &c, events, n, 3, results, found);
    for (uint32_t i = 0; i < n; i++) {
        struct serial_tracks want;

        assert_int_equal(serial_find(&c, &events[i], &want), 0);
        compare(&a, &events[i], &found[i], &want);
        serial_free(&want);
    }
    print_message("%u tracks here, %u there, %u the same\n", a.mine, a.theirs, a.same);
    free(results);
    products_free(found, n);
    events_free(events, n);
    return a;
}

static void the_same_tracks(void **state)
{
    struct agreement a = agree(NULL, 3, fresh_seed());

    (void)state;
    assert_true(a.same >= 0.98 * a.mine && a.same >= 0.98 * a.theirs);
}

static void the_same_tracks_in_other_cells(void **state)
{
    struct agreement a = agree(SETTINGS("n_theta", "24", "n_r", "20", "passes", "1",
                                        "distance_cells", "2", "threshold", "4"),
                               3, fresh_seed() + 1);

    (void)state;
    assert_true(a.same >= 0.98 * a.mine && a.same >= 0.98 * a.theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_tracks),
        cmocka_unit_test(the_same_tracks_in_other_cells),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
