/* SPDX-License-Identifier: Apache-2.0 */
/* vertexing_physics - vertices against the truth: efficiency, false rate and resolution of primary
 * vertices, efficiency for b decays, what each cut leaves of the graph.
 *
 *     TRIGD_BUILD=build/release build/release/bench/vertexing_physics --help
 *
 * `--file` may be given several times: the events of all, as of collisions with b quarks and
 * without.  KEY=VALUE are parameters of the plugin, PLUGIN.KEY=VALUE of the finder. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "curve.h"
#include "graph.h"
#include "result.h"
#include "results.h"
#include "score.h"
#include "source.h"
#include "table.h"

#define SETTINGS_MAX 64

struct options {
    const char *preset, *finder, *config, *label, *curve, *table, *features, *pairs, *graph;
    struct arg_texts files;
    FILE *json;
    uint32_t n;
    uint64_t seed;
    const char *set[2 * SETTINGS_MAX + 1], *finder_set[2 * SETTINGS_MAX + 1];
};

/* KEY=VALUE into the list of the plugin, or of the finder when KEY begins with its name. */
static bool add_setting(struct options *o, char *text, uint32_t *n, uint32_t *n_finder)
{
    char *value = strchr(text, '=');
    size_t length = strlen(o->finder ? o->finder : "");
    bool is_finder = length && !strncmp(text, o->finder, length) && text[length] == '.';
    const char **list = is_finder ? o->finder_set : o->set;
    uint32_t *at = is_finder ? n_finder : n;

    if (!value || *at >= 2 * SETTINGS_MAX)
        return false;
    *value = 0;
    list[(*at)++] = is_finder ? text + length + 1 : text;
    list[(*at)++] = value + 1;
    return true;
}

static int parse(int argc, char **argv, struct options *o)
{
    const struct arg table[] = {
        {"preset", ARG_TEXT, &o->preset, 0, 0, "NAME", "of trigreplay (default velo-tracks)"},
        {"file", ARG_TEXTS, &o->files, 0, 0, "FILE.roi", "events of a file; may be repeated"},
        {"table", ARG_TEXT, &o->table, 0, 0, "FILE", "events of a table of tracks"},
        {"finder", ARG_TEXT, &o->finder, 0, 0, "PLUGIN", "that makes the tracks"},
        {"events", ARG_U32, &o->n, 1, UINT32_MAX, "N", "generated (default 1000)"},
        {"seed", ARG_U64, &o->seed, 0, 0, "S", "of those"},
        {"config", ARG_TEXT, &o->config, 0, 0, "PRESET", "of the plugin"},
        {"label", ARG_TEXT, &o->label, 0, 0, "TEXT", "of the figures (default: the preset)"},
        {"json", ARG_APPEND, &o->json, 0, 0, "FILE", "append figures, one a line"},
        {"curve", ARG_TEXT, &o->curve, 0, 0, "FILE", "efficiency against purity"},
        {"features", ARG_TEXT, &o->features, 0, 0, "FILE", "of candidates, for training"},
        {"pairs", ARG_TEXT, &o->pairs, 0, 0, "FILE", "of tracks, for training"},
        {"graph", ARG_TEXT, &o->graph, 0, 0, "FILE", "of the first event"},
        {0}};
    uint32_t n = 0, n_finder = 0;
    int words, r = args_parse_words(argc, argv, "[OPTION ...] [KEY=VALUE ...]", table, &words);

    for (int i = 1; r == ARGS_OK && i <= words; i++)
        if (!add_setting(o, argv[i], &n, &n_finder)) {
            fprintf(stderr, "vertexing_physics: \"%s\" is no parameter: KEY=VALUE is allowed\n",
                    argv[i]);
            r = ARGS_WRONG;
        }
    return r;
}

/* Appends the events of a file. */
static int add_file(const char *path, struct finder *f, struct event **events, uint32_t *n)
{
    struct event *more = NULL, *all;
    uint32_t n_more = 0;
    int r = source_read(path, f, &more, &n_more);

    if (r < 0)
        return r;
    all = realloc(*events, ((size_t)*n + n_more + 1) * sizeof *all);
    if (!all) {
        source_free(more, n_more);
        return -ENOMEM;
    }
    if (n_more)
        memcpy(all + *n, more, n_more * sizeof *all);
    free(more);
    *events = all;
    *n += n_more;
    return 0;
}

static int load(const struct options *o, const struct algo_host *h, struct event **ret_events,
                uint32_t *ret_n)
{
    struct finder *f = NULL;
    struct trg_device *cpu;
    int r = backends_device(h->backends, "cpu", 0, &cpu);

    if (r == 0 && o->finder)
        r = finder_open(h, o->finder, cpu, o->finder_set, &f);
    for (uint32_t i = 0; r == 0 && i < o->files.n; i++)
        r = add_file(o->files.text[i], f, ret_events, ret_n);
    if (r == 0 && o->table)
        r = table_read(o->table, ret_events, ret_n);
    else if (r == 0 && !o->files.n) {
        struct event *e = calloc(o->n, sizeof *e);

        r = e ? source_generate(o->preset, o->seed, 0, o->n, f, e) : -1;
        *ret_events = e;
        *ret_n = o->n;
    }
    finder_close(f);
    return r;
}

static void tell_primaries(const struct score *s)
{
    const struct {
        const char *what;
        uint32_t part, all;
        const char *better;
        double goal;
    } list[] = {{"primary vertices found", s->all_found, s->all, "higher", 0.944},
                {"isolated ones found", s->isolated_found, s->isolated, "higher", 0.986},
                {"close ones found", s->close_found, s->close, "higher", 0.901},
                {"collisions of two tracks, a vertex within 1 mm", s->near, s->pairs, "higher", 0},
                {"collisions of four tracks, a vertex within 1 mm", s->near4, s->all, "higher", 0},
                {"false primary vertices", s->false_ones, s->reconstructed, "lower", 0.009},
                {"b decays with a candidate", s->b_found, s->b_decays, "higher", 0}};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        double error, p = score_ratio(list[i].part, list[i].all, &error);

        if (list[i].all)
            result_ratio(list[i].what, p, error, list[i].all, list[i].better, list[i].goal);
    }
}

