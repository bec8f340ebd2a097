/* SPDX-License-Identifier: Apache-2.0 */
/* hough_physics - the tracks of each method against the truth, as LHCb counts: efficiency, clones,
 * ghosts.
 *
 *     TRIGD_BUILD=build/release build/release/bench/hough_physics --help
 *
 * looks at generated RoIs of a preset of trigreplay, which may be varied (tests/hough/vary.h), and
 * at the RoIs of files, each file a sample of its own. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "match.h"
#include "result.h"

#define MAX_ROIS  32u
#define MAX_ITEMS 2500000u
#define BLOCK     100u /* generated RoIs in memory at a time */

static struct algo_host host;
static struct results out = {
    .bench = "physics-hough", .command = "hough_physics", .has_table = true};
static const char *only; /* this preset only */
static uint64_t seed = 20260101;
static const char *generated_sample = "velo";
static struct vary vary = {.occupancy = 1};
static bool with_bins;
static struct arg_texts settings;
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
    char why[256] = "";

    if (algo_configure_lines(host.plugin, method, settings.text, settings.n, c, why, sizeof why) <
        0) {
        fprintf(stderr, "hough_physics: %s\n", why);
        return NULL;
    }
    if (backends_device(host.backends, "cpu", 0, &setup.device) < 0 || batches_open(&setup, &b) < 0)
        return NULL;
    return b;
}

/* Adds events; 0 or a negative errno. */
static int add(struct tally *t, struct batches *b, const struct event *events, uint32_t n)
{
    struct trg_result *results = calloc(n + 1u, sizeof *results);
    struct products *found = calloc(n + 1u, sizeof *found);
    uint64_t start = clock_ns();
    int r = results && found ? hough_run(b, events, n, results, found) : -ENOMEM;

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
    result_report_value(
        &out, &(struct result_figure){.unit = "fraction", .higher_is_better = higher, .goal = goal},
        value, result_error(value, n), (uint32_t)n, "%s, %s: %s", sample, method, what);
}

/* "paint weight=gauss" */
static void name_method(char *name, size_t bytes, const char *method)
{
    size_t n = (size_t)snprintf(name, bytes, "%s", method);

    for (uint32_t i = 0; i < settings.n && n < bytes; i++)
        n += (size_t)snprintf(name + n, bytes - n, " %s", settings.text[i]);
}

/* "efficiency, eta 2-5, pT 0.5 to 0.7" */
static void write_bins(const char *sample, const char *method, const struct match *m)
{
    for (uint32_t a = 0; a < MATCH_AXES; a++)
        for (uint32_t i = 0; i < MATCH_BINS; i++) {
            const double n = (double)m->bin_particles[a][i];
            char what[64];

            snprintf(what, sizeof what, "efficiency, eta 2-5, %s %g to %g", match_axis_names[a],
                     match_edges[a][i], match_edges[a][i + 1]);
            if (n > 0)
                write_figure(sample, method, what, (double)m->bin_found[a][i] / n, n, true, 0);
        }
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
    if (with_bins)
        write_bins(sample, method, m);
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
    int r = events ? 0 : -ENOMEM;

    name_sample(name, sizeof name);
    memset(t, 0, sizeof t);
    for (uint32_t k = 0; r == 0 && k < METHODS; k++)
        if (is_wanted(k) && !(b[k] = open_batches(methods[k], &c[k])))
            r = -EINVAL;
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
        r = b ? add(&t, b, events, n) : -EINVAL;
        if (r == 0)
            tell(name, methods[k], &t);
        batches_close(b);
    }
    events_free(events, n);
    return r;
}

int main(int argc, char **argv)
{
    uint32_t generated = 0;
    const struct arg table[] = {
        {"preset", ARG_TEXT, &only, 0, 0, "NAME", "this one of the plugin alone"},
        {"generated", ARG_U32, &generated, 0, UINT32_MAX, "N", "generated RoIs"},
        {"sample", ARG_TEXT, &generated_sample, 0, 0, "NAME",
         "preset of trigreplay (default velo)"},
        {"seed", ARG_U64, &seed, 0, 0, "S", "of those (default 20260101)"},
        {"occupancy", ARG_REAL, &vary.occupancy, 0, 1000, "F", "times the collisions"},
        {"misaligned", ARG_REAL, &vary.misaligned, 0, 10, "MM", "sensors out of place"},
        {"dead", ARG_REAL, &vary.dead, 0, 1, "F", "fraction of dead sensors"},
        {"set", ARG_TEXTS, &settings, 0, 0, "KEY=VALUE", "parameter; may be repeated"},
        {"bins", ARG_FLAG, &with_bins, 0, 0, NULL, "the efficiency against eta and pT as well"},
        {"json", ARG_APPEND, &out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int files, r = args_parse_words(argc, argv, "[OPTION ...] [FILE.roi ...]", table, &files);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (algo_host_open(&host, "hough") < 0)
        return 1;
    printf("%-52s %-9s %6s %7s %7s %7s %7s %7s %7s %7s %7s %7s %6s %5s %8s\n", "sample", "method",
           "RoIs", "all", "eta 2-5", "long", "from b", "from s", "ghosts", "clones", "purity",
           "hit eff", "tracks", "trunc", "us/RoI");
    if (generated)
        r = look_generated(generated);
    for (int i = 1; r == 0 && i <= files; i++)
        r = look_file(argv[i]);
    algo_host_close(&host);
    return result_end(&out, r);
}
