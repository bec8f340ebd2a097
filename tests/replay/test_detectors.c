/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated detectors of hits and tracks: an RoI depends on nothing but its number, and its
 * message holds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "seed.h"
#include "simulated.h"
#include "wire.h"

static uint64_t seed;

/* The same numbers on every machine, compiler and C library: a change here changes all files. */
static void the_answer_is_always_the_same(void **state)
{
    static const struct {
        const char *preset;
        uint64_t digest;
    } golden[] = {{"velo", 0x4312db960f7a2646u},           {"velo-banks", 0x2ce214f8d1665eb0u},
                  {"velo-tracks", 0x18645178c9468003u},    {"pixel", 0x093a782576aaba56u},
                  {"pixel50", 0x4c8e1dbd9a428b93u},        {"pixel200", 0x0e7322cb5c4b7eb2u},
                  {"pixel50-charge", 0x21a0de2b25c6e473u}, {"trackml", 0x9ac3bf09a39239eeu},
                  {"phantom", 0xf9603de0ac06b415u},        {"phantom-truth", 0x2103c695e67e7636u}};
    struct generated g;
    int wrong = 0;

    (void)state;
    generated_init(&g);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        assert_int_equal(generator_make(preset_of(golden[i].preset), 1, 5, &g), 0);
        if (digest(&g) == golden[i].digest)
            continue;
        print_error("%s: digest 0x%016llx, not 0x%016llx\n", golden[i].preset,
                    (unsigned long long)digest(&g), (unsigned long long)golden[i].digest);
        wrong++;
    }
    generated_fini(&g);
    assert_int_equal(wrong, 0);
}

static void an_roi_is_a_function_of_its_number(void **state)
{
    struct generated g;
    uint64_t first;

    (void)state;
    generated_init(&g);
    for (const struct generator_preset *p = generator_presets; p->name; p++) {
        if (p->detector == GENERATOR_TOY)
            continue; /* test_generator.c */
        assert_int_equal(generator_make(p, seed, 3, &g), 0);
        first = digest(&g);
        assert_int_equal(generator_make(p, seed, 4, &g), 0);
        assert_true(digest(&g) != first);
        assert_int_equal(generator_make(p, seed, 3, &g), 0);
        assert_true(digest(&g) == first);
        assert_int_equal(generator_make(p, seed + 1, 3, &g), 0);
        assert_true(digest(&g) != first);
    }
    generated_fini(&g);
}

/* ---------------------------------------------------------------- as messages */

static const struct wire_collection *find(const struct wire_roi *roi, uint32_t kind)
{
    for (uint32_t i = 0; i < WIRE_SLOTS; i++)
        if (roi->collection[i].is_there && roi->collection[i].kind == kind)
            return &roi->collection[i];
    fail_msg("the RoI has no %s", kind_info(kind)->name);
    return NULL;
}

/* What is packed is what the daemon's own decoder reads. */
static void messages_hold_the_collections(void **state)
{
    const struct wire_limits limits = {64u << 20, 256, 300000, 63};
    struct wire_decoder *decoder;
    struct generated g;

    (void)state;
    generated_init(&g);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    for (const struct generator_preset *p = generator_presets; p->name; p++) {
        const struct wire_collection *at;
        struct generated_message m;
        struct wire_roi roi;
        struct wire_error error;

        assert_int_equal(generator_make(p, seed, 1, &g), 0);
        generated_message(&g, &m);
        assert_int_equal(wire_roi(decoder, &m.roi, &roi, &error), 0);
        at = find(&roi, g.kind);
        assert_int_equal(at->n, g.n);
        for (uint32_t c = 0; c < kind_info(g.kind)->n_columns; c++)
            assert_memory_equal(at->column[c], generated_column(&g, c),
                                g.n * trg_column_bytes(&kind_info(g.kind)->column[c]));
        assert_null(generated_column(&g, kind_info(g.kind)->n_columns));
        assert_int_equal(m.truth.n_item_particle, m.roi.truth ? g.n : 0);
        assert_int_equal(m.truth.n_vertex_kind, g.n_vertices);
        assert_int_equal(m.truth.n_particle_d0_mm, g.n_particles);
    }
    wire_decoder_free(decoder);
    generated_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_always_the_same),
        cmocka_unit_test(an_roi_is_a_function_of_its_number),
        cmocka_unit_test(messages_hold_the_collections),
    };

    seed = fresh_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
