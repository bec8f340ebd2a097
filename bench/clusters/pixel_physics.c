/* SPDX-License-Identifier: Apache-2.0 */
/* pixel_physics - hits of the plugin `pixels` beside the places where generated particles crossed
 * modules, and tracks of doublets and paths from these hits.
 *
 *     TRIGD_BUILD=build/release build/release/bench/pixel_physics [--help] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "crossings.h"
#include "result.h"

struct physics {
    struct results out;
    struct algo_host pixels, paths;
    const char *preset;
    uint32_t n, seed;
    struct crossings crossings;
    struct tally tally;
};

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "pixel_physics: %s failed\n", what);
    exit(1);
}

static struct answer answer_of(const struct physics *p, const char *duplicates,
                               const struct event *e)
{
    const char *const settings[] = {"duplicates", duplicates, NULL};
    struct trg_device *cpu;
    struct pa_config c;
    struct answer a;

    if (algo_configure(p->paths.plugin, "quadruplets", settings, &c) < 0 ||
        backends_device(p->paths.backends, "cpu", 0, &cpu) < 0 ||
        paths_run(&p->paths, cpu, &c, &e->roi, 1, 1, &a) < 0)
        fail("paths");
    return a;
}

static void add_event(struct physics *p, uint32_t i)
{
    static const char *const settings[] = {"preset", "pixel", NULL};
    struct generated *g = generated_new(p->preset, p->seed, i, 1);
    struct products found = {0};
    struct answer all, chosen;
    struct event e;

    if (!g || crossings_run(&p->pixels, g, 1, &found) < 0 ||
        crossings_add(&p->crossings, g, &found) < 0 || crossings_event(g, &found, &e) < 0 ||
        event_doublets(&p->paths, settings, &e.roi) < 0)
        fail("an event");
    all = answer_of(p, "keep", &e);
    chosen = answer_of(p, "remove", &e);
    tally_event(&p->tally, &e, &all, &chosen);
    answers_free(&all, 1);
    answers_free(&chosen, 1);
    event_fini(&e);
    products_fini(&found);
    generated_free(g, 1);
}

/* ---------------------------------------------------------------- figures */

static void tell(const struct physics *p, const char *figure, const char *unit,
                 bool higher_is_better, double value, double error, double n)
{
    result_report_value(&p->out,
                        &(struct result_figure){.unit = unit, .higher_is_better = higher_is_better},
                        value, error, (uint32_t)n, "%s, seed %u, %s", p->preset, p->seed, figure);
}

static void tell_part(const struct physics *p, const char *figure, bool higher_is_better,
                      double good, double of)
{
    const double part = of > 0 ? good / of : 0;

    tell(p, figure, "fraction", higher_is_better, part, result_error(part, of), of);
}

static void tell_width(const struct physics *p, const char *figure, const char *unit, double width,
                       const struct crossing_width *w, uint32_t n)
{
    double all = 0;

    for (uint32_t i = 0; i < n; i++)
        all += (double)w[i].n;
    tell(p, figure, unit, false, width, all > 0 ? width / sqrt(2 * all) : 0, all);
}

static void tell_all(const struct physics *p)
{
    static const char *const spans[] = {"one", "two", "more"};
    const struct crossings *c = &p->crossings;
    const struct tally *t = &p->tally;

    tell_part(p, "hits: efficiency", true, (double)c->found, (double)c->crossings);
    tell_part(p, "hits: purity", true, (double)c->true_hits, (double)c->hits);
    for (uint32_t k = 0; k < CROSSING_SPANS; k++) {
        char figure[64];

        snprintf(figure, sizeof figure, "hits: resolution along columns, %s", spans[k]);
        tell_width(p, figure, "um", crossings_resolution(&c->column[k], 1), &c->column[k], 1);
        snprintf(figure, sizeof figure, "hits: resolution along rows, %s", spans[k]);
        tell_width(p, figure, "um", crossings_resolution(&c->row[k], 1), &c->row[k], 1);
    }
    tell_width(p, "hits: resolution along columns", "um",
               crossings_resolution(c->column, CROSSING_SPANS), c->column, CROSSING_SPANS);
    tell_width(p, "hits: resolution along rows", "um", crossings_resolution(c->row, CROSSING_SPANS),
               c->row, CROSSING_SPANS);
    tell_width(p, "hits: width of the pulls along rows", "", crossings_pull(c->row, CROSSING_SPANS),
               c->row, CROSSING_SPANS);
    tell_part(p, "tracks: efficiency", true, t->candidates.good, t->candidates.of);
    tell_part(p, "tracks: fakes", false, t->fakes.good, t->fakes.of);
    tell_part(p, "tracks: duplicates", false, t->duplicates.good, t->duplicates.of);
}

int main(int argc, char **argv)
{
    struct physics p = {.out = {.bench = "physics-clusters", .command = "pixel_physics"},
                        .preset = "pixel50-charge",
                        .n = 100,
                        .seed = 20260503};
    const struct arg table[] = {
        {"preset", ARG_TEXT, &p.preset, 0, 0, "P", "of the generator (default pixel50-charge)"},
        {"events", ARG_U32, &p.n, 1, 100000, "N", "(default 100)"},
        {"seed", ARG_U32, &p.seed, 1, UINT32_MAX, "N", "of the events"},
        {"json", ARG_APPEND, &p.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int args = args_parse(argc, argv, NULL, table);

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    if (algo_host_open(&p.pixels, "pixels") < 0 || algo_host_open(&p.paths, "paths") < 0)
        return 1;
    for (uint32_t i = 0; i < p.n; i++)
        add_event(&p, i);
    tell_all(&p);
    algo_host_close(&p.pixels);
    algo_host_close(&p.paths);
    return result_end(&p.out, 0);
}
