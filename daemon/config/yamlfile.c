/* SPDX-License-Identifier: Apache-2.0 */
#include "config/yamlfile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/yamlcheck.h"
#include "log.h"

struct yamlfile {
    char path[4096];
    yaml_document_t doc;
    bool has_doc;
    uint32_t problems;
};

static _Thread_local char first_problem[1024];

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
            where += strcspn(where, "]"); /* a key of the user's may begin with [ */
            where += *where == ']';
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

int64_t yamlfile_count(const struct yamlfile *f, const char *where)
{
    size_t line;
    const yaml_node_t *n = find(f, where, &line);

    if (!n || n->type != YAML_SEQUENCE_NODE)
        return -1;
    return n->data.sequence.items.top - n->data.sequence.items.start;
}

static void problem_at(struct yamlfile *f, size_t line, const char *text)
{
    struct log_site site = {0}; /* a site each: all problems are told, however many */

    if (!f->problems++)
        snprintf(first_problem, sizeof first_problem, "%.400s:%zu: %.600s", f->path, line, text);
    log_line(&site, TRG_ERROR, "config", text, "file=\"%s\" line=%zu", f->path, line);
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

const char *yamlfile_why(void)
{
    return first_problem;
}

/* Whether anything follows the first document, be it YAML or not, and on which line. */
static bool has_more(yaml_parser_t *parser, size_t *ret_line)
{
    yaml_document_t next;
    bool more;

    *ret_line = parser->mark.line + 1;
    if (!yaml_parser_load(parser, &next))
        return true;
    more = yaml_document_get_root_node(&next) != NULL;
    if (more)
        *ret_line = next.start_mark.line + 1;
    yaml_document_delete(&next);
    return more;
}

static int load_doc(struct yamlfile *f)
{
    yaml_parser_t parser;
    FILE *in = fopen(f->path, "rb");
    size_t line;
    int r = 0;

    if (!in || (ungetc(getc(in), in) == EOF && ferror(in))) { /* a folder opens, and is not read */
        r = -errno;
        if (in)
            fclose(in);
        snprintf(first_problem, sizeof first_problem, "%.400s: %s", f->path, strerror(-r));
        log_error("config", "cannot read a file", "file=\"%s\" error=\"%s\"", f->path,
                  strerror(-r));
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
    if (r == 0 && has_more(&parser, &line)) {
        problem_at(f, line, "there is a second document; one is allowed");
        r = -EINVAL;
    }
    yaml_parser_delete(&parser);
    fclose(in);
    return r;
}

/* ---------------------------------------------------------------- into structs */

const cyaml_config_t yamlfile_cyaml = {
    .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR, .flags = CYAML_CFG_DEFAULT};

static void told(void *ctx, size_t line, const char *text)
{
    problem_at(ctx, line, text);
}

/* What yamlcheck let pass and libcyaml refuses; its first sentence says why. */
static void listen(cyaml_log_t level, void *ctx, const char *format, va_list args)
{
    struct yamlfile *f = ctx;
    char text[256];

    (void)level;
    if (f->problems)
        return;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    problem_at(f, 1, text);
}

int yamlfile_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
                  struct yamlfile **ret_file)
{
    struct yamlfile *f = calloc(1, sizeof *f);
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
    yamlcheck(&f->doc, schema, told, f);
    config.log_fn = listen;
    config.log_ctx = f;
    if (f->problems || cyaml_load_file(path, &config, schema, &data, NULL) != CYAML_OK) {
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
