/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_quantized - the z-finder against the truth of the same RoIs with their spacepoints as
 * floats and as 16-bit numbers.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_quantized FILE.jsonl */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "result.h"
#include "truth.h"
#include "vertices.h"

#define SEED 20260101u

static struct bench_host host;
static const struct plugin *plugin;
static FILE *json;

static const struct sample {
    const char *name;
    uint32_t n;
} samples[] = {{"lowlum", 4000}, {"highlum", 400}, {"phase2", 60}};

static const struct setting {
    const char *what, *preset, *triplet_mode;
} settings[] = {{"pairs", "pure", "0"}, {"triplets", "pure", "2"}, {"preset dense", "dense", "1"}};
#define N_SETTINGS (sizeof settings / sizeof *settings)

static int configure(struct zf_config *c, const struct setting *s)
{
    char why[256] = "";
    int r;

    plugin_defaults(plugin, c);
    r = plugin_preset(plugin, s->preset, c, why, sizeof why);
    if (r == 0)
        r = plugin_set(plugin, "triplet_mode", s->triplet_mode, c, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "zfinder_quantized: %s\n", why);
    return r;
}

static int run(const struct setting *setting, const struct generated *rois, uint32_t n,
               struct trg_result *results)
{
    struct zf_config c;
    struct driver_setup setup = {.host = &host.host,
                                 .plugin = plugin,
                                 .params = &c,
                                 .slots = 1,
                                 .max_rois = 16,
                                 .max_items = 1000000};
    struct driver *d = NULL;
    int r = configure(&c, setting);

    if (r == 0)
        r = backends_device(host.backends, "cpu", 0, &setup.device);
    if (r == 0)
        r = driver_open(&setup, &d);
    if (r == 0)
        r = driver_run(d, rois, n, results);
    driver_close(d);
    return r;
}

static void tell(const struct sample *s, const struct setting *setting, const char *layout,
                 const struct found *f)
{
    const double part = (double)f->good / s->n;
    char text[160];
    struct result one = {.run = {part}, .n = 1};
    struct result_figure figure = {.bench = "zfinder-quantized",
                                   .figure = text,
                                   .unit = "fraction",
                                   .command = "zfinder_quantized",
                                   .higher_is_better = true};

    snprintf(text, sizeof text, "%s, %s, %s: within 1 mm of %u RoIs", s->name, setting->what,
             layout, s->n);
    result_write(json, &figure, &one);
    one.run[0] = 1e3 * f->mean_dz;
    figure.unit = "um";
    figure.higher_is_better = false;
    snprintf(text, sizeof text, "%s, %s, %s: mean |dz| of those within 1 mm", s->name,
             setting->what, layout);
    result_write(json, &figure, &one);
    printf(" %.4f +- %.4f | %.1f +- %.1f |", part, sqrt(part * (1 - part) / s->n), 1e3 * f->mean_dz,
           1e3 * f->error_dz);
}

/* RoIs that one of the two finds within 1 mm and the other does not. */
static uint32_t changed(const struct sample *s, const struct generated *rois,
                        const struct trg_result *a, const struct trg_result *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        n += count_found(&rois[i], 1, &a[i]).good != count_found(&rois[i], 1, &b[i]).good;
    return n;
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

        r = run(&settings[k], rois, s->n, numbers);
        if (r < 0)
            break;
        printf("| %s | %s |", s->name, settings[k].what);
        tell(s, &settings[k], "floats", &f);
        f = count_found(rois, s->n, numbers);
        tell(s, &settings[k], "quantized", &f);
        printf(" %u |\n", changed(s, rois, floats, numbers));
        fflush(stdout);
    }
    return r;
}

static int make_and_measure(const struct sample *s)
{
    struct generated *rois = calloc(s->n, sizeof *rois);
    struct trg_result *results = calloc((N_SETTINGS + 1) * s->n, sizeof *results);
    int r = rois && results ? 0 : -1;

    for (uint32_t i = 0; r == 0 && i < s->n; i++)
        r = generator_make(generator_find(s->name), SEED, i, &rois[i]);
    if (r == 0)
        r = measure(s, rois, results);
    for (uint32_t i = 0; rois && i < s->n; i++)
        generated_fini(&rois[i]);
    free(rois);
    free(results);
    return r;
}

int main(int argc, char **argv)
{
    char why[256] = "";
    int r = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: zfinder_quantized FILE.jsonl\n");
        return 2;
    }
    json = fopen(argv[1], "w");
    if (!json || bench_host_open(&host) < 0)
        return 1;
    if (plugin_host_get(host.plugins, "zfinder", &plugin, why, sizeof why) < 0) {
        fprintf(stderr, "zfinder_quantized: %s\n", why);
        return 1;
    }
    printf("| RoIs | | within 1 mm, floats | their mean dz, um | quantized | mean dz, um | changed "
           "|\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; r == 0 && i < sizeof samples / sizeof *samples; i++)
        r = make_and_measure(&samples[i]);
    bench_host_close(&host);
    return fclose(json) || r < 0 ? 1 : 0;
}
