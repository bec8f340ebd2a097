/* SPDX-License-Identifier: Apache-2.0 */
/* Declared collections in messages: found in place as they are unpacked, and what is refused. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "declared.h"
#include "sample.h"

#include "samples.collections.h"

#define N 5u

static struct sample sample;
static struct wire_decoder *decoder;
static struct wire_error error;

static int setup(void **state)
{
    (void)state;
    return wire_decoder_new(&sample_limits, &decoder);
}

static int teardown(void **state)
{
    (void)state;
    wire_decoder_free(decoder);
    return 0;
}

/* Both ways to read the sample agree: its answer and, where it is good, the RoI, whose columns lie
 * in *ret_bytes. */
static int read_it(struct wire_roi *ret_roi, unsigned char **ret_bytes)
{
    const Trigd__V1__ToDaemon *m;
    struct wire_error other;
    struct wire_roi w;
    size_t n;
    int r;

    *ret_bytes = sample_pack(&sample, &n);
    assert_int_equal(wire_decode(decoder, *ret_bytes, n, &m, &error), 0);
    r = wire_roi(decoder, m->batch->rois[0], &w, &error);
    if (!wire_scan(decoder, *ret_bytes, n))
        return r; /* written in an unusual way */
    assert_int_equal(wire_scanned(decoder, 0, ret_roi, &other), r);
    if (r < 0) {
        assert_int_equal(error.code, other.code);
        assert_string_equal(error.text, other.text);
    }
    return r;
}

static void refused(Trigd__V1__Error__Code code, const char *sentence)
{
    unsigned char *bytes;
    struct wire_roi w;

    assert_int_equal(read_it(&w, &bytes), -EBADMSG);
    assert_int_equal(error.code, code);
    if (!strstr(error.text, sentence))
        fail_msg("\"%s\" does not say \"%s\"", error.text, sentence);
    free(bytes);
}

static void columns_lie_in_the_message(void **state)
{
    const struct wire_collection *c;
    unsigned char *bytes;
    struct wire_roi w;
    uint32_t kind;

    (void)state;
    sample_init(&sample, N);
    kind = sample_declare(&sample, N);
    assert_int_equal(read_it(&w, &bytes), 0);
    assert_true(w.collection[TRG_HITS].is_there && w.collection[TRG_HITS].kind == TRG_HITS);
    c = &w.collection[WIRE_DECLARED];
    assert_true(c->is_there && c->kind == kind && c->n == N);
    for (uint32_t i = 0; i < trg_samples.n_columns; i++) {
        assert_memory_equal(c->column[i], sample.column[i].data, sample.column[i].len);
        assert_true((const unsigned char *)c->column[i] > bytes);
    }
    free(bytes);
    sample_declare(&sample, 0); /* there and empty */
    assert_int_equal(read_it(&w, &bytes), 0);
    assert_true(w.collection[WIRE_DECLARED].is_there && !w.collection[WIRE_DECLARED].n);
    free(bytes);
}

/* trigd's own may come this way, too. */
static void a_collection_of_trigd(void **state)
{
    unsigned char *bytes;
    struct wire_roi w;

    (void)state;
    sample_init(&sample, N);
    sample_declare(&sample, N);
    sample.columns.hash = trg_doublets.hash;
    sample.columns.n_column = 2;
    sample.column[0].len = sample.column[1].len = 8;
    assert_int_equal(read_it(&w, &bytes), 0);
    assert_int_equal(w.collection[WIRE_DECLARED].kind, TRG_DOUBLETS);
    assert_int_equal(w.collection[WIRE_DECLARED].n, 2);
    free(bytes);
    sample.columns.hash = trg_tracks.hash;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED, "RoI 7: it holds tracks twice; once is allowed");
}

static void bad_columns_are_refused(void **state)
{
    Trigd__V1__Columns *list[5];
    unsigned char byte = 255;

    (void)state;
    sample_init(&sample, N);
    sample_declare(&sample, N);
    sample.columns.hash++;
    refused(TRIGD__V1__ERROR__CODE__UNKNOWN, "RoI 7: no collection has the hash ");
    sample_declare(&sample, N);
    sample.columns.n_column--;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS, "RoI 7: its samples have 9 columns; 10 are allowed");
    sample_declare(&sample, N);
    sample.column[0].len--;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: column e of its samples has 19 bytes; 4 for each item are allowed");
    sample_declare(&sample, N);
    sample.column[8].len -= 4;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: column momentum of its samples has 56 bytes; 12 for each item are allowed");
    sample_declare(&sample, N);
    sample.column[8].len -= 12;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: the columns e and momentum of its samples have 5 and 4 values");
    sample_declare(&sample, N);
    sample.column[1].data[2] = byte;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: value 2 of column a of its samples is 255; 3 to 200 is allowed");
    sample_declare(&sample, N);
    sample.column[2].data[0] = byte;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE, "RoI 7: layer 255 in its samples; 0 to 31 are");
    sample_declare(&sample, N);
    memcpy(sample.column[8].data + 28, &(float){0.0f / 0.0f}, 4);
    refused(TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI 7: value 7 of column momentum of its samples is not a number");
    sample_declare(&sample, 1001);
    refused(TRIGD__V1__ERROR__CODE__TOO_LARGE, "RoI 7: 1001 samples; at most 1000 are allowed");
    sample_declare(&sample, N);
    for (uint32_t i = 0; i < 5; i++)
        list[i] = &sample.columns;
    sample.roi.columns = list;
    sample.roi.n_columns = 2;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED, "RoI 7: it holds samples twice; once is allowed");
    sample.roi.n_columns = 5;
    refused(TRIGD__V1__ERROR__CODE__TOO_LARGE, "RoI 7: it holds 5 Columns; at most 4 are allowed");
}

