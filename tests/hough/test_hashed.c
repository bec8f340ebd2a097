/* SPDX-License-Identifier: Apache-2.0 */
/* Voting in four parameters, piece by piece, against loops over all pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "find.h"
#include "parameters.h"
#include "seed.h"

#define HITS    60u
#define LAYERS  26u
#define RANDOMS 50u
#define GAP     4u

struct window { /* of one bin or two */
    float x[HITS], y[HITS], z[HITS];
    uint32_t layer[HITS], item[HITS];
    uint32_t words[HG_WORDS], list[HG_LIST], raw[HG_RAW], n_list, n_raw, digest;
    struct hg_view v;
    struct hg_desk d;
    struct hg_par par;
};

static uint64_t state_;

static int seed(void **state)
{
    (void)state;
    state_ = fresh_seed();
    return 0;
}

/* Every fifth hit lies on a line from the beam line, the others anywhere; along layers in each bin,
 * of which the first has n_first hits. */
static void begin(struct window *w, uint32_t n, uint32_t n_first)
{
    struct hough_config c = {.method = HG_HASHED,
                             .n_theta = 32,
                             .n_r = 32,
                             .r_max_mm = 11,
                             .z_scale = 20,
                             .phi_bins = 80,
                             .phi_bins_wide = 16,
                             .hash_mm = 2,
                             .hash_slope = 0.015f,
                             .ip_max_mm = 20,
                             .z_beam_max_mm = 1e6f,
                             .slope_max = 1.5f,
                             .tolerance_mm = 0.2f,
                             .tolerance_rad = 0.003f,
                             .tolerance_max_mm = 1,
                             .min_hits = 3,
                             .max_gap = GAP};

    memset(w, 0, sizeof *w);
    w->par = hough_par(&c, 0);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = i < n_first ? i : i - n_first, of = i < n_first ? n_first : n - n_first;

        w->layer[i] = k * LAYERS / of;
        w->z[i] = 25.0f * (float)w->layer[i] + 50;
        w->x[i] = i % 5 ? (float)seed_uniform(&state_, 5, 50) : 0.1f * w->z[i];
        w->y[i] = i % 5 ? (float)seed_uniform(&state_, -5, 5) : 0.01f * w->z[i];
        w->item[i] = i;
    }
    w->v = (struct hg_view){.x = w->x, .y = w->y, .z = w->z, .item = w->item, .layer = w->layer};
    w->v.in = (struct hg_range){.first = 0, .n_first = n, .n = n};
    w->v.n_first_bin = n_first;
    w->d = (struct hg_desk){.words = w->words,
                            .n_words = HG_WORDS,
                            .list = w->list,
                            .raw = w->raw,
                            .n_list = &w->n_list,
                            .n_raw = &w->n_raw,
                            .digest = &w->digest,
                            .size = 1};
}

/* Each pair on layers near enough is listed once, however many share the work. */
static void pairs_are_listed_once(void **state)
{
    static struct window w;

    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        const uint32_t n = 2 + round % (HITS - 2), step = 1 + round % 4;
        static uint8_t seen[HITS][HITS];
        const struct hg_table t = {.counts = w.words, .places = 128};

        begin(&w, n, round % 3 ? n / 2 + 1 : n);
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t skip = 0; skip < step; skip++)
                hg_list_pairs(w.d, t, w.v, w.par, i, skip, step);
        assert_true(w.n_raw <= HG_RAW);
        for (uint32_t k = 0; k < w.n_raw; k++)
            seen[w.raw[k] / HG_SIDE][w.raw[k] % HG_SIDE]++;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                assert_int_equal(seen[i][j], i < j && hg_may_vote(w.v, w.par, i, j));
    }
}

