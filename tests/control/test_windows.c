/* SPDX-License-Identifier: Apache-2.0 */
/* Rates and quantiles of windows against sums and sorted durations; expectations; the slowest RoI
 * of each second. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "fixture.h"
#include "flow/spans.h"
#include "monitor/show_rates.h"
#include "seed.h"

#define SHARDS 2u

struct bench { /* shards whose counters the test moves, and their windows */
    struct stats *shard[SHARDS];
    struct stats_set set;
    struct windows *w;
    uint64_t now_ns;
};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    if (!b)
        return -1;
    for (uint32_t i = 0; i < SHARDS; i++) {
        if (stats_new(&b->shard[i]) < 0)
            return -1;
        b->set.of[i] = b->shard[i];
    }
    b->set.n = SHARDS;
    b->now_ns = 100 * NS_PER_S;
    *state = b;
    return windows_new(&b->set, &b->w);
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    windows_free(b->w);
    windows_free(NULL);
    for (uint32_t i = 0; i < SHARDS; i++)
        stats_free(b->shard[i]);
    free(b);
    return 0;
}

/* A second goes by. */
static void second(struct bench *b)
{
    b->now_ns += NS_PER_S;
    assert_int_equal(windows_read(b->w, b->now_ns), 0);
}

struct wanted {
    const char *name;
    struct windows_row row;
    uint32_t n;
};

static void keep(void *ctx, const struct windows_row *row)
{
    struct wanted *w = ctx;

    if (strcmp(row->name, w->name) != 0)
        return;
    w->row = *row;
    w->n++;
}

static struct windows_row row_of(struct bench *b, enum windows_kind kind, const char *name,
                                 uint32_t window)
{
    struct wanted w = {.name = name};

    windows_each(b->w, kind, window, keep, &w);
    if (w.n != 1)
        fail_msg("%u entries are named %s", w.n, name);
    return w.row;
}

static double rate_of(struct bench *b, enum windows_kind kind, const char *name, uint32_t window,
                      const char *column)
{
    const struct windows_row row = row_of(b, kind, name, window);
    const char *const *columns;
    const uint32_t n = windows_columns(kind, &columns);

    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(columns[i], column))
            return row.rate[i];
    fail_msg("no column %s", column);
    return 0;
}

static void assert_near(double value, double wanted, double part)
{
    if (!(fabs(value - wanted) <= part * fabs(wanted)))
        fail_msg("%g instead of %g", value, wanted);
}

/* What was counted before the first reading is in no window; then the last 1, 10 and 60 s are. */
static void rates_are_those_of_their_window(void **state)
{
    struct bench *b = *state;

    stats_add(&b->shard[0]->g.received, 1000000);
    second(b);
    assert_true(row_of(b, WINDOWS_OF_NODE, "node", 2).seconds == 0);
    for (uint32_t k = 1; k <= 100; k++) {
        stats_add(&b->shard[0]->g.received, k);
        stats_add(&b->shard[1]->g.received, 2 * k);
        stats_add(&b->shard[0]->g.dead_ns, NS_PER_S / 2);
        second(b);
        if (k == 4) { /* the windows begin with what is there */
            assert_true(row_of(b, WINDOWS_OF_NODE, "node", 1).seconds == 4);
            assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 1, "received_per_s"), 7.5, 1e-9);
        }
    }
    assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 0, "received_per_s"), 300, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 1, "received_per_s"), 3 * 95.5, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 2, "received_per_s"), 3 * 70.5, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 0, "dead"), 0.25, 1e-9); /* one of two shards */
    assert_true(row_of(b, WINDOWS_OF_NODE, "node", 2).seconds == 60);
    b->now_ns += NS_PER_S; /* a reading that is late divides by the time that went by */
    stats_add(&b->shard[0]->g.received, 100);
    second(b);
    assert_near(rate_of(b, WINDOWS_OF_NODE, "node", 0, "received_per_s"), 50, 1e-9);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Log-normal durations around 1 ms: over two shards and ten seconds within 1 % of sorted ones. */
