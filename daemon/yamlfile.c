/* SPDX-License-Identifier: Apache-2.0 */
#include "yamlfile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "log.h"
#include "nearest.h"

#define WHERE_MAX 256
#define KEYS_MAX 256

struct yamlfile {
    char path[4096];
    yaml_document_t doc;
    bool has_doc;
    uint32_t problems;
};

/* ---------------------------------------------------------------- the document */

static yaml_node_t *in_mapping(struct yamlfile *f, const yaml_node_t *n, const char *key,
                               size_t len, yaml_node_t **ret_key)
{
    const yaml_node_pair_t *p;

    if (n->type != YAML_MAPPING_NODE)
        return NULL;
    for (p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        yaml_node_t *k = yaml_document_get_node(&f->doc, p->key);

        if (k && k->type == YAML_SCALAR_NODE && k->data.scalar.length == len &&
            !strncmp((const char *)k->data.scalar.value, key, len)) {
            *ret_key = k;
            return yaml_document_get_node(&f->doc, p->value);
        }
    }
    return NULL;
}

static yaml_node_t *in_sequence(struct yamlfile *f, const yaml_node_t *n, unsigned long i)
{
    if (n->type != YAML_SEQUENCE_NODE ||
        i >= (unsigned long)(n->data.sequence.items.top - n->data.sequence.items.start))
        return NULL;
    return yaml_document_get_node(&f->doc, n->data.sequence.items.start[i]);
}

/* The node at `where`, or NULL; *ret_line is the line of it or of the last thing on the way. */
static yaml_node_t *find(const struct yamlfile *cf, const char *where, size_t *ret_line)
{
    struct yamlfile *f = (struct yamlfile *)cf; /* libyaml's getters want it so */
    yaml_node_t *n = f->has_doc ? yaml_document_get_root_node(&f->doc) : NULL;

    *ret_line = n ? n->start_mark.line + 1 : 1;
    while (n && *where) {
        if (*where == '[') {
            n = in_sequence(f, n, strtoul(where + 1, NULL, 10));
            where = strchr(where, ']') + 1;
            if (n)
                *ret_line = n->start_mark.line + 1;
        } else {
            size_t len = strcspn(where, ".[");
            yaml_node_t *key = NULL;

            n = in_mapping(f, n, where, len, &key);
            where += len;
            if (key)
                *ret_line = key->start_mark.line + 1;
        }
        if (*where == '.')
            where++;
    }
    return n;
}

bool yamlfile_has(const struct yamlfile *f, const char *where)
{
    size_t line;

    return find(f, where, &line) != NULL;
}

static const char *text_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

const char *yamlfile_scalar(const struct yamlfile *f, const char *where)
{
    size_t line;

    return text_of(find(f, where, &line));
}

bool yamlfile_pair(const struct yamlfile *f, const char *where, uint32_t i, const char **ret_key,
                   const char **ret_value)
{
    size_t line;
    const yaml_node_t *n = find(f, where, &line);
    const yaml_node_pair_t *p;
    yaml_document_t *doc = (yaml_document_t *)&f->doc;

    if (!n || n->type != YAML_MAPPING_NODE)
        return false;
    p = n->data.mapping.pairs.start + i;
    if (p >= n->data.mapping.pairs.top)
        return false;
    *ret_key = text_of(yaml_document_get_node(doc, p->key));
    *ret_value = text_of(yaml_document_get_node(doc, p->value));
    return *ret_key != NULL;
}

static void problem_at(struct yamlfile *f, size_t line, const char *text)
{
    f->problems++;
    LOG_AT(TRG_ERROR, "config", text, "file=\"%s\" line=%zu", f->path, line);
}

void yamlfile_problem(struct yamlfile *f, const char *where, const char *format, ...)
{
    char text[768];
    size_t line;
    va_list args;

    find(f, where, &line);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    problem_at(f, line, text);
}

uint32_t yamlfile_problems(const struct yamlfile *f)
{
    return f->problems;
}

