/* SPDX-License-Identifier: Apache-2.0 */
/* Models: text, what is refused and with which sentence, and what they collapse to. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "label.h"
#include "seed.h"
#include "tables.h"

#define HEAD "trigd-voxel-model 1\n"

/* Reads `body` with the hash that it should have behind it. */
static int read_model(const char *body, struct vox_model *m, char *why, size_t why_bytes)
{
    uint64_t h = UINT64_C(14695981039346656037);
    char text[2048];

    for (const char *c = body; *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    snprintf(text, sizeof text, "%shash %016" PRIx64 "\n", body, h);
    return vox_model_parse(text, strlen(text), m, why, why_bytes);
}

static void expect_refused(const char *body, const char *sentence)
{
    struct vox_model m;
    char why[256] = "";

    assert_int_equal(read_model(body, &m, why, sizeof why), -EINVAL);
    assert_string_equal(why, sentence);
}

static void test_refused(void **state)
{
    static const char wrong_hash[] = HEAD "bias 1\nhash 0123456789abcdef\n",
                      none[] = HEAD "bias 1\n";
    struct vox_model m;
    char why[256] = "";

    (void)state;
    expect_refused("voxels 7\n",
                   "line 1: 'voxels' does not begin a model; 'trigd-voxel-model 1' does");
    expect_refused(HEAD "stump w 1 2 3\n",
                   "line 2: 'w' is no feature; there are x y z v dx dy dz s");
    expect_refused(HEAD "stump v 1 2\n",
                   "line 2: 'stump' is followed by FEATURE AT_MOST LEFT RIGHT");
    expect_refused(HEAD "stump v 1.5 2 3\n", "line 2: '1.5' is not an integer of 32 bits");
    expect_refused(HEAD "stump v 1 2 99999999999\n",
                   "line 2: '99999999999' is not an integer of 32 bits");
    expect_refused(HEAD "\n# twice 2^28 and more\nstump v 1 268435456 0\nstump v 2 0 -268435460\n",
                   "line 5: 'stump' brings the weights above 2^29");
    expect_refused(HEAD "tree 1\n",
                   "line 2: 'tree' begins no line that is known: name, bias, stump and hash are");
    assert_int_equal(vox_model_parse(wrong_hash, sizeof wrong_hash - 1, &m, why, sizeof why),
                     -EINVAL);
    assert_string_equal(why, "line 3: '0123456789abcdef' is not the hash of the lines above");
    assert_int_equal(vox_model_parse(none, sizeof none - 1, &m, why, sizeof why), -EINVAL);
    assert_string_equal(why, "it does not end with its hash");
    assert_int_equal(vox_model_parse("a\0b", 3, &m, why, sizeof why), -EINVAL);
    assert_string_equal(why, "line 1 is binary or longer than 255 bytes");
    assert_int_equal(vox_model_read("/does/not/exist", &m, why, sizeof why), -ENOENT);
    assert_string_equal(why, "/does/not/exist: No such file or directory");
}

/* By hand: equal thresholds add up, constant stumps go to the bias, thresholds beyond a feature's
 * range as well. */
static void test_collapse(void **state)
{
    static const char body[] = HEAD "name hand\nbias 5\nstump v 10 -1 1\nstump v 10 -2 2\n"
                                    "stump dx -3 4 -4\nstump s 100 0 7\nstump y 2 1 3\n"
                                    "stump v 255 20 -20\nstump dz -300 9 30\nstump z 4 6 6\n";
    struct vox_tables t;
    struct vox_model m;
    char why[256] = "";

    (void)state;
    assert_int_equal(read_model(body, &m, why, sizeof why), 0);
    assert_string_equal(m.name, "hand");
    assert_int_equal(m.n_stumps, 8);
    assert_int_equal(vox_tables_make(&m, &t, why, sizeof why), 0);
    assert_int_equal(t.thresholds, 4);
    assert_int_equal(t.s_steps, 0);
    assert_int_equal(t.uses, VOX_USES_V | VOX_USES_DX | VOX_USES_S);
    assert_int_equal(t.bias, 5 - 1 - 2 + 4 + 0 + 1 + 20 + 30 + 6);
    assert_int_equal(t.words[VOX_TABLE_V + 10], 0);
    assert_int_equal(t.words[VOX_TABLE_V + 11], 6);
    assert_int_equal(t.words[VOX_TABLE_DX - 3 + VOX_D_ZERO], 0);
    assert_int_equal(t.words[VOX_TABLE_DX - 2 + VOX_D_ZERO], -8);
    assert_int_equal(vox_of_square(t.words, vox_whole(100)), 0);
    assert_int_equal(vox_of_square(t.words, vox_whole(101)), 7);
    assert_int_equal(t.extent[0], 1);
    assert_int_equal(t.extent[1], 4);
    assert_int_equal(t.words[VOX_TABLE_REST], t.bias);    /* x */
    assert_int_equal(t.words[VOX_TABLE_REST + 1 + 2], 0); /* y = 2 */
    assert_int_equal(t.words[VOX_TABLE_REST + 1 + 3], 2); /* y = 3 and beyond */
    vox_tables_fini(&t);
    vox_model_fini(&m);
}

/* Every s, with thresholds near each other and far: one at most is in a part of the table, others
 * are crowded. */
static void test_squares(void **state)
{
    uint64_t seed = fresh_seed();
    struct vox_stump stumps[100];
    const struct vox_model m = {.n_stumps = 100, .stumps = stumps};
    struct vox_tables t;
    char why[256] = "";

    (void)state;
    for (uint32_t i = 0; i < m.n_stumps; i++) {
        const double most = i % 2 ? VOX_S_MAX : 3000;

        stumps[i] = (struct vox_stump){VOX_S, (int32_t)seed_uniform(&seed, 0, most), 0,
                                       (int32_t)seed_uniform(&seed, -1000, 1000)};
    }
    assert_int_equal(vox_tables_make(&m, &t, why, sizeof why), 0);
    assert_in_range(t.s_steps, 20, 99);
    for (uint32_t s = 0; s <= VOX_S_MAX; s++) {
        const uint32_t whole = vox_whole(s);
        int32_t sum = vox_of_square(t.words, whole), expected = 0;

        vox_add_crowded(t.words, t.s_steps, &whole, 1, &sum);
        for (uint32_t i = 0; i < m.n_stumps; i++)
            expected += (int32_t)s > stumps[i].at_most ? stumps[i].right : 0;
        assert_int_equal(sum, expected);
    }
    vox_tables_fini(&t);
}

static void test_too_many(void **state)
{
    struct vox_stump stumps[200];
    const struct vox_model m = {.n_stumps = 200, .stumps = stumps};
    struct vox_tables t;
    char why[256] = "";

    (void)state;
    for (int32_t i = 0; i < 200; i++)
        stumps[i] = (struct vox_stump){VOX_S, 7 * i, -1, 1};
    assert_int_equal(vox_tables_make(&m, &t, why, sizeof why), -EINVAL);
    assert_string_equal(why, "it has 200 thresholds of s; 128 are allowed");
}

/* The models that come with the project, as trigmodel wrote them. */
static void test_committed(void **state)
{
    static const char *const names[] = {"mni-white", "mni-grey"};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct vox_model m;
        struct vox_tables t;
        char path[4096], why[512] = "";

        snprintf(path, sizeof path, "%s/plugins/voxels/models/%s.model", getenv("TRIGD_SOURCE"),
                 names[i]);
        if (vox_model_read(path, &m, why, sizeof why) < 0)
            fail_msg("%s", why);
        assert_string_equal(m.name, names[i]);
        assert_int_equal(m.n_stumps, 240);
        assert_int_equal(vox_tables_make(&m, &t, why, sizeof why), 0);
        assert_true(t.thresholds < 70 && t.steps > 0);
        vox_tables_fini(&t);
        vox_model_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_collapse),
        cmocka_unit_test(test_squares), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_committed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
