/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_file.c - copies of histograms: added up and written. */
#include <inttypes.h>
#include <stddef.h>

#include "flow/histograms.h"

uint64_t histogram_entries(const struct histogram *h)
{
    uint64_t n = h->underflow + h->overflow + h->nan;

    for (uint32_t i = 0; i < h->bins; i++)
        n += h->count[i];
    return n;
}

static void add_up(struct histogram *to, const struct histogram *from)
{
    to->underflow += from->underflow;
    to->overflow += from->overflow;
    to->nan += from->nan;
    for (uint32_t i = 0; i < to->bins; i++)
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

static void print_one(const struct histogram *h, FILE *out)
{
    fprintf(out,
            "  {\"name\": \"%s\", \"key\": \"%016" PRIx64 "\", %s,\n   \"underflow\": %" PRIu64
            ", \"overflow\": %" PRIu64 ", \"nan\": %" PRIu64 ",\n   \"counts\": [",
            h->name, h->key, h->what, h->underflow, h->overflow, h->nan);
    for (uint32_t i = 0; i < h->bins; i++)
        fprintf(out, "%s%" PRIu64, i ? ", " : "", h->count[i]);
    fputs("]}", out);
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
