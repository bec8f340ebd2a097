/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - what was measured, as lines for people and, where wished, as JSON objects. */
#ifndef VX_RESULTS_H
#define VX_RESULTS_H
#include <stdint.h>
#include <stdio.h>

/* Where the lines of a sample go; `json` NULL: the table alone. */
void results_open(FILE *json, const char *sample);
int results_close(int r); /* result_end */
void result_ratio(const char *what, double value, double error, uint32_t of, const char *better,
                  double goal);
void result_length(const char *what, double um, double error, uint32_t of);
void result_number(const char *what, double value, const char *unit, uint32_t of);
#endif
