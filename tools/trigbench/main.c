/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench - measures lanes by themselves (`device`) and a running daemon (`offer`). */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "log.h"

static const char usage[] =
    "usage: trigbench device [OPTION ...]   RoIs/s of a plugin in lanes, without a daemon\n"
    "       trigbench offer [OPTION ...]    latency of a running daemon at given rates\n"
    "\n"
    "trigbench device --help, trigbench offer --help: their options\n";

static char command_line[512];

static void keep_command(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    size_t n = (size_t)snprintf(command_line, sizeof command_line, "%s", name ? name + 1 : argv[0]);

    for (int i = 1; i < argc && n < sizeof command_line; i++)
        n += (size_t)snprintf(command_line + n, sizeof command_line - n, " %s", argv[i]);
    for (char *c = command_line; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '?';
}

const char *bench_command(void)
{
    const char *command = getenv("TRIGD_COMMAND"); /* of a script that calls this program */

    return command ? command : command_line;
}

int main(int argc, char **argv)
{
    keep_command(argc, argv);
    log_set_level(TRG_WARN);
    if (argc > 1 && !strcmp(argv[1], "device"))
        return device_main(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "offer"))
        return offer_main(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    fputs(usage, stderr);
    return EXIT_USAGE;
}
