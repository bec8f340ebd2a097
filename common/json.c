/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <time.h>

void json_string(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text & 0xffu);
        else
            putc(*text, out);
    }
    putc('"', out);
}

const char *json_time(uint64_t unix_ns, char *text)
{
    const time_t s = (time_t)(unix_ns / 1000000000u);
    char seconds[JSON_TIME - 8];
    struct tm tm;

    gmtime_r(&s, &tm);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, JSON_TIME, "%s.%03uZ", seconds, (unsigned)(unix_ns / 1000000u % 1000u));
    return text;
}
