/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/change_book.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 4096u /* chains and conditions with a change of the operator */

struct entry { /* in force from a lumi block on */
    struct lumi from;
    uint64_t version;
    uint32_t n;
    struct change *change; /* in order */
};

struct change_book {
    pthread_mutex_t lock;
    struct entry entry[CHANGE_STARTS]; /* in order; the first one holds for all before as well */
    uint32_t n;
    uint64_t versions;
    bool has_seen;
    struct lumi newest;
};

int change_book_new(struct change_book **ret_book)
{
    struct change_book *b = calloc(1, sizeof *b);

    if (!b)
        return -ENOMEM;
    pthread_mutex_init(&b->lock, NULL);
    b->n = 1; /* no change */
    *ret_book = b;
    return 0;
}

static void free_entry(struct entry *e)
{
    for (uint32_t i = 0; i < e->n; i++)
        condition_release(e->change[i].condition);
    free(e->change);
}

void change_book_free(struct change_book *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n; i++)
        free_entry(&b->entry[i]);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---------------------------------------------------------------- changes */

static int in_order(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return x->what != y->what ? (x->what > y->what) - (x->what < y->what)
                              : strcmp(x->name, y->name);
}

static void add(struct entry *e, const struct change *change)
{
    uint32_t k = 0;

    while (k < e->n && in_order(&e->change[k], change) != 0)
        k++;
    if (k < e->n)
        condition_release(e->change[k].condition);
    e->n += k == e->n;
    e->change[k] = *change;
    condition_use(change->condition);
}

/* Makes an entry of another one and an order. */
static int merge(const struct entry *from, const struct change_order *order,
                 struct entry *ret_entry)
{
    struct entry e = {.change = calloc(from->n + (size_t)order->n + 1, sizeof *e.change)};

    if (!e.change)
        return -ENOMEM;
    for (uint32_t i = 0; i < from->n; i++)
        if (!order->is_whole || from->change[i].what != order->what)
            add(&e, &from->change[i]);
    for (uint32_t i = 0; i < order->n; i++)
        add(&e, &order->change[i]);
    if (e.n > NAMES_MAX) {
        free_entry(&e);
        return -ENOSPC;
    }
    qsort(e.change, e.n, sizeof *e.change, in_order);
    *ret_entry = e;
    return 0;
}

/* Forgets the oldest entry; the next one holds for its lumi blocks as well. */
static void drop_first(struct change_book *b)
{
    free_entry(&b->entry[0]);
    memmove(b->entry, b->entry + 1, --b->n * sizeof *b->entry);
}

static const struct entry *last(const struct change_book *b)
{
    return &b->entry[b->n - 1];
}

static void put(struct change_book *b, bool is_at_once, struct entry *e)
{
    e->version = ++b->versions;
    if (is_at_once)
        while (b->n)
            drop_first(b);
    else if (b->n > 1 && !lumi_is_before(last(b)->from, e->from))
        free_entry(&b->entry[--b->n]); /* it never came into force */
    else if (b->n == CHANGE_STARTS)
        drop_first(b);
    b->entry[b->n++] = *e;
}

/* From where an order holds: {0, 0} is at once. */
static int find_start(const struct change_book *b, const struct change_order *order,
                      struct lumi *ret_from)
{
    const struct lumi next = {.run = b->newest.run, .block = b->newest.block + 1};

    *ret_from = (struct lumi){0, 0};
    if (order->is_now)
        return 0;
    if (!order->from && b->has_seen && b->newest.block == UINT32_MAX)
        return -ERANGE; /* no lumi block of the run follows */
    if (order->from && b->has_seen && !lumi_is_before(b->newest, *order->from))
        return -ESTALE;
    if (order->from)
        *ret_from = *order->from;
    else if (b->has_seen)
        *ret_from = next;
    return lumi_is_before(*ret_from, last(b)->from) ? -EEXIST : 0;
}

int change_book_change(struct change_book *b, const struct change_order *order,
                       struct lumi *ret_from)
{
    struct entry e;
    int r;

