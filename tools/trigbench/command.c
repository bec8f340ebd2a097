/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static char command_line[512];

void bench_keep_command(int argc, char **argv)
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
