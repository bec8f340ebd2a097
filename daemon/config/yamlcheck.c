/* SPDX-License-Identifier: Apache-2.0 */
#include "config/yamlcheck.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define PLACE_BYTES 160
#define FIELDS_MAX  64

struct check {
    yaml_document_t *doc;
    yamlcheck_fn *report;
    void *ctx;
};

static void value(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                  const char *place);

static void problem(struct check *c, const yaml_node_t *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void problem(struct check *c, const yaml_node_t *n, const char *format, ...)
{
    char text[768];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->report(c->ctx, n->start_mark.line + 1, text);
}

/* ---------------------------------------------------------------- scalars */

static const char *name_of(const char *place)
{
    return *place ? place : "the file";
}

static const char *text_of(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* Whether a scalar says nothing: `key:`, `key: ~`, `key: null`. */
static bool is_null(const yaml_node_t *n)
{
    const char *text = text_of(n);

    return text && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || !strcmp(text, "~") || !strcmp(text, "null"));
}

static void string(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                   const char *place)
{
    const char *text = text_of(n);
    size_t length = strlen(text);

    if (length != n->data.scalar.length)
        problem(c, n, "%s has a zero byte in it; text is wanted", place);
    else if (is_null(n))
        problem(c, n, "%s has no value; text is wanted", place);
    else if (length < v->string.min)
        problem(c, n, "%s is empty; text is wanted", place);
    else if (length > v->string.max)
        problem(c, n, "%s has %zu characters; at most %" PRIu64 " are allowed", place, length,
                (uint64_t)v->string.max);
}

static void whole_number(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                         const char *place)
{
    const char *text = text_of(n);
    uint64_t max = v->data_size < 8 ? (UINT64_C(1) << (8 * v->data_size)) - 1 : UINT64_MAX, x;
    char *end = NULL;

    errno = 0;
    x = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || (*text == '0' && text[1]) || errno || x > max)
        problem(c, n, "%s is \"%s\"; a whole number from 0 to %" PRIu64 " is wanted", place, text,
                max);
}

static void number(struct check *c, const yaml_node_t *n, const char *place)
{
    const char *text = text_of(n);
    char *end = NULL;
    double x = strtod(text, &end);

    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(x))
        problem(c, n, "%s is \"%s\"; a finite number is wanted", place, text);
}

static void boolean(struct check *c, const yaml_node_t *n, const char *place)
{
    const char *text = text_of(n);

    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        problem(c, n, "%s is \"%s\"; true or false is wanted", place, text);
}

/* ---------------------------------------------------------------- mappings and sequences */

static const cyaml_schema_field_t *field_of(const cyaml_schema_value_t *v, const char *key)
{
    for (const cyaml_schema_field_t *f = v->mapping.fields; f->key; f++)
        if (!strcmp(f->key, key))
            return f;
    return NULL;
}

static void unknown_key(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                        const char *key, const char *place)
{
    const char *keys[FIELDS_MAX + 1] = {NULL}, *near;
    char allowed[512] = "";
    size_t at = 0, i = 0;

    for (const cyaml_schema_field_t *f = v->mapping.fields; f->key && i < FIELDS_MAX; f++) {
        keys[i++] = f->key;
        if (at < sizeof allowed)
            at += (size_t)snprintf(allowed + at, sizeof allowed - at, " %s", f->key);
    }
    near = nearest_of(key, keys);
    problem(c, n, "there is no key \"%s\" in %s%s%s%s; allowed are%s", key, name_of(place),
            *near ? " (did you mean \"" : "", near, *near ? "\"?)" : "", allowed);
}