/* The table is that of a loop over all pairs. */
static void the_table_of_all_pairs(void **state)
{
    static struct window w;
    static uint32_t counts[HG_WORDS], low[HG_WORDS], high[HG_WORDS];

    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        struct hg_table t, want = {counts, low, high, 0};

        begin(&w, HITS, HITS / 2);
        t = hg_table_for(w.d, HITS);
        want.places = t.places;
        memset(counts, 0, sizeof counts);
        memset(low, 0xff, sizeof low);
        memset(high, 0, sizeof high);
        hg_fill_hashed(w.d, t, w.v, w.par);
        for (uint32_t i = 0; i < HITS; i++)
            for (uint32_t j = i + 1; j < HITS; j++)
                if (hg_may_vote(w.v, w.par, i, j))
                    hg_vote_hashed(want, w.v, w.par, i * HG_SIDE + j);
        assert_memory_equal(t.counts, counts, t.places * sizeof(uint32_t));
        assert_memory_equal(t.low, low, t.places * sizeof(uint32_t));
        assert_memory_equal(t.high, high, t.places * sizeof(uint32_t));
    }
}

/* A pair votes where a third hit is on its line, on one of the next layers behind it. */
static void pairs_that_go_on(void **state)
{
    static struct window w;
    uint32_t n_lines = 0;

    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        begin(&w, HITS, round % 2 ? HITS / 2 : HITS);
        for (uint32_t i = 0; i < HITS; i++)
            for (uint32_t j = i + 1; j < HITS; j++) {
                const struct hg_line l = hg_line_of(w.v, i * HG_SIDE + j);
                const uint32_t last = w.layer[i] > w.layer[j] ? w.layer[i] : w.layer[j];
                bool goes_on = false;

                if (w.layer[i] == w.layer[j])
                    continue;
                for (uint32_t k = 0; k < HITS; k++) {
                    const float tol = hg_tolerance(w.par, w.z[k], l.z, l.z);

                    goes_on |= w.layer[k] > last && w.layer[k] <= last + GAP &&
                               hg_off2(l, w.x[k], w.y[k], w.z[k]) <= tol * tol;
                }
                assert_int_equal(hg_is_line(w.v, w.par, i * HG_SIDE + j), goes_on);
                n_lines += goes_on;
            }
    }
    assert_true(n_lines > RANDOMS); /* those of the line that was put in at least */
}

/* What is told is a line of three hits.  The line that was put in is told, but where another cell
 * is in the place of its own or it runs along an edge: one time in some hundred. */
static void peaks_are_lines(void **state)
{
    static struct window w;
    uint32_t n_found = 0;

    (void)state;
    for (uint32_t round = 0; round < RANDOMS; round++) {
        bool is_found = false;

        begin(&w, HITS, HITS);
        hg_search_hashed(w.d, w.v, w.par, 3);
        assert_true(w.n_list <= HG_LIST);
        for (uint32_t k = 0; k < w.n_list; k++) {
            const uint32_t i = hg_place(w.list[k]) / HG_SIDE, j = hg_place(w.list[k]) % HG_SIDE;
            const double dz = (double)w.z[j] - (double)w.z[i];
            uint32_t near = 0;

            assert_true(i < j && j < HITS && dz > 0);
            for (uint32_t h = 0; h < HITS; h++) {
                const double f = ((double)w.z[h] - (double)w.z[i]) / dz;
                const double x = (double)w.x[i] + f * ((double)w.x[j] - (double)w.x[i]);
                const double y = (double)w.y[i] + f * ((double)w.y[j] - (double)w.y[i]);
                const double far = fabs((double)w.z[h] - (double)w.z[i]);

                near += hypot((double)w.x[h] - x, (double)w.y[h] - y) <=
                        fmin(0.2 + 0.003 * far, 1) + 1e-4;
            }
            assert_true(near >= 3);
            is_found |= i % 5 == 0 && j % 5 == 0;
        }
        n_found += is_found;
    }
    assert_true(n_found >= RANDOMS * 4 / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_listed_once),
        cmocka_unit_test(the_table_of_all_pairs),
        cmocka_unit_test(pairs_that_go_on),
        cmocka_unit_test(peaks_are_lines),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
