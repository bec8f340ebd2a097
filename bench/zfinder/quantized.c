/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_quantized - the z-finder against the truth of the same RoIs with their spacepoints as
 * floats and as 16-bit numbers.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_quantized [--json FILE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "driver.h"
#include "result.h"
#include "truth.h"
#include "vertices.h"

#define SEED 20260101u

static struct algo_host host;
static struct results out = {
    .bench = "zfinder-quantized", .command = "zfinder_quantized", .has_table = true};

static const struct sample {
    const char *name;
    uint32_t n;
} samples[] = {{"lowlum", 40000}, {"highlum", 4000}, {"phase2", 600}};

static const struct setting {
    const char *what, *preset, *triplet_mode;
} settings[] = {{"pairs", "pure", "0"}, {"triplets", "pure", "2"}, {"preset dense", "dense", "1"}};
#define N_SETTINGS (sizeof settings / sizeof *settings)

static int run(const struct setting *setting, const struct generated *rois, uint32_t n,
               struct trg_result *results)
{
    struct zf_config c;
    int r = algo_configure(host.plugin, setting->preset,
                           (const char *const[]){"triplet_mode", setting->triplet_mode, NULL}, &c);

    return r < 0 ? r : zfinder_run_on_cpu(&host, &c, rois, n, results);
}

static void tell(const struct sample *s, const struct setting *setting, const char *layout,
                 const struct found *f)
{
    const double part = (double)f->good / s->n;

    result_report_value(&out, &(struct result_figure){.unit = "fraction", .higher_is_better = true},
                        part, 0, 1, "%s, %s, %s: within 1 mm of %u RoIs", s->name, setting->what,
                        layout, s->n);
    result_report_value(&out, &(struct result_figure){.unit = "um"}, 1e3 * f->mean_dz, 0, 1,
                        "%s, %s, %s: mean |dz| of those within 1 mm", s->name, setting->what,
                        layout);
    printf(" %.4f +- %.4f | %.1f +- %.1f |", part, result_error(part, s->n), 1e3 * f->mean_dz,
           1e3 * f->error_dz);
}

struct change {               /* from floats to numbers */
    uint32_t lost, won;       /* RoIs that are within 1 mm with one of them alone */
    double mean_dz, error_dz; /* of |dz| where both are, mm, and its error */
};

static struct change compare(const struct sample *s, const struct generated *rois,
                             const struct trg_result *floats, const struct trg_result *numbers)
{
    struct change c = {.lost = 0};
    uint32_t both = 0;
    double sum2 = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct found f = count_found(&rois[i], 1, &floats[i]),
                           q = count_found(&rois[i], 1, &numbers[i]);
        const double d = q.mean_dz - f.mean_dz;

        c.lost += f.good && !q.good;
        c.won += q.good && !f.good;
        if (!f.good || !q.good)
            continue;
        both++;
        c.mean_dz += d;
        sum2 += d * d;
    }
    if (both) {
        c.mean_dz /= both;
        c.error_dz = sqrt(fmax(sum2 / both - c.mean_dz * c.mean_dz, 0) / both);
    }
    return c;
}

static void tell_change(const struct sample *s, const struct setting *setting,
                        const struct change *c)
{
    result_report_value(&out, &(struct result_figure){.unit = "um"}, 1e3 * c->mean_dz, 0, 1,
                        "%s, %s: change of |dz| where both are within 1 mm", s->name,
                        setting->what);
    printf(" %u, %u | %+.1f +- %.1f |\n", c->lost, c->won, 1e3 * c->mean_dz, 1e3 * c->error_dz);
    fflush(stdout);
}

static int measure(const struct sample *s, struct generated *rois, struct trg_result *results)
{
    int r = 0;

    for (size_t k = 0; r == 0 && k < N_SETTINGS; k++)
        r = run(&settings[k], rois, s->n, &results[k * s->n]);
    for (uint32_t i = 0; r == 0 && i < s->n; i++)
        r = quantize(&rois[i]);
    for (size_t k = 0; r == 0 && k < N_SETTINGS; k++) {
        struct trg_result *floats = &results[k * s->n], *numbers = &results[N_SETTINGS * s->n];
        struct found f = count_found(rois, s->n, floats);
        struct change change;

        r = run(&settings[k], rois, s->n, numbers);
        if (r < 0)
            break;
        printf("| %s | %s |", s->name, settings[k].what);
        tell(s, &settings[k], "floats", &f);
        f = count_found(rois, s->n, numbers);
        tell(s, &settings[k], "quantized", &f);
        change = compare(s, rois, floats, numbers);
        tell_change(s, &settings[k], &change);
    }
    return r;
}

static int make_and_measure(const struct sample *s)
{
    struct generated *rois = generated_new(s->name, SEED, 0, s->n);
    struct trg_result *results = calloc((N_SETTINGS + 1) * s->n, sizeof *results);
    int r = rois && results ? 0 : -1;

    if (r == 0)
        r = measure(s, rois, results);
    generated_free(rois, s->n);
    free(results);
    return r;
}

int main(int argc, char **argv)
{
    const struct arg table[] = {
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"}, {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (algo_host_open(&host, "zfinder") < 0)
        return 1;
    printf(
        "| RoIs | | within 1 mm, floats | their mean dz, um | quantized | mean dz, um | lost, won "
        "| change of dz, um |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; r == 0 && i < sizeof samples / sizeof *samples; i++)
        r = make_and_measure(&samples[i]);
    algo_host_close(&host);
    return result_end(&out, r);
}
