/* SPDX-License-Identifier: Apache-2.0 */
#include "conditions/condition_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "config/yamlfile.h"
#include "values.h"

#define WHERE_BYTES 256

struct file { /* its keys are conditions and columns: they are read from the document */
    char *name;
};
static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct file, name, 1,
                           63),
    CYAML_FIELD_IGNORE("conditions", CYAML_FLAG_DEFAULT), CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file, file_fields)};

struct reader {
    struct yamlfile *f;
    const struct condition_need *needs;
    uint32_t n_needs;
};

/* ---------------------------------------------------------------- needs */

uint32_t conditions_needed(struct plugin_host *plugins, struct condition_need *needs, uint32_t most)
{
    uint32_t n = 0;

    for (const struct plugin *p = NULL; (p = plugin_host_next(plugins, p)) != NULL;)
        for (const struct trg_condition *c = p->d.conditions; c && c->name && n < most; c++) {
            uint32_t i = 0;

            while (i < n && strcmp(needs[i].name, c->name) != 0)
                i++;
            if (i == n)
                needs[n++] = (struct condition_need){.name = c->name, .table = c->table};
        }
    return n;
}

static const struct condition_need *find_need(struct reader *r, const char *where, const char *name)
{
    const char *names[NEEDS_MAX + 1] = {NULL}, *nearest;

    for (uint32_t i = 0; i < r->n_needs; i++) {
        if (!strcmp(r->needs[i].name, name))
            return &r->needs[i];
        names[i] = r->needs[i].name;
    }
    nearest = nearest_of(name, names);
    yamlfile_problem(r->f, where, "no plugin that is loaded has a condition \"%.80s\"%s%s%s", name,
                     nearest[0] ? "; did you mean \"" : "", nearest, nearest[0] ? "\"?" : "");
    return NULL;
}

/* ---------------------------------------------------------------- values */

static bool is_whole(double v)
{
    return floor(v) == v; /* lint: whole numbers are exact */
}

static void put_value(const struct trg_column *column, unsigned char *values, size_t at, double v)
{
    const size_t size = trg_type_size(column->type);
    const float f = (float)v;
    const int64_t whole = (int64_t)v;

    memcpy(values + at * size, column->type == TRG_F32 ? (const void *)&f : &whole, size);
}

/* One value; what is written says where. */
static void read_value(struct reader *r, const char *where, const struct trg_column *column,
                       unsigned char *values, size_t at)
{
    const char *text = yamlfile_scalar(r->f, where);
    char *end = NULL;
    const double v = text ? strtod(text, &end) : 0;
    const bool is_number = text && end != text && !*end && isfinite(v);

    if (is_number && v >= column->min && v <= column->max &&
        (column->type == TRG_F32 || is_whole(v)))
        put_value(column, values, at, v);
    else
        yamlfile_problem(r->f, where, "%s is \"%.40s\"; a %s of %.9g to %.9g is allowed", where,
                         text ? text : "no number",
                         column->type == TRG_F32 ? "number" : "whole number", column->min,
                         column->max);
}

static void read_row(struct reader *r, const char *where, const struct trg_column *column,
                     unsigned char *values, uint32_t row)
{
    const int64_t n = column->length > 1 ? yamlfile_count(r->f, where) : 1;
    char at[WHERE_BYTES];

    if (column->length == 1) {
        read_value(r, where, column, values, row);
        return;
    }
    if (n != column->length) {
        yamlfile_problem(r->f, where, "%s has %lld values; it is a vector of %u", where,
                         (long long)(n < 0 ? 1 : n), column->length);
        return;
    }
    for (uint32_t v = 0; v < column->length; v++) {
        snprintf(at, sizeof at, "%.240s[%u]", where, v);
        read_value(r, at, column, values, (size_t)row * column->length + v);
    }
}

/* ---------------------------------------------------------------- tables */

/* The rows that a table has: those of its first column.  -1: there is none, or too many. */
static int64_t count_rows(struct reader *r, const char *where, const struct trg_collection *table)
{
    char at[WHERE_BYTES];
    int64_t n;

    snprintf(at, sizeof at, "%.160s.%s", where, table->column[0].name);
    n = yamlfile_count(r->f, at);
    if (!yamlfile_has(r->f, at)) {
        yamlfile_problem(r->f, where, "%s lacks the column %s", where, table->column[0].name);
    } else if (n < 0) {
        yamlfile_problem(r->f, at, "%s is no list of values; write [VALUE, ...]", at);
    } else if (n > table->room) {
        yamlfile_problem(r->f, at, "%s has %lld rows; at most %u are allowed", at, (long long)n,
                         table->room);
        n = -1;
    }
    return n;
}

