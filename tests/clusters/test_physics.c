/* SPDX-License-Identifier: Apache-2.0 */
/* Hits from banks against the truth of the generator, and the tracks that hough makes of them, with
 * floors; the committed figures are in docs/clusters.md.  The last test reads LHCb's events under
 * TRIGD_DATA and is skipped where that is not set. */
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "chain.h"
#include "noise.h"
#include "testing.h"
#include "truth.h"

#define SEED \
    20260201u /* fixed: a floor is a statement about one sample; not that of the settings */
#define EVENTS 24u

static struct chain chain;

static void hits_are_where_particles_crossed(void **state)
{
    struct truth t;

    (void)state;
    memset(&t, 0, sizeof t);
    for (uint32_t i = 0; i < EVENTS; i++)
        truth_add(&t, &geometry, &chain.generated[i], &chain.config, &chain.hits[i]);
    print_message("efficiency %.4f, purity %.4f, resolution %.2f um (%.2f, %.2f, %.2f), pull %.3f "
                  "(%.3f, %.3f, %.3f)\n",
                  truth_efficiency(&t), truth_purity(&t), truth_resolution(&t, 3),
                  truth_resolution(&t, 0), truth_resolution(&t, 1), truth_resolution(&t, 2),
                  truth_pull(&t, 3), truth_pull(&t, 0), truth_pull(&t, 1), truth_pull(&t, 2));
    assert_true(truth_efficiency(&t) >= 0.985);
    assert_true(truth_purity(&t) >= 0.98);
    assert_true(truth_resolution(&t, 3) <= 15);
    for (uint32_t w = 0; w <= TRUTH_WIDTH; w++)
        assert_true(truth_pull(&t, w) >= 0.9 && truth_pull(&t, w) <= 1.1);
}

static void tracks_from_banks(void **state)
{
    struct match m;

    (void)state;
    memset(&m, 0, sizeof m);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(match_add(&m, &chain.events[i], &chain.tracks[i]), 0);
    print_message("tracks: efficiency %.4f, from b %.4f, ghosts %.4f, clones %.4f\n",
                  match_efficiency(&m, MATCH_ETA25), match_efficiency(&m, MATCH_BEAUTY),
                  match_ghosts(&m), match_clones(&m));
    assert_true(match_efficiency(&m, MATCH_ETA25) >= 0.98);
    assert_true(match_ghosts(&m) <= 0.01);
    assert_true(match_clones(&m) <= 0.015);
}

/* ---------------------------------------------------------------- dead channels */

struct noisy {
    struct match noisy, masked, dead; /* dead: those pixels do not fire at all */
};

/* The events with noise, without and with the condition that masks it. */
static void look_at(const struct noise *n, struct noisy *ret)
{
    struct banks banks[EVENTS], dead[EVENTS];
    struct condition_list conditions;

    assert_int_equal(noise_conditions(n, &host, &conditions), 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_int_equal(noise_add(n, &chain.banks[i], SEED + i, &banks[i]), 0);
        assert_int_equal(noise_remove(n, &chain.banks[i], &dead[i]), 0);
    }
    assert_int_equal(chain_again(&chain, &host, cpu(), banks, NULL, &ret->noisy), 0);
    assert_int_equal(chain_again(&chain, &host, cpu(), banks, &conditions, &ret->masked), 0);
    assert_int_equal(chain_again(&chain, &host, cpu(), dead, NULL, &ret->dead), 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        banks_free(&banks[i]);
        banks_free(&dead[i]);
    }
    conditions_release(&conditions);
    print_message("noisy: efficiency %.4f, ghosts %.4f; masked: %.4f, %.4f\n",
                  match_efficiency(&ret->noisy, MATCH_ETA25), match_ghosts(&ret->noisy),
                  match_efficiency(&ret->masked, MATCH_ETA25), match_ghosts(&ret->masked));
}

/* With the condition noisy pixels are dead ones: ghosts of noise are gone, and tracks are found
 * with the other hits. */
static void noise_that_is_masked(void **state)
{
    static struct noise n;
    struct noisy m;

    (void)state;
    noise_sensors(&n, 20, 0.002);
    look_at(&n, &m);
    assert_memory_equal(&m.masked, &m.dead, sizeof m.dead);
    assert_true(match_efficiency(&m.masked, MATCH_ETA25) >= 0.98);
    assert_true(match_ghosts(&m.masked) <= 0.01);
    assert_true(match_ghosts(&m.noisy) >= 1.5 * match_ghosts(&m.masked));
    noise_pixels(&n, 10, SEED);
    look_at(&n, &m);
    assert_memory_equal(&m.masked, &m.dead, sizeof m.dead);
    assert_true(match_efficiency(&m.masked, MATCH_ETA25) >= 0.98);
    assert_true(match_ghosts(&m.masked) <= 0.01);
    assert_true(match_ghosts(&m.noisy) >= 0.02);
}

