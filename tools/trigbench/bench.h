/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the commands of trigbench share. */
#ifndef TRIGBENCH_BENCH_H
#define TRIGBENCH_BENCH_H
#include <stdint.h>
#include <stdio.h>

enum { EXIT_USAGE = 2, EXIT_FAILED = 3 };

#define LIST_MAX 16u
struct list { /* of numbers, "1,2,4" */
    uint64_t value[LIST_MAX];
    uint32_t n;
};

/* A list of numbers from min to max, or exits with a sentence. */
struct list bench_list(const char *option, const char *text, uint64_t min, uint64_t max);
/* One number. */
uint64_t bench_number(const char *option, const char *text, uint64_t min, uint64_t max);

/* The one that main was called with, for lines of docs/results. */
const char *bench_command(void);

/* The commands: argv[0] is the command's name. */
int device_main(int argc, char **argv);
int offer_main(int argc, char **argv);
#endif
