/* SPDX-License-Identifier: Apache-2.0 */
/* The search by triplet: cases whose answer is known, and a naive one in double precision, which
 * finds the same tracks but where rounding decides about a hit at the edge of a tolerance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"
#include "testing.h"

#include "agreement.h"

#define HITS 64

struct sample {
    struct event e;
    struct trg_result result;
    struct products found;
};

static void begin(struct sample *s, uint32_t room)
{
    memset(s, 0, sizeof *s);
    assert_int_equal(event_new(room, 0, 0, &s->e), 0);
    s->e.n = 0;
}

static void end(struct sample *s)
{
    event_free(&s->e);
    products_fini(&s->found);
}

static void add_hit(struct sample *s, float x, float y, float z, uint16_t layer)
{
    const uint32_t i = s->e.n++;

    s->e.x[i] = x;
    s->e.y[i] = y;
    s->e.z[i] = z;
    s->e.layer[i] = layer;
    s->e.id[i] = i;
}

/* Hits on layers `layer`, layer + 2, ... 25 mm apart, of the line from the origin. */
static void add_line(struct sample *s, float tx, float ty, uint16_t layer, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++, layer = (uint16_t)(layer + 2)) {
        const float z = 12.5f * (float)layer;

        add_hit(s, tx * z, ty * z, z, layer);
    }
}

static uint32_t find(struct sample *s, const char *const *settings)
{
    struct hough_config c;

    configure(&c, "velo", settings);
    run_on(cpu(), &c, &s->e, 1, 1, &s->result, &s->found);
    return s->found.of[0].n;
}

static void the_nearest_road_takes_a_hit(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    add_line(&s, 0.05f, 0, 10, 6);
    add_line(&s, 0.05f, 0.004f, 12, 5);
    /* both want a hit on layer 10: the second line's is missing, the first one's is nearer */
    assert_int_equal(find(&s, NULL), 2);
    assert_int_equal(found_hits(&s.found)[0], 6);
    assert_int_equal(found_hits(&s.found)[1], 5);
    assert_int_equal(found_inner(&s.found)[0], 0);
    assert_int_equal(found_outer(&s.found)[0], 1);
    end(&s);
}

static void no_track_crosses_the_beam_line(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    for (uint32_t k = 0; k < 8; k++) /* x from -7 to 7 */
        add_hit(&s, 2.0f * (float)k - 7.0f, 0.01f, 25.0f * (float)k, (uint16_t)(2 * k));
    assert_int_equal(find(&s, NULL), 2);
    assert_int_equal(found_hits(&s.found)[0], 4);
    assert_int_equal(found_hits(&s.found)[1], 4);
    end(&s);
}

static void a_hit_on_each_layer_of_a_station(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    for (uint16_t layer = 10; layer < 20; layer++)
        if (layer < 14 || layer % 2 == 0) /* the road begins with three hits */
            add_hit(&s, 0.05f * 12.5f * (float)layer, 0, 12.5f * (float)layer, layer);
    assert_int_equal(find(&s, NULL), 1);
    assert_int_equal(found_hits(&s.found)[0], 7);
    end(&s);
}

/* A line 1 mm from the beam line, its last hit `off` it, in an RoI of so many hits in all; the
 * others are on one layer far behind. */
static uint32_t find_short(uint32_t n, float off, uint32_t n_all, const char *const *settings)
{
    struct sample s;
    uint32_t found;

    begin(&s, n_all);
    for (uint32_t k = 0; k < n; k++)
        add_hit(&s, 8 + 5 * (float)k, k + 1 < n ? 1 : 1 + off, 25 * (float)k, (uint16_t)(2 * k));
    while (s.e.n < n_all) {
        const float phi = (float)s.e.n;

        add_hit(&s, 25 * cosf(phi), 25 * sinf(phi), 500, 40);
    }
    found = find(&s, settings);
    end(&s);
    return found;
}

