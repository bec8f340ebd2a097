/* SPDX-License-Identifier: Apache-2.0 */
/* bench_shm - RoIs through the whole daemon over shared memory, beside ZeroMQ over ipc and tcp: how
 * many a second, and what the daemon allocates and copies for one. */
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "measure.h"

static const struct load loads[] = {
    {"nothing", "", "lowlum", 1, 4096, 200000},
    {"nothing", "", "lowlum", 16, 4096, 200000},
    {"nothing", "", "highlum", 1, 256, 8000},
    {"zfinder", "preset: pure", "lowlum", 1, 4096, 20000},
    {"zfinder", "preset: pure", "highlum", 1, 256, 1000},
};

/* ---------------------------------------------------------------- speed */

static void write_figure(const struct results *out, const struct load *load, enum way way,
                         const char *figure, const char *unit, bool higher,
                         const struct result *mine, const struct result *ipc)
{
    const struct result_figure f = {.unit = unit,
                                    .higher_is_better = higher,
                                    .baseline = "ipc",
                                    .baseline_value =
                                        ipc && way != WAY_IPC ? result_median(ipc) : 0};

    result_report(out, &f, mine, "%s, %s, batch %u, %s: %s", load->plugin, load->preset,
                  load->batch, way_name[way], figure);
}

static void report(const struct results *out, const struct load *load, const struct figures *f)
{
    for (enum way w = WAY_SHM; w < WAYS; w++) {
        printf("| %s | %s | %u | %s | %.0f | %.2f | %.2f | %.0f | %.0f |\n", load->plugin,
               load->preset, load->batch, way_name[w], result_median(&f[w].rate),
               result_median(&f[w].rate) / result_median(&f[WAY_IPC].rate),
               result_median(&f[w].cpu), result_median(&f[w].p50), result_median(&f[w].p99));
        write_figure(out, load, w, "RoIs/s", "1/s", true, &f[w].rate, &f[WAY_IPC].rate);
        write_figure(out, load, w, "processor time of an RoI in the daemon", "us", false, &f[w].cpu,
                     &f[WAY_IPC].cpu);
    }
    fflush(stdout);
}

static int measure_load(const struct results *out, const struct load *load)
{
    struct figures figures[WAYS];
    struct daemon d;
    int r = daemon_start(&d, load->plugin, load->params, false);

    memset(figures, 0, sizeof figures);
    /* in turns, so that a busy moment of the machine hits all alike; the first round warms up */
    for (uint32_t round = 0; r == 0 && round <= measure_rounds(); round++)
        for (enum way w = WAY_SHM; r == 0 && w < WAYS; w++) {
            struct figures warm = {.rate = {.n = 0}};

            r = measure_run(&d, w, load, LAYOUT_AS_MADE, round ? &figures[w] : &warm);
        }
    daemon_stop(&d);
    if (r == 0)
        report(out, load, figures);
    return r;
}

/* ---------------------------------------------------------------- copies and allocations */

struct per_roi {
    double allocations, copies, kernel_copies;
};

/* Two runs of different length: what they differ by is what RoIs cost, without the connection. */
static int count_way(const struct daemon *d, enum way way, const struct load *load,
                     struct per_roi *ret)
{
    const uint64_t n[3] = {2000, 2000, 6000}; /* the first run warms up */
    uint64_t allocations[3], copied[3], read[3];
    double bytes = 0;

    for (int i = 0; i < 3; i++) {
        struct replay_result result;
        uint64_t a = atomic_load(&d->counts->allocations);
        uint64_t c = atomic_load(&d->counts->copied_bytes);
        uint64_t k = atomic_load(&d->counts->read_bytes);
        int r = measure_send(d, way, load, LAYOUT_AS_MADE, n[i], &result);

        replay_result_fini(&result);
        if (r < 0)
            return r;
        allocations[i] = atomic_load(&d->counts->allocations) - a;
        copied[i] = atomic_load(&d->counts->copied_bytes) - c;
        read[i] = atomic_load(&d->counts->read_bytes) - k;
        bytes = result.mean_items * (double)kind_item_size(TRG_SPACEPOINTS);
    }
    ret->allocations = ((double)allocations[2] - (double)allocations[1]) / (double)(n[2] - n[1]);
    ret->copies = ((double)copied[2] - (double)copied[1]) / (double)(n[2] - n[1]) / bytes;
    ret->kernel_copies = ((double)read[2] - (double)read[1]) / (double)(n[2] - n[1]) / bytes;
    return 0;
}

static int count_load(const struct results *out, const struct load *load)
{
    struct daemon d;
    int r = daemon_start(&d, load->plugin, load->params, true);

    for (enum way w = WAY_SHM; r == 0 && w < WAYS; w++) {
        struct per_roi per;

        r = count_way(&d, w, load, &per);
        if (r < 0)
            break;
        printf("| %s | %u | %s | %.3f | %.2f | %.2f |\n", load->preset, load->batch, way_name[w],
               per.allocations, per.kernel_copies, per.copies);
        write_figure(out, load, w, "allocations of an RoI in the daemon", "", false,
                     &(struct result){{per.allocations}, 1}, NULL);
        write_figure(out, load, w, "copies of an RoI in the daemon", "", false,
                     &(struct result){{per.copies}, 1}, NULL);
    }
    daemon_stop(&d);
    return r;
}

/* ---------------------------------------------------------------- all */

static int run_all(const struct results *out)
{
    const uint32_t n_counted = 3; /* loads with the plugin `nothing` */
    int r = 0;

    printf(
        "| plugin | RoIs | batch | way in | RoIs/s | times ipc | daemon's CPU us an RoI | p50 us | "
        "p99 us |\n| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; r == 0 && i < sizeof loads / sizeof *loads; i++)
        r = measure_load(out, &loads[i]);
    printf("\n| RoIs | batch | way in | allocations an RoI | copies by the kernel | copies by the "
           "daemon |\n| --- | ---: | --- | ---: | ---: | ---: |\n");
    for (uint32_t i = 0; r == 0 && i < n_counted; i++)
        r = count_load(out, &loads[i]);
    return r;
}

int main(int argc, char **argv)
{
    return measure_main(argc, argv, "shm", 5, run_all);
}
