/* SPDX-License-Identifier: Apache-2.0 */
/* bench_clusters - events per second from raw banks, hits, and pixels with charge: plugins alone
 * and chained to vertices, on every device; banks beside a lean and a naive program for one core,
 * with the physics of the same events.  Times include the copies in and out and the host's share.
 * On one core they are CPU time, so that other programs disturb little.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_clusters [--help] [FILE.bin ...]
 *
 * Files are raw banks of LHCb's: one sample of their own, repeated. */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "chain.h"
#include "clock.h"
#include "crew.h"
#include "lean.h"
#include "lines.h"
#include "meter.h"
#include "noise.h"
#include "pipeline.h"
#include "process.h"
#include "reference.h"
#include "result.h"

#define SEED          20260401u
#define LANES         16u
#define NAIVE         3u    /* events: it is slow */
#define PIXELS_OF     4u    /* so many times fewer events of pixels: they are large */
#define CPU_MOST      256u  /* events in a round of a core */
#define NOISY_PIXELS  10u   /* of each sensor */
#define NOISY_SENSORS 20u   /* one in so many */
#define NOISY_RATE    0.002 /* of their pixels */
#define ENERGY_S      2.0   /* a run for the GPU's meter, which moves in steps of 0.1 s */

struct bench {
    struct algo_host host[HOSTS];
    struct geometry geometry;
    struct results out;
    const char *backend, *only; /* of these alone; NULL: all */
    uint32_t lanes;             /* on a GPU, so many alone; 0: some numbers */
    uint32_t n, runs, seed;     /* seed: of the physics */
    bool is_physics;            /* alone */
    bool is_energy;             /* of GPUs, too */
};

static struct noise noise;

struct sample {
    const char *name;
    const struct line *line;
    struct pipeline_roi *roi;
    struct banks *banks;         /* the same, of banks; NULL: of others */
    struct generated *generated; /* whose columns they are; NULL: they are read */
    uint32_t n, most;
    uint64_t items;
    double base; /* events/s of the lean program */
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_clusters: %s failed\n", what);
    exit(1);
}

/* ---------------------------------------------------------------- samples */

static void count(struct sample *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->items += s->roi[i].n;
        s->most = s->roi[i].n > s->most ? s->roi[i].n : s->most;
    }
    printf("%s: %u events, %.0f items each, %u at most\n", s->name, s->n, (double)s->items / s->n,
           s->most);
}

static struct sample sample_new(const char *name, const struct line *line, uint32_t n)
{
    struct sample s = {.name = name, .line = line, .n = n, .roi = calloc(n, sizeof *s.roi)};

    if (line == &banks_line)
        s.banks = calloc(n, sizeof *s.banks);
    if (!s.roi || (line == &banks_line && !s.banks))
        fail("memory");
    return s;
}

static struct sample generate(const char *preset, const struct line *line, uint32_t n)
{
    struct sample s = sample_new(preset, line, n);

    s.generated = generated_new(preset, SEED, 0, n);
    if (!s.generated)
        fail("the generator");
    for (uint32_t i = 0; i < n; i++) {
        const struct generated *g = &s.generated[i];

        s.roi[i].n = g->n;
        for (uint32_t c = 0; generated_column(g, c); c++)
            s.roi[i].column[c] = generated_column(g, c);
        if (s.banks)
            s.banks[i] =
                (struct banks){.n = g->n, .sensor = g->banks.sensor, .word = g->banks.word};
    }
    count(&s);
    return s;
}

static struct sample read_files(char **path, uint32_t n)
{
    struct sample s = sample_new("LHCb minimum bias", &banks_line, n);

    for (uint32_t i = 0; i < n; i++) {
        banks_read(path[i], &s.banks[i]);
        s.roi[i] = (struct pipeline_roi){.n = s.banks[i].n,
                                         .column = {s.banks[i].sensor, s.banks[i].word}};
    }
    count(&s);
    return s;
}

static void sample_free(struct sample *s)
{
    for (uint32_t i = 0; s->banks && !s->generated && i < s->n; i++)
        banks_free(&s->banks[i]);
    generated_free(s->generated, s->n);
    free(s->banks);
    free(s->roi);
}

/* ---------------------------------------------------------------- one core */

