/* SPDX-License-Identifier: Apache-2.0 */
/* agreement.h - the plugin's tracks against those of a naive search, track by track; include after
 * testing.h. */
#ifndef HOUGH_AGREEMENT_H
#define HOUGH_AGREEMENT_H
#include "serial.h"

typedef int naive_search(const struct hough_config *c, const struct event *e,
                         struct serial_tracks *ret_tracks);

struct agreement {
    uint32_t same, mine, theirs;
};

/* Counts tracks with the same hits.  No hit is on two tracks, so the first tells which to compare.
 */
static inline void compare_tracks(struct agreement *a, const struct event *e,
                                  const struct products *f, const struct serial_tracks *want)
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

/* At least the part `least` of the tracks of n events are the same ones here and there. */
static inline void check_agreement(const char *preset, const char *const *settings,
                                   naive_search *find, uint32_t n, uint64_t seed, double least)
{
    struct event *events = make_events("velo", seed, n);
    struct trg_result *results = calloc(n, sizeof *results);
    struct products *found = calloc(n, sizeof *found);
    struct agreement a = {0, 0, 0};
    struct hough_config c;

    assert_true(results && found);
    configure(&c, preset, settings);
    run_on(cpu(), &c, events, n, 2, results, found);
    for (uint32_t i = 0; i < n; i++) {
        struct serial_tracks want;

        assert_int_equal(find(&c, &events[i], &want), 0);
        compare_tracks(&a, &events[i], &found[i], &want);
        serial_free(&want);
    }
    print_message("%u tracks here, %u there, %u the same\n", a.mine, a.theirs, a.same);
    assert_true(a.mine > 0 && a.same >= least * a.mine && a.same >= least * a.theirs);
    free(results);
    products_free(found, n);
    events_free(events, n);
}
#endif
