/* SPDX-License-Identifier: Apache-2.0 */
#include "config/command_line.h"

#include <stdio.h>

#include "base/audit.h"
#include "log.h"
#include "logsink.h"

int command_line_end(struct command_line *o, const struct arg_program *program, int parsed,
                     int words)
{
    if (parsed != ARGS_OK)
        return parsed == ARGS_HELP ? EXIT_CLEAN : EXIT_USAGE;
    if (o->check)
        o->config = o->check;
    if (o->config && !words)
        return -1;
    if (words)
        fprintf(stderr, "%s: --config or --check names the file; other words are not allowed\n",
                program->name);
    args_print_usage(program, stderr);
    return EXIT_USAGE;
}

int command_line_run(const struct command_line *o, const struct config *c, const char *component,
                     int (*check)(const struct config *c),
                     int (*serve)(const struct config *c, const char *path))
{
    int r;

    if (log_take(component, o->level ? o->level : c->log.level,
                 o->check ? "logfmt" : c->log.format) < 0)
        r = EXIT_USAGE;
    else if (o->check)
        r = check(c) < 0 ? EXIT_CONFIG : EXIT_CLEAN;
    else
        r = serve(c, o->config);
    logsink_stop(LOG_MS);
    audit_close();
    return r;
}
