/* SPDX-License-Identifier: Apache-2.0 */
#include "import_csv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (64u << 10)

int csv_fail(const struct csv *c, const char *format, ...)
{
    char text[384];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return import_fail(c->im, -EBADMSG, "%s:%llu: %s", c->path, (unsigned long long)c->line, text);
}

int csv_no_memory(const struct csv *c)
{
    return import_fail(c->im, -ENOMEM, "%s: no memory", c->path);
}

/* One line without its end; 1, 0 at the end of the file, -EBADMSG. */
static int read_line(struct csv *c, char *text)
{
    size_t n;
    int error;

    c->line++;
    if (!gzgets(c->file, text, (int)LINE_MAX_BYTES)) {
        const char *why = gzerror(c->file, &error);

        return error == Z_OK || error == Z_STREAM_END ? 0 : csv_fail(c, "cannot be read: %s", why);
    }
    n = strlen(text);
    if (n && text[n - 1] == '\n')
        text[--n] = 0;
    else if (n == LINE_MAX_BYTES - 1)
        return csv_fail(c, "a line may have %u bytes", LINE_MAX_BYTES - 2);
    else if (!gzeof(c->file))
        return csv_fail(c, "a byte 0 is no text");
    if (n && text[n - 1] == '\r')
        text[n - 1] = 0;
    return 1;
}

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (isspace((unsigned char)*text))
        text++;
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = 0;
    return text;
}

/* Cuts a line at its commas, in place. */
static int split(const struct csv *c, char *text, const char **field, uint32_t *ret_n)
{
    uint32_t n = 0;

    for (char *next; text; text = next) {
        next = strchr(text, ',');
        if (next)
            *next++ = 0;
        if (n == CSV_FIELDS_MAX)
            return csv_fail(c, "a line may have %d fields", CSV_FIELDS_MAX);
        field[n++] = trim(text);
    }
    *ret_n = n;
    return 0;
}

int csv_open(struct csv *ret_csv, struct import *im, const char *path)
{
    struct csv c = {.im = im, .path = path};
    int r;

    errno = 0;
    c.file = gzopen(path, "rb");
    if (!c.file) {
        r = errno ? -errno : -ENOMEM;
        return import_fail(im, r, "%s: cannot be opened: %s", path, strerror(-r));
    }
    c.names = malloc(LINE_MAX_BYTES);
    c.text = malloc(LINE_MAX_BYTES);
    if (c.names && c.text)
        r = read_line(&c, c.names);
    else
        r = csv_no_memory(&c);
    if (r == 0)
        r = csv_fail(&c, "the file is empty: a line of column names is wanted");
    if (r > 0)
        r = split(&c, c.names, c.name, &c.n_columns);
    if (r < 0)
        csv_close(&c);
    else
        *ret_csv = c;
    return r < 0 ? r : 0;
}

void csv_close(struct csv *c)
{
    free(c->names);
    free(c->text);
    if (c->file)
        gzclose(c->file);
    *c = (struct csv){.im = c->im};
}

int csv_find(const struct csv *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_columns; i++)
        if (!strcmp(c->name[i], name))
            return (int)i;
    return -ENOENT;
}

int csv_need(const struct csv *c, const char *const *names, uint32_t *ret_columns)
{
    for (uint32_t i = 0; names[i]; i++) {
        int column = csv_find(c, names[i]);

        if (column < 0)
            return import_fail(c->im, -EBADMSG, "%s:1: there is no column \"%s\"", c->path,
                               names[i]);
        ret_columns[i] = (uint32_t)column;
    }
    return 0;
}

int csv_next(struct csv *c)
{
    int r;

    do
        r = read_line(c, c->text);
    while (r == 1 && !*trim(c->text));
    if (r == 1)
        r = split(c, c->text, c->field, &c->n) < 0 ? -EBADMSG : 1;
    if (r == 1 && c->n != c->n_columns)
        return csv_fail(c, "%u fields, not %u as in the first line", c->n, c->n_columns);
    return r;
}

int csv_rows(struct import *im, const char *path, const char *const *names, csv_row *row, void *arg)
{
    uint32_t column[CSV_FIELDS_MAX];
    struct csv c = {.im = im};
    int r = csv_open(&c, im, path);

    if (r < 0)
        return r;
    r = csv_need(&c, names, column);
    while (r == 0 && (r = csv_next(&c)) == 1)
        r = row(arg, &c, column);
    csv_close(&c);
    return r;
}

int csv_real(const struct csv *c, uint32_t column, double min, double max, double *ret)
{
    const char *text = c->field[column];
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= min && v <= max))
        return csv_fail(c, "%s \"%.40s\": a number from %g to %g is wanted", c->name[column], text,
                        min, max);
    *ret = v;
    return 0;
}

int csv_unsigned(const struct csv *c, uint32_t column, uint64_t max, uint64_t *ret)
{
    const char *text = c->field[column];
    unsigned long long v;
    char *end;

    errno = 0;
    v = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || v > max)
        return csv_fail(c, "%s \"%.40s\": a whole number from 0 to %llu is wanted", c->name[column],
                        text, (unsigned long long)max);
    *ret = v;
    return 0;
}

int csv_integer(const struct csv *c, uint32_t column, int64_t min, int64_t max, int64_t *ret)
{
    const char *text = c->field[column];
    long long v;
    char *end;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < min || v > max)
        return csv_fail(c, "%s \"%.40s\": a whole number from %lld to %lld is wanted",
                        c->name[column], text, (long long)min, (long long)max);
    *ret = v;
    return 0;
}
