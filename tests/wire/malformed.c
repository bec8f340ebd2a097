/* SPDX-License-Identifier: Apache-2.0 */
#include "malformed.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- spoilers */

static void no_rois(struct sample *s)
{
    s->batch.n_rois = 0;
}

static void many_rois(struct sample *s)
{
    static Trigd__V1__Roi roi;
    static Trigd__V1__Roi *list[9];

    trigd__v1__roi__init(&roi);
    for (size_t i = 0; i < 9; i++)
        list[i] = &roi;
    s->batch.n_rois = 9;
    s->batch.rois = list;
}

static void many_points(struct sample *s)
{
    s->spacepoints.n_phi_rad = s->spacepoints.n_rho_mm = s->spacepoints.n_z_mm =
        s->spacepoints.layer.len = 1001;
}

static void short_column(struct sample *s)
{
    s->spacepoints.n_z_mm = 4;
}

static void no_column(struct sample *s)
{
    s->tracks.n_chi2 = 0;
}

static void short_layers(struct sample *s)
{
    s->spacepoints.layer.len = 3;
}

static void odd_layers(struct sample *s)
{
    s->hits.layer.len = 9;
}

static void nan_rho(struct sample *s)
{
    s->value[1][3] = NAN;
}

static void infinite_phi(struct sample *s)
{
    s->value[0][2] = -INFINITY;
}

static void infinite_qop(struct sample *s)
{
    s->value[15][0] = INFINITY;
}

static void large_phi(struct sample *s)
{
    s->value[0][4] = 3.25f;
}

static void negative_rho(struct sample *s)
{
    s->value[1][1] = -0.5f;
}

static void negative_variance(struct sample *s)
{
    s->value[11][1] = -1;
}

static void large_layer(struct sample *s)
{
    s->sp_layer[2] = 32;
}

static void large_hit_layer(struct sample *s)
{
    s->hit_layer[3] = 1; /* the high byte of hit 1: 256 + 1 */
}

static void both_layouts(struct sample *s)
{
    s->roi.quantized_spacepoints = &s->quantized;
}

static void many_numbers(struct sample *s)
{
    s->quantized.phi.len = s->quantized.rho.len = s->quantized.z.len = 2002;
    s->quantized.layer.len = 1001;
    sample_encode(s);
}

static void odd_numbers(struct sample *s)
{
    s->quantized.phi.len = 9;
    sample_encode(s);
}

static void few_numbers(struct sample *s)
{
    s->quantized.rho.len = 8;
    sample_encode(s);
}

static void no_numbers(struct sample *s)
{
    s->quantized.z.len = 0;
    sample_encode(s);
}

static void nan_offset(struct sample *s)
{
    s->quantized.z0_mm = NAN;
    sample_encode(s);
}

static void infinite_step(struct sample *s)
{
    s->quantized.rho_step_mm = INFINITY;
    sample_encode(s);
}

static void far_phi(struct sample *s)
{
    s->quantized.phi_step_rad = 0x1p-13f;
    sample_encode(s);
}

static void near_rho(struct sample *s)
{
    s->quantized.rho0_mm = -1;
    sample_encode(s);
}

static void endless_z(struct sample *s)
{
    s->quantized.z_step_mm = 1e36f;
    sample_encode(s);
}

static void encoded_layer(struct sample *s)
{
    sample_encode(s);
    s->sp_layer[2] = 33;
}

static void nan_eta(struct sample *s)
{
    s->roi.eta = NAN;
}

static void large_eta(struct sample *s)
{
    s->roi.eta = -12;
}

static void large_centre(struct sample *s)
{
    s->roi.phi_rad = 6;
}

static void negative_width(struct sample *s)
{
    s->roi.phi_half_rad = -1;
}

static void large_type(struct sample *s)
{
    s->roi.type = ROI_TYPES;
}

static void negative_eta_width(struct sample *s)
{
    s->roi.eta_half = -0.5f;
}

