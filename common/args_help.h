/* SPDX-License-Identifier: Apache-2.0 */
/* args_help.h - what args.h knows of a program, for people and as JSON. */
#ifndef TRIGD_ARGS_HELP_H
#define TRIGD_ARGS_HELP_H
#include "args.h"

void args_print_help(const struct arg_program *p);
void args_describe(const struct arg_program *p);
#endif
