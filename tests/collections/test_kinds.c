/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of collections: one for each declaration, and what a declaration must be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kinds.h"

#include "samples.collections.h"

static char why[256];

/* A collection of one column with the right hash. */
static struct trg_collection small(const char *name, struct trg_column *column)
{
    struct trg_collection c = {sizeof c, 1, name, "a test", 10, sizeof *column, 0, column, NULL};

    *column = (struct trg_column){"et", "GeV", "energy", TRG_F32, 1, 0, 100, 0};
    c.hash = trg_collection_hash(&c);
    return c;
}

static void one_number_for_each_declaration(void **state)
{
    struct trg_column column;
    struct trg_collection c = small("cells", &column);
    uint32_t kind, again, other;

    (void)state;
    assert_int_equal(kind_add(&trg_hits, &kind, why, sizeof why), 0);
    assert_int_equal(kind, TRG_HITS);
    assert_int_equal(kind_add(&trg_samples, &kind, why, sizeof why), 0);
    assert_true(kind >= TRG_KIND_COUNT);
    assert_ptr_not_equal(kind_info(kind), &trg_samples); /* a copy */
    assert_string_equal(kind_info(kind)->column[2].name, "b");
    assert_int_equal(kind_item_size(kind), 4 + 1 + 2 + 4 + 1 + 2 + 4 + 2 + 3 * 4 + 5 * 2);
    assert_int_equal(kind_add(&trg_samples, &again, why, sizeof why), 0);
    assert_int_equal(again, kind);
    assert_int_equal(kind_add(&c, &kind, why, sizeof why), 0);
    column.max = 50;
    c.hash = trg_collection_hash(&c);
    assert_int_equal(kind_add(&c, &other, why, sizeof why), 0); /* an author changed it */
    assert_int_not_equal(other, kind);
    assert_int_equal((int)kind_info(kind)->column[0].max, 100);
    assert_null(kind_info(TRG_KIND_NONE));
    assert_null(kind_info(KINDS_MAX));
    assert_null(kind_info(UINT32_MAX));
}

static void refused(struct trg_collection *c, bool right_hash, int error, const char *sentence)
{
    uint32_t kind = 77;

    if (right_hash)
        c->hash = trg_collection_hash(c);
    assert_int_equal(kind_add(c, &kind, why, sizeof why), error);
    assert_int_equal(kind, 77);
    if (!strstr(why, sentence))
        fail_msg("\"%s\" does not say \"%s\"", why, sentence);
}

#define BAD(CHANGE, HASH, SENTENCE)                      \
    do {                                                 \
        struct trg_column column;                        \
        struct trg_collection c = small("bad", &column); \
                                                         \
        CHANGE;                                          \
        refused(&c, (HASH), -EINVAL, (SENTENCE));        \
    } while (0)

static void bad_declarations_are_refused(void **state)
{
    (void)state;
    BAD(c.hash++, false, "collection bad has the hash ");
    BAD(column.unit = "MeV", false, "use the header that was made from its declaration");
    BAD(c.size = 8, true, "a declaration has 8 bytes and ");
    BAD(c.name = "Bad", true, "a declaration has no good name");
    BAD(c.doc = NULL, true, "a declaration has no good name, doc or columns");
    BAD(c.n_columns = 0, true, "collection bad has 0 columns and room for 10");
    BAD(c.n_columns = 17, false, "collection bad has 17 columns");
    BAD(c.room = 0, true, "room for 0; 1 to 16 columns and some room");
    BAD(column.name = "", true, "column 0 of collection bad has no good name, unit or doc");
    BAD(column.unit = "sixteen letters.", true,
        "column 0 of collection bad has no good name, unit");
    BAD(column.type = 9, true,
        "column et of collection bad has type 9 and length 1; types are 1 to 8");
    BAD(column.length = 65, true, "type 5 and length 65");
    BAD(column.length = 0, true, "type 5 and length 0");
    BAD(column.min = 101, true, "column et of collection bad has min 101 above max 100");
    BAD(c.name = "hits", true, "it declares hits otherwise than trigd itself does");
}

/* Adds an encoding to the one column of a declaration. */
static struct trg_collection encoded(struct trg_column *column, struct trg_encoding *encoding)
{
    struct trg_collection c = small("bad", column);