/* Makes the samples encoded: numbers of e are 32768, those of momentum 25000. */
static void encode(void)
{
    static float offset = -1, step = 0x1p-15f;
    static uint16_t numbers[2][3 * N];

    sample_init(&sample, N);
    sample_declare(&sample, N);
    for (uint32_t i = 0; i < 3 * N; i++) {
        numbers[0][i] = 32768;
        numbers[1][i] = 25000;
    }
    offset = -1;
    step = 0x1p-15f;
    sample.column[0] = (ProtobufCBinaryData){2 * N, (uint8_t *)numbers[0]};
    sample.column[TRG_SAMPLES_MOMENTUM_COLUMN] =
        (ProtobufCBinaryData){3 * 2 * N, (uint8_t *)numbers[1]};
    sample.columns.n_encoded = sample.columns.n_column;
    sample.columns.encoded = sample.columns.column;
    sample.columns.n_column = 0;
    sample.columns.n_offset = sample.columns.n_step = 1;
    sample.columns.offset = &offset;
    sample.columns.step = &step;
}

static void encoded_columns(void **state)
{
    const struct wire_collection *c;
    unsigned char *bytes;
    struct wire_roi w;

    (void)state;
    encode();
    assert_int_equal(read_it(&w, &bytes), 0);
    c = &w.collection[WIRE_DECLARED];
    assert_true(c->is_there && c->is_encoded && c->n == N);
    assert_int_equal(w.n_encodings, 1);
    assert_true(wire_sent(&w, c)->offset == -1 && wire_sent(&w, c)->step == 0x1p-15f);
    for (uint32_t i = 0; i < trg_samples.n_columns; i++)
        assert_memory_equal(c->column[i], sample.column[i].data, sample.column[i].len);
    free(bytes);
}

static void bad_encoded_columns_are_refused(void **state)
{
    (void)state;
    encode();
    sample.columns.n_column = sample.columns.n_encoded;
    sample.columns.column = sample.columns.encoded;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: Columns hold 10 columns and 10 encoded ones; one of the two is allowed");
    encode();
    sample.columns.n_step = 0;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: its encoded samples have 1 offsets and 0 steps; 1 of each are allowed");
    encode();
    sample.columns.offset[0] = NAN;
    refused(TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI 7: the offset of column e of its encoded samples is not finite; only finite");
    encode();
    sample.columns.step[0] = 1e36f;
    refused(TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI 7: column e of its encoded samples reaches from -1 to an infinite value");
    encode();
    sample.columns.step[0] = 1;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: column e of its encoded samples reaches from -1 to 65534; -1 to 2.5 GeV is");
    encode();
    sample.column[TRG_SAMPLES_MOMENTUM_COLUMN].data[2 * 7 + 1] = 0;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: value 7 of column momentum of its samples is -1.4832; -1 to 5 GeV is allowed");
    encode();
    sample.column[TRG_SAMPLES_MOMENTUM_COLUMN].data[2 * 9 + 1] = 255;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: value 9 of column momentum of its samples is 5.0");
    encode();
    sample.column[0].len--;
    refused(TRIGD__V1__ERROR__CODE__LENGTHS,
            "RoI 7: column e of its encoded samples has 9 bytes; 2 for each item are allowed");
    encode();
    sample.column[1].data[2] = 255;
    refused(TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
            "RoI 7: value 2 of column a of its samples is 255; 3 to 200 is allowed");
    encode();
    sample.roi.hits = NULL;
    sample.columns.hash = trg_hits.hash;
    sample.columns.n_encoded = trg_hits.n_columns;
    refused(TRIGD__V1__ERROR__CODE__MALFORMED,
            "RoI 7: its hits are encoded; none of their columns may be");
}

static void declarations_as_messages(void **state)
{
    static struct declared d;
    const uint32_t kind = sample_declare(&sample, 1);
    char why[256] = "";
    uint32_t again = 0;

    (void)state;
    declared_fill(1u << kind | 1u << TRG_HITS, &d);
    assert_int_equal(d.n, 2);
    assert_string_equal(d.list[0]->name, "hits");
    assert_int_equal(declared_add(d.list[0], &again, why, sizeof why), 0);
    assert_int_equal(again, TRG_HITS);
    assert_int_equal(declared_add(d.list[1], &again, why, sizeof why), 0);
    assert_int_equal(again, kind);
    d.column[1][3].max = 5;
    assert_int_equal(declared_add(d.list[1], &again, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "collection samples has the hash "));
    d.list[1]->n_columns = 0;
    assert_int_equal(declared_add(d.list[1], &again, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "collection samples has 0 columns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_lie_in_the_message),
        cmocka_unit_test(a_collection_of_trigd),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(encoded_columns),
        cmocka_unit_test(bad_encoded_columns_are_refused),
        cmocka_unit_test(declarations_as_messages),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
