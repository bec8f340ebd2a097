/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in place gives what unpacking gives, or leaves the message to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"
#include "seed.h"

#define ROUNDS 300u

static struct sample sample;

static void same(const struct wire_roi *a, const struct wire_roi *b)
{
    assert_int_equal(a->token, b->token);
    assert_memory_equal(&a->info, &b->info, sizeof a->info);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->event_rois, b->event_rois);
    assert_int_equal(a->deadline_us, b->deadline_us);
    assert_int_equal(a->n_encodings, b->n_encodings);
    assert_memory_equal(a->encoding, b->encoding, a->n_encodings * sizeof *a->encoding);
    for (uint32_t k = TRG_SPACEPOINTS; k < WIRE_SLOTS; k++) {
        const struct trg_collection *info = kind_info(a->collection[k].kind);
        const bool is_encoded = a->collection[k].is_encoded;

        assert_int_equal(is_encoded, b->collection[k].is_encoded);
        assert_int_equal(a->collection[k].first, b->collection[k].first);
        assert_int_equal(a->collection[k].n, b->collection[k].n);
        assert_int_equal(a->collection[k].kind, b->collection[k].kind);
        assert_int_equal(a->collection[k].is_there, b->collection[k].is_there);
        for (uint32_t c = 0; a->collection[k].n && c < info->n_columns; c++)
            assert_memory_equal(a->collection[k].column[c], b->collection[k].column[c],
                                a->collection[k].n *
                                    encoding_item_bytes(a->collection[k].kind, is_encoded, c));
    }
}

/* Scans and unpacks; both must agree.  Returns whether it was scanned. */
static bool compare(struct wire_decoder *d, const void *bytes, size_t n)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error e, f;
    struct wire_roi w, v;
    uint32_t found = wire_scan(d, bytes, n);
    int r;

    if (!found)
        return false;
    assert_int_equal(wire_decode(d, bytes, n, &m, &e), 0);
    assert_int_equal(m->body_case, TRIGD__V1__TO_DAEMON__BODY_BATCH);
    assert_int_equal(m->batch->n_rois, found);
    for (uint32_t i = 0; i < found; i++) {
        r = wire_roi(d, m->batch->rois[i], &w, &e);
        assert_int_equal(wire_scanned(d, i, &v, &f), r);
        if (r == 0) {
            same(&w, &v);
            continue;
        }
        assert_int_equal(e.code, f.code);
        assert_string_equal(e.text, f.text);
    }
    return true;
}

/* Whatever protobuf-c packs is understood, and its columns lie in the message. */
static void random_messages(void **state)
{
    uint64_t seed = fresh_seed();
    struct wire_decoder *d;

    (void)state;
    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct wire_error e;
        struct wire_roi w;
        unsigned char *bytes;
        size_t n;

        sample_init_random(&sample, &seed);
        if (i % 2)
            sample_declare(&sample, i % 7);
        bytes = sample_pack(&sample, &n);
        assert_true(compare(d, bytes, n));
        if (wire_scanned(d, 0, &w, &e) == 0 && w.collection[TRG_HITS].n)
            assert_in_range((uintptr_t)w.collection[TRG_HITS].column[0], (uintptr_t)bytes,
                            (uintptr_t)bytes + n - 1);
        free(bytes);
    }
    wire_decoder_free(d);
}

/* Messages cut short or with a byte changed: never more than protobuf-c allows. */
static void damaged_messages(void **state)
{
    uint64_t seed = fresh_seed();
    struct wire_decoder *d;
    uint32_t scanned = 0;

    (void)state;
    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    for (uint32_t i = 0; i < 20 * ROUNDS; i++) {
        unsigned char *bytes;
        size_t n;

        sample_init(&sample, (uint32_t)(sample_random(&seed) % 6));
        if (i % 2)
            sample_encode(&sample);
        if (i % 3 == 0)
            sample_declare(&sample, i % 5);
        bytes = sample_pack(&sample, &n);
        for (uint64_t k = 1 + sample_random(&seed) % 3; k; k--)
            bytes[sample_random(&seed) % n] = (unsigned char)sample_random(&seed);
        if (sample_random(&seed) % 4 == 0)
            n = (size_t)(sample_random(&seed) % n);
        scanned += compare(d, bytes, n);
        free(bytes);
    }
    assert_in_range(scanned, 20, 20 * ROUNDS);
    wire_decoder_free(d);
}

/* The tighter one of an RoI's deadline and its batch's holds, wherever the batch has it. */
static void deadlines_of_batches(void **state)
{
    static const unsigned char before[] = {0x12, 10, 0x10, 50, 0x0a, 2,
                                           0x78, 40, 0x0a, 2,  0x78, 60},
                               behind[] = {0x12, 8, 0x0a, 2, 0x78, 60, 0x0a, 0, 0x10, 50},
                               twice[] = {0x12, 6, 0x10, 50, 0x0a, 0, 0x10, 40};
    struct wire_decoder *d;
    struct wire_error e;
    struct wire_roi w;

    (void)state;
    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    assert_true(compare(d, before, sizeof before));
    assert_int_equal(wire_scan(d, before, sizeof before), 2);
    assert_int_equal(wire_scanned(d, 0, &w, &e), 0);
    assert_int_equal(w.deadline_us, 40);
    assert_int_equal(wire_scanned(d, 1, &w, &e), 0);
    assert_int_equal(w.deadline_us, 50);
    assert_true(compare(d, behind, sizeof behind));
    assert_int_equal(wire_scan(d, behind, sizeof behind), 2);
    assert_int_equal(wire_scanned(d, 0, &w, &e), 0);
    assert_int_equal(w.deadline_us, 50);
    assert_int_equal(wire_scanned(d, 1, &w, &e), 0);
    assert_int_equal(w.deadline_us, 50);
    assert_int_equal(wire_scan(d, twice, sizeof twice), 0);
    wire_decoder_free(d);
}

/* Good messages that are written in an unusual way: left to protobuf-c, which takes them. */
static void unusual_messages(void **state)
{
    static const unsigned char twice[] = {0x12, 6, 0x0a, 4, 0x08, 1, 0x08, 2}, /* token twice */
        long_tag[] = {0x12, 6, 0x8a, 0x80, 0x00, 2, 0x08, 1},
                               unknown[] = {0x12, 5, 0x0a, 3, 0xa0, 0x06, 1},
                               two_batches[] = {0x12, 2, 0x0a, 0, 0x12, 2, 0x0a, 0},
                               bye[] = {0x22, 0};
    static const struct {
        const unsigned char *bytes;
        size_t n;
    } table[] = {{twice, sizeof twice},
                 {long_tag, sizeof long_tag},
                 {unknown, sizeof unknown},
                 {two_batches, sizeof two_batches},
                 {bye, sizeof bye}};
    struct wire_decoder *d;

    (void)state;
    assert_int_equal(wire_decoder_new(&sample_limits, &d), 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const Trigd__V1__ToDaemon *m;
        struct wire_error e;

        assert_int_equal(wire_scan(d, table[i].bytes, table[i].n), 0);
        assert_int_equal(wire_decode(d, table[i].bytes, table[i].n, &m, &e), 0);
    }
    assert_int_equal(wire_scan(d, "", 0), 0);
    wire_decoder_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_messages),
        cmocka_unit_test(damaged_messages),
        cmocka_unit_test(deadlines_of_batches),
        cmocka_unit_test(unusual_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
