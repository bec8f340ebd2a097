/* SPDX-License-Identifier: Apache-2.0 */
/* trigsup - reads the options and the configuration, runs the supervisor. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/audit.h"
#include "base/signals.h"
#include "config/command_line.h"
#include "desk.h"
#include "log.h"
#include "logsink.h"
#include "supervisor.h"

/* Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv, struct command_line *o)
{
    const struct arg table[] = {{"config", ARG_TEXT, &o->config, 0, 0, "FILE",
                                 "run with this configuration (docs/configuration.md)"},
                                {"c", ARG_TEXT, &o->config, 0, 0, NULL, NULL},
                                {"check", ARG_TEXT, &o->check, 0, 0, "FILE",
                                 "check a configuration and exit: 0 good, 64 not"},
                                {"log", ARG_TEXT, &o->level, 0, 0, "error|warn|info|debug",
                                 "log level, instead of the configuration's"},
                                {0}};
    const struct arg_program program = {
        .name = "trigsup",
        .version = TRIGD_VERSION,
        .summary = "the supervisor of a farm: clients see one daemon; nodes (trigd with "
                   "supervisor.endpoints) enlist with it and process the RoIs (docs/farm.md)",
        .usage = "--config FILE [OPTION ...]\n--check FILE",
        .table = table,
        .more =
            "SIGTERM and SIGINT finish the RoIs in flight and exit; a second one exits at once.\n"
            "SIGHUP makes the nodes load their menu again, one after the other.  trigctl talks to "
            "it.\n"
            "Exit codes: 0 clean, 2 wrong usage, 64 wrong configuration, 69 cannot start.\n",
        .describe = desk_describe};
    int n, r = args_parse_program(argc, argv, &program, &n);

    return command_line_end(o, &program, r, n);
}

static int serve(const struct config *c, const char *path)
{
    struct supervisor *s;
    int r;

    signals_block();
    logsink_start();
    if (audit_open(c->control.audit, c->state_dir) < 0)
        return EXIT_START;
    r = supervisor_open(c, path, &s);
    if (r < 0) {
        log_error("farm", "cannot start", "error=\"%s\"", strerror(-r));
        return r == -EINVAL ? EXIT_CONFIG : EXIT_START;
    }
    r = supervisor_run(s);
    if (r < 0)
        log_error("farm", "stopped", "error=\"%s\"", strerror(-r));
    supervisor_close(s);
    return r < 0 ? EXIT_START : EXIT_CLEAN;
}

int main(int argc, char **argv)
{
    struct command_line o = {0};
    struct config *c;
    int r = parse(argc, argv, &o);

    if (r >= 0)
        return r;
    if (config_load(o.config, &c) < 0)
        return EXIT_CONFIG;
    r = command_line_run(&o, c, "farm", supervisor_check, serve);
    config_free(c);
    return r;
}
