/* SPDX-License-Identifier: Apache-2.0 */
/* made.h - decisions as no daemon makes them: every field, with the longest numbers often. */
#ifndef TRIGD_TEST_MADE_H
#define TRIGD_TEST_MADE_H
#include <stdint.h>

#include "trigd.pb-c.h"

#define MADE_MOST    40u /* items of a list */
#define MADE_RESULTS 8u
#define MADE_MISSING 3u
#define MADE_BATCH   8u /* decisions of a message */

struct made { /* a decision and what it points to */
    Trigd__V1__Decision d;
    Trigd__V1__StepResult result[MADE_RESULTS], *results[MADE_RESULTS];
    Trigd__V1__Missing lacks[MADE_MISSING], *missing[MADE_MISSING];
    uint32_t of[5 + MADE_MISSING][MADE_MOST];
    float values[MADE_MOST];
};

struct made_message { /* a message and what it points to; where it is filled it stays */
    Trigd__V1__FromDaemon m;
    Trigd__V1__DecisionBatch batch;
    Trigd__V1__Decision *list[MADE_BATCH];
    struct made made[MADE_BATCH];
};

/* A number of any length. */
uint32_t made_number(unsigned *seed);
/* Each field is at times as it is when nobody sets it. */
void made_fill(struct made *m, unsigned *seed);
/* Of `least` to MADE_BATCH decisions. */
void made_fill_message(struct made_message *m, size_t least, unsigned *seed);
#endif
