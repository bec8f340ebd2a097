/* SPDX-License-Identifier: Apache-2.0 */
/* trigbench - measures lanes by themselves (`device`) and a running daemon (`offer`). */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "log.h"

static const char usage[] =
    "usage: trigbench device [OPTION ...]\n"
    "       trigbench offer --connect ENDPOINT --rates HZ,... [OPTION ...]\n"
    "\n"
    "device: RoIs/s of a plugin that runs through the device API as in the daemon's lanes\n"
    "  --device B[:N]     cpu, opencl or cuda, and which of them (default cpu:0)\n"
    "  --plugin NAME      default zfinder\n"
    "  --with KEY=VALUE   a parameter of the plugin, or preset=NAME; may be repeated\n"
    "  --after NAME       a plugin that runs on the sample first and makes inputs; may be "
    "repeated\n"
    "  --sample P         RoIs of this preset of trigreplay (default lowlum)\n"
    "  --rois N           different ones (default 256); --seed S (default 1)\n"
    "  --copies MODE      gather: RoIs are gathered into pinned memory and copied (default);\n"
    "                     pinned: batches lie in pinned memory; device: on the device already\n"
    "  --batch, --slots, --lanes N,...   all combinations are measured (default 64, 2, 1)\n"
    "  --seconds S        of each run (default 0.5); --runs R (default 3): the median is printed\n"
    "  --timeline FILE    instead: what queues and host did, as .svg or as .json (trace events)\n"
    "  --batches N        in the timeline, of each lane (default 8)\n"
    "  --backends DIR, --plugins DIR     default: where they were built or installed\n"
    "\n"
    "offer: latencies of a running daemon at given rates\n"
    "  --connect ENDPOINT of the daemon;  --control SOCKET of its operator, for batch sizes\n"
    "  --rates HZ,...     offered, Poisson;  --seconds S at each (default 3)\n"
    "  --sample P, --distinct N, --connections K, --threads T, --seed S\n"
    "  --device-name TEXT device of the daemon, for the figures\n"
    "\n"
    "both: --json FILE    appends figures, one a line, as docs/results holds them\n";

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

uint64_t bench_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 0);

    if (end != text && !*end && v >= min && v <= max)
        return v;
    fprintf(stderr, "trigbench: --%s \"%s\": a number from %llu to %llu is wanted\n", option, text,
            (unsigned long long)min, (unsigned long long)max);
    exit(EXIT_USAGE);
}

struct list bench_list(const char *option, const char *text, uint64_t min, uint64_t max)
{
    struct list l = {.n = 0};
    char copy[256], *save = NULL;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        if (l.n == LIST_MAX) {
            fprintf(stderr, "trigbench: --%s: at most %u numbers are taken\n", option, LIST_MAX);
            exit(EXIT_USAGE);
        }
        l.value[l.n++] = bench_number(option, w, min, max);
    }
    if (!l.n)
        bench_number(option, text, min, max); /* which says what is wanted */
    return l;
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
