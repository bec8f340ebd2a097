/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/histograms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "menu/chains.h"
#include "values.h"

struct histograms {
    struct histogram_list all; /* those that no engine fills are still to be taken */
};

int histograms_new(struct histograms **ret_histograms)
{
    *ret_histograms = calloc(1, sizeof **ret_histograms);
    return *ret_histograms ? 0 : -ENOMEM;
}

void histograms_free(struct histograms *h)
{
    if (h)
        histograms_drop(&h->all);
    free(h);
}

/* ---------------------------------------------------------------- engines */

static struct histogram *find(const struct histograms *h, uint64_t key)
{
    struct histogram *at = h->all.first;

    while (at && at->key != key)
        at = at->next;
    return at;
}

static void free_one(struct histogram *h)
{
    free(h->name);
    free(h->what);
    free(h->count);
    free(h);
}

static struct histogram *make(struct histograms *h, const struct menu_histogram *m)
{
    struct histogram *made = calloc(1, sizeof *made), **end = &h->all.first;

    if (!made)
        return NULL;
    *made = (struct histogram){.key = m->key,
                               .name = strdup(m->name),
                               .what = strdup(m->what),
                               .x = m->x,
                               .y = m->y,
                               .count = calloc(menu_cells(&m->x, &m->y), sizeof *made->count)};
    if (!made->name || !made->what || !made->count) {
        free_one(made);
        return NULL;
    }
    while (*end) /* in the order of the menu */
        end = &(*end)->next;
    *end = made;
    return made;
}

int histograms_begin(struct histograms *h, struct engine *e)
{
    const struct menu *m = e->menu;

    e->histogram = calloc(m->n_histograms + 1u, sizeof *e->histogram);
    if (!e->histogram)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->n_histograms; i++) {
        struct histogram *of = find(h, m->histogram[i].key);

        of = of ? of : make(h, &m->histogram[i]);
        if (!of) {
            histograms_leave(h, e);
            return -ENOMEM;
        }
        of->n_engines++;
        e->histogram[i] = of;
    }
    return 0;
}

static bool is_empty(const struct histogram *h)
{
    uint64_t any = h->underflow | h->overflow | h->nan;

    for (uint64_t i = 0; i < histogram_cells(h); i++)
        any |= h->count[i];
    return !any;
}