static void reversed_z(struct sample *s)
{
    s->roi.z_min_mm = 300;
}

/* ---------------------------------------------------------------- bytes as they come */

/* A sub-message that says it is longer than the message. */
static const char overlong[] = "\x12\x7f\x0a";
/* Field 2 (batch) as a varint. */
static const char wrong_type[] = "\x10\x05";
/* A varint of eleven bytes. */
static const char endless[] = "\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
/* A batch of one RoI whose spacepoints' phi are 3 bytes of packed floats. */
static const char ragged[] = "\x12\x0a\x0a\x08\x82\x01\x05\x0a\x03\x01\x02\x03";
/* Only a field that this version does not know. */
static const char unknown[] = "\x78\x01";
/* The start of a group: a wire type that proto3 does not have. */
static const char group[] = "\x0b\x0c";

/* ---------------------------------------------------------------- floods */

#define FLOOD (1u << 20)
static unsigned char flood[FLOOD + 1];

static const void *too_long(size_t *ret_bytes)
{
    memset(flood, 0, sizeof flood);
    *ret_bytes = FLOOD + 1;
    return flood;
}

/* Tag and length (three bytes of varint) of a batch that fills the rest. */
static size_t open_batch(void)
{
    const uint32_t rest = FLOOD - 4;

    flood[0] = 0x12;
    flood[1] = (unsigned char)(rest | 0x80u);
    flood[2] = (unsigned char)(rest >> 7 | 0x80u);
    flood[3] = (unsigned char)(rest >> 14);
    return 4;
}

static const void *empty_rois(size_t *ret_bytes)
{
    for (size_t at = open_batch(); at < FLOOD; at += 2) {
        flood[at] = 0x0a;
        flood[at + 1] = 0;
    }
    *ret_bytes = FLOOD;
    return flood;
}

static const void *unknown_fields(size_t *ret_bytes)
{
    for (size_t at = 0; at < FLOOD; at += 2) {
        flood[at] = 0x78;
        flood[at + 1] = 1;
    }
    *ret_bytes = FLOOD;
    return flood;
}

/* ---------------------------------------------------------------- the table */

#define BYTES(b)   .bytes = b, .n = sizeof b - 1
#define SPOIL(f)   .spoil = f
#define FLOODS(f)  .make = f
#define CODE(name) TRIGD__V1__ERROR__CODE__##name

