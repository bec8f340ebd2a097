/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <errno.h>
#include <math.h>
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

void result_write_value(FILE *json, const struct result_figure *f, double value, double spread,
                        uint32_t runs)
{
    char date[32] = "", machine[65] = "";
    time_t now = time(NULL);
    struct tm utc;

    if (!json)
        return;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gethostname(machine, sizeof machine - 1);
    fprintf(json, "{\"bench\": \"%s\", \"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"",
            f->bench, f->figure, value, f->unit);
    fprintf(json, ", \"better\": \"%s\"", f->higher_is_better ? "higher" : "lower");
    if (f->goal > 0)
        fprintf(json, ", \"goal\": %.6g", f->goal);
    if (f->baseline)
        fprintf(json, ", \"baseline\": {\"name\": \"%s\", \"value\": %.6g}", f->baseline,
                f->baseline_value);
    fprintf(json, ", \"runs\": %u, \"spread\": %.3g", runs, spread);
    fprintf(json, ", \"machine\": \"%s\", \"device\": \"%s\"",
            f->machine ? f->machine : variable("TRIGD_MACHINE", machine),
            f->device ? f->device : "cpu");
    fprintf(json, ", \"commit\": \"%s\", \"date\": \"%s\", \"command\": \"%s\"}\n",
            variable("TRIGD_COMMIT", ""), date, f->command);
}

void result_write(FILE *json, const struct result_figure *f, const struct result *r)
{
    result_write_value(json, f, result_median(r), result_spread(r), r->n);
}

void result_report_value(FILE *json, const struct result_figure *f, double value, double spread,
                         uint32_t runs)
{
    printf("%-66s %-28.28s %12.5g %-8s +- %4.1f %%", f->figure, f->device ? f->device : "cpu",
           value, f->unit, value > 0 ? 100 * spread / value : 0);
    if (f->baseline && f->baseline_value > 0 && value > 0)
        printf("  %.3g x %s",
               f->higher_is_better ? value / f->baseline_value : f->baseline_value / value,
               f->baseline);
    if (f->goal > 0)
        printf("  goal %s %.4g: %s", f->higher_is_better ? ">=" : "<=", f->goal,
               (f->higher_is_better ? value >= f->goal : value <= f->goal) ? "met" : "not met");
    putchar('\n');
    fflush(stdout);
    result_write_value(json, f, value, spread, runs);
}

void result_report(FILE *json, const struct result_figure *f, const struct result *r)
{
    result_report_value(json, f, result_median(r), result_spread(r), r->n);
}

int result_end(FILE *json, const char *program, int r)
{
    if (json && fclose(json) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        fprintf(stderr, "%s: %s\n", program, strerror(-r));
    return r < 0;
}
