/* SPDX-License-Identifier: Apache-2.0 */
/* paths_physics: efficiencies, fakes and duplicates of generated events against the truth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "result.h"
#include "truth.h"

static struct algo_host host;
static uint64_t seed = 1001; /* nothing was tuned on it */
static const char *doublet_settings[64] = {NULL};
static const char *path_settings[64] = {NULL};

static void set(struct pa_config *c)
{
    if (algo_configure(host.plugin, NULL, path_settings, c) < 0)
        exit(2);
}

static void run(const struct pa_config *c, const struct event *e, struct answer *ret)
{
    struct trg_device *cpu;

    if (backends_device(host.backends, "cpu", 0, &cpu) < 0 ||
        paths_run(&host, cpu, c, &e->roi, 1, 1, ret) < 0) {
        fprintf(stderr, "paths_physics: the plugin failed\n");
        exit(1);
    }
    if (ret->result.status != TRG_OK)
        printf("# truncated: %u of %u kept\n", ret->result.kept, ret->result.wanted);
}

struct sums {
    double hits, doublets, links, paths, candidates;
};

static void judge(const struct event *e, struct tally *t, struct sums *s)
{
    struct pa_config all, chosen;
    struct answer a, b;

    set(&chosen);
    all = chosen;
    all.duplicates = 0;
    all.chi2_max = all.d0_max_mm = all.z0_max_mm = all.pt_cut_gev = 0;
    all.max_candidates = 1u << 24;
    run(&all, e, &a);
    run(&chosen, e, &b);
    tally_event(t, e, &a, &b);
    s->hits += e->roi.n_hits;
    s->doublets += e->roi.n_doublets;
    s->links += (double)b.result.value[7];
    s->paths += (double)b.result.value[8];
    s->candidates += b.n;
    answers_free(&a, 1);
    answers_free(&b, 1);
}

static void measure(const char *preset, uint32_t n, struct tally *t, struct sums *s)
{
    for (uint32_t i = 0; i < n; i++) {
        struct event e;

        if (event_make(&host, preset, seed, i, doublet_settings, &e) < 0)
            exit(1);
        judge(&e, t, s);
        event_fini(&e);
    }
}

static double ratio(struct fraction f)
{
    return f.of > 0 ? f.good / f.of : 0;
}

static double error(struct fraction f)
{
    double p = ratio(f);

    return f.of > 0 ? sqrt(fmax(p * (1 - p), 1 / f.of / 4) / f.of) : 0;
}

static struct results out = {
    .bench = "physics-paths", .command = "paths_physics", .machine = "any", .has_table = true};

static void line(const char *preset, const char *figure, struct fraction f, bool higher,
                 double goal, uint32_t runs)
{
    printf("  %-22s %7.4f +- %.4f\n", figure, ratio(f), error(f));
    result_report_value(
        &out, &(struct result_figure){.unit = "fraction", .higher_is_better = higher, .goal = goal},
        ratio(f), error(f), runs, "%s: %s", preset, figure);
}

static void curves(FILE *csv, const char *preset, const struct tally *t)
{
    const struct {
        const char *what;
        const struct fraction *pt, *eta;
    } list[] = {{"doublets", t->doublets_pt, t->doublets_eta},
                {"paths", t->paths_pt, t->paths_eta},
                {"candidates", t->candidates_pt, t->candidates_eta}};

    for (int k = 0; csv && k < 3; k++)
        for (uint32_t b = 0; b < TALLY_BINS; b++)
            fprintf(csv, "%s,%s,%.3f,%.0f,%.0f,%.2f,%.0f,%.0f\n", preset, list[k].what, tally_pt(b),
                    list[k].pt[b].of, list[k].pt[b].good, tally_eta(b), list[k].eta[b].of,
                    list[k].eta[b].good);
}