const struct malformed malformed[] = {
    {"a frame of no bytes", BYTES(""), .code = CODE(EMPTY),
     .text = "the message has no body; hello, batch, heartbeat or bye is allowed"},
    {"only fields that this version does not know", BYTES(unknown), .code = CODE(EMPTY),
     .text = "the message has no body; hello, batch, heartbeat or bye is allowed"},
    {"a length that reaches past the end", BYTES(overlong), .code = CODE(MALFORMED),
     .text = "the 3 bytes are not a ToDaemon message of trigd.v1"},
    {"a field with the wrong wire type", BYTES(wrong_type), .code = CODE(MALFORMED),
     .text = "the 2 bytes are not a ToDaemon message of trigd.v1"},
    {"a varint that does not end", BYTES(endless), .code = CODE(MALFORMED),
     .text = "the 12 bytes are not a ToDaemon message of trigd.v1"},
    {"a group, which proto3 does not have", BYTES(group), .code = CODE(MALFORMED),
     .text = "the 2 bytes are not a ToDaemon message of trigd.v1"},
    {"packed floats whose bytes are no multiple of four", BYTES(ragged), .code = CODE(MALFORMED),
     .text = "the 12 bytes are not a ToDaemon message of trigd.v1"},
    {"a message over max_message_kbytes", FLOODS(too_long), .code = CODE(TOO_LARGE),
     .text = "the message has 1048577 bytes; at most 1048576 are allowed"},
    {"1 MiB of empty RoIs", FLOODS(empty_rois), .code = CODE(TOO_LARGE),
     .text = "the message of 1048576 bytes unpacks to more than the 2106368 bytes that are allowed "
             "for its "
             "size: too many records, unknown fields or unpacked values"},
    {"1 MiB of unknown fields", FLOODS(unknown_fields), .code = CODE(TOO_LARGE),
     .text = "the message of 1048576 bytes unpacks to more than the 2106368 bytes that are allowed "
             "for its "
             "size: too many records, unknown fields or unpacked values"},
    {"a batch without RoIs", SPOIL(no_rois), .code = CODE(EMPTY),
     .text = "the RoiBatch holds no RoIs; 1 to 8 are allowed"},
    {"a batch of more than max_rois RoIs", SPOIL(many_rois), .code = CODE(TOO_LARGE),
     .text = "the RoiBatch holds 9 RoIs; at most 8 are allowed"},
    {"a collection of more than max_items items", SPOIL(many_points), .code = CODE(TOO_LARGE),
     .text = "RoI 7: 1001 spacepoints; at most 1000 are allowed"},
    {"a column that is too short", SPOIL(short_column), .code = CODE(LENGTHS),
     .text = "RoI 7: the columns phi and z of its spacepoints have 5 and 4 values; columns of one "
             "length are "
             "allowed"},
    {"a column that is not there", SPOIL(no_column), .code = CODE(LENGTHS),
     .text = "RoI 7: the columns x and chi2 of its tracks have 5 and 0 values; columns of one "
             "length are "
             "allowed"},
    {"too few layers", SPOIL(short_layers), .code = CODE(LENGTHS),
     .text = "RoI 7: the columns phi and layer of its spacepoints have 5 and 3 values; columns of "
             "one length "
             "are allowed"},
    {"an odd number of bytes for layers of two", SPOIL(odd_layers), .code = CODE(LENGTHS),
     .text = "RoI 7: column layer of its hits has an odd number of bytes; two for each item are "
             "allowed"},
    {"a NaN", SPOIL(nan_rho), .code = CODE(NOT_FINITE),
     .text =
         "RoI 7: value 3 of column rho of its spacepoints is not a number; only finite numbers are "
         "allowed"},
    {"minus infinity", SPOIL(infinite_phi), .code = CODE(NOT_FINITE),
     .text = "RoI 7: value 2 of column phi of its spacepoints is infinite; only finite numbers are "
             "allowed"},
    {"infinity", SPOIL(infinite_qop), .code = CODE(NOT_FINITE),
     .text =
         "RoI 7: value 0 of column qop of its tracks is infinite; only finite numbers are allowed"},
    {"a phi outside -pi to pi", SPOIL(large_phi), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: value 4 of column phi of its spacepoints is 3.25; -3.1416 to 3.1416 rad is "
             "allowed"},
    {"a negative rho", SPOIL(negative_rho), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: value 1 of column rho of its spacepoints is -0.5; 0 or more mm is allowed"},
    {"a negative variance", SPOIL(negative_variance), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: value 1 of column var_x of its tracks is -1; 0 or more mm^2 is allowed"},
    {"a layer over max_layer", SPOIL(large_layer), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: layer 32 in its spacepoints; 0 to 31 are allowed"},
    {"a layer over max_layer in its high byte", SPOIL(large_hit_layer), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: layer 257 in its hits; 0 to 31 are allowed"},
    {"spacepoints in both layouts", SPOIL(both_layouts), .code = CODE(MALFORMED),
     .text = "RoI 7: it holds spacepoints twice; once is allowed"},
    {"more than max_items encoded spacepoints", SPOIL(many_numbers), .code = CODE(TOO_LARGE),
     .text = "RoI 7: 1001 spacepoints; at most 1000 are allowed"},
    {"an odd number of bytes for numbers of two", SPOIL(odd_numbers), .code = CODE(LENGTHS),
     .text = "RoI 7: column phi of its encoded spacepoints has 9 bytes; 2 for each item are "
             "allowed"},
    {"a column of numbers that is too short", SPOIL(few_numbers), .code = CODE(LENGTHS),
     .text = "RoI 7: the columns phi and rho of its spacepoints have 5 and 4 values; columns of "
             "one length are allowed"},
    {"a column of numbers that is not there", SPOIL(no_numbers), .code = CODE(LENGTHS),
     .text = "RoI 7: the columns phi and z of its spacepoints have 5 and 0 values; columns of one "
             "length are allowed"},
    {"an offset that is not a number", SPOIL(nan_offset), .code = CODE(NOT_FINITE),
     .text = "RoI 7: the offset of column z of its encoded spacepoints is not finite; only "
             "finite numbers are allowed"},
    {"an infinite step", SPOIL(infinite_step), .code = CODE(NOT_FINITE),
     .text = "RoI 7: the step of column rho of its encoded spacepoints is not finite; only "
             "finite numbers are allowed"},
    {"numbers that can give a phi outside -pi to pi", SPOIL(far_phi), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: column phi of its encoded spacepoints reaches from -3.125 to 4.87488; "
             "-3.1416 to 3.1416 rad is allowed"},
    {"numbers that can give a negative rho", SPOIL(near_rho), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: column rho of its encoded spacepoints reaches from -1 to 1022.98; 0 or more "
             "mm is allowed"},
    {"numbers that can give an infinite z", SPOIL(endless_z), .code = CODE(NOT_FINITE),
     .text = "RoI 7: column z of its encoded spacepoints reaches from -500 to an infinite value; "
             "only finite numbers are allowed"},
    {"a layer over max_layer of encoded spacepoints", SPOIL(encoded_layer),
     .code = CODE(OUT_OF_RANGE), .text = "RoI 7: layer 33 in its spacepoints; 0 to 31 are allowed"},
    {"a window that is not finite", SPOIL(nan_eta), .code = CODE(NOT_FINITE),
     .text = "RoI 7: eta of its window is not finite; only finite numbers are allowed"},
    {"a window outside the detector", SPOIL(large_eta), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: eta of its window is -12; -10 to 10 is allowed"},
    {"a window whose centre is not in -pi to pi", SPOIL(large_centre), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: phi_rad of its window is 6; -3.1416 to 3.1416 is allowed"},
    {"a window of negative width in phi", SPOIL(negative_width), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: phi_half_rad of its window is -1; 0 or more is allowed"},
    {"a type that there is not", SPOIL(large_type), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: its type is 64; 0 to 63 are allowed"},
    {"a window of negative width in eta", SPOIL(negative_eta_width), .code = CODE(OUT_OF_RANGE),
     .text = "RoI 7: eta_half of its window is -0.5; 0 or more is allowed"},
    {"a window that ends before it begins", SPOIL(reversed_z), .code = CODE(OUT_OF_RANGE),
     .text =
         "RoI 7: z_min_mm of its window is 300 and z_max_mm 200; z_min_mm <= z_max_mm is allowed"},
    {"a Hello without name", .name = "", .code = CODE(BAD_NAME),
     .text = "the name in Hello has 0 bytes; 1 to 63 printable ASCII characters without quotes and "
             "backslashes are allowed"},
    {"a Hello with a name of 64 bytes",
     .name = "0123456789012345678901234567890123456789012345678901234567890123",
     .code = CODE(BAD_NAME),
     .text =
         "the name in Hello has 64 bytes; 1 to 63 printable ASCII characters without quotes and "
         "backslashes are allowed"},
    {"a Hello with a line break in its name", .name = "a\nb", .code = CODE(BAD_NAME),
     .text = "the name in Hello has 3 bytes; 1 to 63 printable ASCII characters without quotes and "
             "backslashes are allowed"},
    {"a Hello with a quote in its name", .name = "a\"b", .code = CODE(BAD_NAME),
     .text = "the name in Hello has 3 bytes; 1 to 63 printable ASCII characters without quotes and "
             "backslashes are allowed"},
};
const size_t n_malformed = sizeof malformed / sizeof *malformed;
