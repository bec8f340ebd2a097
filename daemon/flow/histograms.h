/* SPDX-License-Identifier: Apache-2.0 */
/* histograms.h - the histograms that the menu declares, as one shard fills them.
 *
 * Counts go on over reloads that leave a histogram as it is, until they are taken for a file.  On
 * the I/O thread, except for lists that were copied or taken.  docs/histograms.md has the file.
 */
#ifndef TRIGD_HISTOGRAMS_H
#define TRIGD_HISTOGRAMS_H
#include <stdio.h>

#include "exec/engine.h"

struct histogram {
    struct histogram *next;
    uint64_t key; /* equal keys: equal in all but the counts */
    char *name, *what;
    struct menu_axis x, y;
    uint32_t n_engines;                /* that fill it */
    uint64_t underflow, overflow, nan; /* with a second axis the former two are among the counts */
    uint64_t *count;                   /* [menu_cells] */
};

struct histogram_list { /* copied or taken */
    struct histogram *first;
    bool has_runs;
    uint32_t first_run, last_run; /* of RoIs that were decided meanwhile */
};

struct histograms;
int histograms_new(struct histograms **ret_histograms);
void histograms_free(struct histograms *h); /* NULL is fine */

/* RoIs of the engine may be decided, and will be no more.  -ENOMEM. */
int histograms_begin(struct histograms *h, struct engine *e);
void histograms_leave(struct histograms *h, struct engine *e);
/* Fills them with the results of a decided RoI. */
void histograms_fill(struct histograms *h, const struct engine *e, const struct pool *pool,
                     const struct roi *r, void *chains);

/* A copy of all, and with `is_taken` the counts begin anew.  -ENOMEM: nothing is taken. */
int histograms_copy(struct histograms *h, bool is_taken, struct histogram_list *ret_list);
/* Adds the counts of a list, which is used up, to those of another. */
void histograms_merge(struct histogram_list *to, struct histogram_list *from);
void histograms_print(const struct histogram_list *list, FILE *out);
void histograms_drop(struct histogram_list *list);
static inline uint64_t histogram_cells(const struct histogram *h)
{
    return menu_cells(&h->x, &h->y);
}
struct histogram_sums { /* of the first axis */
    uint64_t underflow, inside, overflow;
    double sum; /* of what is inside, each counted at the centre of its bin */
};
struct histogram_sums histogram_sums(const struct histogram *h);
/* How many are in bin i of the first axis, whatever their y. */
uint64_t histogram_bin(const struct histogram *h, uint32_t i);
uint64_t histogram_entries(const struct histogram *h); /* in bins, under and over them, NaN */
#endif
