/* SPDX-License-Identifier: Apache-2.0 */
/* malformed.h - every malformed input that the decoder knows, with its answer.  The table of
 * docs/protocol.md is this one. */
#ifndef TRIGD_TEST_MALFORMED_H
#define TRIGD_TEST_MALFORMED_H
#include "sample.h"

struct malformed {
    const char *what; /* as docs/protocol.md says it */
    /* one of: */
    void (*spoil)(struct sample *);         /* changes a valid message of 5 items a collection */
    const void *(*make)(size_t *ret_bytes); /* static memory */
    const char *bytes;
    size_t n;
    const char *name; /* of a Hello */

    Trigd__V1__Error__Code code;
    const char *text; /* the whole sentence of the answer */
};

extern const struct malformed malformed[];
extern const size_t n_malformed;
#endif