/* chance3 is (hits / 10,000)^2 x 0.0256 here, and 0.055 is allowed; with z_made_mm below the hits
 * 0.0025. chance4 is (hits / 10,000)^2 x 0.50 with a bend of 0.3 mm, and 0.85 is allowed. */
static void short_tracks_in_a_crowd(void **state)
{
    (void)state;
    assert_int_equal(find_short(3, 0, 1000, NULL), 1);
    assert_int_equal(find_short(3, 0, 14000, NULL), 1);
    assert_int_equal(find_short(3, 0, 15500, NULL), 0);
    assert_int_equal(find_short(3, 0, 15500, SETTINGS("chance3_max", "0.08")), 1);
    assert_int_equal(find_short(3, 0, 15500, SETTINGS("z_made_mm", "-1")), 1);
    assert_int_equal(find_short(4, 0, 20000, NULL), 1);
    assert_int_equal(find_short(4, 0.3f, 1000, NULL), 1);
    assert_int_equal(find_short(4, 0.3f, 20000, NULL), 0);
    assert_int_equal(find_short(4, 0.3f, 20000, SETTINGS("chance4_max", "9")), 1);
    assert_int_equal(find_short(5, 0.3f, 20000, NULL), 1);
}

static void the_wide_pass(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    add_line(&s, 0.06f, 0.02f, 10, 2);
    add_line(&s, 0.06f, 0.02f, 16, 2); /* one station without a hit: no three in a row */
    assert_int_equal(find(&s, SETTINGS("passes", "1")), 0);
    assert_int_equal(find(&s, NULL), 1);
    assert_int_equal(found_hits(&s.found)[0], 4);
    s.e.n = 0;
    for (uint32_t k = 0; k < 4; k++) /* passes the beam line at 9.9 mm */
        add_hit(&s, 20.0f, 10.0f + 2.0f * (float)k, 25.0f * (float)k, (uint16_t)(2 * k));
    assert_int_equal(find(&s, SETTINGS("passes", "1")), 0);
    assert_int_equal(find(&s, NULL), 1);
    s.e.n = 0;
    add_line(&s, 0.06f, 0.02f, 10, 2); /* two of three on one station */
    add_line(&s, 0.06f, 0.02f, 13, 1);
    assert_int_equal(find(&s, SETTINGS("passes", "1")), 0);
    assert_int_equal(find(&s, NULL), 1);
    end(&s);
}

/* The second hit is 5 mm across from the first.  With 21 hits on its station and a crowd of one the
 * window is pi times 28 mm over 21. */
static void windows_are_narrow_in_a_crowd(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    for (uint32_t k = 0; k < 4; k++)
        add_hit(&s, 20.0f, 2.0f + 6.0f * (float)k, 25.0f * (float)k, (uint16_t)(2 * k));
    for (uint32_t k = 0; k < 20; k++)
        for (uint32_t station = 1; station < 3; station++)
            add_hit(&s, -30.0f, 0.5f * (float)(k * k) - 30.0f, 25.0f * (float)station,
                    (uint16_t)(2 * station));
    assert_int_equal(find(&s, SETTINGS("crowd", "1")), 0);
    assert_int_equal(find(&s, NULL), 1);
    assert_int_equal(found_hits(&s.found)[0], 4);
    end(&s);
}

static void the_straightest_of_three_hits(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    add_line(&s, 0.05f, 0, 10, 3);
    add_hit(&s, 0.05f * 175 + 0.02f, 0.01f, 175, 14); /* beside the third */
    assert_int_equal(find(&s, NULL), 1);
    assert_int_equal(found_hits(&s.found)[0], 3);
    assert_int_equal(found_outer(&s.found)[1], 2);
    end(&s);
}

