/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/combination.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "refuse.h"

#define DEPTH_MAX 16u /* of parentheses, and of what waits for its operator */
#define WORD_MAX  64u

struct parser {
    const char *text, *at; /* `at`: behind `word` */
    char word[WORD_MAX];   /* the next one: a name, a parenthesis; empty at the end */
    uint32_t word_at;      /* its first character, from 1 */
    uint32_t depth;
    const struct combination_names *names;
    struct combination *c;
    char *why;
    size_t why_bytes;
};

bool combination_is_word(const char *name)
{
    return !strcmp(name, "and") || !strcmp(name, "or") || !strcmp(name, "not");
}

/* ---------------------------------------------------------------- reading */

static void next_word(struct parser *p)
{
    size_t n = 0;

    while (isspace((unsigned char)*p->at))
        p->at++;
    p->word_at = (uint32_t)(p->at - p->text) + 1;
    if (*p->at == '(' || *p->at == ')')
        p->word[n++] = *p->at++;
    else
        while (*p->at && !strchr("() \t\n", *p->at) && n < WORD_MAX - 1)
            p->word[n++] = *p->at++;
    p->word[n] = '\0';
}

static bool take_word(struct parser *p, const char *word)
{
    if (strcmp(p->word, word) != 0)
        return false;
    next_word(p);
    return true;
}

static int add(struct parser *p, uint16_t op)
{
    if (p->c->n == COMBINATION_OPS_MAX)
        return refuse(p->why, p->why_bytes, "it has more than %u chains and operators",
                      COMBINATION_OPS_MAX);
    p->c->op[p->c->n++] = op;
    return 0;
}

static int parse_or(struct parser *p);

static int parse_name(struct parser *p)
{
    int32_t chain;

    if (!p->word[0])
        return refuse(p->why, p->why_bytes, "a chain is missing at its end");
    if (combination_is_word(p->word) || !strcmp(p->word, ")"))
        return refuse(p->why, p->why_bytes, "character %u: a chain is missing before \"%s\"",
                      p->word_at, p->word);
    chain = p->names->find(p->names->ctx, p->word);
    if (chain < 0)
        return refuse(p->why, p->why_bytes, "character %u: there is no chain \"%s\" above it",
                      p->word_at, p->word);
    next_word(p);
    return add(p, (uint16_t)chain);
}

static int parse_not(struct parser *p)
{
    int r;

    if (++p->depth > DEPTH_MAX)
        return refuse(p->why, p->why_bytes, "character %u: it is nested more than %u deep",
                      p->word_at, DEPTH_MAX);
    if (take_word(p, "not")) {
        r = parse_not(p);
        r = r < 0 ? r : add(p, COMBINATION_NOT);
    } else if (take_word(p, "(")) {
        r = parse_or(p);
        if (r == 0 && !take_word(p, ")"))
            r = refuse(p->why, p->why_bytes, "character %u: \")\" is missing", p->word_at);
    } else {
        r = parse_name(p);
    }
    p->depth--;
    return r;
}

static int parse_and(struct parser *p)
{
    int r = parse_not(p);

    while (r == 0 && take_word(p, "and")) {
        r = parse_not(p);
        r = r < 0 ? r : add(p, COMBINATION_AND);
    }
    return r;
}

static int parse_or(struct parser *p)
{
    int r = parse_and(p);

    while (r == 0 && take_word(p, "or")) {
        r = parse_and(p);
        r = r < 0 ? r : add(p, COMBINATION_OR);
    }
    return r;
}

int combination_parse(const char *text, const struct combination_names *names,
                      struct combination *ret, char *why, size_t bytes)
{
    struct parser p = {
        .text = text, .at = text, .names = names, .c = ret, .why = why, .why_bytes = bytes};
    int r;

    ret->n = 0;
    next_word(&p);
    r = parse_or(&p);
    if (r == 0 && p.word[0])
        r = refuse(p.why, p.why_bytes, "character %u: \"and\" or \"or\" is missing before \"%s\"",
                   p.word_at, p.word);
    return r;
}

/* ---------------------------------------------------------------- values */

combination_value combination_of(const struct combination *c, const combination_value *chains)
{
    const uint32_t passed = (1u << COMBINATION_PLANES) - 1, failed = passed << COMBINATION_PLANES;
    uint32_t stack[COMBINATION_OPS_MAX] = {0}, n = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t *a, b;

        if (c->op[i] < COMBINATION_AND) {
            stack[n++] = chains[c->op[i]];
            continue;
        }
        b = stack[--n];
        if (c->op[i] == COMBINATION_NOT) {
            stack[n++] = b >> COMBINATION_PLANES | (b & passed) << COMBINATION_PLANES;
            continue;
        }
        a = &stack[n - 1];
        if (c->op[i] == COMBINATION_AND)
            *a = (*a & b & passed) | ((*a | b) & failed);
        else
            *a = ((*a | b) & passed) | (*a & b & failed);
    }
    return (combination_value)stack[0];
}
