/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_physics - the z-finder against the truth of simulated RoIs: fractions within 1 mm for the
 * presets, a scan for the best setting, and the distances for the plots.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_physics FOLDER [SEED]
 *
 * writes FOLDER/physics-zfinder.jsonl and FOLDER/physics-zfinder.csv. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "original.h"
#include "result.h"
#include "vertices.h"

#define SEED 20260101u /* of the RoIs of the figures; the scan has the next */

static struct algo_host host;
static struct results out = {.bench = "physics-zfinder",
                             .command = "zfinder_physics",
                             .machine = "any",
                             .device = "any",
                             .has_table = true};
static FILE *csv;

struct sample {
    const char *name;
    uint32_t n;
    struct generated *rois;
};

/* Parameters of the scan, with the values that are tried; the first is that of the preset. */
#define VALUES_MAX 5
static const struct {
    const char *key, *value[VALUES_MAX];
} knobs[] = {{"triplet_mode", {"0", "1", "2"}},
             {"first_layers", {"32", "3", "4"}},
             {"pixel_only", {"false", "true"}},
             {"z_bin_mm", {"0.2", "0.1", "0.5", "1"}},
             {"phi_slice_deg", {"0.2", "0.1", "0.4", "1"}},
             {"triplet_dz_mm", {"25", "5", "2", "1", "0.5"}},
             {"triplet_dk", {"0.005", "0.0005", "0.0001", "0.00005"}},
             {"triplet_dphi_rad", {"0.05", "0.005", "0.002"}}};
#define N_KNOBS (sizeof knobs / sizeof *knobs)
#define ROUNDS  2 /* of the scan through all parameters */

struct setting {
    const char *preset;      /* NULL: pure, with ... */
    uint8_t at[N_KNOBS];     /* ... this value of each */
    const char *const *with; /* keys and values for a preset; NULL: none */
};

static bool configure(struct zf_config *c, const struct setting *s)
{
    const char *settings[2 * N_KNOBS + 1] = {NULL};

    for (size_t k = 0; !s->preset && k < N_KNOBS; k++) {
        settings[2 * k] = knobs[k].key;
        settings[2 * k + 1] = knobs[k].value[s->at[k]];
    }
    return algo_configure(host.plugin, s->preset ? s->preset : "pure", s->with ? s->with : settings,
                          c) == 0;
}

/* RoIs with the first vertex within 1 mm of the hard scatter; -1 when it failed. */
static int within_1mm(const struct sample *s, const struct setting *setting, const char *plot)
{
    struct zf_config c;
    struct trg_result *r = calloc(s->n + 1u, sizeof *r);
    int good = -1;

    if (r && configure(&c, setting) && zfinder_run_on_cpu(&host, &c, s->rois, s->n, r) == 0)
        good = 0;
    for (uint32_t i = 0; good >= 0 && i < s->n; i++) {
        float dz = r[i].value[1] - s->rois[i].vertex_z[0];

        good += r[i].value[0] > 0 && fabsf(dz) <= 1.0f;
        if (plot)
            fprintf(csv, "%s,%s,%.4f,%u\n", s->name, plot, (double)dz, s->rois[i].n);
    }
    free(r);
    return good;
}

static void tell(const struct sample *s, const char *what, int good)
{
    double f = (double)good / s->n, error = result_error(f, s->n);

    printf("%-8s %-70s %.3f +- %.3f\n", s->name, what, f, error);
    fflush(stdout);
    result_report_value(&out, &(struct result_figure){.unit = "fraction", .higher_is_better = true},
                        f, error, s->n, "%s: hard scatter within 1 mm, %s", s->name, what);
}

/* What a setting changes of the preset, in words. */
static void describe(const struct setting *s, char *text, size_t bytes)
{
    size_t n = (size_t)snprintf(text, bytes, "best of the scan:");

    for (size_t k = 0; k < N_KNOBS && n < bytes; k++)
        if (s->at[k])
            n += (size_t)snprintf(text + n, bytes - n, " %s %s", knobs[k].key,
                                  knobs[k].value[s->at[k]]);
}

/* Goes through the parameters one by one, keeps the best value of each, and again. */
static struct setting scan(const struct sample *s)
{
    struct setting best = {.at = {2}};
    int most = within_1mm(s, &best, NULL);

    for (size_t i = 0; i < ROUNDS * N_KNOBS; i++) {
        const size_t k = i % N_KNOBS;

        for (uint8_t v = 0; v < VALUES_MAX && knobs[k].value[v]; v++) {
            struct setting t = best;
            int good;

            t.at[k] = v;
            if (v == best.at[k])
                continue;
            good = within_1mm(s, &t, NULL);
            if (good > most) {
                most = good;
                best = t;
            }
        }
    }
    return best;
}

/* The settings of the preset atlas for which the original's answers are known, in the detector of
 * the original. */
static void tell_atlas(const struct sample *s)
{
    for (size_t k = 0; k < ORIGINAL_SETTINGS; k++) {
        const struct original_setting *o = &original_settings[k];
        char what[128];

        snprintf(what, sizeof what, "preset atlas, %s", o->name);
        tell(s, what, within_1mm(s, &(struct setting){.preset = "atlas", .with = o->with}, NULL));
    }
}

/* The scan has its own RoIs, so that it is not tuned to those of the figures. */
static bool measure(const char *name, uint64_t seed, uint32_t n, uint32_t n_tuning)
{
    struct sample s = {name, n, generated_new(name, seed, 0, n)};
    struct sample tuning = {name, n_tuning, generated_new(name, SEED + 1, 0, n_tuning)};
    bool good = s.rois && tuning.rois;
    char what[256];

    if (good) {
        struct setting best;

        tell(&s, "pure pairs", within_1mm(&s, &(struct setting){.at = {0}}, "pairs"));
        tell(&s, "pure triplets, fast", within_1mm(&s, &(struct setting){.at = {1}}, NULL));
        tell(&s, "pure triplets, count all",
             within_1mm(&s, &(struct setting){.at = {2}}, "triplets"));
        tell(&s, "preset dense", within_1mm(&s, &(struct setting){.preset = "dense"}, "dense"));
        if (strcmp(name, "phase2") != 0)
            tell_atlas(&s);
        best = scan(&tuning);
        describe(&best, what, sizeof what);
        tell(&s, what, within_1mm(&s, &best, NULL));
    }
    generated_free(s.rois, n);
    generated_free(tuning.rois, n_tuning);
    return good;
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[1024];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    if (!f)
        fprintf(stderr, "zfinder_physics: cannot write %s\n", path);
    return f;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const uint64_t seed = argc == 3 ? strtoull(argv[2], &end, 10) : SEED;
    bool good;

    if ((argc != 2 && argc != 3) || (end && (*end || seed == SEED + 1))) {
        fprintf(stderr, "usage: zfinder_physics FOLDER [SEED], a number other than %u\n", SEED + 1);
        return 2;
    }
    out.json = open_file(argv[1], "physics-zfinder.jsonl");
    csv = open_file(argv[1], "physics-zfinder.csv");
    if (!out.json || !csv || algo_host_open(&host, "zfinder") < 0)
        return 1;
    fprintf(csv, "sample,mode,dz_mm,spacepoints\n");
    good = measure("lowlum", seed, 10000, 2000) && measure("highlum", seed, 2000, 200) &&
           measure("phase2", seed, 200, 50);
    algo_host_close(&host);
    return result_end(&out, 0) || fclose(csv) || !good;
}
