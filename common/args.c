/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args_help.h"

struct parse {
    const char *program, *usage; /* NULL: the program takes options alone */
    const struct arg *table;
    const struct arg_program *described; /* NULL: it has no more than these */
};

static const struct arg *find(const struct parse *p, const char *name, size_t n)
{
    for (const struct arg *a = p->table; a->name; a++)
        if (strlen(a->name) == n && !memcmp(a->name, name, n))
            return a;
    return NULL;
}

static bool wrong(const struct parse *p, const struct arg *a, const char *text)
{
    if (a->min < a->max)
        fprintf(stderr, "%s: --%s \"%s\": a %s from %.15g to %.15g is wanted\n", p->program,
                a->name, text, a->kind == ARG_REAL ? "number" : "whole number", a->min, a->max);
    else
        fprintf(stderr, "%s: --%s \"%s\": a %s is wanted\n", p->program, a->name, text,
                a->kind == ARG_REAL ? "number" : "whole number");
    return false;
}

static bool in_range(const struct arg *a, double v)
{
    return a->min >= a->max || (v >= a->min && v <= a->max);
}

/* A whole number; false with a sentence. */
static bool whole(const struct parse *p, const struct arg *a, const char *text, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 0);
    return (end != text && !*end && !errno && *text != '-' && in_range(a, (double)*ret) &&
            (a->kind != ARG_U32 || *ret <= UINT32_MAX)) ||
           wrong(p, a, text);
}

static bool real(const struct parse *p, const struct arg *a, const char *text, double *ret)
{
    char *end;

    *ret = strtod(text, &end);
    return (end != text && !*end && in_range(a, *ret)) || wrong(p, a, text);
}

static bool too_many(const struct parse *p, const struct arg *a)
{
    fprintf(stderr, "%s: --%s: at most %u are allowed\n", p->program, a->name, ARGS_MOST);
    return false;
}

static bool numbers(const struct parse *p, const struct arg *a, const char *text)
{
    struct arg_numbers *list = a->to;
    char copy[512], *save = NULL;

    snprintf(copy, sizeof copy, "%s", text);
    list->n = 0;
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        if (list->n == ARGS_MOST)
            return too_many(p, a);
        if (!whole(p, a, w, &list->value[list->n++]))
            return false;
    }
    return list->n || wrong(p, a, text);
}

static bool append(const struct parse *p, const char *path, FILE **ret)
{
    *ret = fopen(path, "a");
    if (!*ret)
        fprintf(stderr, "%s: cannot write %s: %s\n", p->program, path, strerror(errno));
    return *ret != NULL;
}

static bool take(const struct parse *p, const struct arg *a, const char *text)
{
    struct arg_texts *texts = a->to;
    uint64_t n;

    switch (a->kind) {
    case ARG_FLAG:
        *(bool *)a->to = true;
        return true;
    case ARG_TEXT:
        *(const char **)a->to = text;
        return true;
    case ARG_TEXTS:
        if (texts->n == ARGS_MOST)
            return too_many(p, a);
        texts->text[texts->n++] = text;
        return true;
    case ARG_U32:
        if (!whole(p, a, text, &n))
            return false;
        *(uint32_t *)a->to = (uint32_t)n;
        return true;
    case ARG_U64:
        return whole(p, a, text, a->to);
    case ARG_REAL:
        return real(p, a, text, a->to);
    case ARG_NUMBERS:
        return numbers(p, a, text);
    case ARG_APPEND:
        return append(p, text, a->to);
    }
    return false;
}

/* Takes argv[i] and its value; how many of argv that were, or 0 with a sentence. */
static int take_next(const struct parse *p, int argc, char **argv, int i)
{
    const char *equals = strchr(argv[i], '=');
    const size_t n = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
    const struct arg *a = !strncmp(argv[i], "--", 2)    ? find(p, argv[i] + 2, n - 2)
                          : n == 2 && argv[i][0] == '-' ? find(p, argv[i] + 1, 1)
                                                        : NULL;
    const bool has_next = a && a->kind != ARG_FLAG && !equals;

    if (!a) {
        fprintf(stderr, "%s: there is no option \"%s\"; --help lists them\n", p->program, argv[i]);
        return 0;
    }
    if (a->kind == ARG_FLAG ? equals != NULL : has_next && i + 1 == argc) {
        fprintf(stderr, "%s: --%s takes %s value\n", p->program, a->name,
                a->kind == ARG_FLAG ? "no" : "a");
        return 0;
    }
    if (!take(p, a, has_next ? argv[i + 1] : equals ? equals + 1 : NULL))
        return 0;
    return has_next ? 2 : 1;
}

/* What ends the program with an answer; whether `word` is that. */
static bool answer(const struct parse *p, const char *word)
{
    const struct arg_program bare = {.name = p->program, .usage = p->usage, .table = p->table};
    const struct arg_program *d = p->described;

    if (!strcmp(word, "--help") || (d && !strcmp(word, "-h")))
        args_print_help(d ? d : &bare);
    else if (d && d->version && !strcmp(word, "--version"))
        printf("%s %s\n", d->name, d->version);
    else if (!strcmp(word, "--describe"))
        args_describe(d ? d : &bare);
    else
        return false;
    return true;
}

static int parse(int argc, char **argv, const struct parse *p, int *ret_n)
{
    int n = 0;

    for (int i = 1, taken; i < argc; i += taken) {
        if (answer(p, argv[i]))
            return ARGS_HELP;
        taken = 1;
        if (p->usage && argv[i][0] != '-')
            argv[++n] = argv[i];
        else
            taken = take_next(p, argc, argv, i);
        if (!taken)
            return ARGS_WRONG;
    }
    *ret_n = n;
    return ARGS_OK;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int args_parse(int argc, char **argv, const char *program, const struct arg *table)
{
    const struct parse p = {.program = program ? program : name_of(argv[0]), .table = table};
    int none;

    return parse(argc, argv, &p, &none);
}

int args_parse_words(int argc, char **argv, const char *usage, const struct arg *table, int *ret_n)
{
    const struct parse p = {.program = name_of(argv[0]), .usage = usage, .table = table};

    return parse(argc, argv, &p, ret_n);
}

int args_parse_program(int argc, char **argv, const struct arg_program *program, int *ret_n)
{
    const struct parse p = {
        .program = program->name, .usage = "", .table = program->table, .described = program};

    return parse(argc, argv, &p, ret_n);
}