static void wants_no_track(const struct event *e)
{
    struct trg_result results[2];
    struct products found[2] = {0};
    struct hough_config c;

    configure(&c, "velo", NULL);
    run_on(cpu(), &c, e, 2, 2, results, found);
    assert_int_equal(results[0].status, TRG_TRUNCATED);
    assert_int_equal(results[0].wanted, e[0].n);
    assert_int_equal(results[0].kept, 0);
    assert_int_equal(found[0].of[0].n, 0);
    assert_int_equal(results[1].status, TRG_OK); /* its neighbour is searched */
    assert_int_equal(found[1].of[0].n, 1);
    for (uint32_t i = 0; i < 2; i++)
        products_fini(&found[i]);
}

/* Hits at one angle would cost their number to the third power. */
static void hits_at_one_angle(void **state)
{
    struct sample many, line;
    struct event both[2];

    (void)state;
    begin(&many, 4000);
    begin(&line, HITS);
    for (uint32_t i = 0; i < 4000; i++)
        add_hit(&many, 10.0f, 1e-5f * (float)(i / 20), 12.5f * (float)(i % 20), (uint16_t)(i % 20));
    add_line(&line, 0.06f, 0.02f, 10, 6);
    both[0] = many.e;
    both[1] = line.e;
    wants_no_track(both);
    end(&many);
    end(&line);
}

static void layers_without_end(void **state)
{
    struct sample s;

    (void)state;
    begin(&s, HITS);
    add_line(&s, 0.01f, 0, 10, 4);
    add_hit(&s, 5, 5, 9000, 256);
    add_hit(&s, 5, 5, 9000, 65535);
    assert_int_equal(find(&s, NULL), 1);
    assert_int_equal(s.result.status, TRG_TRUNCATED);
    assert_int_equal(s.result.wanted, 6);
    assert_int_equal(s.result.kept, 4);
    end(&s);
}

static float random_unit_of(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (float)(*random >> 40) / (float)(1u << 24);
}

/* Noise as dense as in collisions of lead: nothing overflows, no hit has two tracks. */
static void a_full_detector(void **state)
{
    uint64_t random = fresh_seed();
    const uint32_t n = 20000;
    struct sample s;
    uint8_t *seen = calloc(n, 1);

    (void)state;
    assert_non_null(seen);
    begin(&s, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint16_t layer = (uint16_t)(i * 52u / n);
        const float r = 5.0f / (0.1f + 0.9f * random_unit_of(&random));
        const float phi = 6.2831853f * random_unit_of(&random);

        add_hit(&s, r * cosf(phi), r * sinf(phi), 12.5f * (float)layer, layer);
    }
    find(&s, NULL);
    assert_int_equal(s.result.status, TRG_OK);
    for (uint32_t t = 0, at = 0; t < s.found.of[0].n; at += found_hits(&s.found)[t++] - 1) {
        assert_true(found_hits(&s.found)[t] >= 3);
        assert_int_equal(seen[found_inner(&s.found)[at]]++, 0);
        for (uint32_t k = 0; k + 1 < found_hits(&s.found)[t]; k++)
            assert_int_equal(seen[found_outer(&s.found)[at + k]]++, 0);
    }
    free(seen);
    end(&s);
}

/* ---------------------------------------------------------------- the naive search */

static void the_same_tracks(void **state)
{
    const char *const *const settings[] = {
        NULL, SETTINGS("crowd", "2"), SETTINGS("chance3_max", "0.0004", "chance4_max", "0.002")};

    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        check_agreement("velo", settings[i], naive_find, rois_or(3), fresh_seed(), 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_road_takes_a_hit),
        cmocka_unit_test(no_track_crosses_the_beam_line),
        cmocka_unit_test(a_hit_on_each_layer_of_a_station),
        cmocka_unit_test(short_tracks_in_a_crowd),
        cmocka_unit_test(the_wide_pass),
        cmocka_unit_test(windows_are_narrow_in_a_crowd),
        cmocka_unit_test(the_straightest_of_three_hits),
        cmocka_unit_test(hits_at_one_angle),
        cmocka_unit_test(layers_without_end),
        cmocka_unit_test(a_full_detector),
        cmocka_unit_test(the_same_tracks),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
