/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <stdio.h>
#include <string.h>

#include "result.h"

static struct {
    FILE *json;
    const char *bench, *sample, *command;
} out;

void results_open(FILE *json, const char *bench, const char *sample, const char *command)
{
    out.json = json;
    out.bench = bench;
    out.sample = sample;
    out.command = command;
}

static void line(const char *what, double value, double error, const char *unit, const char *better,
                 double goal, uint32_t of)
{
    char text[200];

    snprintf(text, sizeof text, "%s: %s", out.sample, what);
    result_write_value(out.json,
                       &(struct result_figure){.bench = out.bench,
                                               .figure = text,
                                               .unit = unit,
                                               .command = out.command,
                                               .higher_is_better = !strcmp(better, "higher"),
                                               .goal = goal,
                                               .machine = "any",
                                               .device = "any"},
                       value, error, of);
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
