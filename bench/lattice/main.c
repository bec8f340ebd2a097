/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lattice - D2Q9 lattice Boltzmann on every device: speed, the steps of the report, the four
 * reference runs, and flows with known answers.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_lattice [--quick] [--device BACKEND]
 *         [--json FILE] [--data FOLDER] [--only speed|sweep|study|course|references|oracle|physics]
 *
 * FOLDER has the reference runs: NXxNY-obstacles.csv and NXxNY-mean-speed.csv. */
#include <stdlib.h>
#include <string.h>

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

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            bench.is_quick = true;
            bench.runs = 3;
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            bench.json = fopen(argv[++i], "a");
            if (!bench.json)
                die("cannot open %s", argv[i]);
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
            part = argv[++i];
        } else if (!strcmp(argv[i], "--device") && i + 1 < argc) {
            only = argv[++i];
        } else if (!strcmp(argv[i], "--data") && i + 1 < argc) {
            bench.data = argv[++i];
        } else {
            fprintf(stderr, "usage: bench_lattice [--quick] [--device BACKEND] [--json FILE]\n"
                            "           [--data FOLDER] [--only speed|sweep|study|course|\n"
                            "           references|oracle|physics]\n");
            return 2;
        }
    }
    snprintf(command, sizeof command, "bench_lattice%s%s%s%s", bench.is_quick ? " --quick" : "",
             part ? " --only " : "", part ? part : "", bench.data ? " --data FOLDER" : "");
    bench.command = command;
    if (!devices_open(only))
        die("there is no device; TRIGD_BUILD must name the build folder");
    run_parts(part);
    devices_close();
    return bench.json && fclose(bench.json) ? 1 : 0;
}
