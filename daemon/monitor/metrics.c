/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics page: Prometheus text format 0.0.4, base units, from the tables of stats.h. */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "monitor/http.h"

/* Upper ends of the buckets, seconds: 10 us to 10 s in steps of 1-2-5. */
static const double bounds[] = {10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3,
                                2e-3,  5e-3,  10e-3, 20e-3,  50e-3,  0.1,    0.2,
                                0.5,   1,     2,     5,      10};
#define N_BOUNDS (sizeof bounds / sizeof *bounds)

static void label(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text == '\n' ? ' ' : *text, out);
    }
}

static void head(const char *family, const char *type, const char *help, FILE *out)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family, help, family, type);
}

/* trigd_NAME_total for counters; a counter of ns becomes one of seconds. */
static void family_name(const char *prefix, const char *name, const char *kind, char *ret_name,
                        size_t bytes)
{
    size_t n = strlen(name);
    bool is_ns = n > 3 && !strcmp(name + n - 3, "_ns");

    snprintf(ret_name, bytes, "trigd_%s%.*s%s%s", prefix, (int)(is_ns ? n - 3 : n), name,
             is_ns ? "_seconds" : "", strcmp(kind, "counter") ? "" : "_total");
}

static void value(const char *family, const char *label_name, const char *label_text,
                  const char *name, uint64_t v, FILE *out)
{
    size_t n = strlen(name);

    fputs(family, out);
    if (label_name) {
        fprintf(out, "{%s=\"", label_name);
        label(label_text, out);
        fputs("\"}", out);
    }
    if (n > 3 && !strcmp(name + n - 3, "_ns"))
        fprintf(out, " %.9f\n", (double)v * 1e-9);
    else
        fprintf(out, " %llu\n", (unsigned long long)v);
}

