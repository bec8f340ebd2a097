/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench - measures lanes by themselves (`device`) and a running daemon (`offer`). */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "log.h"

static const struct arg_command commands[] = {
    {"device", "[OPTION ...]", "RoIs/s of a plugin in lanes, without a daemon"},
    {"offer", "[OPTION ...]", "latency of a running daemon at given rates"},
    {0}};

int main(int argc, char **argv)
{
    static const struct arg none[] = {{0}};
    const struct arg_program program = {
        .name = "trigbench",
        .version = TRIGD_VERSION,
        .summary = "measures lanes by themselves and a running daemon",
        .commands = commands,
        .table = none,
        .more = "trigbench device --help, trigbench offer --help: their options\n"};
    int n;

    bench_keep_command(argc, argv);
    log_set_level(TRG_WARN);
    if (argc > 1 && !strcmp(argv[1], "device"))
        return device_main(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "offer"))
        return offer_main(argc - 1, argv + 1);
    if (args_parse_program(argc, argv, &program, &n) == ARGS_HELP)
        return 0;
    args_print_usage(&program, stderr);
    return EXIT_USAGE;
}
