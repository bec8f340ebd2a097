/* SPDX-License-Identifier: Apache-2.0 */
#include "log_fields.h"

#include <string.h>

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

bool log_field_next(const char **at, struct log_field *f)
{
    const char *word = *at + strspn(*at, " ");
    const size_t key = strcspn(word, "= ");

    if (!*word)
        return false;
    *f = (struct log_field){.key = word, .key_bytes = key, .value = word + key + 1};
    if (word[key] != '=' || !key) {
        *f = (struct log_field){
            .key = "text", .key_bytes = 4, .value = word, .bytes = strcspn(word, " ")};
        *at = word + f->bytes;
    } else if (*f->value == '"') {
        f->bytes = quoted_bytes(++f->value);
        *at = f->value + f->bytes + (f->value[f->bytes] == '"');
    } else {
        f->is_bare = true;
        f->bytes = strcspn(f->value, " ");
        *at = f->value + f->bytes;
    }
    return true;
}