static void read_column(struct reader *r, const char *where, struct condition *c, uint32_t k)
{
    const struct trg_column *column = &c->table->column[k];
    char list[WHERE_BYTES - 32], at[WHERE_BYTES];
    int64_t n;

    snprintf(list, sizeof list, "%.160s.%s", where, column->name);
    n = yamlfile_count(r->f, list);
    if (!yamlfile_has(r->f, list))
        yamlfile_problem(r->f, where, "%s lacks the column %s", where, column->name);
    else if (n != c->n)
        yamlfile_problem(r->f, list, "%s has %lld rows, and %s has %u", list,
                         (long long)(n < 0 ? 0 : n), c->table->column[0].name, c->n);
    else
        for (uint32_t i = 0; i < c->n; i++) {
            snprintf(at, sizeof at, "%s[%u]", list, i);
            read_row(r, at, column, c->column[k], i);
        }
}

/* Columns that the declaration has not, or that stand twice. */
static void check_columns(struct reader *r, const char *where, const struct trg_collection *table)
{
    const char *names[TRG_COLUMNS_MAX + 1] = {NULL}, *key, *value, *nearest;
    uint32_t met = 0;

    for (uint32_t k = 0; k < table->n_columns; k++)
        names[k] = table->column[k].name;
    for (uint32_t i = 0; yamlfile_pair(r->f, where, i, &key, &value); i++) {
        uint32_t k = 0;

        while (k < table->n_columns && strcmp(names[k], key) != 0)
            k++;
        if (k < table->n_columns && met >> k & 1)
            yamlfile_problem(r->f, where, "%s has the column %s twice", where, key);
        met |= k < table->n_columns ? 1u << k : 0;
        if (k < table->n_columns)
            continue;
        nearest = nearest_of(key, names);
        yamlfile_problem(r->f, where, "%s has no column \"%.40s\"%s%s%s", where, key,
                         nearest[0] ? "; did you mean \"" : "", nearest, nearest[0] ? "\"?" : "");
    }
}

/* -ENOMEM; problems are noted in the file, and *ret_condition is NULL then. */
static int read_table(struct reader *r, const char *name, struct condition **ret_condition)
{
    const struct condition_need *need;
    char where[WHERE_BYTES];
    int64_t rows;
    int e;

    *ret_condition = NULL;
    snprintf(where, sizeof where, "conditions.%.80s", name);
    need = find_need(r, where, name);
    if (!need)
        return 0;
    check_columns(r, where, need->table);
    rows = count_rows(r, where, need->table);
    if (rows < 0)
        return 0;
    e = condition_new(need, (uint32_t)rows, ret_condition);
    if (e < 0)
        return e;
    for (uint32_t k = 0; k < need->table->n_columns; k++)
        read_column(r, where, *ret_condition, k);
    condition_seal(*ret_condition);
    return 0;
}

/* ---------------------------------------------------------------- files */

static int read_all(struct reader *r, struct condition_list *list)
{
    const char *name, *value;
    int e = 0;

    for (uint32_t i = 0; e == 0 && yamlfile_pair(r->f, "conditions", i, &name, &value); i++) {
        struct condition *c;

        e = read_table(r, name, &c);
        if (c && list->n < CONDITIONS_MAX)
            list->of[list->n++] = c;
        else
            condition_release(c);
    }
    return e;
}

int conditions_read(const char *path, const struct condition_need *needs, uint32_t n_needs,
                    struct condition_list *ret_list)
{
    struct reader r = {.needs = needs, .n_needs = n_needs < NEEDS_MAX ? n_needs : NEEDS_MAX};
    void *data;
    int e = yamlfile_load(path, &file_schema, &data, &r.f);

    *ret_list = (struct condition_list){.n = 0};
    if (e < 0)
        return e;
    e = read_all(&r, ret_list);
    if (e == 0 && yamlfile_problems(r.f))
        e = -EINVAL;
    cyaml_free(&yamlfile_cyaml, &file_schema, data, 0);
    yamlfile_free(r.f);
    if (e < 0)
        conditions_release(ret_list);
    return e;
}

void conditions_release(struct condition_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        condition_release(list->of[i]);
    list->n = 0;
}
