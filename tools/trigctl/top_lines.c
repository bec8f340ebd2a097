/* SPDX-License-Identifier: Apache-2.0 */
#include "top_lines.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

/* ---------------------------------------------------------------- answers */

static int ask(const char *socket, const char *command, int timeout_s, json_t **ret_answer)
{
    char *text = NULL;
    int r = talk(socket, command, timeout_s, &text);

    if (r < 0)
        return r;
    *ret_answer = json_loads(text, 0, NULL);
    free(text);
    return *ret_answer ? 0 : -EBADMSG; /* a sentence: it does not know the command */
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static const char *text(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));

    return s ? s : "";
}

/* ---------------------------------------------------------------- lines */

static void __attribute__((format(printf, 3, 4)))
add(struct top *t, enum top_look look, const char *format, ...)
{
    struct top_line *l = &t->line[t->n];
    va_list args;

    if (t->n == TOP_LINES)
        return;
    t->n++;
    l->look = look;
    va_start(args, format);
    if (t->n == TOP_LINES)
        snprintf(l->text, sizeof l->text, "more lines are left out; a filter (/) shows them");
    else
        vsnprintf(l->text, sizeof l->text, format, args);
    va_end(args);
}

/* 1234567 as 1.23 M: what changes each second is read at a glance. */
static const char *short_number(double v, char *out, size_t bytes)
{
    static const char *const unit[] = {"", " k", " M", " G", " T"};
    uint32_t u = 0;

    for (; v >= 1000 && u < 4; u++)
        v /= 1000;
    snprintf(out, bytes, "%.*f%s", v == 0 || (!u && v >= 100) ? 0 : v < 10 ? 2 : 1, v, unit[u]);
    return out;
}

struct sorted {
    const json_t *row;
    const char *name;
    double rate;
};

static int by_rate(const void *a, const void *b)
{
    const double x = ((const struct sorted *)a)->rate, y = ((const struct sorted *)b)->rate;

    return (x < y) - (x > y);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sorted *)a)->name, ((const struct sorted *)b)->name);
}

/* The rows of a table that pass the filter, in order; the caller frees the list. */
static struct sorted *sort_rows(const json_t *table, const char *name, const char *rate,
                                const struct top_view *view, size_t *ret_n)
{
    struct sorted *list = calloc(json_array_size(table) + 1, sizeof *list);
    const json_t *row;
    size_t i;

    *ret_n = 0;
    json_array_foreach(table, i, row)
    {
        if (list && strstr(text(row, name), view->filter))
            list[(*ret_n)++] =
                (struct sorted){.row = row, .name = text(row, name), .rate = number(row, rate)};
    }
    if (list)
        qsort(list, *ret_n, sizeof *list, view->by_rate ? by_rate : by_name);
    return list;
}

/* Eighths of a line's height, the last minute from the left. */
static void history(struct top *t)
{
    static const char *const block[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
    char bars[TOP_HISTORY * 3 + 1] = "", most_text[32];
    double most = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < t->n_received; i++)
        most = t->received[i] > most ? t->received[i] : most;
    for (uint32_t i = 0; i < t->n_received && most > 0; i++)
        n += (size_t)snprintf(bars + n, sizeof bars - n, "%s",
                              block[(int)(t->received[i] / most * 8 + 0.5)]);
    add(t, TOP_PLAIN, "received  %s  at most %s/s", bars,
        short_number(most, most_text, sizeof most_text));
}

static void head(struct top *t, const json_t *info, const json_t *node, const char *window)
{
    char n[6][32];

    add(t, TOP_TITLE, "%s %s  %s  up %.0f s  window %s", text(info, "name"), text(info, "version"),
        text(info, "state"), number(info, "uptime_s"), window);
    add(t, TOP_PLAIN,
        "received %s/s  accepted %s/s  failed %s/s  in flight %s  p50 %s us  p99 %s us",
        short_number(number(node, "received_per_s"), n[0], sizeof n[0]),
        short_number(number(node, "accepted_per_s"), n[1], sizeof n[1]),
        short_number(number(node, "failed_per_s"), n[2], sizeof n[2]),
        short_number(number(info, "in_flight"), n[3], sizeof n[3]),
        short_number(number(node, "p50_us"), n[4], sizeof n[4]),
        short_number(number(node, "p99_us"), n[5], sizeof n[5]));
    add(t, number(node, "dead") > 0.01 ? TOP_BAD : TOP_PLAIN,
        "dead %.1f %%: pool full %.1f, stream waits %.1f, draining %.1f",
        100 * number(node, "dead"), 100 * number(node, "dead_pool"),
        100 * number(node, "dead_stream"), 100 * number(node, "dead_drain"));
}

