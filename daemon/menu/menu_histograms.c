/* SPDX-License-Identifier: Apache-2.0 */
/* menu_histograms.c - the histograms of a menu. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "memstream.h"
#include "menu/menu_build.h"

/* ---------------------------------------------------------------- what is filled */

static int32_t find_chain(const struct menu *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_chains; i++)
        if (!strcmp(m->chains[i].name, name))
            return (int32_t)i;
    return -1;
}

/* The product of a step that is called so, or -1. */
static int32_t find_product(const struct plugin *p, const char *name)
{
    for (uint32_t k = 0; k < p->n_outputs; k++)
        if (!strcmp(p->d.produces[k]->name, name))
            return (int32_t)k;
    return -1;
}

static void find_column(struct builder *b, const struct trg_collection *c, const char *where,
                        const char *name, uint32_t *ret_at)
{
    const char *names[TRG_COLUMNS_MAX + 1] = {NULL}, *near;

    for (*ret_at = 0; *ret_at < c->n_columns; ++*ret_at) {
        if (!strcmp(c->column[*ret_at].name, name))
            return;
        names[*ret_at] = c->column[*ret_at].name;
    }
    *ret_at = 0;
    near = nearest_of(name, names);
    yamlfile_problem(b->f, where, "collection %s has no column \"%s\"%s%s%s", c->name, name,
                     near[0] ? "; did you mean \"" : "", near, near[0] ? "\"?" : "");
}

/* What the second axis shows: of the same kind as the first. */
static void find_y(struct builder *b, const struct menu_file_histogram *fh, const char *where,
                   struct menu_histogram *h)
{
    const struct plugin *p = b->m->steps[h->step].plugin;
    const struct trg_collection *c = h->product < 0 ? NULL : p->d.produces[h->product];
    const char *wanted = c ? fh->y->column : fh->y->value;
    int32_t value;

    if (!wanted || (fh->y->value && fh->y->column)) {
        yamlfile_problem(b->f, where, "histogram \"%s\" is of a %s, and so is y: it has a %s alone",
                         fh->name, c ? "column" : "value", c ? "column" : "value");
        return;
    }
    if (!c) {
        value = menu_find_value(b, p, where, wanted);
        h->y.at = value < 0 ? 0 : (uint32_t)value;
        return;
    }
    find_column(b, c, where, wanted, &h->y.at);
    if (c->column[h->x.at].length != c->column[h->y.at].length)
        yamlfile_problem(b->f, where,
                         "histogram \"%s\": column %s holds %u values an item and %s %u; both "
                         "have to hold the same number",
                         fh->name, c->column[h->x.at].name, c->column[h->x.at].length,
                         c->column[h->y.at].name, c->column[h->y.at].length);
}

static void find_source(struct builder *b, const struct menu_file_histogram *fh, const char *where,
                        struct menu_histogram *h)
{
    struct menu_step *s = &b->m->steps[h->step];
    int32_t value;

    h->product = -1;
    if (fh->value && !fh->collection && !fh->column) {
        value = menu_find_value(b, s->plugin, where, fh->value);
        h->x.at = value < 0 ? 0 : (uint32_t)value;
        return;
    }
    if (fh->value || !fh->collection || !fh->column) {
        yamlfile_problem(b->f, where,
                         "histogram \"%s\" has a value, or a collection and a column of it",
                         fh->name);
        return;
    }
    h->product = find_product(s->plugin, fh->collection);
    if (h->product < 0) {
        yamlfile_problem(b->f, where, "histogram \"%s\": plugin %s makes no collection \"%s\"",
                         fh->name, s->plugin->d.name, fh->collection);
        return;
    }
    find_column(b, s->plugin->d.produces[h->product], where, fh->column, &h->x.at);
    s->wanted |= 1ull << h->product;
}

/* ---------------------------------------------------------------- what it says of itself */

static void print_cuts(const struct menu_histogram *h, const struct plugin *p, FILE *out)
{
    fputs(", \"cuts\": [", out);
    for (uint32_t i = 0; i < h->n_cuts; i++) {
        const struct menu_cut *c = &h->cuts[i];

        fprintf(out, "%s{\"value\": \"%s\"%s", i ? ", " : "", p->d.values[c->value].name,
                c->absolute ? ", \"absolute\": true" : "");
        if (isfinite(c->min))
            fprintf(out, ", \"min\": %.9g", (double)c->min);
        if (isfinite(c->max))
            fprintf(out, ", \"max\": %.9g", (double)c->max);
        fputc('}', out);
    }
    fputc(']', out);
}

static void print_axis(const struct menu_axis *a, const struct plugin *p,
                       const struct trg_collection *c, FILE *out)
{
    if (c)
        fprintf(out, "\"column\": \"%s\", \"unit\": \"%s\"", c->column[a->at].name,
                c->column[a->at].unit);
    else
        fprintf(out, "\"value\": \"%s\", \"unit\": \"%s\"", p->d.values[a->at].name,
                p->d.values[a->at].unit);
}

static void print_bins(const struct menu_axis *a, FILE *out)
{
    fprintf(out, ", \"bins\": %u, \"min\": %.17g, \"max\": %.17g", a->bins, a->min, a->max);
}