static void quantiles_are_right_to_a_percent(void **state)
{
    enum { PER_SECOND = 2000, N = 10 * PER_SECOND };
    uint64_t *all = malloc(N * sizeof *all), random = fresh_seed();
    struct bench *b = *state;
    struct windows_row row;
    uint32_t n = 0;

    assert_non_null(all);
    second(b);
    latency_add(&b->shard[0]->stage[STATS_STAGE_total], 1); /* is too old by the end */
    second(b);
    for (uint32_t k = 0; k < 10; k++) {
        for (uint32_t i = 0; i < PER_SECOND; i++) {
            double sum = -6;

            for (uint32_t j = 0; j < 12; j++)
                sum += seed_uniform(&random, 0, 1);
            all[n] = (uint64_t)(1e6 * exp(sum));
            latency_add(&b->shard[i % 2]->stage[STATS_STAGE_total], all[n++]);
        }
        second(b);
    }
    qsort(all, N, sizeof *all, compare);
    row = row_of(b, WINDOWS_OF_NODE, "node", 1);
    assert_int_equal(row.latencies, N);
    for (uint32_t q = 0; q < WINDOWS_QUANTILES; q++) {
        const uint32_t rank = (uint32_t)ceil(windows_quantiles[q] * N);

        assert_near(row.quantile_ns[q], (double)all[rank - 1], 0.01);
    }
    row = row_of(b, WINDOWS_OF_STAGE, "total", 2);
    assert_int_equal(row.latencies, N + 1);
    free(all);
}

/* Every duration of the range lies in its bucket, and the middle is within 0.8 % of it. */
static void buckets_are_narrow(void **state)
{
    (void)state;
    for (uint64_t ns = 1; ns < 1ull << 43; ns += 1 + ns / 1000) {
        const uint32_t bucket = latency_bucket(ns);
        const uint64_t low = latency_bucket_ns(bucket), high = latency_bucket_ns(bucket + 1);

        assert_true(low <= ns && ns < high);
        if (ns >= LATENCY_SUB)
            assert_near(0.5 * (double)(low + high), (double)ns, 0.008);
    }
    assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_bucket((1ull << 43) - 1), LATENCY_BUCKETS - 1);
}

/* Lanes of a device in all shards are its own; the name of a lane tells its device. */
static void a_device_is_the_sum_of_its_lanes(void **state)
{
    struct bench *b = *state;
    struct stats_lane *lane[3] = {stats_lane_get(b->shard[0], "a@cpu:0/0", "x", 2),
                                  stats_lane_get(b->shard[1], "a@cpu:0/1", "x", 2),
                                  stats_lane_get(b->shard[1], "a@cuda:1/0", "y", 2)};

    second(b);
    for (uint32_t i = 0; i < 3; i++) {
        stats_add(&lane[i]->rois, 10 + i);
        stats_add(&lane[i]->busy_ns, NS_PER_S / 4);
        latency_add(&lane[i]->latency, 1000 * NS_PER_US);
    }
    second(b);
    assert_near(rate_of(b, WINDOWS_OF_DEVICE, "cpu:0", 0, "rois_per_s"), 21, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_DEVICE, "cpu:0", 0, "busy"), 0.5, 1e-9);
    assert_int_equal(row_of(b, WINDOWS_OF_DEVICE, "cpu:0", 0).latencies, 2);
    assert_near(rate_of(b, WINDOWS_OF_DEVICE, "cuda:1", 0, "rois_per_s"), 12, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_LANE, "a@cpu:0/1", 0, "rois_per_s"), 11, 1e-9);
}

static void count_all(void *ctx, const struct windows_row *row)
{
    (void)row;
    ++*(uint32_t *)ctx;
}

