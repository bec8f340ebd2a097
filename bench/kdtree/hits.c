/* SPDX-License-Identifier: Apache-2.0 */
/* Hits in five dimensions, as the report's trees have them: three of space (phi, r, z), time and
 * the angle of incidence.  For each hit of a barrel layer, the hits of the next one in a box: what
 * space alone leaves, and what the time and the angle take away, of candidates and of true pairs.
 *
 * Generated events have no times: a collision gets one (180 ps wide), a hit that of a particle at
 * the speed of light, measured to 30 ps; what is stored is the time of a particle from the middle
 * of the detector less.  Angles are measured to 30 mrad. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "events.h"

#define PRESET     "pixel200"
#define EVENTS     8u
#define FIRST      200000u /* not those that anything was tuned on */
#define BARREL     4u
#define DIMS       5u
#define PI         3.14159265358979323846
#define MM_PER_NS  299.792458
#define BEAM_NS    0.180
#define TIME_NS    0.030
#define ANGLE_RAD  0.030
#define SIGMAS     4.0 /* half a box, of the difference of two measurements */
#define PHI_HALF   0.05
#define LAYER_HALF 6.0   /* mm, about a layer's radius */
#define BEAM_HALF  120.0 /* mm */
#define MIN_PT     0.9   /* GeV, of the particles whose pairs are counted */
#define NEVER      1e30f

enum { PHI, R, Z, T, ANGLE };

struct hits { /* of the barrels of all events, a tree each */
    uint32_t n, trees[EVENTS][2];
    float *value;        /* [DIMS][n] */
    uint32_t *true_pair; /* the hit of its particle on the next layer, or GENERATOR_NONE */
    uint32_t *layer, *tree_of;
    double radius[BARREL], pairs; /* true ones */
};

static double gauss(uint64_t *state)
{
    const double u = (double)random_unit(state) + 1e-9;

    return sqrt(-2 * log(u)) * cos(2 * PI * (double)random_unit(state));
}

static void store(struct hits *h, uint32_t at, const struct generated *g, uint32_t i,
                  const double *vertex_ns, uint64_t *state)
{
    const uint32_t particle = g->particle[i];
    const bool is_noise = particle == GENERATOR_NOISE;
    const uint32_t vertex = is_noise ? 0 : g->particle_vertex[particle];
    const double x = (double)g->hits.x[i], y = (double)g->hits.y[i], z = (double)g->hits.z[i];
    const double r = hypot(x, y), from = is_noise ? 0 : z - (double)g->vertex_z[vertex];
    const double t0 = is_noise ? BEAM_NS * gauss(state) : vertex_ns[vertex];
    const double t = t0 + (hypot(r, from) - hypot(r, z)) / MM_PER_NS + TIME_NS * gauss(state);
    const double value[DIMS] = {atan2(y, x), r, z, t, atan2(r, from) + ANGLE_RAD * gauss(state)};

    for (uint32_t d = 0; d < DIMS; d++)
        h->value[(size_t)d * h->n + at] = (float)value[d];
}

/* The hit of the same particle on the next layer. */
static uint32_t find_pair(const struct generated *g, uint32_t i)
{
    const uint32_t particle = g->particle[i];

    if (particle == GENERATOR_NOISE || !((double)g->pt[particle] > MIN_PT))
        return GENERATOR_NONE;
    for (uint32_t k = 0; k < g->n; k++)
        if (g->particle[k] == particle && g->hits.layer[k] == g->hits.layer[i] + 1u)
            return k;
    return GENERATOR_NONE;
}

static void add_event(struct hits *h, const struct generated *g, uint32_t e, uint32_t *at,
                      uint64_t *state)
{
    double *vertex_ns = calloc(g->n_vertices + 1, sizeof *vertex_ns);
    uint32_t *place = calloc(g->n + 1, sizeof *place);
    const uint32_t first = *at;

    if (!vertex_ns || !place)
        die("out of memory");
    for (uint32_t v = 0; v < g->n_vertices; v++)
        vertex_ns[v] = BEAM_NS * gauss(state);
    for (uint32_t i = 0; i < g->n; i++) {
        place[i] = GENERATOR_NONE;
        if (g->hits.layer[i] >= BARREL)
            continue;
        store(h, *at, g, i, vertex_ns, state);
        h->layer[*at] = g->hits.layer[i];
        h->tree_of[*at] = e;
        place[i] = (*at)++;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t pair = place[i] == GENERATOR_NONE ? GENERATOR_NONE : find_pair(g, i);

        if (place[i] == GENERATOR_NONE)
            continue;
        h->true_pair[place[i]] = pair == GENERATOR_NONE ? pair : place[pair];
        h->pairs += pair != GENERATOR_NONE;
    }
    h->trees[e][0] = first;
    h->trees[e][1] = *at - first;
    free(vertex_ns);
    free(place);
}

