/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_physics - the z-finder against the truth of simulated RoIs: fractions within 1 mm for the
 * preset `pure`, a scan for the best setting, and the distances for the plots.
 *
 *     TRIGD_BUILD=build/release build/release/bench/zfinder_physics FOLDER
 *
 * writes FOLDER/physics-zfinder.jsonl and FOLDER/physics-zfinder.csv. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "vertices.h"

#define SEED 20260101u

static struct bench_host host;
static const struct plugin *plugin;
static FILE *json, *csv;

struct sample {
    const char *name;
    uint32_t n;
    struct generated *rois;
};

struct setting { /* of the scan */
    const char *triplet_mode, *first_layers, *z_bin_mm, *triplet_dz_mm, *triplet_dk;
};

static bool set(struct zf_config *c, const char *key, const char *value)
{
    char why[256] = "";

    if (plugin_set(plugin, key, value, c, why, sizeof why) == 0)
        return true;
    fprintf(stderr, "zfinder_physics: %s\n", why);
    return false;
}

static bool configure(struct zf_config *c, const struct setting *s)
{
    char why[256] = "";

    plugin_defaults(plugin, c);
    return plugin_preset(plugin, "pure", c, why, sizeof why) == 0 &&
           set(c, "triplet_mode", s->triplet_mode) && set(c, "first_layers", s->first_layers) &&
           set(c, "z_bin_mm", s->z_bin_mm) && set(c, "triplet_dz_mm", s->triplet_dz_mm) &&
           set(c, "triplet_dk", s->triplet_dk);
}

/* RoIs with the first vertex within 1 mm of the hard scatter; -1 when it failed. */
static int within_1mm(const struct sample *s, const struct setting *setting, const char *plot)
{
    struct zf_config c;
    struct trg_result *r = calloc(s->n + 1u, sizeof *r);
    struct driver_setup setup = {.host = &host.host,
                                 .plugin = plugin,
                                 .params = &c,
                                 .slots = 1,
                                 .max_rois = 16,
                                 .max_items = 1000000};
    struct driver *d = NULL;
    int good = -1;

    if (r && configure(&c, setting) &&
        backends_device(host.backends, "cpu", 0, &setup.device) == 0 &&
        driver_open(&setup, &d) == 0 && driver_run(d, s->rois, s->n, r) == 0)
        good = 0;
    for (uint32_t i = 0; good >= 0 && i < s->n; i++) {
        float dz = r[i].value[1] - s->rois[i].vertex_z[0];

        good += r[i].value[0] > 0 && fabsf(dz) <= 1.0f;
        if (plot)
            fprintf(csv, "%s,%s,%.4f,%u\n", s->name, plot, (double)dz, s->rois[i].n);
    }
    driver_close(d);
    free(r);
    return good;
}

static void tell(const struct sample *s, const char *what, int good)
{
    double f = (double)good / s->n, error = sqrt(f * (1 - f) / s->n);
    char date[32];
    time_t now = time(NULL);

    printf("%-8s %-70s %.3f +- %.3f\n", s->name, what, f, error);
    fflush(stdout);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(
        json,
        "{\"bench\":\"physics-zfinder\",\"figure\":\"%s: hard scatter within 1 mm, %s\","
        "\"value\":%.4f,\"unit\":\"fraction\",\"better\":\"higher\",\"runs\":%u,\"spread\":%.4f,"
        "\"machine\":\"any\",\"device\":\"any\",\"commit\":\"%s\",\"date\":\"%s\","
        "\"command\":\"zfinder_physics\"}\n",
        s->name, what, f, s->n, error, getenv("TRIGD_COMMIT") ? getenv("TRIGD_COMMIT") : "", date);
}

/* Every combination of the tables; the best is told. */
static void scan(const struct sample *s)
{
    static const char *const modes[] = {"0", "1", "2"}, *const layers[] = {"3", "32"};
    static const char *const bins[] = {"0.2", "0.5", "1"}, *const dzs[] = {"25", "5", "2"};
    static const char *const dks[] = {"0.005", "0.0005"};
    struct setting best = {0};
    int most = -1;
    char what[128];

    for (uint32_t i = 0; i < 3 * 2 * 3 * 3 * 2; i++) {
        struct setting t = {modes[i % 3], layers[i / 3 % 2], bins[i / 6 % 3], dzs[i / 18 % 3],
                            dks[i / 54]};
        int good;

        if (t.triplet_mode[0] == '0' && (i / 18 % 3 || i / 54))
            continue; /* pairs have no tolerances */
        good = within_1mm(s, &t, NULL);
        if (good > most) {
            most = good;
            best = t;
        }
    }
    snprintf(what, sizeof what,
             "best of the scan (triplet_mode %s, first_layers %s, z_bin %s, dz %s, dk %s)",
             best.triplet_mode, best.first_layers, best.z_bin_mm, best.triplet_dz_mm,
             best.triplet_dk);
    tell(s, what, most);
}

static bool measure(const char *name, uint32_t n)
{
    struct sample s = {.name = name, .n = n, .rois = calloc(n, sizeof *s.rois)};
    bool good = s.rois != NULL;

    for (uint32_t i = 0; good && i < n; i++)
        good = generator_make(generator_find(name), SEED, i, &s.rois[i]) == 0;
    if (good) {
        tell(&s, "pure pairs",
             within_1mm(&s, &(struct setting){"0", "32", "0.2", "25", "0.005"}, "pairs"));
        tell(&s, "pure triplets, fast",
             within_1mm(&s, &(struct setting){"1", "32", "0.2", "25", "0.005"}, NULL));
        tell(&s, "pure triplets, count all",
             within_1mm(&s, &(struct setting){"2", "32", "0.2", "25", "0.005"}, "triplets"));
        scan(&s);
    }
    for (uint32_t i = 0; s.rois && i < n; i++)
        generated_fini(&s.rois[i]);
    free(s.rois);
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
    char why[256] = "";
    bool good;

    if (argc != 2) {
        fprintf(stderr, "usage: zfinder_physics FOLDER\n");
        return 2;
    }
    json = open_file(argv[1], "physics-zfinder.jsonl");
    csv = open_file(argv[1], "physics-zfinder.csv");
    if (!json || !csv || bench_host_open(&host) < 0)
        return 1;
    if (plugin_host_get(host.plugins, "zfinder", &plugin, why, sizeof why) < 0) {
        fprintf(stderr, "zfinder_physics: %s\n", why);
        return 1;
    }
    fprintf(csv, "sample,mode,dz_mm,spacepoints\n");
    good = measure("lowlum", 2000) && measure("highlum", 200) && measure("phase2", 50);
    bench_host_close(&host);
    return fclose(json) || fclose(csv) || !good ? 1 : 0;
}
