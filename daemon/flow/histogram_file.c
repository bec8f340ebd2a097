/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_file.c - copies of histograms: added up and written. */
#include <inttypes.h>
#include <stddef.h>

#include "flow/histograms.h"

uint64_t histogram_entries(const struct histogram *h)
{
    uint64_t n = h->underflow + h->overflow + h->nan;

    for (uint64_t i = 0; i < histogram_cells(h); i++)
        n += h->count[i];
    return n;
}

/* The counts of a place on the first axis, from 0: under. */
static uint64_t column_sum(const struct histogram *h, uint32_t place)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < h->y.bins + 2; i++)
        n += h->count[i * (h->x.bins + 2ull) + place];
    return n;
}

uint64_t histogram_bin(const struct histogram *h, uint32_t i)
{
    return h->y.bins ? column_sum(h, i + 1) : h->count[i];
}

struct histogram_sums histogram_sums(const struct histogram *h)
{
    const double width = (h->x.max - h->x.min) / h->x.bins;
    struct histogram_sums s = {.underflow = h->underflow, .overflow = h->overflow};

    if (h->y.bins) {
        s.underflow = column_sum(h, 0);
        s.overflow = column_sum(h, h->x.bins + 1);
    }
    for (uint32_t i = 0; i < h->x.bins; i++) {
        const uint64_t n = histogram_bin(h, i);

        s.inside += n;
        s.sum += (double)n * (h->x.min + (i + 0.5) * width);
    }
    return s;
}

static void add_up(struct histogram *to, const struct histogram *from)
{
    to->underflow += from->underflow;
    to->overflow += from->overflow;
    to->nan += from->nan;
    for (uint64_t i = 0; i < histogram_cells(to); i++)
        to->count[i] += from->count[i];
}

static void merge_runs(struct histogram_list *to, const struct histogram_list *from)
{
    if (!from->has_runs)
        return;
    if (!to->has_runs || from->first_run < to->first_run)
        to->first_run = from->first_run;
    if (!to->has_runs || from->last_run > to->last_run)
        to->last_run = from->last_run;
    to->has_runs = true;
}

/* Equal keys are of equal binning: the key is a hash of all that a histogram is. */
void histograms_merge(struct histogram_list *to, struct histogram_list *from)
{
    struct histogram_list rest = {.first = NULL};

    merge_runs(to, from);
    while (from->first) {
        struct histogram *one = from->first, **at = &to->first;

        from->first = one->next;
        while (*at && (*at)->key != one->key)
            at = &(*at)->next;
        one->next = NULL;
        if (!*at) {
            *at = one;
            continue;
        }
        add_up(*at, one);
        one->next = rest.first;
        rest.first = one;
    }
    histograms_drop(&rest);
}

static void print_counts(const uint64_t *count, uint32_t n, FILE *out)
{
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%s%" PRIu64, i ? ", " : "[", count[i]);
    fputc(']', out);
}

/* With a second axis: rows of x, under and over included, from under y to over y. */
static void print_rows(const struct histogram *h, FILE *out)
{
    const uint32_t n = h->x.bins + 2;

    fprintf(out, "\"nan\": %" PRIu64 ",\n   \"counts\": [", h->nan);
    for (uint32_t i = 0; i < h->y.bins + 2; i++) {
        fputs(i ? ",\n    " : "", out);
        print_counts(h->count + (size_t)i * n, n, out);
    }
    fputs("]}", out);
}

static void print_one(const struct histogram *h, FILE *out)
{
    fprintf(out, "  {\"name\": \"%s\", \"key\": \"%016" PRIx64 "\", %s,\n   ", h->name, h->key,
            h->what);
    if (h->y.bins) {
        print_rows(h, out);
        return;
    }
    fprintf(out,
            "\"underflow\": %" PRIu64 ", \"overflow\": %" PRIu64 ", \"nan\": %" PRIu64
            ",\n   \"counts\": ",
            h->underflow, h->overflow, h->nan);
    print_counts(h->count, h->x.bins, out);
    fputc('}', out);
}

void histograms_print(const struct histogram_list *list, FILE *out)
{
    fputs("{\"format\": \"trigd histograms\", \"version\": 1, \"runs\": ", out);
    if (list->has_runs)
        fprintf(out, "[%u, %u]", list->first_run, list->last_run);
    else
        fputs("[]", out);
    fputs(", \"histograms\": [\n", out);
    for (const struct histogram *h = list->first; h; h = h->next) {
        print_one(h, out);
        fputs(h->next ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
}
