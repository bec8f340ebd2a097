/* SPDX-License-Identifier: Apache-2.0 */
#include "metaimage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES   512u
#define HEADER_BYTES ((size_t)64 << 10)

struct header {
    struct metaimage *m;
    bool has_size, has_type, has_file, is_big;
    char *why;
    size_t why_bytes;
};

static int refuse(struct header *h, const char *key, const char *value, const char *allowed)
{
    snprintf(h->why, h->why_bytes, "%s is '%s'; %s", key, value, allowed);
    return -EINVAL;
}

static int take_size(struct header *h, const char *value)
{
    uint32_t *n = h->m->shape.n;
    int end = 0;

    if (sscanf(value, "%5u %5u %5u%n", &n[0], &n[1], &n[2], &end) != 3 || value[end] || !n[0] ||
        !n[1] || !n[2])
        return refuse(h, "DimSize", value, "three numbers from 1 to 99999 are allowed");
    h->has_size = true;
    return 0;
}

static int take_type(struct header *h, const char *value)
{
    const bool is_short = !strcmp(value, "MET_SHORT");

    if (strcmp(value, "MET_UCHAR") != 0 && strcmp(value, "MET_USHORT") != 0 && !is_short)
        return refuse(h, "ElementType", value, "MET_UCHAR, MET_SHORT and MET_USHORT are allowed");
    h->m->shape.value_bytes = strcmp(value, "MET_UCHAR") != 0 ? 2 : 1;
    h->m->shape.is_signed = is_short;
    h->has_type = true;
    return 0;
}

/* A file beside this one: a name without a folder. */
static int take_file(struct header *h, const char *value)
{
    h->has_file = true;
    if (!strcmp(value, "LOCAL"))
        return 0;
    if (strlen(value) >= sizeof h->m->file || strchr(value, '/') || strchr(value, '%') ||
        !strncmp(value, "LIST", 4))
        return refuse(h, "ElementDataFile", value,
                      "LOCAL, or the name of one file in the same folder is allowed");
    snprintf(h->m->file, sizeof h->m->file, "%s", value);
    return 0;
}

static int take(struct header *h, const char *key, const char *value)
{
    static const struct {
        const char *key, *only, *allowed;
    } fixed[] = {
        {"ObjectType", "Image", "Image is allowed"},
        {"NDims", "3", "3 is allowed"},
        {"BinaryData", "True", "True is allowed"},
        {"CompressedData", "False", "False is allowed: voxels are read as they lie in the file"},
        {"ElementNumberOfChannels", "1", "1 is allowed"},
        {"HeaderSize", "0", "0 is allowed"},
    };

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!strcmp(key, fixed[i].key) && strcmp(value, fixed[i].only) != 0)
            return refuse(h, key, value, fixed[i].allowed);
    if (!strcmp(key, "DimSize"))
        return take_size(h, value);
    if (!strcmp(key, "ElementType"))
        return take_type(h, value);
    if (!strcmp(key, "ElementByteOrderMSB") || !strcmp(key, "BinaryDataByteOrderMSB"))
        h->is_big = !strcmp(value, "True");
    if (!strcmp(key, "ElementDataFile"))
        return take_file(h, value);
    return 0;
}

/* Takes the spaces off both ends. */
static char *trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strlen(text);
    while (n && strchr(" \t\r", text[n - 1]))
        text[--n] = '\0';
    return text;
}

static int take_line(struct header *h, char *line)
{
    char *equals = strchr(line, '=');

    if (!*trim(line))
        return 0;
    if (!equals) {
        snprintf(h->why, h->why_bytes, "it is not MetaImage: '%.60s' is not KEY = VALUE", line);
        return -EINVAL;
    }
    *equals = '\0';
    return take(h, trim(line), trim(equals + 1));
}

static int check(struct header *h)
{
    const char *missing = !h->has_size   ? "DimSize"
                          : !h->has_type ? "ElementType"
                          : !h->has_file ? "ElementDataFile"
                                         : NULL;

    if (missing) {
        snprintf(h->why, h->why_bytes, "its header has no %s", missing);
        return -EINVAL;
    }
    h->m->shape.is_swapped = h->is_big && h->m->shape.value_bytes == 2;
    return 0;
}

int metaimage_parse(const unsigned char *bytes, size_t n, struct metaimage *ret, char *why,
                    size_t why_bytes)
{
    struct header h = {.m = ret, .why = why, .why_bytes = why_bytes};
    size_t at = 0;
    int r = 0;

    memset(ret, 0, sizeof *ret);
    while (r == 0 && !h.has_file && at < n && at < HEADER_BYTES) {
        const unsigned char *end = memchr(bytes + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - (bytes + at)) : n - at;
        char line[LINE_BYTES];

        if (length >= sizeof line || memchr(bytes + at, '\0', length)) {
            snprintf(why, why_bytes, "it is not MetaImage: its header is no text");
            return -EINVAL;
        }
        memcpy(line, bytes + at, length);
        line[length] = '\0';
        r = take_line(&h, line);
        at += length + 1;
    }
    ret->offset = at < n ? at : n;
    return r ? r : check(&h);
}
