/* SPDX-License-Identifier: Apache-2.0 */
/* trigsup - reads the options and the configuration, runs the supervisor. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/audit.h"
#include "config/config.h"
#include "log.h"
#include "logsink.h"
#include "supervisor.h"

#define LOG_MS 1000u

enum exit_code { EXIT_CLEAN = 0, EXIT_USAGE = 2, EXIT_CONFIG = 64, EXIT_START = 69 };

static const char usage[] =
    "usage: trigsup --config FILE [--log LEVEL]\n"
    "       trigsup --check FILE\n"
    "\n"
    "The supervisor of a farm: clients see a daemon; nodes (trigd with supervisor.endpoints) "
    "enlist\n"
    "with it and get their RoIs (docs/farm.md).\n"
    "\n"
    "  -c, --config FILE   run with this configuration (docs/configuration.md)\n"
    "      --check FILE    check a configuration and exit: 0 good, 64 not\n"
    "      --log LEVEL     error, warn, info or debug; instead of the configuration's\n"
    "      --version       print the version and exit\n"
    "  -h, --help          print this and exit\n"
    "\n"
    "SIGTERM and SIGINT finish what is in flight and exit; a second one does not wait.\n"
    "SIGHUP has the nodes load their menu again, one after the other.  trigctl talks to it.\n"
    "Exit codes: 0 clean, 2 wrong usage, 64 wrong configuration, 69 cannot start.\n";

struct options {
    const char *config, *level;
    bool check_only;
};

/* Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'}, {"check", required_argument, NULL, 'C'},
        {"log", required_argument, NULL, 'l'},    {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int opt;

    while ((opt = getopt_long(argc, argv, "c:h", table, NULL)) != -1) {
        switch (opt) {
        case 'C':
            o->check_only = true; /* fall through */
        case 'c':
            o->config = optarg;
            break;
        case 'l':
            o->level = optarg;
            break;
        case 'V':
            puts("trigsup " TRIGD_VERSION);
            return EXIT_CLEAN;
        case 'h':
            fputs(usage, stdout);
            return EXIT_CLEAN;
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (o->config && optind == argc)
        return -1;
    fputs(usage, stderr);
    return EXIT_USAGE;
}

/* The signals come through the loop's descriptor; no thread may get them itself. */
static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct config *c, const char *path)
{
    struct supervisor *s;
    int r;

    block_signals();
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
    struct options o = {0};
    struct config *c;
    int r = parse(argc, argv, &o);

    if (r >= 0)
        return r;
    if (config_load(o.config, &c) < 0)
        return EXIT_CONFIG;
    if (log_take("farm", o.level ? o.level : c->log.level, c->log.format) < 0)
        r = EXIT_USAGE;
    else if (o.check_only)
        r = supervisor_check(c) < 0 ? EXIT_CONFIG : EXIT_CLEAN;
    else
        r = serve(c, o.config);
    logsink_stop(LOG_MS);
    audit_close();
    config_free(c);
    return r;
}
