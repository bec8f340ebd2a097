/* SPDX-License-Identifier: Apache-2.0 */
/* Room for products from the table of a descriptor: what it gives, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/room.h"

struct config {
    uint32_t most, per, least, remove;
    float r_mm;
};
#define AT(member) offsetof(struct config, member)

static const struct trg_param params[] = {
    {"most", TRG_PARAM_U32, AT(most), "1", 0, 1, "", NULL, ""},
    {"per", TRG_PARAM_U32, AT(per), "1", 0, 1, "", NULL, ""},
    {"least", TRG_PARAM_U32, AT(least), "1", 0, 1, "", NULL, ""},
    {"remove", TRG_PARAM_BOOL, AT(remove), "true", 0, 0, "", NULL, ""},
    {"r_mm", TRG_PARAM_F32, AT(r_mm), "1", 0, 1, "mm", NULL, ""},
    {0}};

static struct trg_plugin plugin(const struct trg_room *table)
{
    return (struct trg_plugin){TRG_PLUGIN_INIT, .params = params,
                               .consumes = {&trg_hits, &trg_doublets},
                               .produces = {&trg_tracks, &trg_vertices}, .room = table};
}

static void room_is(const struct trg_room *table, struct config config, uint32_t n_hits,
                    uint32_t n_doublets, uint32_t tracks, uint32_t vertices)
{
    const struct trg_plugin d = plugin(table);
    uint32_t n_out[TRG_OUTPUTS_MAX];
    struct room room;
    char why[256] = "";

    if (room_check(&d, why, sizeof why) != 0)
        fail_msg("%s", why);
    room_init(&d, &config, &room);
    room_items(&room, (const uint32_t[TRG_INPUTS_MAX]){n_hits, n_doublets}, n_out);
    assert_int_equal(n_out[0], tracks);
    assert_int_equal(n_out[1], vertices);
}

static void declared_room_without_rows(void **state)
{
    (void)state;
    room_is(NULL, (struct config){0}, 5, 5, trg_tracks.room, trg_vertices.room);
    room_is((const struct trg_room[]){{"vertices", .cap = {.number = 3}}, {0}}, (struct config){0},
            5, 5, trg_tracks.room, 3);
}

static void factors_divisors_and_caps(void **state)
{
    static const struct trg_room table[] = {
        {"tracks", .cap = {.plus = "most"},
         .in = {{.factor = {.plus = "per"}, .divisor = {.number = 3}}}},
        {"vertices", .in = {{.factor = {.number = 2}, .constant = {.number = 7}}}},
        {0}};

    (void)state;
    room_is(table, (struct config){.most = 100, .per = 2}, 10, 0, 6, 27);
    room_is(table, (struct config){.most = 5, .per = 2}, 10, 0, 5, 27);
    room_is(table, (struct config){.most = 100, .per = 2}, 0, 9, 0, 7);
    room_is(table, (struct config){.most = 0, .per = 2}, 10, 0, 0, 27);
    room_is(table, (struct config){.most = UINT32_MAX, .per = UINT32_MAX}, UINT32_MAX, 0,
            UINT32_MAX, UINT32_MAX);
}

static void the_least_of_inputs_and_the_sum_of_rows(void **state)
{
    static const struct trg_room table[] = {
        {"tracks", .cap = {.plus = "most"},
         .in = {{.factor = {.number = 1},
                 .divisor = {.number = 1, .plus = "least", .minus = "per"},
                 .when = "remove"},
                {.factor = {.number = 3}, .constant = {.number = 4}}}},
        {"vertices", .cap = {.number = 10},
         .in = {{.factor = {.number = 1}, .divisor = {.number = 2}}}},
        {"vertices", .cap = {.number = 2},
         .in = {{.factor = {.number = 1}, .divisor = {.number = 2}}}},
        {0}};
    struct config c = {.most = 1000, .per = 1, .least = 3, .remove = 1};

    (void)state;
    room_is(table, c, 30, 100, 10, 12); /* 30 / (1 + 3 - 1) */
    room_is(table, c, 30, 1, 7, 12);    /* 3 * 1 + 4 */
    room_is(table, c, 3, 1, 1, 2);      /* 1 + 1 */
    c.remove = 0;
    room_is(table, c, 30, 100, 304, 12);
    c.remove = 1;
    c.per = 4; /* the divisor comes to 0 */
    room_is(table, c, 30, 100, 304, 12);
    c.per = 400; /* and is not below it */
    room_is(table, c, 30, 10000, 1000, 12);
}

static void bad_tables_are_refused(void **state)
{
    static const struct {
        struct trg_room row;
        const char *why;
    } table[] = {
        {{"paths", .cap = {.number = 1}}, "there is room for paths, which it does not produce"},
        {{.product = "tracks"},
         "room for tracks has no bound: a cap is needed, or an input without `when`"},
        {{"tracks", .in = {{.factor = {.number = 1}, .when = "remove"}}},
         "room for tracks has no bound"},
        {{"tracks", .in = {{.factor = {.number = 1}, .divisor = {.number = 1, .plus = "per"}}}},
         "room for tracks has no bound"},
        {{"tracks", .cap = {.plus = "r_mm"}},
         "room for tracks names 'r_mm'; parameters of the type U32 are allowed"},
        {{"tracks", .cap = {.number = 1, .minus = "nobody"}}, "room for tracks names 'nobody'"},
        {{"tracks", .cap = {.number = 1}, .in = {{.factor = {.number = 1}, .when = "per"}}},
         "room for tracks depends on 'per'; parameters of the types BOOL and CHOICE are allowed"},
        {{"tracks", .cap = {.number = 1}, .in = {[2] = {.factor = {.number = 1}}}},
         "room for tracks depends on input 2, which there is not"},
        {{"tracks", .cap = {.number = 1}, .in = {{.constant = {.number = 1, .plus = "remove"}}}},
         "room for tracks names 'remove'"},
    };
    struct trg_room many[ROOM_ROWS_MAX] = {{0}};
    struct trg_plugin d;
    char why[256];

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct trg_room one[] = {table[i].row, {0}};

        d = plugin(one);
        assert_int_equal(room_check(&d, why, sizeof why), -EINVAL);
        if (!strstr(why, table[i].why))
            fail_msg("\"%s\" does not say \"%s\"", why, table[i].why);
    }
    for (uint32_t i = 0; i + 1 < ROOM_ROWS_MAX; i++)
        many[i] = (struct trg_room){"tracks", .cap = {.number = 1}};
    d = plugin(many);
    assert_int_equal(room_check(&d, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "more than 6 rows"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declared_room_without_rows),
        cmocka_unit_test(factors_divisors_and_caps),
        cmocka_unit_test(the_least_of_inputs_and_the_sum_of_rows),
        cmocka_unit_test(bad_tables_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