/* Forgets those that nobody fills, once they are taken. */
static void sweep(struct histograms *h)
{
    struct histogram **at = &h->all.first;

    while (*at) {
        struct histogram *one = *at;

        if (one->n_engines || !is_empty(one)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        free_one(one);
    }
}

void histograms_leave(struct histograms *h, struct engine *e)
{
    for (uint32_t i = 0; e->histogram && i < e->menu->n_histograms; i++)
        if (e->histogram[i])
            e->histogram[i]->n_engines--;
    free(e->histogram);
    e->histogram = NULL;
    sweep(h);
}

/* ---------------------------------------------------------------- filling */

static inline uint32_t bin_of(const struct menu_axis *a, double x) /* min <= x < max */
{
    const uint32_t bin = (uint32_t)((x - a->min) / (a->max - a->min) * a->bins);

    return bin < a->bins ? bin : a->bins - 1; /* x just below max may round up */
}

static inline void count_value(struct histogram *h, double x)
{
    if (x >= h->x.min && x < h->x.max)
        h->count[bin_of(&h->x, x)]++;
    else if (x < h->x.min)
        h->underflow++;
    else if (x >= h->x.max)
        h->overflow++;
    else
        h->nan++;
}

/* Its place among bins, what is under them (0) and what is over them. */
static inline uint32_t place_of(const struct menu_axis *a, double x)
{
    return x < a->min ? 0 : x >= a->max ? a->bins + 1 : 1 + bin_of(a, x);
}

static inline void count_pair(struct histogram *h, double x, double y)
{
    if (isnan(x) || isnan(y))
        h->nan++;
    else
        h->count[place_of(&h->y, y) * (h->x.bins + 2ull) + place_of(&h->x, x)]++;
}

static void count_column(struct histogram *h, const struct pool *pool,
                         const struct roi_collection *c, uint32_t kind, uint32_t column)
{
    const struct trg_column *k = &kind_info(kind)->column[column];
    const void *values = pool_column(pool, kind, c, column);
    const size_t n = (size_t)c->n * k->length;

    if (k->type == TRG_F32)
        for (size_t i = 0; i < n; i++)
            count_value(h, (double)((const float *)values)[i]);
    else
        for (size_t i = 0; i < n; i++)
            count_value(h, values_at(k->type, values, i));
}

static void count_columns(struct histogram *h, const struct pool *pool,
                          const struct roi_collection *c, uint32_t kind, uint32_t x, uint32_t y)
{
    const struct trg_column *column = kind_info(kind)->column;
    const void *xs = pool_column(pool, kind, c, x), *ys = pool_column(pool, kind, c, y);

    for (size_t i = 0; i < (size_t)c->n * column[x].length; i++)
        count_pair(h, values_at(column[x].type, xs, i), values_at(column[y].type, ys, i));
}

static bool holds(const struct menu_histogram *m, const float *value)
{
    bool all = true;

    for (uint32_t i = 0; i < m->n_cuts; i++) {
        const struct menu_cut *c = &m->cuts[i];
        const float v = value[c->value], x = c->absolute && v < 0 ? -v : v;

        all &= x >= c->min && x <= c->max; /* a NaN holds none */
    }
    return all;
}

static void fill_from_values(struct histogram *h, const struct menu_histogram *m,
                             const float *value)
{
    if (m->y.bins)
        count_pair(h, (double)value[m->x.at], (double)value[m->y.at]);
    else
        count_value(h, (double)value[m->x.at]);
}

static void fill_one(struct histogram *h, const struct menu_histogram *m, const struct engine *e,
                     const struct pool *pool, const struct roi_step *step)
{
    const struct roi_collection *c;
    uint32_t kind;

    if (!holds(m, step->result.value))
        return;
    if (m->product < 0) {
        fill_from_values(h, m, step->result.value);
        return;
    }
    c = &step->product[m->product];
    if (!c->is_there)
        return;
    kind = e->menu->steps[m->step].plugin->produces[m->product];
    if (m->y.bins)
        count_columns(h, pool, c, kind, m->x.at, m->y.at);
    else
        count_column(h, pool, c, kind, m->x.at);
}

static void see_run(struct histogram_list *l, uint32_t run)
{
    if (!l->has_runs || run < l->first_run)
        l->first_run = run;
    if (!l->has_runs || run > l->last_run)
        l->last_run = run;
    l->has_runs = true;
}

void histograms_fill(struct histograms *h, const struct engine *e, const struct pool *pool,
                     const struct roi *r, void *chains)
{
    const struct menu *m = e->menu;
    const struct roi_step *steps = pool_steps(pool, r);

    if (!m->n_histograms)
        return;
    see_run(&h->all, r->info.run);
    for (uint32_t i = 0; i < m->n_histograms; i++) {
        const struct menu_histogram *one = &m->histogram[i];

        if (!(r->done >> one->step & 1) ||
            (one->chain >= 0 &&
             !plan_has(chains_of(m->plan, chains, CHAINS_ACCEPTED), (uint32_t)one->chain)))
            continue;
        fill_one(e->histogram[i], one, e, pool, &steps[one->step]);
    }
}

/* ---------------------------------------------------------------- copies */

static struct histogram *copy_of(const struct histogram *h)
{
    struct histogram *copy = malloc(sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *h;
    copy->next = NULL;
    copy->name = strdup(h->name);
    copy->what = strdup(h->what);
    copy->count = malloc(histogram_cells(h) * sizeof *copy->count);
    if (!copy->name || !copy->what || !copy->count) {
        free_one(copy);
        return NULL;
    }
    memcpy(copy->count, h->count, histogram_cells(h) * sizeof *copy->count);
    return copy;
}

static void begin_anew(struct histograms *h)
{
    for (struct histogram *at = h->all.first; at; at = at->next) {
        at->underflow = at->overflow = at->nan = 0;
        memset(at->count, 0, histogram_cells(at) * sizeof *at->count);
    }
    h->all.has_runs = false;
    sweep(h);
}

int histograms_copy(struct histograms *h, bool is_taken, struct histogram_list *ret_list)
{
    struct histogram **end = &ret_list->first;

    *ret_list = h->all;
    ret_list->first = NULL;
    for (const struct histogram *at = h->all.first; at; at = at->next) {
        *end = copy_of(at);
        if (!*end) {
            histograms_drop(ret_list);
            return -ENOMEM;
        }
        end = &(*end)->next;
    }
    if (is_taken)
        begin_anew(h);
    return 0;
}

void histograms_drop(struct histogram_list *list)
{
    while (list->first) {
        struct histogram *next = list->first->next;

        free_one(list->first);
        list->first = next;
    }
}
