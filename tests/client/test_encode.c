/* SPDX-License-Identifier: Apache-2.0 */
/* RoIs of columns become the messages that protobuf-c makes of the same values, and the columns
 * that the daemon finds in shared memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode.h"
#include "encoding.h"
#include "samples.collections.h"
#include "seed.h"
#include "wire.h"

#define MOST 300u

static uint64_t seed;

static const struct wire_limits limits = {1u << 20, 8, MOST, 31};

struct made { /* an RoI with random bytes in its columns */
    struct trg_client_roi roi;
    struct trg_client_items items[TRG_CLIENT_PLACES];
    unsigned char bytes[TRG_CLIENT_PLACES][TRG_COLUMNS_MAX][MOST * 16];
};

static uint32_t below(uint32_t n)
{
    return (uint32_t)seed_uniform(&seed, 0, n);
}

/* Offsets, then steps. */
static const float of_spacepoints[] = {-1, 30, -200, 1e-5f, 0.01f, 0.5f};
static const float of_samples[] = {-1, 1e-5f};

/* A collection whose values are in range for the daemon, or any when `is_wild`. */
static void add(struct made *m, const struct trg_collection *declaration, uint32_t n,
                bool is_encoded)
{
    const uint32_t k = m->roi.n_collections++;
    struct trg_client_items *items = &m->items[k];

    *items = (struct trg_client_items){.declaration = declaration, .n = n};
    for (uint32_t c = 0; c < declaration->n_columns; c++) {
        for (uint32_t i = 0; i < sizeof m->bytes[k][c]; i++)
            m->bytes[k][c][i] = (unsigned char)below(16); /* small numbers of all types */
        items->column[c] = m->bytes[k][c];
    }
    if (is_encoded)
        items->encoding = declaration == &trg_samples ? of_samples : of_spacepoints;
}

static struct made *new_roi(void)
{
    struct made *m = calloc(1, sizeof *m);

    assert_non_null(m);
    m->roi = (struct trg_client_roi){.info = {below(9), below(1u << 31), below(300), below(3564),
                                              below(9), 1u << 31, 0.5f, -0.25f, 0.1f, 4.0f, -225.0f,
                                              225.0f},
                                     .type = below(64),
                                     .deadline_us = below(2) * below(10000),
                                     .collections = m->items};
    return m;
}

/* What the daemon's decoder finds in the message is what went in. */
static void check_message(const struct made *m, uint64_t token, bool is_repeat)
{
    struct flight f = {.roi = m->roi, .token = token, .is_repeat = is_repeat}, *list = &f;
    struct wire_decoder *decoder;
    struct wire_error error;
    struct wire_roi got;
    unsigned char *bytes;
    size_t sizes[1], n = encode_size(&list, 1, sizes);

    bytes = malloc(n); /* exactly: ASan sees a byte too many */
    assert_non_null(bytes);
    encode_message(&list, sizes, 1, bytes);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    assert_int_equal(wire_scan(decoder, bytes, n), 1); /* the way that costs the daemon least */
    assert_int_equal(wire_scanned_unread(decoder, 0, &got, &error), 0);
    assert_true(got.token == token);
    assert_int_equal(got.is_repeat, is_repeat);
    assert_int_equal(got.type, m->roi.type);
    assert_int_equal(got.deadline_us, m->roi.deadline_us);
    assert_memory_equal(&got.info, &m->roi.info, sizeof got.info);
    for (uint32_t k = 0; k < m->roi.n_collections; k++) {
        const struct trg_client_items *items = &m->items[k];
        const uint32_t kind = kind_of_hash(items->declaration->hash);
        const struct wire_collection *c = NULL;

        for (uint32_t s = 0; s < WIRE_SLOTS; s++)
            if (got.collection[s].is_there && got.collection[s].kind == kind)
                c = &got.collection[s];
        assert_non_null(c);
        assert_int_equal(c->n, items->n);
        for (uint32_t i = 0; items->n && i < items->declaration->n_columns; i++)
            assert_memory_equal(c->column[i], items->column[i],
                                items->n * encoding_item_bytes(kind, items->encoding, i));
    }
    wire_decoder_free(decoder);
    free(bytes);
}

/* The columns lie where the entry and shm_column say. */
static void check_columns(const struct made *m)
{
    const uint64_t n = encode_columns_size(&m->roi), at = 4096;
    const struct flight f = {.roi = m->roi, .token = 7, .is_repeat = true};
    unsigned char *bytes = malloc(n + 1);
    struct shm_roi entry;

    assert_non_null(bytes);
    encode_columns(&f, at, bytes, &entry);
    assert_memory_equal(&entry.info, &m->roi.info, sizeof entry.info);
    assert_true(entry.token == 7 && entry.kinds & SHM_REPEAT);
    assert_true(entry.type == (m->roi.type | m->roi.deadline_us << SHM_DEADLINE_AT));
    assert_int_equal((entry.kinds & SHM_DEADLINE) != 0, m->roi.deadline_us != 0);
    for (uint32_t k = 0; k < m->roi.n_collections; k++) {
        const struct trg_client_items *items = &m->items[k];
        const uint32_t kind = kind_of_hash(items->declaration->hash);
        const uint32_t place = entry.kinds & SHM_LISTED ? k : kind - TRG_SPACEPOINTS;
        const bool is_encoded = items->encoding;

        assert_int_equal(entry.in[place].n, items->n);
        assert_int_equal(entry.in[place].at % SHM_ALIGN, 0);
        assert_int_equal(entry.in[place].hash,
                         entry.kinds & SHM_LISTED ? (uint32_t)items->declaration->hash : 0);
        for (uint32_t c = 0; items->n && c < items->declaration->n_columns; c++)
            assert_memory_equal(
                bytes + entry.in[place].at - at + shm_column(kind, is_encoded, items->n, c),
                items->column[c], items->n * encoding_item_bytes(kind, is_encoded, c));
        assert_int_equal(entry.kinds >> (SHM_ENCODED_AT + place) & 1, is_encoded);
        if (is_encoded)
            assert_memory_equal(bytes + entry.in[place].at - at, items->encoding,
                                2 * encoding_sent(items->declaration) * sizeof(float));
    }
    free(bytes);
}

