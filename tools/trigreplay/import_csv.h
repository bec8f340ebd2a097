/* SPDX-License-Identifier: Apache-2.0 */
/* import_csv.h - tables of numbers as comma-separated text, plain or gzipped: a line of names, then
 * lines of as many fields; spaces around a field do not count, there are no quotes.  Every failure
 * leaves one sentence with file and line in the import's problem. */
#ifndef TRIGD_IMPORT_CSV_H
#define TRIGD_IMPORT_CSV_H
#include <zlib.h>

#include "import.h"

#define CSV_FIELDS_MAX 64

struct csv {
    struct import *im;
    const char *path; /* the caller's */
    gzFile file;
    uint64_t line; /* of the row, from 1 */
    uint32_t n_columns, n;
    char *names, *text; /* the first line, and the row; fields point into them */
    const char *name[CSV_FIELDS_MAX], *field[CSV_FIELDS_MAX];
};

/* Opens and reads the names. */
int csv_open(struct csv *ret_csv, struct import *im, const char *path);
void csv_close(struct csv *c);

/* Where a column stands; -ENOENT: it is not there.  No sentence. */
int csv_find(const struct csv *c, const char *name);
/* The same for all names, NULL behind the last; the first that is not there fails. */
int csv_need(const struct csv *c, const char *const *names, uint32_t *ret_columns);

/* The next row: 1; 0 at the end; -EBADMSG. */
int csv_next(struct csv *c);

/* Gives each row of a file to `row`, with the places of the columns that `names` lists. */
typedef int csv_row(void *arg, const struct csv *c, const uint32_t *column);
int csv_rows(struct import *im, const char *path, const char *const *names, csv_row *row,
             void *arg);

/* A field as a number within limits. */
int csv_real(const struct csv *c, uint32_t column, double min, double max, double *ret);
int csv_unsigned(const struct csv *c, uint32_t column, uint64_t max, uint64_t *ret);
int csv_integer(const struct csv *c, uint32_t column, int64_t min, int64_t max, int64_t *ret);
/* Says that something is wrong with this line; returns -EBADMSG. */
int csv_fail(const struct csv *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says that memory is out; returns -ENOMEM. */
int csv_no_memory(const struct csv *c);
#endif
