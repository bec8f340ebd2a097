/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_thesis - table 5.1 of the thesis (Jones 2010) beside ours: how far the vertex lies from
 * the one that the exact extrapolation of a helix gives in double precision, at low luminosity.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_thesis [--json FILE]
 *
 * The plugin's answers do not depend on the device, so they are taken from the CPU.  RoIs in which
 * another peak was the highest are left out: their distance is no error of arithmetic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "driver.h"
#include "reference.h"
#include "result.h"
#include "serial.h"

#define SEED      20260103u
#define ROIS      400u
#define SAME_PEAK 5.0 /* mm */

static struct algo_host host;
static struct results out = {.bench = "zfinder-thesis",
                             .command = "zfinder_thesis",
                             .machine = "any",
                             .device = "any",
                             .has_table = true};

struct errors { /* of one version */
    double sum, sum2;
    uint32_t n;
};

static void add(struct errors *e, double z, double exact)
{
    const double d = fabs(z - exact);

    if (!(d <= SAME_PEAK))
        return;
    e->sum += d;
    e->sum2 += d * d;
    e->n++;
}

static void tell(const struct errors *e, const char *what, const char *thesis)
{
    double mean = e->sum / e->n, spread = sqrt(fmax(e->sum2 / e->n - mean * mean, 0));

    printf("%-46s %-24s %.3f +- %.3f mm   %u of %u RoIs\n", what, thesis, mean, spread, e->n, ROIS);
    result_report_value(&out, &(struct result_figure){.unit = "mm"}, mean, spread, e->n,
                        "table 5.1: error in the vertex, %s", what);
}

/* The plugin's first vertices; NAN: none. */
static int find(const struct generated *g, const char *const *settings, double *ret_z)
{
    struct trg_result *r = calloc(ROIS, sizeof *r);
    struct zf_config c;
    int e = r ? algo_configure(host.plugin, "pure", settings, &c) : -1;

    if (e == 0)
        e = zfinder_run_on_cpu(&host, &c, g, ROIS, r);
    for (uint32_t i = 0; e == 0 && i < ROIS; i++)
        ret_z[i] = r[i].value[0] > 0 ? (double)r[i].value[1] : NAN;
    free(r);
    return e;
}

static int compare(const struct generated *g)
{
    static double single[ROIS], in_double[ROIS];
    struct errors errors[3] = {{.n = 0}};
    struct serial *serial = serial_new(100000);
    struct zf_config c;
    int e = serial ? algo_configure(host.plugin, "pure", NULL, &c) : -1;

    if (e == 0)
        e = find(g, NULL, single);
    if (e == 0)
        e = find(g, (const char *const[]){"as_original", "true", NULL}, in_double);
    for (uint32_t i = 0; e == 0 && i < ROIS; i++) {
        struct reference exact;

        reference_double(&c, &g[i], &exact);
        if (!exact.n_vertices)
            continue;
        add(&errors[0], serial_find(serial, &c, &g[i]), exact.z[0]);
        add(&errors[1], in_double[i], exact.z[0]);
        add(&errors[2], single[i], exact.z[0]);
    }
    serial_free(serial);
    if (e < 0 || !errors[0].n || !errors[1].n || !errors[2].n)
        return -1;
    printf("%-46s %-24s %s\n", "version", "the thesis", "here");
    tell(&errors[0], "CPU, serial, double precision", "0.031 +- 0.091 mm");
    tell(&errors[1], "plugin, double precision (bins half a bin off)", "0.116 +- 0.116 mm (GPU)");
    tell(&errors[2], "plugin, single precision, integer sums", "0.120 +- 0.120 mm (GPU)");
    return 0;
}

int main(int argc, char **argv)
{
    const struct arg table[] = {
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"}, {0}};
    const int args = args_parse(argc, argv, NULL, table);
    struct generated *g = NULL;
    int e;

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    g = generated_new("lowlum", SEED, 0, ROIS);
    e = g ? algo_host_open(&host, "zfinder") : -1;
    if (e == 0)
        e = compare(g);
    if (e < 0)
        fprintf(stderr, "zfinder_thesis: cannot run\n");
    generated_free(g, ROIS);
    algo_host_close(&host);
    return result_end(&out, 0) || e < 0;
}
