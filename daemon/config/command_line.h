/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - what trigd and trigsup share from their command line to their exit code.
 *
 * Order: args_parse_program, with rows for --config, --check and --log; command_line_end;
 * config_load; command_line_run; config_free. */
#ifndef TRIGD_COMMAND_LINE_H
#define TRIGD_COMMAND_LINE_H
#include "args.h"
#include "config/config.h"

#define LOG_MS 1000u /* longest wait for the last log lines to leave */

enum exit_code {
    EXIT_CLEAN = 0,
    EXIT_USAGE = 2,
    EXIT_CONFIG = 64,
    EXIT_START = 69,
    EXIT_STUCK = 72
};

struct command_line {
    const char *config, *check; /* files; after command_line_end `config` is either */
    const char *level;          /* of the log; NULL: as configured */
};

/* The end of parsing, from the answer of args_parse_program and its number of words: one file must
 * be named, and nothing else.  The exit code, or -1 to go on. */
int command_line_end(struct command_line *o, const struct arg_program *program, int parsed,
                     int words);

/* Opens the log of `component`, checks or serves, and waits for the last log lines.  The exit code:
 * that of `serve`; a negative number of `check` is EXIT_CONFIG. */
int command_line_run(const struct command_line *o, const struct config *c, const char *component,
                     int (*check)(const struct config *c),
                     int (*serve)(const struct config *c, const char *path));
#endif
