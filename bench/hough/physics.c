/* SPDX-License-Identifier: Apache-2.0 */
/* hough_physics - the tracks of each method against the truth, as LHCb counts: efficiency, clones,
 * ghosts.
 *
 *     TRIGD_BUILD=build/release build/release/bench/hough_physics [--json FILE] [--preset NAME]
 *         [--generated N] [--sample NAME] [--seed S] [--occupancy F] [--misaligned MM] [--dead F]
 *         [--set KEY VALUE]... [FILE.roi ...]
 *
 * looks at N generated RoIs of a preset of trigreplay (`velo`; seed S, by default 20260101), with F
 * times its collisions, sensors out of place by MM or dead (tests/hough/vary.h), and at the RoIs of
 * files, each file a sample of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "match.h"
#include "result.h"

#define SETTINGS_MAX 32
#define MAX_ROIS     32u
#define MAX_ITEMS    2500000u
#define BLOCK        100u /* generated RoIs in memory at a time */

static struct algo_host host;
static FILE *json;
static const char *only; /* this preset only */
static uint64_t seed = 20260101;
static const char *generated_sample = "velo";
static struct vary vary = {.occupancy = 1};
static const char *settings[2 * SETTINGS_MAX + 1];
static const char *const methods[] = {"brute",  "paint",        "analytic",
                                      "hashed", "hashed_dense", "velo"}; /* presets */
#define METHODS (sizeof methods / sizeof *methods)

struct tally { /* of one sample and method */
    struct match m;
    uint64_t rois, truncated;
    double seconds;
};

static struct batches *open_batches(const char *method, struct hough_config *c)
{
    struct batches_setup setup = {.host = &host.host,
                                  .plugin = &host.plugin->d,
                                  .config = c,
                                  .slots = 1,
                                  .max_rois = MAX_ROIS,
                                  .max_items = MAX_ITEMS};
    struct batches *b;

    if (algo_configure(host.plugin, method, settings, c) < 0 ||
        backends_device(host.backends, "cpu", 0, &setup.device) < 0 || batches_open(&setup, &b) < 0)
        return NULL;
    return b;
}

/* Adds events; 0 or a negative errno. */
static int add(struct tally *t, struct batches *b, const struct event *events, uint32_t n)
{
    struct trg_result *results = calloc(n + 1u, sizeof *results);
    struct products *found = calloc(n + 1u, sizeof *found);
    uint64_t start = clock_ns();
    int r = results && found ? hough_run(b, events, n, results, found) : -1;

    t->seconds += (double)(clock_ns() - start) * 1e-9;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = match_add(&t->m, &events[i], &found[i]);
        t->rois++;
        t->truncated += results[i].status == TRG_TRUNCATED;
    }
    free(results);
    products_free(found, n);
    return r;
}

static void write_figure(const char *sample, const char *method, const char *what, double value,
                         double n, bool higher, double goal)
{
    char figure[200];

    snprintf(figure, sizeof figure, "%s, %s: %s", sample, method, what);
    result_write_value(json,
                       &(struct result_figure){.bench = "physics-hough",
                                               .figure = figure,
                                               .unit = "fraction",
                                               .command = "hough_physics",
                                               .higher_is_better = higher,
                                               .goal = goal},
                       value, result_error(value, n), (uint32_t)n);
}

/* "paint weight=gauss" */
static void name_method(char *name, size_t bytes, const char *method)
{
    size_t n = (size_t)snprintf(name, bytes, "%s", method);

    for (uint32_t i = 0; settings[i] && n < bytes; i += 2)
        n += (size_t)snprintf(name + n, bytes - n, " %s=%s", settings[i], settings[i + 1]);
}

static void tell(const char *sample, const char *preset, const struct tally *t)
{
    const struct match *m = &t->m;
    char method[96];

    name_method(method, sizeof method, preset);
    printf("%-52s %-9s %6llu", sample, method, (unsigned long long)t->rois);
    for (enum match_class c = 0; c < MATCH_CLASSES; c++) {
        char what[64];

        if (m->particles[c])
            printf(" %7.4f", match_efficiency(m, c));
        else
            printf("       -");
        snprintf(what, sizeof what, "efficiency, %s", match_names[c]);
        if (m->particles[c])
            write_figure(sample, method, what, match_efficiency(m, c), (double)m->particles[c],
                         true, c == MATCH_ETA25 ? 0.987 : 0);
    }
    printf(" %7.4f %7.4f %7.4f %7.4f %6.1f %5llu %8.0f\n", match_ghosts(m), match_clones(m),
           m->purity / (double)(m->matched + !m->matched),
           m->hit_efficiency / (double)(m->matched + !m->matched),
           (double)m->tracks / (double)t->rois, (unsigned long long)t->truncated,
           t->seconds * 1e6 / (double)t->rois);
    fflush(stdout);
    write_figure(sample, method, "ghosts", match_ghosts(m), (double)m->tracks, false, 0.007);
    write_figure(sample, method, "TRUNCATED", (double)t->truncated / (double)t->rois,
                 (double)t->rois, false, 0);
    write_figure(sample, method, "clones", match_clones(m), (double)m->matched, false, 0);
}

