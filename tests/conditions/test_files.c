/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions from files: what is read, what is refused with which sentence, and what is dumped. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conditions/condition_file.h"
#include "config/yamlfile.h"
#include "log.h"
#include "memfile.h"
#include "tables.collections.h"

static const struct condition_need needs[] = {{"scale", &trg_scales, false},
                                              {"dead", &trg_dead_channels, true}};

static int read_text(const char *text, struct condition_list *ret_list)
{
    struct memfile f = memfile_new(text, strlen(text));
    const int r = conditions_read(f.path, needs, 2, ret_list);

    memfile_close(&f);
    return r;
}

static const char good[] = "name: of run 3\n"
                           "conditions:\n"
                           "  dead:\n"
                           "    channel: [7, -5, 2147483647]\n"
                           "  scale:\n"
                           "    scale: [0.1, -100]\n"
                           "    counts: [[1, 2, 3], [4, 5, 1000]]\n";

static void values_are_those_of_the_file(void **state)
{
    struct condition_list list;
    const struct condition *dead, *scale;

    (void)state;
    assert_int_equal(read_text(good, &list), 0);
    assert_int_equal(list.n, 2);
    dead = list.of[0];
    scale = list.of[1];
    assert_string_equal(dead->name, "dead");
    assert_int_equal(dead->n, 3);
    assert_memory_equal(dead->column[0], ((const int32_t[]){7, -5, 2147483647}), 12);
    assert_int_equal(scale->n, 2);
    assert_memory_equal(scale->column[0], ((const float[]){0.1f, -100}), 8);
    assert_memory_equal(scale->column[1], ((const uint16_t[]){1, 2, 3, 4, 5, 1000}), 12);
    conditions_release(&list);
}

/* As plugins get it: the input of one RoI. */
static void a_table_is_laid_out_as_an_input(void **state)
{
    struct condition_list list;
    struct trg_span span;
    unsigned char *bytes;

    (void)state;
    assert_int_equal(read_text(good, &list), 0);
    bytes = aligned_alloc(64, condition_bytes(&trg_scales, trg_scales.room));
    assert_non_null(bytes);
    assert_int_equal(condition_lay_out(list.of[1], bytes, &span), condition_bytes(&trg_scales, 2));
    assert_int_equal(span.n_rois, 1);
    assert_int_equal(span.n_items, 2);
    assert_memory_equal(bytes + span.offsets, ((const uint32_t[]){0, 2}), 8);
    assert_memory_equal(bytes + span.column[0], ((const float[]){0.1f, -100}), 8);
    assert_memory_equal(bytes + span.column[1], ((const uint16_t[]){1, 2, 3, 4, 5, 1000}), 12);
    assert_int_equal(span.column[1] % 64, 0);
    free(bytes);
    conditions_release(&list);
}

static uint64_t key_of(const char *text)
{
    struct condition_list list;
    uint64_t key;

    assert_int_equal(read_text(text, &list), 0);
    assert_int_equal(list.n, 1);
    key = list.of[0]->key;
    conditions_release(&list);
    return key;
}

static void equal_rows_have_equal_keys(void **state)
{
    const uint64_t key = key_of("conditions: {dead: {channel: [1, 2]}}\n");

    (void)state;
    assert_true(key == key_of("# other text\nconditions:\n  dead:\n    channel: [1, 2]\n"));
    assert_true(key != key_of("conditions: {dead: {channel: [2, 1]}}\n"));
    assert_true(key != key_of("conditions: {dead: {channel: [1]}}\n"));
    assert_true(key_of("conditions: {dead: {channel: []}}\n") != 0);
}

static void what_is_printed_is_read_back(void **state)
{
    struct condition_list list, again;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(out);
    assert_int_equal(read_text(good, &list), 0);
    fputs("conditions:\n", out);
    for (uint32_t i = 0; i < list.n; i++)
        condition_print(list.of[i], out);
    fclose(out);
    assert_int_equal(read_text(text, &again), 0);
    for (uint32_t i = 0; i < list.n; i++)
        assert_true(again.of[i]->key == list.of[i]->key);
    free(text);
    conditions_release(&list);
    conditions_release(&again);
}