/* Connections of one name are one client; a place that another client takes begins anew, and so
 * does one that comes back.  What left is forgotten after a minute. */
static void clients_come_and_go(void **state)
{
    struct bench *b = *state;
    struct stats_client *twin[2] = {stats_client_get(b->shard[0], "hlt"),
                                    stats_client_get(b->shard[1], "hlt")};
    uint32_t n = 0;

    second(b);
    stats_add(&twin[0]->received, 5);
    stats_add(&twin[1]->received, 6);
    second(b);
    assert_near(rate_of(b, WINDOWS_OF_CLIENT, "hlt", 0, "received_per_s"), 11, 1e-9);
    stats_client_put(b->shard[0], twin[0]);
    stats_client_put(b->shard[1], twin[1]);
    twin[0] = stats_client_get(b->shard[0], "hlt"); /* the same place at once */
    stats_add(&twin[0]->received, 3);
    twin[1] = stats_client_get(b->shard[1], "calib");
    stats_add(&twin[1]->received, 7);
    second(b);
    assert_near(rate_of(b, WINDOWS_OF_CLIENT, "hlt", 0, "received_per_s"), 3, 1e-9);
    assert_near(rate_of(b, WINDOWS_OF_CLIENT, "calib", 0, "received_per_s"), 7, 1e-9);
    stats_client_put(b->shard[0], twin[0]);
    stats_client_put(b->shard[1], twin[1]);
    for (uint32_t k = 0; k <= WINDOWS_SECONDS + 1; k++)
        second(b);
    windows_each(b->w, WINDOWS_OF_CLIENT, 2, count_all, &n);
    assert_int_equal(n, 0);
}

static enum windows_against against(struct bench *b, struct stats_chain *c, enum stats_band band,
                                    double min, double max, uint32_t run, uint32_t pass)
{
    atomic_store(&c->band, band);
    atomic_store(&c->expected_min, min);
    atomic_store(&c->expected_max, max);
    stats_add(&c->run, run);
    stats_add(&c->pass, pass);
    second(b);
    return row_of(b, WINDOWS_OF_CHAIN, "HLT_x", 0).against;
}

/* A rate is beyond its band only by more than chance: three deviations. */
static void rates_stand_against_what_is_expected(void **state)
{
    struct bench *b = *state;
    struct stats_chain *c = stats_chain_get(b->shard[1], "HLT_x");

    second(b);
    assert_int_equal(against(b, c, STATS_BAND_NONE, 0, 0, 10, 5), WINDOWS_UNKNOWN);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 999, 150), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 999, 71), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 999, 69), WINDOWS_LOW);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 999, 242), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 999, 243), WINDOWS_HIGH);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 0, INFINITY, 999, 999), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_SECOND, 100, 200, 0, 0), WINDOWS_LOW); /* it stands */
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 0, 0), WINDOWS_UNKNOWN);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 100, 36), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 100, 34), WINDOWS_LOW);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 10000, 4900), WINDOWS_OK);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 10000, 4800), WINDOWS_LOW);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0.5, 0.6, 10000, 6200), WINDOWS_HIGH);
    assert_int_equal(against(b, c, STATS_BAND_RUN, 0, INFINITY, 10, 10), WINDOWS_OK);
}

/* `dump latency` is JSON, and its buckets add up to what came. */
static void buckets_are_printed_for_adding_up(void **state)
{
    struct bench *b = *state;
    const struct control_view view = {.windows = b->w};
    char *text = NULL, *at;
    size_t bytes;
    FILE *out;

    second(b);
    for (uint32_t i = 0; i < 3; i++)
        latency_add(&b->shard[i % 2]->stage[STATS_STAGE_decode], 1000);
    latency_add(&b->shard[0]->stage[STATS_STAGE_decode], 5000000);
    second(b);
    out = open_memstream(&text, &bytes);
    show_latency_buckets(&view, out);
    assert_int_equal(fclose(out), 0);
    assert_true(fixture_is_json(text));
    at = strstr(text, "{\"of\": \"stage\", \"name\": \"decode\", \"window\": \"10s\", \"buckets\": "
                      "[[1000, 3], [4980736, 1]]}");
    assert_non_null(at);
    free(text);
}

