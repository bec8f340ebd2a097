/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the commands of trigbench share. */
#ifndef TRIGBENCH_BENCH_H
#define TRIGBENCH_BENCH_H
#include <stdint.h>
#include <stdio.h>

enum { EXIT_USAGE = 2, EXIT_FAILED = 3 };

/* Keeps the command line, for lines of docs/results; the script that calls may name another. */
void bench_keep_command(int argc, char **argv);
const char *bench_command(void);

/* The commands: argv[0] is the command's name. */
int device_main(int argc, char **argv);
int offer_main(int argc, char **argv);
#endif
