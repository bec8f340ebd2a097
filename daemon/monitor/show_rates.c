/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/show_rates.h"
#include "json.h"

#include <inttypes.h>
#include <math.h>

struct showing {
    struct table *t;
    enum windows_kind kind;
    uint32_t window;
};

/* Numbers of all sizes: 0.0123, 12.3, 1234567. */
static void rate_cell(struct table *t, double rate)
{
    table_cell(t, "%.*f", rate == 0 ? 0 : rate < 1 ? 4 : rate < 1000 ? 1 : 0, rate);
}

static void expected_cells(struct table *t, const struct windows_row *r)
{
    static const char *const of[] = {"", "second", "run"};

    table_cell(t, "%s", windows_against_name[r->against]);
    if (r->band == STATS_BAND_NONE) {
        table_cell(t, "%s", "");
        table_cell(t, "%s", "");
        table_cell(t, "%s", "");
    } else {
        rate_cell(t, r->measured);
        table_cell(t, "%g", r->expected_min);
        if (isfinite(r->expected_max))
            table_cell(t, "%g", r->expected_max);
        else
            table_cell(t, "%s", "");
    }
    table_cell(t, "%s", of[r->band]);
}

static void add_row(void *ctx, const struct windows_row *r)
{
    const struct showing *s = ctx;

    table_cell(s->t, "%s", r->name);
    table_cell(s->t, "%s", windows_name[s->window]);
    table_cell(s->t, "%.1f", r->seconds);
    if (s->kind == WINDOWS_OF_CHAIN)
        expected_cells(s->t, r);
    for (uint32_t i = 0; i < r->n_rates; i++)
        rate_cell(s->t, r->rate[i]);
    if (!windows_has_latency(s->kind))
        return;
    for (uint32_t i = 0; i < WINDOWS_QUANTILES; i++)
        table_cell(s->t, "%.1f", r->quantile_ns[i] * 1e-3);
}

static void add_columns(enum windows_kind kind, struct table *t)
{
    static const char *const quantile[WINDOWS_QUANTILES] = {"p50_us", "p90_us", "p99_us",
                                                            "p99.9_us"};
    const char *const *column;
    const uint32_t n = windows_columns(kind, &column);

    table_column(t, windows_kind_name(kind), false);
    table_column(t, "window", false);
    table_column(t, "seconds", true);
    if (kind == WINDOWS_OF_CHAIN) {
        table_column(t, "against", false);
        table_column(t, "measured", true);
        table_column(t, "expected_min", true);
        table_column(t, "expected_max", true);
        table_column(t, "expected_of", false);
    }
    for (uint32_t i = 0; i < n; i++)
        table_column(t, column[i], true);
    for (uint32_t i = 0; i < WINDOWS_QUANTILES && windows_has_latency(kind); i++)
        table_column(t, quantile[i], true);
}

void show_rates(const struct control_view *v, enum windows_kind kind, uint32_t window,
                struct table *t)
{
    struct showing s = {.t = t, .kind = kind};

    add_columns(kind, t);
    for (s.window = 0; v->windows && s.window < WINDOWS_N; s.window++)
        if (window == SHOW_ALL_WINDOWS || window == s.window)
            windows_each(v->windows, kind, s.window, add_row, &s);
}

/* ---------------------------------------------------------------- histograms */

struct buckets {
    FILE *out;
    enum windows_kind kind;
    uint32_t window;
    bool is_first;
};

static void print_buckets(void *ctx, const char *name, const uint64_t *bucket)
{
    struct buckets *b = ctx;
    bool is_first = true;

    fprintf(b->out, "%s\n  {\"of\": \"%s\", \"name\": ", b->is_first ? "" : ",",
            windows_kind_name(b->kind));
    json_string(name, b->out);
    fprintf(b->out, ", \"window\": \"%s\", \"buckets\": [", windows_name[b->window]);
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        if (!bucket[i])
            continue;
        fprintf(b->out, "%s[%" PRIu64 ", %" PRIu64 "]", is_first ? "" : ", ", latency_bucket_ns(i),
                bucket[i]);
        is_first = false;
    }
    fputs("]}", b->out);
    b->is_first = false;
}

void show_latency_buckets(const struct control_view *v, FILE *out)
{
    struct buckets b = {.out = out, .is_first = true};

    fprintf(out,
            "{\"format\": \"trigd latency\", \"version\": 1, \"buckets_a_factor_of_two\": %u, "
            "\"histograms\": [",
            LATENCY_SUB);
    for (uint32_t kind = 0; v->windows && kind < WINDOWS_KINDS; kind++)
        for (b.window = 0; windows_has_latency(kind) && b.window < WINDOWS_N; b.window++) {
            b.kind = (enum windows_kind)kind;
            windows_latencies(v->windows, b.kind, b.window, print_buckets, &b);
        }
    fputs("\n]}\n", out);
}