/* ---------------------------------------------------------------- the slowest RoI */

static void decide(struct spans *s, struct slow *slow, uint32_t place, uint64_t received,
                   uint64_t now)
{
    const struct roi r = {
        .info = {.run = 1, .l1id = place}, .received_ns = received, .accept = true};

    spans_decided(s, slow, &r, place, "hlt", now);
}

/* One RoI a second is kept, the slowest, with its own batches: not those of who had its place
 * before.
 */
static void the_slowest_of_a_second_is_kept(void **state)
{
    struct bench *b = *state;
    const struct control_view view = {.shards = &b->set};
    struct slow *slow = &b->shard[0]->slow;
    struct stats_lane *lane = stats_lane_get(b->shard[0], "a@cpu:0/0", "x", 2);
    const uint64_t t = clock_ns() - NS_PER_S;
    const uint32_t rois[] = {3, 4, 5};
    struct lane_done batch = {
        .n = 3, .roi = rois, .closed_ns = t + 10, .begun_ns = t + 20, .ended_ns = t + 30};
    struct spans *s;
    char *text = NULL;
    size_t bytes;
    FILE *out;

    assert_int_equal(spans_new(&s), 0);
    spans_batch(s, lane, &batch); /* of an earlier RoI in place 4 */
    batch.closed_ns += 1000, batch.begun_ns += 1000, batch.ended_ns += 2000, batch.error = -EIO;
    spans_batch(s, lane, &batch);
    batch.n = 1; /* place 3 alone, */
    spans_batch(s, lane, &batch);
    batch.roi = rois + 1; /* place 4 once more */
    batch.error = 0;
    spans_batch(s, lane, &batch);
    decide(s, slow, 3, t + 500, t + 4000);
    decide(s, slow, 4, t + 400, t + 5000); /* slower: it takes the place */
    decide(s, slow, 5, t + 4000, t + 6000);
    decide(s, slow, 6, t + 1000, t + 6100); /* slower than place 4, by less than an eighth */
    assert_int_equal(slow->n, 1);
    assert_true(slow->roi[0].l1id == 4 && slow->roi[0].n_spans == 2);
    assert_true(slow->roi[0].span[0].error == -EIO && slow->roi[0].span[0].rois == 3);
    assert_true(slow->roi[0].span[1].error == 0 && slow->roi[0].span[1].rois == 1);
    assert_string_equal(slow->roi[0].span[1].lane, "a@cpu:0/0");
    for (uint64_t k = 1; k <= SLOW_ROIS + 6; k++) /* a second each; the oldest make room */
        decide(s, slow, (uint32_t)k, t + k * NS_PER_S, t + k * NS_PER_S + 1000);
    assert_int_equal(slow->n, SLOW_ROIS + 6); /* the first is of the same second */
    out = open_memstream(&text, &bytes);
    show_slow_trace(&view, out);
    assert_int_equal(fclose(out), 0);
    assert_true(fixture_is_json(text));
    assert_null(strstr(text, "l1id 6\""));
    assert_non_null(strstr(text, "l1id 7\""));
    assert_non_null(strstr(text, "l1id 70\""));
    free(text);
    spans_free(s);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(rates_are_those_of_their_window),
                                       CASE(quantiles_are_right_to_a_percent),
                                       CASE(buckets_are_narrow),
                                       CASE(a_device_is_the_sum_of_its_lanes),
                                       CASE(clients_come_and_go),
                                       CASE(rates_stand_against_what_is_expected),
                                       CASE(buckets_are_printed_for_adding_up),
                                       CASE(the_slowest_of_a_second_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
