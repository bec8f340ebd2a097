/* SPDX-License-Identifier: Apache-2.0 */
#include "log_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t log_json_string(char *line, size_t n, size_t room, const char *text, size_t bytes)
{
    if (n + 3 > room)
        return n;
    line[n++] = '"';
    for (size_t i = 0; i < bytes && n + 8 < room; i++) {
        const char c = text[i];

        if (c == '"' || c == '\\')
            n += (size_t)snprintf(line + n, room - n, "\\%c", c);
        else if ((unsigned char)c < 0x20)
            n += (size_t)snprintf(line + n, room - n, "\\u%04x", (unsigned)c & 0xffu);
        else
            line[n++] = c;
    }
    line[n++] = '"';
    line[n] = '\0';
    return n;
}

/* As JSON has them: -1.5e3, no leading zeros. */
static bool is_number(const char *text, size_t bytes)
{
    const char *end = text + bytes, *digits;

    text += text < end && *text == '-';
    digits = text;
    text += strspn(text, "0123456789");
    if (text == digits || (*digits == '0' && text > digits + 1))
        return false;
    if (text < end && *text == '.') {
        digits = ++text;
        text += strspn(text, "0123456789");
        if (text == digits)
            return false;
    }
    if (text < end && (*text == 'e' || *text == 'E')) {
        text += 1 + (text[1] == '-' || text[1] == '+');
        digits = text;
        text += strspn(text, "0123456789");
        if (text == digits)
            return false;
    }
    return text == end;
}

/* Whether a value in quotes may end before `text`: it is the end, or the next key follows.  Callers
 * do not escape what they quote. */
static bool is_next(const char *text)
{
    const size_t key = *text == ' ' ? strcspn(text + 1, "= \"") : 0;

    return !*text || (key && text[1 + key] == '=');
}

static size_t quoted_bytes(const char *text)
{
    size_t n = 0;

    while (text[n] && !(text[n] == '"' && is_next(text + n + 1)))
        n++;
    return n;
}

static size_t member(char *line, size_t n, size_t room, const char *key, size_t key_bytes,
                     const char *value, size_t bytes, bool is_bare)
{
    const size_t before = n;

    if (n + key_bytes + bytes + 16 > room)
        return before;
    line[n++] = ',';
    n = log_json_string(line, n, room, key, key_bytes);
    line[n++] = ':';
    if (!is_bare || !is_number(value, bytes))
        return log_json_string(line, n, room, value, bytes);
    memcpy(line + n, value, bytes);
    n += bytes;
    line[n] = '\0';
    return n;
}

size_t log_json_fields(char *line, size_t n, size_t room, const char *fields)
{
    while (*(fields += strspn(fields, " "))) {
        const size_t word = strcspn(fields, " "), key = strcspn(fields, "= ");
        const char *value = fields + key + 1;
        size_t bytes;

        if (fields[key] != '=' || !key) {
            n = member(line, n, room, "text", 4, fields, word, false);
            fields += word;
        } else if (*value == '"') {
            bytes = quoted_bytes(++value);
            n = member(line, n, room, fields, key, value, bytes, false);
            fields = value + bytes + (value[bytes] == '"');
        } else {
            bytes = strcspn(value, " ");
            n = member(line, n, room, fields, key, value, bytes, true);
            fields = value + bytes;
        }
    }
    return n;
}