    pthread_mutex_lock(&b->lock);
    r = find_start(b, order, ret_from);
    if (r == 0)
        r = merge(last(b), order, &e);
    if (r == 0) {
        e.from = *ret_from;
        put(b, !ret_from->run && !ret_from->block, &e);
    }
    pthread_mutex_unlock(&b->lock);
    return r;
}

/* ---------------------------------------------------------------- what is in force */

static const struct entry *find(const struct change_book *b, struct lumi at)
{
    uint32_t i = b->n - 1;

    while (i && lumi_is_before(at, b->entry[i].from))
        i--;
    return &b->entry[i];
}

static void see(struct change_book *b, struct lumi at)
{
    if (!b->has_seen || lumi_is_before(b->newest, at))
        b->newest = at;
    b->has_seen = true;
}

static uint64_t version_at(struct change_book *b, struct lumi at, bool is_seen)
{
    uint64_t version;

    pthread_mutex_lock(&b->lock);
    if (is_seen)
        see(b, at);
    version = find(b, at)->version;
    pthread_mutex_unlock(&b->lock);
    return version;
}

uint64_t change_book_look(struct change_book *b, struct lumi at)
{
    return version_at(b, at, true);
}

uint64_t change_book_version(struct change_book *b, struct lumi at)
{
    return version_at(b, at, false);
}

static const struct change *look_up(const struct entry *e, enum change_what what, const char *name)
{
    struct change key = {.what = what};

    snprintf(key.name, sizeof key.name, "%s", name);
    return e->n ? bsearch(&key, e->change, e->n, sizeof key, in_order) : NULL;
}

static void fill_prescales(const struct entry *e, const struct menu *m, struct prescales *ret_set)
{
    double value[MENU_CHAINS_MAX];

    for (uint32_t i = 0; i < m->n_chains; i++) {
        const struct change *found = look_up(e, CHANGE_PRESCALE, m->chains[i].name);

        value[i] = found ? found->prescale : m->chains[i].prescale;
    }
    prescales_init(m, value, ret_set);
}

/* The operator's table; one that was made for other columns than the menu's plugins have does not
 * count. */
static struct condition *table_in(const struct entry *e, const struct condition_need *need)
{
    const struct change *found = look_up(e, CHANGE_CONDITION, need->name);

    return found && found->condition->table->hash == need->table->hash ? found->condition : NULL;
}

static void fill_conditions(const struct change_book *b, const struct entry *e,
                            const struct menu *m, struct conditions *ret_set)
{
    struct condition *of[CONDITIONS_MAX] = {NULL};

    for (uint32_t i = 0; i < m->n_conditions; i++) {
        of[i] = table_in(e, &m->condition[i]);
        of[i] = of[i] ? of[i] : m->base[i];
        /* one that is needed and was loaded later holds for the lumi blocks before as well */
        for (uint32_t k = 0; k < b->n && !of[i] && !m->condition[i].is_optional; k++)
            of[i] = table_in(&b->entry[k], &m->condition[i]);
    }
    conditions_init(m, of, ret_set);
}

uint64_t change_book_fill(struct change_book *b, struct lumi at, const struct menu *m,
                          struct prescales *ret_prescales, struct conditions *ret_conditions)
{
    const struct entry *e;
    uint64_t version;

    pthread_mutex_lock(&b->lock);
    e = find(b, at);
    if (ret_prescales)
        fill_prescales(e, m, ret_prescales);
    if (ret_conditions)
        fill_conditions(b, e, m, ret_conditions);
    version = e->version;
    pthread_mutex_unlock(&b->lock);
    return version;
}

uint32_t change_book_starts(struct change_book *b, struct lumi ret_from[CHANGE_STARTS])
{
    uint32_t n = 0;

    pthread_mutex_lock(&b->lock);
    for (const struct entry *e = find(b, b->newest); e <= last(b); e++)
        ret_from[n++] = e->from;
    pthread_mutex_unlock(&b->lock);
    return n;
}

void change_book_state(struct change_book *b, struct lumi *ret_newest, struct lumi *ret_from)
{
    pthread_mutex_lock(&b->lock);
    *ret_newest = b->newest;
    *ret_from = last(b)->from;
    pthread_mutex_unlock(&b->lock);
}
