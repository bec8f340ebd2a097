/* SPDX-License-Identifier: Apache-2.0 */
#include "log_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "log_fields.h"

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

static size_t member(char *line, size_t n, size_t room, const struct log_field *f)
{
    const size_t before = n;

    if (n + f->key_bytes + f->bytes + 16 > room)
        return before;
    line[n++] = ',';
    n = log_json_string(line, n, room, f->key, f->key_bytes);
    line[n++] = ':';
    if (!f->is_bare || !is_number(f->value, f->bytes))
        return log_json_string(line, n, room, f->value, f->bytes);
    memcpy(line + n, f->value, f->bytes);
    n += f->bytes;
    line[n] = '\0';
    return n;
}

size_t log_json_fields(char *line, size_t n, size_t room, const char *fields)
{
    struct log_field f;

    while (log_field_next(&fields, &f))
        n = member(line, n, room, &f);
    return n;
}
