/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void result_add(struct result *r, double value)
{
    if (r->n < RESULT_RUNS_MAX)
        r->run[r->n++] = value;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct result sorted(const struct result *r)
{
    struct result s = *r;

    qsort(s.run, s.n, sizeof *s.run, by_size);
    return s;
}

double result_median(const struct result *r)
{
    struct result s = sorted(r);

    if (!s.n)
        return 0;
    return 0.5 * (s.run[(s.n - 1) / 2] + s.run[s.n / 2]);
}

double result_spread(const struct result *r)
{
    struct result s = sorted(r);

    return s.n ? 0.5 * (s.run[s.n - 1] - s.run[0]) : 0;
}

double result_median_error(const struct result *r)
{
    const struct result s = sorted(r);
    const double below = 0.5 * (s.n - 1.96 * sqrt(s.n)); /* so many runs are below the interval */
    const uint32_t low = below > 1 ? (uint32_t)below - 1 : 0;

    return s.n ? 0.5 * (s.run[s.n - 1 - low] - s.run[low]) : 0;
}

double result_quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, by_size);
    return n ? values[(size_t)(q * (double)(n - 1) + 0.5)] : 0;
}

double result_error(double part, double n)
{
    return n > 0 ? sqrt(fmax(part * (1 - part), 1 / n) / n) : 0;
}

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value && *value ? value : otherwise;
}

static const char *device_of(const struct results *out, const struct result_figure *f)
{
    return f->device ? f->device : out->device ? out->device : "cpu";
}

static void print_command(const struct results *out, FILE *to)
{
    fprintf(to, "%s%s", out->command ? "" : "bench_", out->command ? out->command : out->bench);
}

static void write_line(const struct results *out, const struct result_figure *f, const char *name,
                       double value, double spread, uint32_t runs)
{
    char date[32] = "", machine[65] = "";
    FILE *json = out->json;
    time_t now = time(NULL);
    struct tm utc;

    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gethostname(machine, sizeof machine - 1);
    fprintf(json, "{\"bench\": \"%s\", \"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"",
            out->bench, name, value, f->unit);
    fprintf(json, ", \"better\": \"%s\"", f->higher_is_better ? "higher" : "lower");
    if (f->goal > 0)
        fprintf(json, ", \"goal\": %.6g", f->goal);
    if (f->baseline && f->baseline_value > 0)
        fprintf(json, ", \"baseline\": {\"name\": \"%s\", \"value\": %.6g}", f->baseline,
                f->baseline_value);
    fprintf(json, ", \"runs\": %u, \"spread\": %.3g", runs, spread);
    fprintf(json, ", \"machine\": \"%s\", \"device\": \"%s\"",
            out->machine ? out->machine : variable("TRIGD_MACHINE", machine), device_of(out, f));
    fprintf(json, ", \"commit\": \"%s\", \"date\": \"%s\", \"command\": \"",
            variable("TRIGD_COMMIT", ""), date);
    print_command(out, json);
    fputs("\"}\n", json);
    fflush(json); /* stays when the program is stopped */
}

static void print_row(const struct results *out, const struct result_figure *f, const char *name,
                      double value, double spread)
{
    printf("%-66s %-28.28s %12.5g %-8s +- %4.1f %%", name, device_of(out, f), value, f->unit,
           value > 0 ? 100 * spread / value : 0);
    if (f->baseline && f->baseline_value > 0 && value > 0)
        printf("  %.3g x %s",
               f->higher_is_better ? value / f->baseline_value : f->baseline_value / value,
               f->baseline);
    if (f->goal > 0)
        printf("  goal %s %.4g: %s", f->higher_is_better ? ">=" : "<=", f->goal,
               (f->higher_is_better ? value >= f->goal : value <= f->goal) ? "met" : "not met");
    putchar('\n');
    fflush(stdout);
}

static void report(const struct results *out, const struct result_figure *f, double value,
                   double spread, uint32_t runs, const char *name, va_list args)
{
    char text[400];

    vsnprintf(text, sizeof text, name, args);
    if (!out->has_table)
        print_row(out, f, text, value, spread);
    if (out->json)
        write_line(out, f, text, value, spread, runs);
}

void result_report_value(const struct results *out, const struct result_figure *f, double value,
                         double spread, uint32_t runs, const char *name, ...)
{
    va_list args;

    va_start(args, name);
    report(out, f, value, spread, runs, name, args);
    va_end(args);
}

void result_report(const struct results *out, const struct result_figure *f, const struct result *r,
                   const char *name, ...)
{
    va_list args;

    va_start(args, name);
    report(out, f, result_median(r), result_spread(r), r->n, name, args);
    va_end(args);
}

int result_end(const struct results *out, int r)
{
    if (out->json && fclose(out->json) != 0 && r == 0)
        r = -errno;
    if (r < 0) {
        print_command(out, stderr);
        fprintf(stderr, ": %s\n", strerror(-r));
    }
    return r < 0;
}
