/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - rows and columns of text, printed for people, as CSV or as JSON. */
#ifndef TRIGD_TABLE_H
#define TRIGD_TABLE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 128

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

struct table {
    const char *column[TABLE_COLUMNS_MAX];
    bool is_number[TABLE_COLUMNS_MAX];
    uint32_t n_columns;
    char **cell; /* row after row */
    uint32_t n_cells, room;
    bool failed; /* memory was out: prints as nothing */
};

void table_init(struct table *t);
void table_fini(struct table *t);
/* Adds a column, before the first cell. */
void table_column(struct table *t, const char *name, bool is_number);
/* Adds the next cell. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* JSON: a list of objects, or one object when `single` (a table of one row). */
void table_print(const struct table *t, enum table_format format, bool single, FILE *out);
#endif
