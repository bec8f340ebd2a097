/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - figures of a benchmark: their median, and a JSON line each for tools/report. */
#ifndef TRIGD_BENCH_RESULT_H
#define TRIGD_BENCH_RESULT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RESULT_RUNS_MAX 64u

struct result { /* one figure, measured several times */
    double run[RESULT_RUNS_MAX];
    uint32_t n;
};

/* Adds a run; those beyond the room are left out. */
void result_add(struct result *r, double value);
/* The median of the runs; 0 without any. */
double result_median(const struct result *r);
/* Half of the 95 % confidence interval of the median, from the order of the runs alone; up to five
 * runs: result_spread. */
double result_median_error(const struct result *r);
/* Half of the distance from the smallest to the largest run. */
double result_spread(const struct result *r);

/* The q-th quantile of n numbers, which it sorts; 0 of none. */
double result_quantile(double *values, size_t n, double q);

/* The binomial error of a part of n. */
double result_error(double part, double n);

struct results {         /* the figures of a program */
    const char *bench;   /* the part of the documentation that they belong to */
    const char *command; /* NULL: "bench_" and the above */
    const char *machine; /* NULL: TRIGD_MACHINE of the environment, or the host's name */
    const char *device;  /* NULL: "cpu" */
    bool has_table;      /* the program prints a table of its own: no rows on stdout */
    FILE *json;          /* NULL: none are written */
};

struct result_figure {
    const char *unit;
    bool higher_is_better;
    double goal;           /* 0: none */
    const char *baseline;  /* NULL: none */
    double baseline_value; /* 0: none */
    const char *device;    /* NULL: that of the results */
};

/* Prints a row (figure, device, value, spread, comparison) and writes one line, under a name in the
 * manner of printf.  The spread, half the way from the smallest to the largest of the runs or a
 * statistical error, is in the unit of the value.  The commit is TRIGD_COMMIT of the environment,
 * or "". */
void result_report_value(const struct results *out, const struct result_figure *f, double value,
                         double spread, uint32_t runs, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
void result_report(const struct results *out, const struct result_figure *f, const struct result *r,
                   const char *name, ...) __attribute__((format(printf, 4, 5)));

/* The end of main: closes the file of figures and prints an error of the program.  Its exit code.
 */
int result_end(const struct results *out, int r);
#endif