static void tabulate(const char *preset, uint32_t n, const struct tally *t, const struct sums *s)
{
    double high = !strcmp(preset, "pixel200") ? 0.9 : 0.95;

    printf(
        "%s: %u events; mean hits %.0f, doublets %.0f, links %.0f, paths %.0f, candidates %.0f\n",
        preset, n, s->hits / n, s->doublets / n, s->links / n, s->paths / n, s->candidates / n);
    line(preset, "doublet efficiency", t->doublets, true, 0, n);
    line(preset, "path efficiency", t->paths, true, 0, n);
    line(preset, "candidate efficiency", t->candidates, true, high, n);
    line(preset, "fakes", t->fakes, false, !strcmp(preset, "pixel50") ? 0.1 : 0, n);
    line(preset, "duplicates", t->duplicates, false, 0, n);
    printf("  rms: pT %.3f, d0 %.3f mm, z0 %.3f mm\n", sqrt(t->pt_square / t->n_pt),
           sqrt(t->d0_square / t->n_pt), sqrt(t->z0_square / t->n_pt));
}

static void report(const char *preset, uint32_t n, FILE *csv)
{
    struct sums s = {0};
    struct tally *t = calloc(1, sizeof *t);

    if (!t)
        exit(1);
    measure(preset, n, t, &s);
    tabulate(preset, n, t, &s);
    curves(csv, preset, t);
    free(t);
}

/* TrackML's own simulation, in its field: what the plugins' detector is not. */
static void report_trackml(void)
{
    static const char *const field[] = {"field_t", "2", NULL};
    struct tally *t = calloc(1, sizeof *t);
    struct sums s = {0};
    struct event e;

    if (!t)
        exit(1);
    if (truth_event(&host, field, &e) < 0) {
        printf("# TrackML event 1 is not there (TRIGD_DATA)\n");
    } else {
        path_settings[0] = "field_t";
        path_settings[1] = "2";
        judge(&e, t, &s);
        tabulate("TrackML event 1", 1, t, &s);
        event_fini(&e);
    }
    free(t);
}

/* "key=value" into a list of settings. */
static void take(const char **list, const char *text)
{
    char *key = strdup(text), *value = key ? strchr(key, '=') : NULL; /* kept to the end */

    while (*list)
        list += 2;
    if (!value)
        exit(2);
    *value = 0;
    list[0] = key;
    list[1] = value + 1;
    list[2] = NULL;
}

int main(int argc, char **argv)
{
    static const char *const presets[] = {"pixel", "pixel50", "pixel140", "pixel200"};
    uint32_t events[] = {1000, 300, 100, 60};
    const char *only = NULL;
    bool quick = false;
    FILE *csv = NULL;
    struct arg_texts doublets = {.n = 0}, paths = {.n = 0};
    const struct arg table[] = {
        {"quick", ARG_FLAG, &quick, 0, 0, NULL, "few events"},
        {"seed", ARG_U64, &seed, 0, 0, "N", "of the events"},
        {"only", ARG_TEXT, &only, 0, 0, "SAMPLE", "pixel, pixel50, pixel140, pixel200 or trackml"},
        {"doublets", ARG_TEXTS, &doublets, 0, 0, "KEY=VALUE", "parameter of doublets, repeatable"},
        {"paths", ARG_TEXTS, &paths, 0, 0, "KEY=VALUE", "parameter of paths, repeatable"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {"csv", ARG_APPEND, &csv, 0, 0, "FILE", "append efficiencies for the plot"},
        {0}};
    const int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    for (uint32_t i = 0; i < doublets.n; i++)
        take(doublet_settings, doublets.text[i]);
    for (uint32_t i = 0; i < paths.n; i++)
        take(path_settings, paths.text[i]);
    for (uint32_t i = 0; quick && i < 4; i++)
        events[i] = i ? 2 : 20;
    if (algo_host_open(&host, "paths") < 0)
        return 1;
    if (csv)
        fprintf(csv, "preset,what,pt_gev,pt_of,pt_good,eta,eta_of,eta_good\n");
    for (uint32_t i = 0; i < 4; i++)
        if (!only || !strcmp(only, presets[i]))
            report(presets[i], events[i], csv);
    if (!only || !strcmp(only, "trackml"))
        report_trackml();
    algo_host_close(&host);
    return result_end(&out, 0) || (csv && fclose(csv));
}
