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
/* Half of the distance from the smallest to the largest run. */
double result_spread(const struct result *r);

/* The q-th quantile of n numbers, which it sorts; 0 of none. */
double result_quantile(double *values, size_t n, double q);

/* The binomial error of a part of n. */
double result_error(double part, double n);

struct result_figure {
    const char *bench, *figure, *unit, *command;
    bool higher_is_better;
    double goal;          /* 0: none */
    const char *baseline; /* NULL: none */
    double baseline_value;
    const char *machine; /* NULL: TRIGD_MACHINE of the environment, or the host's name */
    const char *device;  /* NULL: "cpu" */
};
/* Writes one line; nothing when `json` is NULL.  The spread, half the way from the smallest to the
 * largest of the runs or a statistical error, is in the unit of the value.  The commit is
 * TRIGD_COMMIT of the environment, or "". */
void result_write_value(FILE *json, const struct result_figure *f, double value, double spread,
                        uint32_t runs);
void result_write(FILE *json, const struct result_figure *f, const struct result *r);
/* The same, after a row on stdout: figure, device, value, spread, what it is compared with. */
void result_report_value(FILE *json, const struct result_figure *f, double value, double spread,
                         uint32_t runs);
void result_report(FILE *json, const struct result_figure *f, const struct result *r);

/* The end of main: closes the file of figures and prints an error of the program.  Its exit code.
 */
int result_end(FILE *json, const char *program, int r);
#endif
