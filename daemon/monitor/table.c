/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/table.h"
#include "json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

void table_init(struct table *t)
{
    memset(t, 0, sizeof *t);
}

void table_fini(struct table *t)
{
    for (uint32_t i = 0; i < t->n_cells; i++)
        free(t->cell[i]);
    free(t->cell);
    table_init(t);
}

void table_column(struct table *t, const char *name, bool is_number)
{
    if (t->n_columns == TABLE_COLUMNS_MAX)
        return;
    t->column[t->n_columns] = name;
    t->is_number[t->n_columns++] = is_number;
}

void table_cell(struct table *t, const char *format, ...)
{
    va_list args;
    char *text = NULL;

    if (array_grow(&t->cell, t->n_cells, &t->room, sizeof *t->cell) < 0) {
        t->failed = true;
        return;
    }
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    t->failed |= !text;
    if (text)
        t->cell[t->n_cells++] = text;
}

static void print_json_row(const struct table *t, uint32_t row, FILE *out)
{
    putc('{', out);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        const char *cell = t->cell[row * t->n_columns + c];

        if (c)
            putc(',', out);
        json_string(t->column[c], out);
        putc(':', out);
        if (t->is_number[c])
            fputs(cell[0] ? cell : "null", out);
        else
            json_string(cell, out);
    }
    putc('}', out);
}

/* Quotes a field that holds a separator, as RFC 4180 does. */
static void print_csv_field(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void print_csv(const struct table *t, uint32_t rows, FILE *out)
{
    for (uint32_t c = 0; c < t->n_columns; c++)
        fprintf(out, "%s%s", c ? "," : "", t->column[c]);
    putc('\n', out);
    for (uint32_t i = 0; i < rows * t->n_columns; i++) {
        if (i % t->n_columns)
            putc(',', out);
        print_csv_field(t->cell[i], out);
        if (i % t->n_columns == t->n_columns - 1)
            putc('\n', out);
    }
}

/* Columns as wide as their widest cell, numbers to the right. */
static void print_text(const struct table *t, uint32_t rows, FILE *out)
{
    int width[TABLE_COLUMNS_MAX];

    for (uint32_t c = 0; c < t->n_columns; c++) {
        width[c] = (int)strlen(t->column[c]);
        for (uint32_t r = 0; r < rows; r++) {
            int n = (int)strlen(t->cell[r * t->n_columns + c]);

            width[c] = n > width[c] ? n : width[c];
        }
    }
    for (uint32_t r = 0; r <= rows; r++) {
        for (uint32_t c = 0; c < t->n_columns; c++) {
            const char *cell = r ? t->cell[(r - 1) * t->n_columns + c] : t->column[c];
            bool last = c + 1 == t->n_columns;

            if (t->is_number[c])
                fprintf(out, "%*s%s", width[c], cell, last ? "\n" : "  ");
            else
                fprintf(out, "%-*s%s", last ? 0 : width[c], cell, last ? "\n" : "  ");
        }
    }
}

/* One row for people: a line for each column. */
static void print_lines(const struct table *t, FILE *out)
{
    int width = 0;

    for (uint32_t c = 0; c < t->n_columns; c++)
        width = (int)strlen(t->column[c]) > width ? (int)strlen(t->column[c]) : width;
    for (uint32_t c = 0; c < t->n_columns; c++)
        fprintf(out, "%-*s  %s\n", width, t->column[c], t->cell[c]);
}

void table_print(const struct table *t, enum table_format format, bool single, FILE *out)
{
    uint32_t rows = t->n_columns ? t->n_cells / t->n_columns : 0;

    if (t->failed && format == TABLE_JSON)
        fputs("{\"error\":\"there is no memory\"}", out);
    else if (t->failed)
        fputs("error: there is no memory\n", out);
    if (t->failed || (single && !rows))
        return;
    if (format == TABLE_TEXT && single) {
        print_lines(t, out);
    } else if (format == TABLE_TEXT) {
        print_text(t, rows, out);
    } else if (format == TABLE_CSV) {
        print_csv(t, rows, out);
    } else if (single) {
        print_json_row(t, 0, out);
    } else {
        putc('[', out);
        for (uint32_t r = 0; r < rows; r++) {
            fputs(r ? ",\n " : "", out);
            print_json_row(t, r, out);
        }
        putc(']', out);
    }
}
