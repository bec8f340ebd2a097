/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <stdio.h>
#include <string.h>

#include "result.h"

static struct results out = {.bench = "physics-vertexing",
                             .command = "vertexing_physics",
                             .machine = "any",
                             .device = "any",
                             .has_table = true};
static const char *sample;

void results_open(FILE *json, const char *of)
{
    out.json = json;
    sample = of;
}

int results_close(int r)
{
    return result_end(&out, r);
}

static void line(const char *what, double value, double error, const char *unit, const char *better,
                 double goal, uint32_t of)
{
    result_report_value(&out,
                        &(struct result_figure){.unit = unit,
                                                .higher_is_better = !strcmp(better, "higher"),
                                                .goal = goal},
                        value, error, of, "%s: %s", sample, what);
}

void result_ratio(const char *what, double value, double error, uint32_t of, const char *better,
                  double goal)
{
    printf("  %-48s %7.4f +- %.4f  of %u", what, value, error, of);
    printf(goal > 0 ? "  (goal %.3f)\n" : "\n", goal);
    line(what, value, error, "fraction", better, goal, of);
}

void result_length(const char *what, double um, double error, uint32_t of)
{
    printf("  %-48s %7.1f +- %.1f um  of %u\n", what, um, error, of);
    line(what, um, error, "um", "lower", 0, of);
}

void result_number(const char *what, double value, const char *unit, uint32_t of)
{
    printf("  %-48s %9.2f %s\n", what, value, unit);
    line(what, value, 0, unit, "lower", 0, of);
}