static void hits_make(struct hits *h)
{
    struct generated *events = generated_new(PRESET, 1, FIRST, EVENTS);
    double n[BARREL] = {0};
    uint64_t state = 3;
    uint32_t at = 0;

    memset(h, 0, sizeof *h);
    if (!events)
        die("no events");
    for (uint32_t e = 0; e < EVENTS; e++)
        for (uint32_t i = 0; i < events[e].n; i++)
            h->n += events[e].hits.layer[i] < BARREL;
    h->value = malloc((size_t)DIMS * h->n * sizeof *h->value);
    h->true_pair = malloc(h->n * sizeof *h->true_pair);
    h->layer = malloc(h->n * sizeof *h->layer);
    h->tree_of = malloc(h->n * sizeof *h->tree_of);
    if (!h->value || !h->true_pair || !h->layer || !h->tree_of)
        die("out of memory");
    for (uint32_t e = 0; e < EVENTS; e++)
        add_event(h, &events[e], e, &at, &state);
    for (uint32_t i = 0; i < h->n; i++) {
        h->radius[h->layer[i]] += (double)h->value[(size_t)R * h->n + i];
        n[h->layer[i]]++;
    }
    for (uint32_t l = 0; l < BARREL; l++)
        h->radius[l] /= n[l];
    generated_free(events, EVENTS);
}

static void hits_free(struct hits *h)
{
    free(h->value);
    free(h->true_pair);
    free(h->layer);
    free(h->tree_of);
}

/* Boxes for all hits but those of the last layer, [2][DIMS][n]; with time and angle, or not. */
static float *make_boxes(const struct hits *h, bool with_time, bool with_angle)
{
    float *box = malloc((size_t)2 * DIMS * h->n * sizeof *box);

    if (!box)
        die("out of memory");
    for (uint32_t i = 0; i < h->n; i++) {
        const uint32_t l = h->layer[i] + 1 < BARREL ? h->layer[i] + 1 : h->layer[i];
        const double out = h->radius[l], in = (double)h->value[(size_t)R * h->n + i];
        const double phi = (double)h->value[i], z = (double)h->value[(size_t)Z * h->n + i];
        const double t = (double)h->value[(size_t)T * h->n + i];
        const double angle = (double)h->value[(size_t)ANGLE * h->n + i];
        const double dt = with_time ? SIGMAS * sqrt(2) * TIME_NS : (double)NEVER;
        const double da = with_angle ? SIGMAS * sqrt(2) * ANGLE_RAD : (double)NEVER;
        double end[2][DIMS] = {{phi - PHI_HALF, out - LAYER_HALF,
                                z + (z - BEAM_HALF) * (out / in - 1), t - dt, angle - da},
                               {phi + PHI_HALF, out + LAYER_HALF,
                                z + (z + BEAM_HALF) * (out / in - 1), t + dt, angle + da}};

        if (h->layer[i] + 1 == BARREL) /* nothing */
            end[1][R] = end[0][R] - 1;
        for (uint32_t s = 0; s < 2; s++)
            for (uint32_t d = 0; d < DIMS; d++)
                box[(size_t)(s * DIMS + d) * h->n + i] = (float)end[s][d];
    }
    return box;
}

/* How many of the true pairs are among the results. */
static double found(const struct hits *h, struct kd_forest *f, struct trg_queue *q,
                    struct kd_queries *s)
{
    uint32_t *offsets = malloc((h->n + 1) * sizeof *offsets);
    uint32_t *ids = malloc((s->n_results + 1) * sizeof *ids);
    double sum = 0;

