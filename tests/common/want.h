/* SPDX-License-Identifier: Apache-2.0 */
/* want.h - what must hold for any input of a fuzzer. */
#ifndef TRIGD_TEST_WANT_H
#define TRIGD_TEST_WANT_H
#include <stdio.h>
#include <stdlib.h>

#define WANT(condition)                                                                   \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort(); /* lint: libFuzzer keeps the input of a crash */                     \
        }                                                                                 \
    } while (0)
#endif