static void tell(const struct bench *b, const struct sample *s, const char *what,
                 const char *device, const struct result *rates)
{
    result_report(&b->out,
                  &(struct result_figure){.unit = "events/s",
                                          .higher_is_better = true,
                                          .baseline = s->base > 0 ? "lean program, one core" : NULL,
                                          .baseline_value = s->base,
                                          .device = device},
                  rates, "%s, %s", s->name, what);
}

static void measure_lean(const struct bench *b, struct sample *s)
{
    struct result rates = {.n = 0};
    uint64_t hits = 0;
    struct lean l;

    if (lean_open(&b->geometry, &l) < 0)
        fail("memory");
    for (uint32_t r = 0; r < b->runs; r++) {
        const uint64_t start = clock_thread_ns();

        hits = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            if (lean_find(&l, &s->banks[i]) < 0)
                fail("the lean program");
            hits += l.n_hits;
        }
        result_add(&rates, s->n * 1e9 / (double)(clock_thread_ns() - start));
    }
    tell(b, s, "lean program", "one core", &rates);
    s->base = result_median(&rates);
    printf("  %.2f hits an event\n", (double)hits / s->n);
    lean_close(&l);
}

static void measure_naive(const struct bench *b, const struct sample *s)
{
    struct result rates = {.n = 0};

    for (uint32_t i = 0; i < NAIVE && i < s->n; i++) {
        const uint64_t start = clock_thread_ns();
        struct reference r;

        if (reference_make(&b->geometry, &s->banks[i], true, &r) < 0)
            fail("the naive program");
        result_add(&rates, 1e9 / (double)(clock_thread_ns() - start));
        reference_free(&r);
    }
    tell(b, s, "naive program", "one core", &rates);
}

/* ---------------------------------------------------------------- devices */

struct lane {
    struct pipeline *pipeline;
    const struct sample *s;
    uint32_t n, rounds;
    double sum;
};

static int run_lane(void *arg)
{
    struct lane *l = arg;

    return pipeline_run(l->pipeline, l->s->roi, l->n, l->rounds, &l->sum);
}

struct way {
    struct algo_place place;
    uint32_t plugins, batch, lanes;
    const struct condition_list *conditions; /* NULL: none */
    const char *without;                     /* "": nothing is masked */
};

static double seconds(const struct way *w, const struct crew_time *t)
{
    if (w->place.info.is_host && w->lanes == 1)
        return t->thread_s;
    return w->place.info.is_host || w->place.info.pci[0] ? t->wall_s : t->process_s;
}

/* Events a joule of the GPU, its idle power included; `rate` is how many a second the lanes do. */
static void measure_energy(const struct bench *b, const struct sample *s, const struct way *w,
                           struct lane *lane, double rate, const char *what, const char *device)
{
    struct meter *meter = meter_open(w->place.info.pci);
    struct result per_joule = {.n = 0};

    if (!meter) {
        printf("  no energy meter can be read\n");
        return;
    }
    for (uint32_t i = 0; i < w->lanes; i++)
        lane[i].rounds = 1 + (uint32_t)(ENERGY_S * rate / w->lanes / lane[i].n);
    for (uint32_t r = 0; r < b->runs; r++) {
        const double before = meter_joule(meter);
        struct crew_time t;

        if (crew_run(w->lanes, run_lane, lane, sizeof *lane, &t) < 0)
            fail("a lane");
        result_add(&per_joule,
                   (double)w->lanes * lane[0].rounds * lane[0].n / (meter_joule(meter) - before));
    }
    result_report(
        &b->out,
        &(struct result_figure){.unit = "events/J", .higher_is_better = true, .device = device},
        &per_joule, "%s, %s, energy", s->name, what);
    meter_close(meter);
}

