/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    FILE *json;
    const char *bench, *sample, *command;
} out;

int results_open(const char *json, const char *bench, const char *sample, const char *command)
{
    out.bench = bench;
    out.sample = sample;
    out.command = command;
    out.json = json ? fopen(json, "a") : NULL;
    return json && !out.json ? -errno : 0;
}

int results_close(void)
{
    return out.json && fclose(out.json) ? -errno : 0;
}

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value ? value : otherwise;
}

static void line(const char *what, double value, double error, const char *unit, const char *better,
                 double goal, uint32_t of)
{
    char date[32], goal_text[48] = "";
    time_t now = time(NULL);

    if (!out.json)
        return;
    if (goal > 0)
        snprintf(goal_text, sizeof goal_text, "\"goal\":%g,", goal);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out.json,
            "{\"bench\":\"%s\",\"figure\":\"%s: %s\",\"value\":%.6g,\"unit\":\"%s\","
            "\"better\":\"%s\",%s\"runs\":%u,\"spread\":%.3g,\"machine\":\"%s\",\"device\":\"any\","
            "\"commit\":\"%s\",\"date\":\"%s\",\"command\":\"%s\"}\n",
            out.bench, out.sample, what, value, unit, better, goal_text, of, error,
            environment("TRIGD_MACHINE", "any"), environment("TRIGD_COMMIT", ""), date,
            out.command);
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
