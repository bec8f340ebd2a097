/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/prescale_book.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/yamlfile.h"

#define ENTRIES_MAX 64u   /* changes that lumi blocks of before are still looked up in */
#define CHAINS_MAX  4096u /* chains with a prescale of the operator */

struct entry { /* in force from a lumi block on */
    struct lumi from;
    uint64_t version;
    uint32_t n;
    struct prescale_change *change; /* by name */
};

struct prescale_book {
    pthread_mutex_t lock;
    struct entry entry[ENTRIES_MAX]; /* in order; the first one holds for all before as well */
    uint32_t n;
    uint64_t versions;
    bool has_seen;
    struct lumi newest;
};

int prescale_book_new(struct prescale_book **ret_book)
{
    struct prescale_book *b = calloc(1, sizeof *b);

    if (!b)
        return -ENOMEM;
    pthread_mutex_init(&b->lock, NULL);
    b->n = 1; /* no change */
    *ret_book = b;
    return 0;
}

void prescale_book_free(struct prescale_book *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n; i++)
        free(b->entry[i].change);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---------------------------------------------------------------- changes */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct prescale_change *)a)->chain,
                  ((const struct prescale_change *)b)->chain);
}

/* Makes an entry of another one and a list. */
static int merge(const struct entry *from, const struct prescale_change *list, uint32_t n,
                 struct entry *ret_entry)
{
    struct entry e = {.change = calloc(from->n + (size_t)n + 1, sizeof *e.change)};

    if (!e.change)
        return -ENOMEM;
    if (from->n)
        memcpy(e.change, from->change, from->n * sizeof *e.change);
    e.n = from->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;

        while (k < e.n && strcmp(e.change[k].chain, list[i].chain) != 0)
            k++;
        e.n += k == e.n;
        e.change[k] = list[i];
    }
    if (e.n > CHAINS_MAX) {
        free(e.change);
        return -ENOSPC;
    }
    qsort(e.change, e.n, sizeof *e.change, by_name);
    *ret_entry = e;
    return 0;
}

/* Forgets the oldest entry; the next one holds for its lumi blocks as well. */
static void drop_first(struct prescale_book *b)
{
    free(b->entry[0].change);
    memmove(b->entry, b->entry + 1, --b->n * sizeof *b->entry);
}

static void put(struct prescale_book *b, bool is_now, struct entry *e)
{
    if (!is_now && b->has_seen)
        e->from = (struct lumi){.run = b->newest.run, .block = b->newest.block + 1};
    e->version = ++b->versions;
    if (is_now || !b->has_seen)
        while (b->n)
            drop_first(b);
    else if (b->entry[b->n - 1].from.run == e->from.run &&
             b->entry[b->n - 1].from.block == e->from.block)
        free(b->entry[--b->n].change); /* it never came into force */
    else if (b->n == ENTRIES_MAX)
        drop_first(b);
    b->entry[b->n++] = *e;
}

int prescale_book_change(struct prescale_book *b, const struct prescale_change *list, uint32_t n,
                         bool is_whole, bool is_now, struct lumi *ret_from)
{
    const struct entry none = {.n = 0};
    struct entry e;
    int r;

    pthread_mutex_lock(&b->lock);
    if (!is_now && b->has_seen && b->newest.block == UINT32_MAX)
        r = -ERANGE; /* no lumi block of the run follows */
    else
        r = merge(is_whole ? &none : &b->entry[b->n - 1], list, n, &e);
    if (r == 0) {
        put(b, is_now, &e);
        *ret_from = e.from;
    }
    pthread_mutex_unlock(&b->lock);
    return r;
}

/* ---------------------------------------------------------------- what is in force */

static const struct entry *find(const struct prescale_book *b, struct lumi at)
{
    uint32_t i = b->n - 1;

    while (i && lumi_is_before(at, b->entry[i].from))
        i--;
    return &b->entry[i];
}

