/* SPDX-License-Identifier: Apache-2.0 */
/* bench_layouts - RoIs through the whole daemon over ipc and tcp with their spacepoints as floats
 * and as 16-bit numbers, side by side. */
#include <string.h>

#include "measure.h"

#define LAYOUTS 2u
static const struct {
    const char *name;
    enum layout layout;
} layouts[LAYOUTS] = {{"floats", LAYOUT_PLAIN}, {"quantized", LAYOUT_ENCODED}};

static const struct load loads[] = {{"nothing", "", "lowlum", 1, 4096, 100000},
                                    {"nothing", "", "highlum", 1, 256, 8000},
                                    {"zfinder", "preset: pure", "highlum", 1, 256, 1000}};

static void write_figure(const struct results *out, const char *what, const char *figure,
                         const char *unit, bool higher, const struct result *mine,
                         const struct result *floats)
{
    const struct result_figure f = {.unit = unit,
                                    .higher_is_better = higher,
                                    .baseline = "floats",
                                    .baseline_value = mine == floats ? 0 : result_median(floats)};

    result_report(out, &f, mine, "%s: %s", what, figure);
}

static void report(const struct results *out, const struct load *load, enum way way,
                   const struct figures f[LAYOUTS])
{
    for (uint32_t l = 0; l < LAYOUTS; l++) {
        char what[100];

        printf("| %s | %s | %s | %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.0f |\n", load->plugin,
               load->preset, way_name[way], layouts[l].name, result_median(&f[l].bytes),
               result_median(&f[l].rate), result_median(&f[l].rate) / result_median(&f[0].rate),
               result_median(&f[l].cpu), result_median(&f[l].p50), result_median(&f[l].p99));
        snprintf(what, sizeof what, "%s, %s, %s, %s", load->plugin, load->preset, way_name[way],
                 layouts[l].name);
        write_figure(out, what, "RoIs/s", "1/s", true, &f[l].rate, &f[0].rate);
        write_figure(out, what, "processor time of an RoI in the daemon", "us", false, &f[l].cpu,
                     &f[0].cpu);
        write_figure(out, what, "bytes of an RoI", "B", false, &f[l].bytes, &f[0].bytes);
    }
    fflush(stdout);
}

static int measure_load(const struct results *out, const struct load *load)
{
    static struct figures figures[WAYS][LAYOUTS], warm;
    struct daemon d;
    int r = daemon_start(&d, load->plugin, load->params, false);

    memset(figures, 0, sizeof figures);
    /* in turns, so that a busy moment of the machine hits all alike; the first round warms up */
    for (uint32_t round = 0; r == 0 && round <= measure_rounds(); round++)
        for (enum way w = WAY_IPC; r == 0 && w <= WAY_TCP; w++)
            for (uint32_t l = 0; r == 0 && l < LAYOUTS; l++) {
                memset(&warm, 0, sizeof warm);
                r = measure_run(&d, w, load, layouts[l].layout, round ? &figures[w][l] : &warm);
            }
    daemon_stop(&d);
    for (enum way w = WAY_IPC; r == 0 && w <= WAY_TCP; w++)
        report(out, load, w, figures[w]);
    return r;
}

static int run_all(const struct results *out)
{
    int r = 0;

    printf(
        "| plugin | RoIs | way in | layout | bytes an RoI | RoIs/s | times floats | daemon's CPU "
        "us an RoI | p50 us | p99 us |\n"
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; r == 0 && i < sizeof loads / sizeof *loads; i++)
        r = measure_load(out, &loads[i]);
    return r;
}

int main(int argc, char **argv)
{
    return measure_main(argc, argv, "layouts", 7, run_all);
}