/* The text of a key that stands once and is text; NULL, with the problem told, otherwise. */
static const char *key_of(struct check *c, const yaml_node_t *n, const yaml_node_pair_t *p,
                          const char *place)
{
    const yaml_node_t *k = yaml_document_get_node(c->doc, p->key);
    const char *key = text_of(k);

    if (!key) {
        problem(c, k, "a key of %s is not text", name_of(place));
        return NULL;
    }
    for (const yaml_node_pair_t *q = n->data.mapping.pairs.start; q < p; q++) {
        const char *other = text_of(yaml_document_get_node(c->doc, q->key));

        if (other && !strcmp(other, key)) {
            problem(c, k, "the key \"%s\" stands twice in %s", key, name_of(place));
            return NULL;
        }
    }
    return key;
}

static void mapping(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                    const char *place)
{
    bool seen[FIELDS_MAX] = {false};
    char inner[PLACE_BYTES];

    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        const char *key = key_of(c, n, p, place);
        const cyaml_schema_field_t *f = key ? field_of(v, key) : NULL;

        if (!f) {
            if (key)
                unknown_key(c, v, yaml_document_get_node(c->doc, p->key), key, place);
            continue;
        }
        seen[f - v->mapping.fields] = true;
        snprintf(inner, sizeof inner, "%s%s%s", place, *place ? "." : "", key);
        value(c, &f->value, yaml_document_get_node(c->doc, p->value), inner);
    }
    for (const cyaml_schema_field_t *f = v->mapping.fields; f->key; f++)
        if (!(f->value.flags & CYAML_FLAG_OPTIONAL) && !seen[f - v->mapping.fields])
            problem(c, n, "the key \"%s\" is missing in %s", f->key, name_of(place));
}

static void sequence(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                     const char *place)
{
    const yaml_node_item_t *first = n->data.sequence.items.start;
    size_t count = (size_t)(n->data.sequence.items.top - first);
    char inner[PLACE_BYTES];

    if (count < v->sequence.min)
        problem(c, n, "%s has %zu entries; at least %" PRIu64 " is wanted", place, count,
                (uint64_t)v->sequence.min);
    if (count > v->sequence.max) {
        problem(c, n, "%s has %zu entries; at most %" PRIu64 " are allowed", place, count,
                (uint64_t)v->sequence.max);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(inner, sizeof inner, "%s[%zu]", place, i);
        value(c, v->sequence.entry, yaml_document_get_node(c->doc, first[i]), inner);
    }
}

/* A part whose keys the schema leaves open (a plugin's parameters): still a mapping, a key once. */
static void open_mapping(struct check *c, const yaml_node_t *n, const char *place)
{
    if (n->type != YAML_MAPPING_NODE) {
        problem(c, n, "%s is not a mapping of keys to values", place);
        return;
    }
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++)
        key_of(c, n, p, place);
}

static void value(struct check *c, const cyaml_schema_value_t *v, const yaml_node_t *n,
                  const char *place)
{
    static const char *const wanted[] = {"one value", "a list", "a mapping of keys to values"};
    int kind = v->type == CYAML_MAPPING ? 2 : v->type == CYAML_SEQUENCE ? 1 : 0;
    yaml_node_type_t type = kind == 2   ? YAML_MAPPING_NODE
                            : kind == 1 ? YAML_SEQUENCE_NODE
                                        : YAML_SCALAR_NODE;

    if (v->type == CYAML_IGNORE)
        open_mapping(c, n, place);
    else if (n->type != type)
        problem(c, n, "%s is not %s", name_of(place), wanted[kind]);
    else if (v->type == CYAML_MAPPING)
        mapping(c, v, n, place);
    else if (v->type == CYAML_SEQUENCE)
        sequence(c, v, n, place);
    else if (v->type == CYAML_STRING)
        string(c, v, n, place);
    else if (v->type == CYAML_UINT)
        whole_number(c, v, n, place);
    else if (v->type == CYAML_FLOAT)
        number(c, n, place);
    else if (v->type == CYAML_BOOL)
        boolean(c, n, place);
}

void yamlcheck(yaml_document_t *doc, const cyaml_schema_value_t *schema, yamlcheck_fn *report,
               void *ctx)
{
    struct check c = {.doc = doc, .report = report, .ctx = ctx};

    value(&c, schema, yaml_document_get_root_node(doc), "");
}