static void measure(const struct bench *b, const struct sample *s, const struct way *w)
{
    const uint32_t n = w->place.info.pci[0] || s->n < CPU_MOST ? s->n : CPU_MOST;
    const uint32_t least = w->place.info.pci[0]    ? 8 * w->batch
                           : w->place.info.is_host ? CPU_MOST
                                                   : 64;
    struct lane lane[LANES] = {{0}};
    struct result rates = {.n = 0};
    char what[80], device[80];
    double value = 0;

    snprintf(what, sizeof what, "%s%s, batch %u", s->line->what[w->plugins - 1], w->without,
             w->batch);
    if (b->only && !strstr(what, b->only))
        return;
    for (uint32_t i = 0; i < w->lanes; i++) {
        struct pipeline_setup setup = {.n = w->plugins,
                                       .device = w->place.device,
                                       .batch = w->batch,
                                       .slots = 2,
                                       .max_items = w->batch * s->most,
                                       .conditions = w->conditions};

        for (uint32_t k = 0; k < w->plugins; k++) {
            setup.host[k] = &b->host[s->line->plugin[k]];
            setup.settings[k] = s->line->settings[k];
        }
        lane[i] = (struct lane){.s = s, .n = n, .rounds = 1};
        if (pipeline_open(&setup, &lane[i].pipeline) < 0)
            fail("opening the plugins");
        if (run_lane(&lane[i]) < 0) /* warms up */
            fail("a lane");
        value = lane[i].sum / n;
        lane[i].rounds = (least + n - 1) / n;
    }
    for (uint32_t r = 0; r < b->runs; r++) {
        struct crew_time t;

        if (crew_run(w->lanes, run_lane, lane, sizeof *lane, &t) < 0)
            fail("a lane");
        result_add(&rates, (double)w->lanes * lane[0].rounds * n / seconds(w, &t));
    }
    snprintf(device, sizeof device, "%s, %.20s, %u lane%s", w->place.backend, w->place.info.name,
             w->lanes, w->lanes > 1 ? "s" : "");
    tell(b, s, what, device, &rates);
    printf("  %.2f: %s\n", value,
           b->host[s->line->plugin[w->plugins - 1]].plugin->d.values[0].help);
    if (b->is_energy && w->place.info.pci[0])
        measure_energy(b, s, w, lane, result_median(&rates), what, device);
    for (uint32_t i = 0; i < w->lanes; i++)
        pipeline_close(lane[i].pipeline);
}

/* On a GPU by batch and lanes, on others a batch of the daemon's; on a core one that its cache
 * holds as well. */
static void measure_plugins(const struct bench *b, const struct sample *s, struct way *w)
{
    static const uint32_t lanes[] = {1, 8, 4};
    const bool is_gpu = w->place.info.pci[0], is_quick = b->runs <= 3;
    const uint32_t *batch = is_gpu ? s->line->gpu_batches : s->line->cpu_batches;
    const uint32_t n_batches = is_quick ? 2 : 4, n_lanes = !is_gpu ? 1 : is_quick ? 2 : 3;
    const uint32_t n = is_gpu || w->place.info.is_host ? n_batches : 1;

    for (uint32_t i = 0; i < n && batch[i]; i++)
        for (uint32_t k = 0; k < n_lanes; k++) {
            w->batch = batch[i];
            w->lanes = lanes[k];
            if (!is_gpu || !b->lanes || b->lanes == lanes[k])
                measure(b, s, w);
        }
}

/* Banks to hits with dead channels. */
static void measure_dead(const struct bench *b, const struct sample *s, struct way w,
                         const char *without)
{
    struct condition_list conditions;

    if (noise_conditions(&noise, &b->host[0], &conditions) < 0)
        fail("the condition");
    w.plugins = 1;
    w.conditions = &conditions;
    w.without = without;
    measure_plugins(b, s, &w);
    conditions_release(&conditions);
}

static void measure_line(const struct bench *b, struct sample *s)
{
    struct algo_place place[ALGO_PLACES_MAX];
    const uint32_t n = algo_host_places(&b->host[0], b->backend, place);

    if (!b->only && s->line == &banks_line) {
        measure_lean(b, s);
        measure_naive(b, s);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct way w = {.place = place[i], .without = ""};

        for (w.plugins = 1; !w.place.index && w.plugins <= s->line->n; w.plugins++)
            if (s->line->what[w.plugins - 1])
                measure_plugins(b, s, &w);
        if (w.place.index || s->line != &banks_line)
            continue;
        noise_pixels(&noise, NOISY_PIXELS, b->seed);
        measure_dead(b, s, w, " without 10 pixels of each sensor");
        noise_sensors(&noise, NOISY_SENSORS, 0);
        measure_dead(b, s, w, " without 5 % of the sensors");
    }
}

