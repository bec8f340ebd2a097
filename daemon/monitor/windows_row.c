/* SPDX-License-Identifier: Apache-2.0 */
/* windows_row.c - the seconds of a window added up: rates, quantiles, what is expected. */
#include <math.h>
#include <string.h>

#include "monitor/windows_inner.h"

const double windows_quantiles[WINDOWS_QUANTILES] = {0.5, 0.9, 0.99, 0.999};
#define NAME(name, seconds)    name,
#define SECONDS(name, seconds) seconds,
const char *const windows_name[WINDOWS_N] = {WINDOWS(NAME)};
static const uint32_t window_seconds[WINDOWS_N] = {WINDOWS(SECONDS)};
#undef NAME
#undef SECONDS
const char *const windows_against_name[] = {"", "ok", "low", "high"};
#define SIGMAS 3.0 /* a rate is beyond its band when chance alone hardly brings it there */

uint32_t windows_columns(enum windows_kind kind, const char *const **ret_column)
{
    static const char *column[WINDOWS_KINDS][WINDOWS_RATES];
    const struct windows_of *of = &windows_of[kind];

    for (uint32_t i = 0; i < of->n_rates; i++)
        column[kind][i] = of->rate[i].column;
    *ret_column = column[kind];
    return of->n_rates;
}

const char *windows_kind_name(enum windows_kind kind)
{
    return windows_of[kind].name;
}

/* ---------------------------------------------------------------- adding up */

/* A counter of time is shown as a part of the time. */
static bool is_part(const char *column)
{
    const size_t n = strlen(column), suffix = sizeof "_per_s" - 1;

    return n < suffix || strcmp(column + n - suffix, "_per_s") != 0;
}

/* Adds the durations of `n` seconds up in w->dense; returns how many there are. */
static uint64_t add_durations(struct windows *w, const struct windows_series *s, uint64_t from,
                              uint64_t until)
{
    uint64_t sum = 0;

    memset(w->dense, 0, sizeof w->dense);
    for (uint64_t k = from; k < until; k++) {
        const struct windows_sparse *sparse = &s->sparse[k % WINDOWS_SECONDS];

        for (uint32_t i = 0; i < sparse->n; i++) {
            const uint32_t n = sparse->item[i] & ((1u << WINDOWS_BITS) - 1);

            w->dense[sparse->item[i] >> WINDOWS_BITS] += n;
            sum += n;
        }
    }
    return sum;
}

/* As latency_quantile_ns, all of them in one pass. */
static void find_quantiles(const uint64_t *dense, uint64_t total, double *ret_ns)
{
    uint64_t seen = 0;
    uint32_t b = 0;

    for (uint32_t q = 0; q < WINDOWS_QUANTILES; q++) {
        ret_ns[q] = 0;
        if (!total)
            continue;
        while ((double)seen < windows_quantiles[q] * (double)total || !seen)
            seen += dense[b++];
        ret_ns[q] = 0.5 * (double)(latency_bucket_ns(b - 1) + latency_bucket_ns(b));
    }
}

/* Which of `n` pass, against the band of the part that should: by three deviations of a binomial.
 */
static enum windows_against judge_part(double pass, double n, double min, double max)
{
    if (pass < n * min - SIGMAS * sqrt(n * min * (1 - min)))
        return WINDOWS_LOW;
    return max < 1 && pass > n * max + SIGMAS * sqrt(n * max * (1 - max)) ? WINDOWS_HIGH
                                                                          : WINDOWS_OK;
}

/* The same of a rate: by three deviations of a Poisson number. */
static enum windows_against judge_rate(double pass, double seconds, double min, double max)
{
    if (pass < seconds * min - SIGMAS * sqrt(seconds * min))
        return WINDOWS_LOW;
    return isfinite(max) && pass > seconds * max + SIGMAS * sqrt(seconds * max) ? WINDOWS_HIGH
                                                                                : WINDOWS_OK;
}