static void see(struct prescale_book *b, struct lumi at)
{
    if (!b->has_seen || lumi_is_before(b->newest, at))
        b->newest = at;
    b->has_seen = true;
}

static uint64_t version_at(struct prescale_book *b, struct lumi at, bool is_seen)
{
    uint64_t version;

    pthread_mutex_lock(&b->lock);
    if (is_seen)
        see(b, at);
    version = find(b, at)->version;
    pthread_mutex_unlock(&b->lock);
    return version;
}

uint64_t prescale_book_look(struct prescale_book *b, struct lumi at)
{
    return version_at(b, at, true);
}

uint64_t prescale_book_version(struct prescale_book *b, struct lumi at)
{
    return version_at(b, at, false);
}

uint64_t prescale_book_fill(struct prescale_book *b, struct lumi at, const struct menu *m,
                            struct prescales *ret_set)
{
    double value[MENU_CHAINS_MAX];
    struct prescale_change key;
    const struct entry *e;
    uint64_t version;

    pthread_mutex_lock(&b->lock);
    e = find(b, at);
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct prescale_change *found;

        snprintf(key.chain, sizeof key.chain, "%s", m->chains[i].name);
        found = e->n ? bsearch(&key, e->change, e->n, sizeof key, by_name) : NULL;
        value[i] = found ? found->value : m->chains[i].prescale;
    }
    version = e->version;
    pthread_mutex_unlock(&b->lock);
    prescales_init(m, value, ret_set);
    return version;
}

void prescale_book_state(struct prescale_book *b, struct lumi *ret_newest, struct lumi *ret_from)
{
    pthread_mutex_lock(&b->lock);
    *ret_newest = b->newest;
    *ret_from = b->entry[b->n - 1].from;
    pthread_mutex_unlock(&b->lock);
}

/* ---------------------------------------------------------------- files */

struct file { /* its keys are chains: they are read from the document */
    char *name;
};
static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct file, name, 1,
                           63),
    CYAML_FIELD_IGNORE("prescales", CYAML_FLAG_DEFAULT), CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file, file_fields)};

static void read_pair(struct yamlfile *f, const char *chain, const char *value,
                      struct prescale_change *ret_change)
{
    char where[128], *end = NULL;
    const double v = value ? strtod(value, &end) : -1;

    snprintf(where, sizeof where, "prescales.%.100s", chain);
    if (strlen(chain) >= PRESCALE_NAME)
        yamlfile_problem(f, where, "a chain has a name of 1 to %d characters", PRESCALE_NAME - 1);
    else if (!value || end == value || *end || !prescale_is_allowed(v))
        yamlfile_problem(f, where,
                         "the prescale of %s is \"%s\"; 0 (off) or a number >= 1 is allowed", chain,
                         value ? value : "no number");
    snprintf(ret_change->chain, sizeof ret_change->chain, "%.63s", chain);
    ret_change->value = v;
}

int prescale_book_read(const char *path, struct prescale_change **ret_list, uint32_t *ret_n)
{
    struct prescale_change *list = calloc(CHAINS_MAX, sizeof *list);
    const char *chain, *value;
    struct yamlfile *f;
    uint32_t n = 0;
    void *data;
    int r = list ? yamlfile_load(path, &file_schema, &data, &f) : -ENOMEM;

    if (r < 0) {
        free(list);
        return r;
    }
    while (n < CHAINS_MAX && yamlfile_pair(f, "prescales", n, &chain, &value))
        read_pair(f, chain, value, &list[n++]);
    if (n == CHAINS_MAX)
        yamlfile_problem(f, "prescales", "at most %u chains are allowed", CHAINS_MAX - 1);
    if (yamlfile_problems(f))
        r = -EINVAL;
    cyaml_free(&yamlfile_cyaml, &file_schema, data, 0);
    yamlfile_free(f);
    if (r < 0) {
        free(list);
        return r;
    }
    *ret_list = list;
    *ret_n = n;
    return 0;
}
