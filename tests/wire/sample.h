/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - a message with one RoI that holds all collections, to be packed, changed or spoilt. */
#ifndef TRIGD_TEST_SAMPLE_H
#define TRIGD_TEST_SAMPLE_H
#include <stddef.h>
#include <stdint.h>

#include "quantized.h"
#include "wire.h"

#define SAMPLE_ITEMS 1200u /* most items of a collection */

struct sample {
    Trigd__V1__ToDaemon message;
    Trigd__V1__RoiBatch batch;
    Trigd__V1__Roi roi, *list[1];
    Trigd__V1__Spacepoints spacepoints;
    Trigd__V1__QuantizedSpacepoints quantized; /* in the RoI after sample_quantize */
    Trigd__V1__Hits hits;
    Trigd__V1__Tracks tracks;
    float value[16][SAMPLE_ITEMS];
    struct quantized encoded; /* the same as Columns, after sample_encode */
    bool is_encoded;
    uint8_t number[3][2 * SAMPLE_ITEMS]; /* of both */
    uint8_t sp_layer[SAMPLE_ITEMS], hit_layer[2 * SAMPLE_ITEMS];
    uint32_t id[SAMPLE_ITEMS], n_hits[SAMPLE_ITEMS];
    Trigd__V1__Columns columns, *columns_list[2]; /* in the RoI after sample_declare */
    ProtobufCBinaryData column[TRG_COLUMNS_MAX];
    unsigned char values[SAMPLE_ITEMS * 64];
};

/* The limits that the tests (and docs/protocol.md, in its sentences) use. */
extern const struct wire_limits sample_limits;

/* A valid message with n items in each collection.  Pointers go into *s: do not copy it. */
void sample_init(struct sample *s, uint32_t n);
/* Adds n items of the declared collection samples; returns its kind. */
uint32_t sample_declare(struct sample *s, uint32_t n);
/* Sends encoded spacepoints instead of the others, after sample_declare where both are wanted. */
void sample_encode(struct sample *s);
/* The same as older clients do. */
void sample_quantize(struct sample *s);
/* The packed message, on the heap. */
void *sample_pack(const struct sample *s, size_t *ret_bytes);

/* A small generator of random numbers (splitmix64); the state is the seed. */
uint64_t sample_random(uint64_t *state);
/* Fills *s with a random valid RoI: any collections, any sizes. */
void sample_init_random(struct sample *s, uint64_t *state);
#endif