static int load_doc(struct yamlfile *f)
{
    yaml_parser_t parser;
    FILE *in = fopen(f->path, "rb");
    int r = 0;

    if (!in) {
        r = -errno;
        log_error("config", "cannot read a file", "file=\"%s\" error=\"%s\"", f->path,
                  strerror(errno));
        return r;
    }
    if (!yaml_parser_initialize(&parser)) {
        fclose(in);
        return -ENOMEM;
    }
    yaml_parser_set_input_file(&parser, in);
    f->has_doc = yaml_parser_load(&parser, &f->doc) != 0;
    if (!f->has_doc) {
        char text[256];

        snprintf(text, sizeof text, "this is not YAML: %s",
                 parser.problem ? parser.problem : "cannot read on");
        problem_at(f, parser.problem_mark.line + 1, text);
        r = -EINVAL;
    } else if (!yaml_document_get_root_node(&f->doc)) {
        problem_at(f, 1, "the file is empty; a mapping of keys is wanted");
        r = -EINVAL;
    }
    yaml_parser_delete(&parser);
    fclose(in);
    return r;
}

/* ---------------------------------------------------------------- libcyaml's complaints */

struct complaint { /* what libcyaml said of a file: its first sentence, the first line it named */
    char text[256];
    size_t line;
};

static void listen(cyaml_log_t level, void *ctx, const char *format, va_list args)
{
    struct complaint *c = ctx;
    char text[256];
    const char *at;

    (void)level;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    if (!c->text[0])
        snprintf(c->text, sizeof c->text, "%s", strncmp(text, "Load: ", 6) ? text : text + 6);
    at = strstr(text, "(line: ");
    if (at && !c->line)
        c->line = strtoul(at + 7, NULL, 10);
}

const cyaml_config_t yamlfile_cyaml = {
    .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR, .flags = CYAML_CFG_DEFAULT};

/* Collects the names of all keys of a schema, for the nearest one. */
static void collect_keys(const cyaml_schema_value_t *v, const char **keys, uint32_t *n)
{
    if (v->type == CYAML_SEQUENCE) {
        collect_keys(v->sequence.entry, keys, n);
        return;
    }
    if (v->type != CYAML_MAPPING)
        return;
    for (const cyaml_schema_field_t *k = v->mapping.fields; k->key; k++) {
        if (*n < KEYS_MAX - 1)
            keys[(*n)++] = k->key;
        collect_keys(&k->value, keys, n);
    }
}

/* The line of the first key of that name anywhere in the document. */
static size_t line_of_key(struct yamlfile *f, const char *key, size_t fallback)
{
    yaml_node_t *n;

    for (int i = 1; (n = yaml_document_get_node(&f->doc, i)) != NULL; i++) {
        const yaml_node_pair_t *p = n->data.mapping.pairs.start;

        if (n->type != YAML_MAPPING_NODE)
            continue;
        for (; p < n->data.mapping.pairs.top; p++) {
            const yaml_node_t *k = yaml_document_get_node(&f->doc, p->key);

            if (text_of(k) && !strcmp(text_of(k), key))
                return k->start_mark.line + 1;
        }
    }
    return fallback;
}

static void report(struct yamlfile *f, const cyaml_schema_value_t *schema, struct complaint *c)
{
    static const char unexpected[] = "Unexpected key: ";
    const char *keys[KEYS_MAX] = {NULL}, *nearest;
    char text[512];
    uint32_t n = 0;

    if (strncmp(c->text, unexpected, sizeof unexpected - 1) != 0) {
        problem_at(f, c->line ? c->line : 1, c->text);
        return;
    }
    collect_keys(schema, keys, &n);
    nearest = nearest_of(c->text + sizeof unexpected - 1, keys);
    snprintf(text, sizeof text, "there is no key \"%s\" here%s%s%s",
             c->text + sizeof unexpected - 1, nearest[0] ? "; did you mean \"" : "", nearest,
             nearest[0] ? "\"?" : "");
    problem_at(f, line_of_key(f, c->text + sizeof unexpected - 1, c->line), text);
}

int yamlfile_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
                  struct yamlfile **ret_file)
{
    struct yamlfile *f = calloc(1, sizeof *f);
    struct complaint complaint = {.line = 0};
    cyaml_config_t config = yamlfile_cyaml;
    void *data = NULL;
    int r;

    if (!f)
        return -ENOMEM;
    snprintf(f->path, sizeof f->path, "%s", path);
    r = load_doc(f);
    if (r < 0) {
        yamlfile_free(f);
        return r;
    }
    config.log_fn = listen;
    config.log_ctx = &complaint;
    if (cyaml_load_file(path, &config, schema, &data, NULL) != CYAML_OK) {
        report(f, schema, &complaint);
        yamlfile_free(f);
        return -EINVAL;
    }
    *ret_data = data;
    *ret_file = f;
    return 0;
}

void yamlfile_free(struct yamlfile *f)
{
    if (!f)
        return;
    if (f->has_doc)
        yaml_document_delete(&f->doc);
    free(f);
}