static void ledger(struct top *t, const json_t *l)
{
    add(t, number(l, "imbalance") != 0 ? TOP_BAD : TOP_PLAIN,
        "ledger    %.0f received = %.0f accepted + %.0f rejected + %.0f failed + %.0f in flight, "
        "imbalance %.0f",
        number(l, "received"), number(l, "accepted"), number(l, "rejected"), number(l, "failed"),
        number(l, "in_flight"), number(l, "imbalance"));
}

static void chains(struct top *t, const json_t *rates, const struct top_view *view)
{
    size_t n;
    struct sorted *list =
        sort_rows(json_object_get(rates, "chains"), "chain", "pass_per_s", view, &n);

    if (n)
        add(t, TOP_TITLE, "%-28s %9s %9s %9s %9s %8s %8s  %s", "chain", "run/s", "pass/s",
            "measured", "least", "most", "p99 us", "against");
    for (size_t i = 0; i < n; i++) {
        const json_t *r = list[i].row;
        const char *against = text(r, "against");
        char v[6][32];
        const bool has_band = text(r, "expected_of")[0] != '\0';

        add(t,
            !strcmp(against, "ok") ? TOP_GOOD
            : against[0]           ? TOP_BAD
                                   : TOP_PLAIN,
            "%-28.28s %9s %9s %9s %9s %8s %8s  %s", list[i].name,
            short_number(number(r, "run_per_s"), v[0], sizeof v[0]),
            short_number(number(r, "pass_per_s"), v[1], sizeof v[1]),
            has_band ? short_number(number(r, "measured"), v[2], sizeof v[2]) : "",
            has_band ? short_number(number(r, "expected_min"), v[3], sizeof v[3]) : "",
            json_is_number(json_object_get(r, "expected_max"))
                ? short_number(number(r, "expected_max"), v[4], sizeof v[4])
                : "",
            short_number(number(r, "p99_us"), v[5], sizeof v[5]), against);
    }
    free(list);
}

/* The row of the same lane among the counters. */
static const json_t *find(const json_t *table, const char *key, const char *name)
{
    const json_t *row;
    size_t i;

    json_array_foreach(table, i, row)
    {
        if (!strcmp(text(row, key), name))
            return row;
    }
    return NULL;
}

static void lanes(struct top *t, const json_t *rates, const json_t *counters,
                  const struct top_view *view)
{
    size_t n;
    struct sorted *list =
        sort_rows(json_object_get(rates, "lanes"), "lane", "rois_per_s", view, &n);

    if (n)
        add(t, TOP_TITLE, "%-28s %9s %9s %9s %9s %8s  %s", "lane", "RoIs/s", "batches/s", "busy",
            "p50 us", "p99 us", "slots");
    for (size_t i = 0; i < n; i++) {
        const json_t *r = list[i].row, *c = find(counters, "lane", list[i].name);
        const uint32_t slots = (uint32_t)number(c, "slots"),
                       taken = (uint32_t)number(c, "in_flight");
        char v[4][32], marks[9] = "";

        for (uint32_t k = 0; k < slots && k < 8; k++)
            marks[k] = k < taken ? '#' : '.';
        add(t, TOP_PLAIN, "%-28.28s %9s %9s %9.2f %9s %8s  %s", list[i].name,
            short_number(list[i].rate, v[0], sizeof v[0]),
            short_number(number(r, "batches_per_s"), v[1], sizeof v[1]), number(r, "busy"),
            short_number(number(r, "p50_us"), v[2], sizeof v[2]),
            short_number(number(r, "p99_us"), v[3], sizeof v[3]), marks);
    }
    free(list);
}

/* A number of a GPU; "" where nothing is known. */
static const char *told(const json_t *row, const char *key, const char *unit, char *out,
                        size_t bytes)
{
    const json_t *v = json_object_get(row, key);

    if (json_is_number(v))
        snprintf(out, bytes, "%.4g%s", json_number_value(v), unit);
    else
        out[0] = '\0';
    return out;
}

