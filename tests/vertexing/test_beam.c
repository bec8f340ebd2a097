/* SPDX-License-Identifier: Apache-2.0 */
/* The beam line, found or configured, and the room for vertices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "score.h"
#include "testing.h"

static struct toy toy_at(double x, double y)
{
    struct toy t = toy_velo;

    t.beam_x = x;
    t.beam_y = y;
    return t;
}

static struct score score_of(const struct event *e, uint32_t n, const char *const *settings)
{
    struct vx_config c;
    struct vx_answer *a;
    struct score s = {0};

    configure(&c, NULL, settings);
    a = answers_of(cpu(), &c, e, n, 16);
    for (uint32_t i = 0; i < n; i++)
        score_add(&s, &e[i], &a[i]);
    vx_answers_free(a, n);
    return s;
}

/* Wherever the beam is, it is found; as well as where it is configured, but for what its own width
 * costs. */
static void found(void **state)
{
    static const double place[][2] = {{0, 0}, {-0.5, -0.5}, {2, -1}, {-7, 6}};
    const uint64_t seed = fresh_seed();
    const uint32_t n = 150;

    (void)state;
    for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
        const struct toy t = toy_at(place[k][0], place[k][1]);
        struct event *e = toy_events(&t, seed, n);
        struct score s = score_of(e, n, NULL), fixed;
        char x[32], y[32];

        snprintf(x, sizeof x, "%g", place[k][0]);
        snprintf(y, sizeof y, "%g", place[k][1]);
        fixed = score_of(e, n, SETTINGS("beam_line", "fixed", "beam_x_mm", x, "beam_y_mm", y));
        print_message("beam at (%g, %g): %u of %u collisions, %u where it is configured\n",
                      place[k][0], place[k][1], s.all_found, s.all, fixed.all_found);
        assert_true(fixed.all_found > 0.9 * s.all);
        assert_true(s.all_found > fixed.all_found - 0.01 * s.all);
        free_events(e, n);
    }
}

/* Log lines of the plugin. */
static struct {
    uint32_t n;
    char text[512];
} told;

static void listen(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level > TRG_WARN)
        return;
    told.n++;
    snprintf(told.text, sizeof told.text, "%s", text);
}

/* A beam line that is configured elsewhere: hardly any vertices, and one line in the log that says
 * why. */
static void misplaced(void **state)
{
    const struct toy t = toy_at(-0.5, -0.5);
    const uint32_t n = 60;
    struct event *e = toy_events(&t, fresh_seed(), n);
    trg_log_fn *log = host.host.log;
    struct score s;

    (void)state;
    host.host.log = listen;
    memset(&told, 0, sizeof told);
    s = score_of(e, n, SETTINGS("beam_line", "fixed"));
    assert_true(s.all_found < 0.08 * s.all); /* of few tracks, with errors as large as that */
    assert_int_equal(told.n, 1);
    print_message("%s\n", told.text);
    assert_non_null(strstr(told.text, "beam_x_mm"));
    assert_true(strstr(told.text, "(-0.5") || strstr(told.text, "(-0.4")); /* and where it is */
    s = score_of(e, n, SETTINGS("beam_x_mm", "-0.5", "beam_y_mm", "-0.5"));
    assert_true(s.all_found > 0.9 * s.all);
    assert_int_equal(told.n, 1); /* nothing more */
    host.host.log = log;
    free_events(e, n);
}

/* Tracks that say nothing of a beam line, or hardly anything, leave it where it began. */
static void few_tracks(void **state)
{
    struct vx_config c;
    struct vx_answer *a;
    struct event e;

    (void)state;
    configure(&c, NULL, SETTINGS("pv_min_tracks", "2", "pv_own_tracks", "0"));
    assert_int_equal(event_init(&e, 64), 0);
    event_add(&e, &(struct event_track){.x = 3, .var_x = 1e-4}, EVENT_NOBODY); /* along it */
    for (uint32_t i = 0; i < 3; i++)
        event_add(&e,
                  &(struct event_track){.z = 5,
                                        .x = 0.02,
                                        .tx = 0.1 * (i + 1),
                                        .ty = i == 1 ? 0.2 : -0.1,
                                        .var_x = 1e-4,
                                        .var_tx = 1e-8},
                  EVENT_NOBODY);
    a = answers_of(cpu(), &c, &e, 1, 1);
    assert_int_equal(a->n, 1);
    assert_float_equal(vx_floats(a, 0)[0], 0.02, 1e-3);
    assert_float_equal(vx_floats(a, 2)[0], 5, 1e-2);
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* 300 collisions a millimetre apart, of ten tracks each: all are found with the defaults. */
static void three_hundred(void **state)
{
    struct vx_config c;
    struct vx_answer *a;
    struct event e;

    (void)state;
    configure(&c, NULL, NULL);
    assert_int_equal(event_init(&e, 4096), 0);
    for (uint32_t v = 0; v < 300; v++)
        for (uint32_t i = 0; i < 10; i++) {
            const double phi = 0.62831853 * (i + 0.01 * v), slope = 0.15 + 0.01 * (i % 4);
            const struct event_track t = {.z = -150.0 + v,
                                          .tx = slope * cos(phi),
                                          .ty = slope * sin(phi),
                                          .var_x = 1e-4,
                                          .var_tx = 1e-10};

            event_add(&e, &t, EVENT_NOBODY);
        }
    a = answers_of(cpu(), &c, &e, 1, 1);
    assert_int_equal(a->result.status, TRG_OK);
    assert_int_equal((int)a->result.value[0], 300);
    assert_int_equal(a->n, 300);
    for (uint32_t v = 0; v < 300; v++)
        assert_true(fabs((double)vx_floats(a, 2)[v] - (-150.0 + v)) < 0.01);
    vx_answers_free(a, 1);
    event_fini(&e);
}

/* Room follows the tracks, 16 and one for eight of them: what is beyond is told. */
static void no_more_room(void **state)
{
    struct vx_config c;
    struct vx_answer *a;
    struct event e;

    (void)state;
    configure(&c, NULL, SETTINGS("pv_min_tracks", "2", "pv_own_tracks", "0"));
    assert_int_equal(event_init(&e, 256), 0);
    for (uint32_t v = 0; v < 60; v++)
        for (uint32_t i = 0; i < 2; i++)
            event_add(&e,
                      &(struct event_track){.z = -120 + 4.0 * v,
                                            .tx = i ? 0.2 : -0.2,
                                            .ty = 0.1,
                                            .var_x = 1e-4,
                                            .var_tx = 1e-10},
                      EVENT_NOBODY);
    a = answers_of(cpu(), &c, &e, 1, 1);
    assert_int_equal(a->result.status, TRG_TRUNCATED);
    assert_int_equal(a->result.wanted, 60);
    assert_int_equal(a->result.kept, 16 + 120 / 8);
    assert_int_equal(a->n, 16 + 120 / 8);
    vx_answers_free(a, 1);
    event_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found),        cmocka_unit_test(misplaced),
        cmocka_unit_test(few_tracks),   cmocka_unit_test(three_hundred),
        cmocka_unit_test(no_more_room),
    };

    return cmocka_run_group_tests(tests, open_host, close_host);
}
