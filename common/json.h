/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - pieces of JSON, written to a stream. */
#ifndef TRIGD_JSON_H
#define TRIGD_JSON_H
#include <stdint.h>
#include <stdio.h>

#define JSON_TIME 32

/* Writes text as a JSON string. */
void json_string(const char *text, FILE *out);
/* A time in UTC as ISO 8601 has it, to the millisecond; `text` has JSON_TIME bytes and is
 * returned. */
const char *json_time(uint64_t unix_ns, char *text);
#endif