static void measure_all(const struct bench *b, struct sample *s)
{
    for (; s->line; s->line = s->line->next)
        measure_line(b, s);
}

static bool is_wanted(const struct bench *b, const struct line *line)
{
    if (!b->only || !strstr(b->only, " to"))
        return true;
    for (; line; line = line->next)
        for (uint32_t k = 0; k < line->n; k++)
            if (line->what[k] && (strstr(b->only, line->what[k]) || strstr(line->what[k], b->only)))
                return true;
    return false;
}

/* Events of a preset through its lines, if any figure of them is wanted. */
static void measure_preset(const struct bench *b, const char *preset, const struct line *line,
                           uint32_t n)
{
    struct sample s;

    if (!is_wanted(b, line))
        return;
    s = generate(preset, line, n);
    measure_all(b, &s);
    sample_free(&s);
}

/* ---------------------------------------------------------------- physics */

static void tell_physics(const struct bench *b, const char *figure, const char *unit,
                         bool higher_is_better, double value, double error, uint32_t n)
{
    const struct results out = {
        .bench = "physics-clusters", .command = "bench_clusters", .json = b->out.json};

    result_report_value(&out,
                        &(struct result_figure){.unit = unit, .higher_is_better = higher_is_better},
                        value, error, n, "velo-banks, seed %u, %s", b->seed, figure);
}

/* A part of n, with its binomial error. */
static void tell_part(const struct bench *b, const char *figure, bool higher_is_better, double part,
                      double n)
{
    tell_physics(b, figure, "fraction", higher_is_better, part, result_error(part, n), (uint32_t)n);
}

/* A root of a mean of squares of n numbers. */
static void tell_width(const struct bench *b, const char *figure, const char *unit, double width,
                       double n)
{
    tell_physics(b, figure, unit, false, width, n > 0 ? width / sqrt(2 * n) : 0, (uint32_t)n);
}

static void tell_noise(const struct bench *b, const char *what, const struct match *m)
{
    char figure[128];

    snprintf(figure, sizeof figure, "%s, tracks: efficiency, eta 2-5", what);
    tell_part(b, figure, true, match_efficiency(m, MATCH_ETA25), (double)m->particles[MATCH_ETA25]);
    snprintf(figure, sizeof figure, "%s, tracks: ghosts", what);
    tell_part(b, figure, false, match_ghosts(m), (double)m->tracks);
}

/* The events of a chain with noise, without and with the condition that masks it. */
static void physics_of_noise(const struct bench *b, const struct chain *c, struct trg_device *cpu,
                             const char *what)
{
    struct banks *banks = calloc(c->n, sizeof *banks);
    struct condition_list conditions;
    char masked[64];
    struct match m;

    if (!banks || noise_conditions(&noise, &b->host[0], &conditions) < 0)
        fail("the condition");
    for (uint32_t i = 0; i < c->n; i++)
        if (noise_add(&noise, &c->banks[i], b->seed + i, &banks[i]) < 0)
            fail("memory");
    if (chain_again(c, &b->host[0], cpu, banks, NULL, &m) < 0)
        fail("the chain");
    tell_noise(b, what, &m);
    if (chain_again(c, &b->host[0], cpu, banks, &conditions, &m) < 0)
        fail("the chain");
    snprintf(masked, sizeof masked, "%s, masked", what);
    tell_noise(b, masked, &m);
    conditions_release(&conditions);
    for (uint32_t i = 0; i < c->n; i++)
        banks_free(&banks[i]);
    free(banks);
}

