/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lattice - D2Q9 lattice Boltzmann on every device: speed, the steps of the report, the four
 * reference runs, and flows with known answers.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_lattice --help
 *
 * --data: a folder with the reference runs, NXxNY-obstacles.csv and NXxNY-mean-speed.csv. */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "bench.h"

static void run_parts(const char *part)
{
    static const struct {
        const char *name;
        void (*run)(const struct device *device);
        bool by_default;
    } parts[] = {{"speed", bench_speed, true},
                 {"study", bench_study, true},
                 {"sweep", bench_sweep, false},
                 {"references", bench_references, false},
                 {"physics", bench_physics, false}};
    bool is_known = !part || !strcmp(part, "course") || !strcmp(part, "oracle");

    if (!part || !strcmp(part, "course"))
        bench_course();
    if (part && !strcmp(part, "oracle"))
        bench_references(NULL);
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        if (part ? strcmp(part, parts[p].name) != 0 : !parts[p].by_default)
            continue;
        is_known = true;
        for (uint32_t i = 0; i < devices_count(); i++)
            parts[p].run(devices_get(i));
    }
    if (!is_known)
        die("there is no part \"%s\"", part);
}

int main(int argc, char **argv)
{
    const char *only = NULL, *part = NULL;
    static char command[256];
    const struct arg table[] = {
        {"quick", ARG_FLAG, &bench.is_quick, 0, 0, NULL, "fewer runs"},
        {"device", ARG_TEXT, &only, 0, 0, "BACKEND", "devices of this backend"},
        {"data", ARG_TEXT, &bench.data, 0, 0, "FOLDER", "the reference runs"},
        {"only", ARG_TEXT, &part, 0, 0, "PART",
         "speed, sweep, study, course, references, oracle or physics"},
        {"size", ARG_U32, &bench.size, 0, 0, "N", "speed and sweep: grids of N x N alone"},
        {"json", ARG_APPEND, &bench.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int args = args_parse(argc, argv, NULL, table);

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    bench.runs = bench.is_quick ? 3 : 5;
    snprintf(command, sizeof command, "bench_lattice%s%s%s%s", bench.is_quick ? " --quick" : "",
             part ? " --only " : "", part ? part : "", bench.data ? " --data FOLDER" : "");
    bench.out.command = command;
    if (!devices_open(only))
        die("there is no device; TRIGD_BUILD must name the build folder");
    run_parts(part);
    devices_close();
    return result_end(&bench.out, 0);
}
