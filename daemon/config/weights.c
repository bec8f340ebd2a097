/* SPDX-License-Identifier: Apache-2.0 */
#include "config/weights.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_BYTES 64

/* Reads one entry: 1 and where the next begins; 0 at the end; -1: it is none. */
static int next_entry(const char **list, char *ret_pattern, uint32_t *ret_weight)
{
    const char *at = *list, *end, *equals;
    unsigned long weight;
    char *after;
    size_t n;

    while (isspace((unsigned char)*at))
        at++;
    if (!*at)
        return 0;
    end = strchr(at, ',');
    equals = strchr(at, '=');
    if (!equals || (end && equals > end))
        return -1;
    n = (size_t)(equals - at);
    if (n == 0 || n >= PATTERN_BYTES || !isdigit((unsigned char)equals[1]))
        return -1;
    memcpy(ret_pattern, at, n);
    ret_pattern[n] = '\0';
    weight = strtoul(equals + 1, &after, 10);
    while (isspace((unsigned char)*after))
        after++;
    if (weight < 1 || weight > WEIGHTS_MOST || (*after && *after != ','))
        return -1;
    *ret_weight = (uint32_t)weight;
    *list = after + (*after == ',');
    return 1;
}

bool weights_are_good(const char *list)
{
    char pattern[PATTERN_BYTES];
    uint32_t weight;
    int r;

    do {
        r = next_entry(&list, pattern, &weight);
    } while (r == 1);
    return r == 0;
}

uint32_t weights_of(const char *list, const char *name)
{
    char pattern[PATTERN_BYTES];
    uint32_t weight;

    while (next_entry(&list, pattern, &weight) == 1)
        if (fnmatch(pattern, name, 0) == 0)
            return weight;
    return 1;
}