#define SCALE "conditions:\n  scale:\n    scale: [1]\n    counts: [[1, 2, 3]]\n"

static const struct {
    const char *text, *why;
} wrong[] = {
    {"conditions:\n  dead_:\n    channel: [1]\n",
     ":2: no plugin that is loaded has a condition \"dead_\"; did you mean \"dead\"?"},
    {"conditions:\n  dead:\n    chanel: [1]\n",
     ":2: conditions.dead has no column \"chanel\"; did you mean \"channel\"?"},
    {"conditions:\n  scale:\n    scale: [1]\n", ":2: conditions.scale lacks the column counts"},
    {"conditions:\n  dead: {}\n", ":2: conditions.dead lacks the column channel"},
    {"conditions:\n  dead: 3\n", ":2: conditions.dead lacks the column channel"},
    {"conditions:\n  dead:\n    channel: 3\n",
     ":3: conditions.dead.channel is no list of values; write [VALUE, ...]"},
    {"conditions:\n  dead:\n    channel: [-6]\n",
     ":3: conditions.dead.channel[0] is \"-6\"; a whole number of -5 to 2.14748365e+09 is allowed"},
    {"conditions:\n  dead:\n    channel: [1, 2.5]\n", "channel[1] is \"2.5\"; a whole number"},
    {"conditions:\n  dead:\n    channel: [one]\n", "channel[0] is \"one\"; a whole number"},
    {"conditions:\n  dead:\n    channel: [[1]]\n", "channel[0] is \"no number\"; a whole number"},
    {"conditions:\n  scale:\n    scale: [.nan]\n    counts: [[1, 2, 3]]\n",
     ":3: conditions.scale.scale[0] is \".nan\"; a number of -100 to 100 is allowed"},
    {"conditions:\n  scale:\n    scale: [nan]\n    counts: [[1, 2, 3]]\n", "is \"nan\"; a number"},
    {"conditions:\n  scale:\n    scale: [100.1]\n    counts: [[1, 2, 3]]\n", "is \"100.1\"; a"},
    {"conditions:\n  scale:\n    scale: [1, 2]\n    counts: [[1, 2, 3]]\n",
     ":4: conditions.scale.counts has 1 rows, and scale has 2"},
    {"conditions:\n  scale:\n    scale: [1]\n    counts: [[1, 2]]\n",
     ":4: conditions.scale.counts[0] has 2 values; it is a vector of 3"},
    {"conditions:\n  scale:\n    scale: [1]\n    counts: [1]\n",
     ":4: conditions.scale.counts[0] has 1 values; it is a vector of 3"},
    {"conditions:\n  scale:\n    scale: [1, 2, 3]\n    counts: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]\n",
     ":3: conditions.scale.scale has 3 rows; at most 2 are allowed"},
    {SCALE "  scale:\n    scale: [2]\n", ":5: the key \"scale\" stands twice in conditions"},
    {"conditions:\n  dead:\n    channel: [1]\n    channel: [2]\n",
     ":2: conditions.dead has the column channel twice"},
    {"condition:\n  dead:\n    channel: [1]\n", "condition"},
    {"", ":1: the file is empty"},
    {"conditions: [\n", "this is not YAML"},
};

static void what_is_wrong_is_a_sentence(void **state)
{
    struct condition_list list;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_text(wrong[i].text, &list), -EINVAL);
        assert_int_equal(list.n, 0);
        if (!strstr(yamlfile_why(), wrong[i].why))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, yamlfile_why(), wrong[i].why);
    }
    assert_int_equal(conditions_read("/nonesuch", needs, 2, &list), -ENOENT);
    assert_string_equal(yamlfile_why(), "/nonesuch: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_file),
        cmocka_unit_test(a_table_is_laid_out_as_an_input),
        cmocka_unit_test(equal_rows_have_equal_keys),
        cmocka_unit_test(what_is_printed_is_read_back),
        cmocka_unit_test(what_is_wrong_is_a_sentence),
    };

    log_set_level(TRG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