static void judge(const struct stats_chain *c, double run, double pass, struct windows_row *row)
{
    row->band = (enum stats_band)atomic_load(&c->band);
    row->expected_min = atomic_load(&c->expected_min);
    row->expected_max = atomic_load(&c->expected_max);
    if (row->band == STATS_BAND_RUN && run > 0) {
        row->measured = pass / run;
        row->against = judge_part(pass, run, row->expected_min, row->expected_max);
    } else if (row->band == STATS_BAND_SECOND && row->seconds > 0) {
        row->measured = pass / row->seconds;
        row->against = judge_rate(pass, row->seconds, row->expected_min, row->expected_max);
    }
}

enum {
#define PLACE(name, column) CHAIN_##name,
    WINDOWS_CHAIN(PLACE)
#undef PLACE
};

static void fill_row(struct windows *w, enum windows_kind kind, const struct windows_series *s,
                     uint64_t from, uint64_t until, struct windows_row *row)
{
    const struct windows_of *of = &windows_of[kind];
    double count[WINDOWS_RATES] = {0};

    *row = (struct windows_row){.name = s->name, .n_rates = of->n_rates};
    for (uint64_t k = from; k < until; k++) {
        row->seconds += w->seconds[k % WINDOWS_SECONDS];
        for (uint32_t i = 0; i < of->n_rates; i++)
            count[i] += (double)s->rate[k % WINDOWS_SECONDS][i];
    }
    for (uint32_t i = 0; i < of->n_rates && row->seconds > 0; i++)
        row->rate[i] = count[i] / row->seconds * (is_part(of->rate[i].column) ? 1e-9 : 1);
    if (windows_has_latency(kind)) {
        row->latencies = add_durations(w, s, from, until);
        find_quantiles(w->dense, row->latencies, row->quantile_ns);
    }
    if (kind == WINDOWS_OF_NODE) /* shards are dead one by one */
        for (uint32_t i = 0; i < of->n_rates; i++)
            row->rate[i] /= is_part(of->rate[i].column) ? w->set->n : 1;
    if (s->chain)
        judge(s->chain, count[CHAIN_run], count[CHAIN_pass], row);
}

/* ---------------------------------------------------------------- reading */

/* The first second of a window; one that began less than it ago has fewer. */
static uint64_t begin_of(const struct windows *w, uint32_t window)
{
    return w->n > window_seconds[window] ? w->n - window_seconds[window] : 0;
}

void windows_each(struct windows *w, enum windows_kind kind, uint32_t window, windows_fn *fn,
                  void *ctx)
{
    struct windows_row row;

    pthread_mutex_lock(&w->lock);
    for (const struct windows_series *s = w->series[kind]; s; s = s->next) {
        fill_row(w, kind, s, begin_of(w, window), w->n, &row);
        fn(ctx, &row);
    }
    pthread_mutex_unlock(&w->lock);
}

bool windows_second(struct windows *w, uint32_t age, struct windows_row *ret_row)
{
    const struct windows_series *s;
    bool is_there;

    pthread_mutex_lock(&w->lock);
    s = w->series[WINDOWS_OF_NODE];
    is_there = s && age < WINDOWS_SECONDS && age < w->n &&
               w->seconds[(w->n - 1 - age) % WINDOWS_SECONDS] > 0;
    if (is_there)
        fill_row(w, WINDOWS_OF_NODE, s, w->n - 1 - age, w->n - age, ret_row);
    pthread_mutex_unlock(&w->lock);
    return is_there;
}

void windows_latencies(struct windows *w, enum windows_kind kind, uint32_t window,
                       windows_latency_fn *fn, void *ctx)
{
    pthread_mutex_lock(&w->lock);
    for (const struct windows_series *s = w->series[kind]; s; s = s->next) {
        add_durations(w, s, begin_of(w, window), w->n);
        fn(ctx, s->name, w->dense);
    }
    pthread_mutex_unlock(&w->lock);
}