/* ---------------------------------------------------------------- LHCb's events */

#define LHCB 6

/* LHCb's own hits with their truth. */
static struct event *import(const char *data)
{
    char program[512], from[512], folder[] = "/tmp/clusters-XXXXXX", file[64];
    char *argv[] = {program, "import", "lhcb-csv", "--out", file, from, NULL};
    struct event *events = NULL;
    uint32_t n = 0;
    int status;
    pid_t pid;

    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/events.roi", folder);
    snprintf(program, sizeof program, "%s/bin/trigreplay", getenv("TRIGD_BUILD"));
    snprintf(from, sizeof from, "%s/lhcb-minbias", data);
    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(events_read(file, &events, &n), 0);
    assert_int_equal(n, LHCB);
    unlink(file);
    rmdir(folder);
    return events;
}

/* Gives each hit the place of the cluster that it is. */
static void take_places(struct event *e, const struct products *p)
{
    assert_int_equal(p->of[0].n, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t k = 0;

        while (k < e->n && (fabsf(hit_place(p, 0)[k] - e->x[i]) > 2e-4f ||
                            fabsf(hit_place(p, 1)[k] - e->y[i]) > 2e-4f ||
                            fabsf(hit_place(p, 2)[k] - e->z[i]) > 2e-4f))
            k++;
        assert_true(k < e->n);
        e->x[i] = hit_place(p, 0)[k];
        e->y[i] = hit_place(p, 1)[k];
        e->z[i] = hit_place(p, 2)[k];
        assert_int_equal(e->layer[i], hit_layer(p)[k]);
    }
}

static struct match match_tracks(const struct event *events)
{
    struct products *tracks = calloc(LHCB, sizeof *tracks);
    struct match m;

    assert_non_null(tracks);
    memset(&m, 0, sizeof m);
    assert_int_equal(chain_tracks(&chain.hough, events, LHCB, tracks), 0);
    for (uint32_t i = 0; i < LHCB; i++)
        assert_int_equal(match_add(&m, &events[i], &tracks[i]), 0);
    products_free(tracks, LHCB);
    print_message("LHCb: efficiency %.4f, ghosts %.4f, clones %.4f, %lu tracks\n",
                  match_efficiency(&m, MATCH_ETA25), match_ghosts(&m), match_clones(&m),
                  (unsigned long)m.tracks);
    return m;
}

/* Tracks of the hits from banks are those of the hits in LHCb's tables. */
static void tracks_of_lhcb_events(void **state)
{
    const char *data = getenv("TRIGD_DATA");
    struct products *found = calloc(LHCB, sizeof *found);
    struct trg_result results[LHCB];
    struct banks banks[LHCB];
    struct event *events;
    struct match tables, m;
    char path[512];

    (void)state;
    if (!data || !found) {
        free(found);
        print_message("skipped: TRIGD_DATA is not set\n");
        skip();
    }
    for (uint32_t i = 0; i < LHCB; i++) {
        snprintf(path, sizeof path, "%s/lhcb-minbias/raw/6718861_600%u.bin", data, i + 1);
        banks_read(path, &banks[i]);
    }
    run_on(cpu(), &chain.config, banks, LHCB, LHCB, results, found);
    events = import(data);
    tables = match_tracks(events);
    for (uint32_t i = 0; i < LHCB; i++) {
        take_places(&events[i], &found[i]);
        banks_free(&banks[i]);
    }
    m = match_tracks(events);
    assert_true(match_efficiency(&m, MATCH_ETA25) >= 0.983);
    assert_true(match_ghosts(&m) <= 0.0075);
    assert_true(fabs(match_efficiency(&m, MATCH_ETA25) - match_efficiency(&tables, MATCH_ETA25)) <
                0.002);
    events_free(events, LHCB);
    products_free(found, LHCB);
}

static int open_chain(void **state)
{
    if (open_host(state) < 0)
        return -1;
    return chain_open(&chain, &host, cpu(), "velo-banks", SEED, EVENTS);
}

static int close_chain(void **state)
{
    chain_close(&chain);
    return close_all(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_are_where_particles_crossed),
        cmocka_unit_test(tracks_from_banks),
        cmocka_unit_test(noise_that_is_masked),
        cmocka_unit_test(tracks_of_lhcb_events),
    };

    return cmocka_run_group_tests(tests, open_chain, close_chain);
}