    if (!offsets || !ids || kd_offsets(s, q, offsets) < 0 ||
        kd_get(f, q, s->results, 0, ids, s->n_results * sizeof *ids) < 0)
        die("no results");
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t k = offsets[i]; k < offsets[i + 1]; k++)
            sum += ids[k] == h->true_pair[i];
    free(offsets);
    free(ids);
    return sum;
}

static void search_hits(const struct device *device, struct kd_forest *f, struct trg_queue *q,
                        const struct hits *h, bool with_time, bool with_angle, const char *how)
{
    const struct kd_queries_setup setup = {
        .max_queries = h->n, .gang = 32, .period_dim = PHI, .period = (float)(2 * PI)};
    float *box = make_boxes(h, with_time, with_angle);
    struct result search = {0}, count = {0};
    const struct result_figure rate = {
        .unit = "Mq/s", .higher_is_better = true, .device = name_of(device)};
    const struct result_figure candidates = {.unit = "", .device = rate.device},
                               pairs = {
                                   .unit = "", .higher_is_better = true, .device = rate.device};
    struct kd_queries *s;
    uint32_t largest = 0;
    int e = kd_queries_new(f, &setup, &s);

    for (uint32_t t = 0; t < EVENTS; t++)
        largest = h->trees[t][1] > largest ? h->trees[t][1] : largest;
    if (e == 0)
        e = kd_put(f, q, s->tree_of, 0, h->tree_of, h->n * sizeof *h->tree_of);
    for (uint32_t d = 0; e == 0 && d < 2 * DIMS; d++)
        e = kd_put(f, q, s->boxes, (size_t)d * s->room * sizeof(float), box + (size_t)d * h->n,
                   h->n * sizeof(float));
    for (uint32_t i = 0; e == 0 && i <= bench.runs; i++) {
        const double start = devices_seconds(device);
        double middle;

        e = kd_search(s, q, KD_SEARCH_AUTO, h->n, largest);
        middle = devices_seconds(device);
        if (e == 0)
            e = kd_count(s, q, KD_BOXES, h->n);
        if (e == 0)
            e = trg_finish(q);
        if (i > 0) {
            result_add(&search, 1e-6 * h->n / (middle - start));
            result_add(&count, 1e-6 * h->n / (devices_seconds(device) - middle));
        }
    }
    if (e < 0)
        die("a search failed");
    result_report_value(&bench.out, &candidates, (double)s->n_results / h->n, 0, 1,
                        "5-D hits of " PRESET ", candidates a hit, %s", how);
    result_report_value(&bench.out, &pairs, found(h, f, q, s) / h->pairs, 0, 1,
                        "5-D hits of " PRESET ", true pairs found, %s", how);
    result_report(&bench.out, &rate, &search, "5-D hits of " PRESET ", search, %s", how);
    result_report(&bench.out, &rate, &count, "5-D hits of " PRESET ", count, %s", how);
    kd_queries_free(s);
    free(box);
}

static void hits_on(const struct device *device, const struct hits *h)
{
    const struct kd_forest_setup setup = {
        .device = device->d, .k = DIMS, .max_points = h->n, .max_trees = EVENTS};
    struct kd_forest *f;
    struct trg_queue *q;
    int e = trg_queue_new(device->d, &q);

    if (e < 0 || kd_forest_new(&setup, &f) < 0)
        die("no memory");
    e = kd_put(f, q, f->trees, 0, h->trees, sizeof h->trees);
    for (uint32_t d = 0; e == 0 && d < DIMS; d++)
        e = kd_put(f, q, f->points, (size_t)d * f->room * sizeof(float),
                   h->value + (size_t)d * h->n, h->n * sizeof(float));
    if (e == 0)
        e = kd_build(f, q, KD_BUILD_AUTO, EVENTS, 0);
    if (e < 0)
        die("no trees");
    search_hits(device, f, q, h, false, false, "space alone");
    search_hits(device, f, q, h, true, false, "and time");
    search_hits(device, f, q, h, true, true, "and time and angle");
    kd_forest_free(f);
    trg_queue_free(q);
}

void bench_hits(void)
{
    struct hits h;

    hits_make(&h);
    printf("%u hits of the barrels of %u events, %.0f true pairs\n", h.n, EVENTS, h.pairs);
    for (uint32_t i = 0; i < devices_count(); i++)
        hits_on(devices_get(i), &h);
    hits_free(&h);
}