static bool is_wanted(uint32_t method)
{
    return !only || !strcmp(only, methods[method]);
}

/* "velo, 2 times the collisions, misaligned by 10 um, 5 % dead, seed 7" */
static void name_sample(char *name, size_t bytes)
{
    size_t n = (size_t)snprintf(name, bytes, "generated %s", generated_sample);

    if (vary.occupancy < 1 || vary.occupancy > 1)
        n += (size_t)snprintf(name + n, bytes - n, ", %g times the collisions", vary.occupancy);
    if (vary.misaligned > 0)
        n += (size_t)snprintf(name + n, bytes - n, ", misaligned by %g um", vary.misaligned * 1e3);
    if (vary.dead > 0)
        n += (size_t)snprintf(name + n, bytes - n, ", %g %% dead", vary.dead * 100);
    snprintf(name + n, bytes - n, ", seed %llu", (unsigned long long)seed);
}

static int look_generated(uint32_t n)
{
    struct event *events = calloc(BLOCK, sizeof *events);
    struct hough_config c[METHODS];
    struct batches *b[METHODS] = {NULL};
    struct tally t[METHODS];
    char name[128];
    int r = events ? 0 : -1;

    name_sample(name, sizeof name);
    memset(t, 0, sizeof t);
    for (uint32_t k = 0; r == 0 && k < METHODS; k++)
        if (is_wanted(k) && !(b[k] = open_batches(methods[k], &c[k])))
            r = -1;
    for (uint32_t first = 0; r == 0 && first < n; first += BLOCK) {
        uint32_t made = 0, most = n - first < BLOCK ? n - first : BLOCK;

        while (r == 0 && made < most) {
            r = event_generate_varied(generated_sample, &vary, seed, first + made, &events[made]);
            made += r == 0;
        }
        for (uint32_t k = 0; r == 0 && k < METHODS; k++)
            r = b[k] ? add(&t[k], b[k], events, made) : 0;
        for (uint32_t i = 0; i < made; i++)
            event_free(&events[i]);
    }
    for (uint32_t k = 0; k < METHODS; k++) {
        if (r == 0 && b[k])
            tell(name, methods[k], &t[k]);
        batches_close(b[k]);
    }
    free(events);
    return r;
}

static int look_file(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct event *events = NULL;
    uint32_t n = 0;
    int r = events_read(path, &events, &n);

    if (r < 0)
        fprintf(stderr, "hough_physics: %s: %s\n", path, strerror(-r));
    for (uint32_t k = 0; r == 0 && k < METHODS; k++) {
        struct tally t = {.rois = 0};
        struct hough_config c;
        struct batches *b;

        if (!is_wanted(k))
            continue;
        b = open_batches(methods[k], &c);
        r = b ? add(&t, b, events, n) : -1;
        if (r == 0)
            tell(name, methods[k], &t);
        batches_close(b);
    }
    events_free(events, n);
    return r;
}

int main(int argc, char **argv)
{
    uint32_t generated = 0, n_settings = 0;
    int i, r = 0;

    for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--preset") && i + 1 < argc) {
            only = argv[++i];
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            json = fopen(argv[++i], "a");
        } else if (!strcmp(argv[i], "--generated") && i + 1 < argc) {
            generated = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--sample") && i + 1 < argc) {
            generated_sample = argv[++i];
        } else if (!strcmp(argv[i], "--occupancy") && i + 1 < argc) {
            vary.occupancy = strtod(argv[++i], NULL);
        } else if (!strcmp(argv[i], "--misaligned") && i + 1 < argc) {
            vary.misaligned = strtod(argv[++i], NULL);
        } else if (!strcmp(argv[i], "--dead") && i + 1 < argc) {
            vary.dead = strtod(argv[++i], NULL);
        } else if (!strcmp(argv[i], "--set") && i + 2 < argc && n_settings < 2 * SETTINGS_MAX) {
            settings[n_settings++] = argv[++i];
            settings[n_settings++] = argv[++i];
        } else {
            fprintf(stderr, "usage: hough_physics [--json FILE] [--preset NAME] [--generated N] "
                            "[--sample NAME] [--seed S] [--occupancy F] [--misaligned MM] "
                            "[--dead F] [--set KEY VALUE]... [FILE.roi ...]\n");
            return 2;
        }
    }
    if (algo_host_open(&host, "hough") < 0)
        return 1;
    printf("%-52s %-9s %6s %7s %7s %7s %7s %7s %7s %7s %7s %7s %6s %5s %8s\n", "sample", "method",
           "RoIs", "all", "eta 2-5", "long", "from b", "from s", "ghosts", "clones", "purity",
           "hit eff", "tracks", "trunc", "us/RoI");
    if (generated)
        r = look_generated(generated);
    for (; r == 0 && i < argc; i++)
        r = look_file(argv[i]);
    algo_host_close(&host);
    if (json && fclose(json))
        r = -1;
    return r ? 1 : 0;
}
