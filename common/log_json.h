/* SPDX-License-Identifier: Apache-2.0 */
/* log_json.h - the fields of a log line as members of a JSON object. */
#ifndef TRIGD_LOG_JSON_H
#define TRIGD_LOG_JSON_H
#include <stddef.h>

/* Appends `text` as a JSON string to the `n` bytes of `line`; returns how many it has then.  What
 * does not fit into `room` is left out, quotes are closed. */
size_t log_json_string(char *line, size_t n, size_t room, const char *text, size_t bytes);
/* Appends `key=value key="value"` as `, "key": value, "key": "value"`: numbers stay numbers, what
 * has no key is the member "text".  A member that does not fit is left out whole. */
size_t log_json_fields(char *line, size_t n, size_t room, const char *fields);
#endif