static int describe(struct builder *b, struct menu_histogram *h)
{
    const struct menu_step *s = &b->m->steps[h->step];
    const struct plugin *p = s->plugin;
    const struct trg_collection *c = h->product < 0 ? NULL : p->d.produces[h->product];
    size_t bytes;
    FILE *out = open_memstream(&h->what, &bytes);

    if (!out)
        return -ENOMEM;
    fprintf(out, "\"step\": \"%s\", \"plugin\": \"%s\", ", s->name, p->d.name);
    if (c)
        fprintf(out, "\"collection\": \"%s\", ", c->name);
    print_axis(&h->x, p, c, out);
    if (h->chain >= 0)
        fprintf(out, ", \"chain\": \"%s\"", b->m->chains[h->chain].name);
    print_cuts(h, p, out);
    print_bins(&h->x, out);
    if (h->y.bins) {
        fputs(", \"y\": {", out);
        print_axis(&h->y, p, c, out);
        print_bins(&h->y, out);
        fputc('}', out);
    }
    if (memstream_close(out, &h->what) < 0)
        return -ENOMEM;
    h->key = hash_more(hash_bytes(h->name, strlen(h->name)), h->what, strlen(h->what));
    return 0;
}

/* ---------------------------------------------------------------- one histogram */

static void check_axis(struct builder *b, const struct menu_histogram *h, const char *where,
                       const char *which, const struct menu_axis *a)
{
    if (!a->bins)
        yamlfile_problem(b->f, where, "histogram \"%s\" has 0 bins%s; 1 or more are allowed",
                         h->name, which);
    if (!(a->min < a->max) || !isfinite(a->max - a->min))
        yamlfile_problem(b->f, where, "histogram \"%s\" has min %g and max %g%s; min is below max",
                         h->name, a->min, a->max, which);
}

static void check(struct builder *b, const struct menu_histogram *h, const char *where, bool has_y,
                  uint64_t bins)
{
    for (const struct menu_histogram *other = b->m->histogram; other < h; other++)
        if (!strcmp(other->name, h->name))
            yamlfile_problem(b->f, where, "histogram \"%s\" is listed twice", h->name);
    check_axis(b, h, where, "", &h->x);
    if (has_y)
        check_axis(b, h, where, " in y", &h->y);
    if (bins > MENU_BINS_MAX)
        yamlfile_problem(b->f, where,
                         "histogram \"%s\": with it there are %" PRIu64
                         " bins; %u for all histograms together are allowed",
                         h->name, bins, MENU_BINS_MAX);
}

static int build_cuts(struct builder *b, const struct menu_file_histogram *fh, uint32_t number,
                      struct menu_histogram *h)
{
    char where[WHERE_BYTES];

    h->cuts = calloc(fh->n_cuts + 1u, sizeof *h->cuts);
    if (!h->cuts)
        return -ENOMEM;
    for (uint32_t i = 0; i < fh->n_cuts; i++) {
        snprintf(where, sizeof where, "histograms[%u].cuts[%u]", number, i);
        menu_build_cut(b, &b->m->steps[h->step], &fh->cuts[i], where, &h->cuts[i]);
    }
    h->n_cuts = fh->n_cuts;
    return 0;
}

static int build(struct builder *b, uint32_t number, uint64_t *bins)
{
    const struct menu_file_histogram *fh = &b->file->histograms[number];
    const int32_t step = menu_find_step(b->m, fh->step);
    struct menu_histogram *h = &b->m->histogram[number];
    char where[WHERE_BYTES];
    int r;

    snprintf(where, sizeof where, "histograms[%u].name", number);
    menu_check_name(b, where, fh->name);
    h->name = strdup(fh->name);
    b->m->n_histograms++;
    if (!h->name)
        return -ENOMEM;
    h->x = (struct menu_axis){.bins = fh->bins, .min = fh->min, .max = fh->max};
    if (fh->y)
        h->y = (struct menu_axis){.bins = fh->y->bins, .min = fh->y->min, .max = fh->y->max};
    h->chain = fh->chain ? find_chain(b->m, fh->chain) : -1;
    check(b, h, where, fh->y != NULL, *bins += menu_cells(&h->x, &h->y));
    if (fh->chain && h->chain < 0)
        yamlfile_problem(b->f, where, "histogram \"%s\": there is no chain \"%s\"", fh->name,
                         fh->chain);
    if (step < 0) {
        yamlfile_problem(b->f, where, "histogram \"%s\": there is no step \"%s\"", fh->name,
                         fh->step);
        return 0;
    }
    h->step = (uint32_t)step;
    find_source(b, fh, where, h);
    if (fh->y)
        find_y(b, fh, where, h);
    r = build_cuts(b, fh, number, h);
    return r < 0 ? r : describe(b, h);
}

int menu_build_histograms(struct builder *b)
{
    uint64_t bins = 0;
    int r = 0;

    if (!b->file->n_histograms)
        return 0;
    b->m->histogram = calloc(b->file->n_histograms, sizeof *b->m->histogram);
    if (!b->m->histogram)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < b->file->n_histograms; i++)
        r = build(b, i, &bins);
    return r;
}