static void each_collection(void **state)
{
    static const struct trg_collection *const own[] = {&trg_spacepoints, &trg_hits, &trg_tracks,
                                                       &trg_samples};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t n = 0; n <= MOST; n += 100) {
            struct made *m = new_roi();

            add(m, own[i], n, false);
            check_message(m, UINT64_MAX >> below(64), false);
            check_columns(m);
            free(m);
        }
    }
}

/* RoIs of a batch that are not wanted any more are empty: the daemon finds the others in their
 * places. */
static void some_of_a_batch(void **state)
{
    struct made *m = new_roi();
    struct flight f, *list[3] = {NULL, &f, NULL};
    struct wire_decoder *decoder;
    struct wire_error error;
    struct wire_roi got;
    unsigned char *bytes;
    size_t sizes[3], n;

    (void)state;
    add(m, &trg_spacepoints, 7, false);
    f = (struct flight){.roi = m->roi, .token = 5};
    n = encode_size(list, 3, sizes);
    bytes = malloc(n);
    assert_non_null(bytes);
    encode_message(list, sizes, 3, bytes);
    assert_true(!sizes[0] && sizes[1] && !sizes[2]);
    assert_int_equal(wire_decoder_new(&limits, &decoder), 0);
    assert_int_equal(wire_scan(decoder, bytes, n), 3);
    assert_int_equal(wire_scanned_unread(decoder, 1, &got, &error), 0);
    assert_int_equal(got.token, 5);
    assert_memory_equal(&got.info, &m->roi.info, sizeof got.info);
    wire_decoder_free(decoder);
    free(bytes);
    free(m);
}

static void several_and_numbers(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 50; run++) {
        struct made *m = new_roi();

        add(m, &trg_spacepoints, 1 + below(MOST - 1), run % 2);
        add(m, &trg_hits, below(MOST), false);
        if (run % 3)
            add(m, &trg_samples, below(MOST), run % 5 < 2);
        check_message(m, run, run % 2);
        check_columns(m);
        free(m);
    }
}

static void what_is_refused(void **state)
{
    struct trg_client c = {.declared = 0};
    struct made *m = new_roi();
    char why[WHY_BYTES];

    (void)state;
    add(m, &trg_samples, 1, false);
    assert_int_equal(encode_check(&c, &m->roi, why, sizeof why), -EINVAL);
    assert_string_equal(why, "collection samples is not among those that the options declare");
    c.declared = 1u << kind_of_hash(trg_samples.hash);
    assert_int_equal(encode_check(&c, &m->roi, why, sizeof why), 0);
    m->roi.n_collections = 0;
    add(m, &trg_hits, 1, true);
    assert_int_equal(encode_check(&c, &m->roi, why, sizeof why), -EINVAL);
    assert_string_equal(why,
                        "hits cannot be encoded: no column of their declaration has an encoding");
    m->items[0].encoding = NULL;
    add(m, &trg_hits, 1, false);
    assert_int_equal(encode_check(&c, &m->roi, why, sizeof why), -EINVAL);
    assert_string_equal(why, "an RoI holds hits twice; once is allowed");
    m->roi.n_collections = 5;
    assert_int_equal(encode_check(&c, &m->roi, why, sizeof why), -EINVAL);
    assert_string_equal(why, "an RoI has 5 collections; at most 4 are allowed");
    free(m);
}

/* What an author calls to make the numbers. */
static void numbers_of_values(void **state)
{
    const float momentum[] = {-1.5f, 0, 5.0535f}, e[] = {1, 2};
    const struct {
        float value;
        int error;
    } bad[] = {{-1.6f, -ERANGE}, {5.1f, -ERANGE}, {0.0f / 0.0f, -EINVAL}};
    struct trg_encoding x;
    uint16_t n[3];

    (void)state;
    assert_int_equal(
        trg_client_encode(&trg_samples, TRG_SAMPLES_MOMENTUM_COLUMN, momentum, 1, n, &x), 0);
    assert_true(x.offset == -1.5f && x.step == 0.0001f);
    assert_memory_equal(n, ((uint16_t[]){0, 15000, 65535}), sizeof n);
    assert_int_equal(trg_client_encode(&trg_samples, TRG_SAMPLES_E_COLUMN, e, 2, n, &x), 0);
    assert_true(x.offset == 1 && x.step > 1.52e-5f && x.step < 1.53e-5f);
    assert_memory_equal(n, ((uint16_t[]){0, 65535}), 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const float values[] = {0, bad[i].value, 0};

        assert_int_equal(
            trg_client_encode(&trg_samples, TRG_SAMPLES_MOMENTUM_COLUMN, values, 1, n, &x),
            bad[i].error);
    }
    assert_int_equal(trg_client_encode(&trg_samples, TRG_SAMPLES_A_COLUMN, e, 2, n, &x), -EINVAL);
    assert_int_equal(trg_client_encode(&trg_samples, TRG_SAMPLES_COLUMNS, e, 2, n, &x), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_collection),     cmocka_unit_test(some_of_a_batch),
        cmocka_unit_test(several_and_numbers), cmocka_unit_test(numbers_of_values),
        cmocka_unit_test(what_is_refused),
    };
    char why[128];
    uint32_t kind;

    seed = fresh_seed();
    if (kind_add(&trg_samples, &kind, why, sizeof why) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