    column->flags = TRG_COLUMN_ENCODED;
    c.encoding = encoding;
    c.hash = trg_collection_hash(&c);
    return c;
}

static void encodings(void **state)
{
    static const struct {
        struct trg_encoding encoding;
        const char *sentence;
    } bad[] = {
        {{0, -1}, "with offset 0 and step -1; a step above 0 and values that single"},
        {{1, 0}, "with offset 1 and step 0; a step above 0 and values that"},
        {{0, 0.0f / 0.0f}, "a step above 0 and values that single precision can hold"},
        {{3e38f, 1e34f}, "with offset 3e+38 and step 1e+34; a step above 0 and values that"},
        {{-3e38f, 1e34f}, "with offset -3e+38 and step 1e+34; a step above 0 and values"},
        {{200, 0.5f}, "column et of collection bad is encoded as 200 to 32967.5, all outside"},
        {{-70000, 1}, "is encoded as -70000 to -4465, all outside of its range"}};
    struct trg_encoding encoding = {-1, 0.5f};
    struct trg_column column;
    struct trg_collection c = encoded(&column, &encoding);
    uint64_t hash = c.hash;
    uint32_t kind;

    (void)state;
    c.name = "coded";
    c.hash = trg_collection_hash(&c);
    assert_int_equal(kind_add(&c, &kind, why, sizeof why), 0);
    assert_true(trg_column_encoding(kind_info(kind), 0).step == 0.5f);
    c = encoded(&column, &encoding);
    assert_true(c.hash == hash);
    encoding.step = 0.25f;
    assert_true(trg_collection_hash(&c) != hash);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        encoding = bad[i].encoding;
        refused(&c, true, -EINVAL, bad[i].sentence);
    }
    encoding = (struct trg_encoding){-1, 0.5f};
    column.type = TRG_U32;
    refused(&c, true, -EINVAL, "column et of collection bad has an encoding; columns of type f32");
    column.type = TRG_F32;
    column.flags = 0;
    refused(&c, true, -EINVAL, "column et of collection bad has an encoding; columns of type f32");
}

/* A plugin built before there were encodings in declarations. */
static void an_older_declaration(void **state)
{
    const size_t old = offsetof(struct trg_collection, encoding);
    struct trg_column column;
    struct trg_collection c = small("older", &column), *on_heap = malloc(old);
    uint32_t kind, again;

    (void)state;
    assert_non_null(on_heap);
    c.size = (uint32_t)old;
    column.flags = TRG_COLUMN_ENCODED; /* as spacepoints have it */
    c.hash = trg_collection_hash(&c);
    memcpy(on_heap, &c, old); /* ASan sees a byte too many */
    assert_int_equal(kind_add(on_heap, &kind, why, sizeof why), 0);
    free(on_heap);
    assert_int_equal(kind_info(kind)->size, sizeof c);
    assert_true(trg_column_encoding(kind_info(kind), 0).step == 0);
    c.size = sizeof c;
    assert_int_equal(kind_add(&c, &again, why, sizeof why), 0);
    assert_int_equal(again, kind);
}

static void a_column_twice_is_refused(void **state)
{
    struct trg_column two[2];
    struct trg_collection c = small("bad", two);

    (void)state;
    two[1] = two[0];
    c.n_columns = 2;
    refused(&c, true, -EINVAL, "collection bad has column et twice");
}

/* The last test: the table is full after it. */
static void there_is_room_for_so_many(void **state)
{
    struct trg_column column;
    char name[16];
    uint32_t kind = 0, n = 0;
    int r = 0;

    (void)state;
    for (; r == 0 && n < 2 * KINDS_MAX; n++) {
        struct trg_collection c;

        snprintf(name, sizeof name, "cells%u", n);
        c = small(name, &column);
        r = kind_add(&c, &kind, why, sizeof why);
        if (r < 0)
            refused(&c, true, -ENOSPC, "and 31 collections were declared since the start already");
    }
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(kind, KINDS_MAX - 1);
    assert_string_equal(kind_info(KINDS_MAX - 1)->column[0].name, "et");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number_for_each_declaration),
        cmocka_unit_test(bad_declarations_are_refused),
        cmocka_unit_test(encodings),
        cmocka_unit_test(an_older_declaration),
        cmocka_unit_test(a_column_twice_is_refused),
        cmocka_unit_test(there_is_room_for_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