#define GLOBAL(name, kind, help)                          \
    family_name("", #name, #kind, family, sizeof family); \
    head(family, #kind, help, out);                       \
    value(family, NULL, NULL, #name, stats_get(&copy.name), out);

static void globals(const struct stats *s, FILE *out)
{
    struct stats_global copy;
    char family[128];

    stats_snapshot(&s->g, &copy);
    STATS_GLOBAL(GLOBAL)
}

#define EACH(table, max, prefix, member, kind, help)                                             \
    do {                                                                                         \
        family_name(prefix "_", #member, #kind, family, sizeof family);                          \
        head(family, #kind, help, out);                                                          \
        for (uint32_t i = 0; i < (max); i++)                                                     \
            if (atomic_load(&s->table[i].used))                                                  \
                value(family, prefix, s->table[i].name, #member, stats_get(&s->table[i].member), \
                      out);                                                                      \
    } while (0);

#define OF_CHAIN(name, kind, help)  EACH(chain, STATS_CHAINS_MAX, "chain", name, kind, help)
#define OF_STEP(name, kind, help)   EACH(step, STATS_STEPS_MAX, "step", name, kind, help)
#define OF_LANE(name, kind, help)   EACH(lane, s->n_lanes, "lane", name, kind, help)
#define OF_STREAM(name, kind, help) EACH(stream, STATS_STREAMS_MAX, "stream", name, kind, help)
#define OF_WORKER(name, kind, help) EACH(worker, STATS_WORKERS_MAX, "worker", name, kind, help)
#define OF_GUEST(name, kind, help)  EACH(guest, STATS_GUESTS_MAX, "guest", name, kind, help)

static void entries(const struct stats *s, FILE *out)
{
    char family[128];

    STATS_CHAIN(OF_CHAIN)
    STATS_STEP(OF_STEP)
    STATS_LANE(OF_LANE)
    STATS_WORKER(OF_WORKER)
    STATS_STREAM(OF_STREAM)
    STATS_GUEST(OF_GUEST)
    head("trigd_chain_prescale", "gauge", "a chain accepts 1 in this many", out);
    for (uint32_t i = 0; i < STATS_CHAINS_MAX; i++) {
        if (!atomic_load(&s->chain[i].used))
            continue;
        fputs("trigd_chain_prescale{chain=\"", out);
        label(s->chain[i].name, out);
        fprintf(out, "\"} %g\n", atomic_load(&s->chain[i].prescale));
    }
}

/* Clients may share a name, which Prometheus does not allow for two series: they are added up. */
#define OF_CLIENT(member, kind, help)                                                             \
    family_name("client_", #member, #kind, family, sizeof family);                                \
    head(family, #kind, help, out);                                                               \
    for (uint32_t i = 0; i < STATS_CLIENTS_MAX; i++) {                                            \
        uint64_t sum = 0;                                                                         \
                                                                                                  \
        if (!is_first_of_name(s, i))                                                              \
            continue;                                                                             \
        for (uint32_t k = i; k < STATS_CLIENTS_MAX; k++)                                          \
            if (atomic_load(&s->client[k].used) && !strcmp(s->client[k].name, s->client[i].name)) \
                sum += stats_get(&s->client[k].member);                                           \
        value(family, "client", s->client[i].name, #member, sum, out);                            \
    }

static bool is_first_of_name(const struct stats *s, uint32_t i)
{
    if (!atomic_load(&s->client[i].used))
        return false;
    for (uint32_t k = 0; k < i; k++)
        if (atomic_load(&s->client[k].used) && !strcmp(s->client[k].name, s->client[i].name))
            return false;
    return true;
}

static void clients(const struct stats *s, FILE *out)
{
    char family[128];

    STATS_CLIENT(OF_CLIENT)
}

static void histogram(const char *family, const char *label_name, const char *label_text,
                      const struct latency *l, FILE *out)
{
    uint64_t seen = 0, count = 0;
    uint32_t b = 0;

    for (size_t i = 0; i < N_BOUNDS; i++) {
        while (b < LATENCY_BUCKETS - 1 && (double)latency_bucket_ns(b + 1) <= bounds[i] * 1e9)
            seen += atomic_load_explicit(&l->bucket[b++], memory_order_relaxed);
        fprintf(out, "%s_bucket{%s=\"", family, label_name);
        label(label_text, out);
        fprintf(out, "\",le=\"%g\"} %llu\n", bounds[i], (unsigned long long)seen);
    }
    count = seen;
    while (b < LATENCY_BUCKETS)
        count += atomic_load_explicit(&l->bucket[b++], memory_order_relaxed);
    fprintf(out, "%s_bucket{%s=\"", family, label_name);
    label(label_text, out);
    fprintf(out, "\",le=\"+Inf\"} %llu\n%s_sum{%s=\"", (unsigned long long)count, family,
            label_name);
    label(label_text, out);
    fprintf(out, "\"} %.9f\n%s_count{%s=\"",
            (double)atomic_load_explicit(&l->sum_ns, memory_order_relaxed) * 1e-9, family,
            label_name);
    label(label_text, out);
    fprintf(out, "\"} %llu\n", (unsigned long long)count);
}

static void latencies(const struct stats *s, FILE *out)
{
    head("trigd_stage_seconds", "histogram", "time in a stage of the daemon", out);
#define STAGE(name, help) \
    histogram("trigd_stage_seconds", "stage", #name, &s->stage[STATS_STAGE_##name], out);
    STATS_STAGES(STAGE)
#undef STAGE
    head("trigd_lane_seconds", "histogram", "batches of a lane, from stage to collect", out);
    for (uint32_t i = 0; i < s->n_lanes; i++)
        if (atomic_load(&s->lane[i].used))
            histogram("trigd_lane_seconds", "lane", s->lane[i].name, &s->lane[i].latency, out);
}

/* ---------------------------------------------------------------- histograms of the menu */

#define MENU_BUCKETS 20u /* of each at most: several bins in one where it has more */

/* A reload that changes one leaves that of before beside it until it is written: the last one of a
 * name is the menu's. */
static bool is_last_of_name(const struct histogram *h)
{
    for (const struct histogram *later = h->next; later; later = later->next)
        if (!strcmp(later->name, h->name))
            return false;
    return true;
}

static void menu_bucket(const struct histogram *h, const char *le, uint64_t n, FILE *out)
{
    fputs("trigd_menu_entries_bucket{histogram=\"", out);
    label(h->name, out);
    fprintf(out, "\",le=\"%s\"} %llu\n", le, (unsigned long long)n);
}

/* What is under the first bin is in the first bucket, as what is NaN is in none. */
static void menu_histogram(const struct histogram *h, FILE *out)
{
    const struct histogram_sums sums = histogram_sums(h);
    const uint32_t step = (h->x.bins + MENU_BUCKETS - 1) / MENU_BUCKETS;
    const double width = (h->x.max - h->x.min) / h->x.bins;
    uint64_t seen = sums.underflow;
    char le[32];

    snprintf(le, sizeof le, "%.9g", h->x.min);
    menu_bucket(h, le, seen, out);
    for (uint32_t i = 0; i < h->x.bins; i++) {
        seen += histogram_bin(h, i);
        if ((i + 1) % step && i + 1 < h->x.bins)
            continue;
        snprintf(le, sizeof le, "%.9g", i + 1 < h->x.bins ? h->x.min + (i + 1) * width : h->x.max);
        menu_bucket(h, le, seen, out);
    }
    seen += sums.overflow;
    menu_bucket(h, "+Inf", seen, out);
    fputs("trigd_menu_entries_sum{histogram=\"", out);
    label(h->name, out);
    fprintf(out, "\"} %.9g\ntrigd_menu_entries_count{histogram=\"", sums.sum);
    label(h->name, out);
    fprintf(out, "\"} %llu\n", (unsigned long long)seen);
}

static void menu_histograms(const struct control_view *view, FILE *out)
{
    struct histogram_list list;

    if (!view->hooks.histograms || !view->hooks.is_live(view->hooks.ctx) ||
        view->hooks.histograms(view->hooks.ctx, &list) < 0)
        return;
    if (list.first)
        head("trigd_menu_entries", "histogram", "of the menu, along x, since the last file", out);
    for (const struct histogram *h = list.first; h; h = h->next)
        if (is_last_of_name(h))
            menu_histogram(h, out);
    if (list.first)
        head("trigd_menu_entries_nan", "gauge", "entries that are no number", out);
    for (const struct histogram *h = list.first; h; h = h->next)
        if (is_last_of_name(h))
            value("trigd_menu_entries_nan", "histogram", h->name, "nan", h->nan, out);
    histograms_drop(&list);
}

/* ---------------------------------------------------------------- windows */

#define METRICS_WINDOW 1 /* that of 10 s: a scrape a second or a minute sees the same */

struct window_page {
    FILE *out;
    enum windows_kind kind;
    const char *family;
    uint32_t rate; /* which; WINDOWS_RATES: the quantiles */
};

static void window_labels(const struct window_page *p, const char *name)
{
    fprintf(p->out, "%s{%s=\"", p->family, windows_kind_name(p->kind));
    label(name, p->out);
    fprintf(p->out, "\",window=\"%s\"", windows_name[METRICS_WINDOW]);
}

static void window_values(void *ctx, const struct windows_row *row)
{
    const struct window_page *p = ctx;

    if (p->rate < WINDOWS_RATES) {
        window_labels(p, row->name);
        fprintf(p->out, "} %.9g\n", row->rate[p->rate]);
        return;
    }
    for (uint32_t q = 0; q < WINDOWS_QUANTILES; q++) {
        window_labels(p, row->name);
        fprintf(p->out, ",q=\"%g\"} %.9g\n", windows_quantiles[q], row->quantile_ns[q] * 1e-9);
    }
}

/* "trigd_chain_pass_rate", "trigd_lane_busy_rate" */
static void window_rates(const struct control_view *view, struct window_page *p)
{
    const char *const *column;
    const uint32_t n = windows_columns(p->kind, &column);
    char family[128];

    for (p->rate = 0; p->rate < n; p->rate++) {
        const char *suffix = strstr(column[p->rate], "_per_s");

        snprintf(family, sizeof family, "trigd_%s_%.*s_rate", windows_kind_name(p->kind),
                 suffix ? (int)(suffix - column[p->rate]) : (int)strlen(column[p->rate]),
                 column[p->rate]);
        p->family = family;
        head(family, "gauge",
             suffix ? "a second, of the last 10 s" : "part of the time, of the last 10 s", p->out);
        windows_each(view->windows, p->kind, METRICS_WINDOW, window_values, p);
    }
}

static void expected_values(void *ctx, const struct windows_row *row)
{
    const struct window_page *p = ctx;
    const double value[] = {row->expected_min, row->expected_max, row->measured,
                            row->against == WINDOWS_LOW    ? -1
                            : row->against == WINDOWS_HIGH ? 1
                                                           : 0};

    if (row->band == STATS_BAND_NONE || (p->rate == 1 && !isfinite(value[1])))
        return;
    window_labels(p, row->name);
    fprintf(p->out, ",of=\"%s\"} %.9g\n", row->band == STATS_BAND_RUN ? "run" : "second",
            value[p->rate]);
}

static void expectations(const struct control_view *view, FILE *out)
{
    static const struct {
        const char *family, *help;
    } of[] = {
        {"trigd_chain_expected_min", "lower end of what the menu expects"},
        {"trigd_chain_expected_max", "upper end of what the menu expects"},
        {"trigd_chain_measured", "what is compared with it, of the last 10 s"},
        {"trigd_chain_deviation", "-1: beyond it by more than chance, below; 1: above; 0: not"}};
    struct window_page p = {.out = out, .kind = WINDOWS_OF_CHAIN};

    for (p.rate = 0; p.rate < sizeof of / sizeof *of; p.rate++) {
        p.family = of[p.rate].family;
        head(p.family, "gauge", of[p.rate].help, out);
        windows_each(view->windows, p.kind, METRICS_WINDOW, expected_values, &p);
    }
}

static void windows(const struct control_view *view, FILE *out)
{
    struct window_page p = {.out = out};
    char family[128];

    for (uint32_t kind = 0; view->windows && kind < WINDOWS_KINDS; kind++) {
        p.kind = (enum windows_kind)kind;
        window_rates(view, &p);
        if (!windows_has_latency(p.kind))
            continue;
        snprintf(family, sizeof family, "trigd_%s_latency_seconds", windows_kind_name(p.kind));
        p.family = family;
        p.rate = WINDOWS_RATES;
        head(family, "gauge", "quantiles of the last 10 s", out);
        windows_each(view->windows, p.kind, METRICS_WINDOW, window_values, &p);
    }
    if (view->windows)
        expectations(view, out);
}

void http_metrics(const struct control_view *view, FILE *out)
{
    const struct stats *s = view->stats;

    head("trigd_build_info", "gauge", "always 1; the version is a label", out);
    fputs("trigd_build_info{version=\"" TRIGD_VERSION "\"} 1\n", out);
    head("trigd_uptime_seconds", "gauge", "time since the start", out);
    fprintf(out, "trigd_uptime_seconds %.3f\n", (double)(clock_ns() - s->started_ns) * 1e-9);
    head("trigd_log_lines_total", "counter", "lines logged, those held back included", out);
    for (enum trg_level level = TRG_ERROR; level <= TRG_DEBUG; level++)
        fprintf(out, "trigd_log_lines_total{level=\"%s\"} %llu\n", log_level_name(level),
                (unsigned long long)log_count(level));
    globals(s, out);
    stats_lock(); /* names stand still */
    entries(s, out);
    clients(s, out);
    latencies(s, out);
    stats_unlock();
    menu_histograms(view, out);
    windows(view, out);
    metrics_gpus(view, out);
    if (view->metrics)
        view->metrics(view->hooks.ctx, out);
}