static int rising(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* How many events a limit stopped, and what those wanted. */
static int tell_truncated(const struct vx_answer *a, uint32_t n)
{
    uint32_t *wanted = calloc(n + 1u, sizeof *wanted), m = 0;
    double error, p;

    if (!wanted)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        if (a[i].result.status == TRG_TRUNCATED)
            wanted[m++] = a[i].result.wanted;
    qsort(wanted, m, sizeof *wanted, rising);
    p = score_ratio(m, n, &error);
    result_ratio("events that a limit truncates", p, error, n, "lower", 1e-4);
    if (m) {
        const uint32_t half = m / 2, p99 = m - 1 - m / 100, p9999 = m - 1 - m / 10000;

        result_number("asked for by events that are truncated, median", wanted[half], "", m);
        result_number("asked for by events that are truncated, 99 %", wanted[p99], "", m);
        result_number("asked for by events that are truncated, 99.99 %", wanted[p9999], "", m);
        result_number("asked for by events that are truncated, most", wanted[m - 1], "", m);
    }
    free(wanted);
    return 0;
}

static void tell_resolution(const struct score *s)
{
    static const char *const axis[] = {"x", "y", "z"};

    for (uint32_t b = 0; b < SCORE_BINS; b++) {
        const uint32_t of = s->bin[b].n + s->bin[b].left_out;
        double error, part = score_ratio(s->bin[b].left_out, of, &error);
        char left_out[96];

        snprintf(left_out, sizeof left_out,
                 "beyond 10 sigmas, not in resolution and pull, %u tracks or more",
                 score_bin_low[b]);
        if (of)
            result_ratio(left_out, part, error, of, "lower", 0);
        for (uint32_t c = 0; c < 3 && s->bin[b].n; c++) {
            const double n = s->bin[b].n, sigma = sqrt(s->bin[b].sum2[c] / n);
            char what[96];

            snprintf(what, sizeof what, "resolution in %s, %u tracks or more, pull %.2f", axis[c],
                     score_bin_low[b], sqrt(s->bin[b].pull2[c] / n));
            result_length(what, 1e3 * sigma, 1e3 * sigma / sqrt(2 * n), s->bin[b].n);
        }
    }
}

/* How many pairs are left after each cut, for each pair before the first. */
static void tell_graph(const struct vx_answer *a, uint32_t n)
{
    static const char *const what[] = {"pairs that are adjacent, an event",
                                       "left by the origin cut", "left by the radial cut",
                                       "left by the cylinder cut", "left by the angle cut"};
    double left = 0;

    for (uint32_t k = 0; k < 5; k++) {
        double sum = 0;

        for (uint32_t i = 0; i < n; i++)
            sum += (double)a[i].result.value[10 + k];
        left = k ? left - sum : sum;
        result_number(what[k], left / n, "pairs", n);
    }
}

static int run(const struct options *o, const struct algo_host *h, const struct vx_config *c,
               const struct event *e, uint32_t n)
{
    struct trg_device *cpu;
    struct vx_answer *a = NULL;
    struct batches *b = NULL;
    struct score s = {0};
    double best = INFINITY, tracks = 0;
    int r = backends_device(h->backends, "cpu", 0, &cpu);

    if (r == 0)
        r = vx_answers_new(n, &a);
    if (r == 0)
        r = vx_open(h, cpu, c, 64, 200000, &b);
    for (int round = 0; r == 0 && round < 5; round++) {
        double start = (double)clock_ns();

        r = vx_run(b, e, n, a);
        best = fmin(best, ((double)clock_ns() - start) * 1e-3 / n);
    }
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        score_add(&s, &e[i], &a[i]);
        tracks += e[i].n;
    }
    if (r == 0) {
        printf("%s: %u events, %.1f tracks, %.2f us an event on one core\n",
               o->label     ? o->label
               : o->table   ? o->table
               : o->files.n ? o->files.text[0]
                            : o->preset,
               n, tracks / n, best);
        tell_primaries(&s);
        r = tell_truncated(a, n);
        tell_resolution(&s);
        tell_graph(a, n);
        if (r == 0 && c->beam_line == VX_BEAM_FIXED && e->vertex)
            r = graph_table(c, e, a, n);
        if (r == 0 && o->graph)
            r = graph_write(o->graph, c, &e[0], &a[0]);
        if (o->curve)
            r = curve_write(o->curve, o->label, e, a, n);
        if (r == 0 && o->features)
            r = curve_features(o->features, c, e, a, n);
        if (r == 0 && o->pairs)
            r = curve_pairs(o->pairs, c, e, a, n);
    }
    batches_close(b);
    vx_answers_free(a, n);
    return r;
}

int main(int argc, char **argv)
{
    struct options o = {.preset = "velo-tracks", .n = 1000, .seed = 20260101};
    struct event *events = NULL;
    struct vx_config c;
    struct algo_host h;
    uint32_t n = 0;
    int r = parse(argc, argv, &o);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (algo_host_open(&h, "vertexing") < 0 || algo_configure(h.plugin, o.config, o.set, &c) < 0)
        return 1;
    results_open(o.json, o.label ? o.label : o.preset);
    r = load(&o, &h, &events, &n);
    if (r == 0)
        r = run(&o, &h, &c, events, n);
    source_free(events, n);
    algo_host_close(&h);
    return results_close(r);
}
