/* SPDX-License-Identifier: Apache-2.0 */
/* log_fields.h - the pairs in the fields of a log line: key=value key="value". */
#ifndef TRIGD_LOG_FIELDS_H
#define TRIGD_LOG_FIELDS_H
#include <stdbool.h>
#include <stddef.h>

struct log_field { /* parts of the line */
    const char *key, *value;
    size_t key_bytes, bytes;
    bool is_bare; /* without quotes: it may be a number */
};

/* The field at *at, and moves it behind; false: there are no more.  A word without a key has the
 * key "text". */
bool log_field_next(const char **at, struct log_field *ret_field);
#endif