static void physics(const struct bench *b)
{
    struct trg_device *cpu;
    struct truth t = {0};
    struct chain c;
    struct match m;
    const uint32_t n = b->runs > 3 ? 200 : 24;
    double all = 0;

    memset(&m, 0, sizeof m);
    if (backends_device(b->host[0].backends, "cpu", 0, &cpu) < 0 ||
        chain_open(&c, &b->host[0], cpu, "velo-banks", b->seed, n) < 0)
        fail("the chain");
    for (uint32_t i = 0; i < n; i++) {
        truth_add(&t, &b->geometry, &c.generated[i], &c.config, &c.hits[i]);
        if (match_add(&m, &c.events[i], &c.tracks[i]) < 0)
            fail("memory");
    }
    tell_part(b, "hits: efficiency", true, truth_efficiency(&t), (double)t.crossings);
    tell_part(b, "hits: purity", true, truth_purity(&t), (double)t.hits);
    for (uint32_t w = 0; w < TRUTH_WIDTH; w++) {
        static const char *const what[] = {"hits: resolution, one column or row",
                                           "hits: resolution, two", "hits: resolution, more"};

        tell_width(b, what[w], "um", truth_resolution(&t, w), (double)t.width[w].n);
        all += (double)t.width[w].n;
    }
    tell_width(b, "hits: resolution", "um", truth_resolution(&t, TRUTH_WIDTH), all);
    tell_width(b, "hits: width of the pulls", "", truth_pull(&t, TRUTH_WIDTH), all);
    tell_part(b, "tracks: efficiency, eta 2-5", true, match_efficiency(&m, MATCH_ETA25),
              (double)m.particles[MATCH_ETA25]);
    tell_part(b, "tracks: ghosts", false, match_ghosts(&m), (double)m.tracks);
    tell_part(b, "tracks: clones", false, match_clones(&m), (double)m.matched);
    noise_pixels(&noise, NOISY_PIXELS, b->seed);
    physics_of_noise(b, &c, cpu, "10 pixels of each sensor always fire");
    noise_sensors(&noise, NOISY_SENSORS, NOISY_RATE);
    physics_of_noise(b, &c, cpu, "0.2 % of the pixels of 5 % of the sensors fire");
    chain_close(&c);
}

/* ---------------------------------------------------------------- the program */

static int parse(struct bench *b, int argc, char **argv, int *ret_files)
{
    bool is_quick = false;
    uint32_t events = 0;
    const struct arg table[] = {
        {"quick", ARG_FLAG, &is_quick, 0, 0, NULL, "fewer events and runs"},
        {"device", ARG_TEXT, &b->backend, 0, 0, "BACKEND", "this backend alone"},
        {"lanes", ARG_U32, &b->lanes, 1, LANES, "N", "on a GPU, so many lanes alone: 1, 4 or 8"},
        {"only", ARG_TEXT, &b->only, 0, 0, "TEXT",
         "figures with this in their name, and no physics"},
        {"physics", ARG_FLAG, &b->is_physics, 0, 0, NULL, "the physics alone"},
        {"energy", ARG_FLAG, &b->is_energy, 0, 0, NULL, "of GPUs the events a joule as well"},
        {"events", ARG_U32, &events, 1, 100000, "N", "different ones of a preset (default 512)"},
        {"seed", ARG_U32, &b->seed, 1, UINT32_MAX, "N", "of the physics"},
        {"json", ARG_APPEND, &b->out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int r = args_parse_words(argc, argv, "[OPTION ...] [FILE.bin ...]", table, ret_files);

    if (is_quick) {
        b->n = 64;
        b->runs = 3;
    }
    if (events)
        b->n = events;
    return r;
}

int main(int argc, char **argv)
{
    struct bench b = {.out = {.bench = "clusters"}, .n = 512, .runs = 5, .seed = SEED};
    int n_files;
    const int args = parse(&b, argc, argv, &n_files);
    char why[256];
    struct sample s;

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;

    for (uint32_t k = 0; k < HOSTS; k++)
        if (algo_host_open(&b.host[k], plugins[k]) < 0)
            return 1;
    if (geometry_open("velo", &b.geometry, why, sizeof why) < 0)
        fail(why);
    if (!b.only)
        physics(&b);
    if (!b.is_physics) {
        measure_preset(&b, "velo-banks", &banks_line, b.n);
        measure_preset(&b, "velo", &hits_line, b.n);
        measure_preset(&b, "pixel50", &pixel_hits_line, (b.n + PIXELS_OF - 1) / PIXELS_OF);
        measure_preset(&b, "pixel50-charge", &pixels_line, (b.n + PIXELS_OF - 1) / PIXELS_OF);
    }
    if (n_files) {
        s = read_files(argv + 1, (uint32_t)n_files);
        measure_all(&b, &s);
        sample_free(&s);
    }
    geometry_fini(&b.geometry);
    for (uint32_t k = 0; k < HOSTS; k++)
        algo_host_close(&b.host[k]);
    return result_end(&b.out, 0);
}