static void devices(struct top *t, const json_t *table, const json_t *rates,
                    const struct top_view *view)
{
    const json_t *of_lanes = json_object_get(rates, "devices");
    size_t n;
    struct sorted *list = sort_rows(table, "device", "use_percent", view, &n);

    if (n)
        add(t, TOP_TITLE, "%-28s %9s %9s %9s %7s %11s %7s %8s %8s", "device", "RoIs/s", "p50 us",
            "p99 us", "use", "memory", "", "power", "mJ/RoI");
    for (size_t i = 0; i < n; i++) {
        const json_t *d = list[i].row, *r = find(of_lanes, "device", list[i].name);
        char v[8][32];

        add(t, TOP_PLAIN, "%-28.28s %9s %9s %9s %7s %11s %7s %8s %8s", list[i].name,
            short_number(number(r, "rois_per_s"), v[0], sizeof v[0]),
            short_number(number(r, "p50_us"), v[1], sizeof v[1]),
            short_number(number(r, "p99_us"), v[2], sizeof v[2]),
            told(d, "use_percent", " %", v[3], sizeof v[3]),
            told(d, "used_mbytes", " MiB", v[4], sizeof v[4]),
            told(d, "temperature_c", " C", v[5], sizeof v[5]),
            told(d, "power_w", " W", v[6], sizeof v[6]),
            told(d, "mj_per_roi", "", v[7], sizeof v[7]));
    }
    free(list);
}

/* Tables with a name, one rate and two quantiles. */
static void simple(struct top *t, const json_t *rates, const char *part, const char *name,
                   const char *rate, const struct top_view *view)
{
    size_t n;
    struct sorted *list = sort_rows(json_object_get(rates, part), name, rate, view, &n);

    if (n)
        add(t, TOP_TITLE, "%-28s %9s %9s %9s", name, rate[0] ? "RoIs/s" : "", "p50 us", "p99 us");
    for (size_t i = 0; i < n; i++) {
        char v[3][32];

        add(t, TOP_PLAIN, "%-28.28s %9s %9s %9s", list[i].name,
            rate[0] ? short_number(list[i].rate, v[0], sizeof v[0]) : "",
            short_number(number(list[i].row, "p50_us"), v[1], sizeof v[1]),
            short_number(number(list[i].row, "p99_us"), v[2], sizeof v[2]));
    }
    free(list);
}

static void nodes(struct top *t, const json_t *table, const struct top_view *view)
{
    size_t n;
    struct sorted *list = sort_rows(table, "node", "in_flight", view, &n);

    if (n)
        add(t, TOP_TITLE, "%-28s %-9s %9s %9s %9s %9s %8s", "node", "state", "in flight", "credits",
            "RoIs/s", "answered", "lost");
    for (size_t i = 0; i < n; i++) {
        const json_t *r = list[i].row;
        char v[3][32];

        add(t, !strcmp(text(r, "state"), "serving") ? TOP_GOOD : TOP_BAD,
            "%-28.28s %-9s %9.0f %9.0f %9s %9s %8s", list[i].name, text(r, "state"),
            number(r, "in_flight"), number(r, "credits"),
            short_number(number(r, "rate_per_s"), v[0], sizeof v[0]),
            short_number(number(r, "answered"), v[1], sizeof v[1]),
            short_number(number(r, "lost"), v[2], sizeof v[2]));
    }
    free(list);
}

/* ---------------------------------------------------------------- the whole */

static void note_received(struct top *t, double received)
{
    if (t->n_received == TOP_HISTORY)
        memmove(t->received, t->received + 1, sizeof t->received - sizeof *t->received);
    else
        t->n_received++;
    t->received[t->n_received - 1] = received;
}

int top_ask(struct top *t, const char *socket, const struct top_view *view, int timeout_s)
{
    json_t *info = NULL, *rates = NULL, *books = NULL, *more = NULL, *gpus = NULL;
    bool is_farm;
    char command[64];
    int r = ask(socket, "show info json", timeout_s, &info);

    snprintf(command, sizeof command, "show rates %s json", view->window);
    if (r == 0)
        r = ask(socket, command, timeout_s, &rates);
    if (r == 0)
        r = ask(socket, "show ledger json", timeout_s, &books);
    is_farm = !strcmp(text(info, "name"), "trigsup");
    if (r == 0)
        r = ask(socket, is_farm ? "show nodes json" : "show lanes json", timeout_s, &more);
    if (r == 0 && !is_farm)
        r = ask(socket, "show devices json", timeout_s, &gpus);
    if (r == 0) {
        const json_t *node = json_array_get(json_object_get(rates, "node"), 0);

        t->n = 0;
        note_received(t, number(node, "received_per_s"));
        head(t, info, node, view->window);
        ledger(t, books);
        history(t);
        if (is_farm)
            nodes(t, more, view);
        chains(t, rates, view);
        if (!is_farm)
            lanes(t, rates, more, view);
        if (!is_farm)
            devices(t, gpus, rates, view);
        simple(t, rates, "stages", "stage", "", view);
        simple(t, rates, "clients", "client", "received_per_s", view);
        simple(t, rates, "streams", "stream", "rois_per_s", view);
    }
    json_decref(info);
    json_decref(rates);
    json_decref(books);
    json_decref(more);
    json_decref(gpus);
    return r;
}
