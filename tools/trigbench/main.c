/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench - measures lanes by themselves (`device`) and a running daemon (`offer`). */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "log.h"

static const char usage[] =
    "usage: trigbench device [OPTION ...]   RoIs/s of a plugin in lanes, without a daemon\n"
    "       trigbench offer [OPTION ...]    latency of a running daemon at given rates\n"
    "\n"
    "trigbench device --help, trigbench offer --help: their options\n";

int main(int argc, char **argv)
{
    bench_keep_command(argc, argv);
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
