/* SPDX-License-Identifier: Apache-2.0 */
/* check_fault.h - what check.h has found wrong, so that it can be told later. */
#ifndef TRIGD_CHECK_FAULT_H
#define TRIGD_CHECK_FAULT_H
#include <stddef.h>
#include <stdint.h>

#include "trigd.pb-c.h"
#include "trigd/event.h"

struct check_fault { /* a value that is not allowed; zero: there is none */
    Trigd__V1__Error__Code code;
    uint64_t hash; /* of the collection: processes number them differently */
    uint32_t column;
    double value;
    size_t at; /* its number among the values of the column */
};
#endif
